r"""Vectors as integer rows, and linear relations between them that are checked exactly.

Page: docs/claims/assumptions.md
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import ArrayLike

from verify.arithmetic.rounding import Floats
from verify.linear_algebra.given_matrix import given_matrix
from verify.linear_algebra.prime_field import submatrix
from verify.linear_algebra.rank import kernel_or_minor
from verify.verdict import Verdict

_PRIME = 2**61 - 1
_INT64_BITS = 62


@dataclass(frozen=True)
class Relation:
    r"""A linear relation between some rows: a proof that they are linearly dependent.

    $\sum_i c_i x_{r_i} = 0$ with integers $c_i \ne 0$.

    Args:
        rows: $r_i$, distinct and increasing.
        coefficients: $c_i$, as many.
    """

    rows: tuple[int, ...]
    coefficients: tuple[int, ...]

    def holds_for(self, vectors: fmpz_mat | ArrayLike) -> bool:
        """Tell whether this is a nontrivial relation that holds exactly; any numbers are accepted.

        Args:
            vectors: The rows, `[T, d]`, as `integer_rows` takes them.

        Example:
            >>> relation = Relation((0, 2), (2, -1))
            >>> relation.holds_for([[1.0, 0.5], [0.0, 1.0], [2.0, 1.0]])
            True
            >>> relation.holds_for([[1.0, 0.5], [0.0, 1.0], [2.0, 1.0 + 2**-52]])
            False
        """
        matrix = integer_rows(vectors)
        indices = list(self.rows)
        formed = (
            0 < len(indices) == len(self.coefficients)
            and indices == sorted(set(indices))
            and 0 <= indices[0] <= indices[-1] < matrix.nrows()
            and all(self.coefficients)
        )
        if not formed:
            return False
        chosen = submatrix(matrix, self.rows, tuple(range(matrix.ncols())))
        combined = fmpz_mat(1, len(indices), list(self.coefficients)) * chosen
        return not any(combined.entries())


@dataclass(frozen=True)
class Independence:
    """Whether some rows are linearly independent.

    Args:
        verdict: PROVED: independent; REFUTED: `relation` holds; UNDECIDED: five primes were all unlucky.
        relation: A relation between the rows, by their numbers in the whole list.
    """

    verdict: Verdict
    relation: Relation | None = None


def integer_rows(vectors: fmpz_mat | ArrayLike, *, name: str = "vectors") -> fmpz_mat:
    """Return the vectors times one positive number that makes them integer; linear relations are unchanged.

    A float64 is an integer over a power of two, so nothing is rounded.

    Args:
        vectors: `[T, d]`: floats, integers of any size or `Fraction`; an `fmpz_mat` is returned as it is.
        name: Its name in error messages.

    Returns:
        The integers, `[T, d]`.

    Raises:
        InputError: Not a matrix of finite real numbers.

    Example:
        >>> integer_rows([[0.5, 3.0], [0.25, 0.0]]).tolist()
        [[2, 12], [1, 0]]
    """
    if isinstance(vectors, fmpz_mat):
        return vectors
    matrix = given_matrix(vectors, name=name)
    if matrix.entries is None:
        return fmpz_mat(*matrix.shape, _integers(matrix.enclosure.midpoint))
    entries = [Fraction(entry) for entry in matrix.entries.ravel().tolist()]
    multiple = math.lcm(*(entry.denominator for entry in entries))
    return fmpz_mat(*matrix.shape, [int(entry * multiple) for entry in entries])


def decide_independence(vectors: fmpz_mat | ArrayLike, rows: Sequence[int] | None = None) -> Independence:
    r"""Decide exactly whether some rows are linearly independent over the rationals, hence over the reals.

    Independent modulo a prime is independent over $\mathbb Q$: a minor that is not 0 modulo the prime is not 0. Where
    the rank modulo the prime is too small, integers $c$ with $c X = 0$ are solved for and multiplied out exactly, or
    another prime is tried.

    Args:
        vectors: `[T, d]`, as `integer_rows` takes them.
        rows: Numbers of the rows that are asked about; all by default. None at all are independent.

    Returns:
        The verdict, with a relation where it is REFUTED.

    Raises:
        InputError: Not a matrix of finite real numbers.

    Example:
        >>> decide_independence([[1, 2], [2, 4], [0, 1]]).relation
        Relation(rows=(0, 1), coefficients=(2, -1))
        >>> decide_independence([[1, 2], [2, 4], [0, 1]], (0, 2)).verdict
        <Verdict.PROVED: 'PROVED'>
    """
    matrix = integer_rows(vectors)
    chosen = tuple(range(matrix.nrows())) if rows is None else tuple(sorted(rows))
    if not chosen:
        return Independence(Verdict.PROVED)
    part = submatrix(matrix, chosen, tuple(range(matrix.ncols())))
    if part.ncols() and nmod_mat(part, _PRIME).rank() == len(chosen):
        return Independence(Verdict.PROVED)
    decision = kernel_or_minor(part.transpose())
    if decision is None:
        return Independence(Verdict.UNDECIDED)
    if not isinstance(decision, tuple):
        return Independence(Verdict.PROVED)
    sign = 1 if next(c for c in decision if c) > 0 else -1
    terms = [(row, sign * c) for row, c in zip(chosen, decision, strict=True) if c]
    relation = Relation(tuple(row for row, _ in terms), tuple(c for _, c in terms))
    return Independence(Verdict.REFUTED, relation) if relation.holds_for(matrix) else Independence(Verdict.UNDECIDED)


def _integers(x: Floats) -> list[Any]:
    """Return the entries times the power of two that makes them integer."""
    fractions, exponents = np.frexp(x.ravel())
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    trailing = np.frexp((mantissas & -mantissas).astype(np.float64))[1] - 1
    nonzero = mantissas != 0
    mantissas >>= np.where(nonzero, trailing, 0)
    exponents = exponents.astype(np.int64) - 53 + trailing
    shifts = np.where(nonzero, exponents - exponents[nonzero].min(initial=0 if not nonzero.any() else 2**40), 0)
    bits = np.frexp(np.abs(mantissas).astype(np.float64))[1] + shifts
    if not (bits > _INT64_BITS).any():
        return (mantissas << shifts).tolist()
    return list(map(int.__lshift__, mantissas.tolist(), shifts.tolist()))
