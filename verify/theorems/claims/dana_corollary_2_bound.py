r"""Section 3 of Dana et al.: Corollary 2 said to be an upper bound of what attention memorizes.

Page: docs/claims/corollary_2.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.heads_of_theorem_1.random.labels import partial_memory
from constructions.memories.bigrams.one_head import one_head_memory
from constructions.tasks.arrays import enumerated_task
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim
from verify.theorems.claims.dana_corollary_2 import CLAIM as COROLLARY
from verify.theorems.evidence import Comparison, Evidence, Means, Method, failed, met, stated

CLAIM = Claim(
    id="dana.corollary-2-bound",
    title="Corollary 2 as an upper bound",
    source="Dana, Pydi, Chevaleyre (2024), section 3, after Proposition 3",
    kind="remark",
    quotation=(
        "We give an upper bound on the memorization capacity of a one-layer AoT in Corollary 2, and we compare it to "
        "experimental scaling laws in section 4.2."
    ),
    printed=(
        "Corollary 2 gives an upper bound on the memorization capacity of a transformer with [[layer: one]] layer. "
        "(It prints [[printed: 1/N + (1 - 1/N) (H d_h + d) / T]] or more.)"
    ),
    reading=(
        "'upper' for 'lower', a slip of a word: Corollary 2 says 'at least'. The text above Corollary 2 says \"In "
        'Corollary 1, we obtained a lower bound on the number of associations", too.'
    ),
    judgement="slip",
    truth=(
        "Corollary 2 is a lower bound, where it is true, and reached by [[filled: T = H d_h + d]] contexts, all of "
        "them memorized. It is no upper bound: with [[shape: d = N]] and [[head: d_h = 1]] [[heads: one]] head is "
        "right "
        "on all [[contexts: N^2]] bigrams, whatever their labels, where the number is below [[all: one]]."
    ),
    wrong="'upper' should read 'lower'",
    page="docs/claims/corollary_2.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab in (5, 12, *((40,) if full else ())):
        yield _above(d_vocab)
    yield _reached(2)


def _above(d_vocab: int) -> Evidence:
    labels = np.random.default_rng(d_vocab).integers(0, d_vocab, d_vocab**2)
    task = enumerated_task(d_vocab, 2, labels=labels)
    model = one_head_memory(task)
    certificate = certify_memorization(model, task).certificate
    sizes = {"N": d_vocab, "H": model.n_heads, "d_h": model.d_head, "d": model.d_model, "T": task.n_contexts}
    printed = stated(CLAIM, "printed", **sizes)
    accuracy = Fraction(int(certificate.answers.values["memorized"]), task.n_contexts)
    return Evidence(
        "constant",
        f"the {task.n_contexts} bigrams of {d_vocab} tokens with random labels: one head, d = {model.d_model}, d_h = 1",
        f"accuracy <= {printed}",
        f"accuracy = {accuracy}",
        Method(certificate.answers.method, Means.ENCLOSURES),
        certificate.verdict,
        compared=(
            Comparison(accuracy, ">", printed),
            Comparison(printed, "=", stated(COROLLARY, "printed", **sizes)),
            Comparison(accuracy, "=", stated(CLAIM, "all")),
            Comparison(len(model.blocks), "=", stated(CLAIM, "layer")),
            Comparison(model.n_heads, "=", stated(CLAIM, "heads")),
            Comparison(task.n_contexts, "=", stated(CLAIM, "contexts", N=d_vocab)),
            *met(CLAIM, "shape", "head", **sizes),
            *failed(CLAIM, "shape", **{**sizes, "N": d_vocab + 1}),
        ),
    )


def _reached(n_heads: int) -> Evidence:
    """As many contexts as columns, all of them memorized: the bound from below is 1, and so is the accuracy."""
    memory = partial_memory(d_vocab=2, n_ctx=2, d_model=2, d_head=1, n_heads=n_heads, seed=0)
    certificate = certify_memorization(memory.model, memory.task).certificate
    accuracy = Fraction(int(certificate.answers.values["memorized"]), memory.task.n_contexts)
    sizes = {"N": 2, "H": memory.model.n_heads, "d_h": memory.model.d_head, "d": memory.model.d_model}
    return Evidence(
        "reached",
        f"all {memory.task.n_contexts} bigrams of 2 tokens, random labels: H = {n_heads}, d = 2, d_h = 1, "
        "T = H d_h + d",
        f"accuracy >= {stated(CLAIM, 'printed', **sizes, T=memory.task.n_contexts)}",
        f"accuracy = {accuracy}",
        Method(certificate.answers.method, Means.ENCLOSURES),
        certificate.verdict,
        compared=(
            Comparison(accuracy, "=", stated(CLAIM, "printed", **sizes, T=memory.task.n_contexts)),
            *met(CLAIM, "filled", **sizes, T=memory.task.n_contexts),
        ),
    )
