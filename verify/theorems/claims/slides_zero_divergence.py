r"""Slides of Dana: when the divergence 0 is reached.

Page: docs/claims/distribution_memory.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat

from constructions.numeric.arrays import Int64Array
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE
from verify.verdict import decided, proved

CLAIM = Claim(
    id="slides.zero-divergence",
    title="Divergence 0 by the rank of the logarithms",
    source="Dana (2024), slides, Optimal Linear Mapping",
    kind="statement",
    quotation=(
        r"We can acheive 0 divergence if $$w_U(t_{S+1})^T w_E(t_{1:S}) = \log(\pi(t_{S+1}|t_{1:S}))$$ so if $L = "
        r"\log(\pi)$ has rank d. If $d \ge N - 1$ this is always the case."
    ),
    printed=("The divergence can vanish if L := log pi has rank d. If d is [[printed: N - 1]] or more it always can."),
    reading=(
        "'This' is that divergence 0 can be achieved, as Proposition 2 of the paper says it. Were it that L has rank "
        "d, it would not always be the case."
    ),
    judgement="holds",
    truth=(
        "It holds: constants in a row of L cancel in the softmax, the divergence vanishes if and only if L without the "
        "mean of each row has rank at most d, and that rank is [[centred: N - 1]] at most. L itself can have rank "
        "[[largest: N]]."
    ),
    page="docs/claims/distribution_memory.md",
)

_TOKENS = (3, 5, 9)  # 2^k + 1: distributions of 1/2 and 2^-(k+1)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab in _TOKENS + ((17,) if full else ()):
        yield _rank(_logarithms(d_vocab))
        yield _encoded(_logarithms(d_vocab))
        yield _not_with_less(_logarithms(d_vocab))
    yield _of_rank_d()


def _logarithms(d_vocab: int) -> Int64Array:
    """Base-2 logs of the distributions that give one token 1/2 and the N - 1 = 2^k others equal shares, `[N, N]`."""
    return np.where(np.eye(d_vocab, dtype=bool), -1, -(d_vocab - 1).bit_length())


def _is_distribution(logarithms: Int64Array) -> bool:
    return all(sum(Fraction(1, 2 ** -int(entry)) for entry in row) == 1 for row in logarithms)


def _rank(logarithms: Int64Array) -> Evidence:
    d_vocab = logarithms.shape[1]
    rank = fmpz_mat(logarithms.tolist()).rank()
    return Evidence(
        "boundary",
        f"N = {d_vocab}, the {len(logarithms)} distributions that give one token 1/2 and the others equal shares: "
        "L = log pi, in units of log 2",
        f"rank L > {stated(CLAIM, 'printed', N=d_vocab)} = d",
        f"rank L = {rank}",
        Method("exact integers", Means.EXACT),
        decided(_is_distribution(logarithms)),
        {"L": logarithms.tolist()},
        compared=(
            Comparison(rank, ">", stated(CLAIM, "printed", N=d_vocab)),
            Comparison(rank - 1, "=", stated(CLAIM, "printed", N=d_vocab)),
            Comparison(rank, "=", stated(CLAIM, "largest", N=d_vocab)),
        ),
    )


def _centred_rank(logarithms: Int64Array) -> int:
    """Return the rank of N times L without the means of its rows."""
    rows = logarithms.shape[1] * logarithms - logarithms.sum(axis=1, keepdims=True)
    return int(fmpz_mat(rows.tolist()).rank())


def _softmax_base_two(logits: Int64Array) -> list[list[Fraction]]:
    powers = [[Fraction(2) ** int(entry) for entry in row] for row in logits]
    return [[power / sum(row) for power in row] for row in powers]


def _encoded(logarithms: Int64Array) -> Evidence:
    """Logits L minus their last column: E W with E of N - 1 columns, and W the identity with a column 0 added."""
    d_vocab = logarithms.shape[1]
    E = logarithms[:, :-1] - logarithms[:, -1:]
    W = np.eye(d_vocab - 1, d_vocab, dtype=np.int64)
    distributions = [[Fraction(1, 2 ** -int(entry)) for entry in row] for row in logarithms]
    equal = _softmax_base_two(E @ W) == distributions
    centred = _centred_rank(logarithms)
    return Evidence(
        "claim",
        f"N = {d_vocab}, the same distributions: an integer encoder with d = {E.shape[1]}, logits in units of log 2, "
        "and the rank of L without the mean of each row",
        f"divergence 0, rank {stated(CLAIM, 'centred', N=d_vocab)}",
        f"{'equal' if equal else 'different'} distributions, rank {centred}",
        Method("exact rationals", Means.EXACT),
        decided(equal),
        compared=(
            Comparison(centred, "=", stated(CLAIM, "centred", N=d_vocab)),
            Comparison(E.shape[1], "=", stated(CLAIM, "printed", N=d_vocab)),
        ),
    )


def _not_with_less(logarithms: Int64Array) -> Evidence:
    """One dimension fewer than the centred rank."""
    rank = _centred_rank(logarithms)
    floor = ENCODER_DIVERGENCE.at("lower", distributions=2.0**logarithms, d_model=rank - 1)
    return Evidence(
        "sharper",
        f"N = {logarithms.shape[1]}, the same distributions, d = {rank - 1}: the divergence is not 0",
        "divergence 0 only if L without the mean of each row has rank at most d",
        f"KL >= {floor.value:.3g} nats",
        Method("enclosures of singular values", Means.ENCLOSURES),
        proved(_is_distribution(logarithms)),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">", 0),),
    )


def _of_rank_d() -> Evidence:
    """Distributions on 4 tokens with logs of rank 2: the first sentence of the claim, by a rational factorization."""
    logarithms = np.array([[-1, -2, -3, -3], [-2, -1, -3, -3], [-1, -2, -3, -3]])
    exact = fmpz_mat(logarithms.tolist())
    rank = exact.rank()
    columns = fmpq_mat(len(logarithms), 2, [fmpq(int(entry)) for row in logarithms[:, :2] for entry in row])
    basis = fmpq_mat(2, 2, [fmpq(int(entry)) for row in logarithms[:2, :2] for entry in row])
    W = basis.inv() * fmpq_mat(2, 4, [fmpq(int(entry)) for row in logarithms[:2] for entry in row])
    equal = columns * W == fmpq_mat(exact)
    return Evidence(
        "claim",
        f"{len(logarithms)} distributions on 4 tokens whose logarithms have rank {rank}: a rational encoder with d = 2 "
        "has L for its logits",
        "divergence 0 if L has rank d",
        f"{'equal' if equal else 'different'} logits",
        Method("exact rationals", Means.EXACT),
        decided(equal and _is_distribution(logarithms)),
        compared=(Comparison(rank, "=", columns.ncols()),),
    )
