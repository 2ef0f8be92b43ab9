"""Make read-only copies of arrays for records."""

from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array


def frozen_copy(array: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """Return a read-only copy in C order, of the same type or another.

    Example:
        >>> frozen_copy(np.ones(2)).flags.writeable
        False
    """
    copy = np.array(array, dtype=dtype, order="C", copy=True)
    copy.setflags(write=False)
    return copy


def is_frozen(array: NDArray[Any]) -> bool:
    """Whether nobody can write to an array, nor to one or a file that it is a part of.

    Example:
        >>> is_frozen(frozen_copy(np.ones(2))[1:]), is_frozen(np.ones(2))
        (True, False)
    """
    part: Any = array
    while part is not None:
        if (isinstance(part, np.ndarray) and part.flags.writeable) or isinstance(part, mmap):
            return False
        part = getattr(part, "base", None)
    return True


def frozen_float64(name: str, array: NDArray[Any]) -> Float64Array:
    """Return the same of an array of finite float64 numbers; the array itself where nobody can write to it.

    Args:
        name: Name of the argument, for the message.
        array: The array.

    Raises:
        InputError: Another type, a NaN or an infinity; names the entry.

    Example:
        >>> frozen_float64("W_U", np.array([1.0, np.nan]))
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: W_U has the entry nan at (1,), expected finite numbers
    """
    if array.dtype != np.float64:
        raise InputError(name, f"has dtype {array.dtype}", "float64")
    if not np.isfinite(array).all():
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(name, f"has the entry {array[position]} at {position}", "finite numbers")
    return array if array.flags.c_contiguous and is_frozen(array) else frozen_copy(array, np.float64)
