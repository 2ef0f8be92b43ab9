r"""Section 3 of Dana et al.: Corollary 2 said to be an upper bound of what attention memorizes.

Page: docs/claims/corollary_2.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.bigrams.one_head import one_head_memory
from constructions.tasks.arrays import enumerated_task
from verify.certificates.memorization import certify_memorization
from verify.claim import Claim
from verify.claims.dana_corollary_2 import CLAIM as COROLLARY
from verify.evidence import Comparison, Evidence, Means, Method, Role, failed, met, stated

CLAIM = Claim(
    id="dana.corollary-2-bound",
    title="Corollary 2 as an upper bound",
    source="Dana, Pydi, Chevaleyre (2024), section 3, after Proposition 3",
    printed=(
        "Corollary 2 gives an upper bound on the memorization capacity of a transformer with [[layer: one]] layer: "
        "its accuracy is at most [[printed: 1/N + (1 - 1/N) (H d_h + d) / T]]."
    ),
    judgement="false",
    truth=(
        "Corollary 2 says 'at least', where it is true, and nothing from above. With [[shape: d = N]] and "
        "[[head: d_h = 1]] [[heads: one]] head is right on all [[contexts: N^2]] bigrams, whatever their labels, where "
        "the number is below [[all: one]]."
    ),
    page="docs/claims/corollary_2.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab in (5, 12, *((40,) if full else ())):
        yield _above(d_vocab, "counterexample")
    yield _above(3, "repair")


def _above(d_vocab: int, role: Role) -> Evidence:
    labels = np.random.default_rng(d_vocab).integers(0, d_vocab, d_vocab**2)
    task = enumerated_task(d_vocab, 2, labels=labels)
    model = one_head_memory(task)
    found = certify_memorization(model, task).certificate
    sizes = {"N": d_vocab, "H": model.n_heads, "d_h": model.d_head, "d": model.d_model, "T": task.n_contexts}
    printed = stated(CLAIM, "printed", **sizes)
    accuracy = Fraction(int(found.answers.values["held"]), task.n_contexts)
    return Evidence(
        role,
        f"the {task.n_contexts} bigrams of {d_vocab} tokens with random labels: one head, d = {model.d_model}, d_h = 1",
        f"accuracy <= {printed}",
        f"accuracy = {accuracy}",
        Method(found.answers.method, Means.ENCLOSURES),
        found.verdict,
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
