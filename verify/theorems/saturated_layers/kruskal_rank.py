"""Prove the Kruskal rank of vectors where possible: by pairs, relations, coherence, and all subsets.

The Kruskal rank is the largest k such that every k of the vectors are linearly independent. Computing it is NP-hard, so
each route below says when it applies, and what none of them decides stays UNDECIDED.

Page: docs/claims/assumptions.md
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import ArrayLike

from constructions.errors import InputError
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, matmul, sqrt
from verify.arithmetic.rounding import Floats
from verify.linear_algebra.exact_rows import Relation, decide_independence, integer_rows
from verify.verdict import Verdict

# Products of two residues fit in int64.
PRIMES = (2**31 - 1, 2147483629, 2147483587)
MOST_PREFIXES = 20_000
_COHERENCE_ROWS = 3000  # the Gram matrix of more takes too much memory
_SCALED_BITS = 60


@dataclass(frozen=True)
class SubsetCertificate:
    r"""Whether every `size` of some vectors are linearly independent.

    Args:
        size: How many at a time.
        verdict: PROVED: all of them; REFUTED: `relation` holds between at most `size`; UNDECIDED: neither is proved.
        method: The method of the decision, in words.
        relation: An exact relation between at most `size` vectors.
    """

    size: int
    verdict: Verdict
    method: str
    relation: Relation | None = None


@dataclass(frozen=True)
class KruskalRank:
    """Certified bounds of a Kruskal rank.

    Args:
        lower: Every `lower` of the vectors are linearly independent.
        upper: Some `upper` + 1 are not, or there are no more; proved.
        relation: An exact relation between `upper` + 1 vectors or fewer, if there is one.
    """

    lower: int
    upper: int
    relation: Relation | None = None


class _UnluckyPrimeError(Exception):
    """A relation modulo a prime that does not hold over the rationals, so that the search cannot continue."""


def certify_subsets(
    vectors: fmpz_mat | ArrayLike, size: int, *, most_prefixes: int = MOST_PREFIXES, seed: int = 0
) -> SubsetCertificate:
    r"""Decide exactly, where it is feasible, whether every `size` of the vectors are linearly independent.

    In this order: zero vectors and parallel pairs (always decided); all vectors independent, or fewer dimensions than
    `size`; the coherence (`coherence_bound`); and all subsets, if there are at most `most_prefixes` of the
    $\binom{T - 1}{k - 2}$ prefixes that the search has to visit.

    Why it is exact: independence is proved modulo a prime, after a random projection modulo that prime, both of which
    can only destroy independence; dependence is only ever claimed with integers that are multiplied out.

    Args:
        vectors: `[T, d]`, as `verify.linear_algebra.exact_rows.integer_rows` takes them.
        size: k, from 1 to T.
        most_prefixes: How much to search; one takes about 0.1 ms for T = 100.
        seed: Seed of the projections; no verdict depends on it but for UNDECIDED.

    Returns:
        The certificate.

    Raises:
        InputError: Not a matrix of finite numbers, or a size out of range.

    Source: tests Mahdavi, Liao, Thrampoulidis (2024), Definition 1 and Assumption 1.

    Example:
        >>> certify_subsets([[1, 0], [0, 1], [1, 1]], 2).verdict
        <Verdict.PROVED: 'PROVED'>
        >>> certify_subsets([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], 3).relation
        Relation(rows=(0, 1, 2), coefficients=(1, 1, -1))
    """
    matrix = integer_rows(vectors)
    count, width = matrix.nrows(), matrix.ncols()
    if not 1 <= size <= count:
        raise InputError("size", f"= {size}", f"1 .. {count}, the number of vectors")
    pair = parallel_pair(matrix, seed=seed)
    if pair is not None and len(pair.rows) <= size:
        return SubsetCertificate(size, Verdict.REFUTED, "a zero vector or a parallel pair", pair)
    if size <= 2 and pair is None:
        return SubsetCertificate(size, Verdict.PROVED, "no zero vector and no parallel pair")
    if size == 1:
        return SubsetCertificate(size, Verdict.PROVED, "no zero vector")
    if width < size:
        decision = decide_independence(matrix, range(size))
        return SubsetCertificate(size, decision.verdict, f"{width} dimensions", decision.relation)
    if count <= width:
        decision = decide_independence(matrix)
        if decision.verdict is Verdict.PROVED:
            return SubsetCertificate(size, Verdict.PROVED, f"all {count} vectors are linearly independent")
        if decision.relation is not None and len(decision.relation.rows) <= size:
            return SubsetCertificate(size, Verdict.REFUTED, "an exact relation", decision.relation)
    # Welch: the coherence of T > d vectors is at least the root of (T - d) / (d (T - 1)).
    if (size - 1) ** 2 * (count - width) < width * (count - 1) and coherence_bound(matrix) >= size:
        return SubsetCertificate(size, Verdict.PROVED, "the coherence")
    prefixes = math.comb(count - 1, size - 2)
    if prefixes > most_prefixes:
        return SubsetCertificate(size, Verdict.UNDECIDED, f"{prefixes} prefixes are too many to search")
    for attempt, prime in enumerate(PRIMES):
        try:
            relation = _search(matrix, size, prime, np.random.default_rng([seed, attempt]))
        except _UnluckyPrimeError:
            continue
        verdict = Verdict.PROVED if relation is None else Verdict.REFUTED
        return SubsetCertificate(size, verdict, f"all {math.comb(count, size)} subsets", relation)
    return SubsetCertificate(size, Verdict.UNDECIDED, "every prime was unlucky")


def kruskal_rank(vectors: fmpz_mat | ArrayLike) -> KruskalRank:
    """Bound the Kruskal rank from both sides, size by size, until a relation is found.

    Args:
        vectors: `[T, d]`, T >= 1.

    Returns:
        The bounds; equal unless a search would have been too long.

    Raises:
        InputError: Not a matrix of finite numbers.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Definition 1.

    Example:
        >>> kruskal_rank([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
        KruskalRank(lower=2, upper=2, relation=Relation(rows=(0, 1, 2), coefficients=(1, 1, -1)))
    """
    matrix = integer_rows(vectors)
    most = min(matrix.nrows(), matrix.ncols())
    whole = decide_independence(matrix)
    if whole.verdict is Verdict.PROVED:
        return KruskalRank(matrix.nrows(), matrix.nrows())
    if whole.relation is not None:
        most = min(most, len(whole.relation.rows) - 1)
    lower = 0
    for size in range(1, most + 1):
        certificate = certify_subsets(matrix, size)
        if certificate.verdict is Verdict.REFUTED:
            return KruskalRank(lower, size - 1, certificate.relation)
        if certificate.verdict is Verdict.UNDECIDED:
            break
        lower = size
    return KruskalRank(max(lower, min(most, coherence_bound(matrix))), most, whole.relation)


def parallel_pair(vectors: fmpz_mat | ArrayLike, *, seed: int = 0) -> Relation | None:
    """Return a zero vector or two parallel ones, or None: exact, in $O(T d)$.

    The vectors are projected to two coordinates modulo a prime. Different ratios there prove that no two are parallel;
    equal ones are looked at exactly.

    Args:
        vectors: `[T, d]`.
        seed: Seed of the projection.

    Returns:
        The relation, of one row or two; `None` proves that there is none.

    Raises:
        InputError: Not a matrix of finite numbers.

    Example:
        >>> parallel_pair([[1.0, 2.0], [0.0, 1.0], [-0.5, -1.0]])
        Relation(rows=(0, 2), coefficients=(1, 2))
    """
    matrix = integer_rows(vectors)
    if matrix.ncols() == 0:
        return Relation((0,), (1,)) if matrix.nrows() else None
    # A projection that sends a vector to 0 leaves every pair with it to be looked at, which costs time and no truth.
    residues = projected(matrix, 2, PRIMES[0], np.random.default_rng([seed, 2]))
    rows = np.arange(len(residues))
    for i in rows[~residues.any(axis=1)].tolist():
        relation = decide_independence(matrix, (i,)).relation
        if relation is not None:
            return relation
    for pair in _equal_ratios(rows, residues, PRIMES[0]):
        relation = decide_independence(matrix, pair).relation
        if relation is not None:
            return relation
    return None


def coherence_bound(vectors: fmpz_mat | ArrayLike) -> int:
    r"""Return a lower bound of the Kruskal rank from the angles between the vectors.

    With $\mu$ the largest $|\langle x_i, x_j \rangle| / (\|x_i\| \|x_j\|)$, every k < 1 + 1/μ vectors are linearly
    independent. The same holds for the images of the vectors under any linear map, and one that makes the whole set
    orthonormal on average is tried too.

    Why it is rigorous: the angles are enclosed with all roundings (`verify.arithmetic.enclosure`), and the division is
    exact.

    Args:
        vectors: `[T, d]`.

    Returns:
        The bound, from 0 to T. For more than 3000 vectors 0.

    Raises:
        InputError: Not a matrix of finite numbers.
        BlasError: The BLAS of this machine fails its probes.

    Source: Donoho, Elad (2003), Optimally sparse representation in general dictionaries via l1 minimization, Theorem 7.

    Example:
        >>> coherence_bound([[1.0, 0.0], [0.0, 1.0], [1.0, 3.0]])
        2
    """
    matrix = integer_rows(vectors)
    count = matrix.nrows()
    if not 0 < count <= _COHERENCE_ROWS or not matrix.ncols():
        return 0
    blas.probe()
    rows = _normalized(matrix)
    with np.errstate(all="ignore"):
        try:
            _, values, right = np.linalg.svd(rows.midpoint, full_matrices=False)
        except np.linalg.LinAlgError:
            return _coherence_bound(rows)
        if not values[0] > 0:
            return 0
        useful = values > values[0] * 2.0**-40
        whitened = matmul(rows, np.ascontiguousarray(right[useful].T / values[useful]))
    return max(_coherence_bound(rows), _coherence_bound(whitened))


def _coherence_bound(rows: Enclosure) -> int:
    count = rows.shape[0]
    gram = matmul(rows, rows.T)
    with np.errstate(all="ignore"):
        diagonal = np.arange(count)
        squares = gram[diagonal, diagonal]
        if not (squares.lower() > 0).all():
            return 0
        lengths = sqrt(squares)
        cosines = gram / (lengths.reshape(count, 1) * lengths.reshape(1, count))
        angles = np.maximum(np.abs(cosines.lower()), np.abs(cosines.upper()))
    angles[diagonal, diagonal] = 0.0
    largest = float(angles.max())
    if largest == 0.0:
        return count
    return min(count, math.ceil(1 / Fraction(largest))) if 0.0 < largest < 1.0 else int(0.0 < largest < math.inf)


def projected(matrix: fmpz_mat, width: int, prime: int, rng: np.random.Generator) -> Int64Array:
    """Return the rows times a random matrix modulo a prime, `[T, width]`; independent rows there are independent.

    Args:
        matrix: Integers, `[T, d]`.
        width: Columns of the result.
        prime: Below $2^{62}$.
        rng: The generator to draw from.

    Returns:
        Residues.
    """
    draws = rng.integers(0, prime, (matrix.ncols(), width)).ravel().tolist()
    product = nmod_mat(matrix, prime) * nmod_mat(matrix.ncols(), width, draws, prime)
    return np.array([int(entry) for entry in product.entries()], dtype=np.int64).reshape(matrix.nrows(), width)


def eliminate(residues: Int64Array, row: int, prime: int) -> Int64Array:
    """Return the residues after eliminating one nonzero row, without its pivot column.

    Args:
        residues: `[rows, columns]`, modulo a prime below $2^{31}$.
        row: The row.
        prime: The prime.

    Returns:
        The residues, `[rows, columns - 1]`; the eliminated row is 0, as are the rows that it is parallel to.

    Example:
        >>> eliminate(np.array([[2, 4], [1, 2], [1, 1]]), 0, 7).tolist()
        [[0], [0], [5]]
    """
    pivot = int(np.argmax(residues[row] != 0))
    others = np.delete(residues, pivot, axis=1)
    return (others * residues[row, pivot] - residues[:, pivot, None] * others[row]) % prime


def _search(matrix: fmpz_mat, size: int, prime: int, rng: np.random.Generator) -> Relation | None:
    """Return a relation between at most `size` >= 2 rows, or `None` if there is none."""
    residues = projected(matrix, size, prime, rng)
    return _descend(matrix, (), np.arange(len(residues)), residues, prime)


def _descend(
    matrix: fmpz_mat, prefix: tuple[int, ...], rows: Int64Array, residues: Int64Array, prime: int
) -> Relation | None:
    """Return a relation between the prefix and some of the later rows, given their residues after eliminating the
    prefix.
    """
    missing = residues.shape[1]
    for row in rows[~residues.any(axis=1)].tolist():
        relation = decide_independence(matrix, (*prefix, row)).relation
        if relation is None:
            raise _UnluckyPrimeError
        return relation
    if missing == 2:
        for pair in _equal_ratios(rows, residues, prime):
            relation = decide_independence(matrix, (*prefix, *pair)).relation
            if relation is not None:
                return relation
        return None
    for i in range(len(rows) - missing + 1):
        left = eliminate(residues[i:], 0, prime)[1:]
        relation = _descend(matrix, (*prefix, int(rows[i])), rows[i + 1 :], left, prime)
        if relation is not None:
            return relation
    return None


def _equal_ratios(rows: Int64Array, residues: Int64Array, prime: int) -> Iterator[tuple[int, int]]:
    """Return all pairs of rows whose two residues have the same ratio, which includes all dependent pairs."""
    first, second = residues[:, 0], residues[:, 1]
    finite = second != 0
    ratios = np.where(finite, first * _inverses(np.where(finite, second, 1), prime) % prime, prime)
    # A row of two zeros is dependent with every other one.
    zero: BoolArray = np.count_nonzero(residues, axis=1) == 0
    for i in np.flatnonzero(zero).tolist():
        yield from ((int(rows[min(i, j)]), int(rows[max(i, j)])) for j in range(len(rows)) if j != i)
    order = np.argsort(ratios, kind="stable")
    order = order[~zero[order]]
    sorted_ratios = ratios[order]
    equal = np.flatnonzero(np.diff(sorted_ratios) == 0)
    for start in equal.tolist():
        # The pairs of a class of equal ratios: with the first of each run, all later ones.
        for stop in range(start + 1, len(order)):
            if sorted_ratios[stop] != sorted_ratios[start]:
                break
            i, j = sorted((int(rows[order[start]]), int(rows[order[stop]])))
            yield i, j


def _inverses(residues: Int64Array, prime: int) -> Int64Array:
    """Return the inverses of nonzero residues, using one inverse and a tree of products."""
    if len(residues) == 0:
        return residues
    if len(residues) == 1:
        return np.array([pow(int(residues[0]), -1, prime)])
    even, odd = residues[: len(residues) // 2 * 2 : 2], residues[1::2]
    inverses = _inverses(np.append(even * odd % prime, residues[len(even) * 2 :]), prime)
    result = np.empty_like(residues)
    result[: len(even) * 2 : 2] = inverses[: len(even)] * odd % prime
    result[1 : len(even) * 2 : 2] = inverses[: len(even)] * even % prime
    result[len(even) * 2 :] = inverses[len(even) :]
    return result


def _normalized(matrix: fmpz_mat) -> Enclosure:
    """Divide each row by a power of two that brings its largest entry below 1, within 2^-52 in every entry."""
    table = []
    for row in matrix.tolist():
        entries = [int(entry) for entry in row]
        bits = max(abs(entry) for entry in entries).bit_length()
        shift = bits - _SCALED_BITS
        table.append([entry >> shift if shift > 0 else entry << -shift for entry in entries])
    midpoint: Floats = np.ldexp(np.array(table, dtype=np.int64).astype(np.float64), -_SCALED_BITS)
    return Enclosure(midpoint, 2.0**-52)
