"""How well conditioned the memories of Mahdavi et al. are: printed and practical recipes, in three number formats."""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from measure import print_head, print_row

from constructions.errors import HypothesisError
from constructions.model.model import Model
from constructions.model.vector_attention import mixed_matrix
from constructions.numeric.arrays import Float64Array
from constructions.saturated_layers.layer_readout import Format, layer_with_read_out, outputs_in
from constructions.saturated_layers.random_heads import random_heads
from constructions.saturated_layers.saturated_heads import SaturatedHeads, saturated_heads
from constructions.saturated_layers.single_direction_heads import single_direction_heads
from constructions.saturated_layers.uniform_examples import uniform_examples
from constructions.tasks.vectors import VectorTask
from verify.forward.heads import enclose_layer
from verify.forward.logits import enclose_logits
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.theorems.saturated_layers.saturation import certify_saturation
from verify.verdict import Verdict

_SATURATED = 0.99
_FORMATS: tuple[Format, ...] = ("float64", "float32", "bfloat16")
_COLUMNS = (
    "H n d d_h T", "contexts", "recipe", "cond Z", "kappa", "max logit", "norm M", "float64", "float32", "bfloat16",
    "saturated", "rank", "certified error", "certify s", "build s",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One memory: sizes and recipe."""

    heads: int
    tokens: int
    width: int
    d_head: int
    shared: bool
    recipe: str
    surplus: int = 0  # examples above H (min(n, d_h) - 1) + 1 or H (n - 1) + 1

    @property
    def examples(self) -> int:
        """The largest number of examples that the recipe promises."""
        printed = self.recipe.split()[0] in ("printed", "near-one-hot")
        fitted = min(self.tokens, self.d_head) if printed else self.tokens
        return self.heads * (fitted - 1) + 1 + self.surplus


SMALL = [
    Row(2, 4, 8, 4, True, "printed"),
    Row(2, 4, 8, 4, True, "near-one-hot"),
    Row(8, 4, 8, 4, True, "printed"),
    Row(8, 4, 8, 4, True, "near-one-hot"),
    Row(4, 8, 16, 3, True, "near-one-hot"),
    Row(8, 8, 16, 8, True, "printed"),
    Row(8, 8, 16, 8, True, "near-one-hot"),
    Row(16, 8, 16, 8, True, "printed"),
    Row(16, 8, 16, 8, True, "near-one-hot"),
    Row(16, 8, 16, 8, False, "near-one-hot"),
    Row(16, 8, 16, 1, False, "width one"),
    Row(16, 8, 16, 8, False, "random"),
    Row(4, 4, 8, 1, True, "width one"),
    Row(4, 8, 16, 1, True, "width one"),
    Row(4, 12, 24, 1, True, "width one"),
    Row(4, 16, 24, 1, True, "width one"),
    Row(4, 20, 40, 1, True, "width one"),
]
MEDIUM = [
    Row(5, 32, 64, 32, True, "printed"),
    Row(5, 32, 64, 32, True, "near-one-hot"),
    Row(10, 32, 64, 32, True, "near-one-hot"),
    Row(10, 32, 64, 32, True, "near-one-hot rho .01"),
    Row(20, 32, 64, 32, True, "printed"),
    Row(20, 32, 64, 32, True, "near-one-hot"),
    Row(20, 32, 64, 32, True, "near-one-hot kappa 30"),
    Row(20, 32, 64, 32, True, "near-one-hot kappa 100"),
    Row(20, 32, 64, 64, True, "random"),
    Row(20, 32, 64, 2, True, "random"),
    Row(40, 16, 64, 16, True, "near-one-hot"),
    Row(40, 16, 64, 8, True, "near-one-hot"),
    Row(20, 32, 64, 32, False, "near-one-hot"),
    Row(20, 32, 64, 1, False, "width one"),
    Row(20, 32, 64, 64, False, "random"),
    Row(20, 32, 64, 1, False, "random"),
]
LARGE = [
    Row(40, 32, 64, 32, True, "near-one-hot"),
    Row(60, 32, 64, 32, True, "near-one-hot"),
    Row(60, 32, 64, 32, True, "near-one-hot kappa 100"),
    Row(60, 32, 64, 64, True, "random"),
    Row(60, 32, 64, 1, False, "random"),
]


def built(row: Row, contexts: Float64Array, queries: Float64Array) -> tuple[Float64Array, Float64Array, float]:
    """Query maps, key maps, and the largest kappa (0 without one)."""
    heads, width, words = row.heads, row.d_head, row.recipe.split()
    found: SaturatedHeads
    if words[0] == "printed":
        found = saturated_heads(contexts, queries, n_heads=heads, d_head=width, targets="printed")
    elif words[0] == "near-one-hot":
        options = dict(zip(words[1::2], map(float, words[2::2]), strict=True))
        cap, rho = options.get("kappa", np.inf), options.get("rho", 0.1)
        found = saturated_heads(contexts, queries, n_heads=heads, d_head=width, rho=rho, largest_strength=cap)
    elif words[0] == "width":
        found = single_direction_heads(contexts, queries, n_heads=heads, d_head=width)
    else:
        deviation = 30.0 if width == 2 else 10.0
        return *random_heads(contexts, queries, n_heads=heads, d_head=width, deviation=deviation), 0.0
    return found.W_Q, found.W_K, float(found.strengths.max())


def largest_score(task: VectorTask, layer: Model) -> float:
    """Return the largest absolute score of any head."""
    asked, keys = task.queries @ layer.W_Q, task.contexts[:, None] @ layer.W_K
    per_head = (
        float(np.abs(np.einsum("td,cnd->cnt" if task.shared else "td,tnd->tn", asked[h], keys[:, h])).max())
        for h in range(layer.n_heads)
    )
    return max(per_head)


def measured(row: Row, *, certify: bool, seed: int) -> list[object]:
    """One line of the table."""
    contexts, queries = uniform_examples(
        examples=row.examples, n_ctx=row.tokens, d_model=row.width, shared=row.shared, seed=seed
    )
    task = VectorTask(contexts, queries, np.random.default_rng(seed + 7).uniform(size=(row.examples, 1)))
    start = time.process_time()
    W_Q, W_K, strength = built(row, contexts, queries)
    seconds = time.process_time() - start
    singular = np.linalg.svd(mixed_matrix(contexts, queries, W_Q, W_K), compute_uv=False)
    errors: list[str] = []
    layers: dict[Format, Model] = {}
    for name in _FORMATS:
        try:
            layers[name] = layer_with_read_out(task, W_Q, W_K, d_value=1, d_inner=1, number_format=name)
            errors.append(f"{np.abs(outputs_in(name, layers[name], task) - task.labels).max():.1e}")
        except HypothesisError:
            errors.append("dependent")
    size = norm = "-"
    proved: list[object] = ["-", "-", "-", "-"]
    if "float64" in layers:
        size, norm = f"{largest_score(task, layers['float64']):.2g}", f"{np.linalg.norm(layers['float64'].W_V):.2g}"
        proved = certificates(task, layers["float64"]) if certify else proved
    return [
        f"{row.heads} {row.tokens} {row.width} {row.d_head} {row.examples}",
        "shared" if row.shared else "different",
        row.recipe,
        f"{singular[0] / singular[-1]:.1e}",
        f"{strength:.2g}",
        size,
        norm,
        *errors,
        *proved,
        f"{seconds:.1f}",
    ]


def certificates(task: VectorTask, layer: Model) -> list[object]:
    """Share of saturated heads, rank and label error, as proved, and the time that took."""
    start = time.process_time()
    forward = enclose_layer(layer, task)
    outputs = enclose_logits(layer, task)
    proof = certify_full_row_rank(forward.mixed)
    error = float(abs(outputs - task.labels).upper().max())
    share = float(certify_saturation(forward.top, threshold=_SATURATED).saturated.mean())
    seconds = time.process_time() - start
    rank = f"= T ({proof.method})" if proof.verdict is Verdict.PROVED else "undecided"
    return [f"{share:.1%}", rank, f"{error:.1e}", f"{seconds:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 121 examples only")
    parser.add_argument("--large", action="store_true", help="up to 1861 examples as well")
    parser.add_argument("--rows", type=int, nargs="+", help="only these lines, counted from 0")
    parser.add_argument("--no-certificates", action="store_true", help="measure only")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = SMALL + ([] if options.quick else MEDIUM) + (LARGE if options.large else [])
    print_head(*_COLUMNS)
    for index, row in enumerate(rows):
        if options.rows is None or index in options.rows:
            cells = measured(row, certify=not options.no_certificates, seed=options.seed)
            print_row(*cells)


if __name__ == "__main__":
    main()
