r"""Sample subsets for the Kruskal rank: they bound the share of dependent subsets, but prove nothing.

Page: docs/claims/assumptions.md
"""

import math
from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from constructions.errors import InputError
from verify.linear_algebra.exact_rows import Relation, decide_independence, integer_rows
from verify.theorems.saturated_layers.kruskal_rank import projected
from verify.verdict import Verdict

_PRIME = 2**61 - 1
_MOST_WORK = 2.0e9  # multiplications


@dataclass(frozen=True)
class SubsetSample:
    r"""Random subsets of vectors, each decided exactly.

    Args:
        size: Vectors in a subset.
        samples: How many were drawn, independently and uniformly.
        dependent: How many of them are linearly dependent; exact.
        confidence: Confidence of the bounds, e.g. 0.95.
        share_lower: One-sided Clopper-Pearson lower bound of the share of dependent subsets.
        share_upper: One-sided upper bound; with no dependent one among N it is $1 - \alpha^{1/N}$, at most $3 / N$ for
            95 %.
        verdict: REFUTED: a dependent subset was found; UNDECIDED otherwise, whatever the number of samples: one
            dependent subset is enough to lower the Kruskal rank.
        relation: The first relation found.
    """

    size: int
    samples: int
    dependent: int
    confidence: float
    share_lower: float
    share_upper: float
    verdict: Verdict
    relation: Relation | None = None


def sample_subsets(
    vectors: fmpz_mat | ArrayLike,
    size: int,
    *,
    samples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> SubsetSample:
    r"""Draw subsets of the vectors and decide each exactly.

    Why the bounds are honest: each subset is judged by exact arithmetic, so the number of dependent ones among N
    independent uniform draws is binomial with the unknown share q. If $x$ were seen, the largest q for which at most
    $x$ has a probability of $\alpha$ or more is the upper bound; it fails for at most a share $\alpha$ of all seeds.
    Vectors that were chosen after the seed are not covered.

    Args:
        vectors: `[T, d]`.
        size: k, from 1 to T.
        samples: N >= 1; by default 5000, or as many as a few seconds allow, at least 50.
        confidence: $1 - \alpha$, in (0, 1).
        seed: Seed of the draws.

    Returns:
        The outcome.

    Raises:
        InputError: Not a matrix of finite numbers, or an argument out of range.

    Source: Clopper, Pearson (1934); the test of Mahdavi, Liao, Thrampoulidis (2024), Section 5.1.

    Example:
        >>> seen = sample_subsets(np.vander(np.arange(1, 41), 3), 3, samples=300)
        >>> seen.dependent, seen.verdict.value, round(seen.share_upper, 5)
        (0, 'UNDECIDED', 0.00994)
    """
    matrix = integer_rows(vectors)
    count, width = matrix.nrows(), matrix.ncols()
    if not 1 <= size <= count:
        raise InputError("size", f"= {size}", f"1 .. {count}, the number of vectors")
    if not 0.0 < confidence < 1.0:
        raise InputError("confidence", f"= {confidence}", "a number between 0 and 1")
    number = max(50, min(5000, int(_MOST_WORK / size**3))) if samples is None else samples
    if number < 1:
        raise InputError("samples", f"= {samples}", "at least 1")
    rng = np.random.default_rng([seed, 5])
    columns = min(size, width)
    residues = projected(matrix, columns, _PRIME, rng).tolist()
    dependent, relation = 0, None
    for _ in range(number):
        chosen = np.sort(rng.choice(count, size, replace=False)).tolist()
        part = nmod_mat(size, columns, [entry for row in chosen for entry in residues[row]], _PRIME)
        if part.rank() == size:
            continue
        decision = decide_independence(matrix, chosen)
        if decision.verdict is not Verdict.PROVED:
            dependent += 1
            relation = relation or decision.relation
    lower, upper = share_bounds(dependent, number, confidence)
    verdict = Verdict.UNDECIDED if relation is None else Verdict.REFUTED
    return SubsetSample(size, number, dependent, confidence, lower, upper, verdict, relation)


def share_bounds(seen: int, draws: int, confidence: float) -> tuple[float, float]:
    r"""Return one-sided Clopper-Pearson bounds of a share, each at the given confidence.

    Args:
        seen: How often it was seen.
        draws: In how many draws.
        confidence: $1 - \alpha$.

    Returns:
        Lower and upper bound.

    Source: Clopper, Pearson (1934).

    Example:
        >>> [round(bound, 6) for bound in share_bounds(0, 5000, 0.95)], share_bounds(3, 3, 0.95)[1]
        ([0.0, 0.000599], 1.0)
    """
    lower = 0.0 if seen == 0 else float(betaincinv(seen, draws - seen + 1, 1.0 - confidence))
    if seen == draws:
        return lower, 1.0
    if seen == 0:
        return lower, -math.expm1(math.log1p(-confidence) / draws)
    return lower, float(betaincinv(seen + 1, draws - seen, confidence))
