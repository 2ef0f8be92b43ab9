r"""Slides of Dana: what is not known of memories with fewer columns than contexts.

Page: docs/claims/theorem_1.md
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.memories.bigrams.one_head import one_head_memory
from constructions.tasks.arrays import all_contexts, enumerated_task
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim
from verify.theorems.claims.dana_corollary_1 import too_few_heads
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.exclusive_or import exclusive_or_floor, exclusive_or_is_met
from verify.theorems.evidence.theorems import RANK
from verify.verdict import Verdict, proved

CLAIM = Claim(
    id="slides.sparse-regime",
    title="The sparse regime",
    source="Dana (2024), slides, Conclusion",
    kind="remark",
    quotation=r"We do not know how memorization occurs in the sparce regime $dP < N_{\varepsilon}$,",
    printed=(
        "We do not know how memorization occurs in the sparse regime, [[sparse: d P < N_epsilon]], with fewer columns "
        "of P parallel modules than contexts."
    ),
    reading="P is the number of parallel modules.",
    judgement="open",
    truth=(
        "Open in general: the least divergence, and the largest number of labels, that given d, d_h and H allow. "
        "Known: the number of columns is no limit of labels ([[heads: one]] head with [[columns: N + 1]] columns "
        "holds every labelling of all [[contexts: N^2]] bigrams); it is one of the rank, so generic distributions are "
        "not memorized; some distributions cost it at least a certified divergence; and some labelling of long "
        "contexts "
        "needs many heads."
    ),
    page="docs/claims/theorem_1.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab in (5, 12, *((40,) if full else ())):
        yield _labels(d_vocab)
    for d_vocab in (4, 8):
        yield _rank(d_vocab)
    for distribution in (Fraction(3, 4), Fraction(9, 10)):
        yield _distributions(distribution)
    yield too_few_heads(16 if full else 14, "one head", role="known")


def _labels(d_vocab: int) -> Evidence:
    labels = np.random.default_rng(d_vocab).integers(0, d_vocab, d_vocab**2)
    task = enumerated_task(d_vocab, 2, labels=labels)
    network = one_head_memory(task)
    certified = certify_memorization(network, task)
    columns = network.d_model + network.n_heads * network.d_head
    return Evidence(
        "known",
        f"the {task.n_contexts} bigrams of {d_vocab} tokens with random labels: one head, {columns} columns",
        "more labels than columns",
        f"{certified.certificate.answers.values['memorized']} labels in front",
        Method(certified.certificate.answers.method, Means.ENCLOSURES),
        Verdict.all_of([certified.certificate.verdict, proved(network.n_heads == 1)]),
        compared=(
            Comparison(columns, "=", stated(CLAIM, "columns", N=d_vocab)),
            Comparison(task.n_contexts, "=", stated(CLAIM, "contexts", N=d_vocab)),
            Comparison(columns, "<", task.n_contexts),
            Comparison(network.n_heads, "=", stated(CLAIM, "heads")),
            *met(CLAIM, "sparse", d=network.d_model, P=network.n_heads, N_epsilon=task.n_contexts),
        ),
    )


def _rank(d_vocab: int) -> Evidence:
    """One head of the widths above has at most N + 1 columns: most distributions of full support are not memorized."""
    contexts = all_contexts(d_vocab, 2)
    rank = RANK.at("rank", contexts=contexts, d_model=d_vocab, d_head=1, n_heads=1, with_skip=True)
    return Evidence(
        "known",
        f"the {len(contexts)} bigrams of {d_vocab} tokens, one head with d = {d_vocab}, d_h = 1: the rank of the "
        "features",
        "below the number of contexts, so that targets of full rank are not met",
        f"rank <= {rank.value}",
        Method("exact ranks of the contexts", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(rank, "<=", stated(CLAIM, "columns", N=d_vocab)),
            Comparison(rank, "<", stated(CLAIM, "contexts", N=d_vocab)),
        ),
    )


def _distributions(distribution: Fraction) -> Evidence:
    floor = exclusive_or_floor(distribution)
    return Evidence(
        "known",
        f"XOR after 3 tokens with the distributions ({distribution}, {1 - distribution}) and their mirrors: one head, "
        "of any widths",
        "a divergence that is not 0, and is reached",
        f"KL >= {float(floor.value) if math.isfinite(floor.value) else 0.0:.6g} nats",
        Method("enclosures", Means.ENCLOSURES),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(floor, ">", 0), *exclusive_or_is_met(distribution)),
    )
