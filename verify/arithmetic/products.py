r"""Bounds of the rounding errors of products of matrices of floats.

Page: docs/rigour/arithmetic.md, Lemma A7.
"""

import numpy as np

from constructions.errors import InputError
from verify.arithmetic.rounding import TINY, Floats, outweighing


def inner_dimension(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    if len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2]:
        batches = zip(a[-3::-1], b[-3::-1], strict=False)
        if all(n == m or 1 in (n, m) for n, m in batches):
            return a[-1]
    raise InputError("a and b", f"have shapes {a} and {b}", "[..., m, n] and [..., n, p]")


def raised_product(r: Floats, n: int) -> Floats:
    """Return a number above any sum of two products with inner dimension n that was computed as r (Lemma A7)."""
    r *= outweighing(n)
    r += n * 2.0**-1018
    return r


def product_of_norms(a: Floats, b: Floats, factor: float = 1.0) -> Floats:
    """Return the factor with |a| |b| <= factor (norms of the rows of a) (norms of the columns of b), up to rounding
    (Lemma A7).
    """
    # Without TINY the squares of small entries underflow to a norm of 0.
    row_norms = np.sqrt(np.einsum("...mn,...mn->...m", a, a) + a.shape[-1] * TINY)
    column_norms = np.sqrt(np.einsum("...np,...np->...p", b, b) + b.shape[-2] * TINY)
    column_norms *= factor
    return row_norms[..., :, None] * column_norms[..., None, :]
