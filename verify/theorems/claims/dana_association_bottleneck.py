"""Dana et al. between Propositions 2 and 3: whether labels meet a bottleneck in any dimension.

Page: docs/claims/lookup_in_two_dimensions.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.encoders.parabola import parabola, stream
from verify.arithmetic.decimals import decimal_below
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.theorems import LINE

CLAIM = Claim(
    id="dana.association-bottleneck",
    title="No bottleneck for labels in any dimension",
    source="Dana, Pydi, Chevaleyre (2024), between Propositions 2 and 3",
    kind="remark",
    quotation=(
        r"For the association task, the bottleneck doesn't exist in any embedding dimension d. The appropriate way to "
        r"evaluate memorization in the association task is using exact memorization. Proposition 3. Under Assumption "
        r"1, for $d \geq 2$, $d_{KL}(\pi, \mathcal{L}(N, S, d)) = 0$."
    ),
    printed=(
        "For the association task the bottleneck does not exist in any embedding dimension d; with Proposition 3, "
        "which follows, [[least: d >= 2]]."
    ),
    reading=(
        "Proposition 3, which follows at once, makes the sentence precise, with d >= 2. Alone it includes d = 1, "
        "where there is a bottleneck."
    ),
    judgement="holds",
    truth=(
        "It holds: any labels of N tokens are the likeliest of some encoder with d dimensions. For [[line: d = 1]], "
        "which Proposition 3 excludes, [[some: three]] tokens that are labels equally often cost "
        "[[three: log 2 / 3]] nats, and [[more: four]] of them [[four: log 2 / 2]], for all encoders."
    ),
    page="docs/claims/lookup_in_two_dimensions.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for name, d_vocab in (("three", 3), ("four", 4)):
        yield _line(name, d_vocab)
    for d_vocab in (3, 100, *((4000,) if full else ())):
        yield _plane(d_vocab)


def _line(name: str, d_vocab: int) -> Evidence:
    floor = LINE.at(masses=(1,) * d_vocab)
    # The rank of logits that are a number times a row of weights is the dimension that the statement names.
    rank = fmpz_mat([[x * w for w in range(d_vocab)] for x in range(1, d_vocab)]).rank()
    return Evidence(
        "boundary",
        f"d = 1, {d_vocab} contexts, each of {d_vocab} tokens the label of one",
        "least divergence 0",
        f"KL >= {decimal_below(floor.value, 7)} nats",
        Method("balls", Means.BALLS),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(
            Comparison(floor, ">", 0),
            Comparison(floor, "agrees with", stated(CLAIM, name)),
            Comparison(d_vocab, "=", stated(CLAIM, "some" if name == "three" else "more")),
            *met(CLAIM, "line", d=rank),
            *failed(CLAIM, "least", d=rank),
        ),
    )


def _plane(d_vocab: int) -> Evidence:
    W, E = parabola(d_vocab), stream(np.arange(d_vocab), power=0)
    logits = fmpz_mat(E.astype(np.int64).tolist()) * fmpz_mat(W.astype(np.int64).tolist()).transpose()
    rows = logits.tolist()
    memorized = sum(all(row[i] > x for j, x in enumerate(row) if j != i) for i, row in enumerate(rows))
    return Evidence(
        "claim",
        f"each of {d_vocab} tokens the label of one context: the integer encoder on the parabola",
        "every label in front",
        f"{memorized} of {d_vocab} in front, rank {logits.rank()}",
        Method("exact integers", Means.EXACT),
        compared=(Comparison(memorized, "=", d_vocab), *met(CLAIM, "least", d=logits.rank())),
    )
