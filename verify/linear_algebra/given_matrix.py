r"""Represent a user's matrix as a set of real matrices in float64 and, if it is known exactly, in integers.

Nothing is ever silently cast: integers beyond $2^{53}$ and fractions become midpoints with a radius for float64 work,
and keep their exact values for the exact methods.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import ArrayLike, NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import ObjectArray
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_inputs import exact_array, nearest
from verify.arithmetic.rounding import Floats, up

_INT64_BITS = 62


@dataclass(frozen=True, eq=False)
class GivenMatrix:
    """A set of matrices; `exact` if it contains a single matrix, whose entries are known exactly.

    Args:
        enclosure: The set, or a set around the one exact matrix.
        exact: Whether the set is one matrix.
        entries: Its exact entries, int or Fraction in an object array, where float64 does not hold them.
    """

    enclosure: Enclosure
    exact: bool
    entries: ObjectArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.enclosure.shape
        return rows, columns

    def transposed(self) -> "GivenMatrix":
        """Return the set of the transposes."""
        return GivenMatrix(self.enclosure.T, self.exact, None if self.entries is None else self.entries.T)

    @cached_property
    def integers(self) -> fmpz_mat:
        """The exact matrix with each row multiplied by a positive rational that makes it integer (Lemma M20)."""
        rows = _integer_rows(self.enclosure.midpoint) if self.entries is None else list(map(_cleared, self.entries))
        return fmpz_mat(*self.shape, [entry for row in rows for entry in row])

    @cached_property
    def fractions(self) -> list[list[Fraction]]:
        """The exact entries."""
        entries = self.enclosure.midpoint if self.entries is None else self.entries
        return [[Fraction(entry) for entry in row] for row in entries.tolist()]


def given_matrix(values: Any, radius: ArrayLike = 0.0, *, name: str = "matrix") -> GivenMatrix:
    """Read a matrix with its radii.

    Args:
        values: `[rows, columns]`: an `Enclosure`, or an array or nested lists of floats, integers of any size,
            `Fraction` or `flint.fmpq`.
        radius: Bound of the distance of each entry from its value; broadcast to the shape.
        name: Its name in error messages.

    Raises:
        InputError: Not two-dimensional, not real, masked, a NaN, an infinity, or a radius that is negative or not
            broadcastable. (An `Enclosure` may hold an entry without information.)

    Example:
        >>> given_matrix([[2**60 + 1]]).exact, given_matrix([[2**60 + 1]]).enclosure.radius.shape
        (True, (1, 1))
    """
    if isinstance(values, Enclosure):
        if np.any(radius):
            raise InputError("radius", f"is given in addition to {name}, an Enclosure with its own radii")
        _require_two_dimensions(values.shape, name)
        return GivenMatrix(values, exact=not values.radius.any())
    array = _finite(exact_array(values, name), name)
    _require_two_dimensions(array.shape, name)
    radii = _radii(radius, array.shape)
    if array.dtype == object:
        midpoint, rounding = nearest(array)
        if rounding.any():
            sums = up(rounding + radii) if radii.any() else rounding
            return GivenMatrix(Enclosure(midpoint, sums), exact=not radii.any(), entries=array)
        array = midpoint
    return GivenMatrix(Enclosure(array, radii), exact=not radii.any())


def _finite(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.dtype != object and not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(name, f"has the entry {array[tuple(place)]} at {place}; every entry must be finite")
    return array


def _require_two_dimensions(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2:
        raise InputError(name, f"has the shape {shape}", "two dimensions")


def _radii(radius: ArrayLike, shape: tuple[int, ...]) -> Floats:
    radii = _finite(exact_array(radius, "radius"), "radius")
    if radii.size and radii.min() < 0:
        raise InputError("radius", f"has the entry {radii.min()}; every radius must be >= 0")
    if radii.dtype == object:
        middle, rounding = nearest(radii)
        if np.isinf(rounding).any():
            raise InputError("radius", "has an entry beyond the range of float64")
        radii = up(middle + rounding)
    try:
        fits = np.broadcast_shapes(radii.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise InputError("radius", f"has the shape {radii.shape}, which does not broadcast to the shape {shape}")
    return radii


def _cleared(row: ObjectArray) -> list[int]:
    """Return a row of rationals times the least common multiple of their denominators."""
    multiple = math.lcm(*(Fraction(entry).denominator for entry in row))
    return [int(entry * multiple) for entry in row]


def _integer_rows(x: Floats) -> list[list[int]]:
    """Multiply each row of floats by the power of two that makes it integer; keep the odd part of the row small."""
    fraction, exponent = np.frexp(x)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    trailing = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
    nonzero = mantissa != 0
    mantissa >>= np.where(nonzero, trailing, 0)
    exponent = np.where(nonzero, exponent.astype(np.int64) - 53 + trailing, np.iinfo(np.int64).max)
    lowest = exponent.min(axis=1, keepdims=True, initial=np.iinfo(np.int64).max)
    shift = np.where(nonzero, exponent - lowest, 0)
    if not (shift > _INT64_BITS - 53).any():
        return (mantissa << shift).tolist()
    return [list(map(int.__lshift__, *pair)) for pair in zip(mantissa.tolist(), shift.tolist(), strict=True)]
