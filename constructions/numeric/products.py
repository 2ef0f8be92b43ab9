"""Products of matrices of floats, by the BLAS that the probes of the proofs attack.

Page: docs/rigour/arithmetic.md
"""

import numpy as np

from constructions.numeric.arrays import Float64Array

_ROWS = 2048  # rows whose partial products are added at a time

LARGEST_SYMMETRIC = 4096
"""Rows up to which a product with the transpose, or a Cholesky factor, is left to one call of the BLAS.

Its routine for them (``dsyrk``) crashes in OpenBLAS with several threads, for some runs of 16,384 rows and more.
"""


def multiply(a: Float64Array, b: Float64Array, terms: int | None = None) -> Float64Array:
    r"""Return the product of matrices as the probed BLAS computes it.

    Args:
        a: [..., m, n]
        b: [..., n, p]
        terms: Inner products of so many terms are added one after the other, so that a term goes through fewer
            roundings; by default they are not cut.

    Returns:
        Floats [..., m, p], within Lemma A7 (a) of the product of any finite entries.

    Example:
        >>> multiply(np.ones((1, 3)), np.ones((3, 1)), 2)
        array([[3.]])
    """
    inner = a.shape[-1]
    first = inner if terms is None else min(terms, inner)
    left, right = a[..., :first], b[..., :first, :]
    y = _by_transpose(left) if len(a) > LARGEST_SYMMETRIC and _are_transposes(left, right) else np.matmul(left, right)
    for start in range(first, inner, first or 1):
        part = slice(start, start + first)
        for row in range(0, a.shape[-2], _ROWS):
            rows = slice(row, row + _ROWS)
            y[..., rows, :] += np.matmul(a[..., rows, part], b[..., part, :])
    return y


def _are_transposes(a: Float64Array, b: Float64Array) -> bool:
    """Tell whether `b` is `a.T` in the same memory."""
    view = a.T
    return a.ndim == 2 and (view.ctypes.data, view.shape, view.strides) == (b.ctypes.data, b.shape, b.strides)


def _by_transpose(a: Float64Array) -> Float64Array:
    """Return a @ a.T, computing each block on and below the diagonal once."""
    size = len(a)
    y = np.empty((size, size), a.dtype)
    for top in range(0, size, LARGEST_SYMMETRIC):
        rows = slice(top, top + LARGEST_SYMMETRIC)
        np.matmul(a[rows], a[rows].T, out=y[rows, rows])
        np.matmul(a[rows], a[:top].T, out=y[rows, :top])
        y[:top, rows] = y[rows, :top].T
    return y
