r"""Lemmas 1 to 5 of Mahdavi et al.: block rank, mean shift, saturating matrix, saturation, Weyl.

Page: docs/claims/saturated_heads.md
"""

import math
from collections.abc import Iterator

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat, fmpz_mat

from constructions.numeric.arrays import Int64Array
from constructions.rational.saturating_head import exact_saturating_matrix
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.rank import rank_bracket
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.theorems.saturated_layers.saturation import one_hot_bound
from verify.verdict import decided, proved

CLAIM = Claim(
    id="mahdavi.lemmas-1-5",
    title="Five lemmas on ranks and saturation",
    source="Mahdavi, Liao, Thrampoulidis (2024), Lemmas 1 to 5",
    kind="statement",
    quotation=(
        "Lemma 1. For any real-valued block matrix of the form [lost] [...] Lemma 2. Assume vectors [lost] are "
        "linearly independent. Then, [lost] are also linearly independent for all [lost] [...] Lemma 3. Consider a "
        "set of full-rank matrices [lost] where [...] Lemma 4. Consider an input matrix [lost] , an input vector "
        "[...] Lemma 5. Let [lost] be two matrices satisfying"
    ),
    printed=(
        ""
        "Lemma 1: the rank of a block triangular matrix with A and D on its diagonal is at least rank A + rank D. "
        "Lemma 2: independent x_i stay independent when their mean is added to each. Lemma 3: some V of rank "
        "[[rank: one]] vanishes on [[killed: r - 1]] queries e_t and has scores E V e_t that are distinct on all "
        "others. Lemma 4: softmax(kappa E V e) tends to the one-hot vector of the largest score. Lemma 5: rank (A + B) "
        "is at least rank A if the smallest nonzero singular value of A is above the largest of B."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: all of them as they are reconstructed. Lemma 2: the shift has determinant [[determinant: 2]]. "
        "Lemma 3 needs only that no other query is in the span of the [[killed: r - 1]], and Lemma 4 only a unique "
        "largest score; the distance is then at most [[rate: 2 (n - 1) exp(-kappa g)]] for a gap g. Lemma 5 needs "
        "the strict inequality: it fails for A := I, B := -I."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
)

_BITS = 2048  # two tokens come as near to the rate as exp(-2 kappa g)


_NEAR = 1e-9


def evidence(*, full: bool) -> Iterator[Evidence]:
    count = 200 if full else 40
    yield _block_rank(np.random.default_rng(1), count)
    yield _mean_shift(np.random.default_rng(2), largest=40 if full else 16, count=count)
    yield _saturating_matrix(np.random.default_rng(3), count)
    yield _saturation(np.random.default_rng(4), count)
    yield _weyl(np.random.default_rng(5), count)
    yield _weyl_with_equality()


def _block_rank(rng: np.random.Generator, count: int) -> Evidence:
    """Lemma 1: exact ranks of block triangular matrices."""
    good = strict = 0
    for _ in range(count):
        rows, columns, more, wide = (int(x) for x in rng.integers(1, 5, 4))
        A, B, D = (_low_rank(rng, *shape) for shape in ((rows, columns), (rows, wide), (more, wide)))
        whole = np.block([[A, B], [np.zeros((more, columns), dtype=np.int64), D]])
        parts = _rank(A) + _rank(D)
        good += _rank(whole) >= parts
        strict += _rank(whole) > parts
    return Evidence(
        "ours",
        f"Lemma 1 on {count} random integer block matrices of up to 4 rows and columns a block, zero blocks included; "
        f"strictly larger in {strict}",
        "rank [[A, B], [0, D]] >= rank A + rank D",
        f"{good} of {count}",
        Method("minors modulo a prime, and integer dependencies", Means.EXACT, Means.MODULAR),
        proved(good == count),
    )


def _mean_shift(rng: np.random.Generator, *, largest: int, count: int) -> Evidence:
    """Lemma 2: the shift is I + J/n with determinant 2; with -1/n it is singular."""
    determinants = {_shift(n, 1).det() for n in range(1, largest + 1)}
    opposite = {_shift(n, -1).det() for n in range(1, largest + 1)}
    good = 0
    for _ in range(count):
        size, d_model = (int(x) for x in rng.integers(1, 6, 2))
        rows = _low_rank(rng, size, d_model)
        good += _rank(size * rows + rows.sum(axis=0)) == _rank(rows)
    exact = determinants == {fmpq(2)} and opposite == {fmpq(0)} and good == count
    return Evidence(
        "ours",
        f"Lemma 2: det(I + J/n) for n = 1 .. {largest}, with J all ones; the rank of x_i + mean(x) is that of the x_i "
        f"on {count} random integer matrices; with the mean subtracted det(I - J/n) = 0",
        "independent vectors stay independent",
        f"determinants {sorted(map(str, determinants))}, subtracted {sorted(map(str, opposite))}; {good} of {count}",
        Method("exact rationals", Means.EXACT),
        proved(exact),
        compared=tuple(Comparison(value, "=", stated(CLAIM, "determinant")) for value in determinants),
    )


def _saturating_matrix(rng: np.random.Generator, count: int) -> Evidence:
    """Lemma 3: the rank-one matrix in integers, on examples with the block condition only."""
    good, compared = 0, list[Comparison]()
    for _ in range(count):
        contexts, queries, killed = _examples(rng)
        saturating = exact_saturating_matrix(contexts, queries, killed=killed, seed=int(rng.integers(2**31)))
        heights = [sum(a * b for a, b in zip(saturating.query_direction, e, strict=True)) for e in queries.tolist()]
        kept = len(queries) - killed
        outer = np.outer(saturating.query_direction, saturating.key_direction)
        compared += [
            Comparison(fmpz_mat(outer.tolist()).rank(), "=", stated(CLAIM, "rank")),
            Comparison(
                heights.count(0), "=", stated(CLAIM, "killed", r=int(_rank(queries[kept:])) + 1 if killed else 1)
            ),
        ]
        scores = [
            [height * sum(a * b for a, b in zip(saturating.key_direction, token, strict=True)) for token in context]
            for height, context in zip(heights, contexts.tolist(), strict=True)
        ]
        good += all(h == 0 for h in heights[kept:]) and all(len(set(row)) == len(row) for row in scores[:kept])
    return Evidence(
        "ours",
        f"Lemma 3 on {count} sets of examples with n = 1 .. 4, d = n .. 6, among them queries of Kruskal rank below n: "
        "V = v w^T vanishes on the killed queries and gives distinct scores to the tokens of all others",
        "a matrix of rank one",
        f"{good} of {count}",
        Method("integers", Means.EXACT),
        decided(good == count),
        compared=tuple(compared),
    )


def _saturation(rng: np.random.Generator, count: int) -> Evidence:
    """Lemma 4 with its rate, in balls; and that the judge of the heads never claims less than it."""
    good = below = 0
    for _ in range(count):
        n = int(rng.integers(1, 6))
        scores = [int(x) for x in rng.integers(-4, 4, n)]
        winner = int(rng.integers(n))
        scores[winner] = 4  # a unique largest score; the others may tie
        base = [int(x) for x in rng.integers(-3, 4, n)]
        for strength in (1, 8, 64):
            steep = [strength * a for a in scores]
            gap = min((steep[winner] - a for i, a in enumerate(steep) if i != winner), default=0)
            judged = one_hot_bound(_row(steep), _row(base))
            with ctx.workprec(_BITS):
                powers = [arb(a + b).exp() for a, b in zip(steep, base, strict=True)]
                distance = 2 * sum((p for i, p in enumerate(powers) if i != winner), arb(0)) / sum(powers, arb(0))
                rate = 2 * (n - 1) * arb(max(base) - min(base) - gap).exp()
                known = arb(float(judged.distances[0]))
                good += distance <= rate and distance <= known and int(judged.winners[0]) == winner
        below += float(judged.distances[0]) < _NEAR
    return Evidence(
        "ours",
        f"Lemma 4 with a rate, on {count} random scores of 1 to 5 tokens with a unique largest one and ties below it, "
        "on top of other scores, for kappa = 1, 8, 64",
        "softmax(kappa a + b) tends to one token",
        f"distance <= 2 (n - 1) exp(G - kappa g) in {good} of {3 * count}; below {_NEAR} at kappa = 64 in {below} of "
        f"{count}",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        proved(good == 3 * count and below == count),
        compared=_near_the_rate(3, 4),
    )


def _near_the_rate(strength: int, gap: int) -> tuple[Comparison, ...]:
    """Several tokens that are all behind the first by the same gap: the distance is just below the rate."""
    compared = []
    for n in (2, 5):
        with ctx.workprec(_BITS):
            behind = (n - 1) * arb(-strength * gap).exp()
            distance, rate = 2 * behind / (1 + behind), stated(CLAIM, "rate", n=n, kappa=strength, g=gap)
            compared += [Comparison(distance, "<", rate), Comparison(distance * (1 + arb(2) ** -10), ">", rate)]
    return tuple(compared)


def _weyl(rng: np.random.Generator, count: int) -> Evidence:
    """Lemma 5 with the strict inequality: enclosed singular values, exact ranks."""
    good = tried = 0
    while tried < count:
        rows, columns = (int(x) for x in rng.integers(1, 5, 2))
        A = _low_rank(rng, rows, columns) * int(rng.integers(1, 9))
        B = rng.integers(-1, 2, (rows, columns))
        rank = _rank(A)
        if not rank > 0:
            continue
        smallest = float(enclose_singular_values(A.astype(np.float64)).lower()[int(rank) - 1])
        if not smallest > float(enclose_singular_values(B.astype(np.float64)).upper()[0]):
            continue
        tried += 1
        good += _rank(A + B) >= rank
    return Evidence(
        "ours",
        f"Lemma 5 on {count} pairs of integer matrices for which the smallest nonzero singular value of A is proved to "
        "be above the largest of B",
        "rank (A + B) >= rank A",
        f"{good} of {count}",
        Method("enclosed singular values, and exact ranks", Means.EXACT, Means.ENCLOSURES),
        proved(good == count),
    )


def _weyl_with_equality() -> Evidence:
    identity = np.eye(2, dtype=np.int64)
    values = enclose_singular_values(identity.astype(np.float64))
    equal = bool((np.abs(values.midpoint - 1.0) <= 1e-12).all()) and _rank(identity) == 2
    sum_rank = _rank(identity + -identity)
    return Evidence(
        "boundary",
        "Lemma 5 with equality of the two singular values: A = I, B = -I",
        "rank (A + B) >= rank A = 2",
        f"rank (A + B) = {sum_rank}",
        Method("exact ranks", Means.EXACT),
        proved(equal and sum_rank < 2),
        {"A": identity.tolist(), "B": (-identity).tolist()},
    )


def _examples(rng: np.random.Generator) -> tuple[Int64Array, Int64Array, int]:
    """Return integer contexts of rank n, queries without an earlier one in the span of the last ones, and the number of
    these.
    """
    while True:
        n_ctx = int(rng.integers(1, 5))
        d_model = int(rng.integers(n_ctx, 7))
        killed = int(rng.integers(0, min(n_ctx, d_model)))
        kept = int(rng.integers(0, 6))
        contexts = rng.integers(-2, 3, (kept + killed, n_ctx, d_model))
        queries = rng.integers(-2, 3, (kept + killed, d_model))
        if kept > 1 and rng.integers(2):
            queries[1] = queries[0]  # parallel queries may be frozen together
        if kept + killed == 0 or any(_rank(context) < n_ctx for context in contexts):
            continue
        last = queries[kept:]
        if all(_rank(np.vstack([last, e[None]])) == killed + 1 for e in queries[:kept]) and (
            not killed or _rank(last) == killed
        ):
            return contexts, queries, killed


def _row(values: list[int]) -> Enclosure:
    return Enclosure.exact(np.array([values], dtype=np.float64))


def _low_rank(rng: np.random.Generator, rows: int, columns: int) -> Int64Array:
    inner = int(rng.integers(0, min(rows, columns) + 1))
    return rng.integers(-3, 4, (rows, inner)) @ rng.integers(-3, 4, (inner, columns))


def _shift(size: int, sign: int) -> fmpq_mat:
    return fmpq_mat(size, size, [fmpq(int(i == j)) + fmpq(sign, size) for i in range(size) for j in range(size)])


def _rank(matrix: Int64Array) -> float:
    """Return the exact rank; NaN, which compares as false with everything, if it is undecided."""
    bracket = rank_bracket(matrix)
    return bracket.lower if bracket.lower == bracket.upper else math.nan
