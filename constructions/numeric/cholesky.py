"""Cholesky's factor of a positive definite matrix, nearly all of it by products of matrices.

Page: docs/rigour/linear_algebra.md
"""

import numpy as np
import scipy.linalg

from constructions.numeric.arrays import Float64Array
from constructions.numeric.products import LARGEST_SYMMETRIC, multiply

_BLOCK = 512


def cholesky(lower: Float64Array) -> Float64Array:
    """Return the factor L of $A = L L^T$, up to rounding: by LAPACK, or block by block if A is large.

    Args:
        lower: The matrix A in C order, `[n, n]`, of which only the lower triangle is read; overwritten.

    Returns:
        L, `[n, n]`, zero above the diagonal.

    Raises:
        numpy.linalg.LinAlgError: A is not positive definite, up to rounding.

    Source: Gustavson, Recursion leads to automatic variable blocking for dense linear-algebra algorithms (1997).

    Example:
        >>> cholesky(np.array([[4.0, 0.0], [2.0, 5.0]]))
        array([[2., 0.],
               [1., 2.]])
    """
    if len(lower) <= LARGEST_SYMMETRIC:
        # The lower triangle in C order is to LAPACK the upper one of the transpose.
        return scipy.linalg.cholesky(lower.T, lower=False, overwrite_a=True, check_finite=False).T
    with np.errstate(all="ignore"):
        _factor_in_place(lower)
    return lower


def _factor_in_place(a: Float64Array) -> None:
    size = len(a)
    if size <= _BLOCK:
        a[:] = scipy.linalg.cholesky(a, lower=True, check_finite=False)
        return
    half = size // 2
    corner, below, rest = a[:half, :half], a[half:, :half], a[half:, half:]
    a[:half, half:] = 0.0
    _factor_in_place(corner)
    _divide_in_place(below, corner)
    rest -= multiply(below, below.T)
    _factor_in_place(rest)


def _divide_in_place(b: Float64Array, factor: Float64Array) -> None:
    """Overwrite B by B L^-T for the lower triangle L, by halves."""
    size = len(factor)
    if size <= _BLOCK:
        b[:] = scipy.linalg.solve_triangular(factor, b.T, lower=True, check_finite=False).T
        return
    half = size // 2
    _divide_in_place(b[:, :half], factor[:half, :half])
    b[:, half:] -= multiply(b[:, :half], factor[half:, :half].T)
    _divide_in_place(b[:, half:], factor[half:, half:])
