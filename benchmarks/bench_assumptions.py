"""The assumptions on real data without a hub: images of scikit-learn, and random ViT, BERT and GPT-2.

    python benchmarks/bench_assumptions.py [--examples 300] [--width 256] [--side 96] [--length 32] [--rank]

Needs scikit-learn and transformers; what is not installed is left out and named. With `--rank`, the rank of the mixed
inputs of random heads is certified on the digits and patches, beside what the theorems promise.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import get_args

import numpy as np
from random_transformers import Family, transformer_examples
from real_contexts import digit_examples, image_crops, patch_examples, text_bytes

from constructions.attention.capacity.promised_ranks import promised_ranks
from constructions.errors import InputError
from constructions.model.shapes import mahdavi_layer
from constructions.numeric.arrays import Float64Array
from constructions.saturated_layers.random_heads import random_heads
from constructions.tasks.vectors import VectorTask
from verify.forward.heads import enclose_mixed_inputs
from verify.linear_algebra.numerical_rank import NumericalRanks
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.theorems.saturated_layers.assumptions import Assumptions, SubsetTest, assess_assumptions

Examples = tuple[Float64Array, Float64Array]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=300)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--side", type=int, default=96, help="of an image for ViT, a multiple of 16")
    parser.add_argument("--length", type=int, default=32, help="bytes of a text for BERT and GPT-2")
    parser.add_argument("--rank", action="store_true", help="certify the rank of random heads too")
    options = parser.parse_args()
    print(
        "| data | T, n, d | A2: contexts of rank n | A1 | A3 | blocks, H | rank of d queries | of d query + mean | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, make in _sources(options):
        start = time.perf_counter()
        try:
            contexts, queries = make()
        except InputError as error:
            print(f"| {name} | left out: {error} |")
            continue
        print(_row(name, assess_assumptions(contexts, queries), time.perf_counter() - start), flush=True)
    if options.rank:
        _ranks()


def _sources(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Examples]]]:
    count, width = options.examples, options.width
    yield "digits, quarters", digit_examples
    yield "photographs, 3 x 3 patches of 3 x 3", lambda: patch_examples(image_crops(count, 9), 3)
    yield "photographs, 3 x 3 patches of 8 x 8", lambda: patch_examples(image_crops(count, 24), 8)
    for family in get_args(Family):
        for attention in (False, True):

            def make(family: Family = family, attention: bool = attention) -> Examples:
                inputs = image_crops(count, options.side) if family == "vit" else text_bytes(count, options.length)
                return transformer_examples(family, inputs, attention=attention, width=width, heads=4)

            yield f"{family}, {'one attention layer' if attention else 'embeddings'}", make


def _row(name: str, found: Assumptions, seconds: float) -> str:
    sizes = f"{found.n_examples}, {found.n_ctx}, {found.d_model}"
    blocks = "none" if found.blocks is None else f"{found.blocks.verdict.value}, {found.n_heads}"
    cells = [
        name,
        sizes,
        f"{found.contexts.verdict.value}, {found.contexts.full} of {found.contexts.n_contexts}",
        _test(found.queries),
        _test(found.shifted),
        blocks,
        _three(found.query_ranks),
        _three(found.shifted_ranks),
        f"{seconds:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _test(test: SubsetTest) -> str:
    if test.sample is None:
        return f"{test.verdict.value} ({test.certificate.method})"
    sample = test.sample
    return f"{test.verdict.value} ({sample.dependent} of {sample.samples}; share <= {sample.share_upper:.2g})"


def _three(ranks: NumericalRanks) -> str:
    return f"{ranks.exact_lower} / {ranks.float64} / {ranks.float32}, {ranks.spread:.1e}"


def _ranks() -> None:
    print("\n| data | T, n, d, H, d_h | Mahdavi et al. | any d_h | H d | Dana et al. | certified rank, random heads |")
    print("|---|---|---|---|---|---|---|")
    sources = (("digits", digit_examples(200)), ("patches of 3 x 3", patch_examples(image_crops(200, 9), 3)))
    for name, (contexts, queries) in sources:
        contexts, queries = contexts / 256.0, queries / 256.0
        for heads, d_head in ((4, 1), (8, 2), (16, 4)):
            tokens, width = contexts.shape[1:]
            most = min(len(queries), heads * width)
            W_Q, W_K = random_heads(contexts[:most], queries[:most], n_heads=heads, d_head=d_head)
            layer = mahdavi_layer(W_Q, W_K, np.ones((heads, width, 1)), np.ones((heads, 1)), np.ones((1, 1)))
            task = VectorTask(contexts[:most], queries[:most], np.zeros((most, 1)))
            proved = certify_full_row_rank(enclose_mixed_inputs(layer, task)).verdict.value
            sizes = {"n_ctx": tokens, "d_model": width, "n_heads": heads, "d_head": d_head}
            p = promised_ranks(n_examples=most, **sizes)
            print(
                f"| {name} | {most}, {tokens}, {width}, {heads}, {d_head} | {p.mahdavi} | {p.sharp} | {p.generic} | "
                f"{p.dana} | {most}: {proved} |"
            )


if __name__ == "__main__":
    main()
