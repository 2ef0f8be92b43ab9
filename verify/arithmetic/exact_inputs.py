r"""Read a caller's numbers exactly: a number that float64 does not have is refused, never rounded.

NumPy makes float64 of lists that mix integers of any size with floats, and of unsigned beside signed integers; it does
so in silence. Here such numbers are read again one by one, and stay integers and fractions.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import ArrayLike, NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import ObjectArray
from verify.arithmetic.rounding import Floats

_LARGEST = 2**53  # up to here float64 holds every integer


def is_masked(values: Any) -> bool:
    """Tell whether `values` contain a masked array, whose hidden entries NumPy would treat as numbers."""
    return np.ma.isMaskedArray(values) or (_is_sequence(values) and any(map(is_masked, values)))


def as_float64(values: ArrayLike, name: str) -> Floats:
    """Convert `values` to float64 without a copy if possible; refuse values that float64 would change.

    Args:
        values: Floats of up to 64 bits (NaN and infinities too), integers, booleans, or an array or nested lists of
            these, of `Fraction`, `flint.fmpz` and `flint.fmpq`, each a number that float64 holds.
        name: Their name in error messages.

    Raises:
        InputError: Not an array of real numbers, a masked array, or a number that float64 does not hold.

    Example:
        >>> as_float64([2**53, 0.5], "x").tolist()
        [9007199254740992.0, 0.5]
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    array = exact_array(values, name)
    if array.dtype != object:
        return array
    middle, rounding = nearest(array)
    # Without this what is certified is another array than the one that was given.
    if rounding.any():
        wrong = array[rounding > 0][0]
        raise InputError(name, f"has the entry {_shown(wrong)}", "numbers that float64 holds exactly")
    return middle


def exact_array(values: Any, name: str) -> NDArray[Any]:
    """Return a float64 array of the same numbers, or an object array of int and Fraction where float64 may be inexact.

    Args:
        values: As for `as_float64`, but of any size and precision.
        name: Their name in error messages.

    Raises:
        InputError: Not an array of real numbers, or a masked array; or a NaN or an infinity beside a number that
            float64 does not hold.

    Example:
        >>> exact_array([2**53 + 1, 0.5], "x").tolist()
        [9007199254740993, Fraction(1, 2)]
    """
    # Without this the numbers behind a mask, which nobody meant, are certified.
    if is_masked(values):
        raise InputError(name, "is a masked array or holds one; fill the masked entries first")
    try:
        array = np.asarray(values)
        if array.ndim and not (isinstance(values, np.ndarray) or _is_sequence(values) or hasattr(values, "__array__")):
            raise InputError(name, f"is a {type(values).__name__}", "an array or nested lists of numbers")
        if array.dtype.kind == "f" and not isinstance(values, np.ndarray | np.generic | float):
            # Beside floats, NumPy rounds integers of any size.
            entries = np.asarray(values, dtype=object)
            array = array if all(map(_surely_memorized, entries.flat)) else entries
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(name, f"is not a rectangular array of numbers: {error}") from error
    kind = array.dtype.kind
    if kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _LARGEST:
        return array.astype(object)
    # Longer floats go on below: as float64 they would be rounded in silence.
    if kind in "iub" or (kind == "f" and array.dtype.itemsize <= 8):
        return array.astype(np.float64, copy=False)
    if kind != "O":
        raise InputError(
            name, f"has dtype {array.dtype}; give float64, integers, or an object array of int, Fraction or flint.fmpq"
        )
    exact = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        exact[index] = _rational(entry, f"{name}[{', '.join(map(str, index))}]" if index else name)
    return exact


def nearest(entries: ObjectArray) -> tuple[Floats, Floats]:
    """Return the nearest float64 of each int or Fraction, and an upper bound of the distance (infinite on overflow).

    Example:
        >>> [part.tolist() for part in nearest(np.array([2**53 + 1, Fraction(1, 2)], dtype=object))]
        [[9007199254740992.0, 0.5], [1.0000000000000002, 0.0]]
    """
    midpoint, rounding = np.zeros(entries.shape), np.zeros(entries.shape)
    for index, entry in np.ndenumerate(entries):
        try:
            midpoint[index] = float(entry)
        except OverflowError:
            rounding[index] = np.inf
            continue
        distance = abs(Fraction(float(midpoint[index])) - entry)
        if distance:
            rounding[index] = math.nextafter(float(distance), math.inf)
    return midpoint, rounding


def _is_sequence(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


def _surely_memorized(entry: Any) -> bool:
    """Tell whether an entry is exact in float64, because NumPy chose float64 or less for the array."""
    if isinstance(entry, bool | np.bool_):
        return True
    if isinstance(entry, int | np.integer):
        return -_LARGEST <= int(entry) <= _LARGEST
    return isinstance(entry, float) or type(entry) in (np.float16, np.float32)


def _rational(entry: Any, name: str) -> int | Fraction:
    """Return an entry of an object array as the exact number it is."""
    if isinstance(entry, np.ndarray) and entry.ndim == 0:
        entry = entry[()]
    if isinstance(entry, int | np.integer | np.bool_ | fmpz):
        return int(entry)
    if isinstance(entry, fmpq):
        return Fraction(int(entry.p), int(entry.q))
    if isinstance(entry, Fraction):
        return entry
    if isinstance(entry, float | np.floating) and np.isfinite(entry):
        return Fraction(*entry.as_integer_ratio())
    raise InputError(name, f"is {entry!r}", "a finite real number: int, float, Fraction or flint.fmpq")


def _shown(number: int | Fraction) -> str:
    """Return a number, or its size where it would fill the screen."""
    large = max(abs(number.numerator), number.denominator).bit_length() > 200
    return f"of {number.numerator.bit_length()} bits over {number.denominator.bit_length()}" if large else str(number)
