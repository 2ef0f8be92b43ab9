"""Bound ranks from both sides, each bound with a witness.

Page: docs/rigour/linear_algebra.md
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import ctx, fmpz_mat
from numpy.typing import ArrayLike

from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.arithmetic.rounding import Floats, up
from verify.linear_algebra.balancing import balanced
from verify.linear_algebra.given_matrix import given_matrix
from verify.linear_algebra.norms import contraction, times_positive
from verify.linear_algebra.prime_field import PRIMES, Minor, largest_minor, submatrix

_SCALAR_BITS = 64


@dataclass(frozen=True)
class Dependency:
    r"""Integers that express all columns (or rows) by some of them: a proof that the rank is at most their number.

    With $J$ the pivots and $J'$ the other columns in increasing order, $M_{\cdot J} X = d\, M_{\cdot J'}$ and
    $d \ne 0$; for rows the same holds for the transpose.

    Args:
        axis: "columns" or "rows".
        pivots: $J$, increasing.
        denominator: $d$.
        coefficients: $X$, as many rows as there are pivots.
    """

    axis: str
    pivots: tuple[int, ...]
    denominator: int
    coefficients: tuple[tuple[int, ...], ...]

    def proves_rank_of(self, matrix: fmpz_mat) -> bool:
        """Tell whether the identity holds for `matrix` exactly; any numbers are accepted."""
        if self.axis not in ("columns", "rows") or self.denominator == 0:
            return False
        columns = matrix if self.axis == "columns" else matrix.transpose()
        count = columns.ncols()
        if list(self.pivots) != sorted(set(self.pivots)) or not all(0 <= j < count for j in self.pivots):
            return False
        others = tuple(sorted(set(range(count)) - set(self.pivots)))
        shape_fits = len(self.coefficients) == len(self.pivots) and all(
            len(row) == len(others) for row in self.coefficients
        )
        if not shape_fits:
            return False
        every_row = tuple(range(columns.nrows()))
        x = fmpz_mat(len(self.pivots), len(others), [entry for row in self.coefficients for entry in row])
        dependent = submatrix(columns, every_row, others)
        return submatrix(columns, every_row, self.pivots) * x == dependent * self.denominator


@dataclass(frozen=True, eq=False)
class Compression:
    r"""Two matrices that map every matrix of a set close to the identity: a proof of a lower bound of the rank.

    If $\| U A V - I \| < 1$ in some norm, $U A V$ is nonsingular, and $A$ has at least its rank.

    Args:
        left: $U$, `[rank, rows]`.
        right: $V$, `[columns, rank]`.
    """

    left: Floats
    right: Floats

    def proves_rank_of(self, matrix: Enclosure) -> bool:
        """Tell whether the inequality is proved for every matrix of the set; any two matrices are accepted.
        Lemma M15.
        """
        rank = len(self.left)
        if self.left.shape != (rank, matrix.shape[0]) or self.right.shape != (matrix.shape[1], rank):
            return False
        return _contracts(_distance_from_identity(self.left, matrix, self.right))


@dataclass(frozen=True, eq=False)
class RankBracket:
    """Certified bounds of a rank.

    Args:
        lower: The rank is at least this; for a set, the rank of every matrix of it.
        upper: The rank is at most this; for a set, just the smaller side of the shape.
        lower_witness: Proves `lower`; `None` if it is 0.
        upper_witness: Proves `upper`; `None` if it is the smaller side of the shape.
    """

    lower: int
    upper: int
    lower_witness: Minor | Compression | None = None
    upper_witness: Dependency | None = None


def rank_bracket(matrix: Enclosure | ArrayLike) -> RankBracket:
    """Bound the rank of an exactly given matrix from both sides, or of all matrices of a set from below.

    Exactly given (floats, integers, fractions): a minor that is not zero modulo a prime bounds the rank from below; if
    it does not fill the matrix, the other columns (or rows, whichever are fewer) are written by those of the minor,
    over the integers, and the identity is checked by one exact product. A set: the midpoint is squeezed by its singular
    vectors to the identity, and the squeezed set is proved nonsingular for as many of them as possible.

    Why it is rigorous: each bound rests on its witness, which is judged by `proves_rank_of` however it was found.

    Args:
        matrix: `[rows, columns]`; see `certify_nonsingular` for what is accepted.

    Returns:
        The bounds with their witnesses. For an exactly given matrix they are equal unless five primes were all unlucky.

    Raises:
        InputError: Not a matrix of finite real numbers.
        BlasError: The BLAS of this machine fails its probes (sets only).

    Source: the ranks of minors are textbook; the compression is Rump (2010), Verification methods, Section 10, applied
    to a product.

    Example:
        >>> bracket = rank_bracket([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
        >>> bracket.lower, bracket.upper, bracket.upper_witness.pivots
        (2, 2, (0, 1))
        >>> rank_bracket(Enclosure([[1.0, 2.0], [2.0, 4.0]], 2**-40)).lower
        1
    """
    matrices = given_matrix(matrix)
    smaller = min(matrices.shape)
    if smaller == 0:
        return RankBracket(0, 0)
    if not matrices.exact:
        blas.probe()
        compression = _compression(matrices.enclosure)
        return RankBracket(len(compression.left) if compression else 0, smaller, compression)
    best = RankBracket(0, smaller)
    for prime in PRIMES:
        minor = largest_minor(matrices.integers, prime)
        if not minor.proves_rank_of(matrices.integers):
            continue
        rank = len(minor.rows)
        if rank > best.lower:
            best = RankBracket(rank, smaller, minor)
        if rank == smaller:
            return best
        dependency = _dependency(matrices.integers, minor)
        if dependency is not None:
            return RankBracket(rank, rank, minor if rank else None, dependency)
    return best


def kernel_or_minor(matrix: fmpz_mat) -> tuple[int, ...] | Minor | None:
    """Decide whether the columns of an integer matrix are dependent; Lemma M14.

    Args:
        matrix: At least one column.

    Returns:
        Integers, not all zero and without a common factor, with `matrix @ kernel == 0`; or a minor of all columns that
        is not zero modulo a prime; or `None` if five primes were all unlucky.
    """
    for prime in PRIMES:
        minor = largest_minor(matrix, prime)
        free = next((j for j in range(matrix.ncols()) if j not in set(minor.columns)), None)
        if free is None and minor.proves_rank_of(matrix):
            return minor
        if free is None:
            continue
        numerators, denominator = _solve(matrix, minor, (free,))
        kernel = fmpz_mat(matrix.ncols(), 1, [0] * matrix.ncols())
        for j, entry in zip(minor.columns, numerators.entries(), strict=True):
            kernel[j, 0] = -entry
        kernel[free, 0] = denominator
        if (matrix * kernel) == fmpz_mat(matrix.nrows(), 1, [0] * matrix.nrows()):
            return tuple(map(int, kernel.entries()))
    return None


def _dependency(matrix: fmpz_mat, minor: Minor) -> Dependency | None:
    """Return the dependency of all columns, or rows if fewer remain, on those of the minor; None if there is none."""
    axis = "columns"
    if matrix.nrows() < matrix.ncols():
        axis, matrix, minor = "rows", matrix.transpose(), Minor(minor.prime, minor.columns, minor.rows)
    others = tuple(sorted(set(range(matrix.ncols())) - set(minor.columns)))
    numerators, denominator = _solve(matrix, minor, others)
    coefficients = tuple(tuple(map(int, row)) for row in numerators.tolist())
    dependency = Dependency(axis, minor.columns, denominator, coefficients)
    return dependency if dependency.proves_rank_of(matrix if axis == "columns" else matrix.transpose()) else None


def _solve(matrix: fmpz_mat, minor: Minor, columns: tuple[int, ...]) -> tuple[fmpz_mat, int]:
    """Return numerators and common denominator of the solution of `minor @ x = matrix[minor.rows, columns]`."""
    if not minor.rows:
        return fmpz_mat(0, len(columns), []), 1
    square = submatrix(matrix, minor.rows, minor.columns)
    solution: Any = square.solve(submatrix(matrix, minor.rows, columns))
    numerators, denominator = solution.numer_denom()
    return numerators, int(denominator)


def _compression(matrix: Enclosure) -> Compression | None:
    """Return the largest compression by singular vectors, of the balanced midpoint, that proves its rank."""
    scaled = balanced(matrix)
    with np.errstate(all="ignore"):
        try:
            left, values, right = np.linalg.svd(scaled.scaled.midpoint, full_matrices=False)
        except np.linalg.LinAlgError:
            return None
        useful = int(np.count_nonzero(values > 2.0**-1000))
        u = np.ldexp(left.T[:useful], scaled.row_exponents)
        v = np.ldexp(right.T[:, :useful] / values[:useful], scaled.column_exponents[:, None])
    distance = _distance_from_identity(u, matrix, v)
    proved, refused = 0, useful + 1
    while refused - proved > 1:
        rank = (proved + refused) // 2
        proved, refused = (rank, refused) if _contracts(distance[:rank, :rank]) else (proved, rank)
    # The product of parts may round differently from the part of the product.
    compression = Compression(u[:proved], np.ascontiguousarray(v[:, :proved]))
    return compression if proved and compression.proves_rank_of(matrix) else None


def _contracts(distance: Floats) -> bool:
    """Tell whether a nonnegative matrix is proved to have a spectral radius below 1."""
    with ctx.workprec(_SCALAR_BITS):
        return bool(contraction(lambda v: times_positive(distance, v), len(distance))[0] < 1)


def _distance_from_identity(left: Floats, matrix: Enclosure, right: Floats) -> Floats:
    """Return upper bounds of the entries of |left @ A @ right - I| over the set; infinite where unknown."""
    compressed = matmul(matmul(left, matrix), right)
    with np.errstate(all="ignore"):
        away = np.abs(compressed.midpoint - np.eye(len(left)))
        distance = up(up(away) + compressed.radius)
    return np.where(np.isfinite(distance), distance, np.inf)
