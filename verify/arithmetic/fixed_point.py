"""Floats as integers over a power of two, for exact products."""

import numpy as np
from flint import fmpz_mat

from verify.arithmetic.rounding import Floats

LIMB = 48
_LARGEST = 16.0


def fixed_point(x: Floats, limbs: int) -> tuple[fmpz_mat, int, bool]:
    r"""Return integers $n$ and a number $q$ of fractional bits with $|x - 2^{-q} n| \le 2^{-q-1}$; Lemma M8.

    Args:
        x: `[rows, columns]`, of absolute value at most 16, so that an integer of 48 fractional bits fits 64.
        limbs: At most how many times 48 bits to keep.

    Returns:
        The integers, $q$, and whether nothing was rounded.

    Raises:
        ValueError: An entry is larger, or not a number; its integer might not fit.
    """
    if not np.abs(x).max(initial=0.0) <= _LARGEST:
        raise ValueError(f"entries must be at most {_LARGEST} in absolute value, got {np.abs(x).max()}")
    integers, rest, bits = None, x, 0
    while integers is None or (bits < limbs * LIMB and rest.any()):
        rest = np.ldexp(rest, LIMB)
        limb = np.rint(rest)
        rest = rest - limb
        integers = integer_matrix(limb) if integers is None else integers * (1 << LIMB) + integer_matrix(limb)
        bits += LIMB
    return integers, bits, not rest.any()


def integer_matrix(x: Floats) -> fmpz_mat:
    """Convert floats with integer values below 2^63 to integers."""
    return fmpz_mat(x.shape[0], x.shape[1], x.astype(np.int64).ravel().tolist())
