"""Which arrays of numbers float64 holds as they are."""

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError
from verify.arithmetic.rounding import Floats


def is_masked(values: object) -> bool:
    """Whether a masked array is among `values`, the hidden entries of which NumPy would take for numbers."""
    return np.ma.isMaskedArray(values) or (isinstance(values, list | tuple) and any(map(is_masked, values)))


def as_float64(values: ArrayLike, name: str) -> Floats:
    """`values` as a float64 array, without a copy where they are one; refused where float64 would change a number."""
    if is_masked(values):
        raise InputError(f"{name} is a masked array or holds one; fill the masked entries first")
    x = np.asarray(values)
    if x.dtype.kind in "iu" and x.size and (x.max() > 2**53 or x.min() < -(2**53)):
        raise InputError(f"{name} has integers beyond 2**53, expected numbers that float64 holds exactly")
    if x.dtype.kind not in "biuf" or x.dtype.itemsize > 8:
        raise InputError(f"{name} has dtype {x.dtype}, expected real numbers that float64 holds exactly")
    return x.astype(np.float64, copy=False)
