r"""Enclosures of residuals near the last bit, also where nearly everything cancels.

Page: docs/rigour/arithmetic.md, Lemma A10.
"""

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError
from constructions.products import multiply
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, enclosure, is_zero
from verify.arithmetic.exact_inputs import as_float64
from verify.arithmetic.products import raised_product
from verify.arithmetic.rounding import UNIT, Floats, gamma, quiet


@quiet
def residual(a: Enclosure | ArrayLike, x: ArrayLike, b: Enclosure | ArrayLike, *, parts: int = 2) -> Enclosure:
    r"""Enclosure of $b - ax$ near the last bit, also where nearly everything cancels.

    $a$ and $x$ are cut into `parts` slices of at most 26 bits, relative to the largest entry of the row of $a$ and of
    the column of $x$, so that the products of leading slices are exact in any order of summation; only products with a
    remainder are rounded, and their rounding errors are $2^{-20}$ to $2^{-26}$ times those of a plain product for two
    parts, the square of that for three. The exact pieces are added to $b$ without losing an error term. Two parts cost
    3 matrix products, three cost 6.

    Why it is rigorous: Lemma A10; the rounding of the remainders is bounded by row sums of $|a|$ and by the largest
    entries of the columns of $|x|$.

    Args:
        a: [m, n], exact or with a radius.
        x: [n, p], exact.
        b: [m, p], exact or with a radius.
        parts: Number of slices, at least 2.

    Returns:
        Enclosure [m, p].

    Raises:
        InputError: The shapes do not fit, or there are fewer than 2 parts.

    Source: Rump, Ogita and Oishi, Accurate floating-point summation I (2008), Algorithm 3.2 for the slices; Ozaki,
        Ogita, Oishi and Rump, Error-free transformations of matrix multiplication (2012) for their products.

    Example:
        >>> third = 1.0 / 3.0
        >>> r = residual([[3.0]], [[third]], [[1.0]])
        >>> bool(r.midpoint[0, 0] == 2.0**-54 and r.radius[0, 0] < 2.0**-70)
        True
    """
    matrix, right = enclosure(a), enclosure(b)
    # Not an enclosure: an entry that is not finite has to spoil its column.
    vectors = as_float64(x, "x")
    n = matrix.shape[-1] if matrix.ndim == 2 else -1
    if vectors.ndim != 2 or len(vectors) != n or right.shape != (len(matrix), vectors.shape[1]):
        shapes = f"{matrix.shape}, {vectors.shape} and {right.shape}"
        raise InputError("a, x and b", f"have shapes {shapes}", "[m, n], [n, p] and [m, p]")
    if parts < 2:
        raise InputError("parts", f"is {parts}", "at least 2")
    blas.probe()
    bits = (53 - max(n - 1, 0).bit_length()) // 2
    rows, row_rests = _slices(matrix.midpoint, 1, bits, parts)
    columns, column_rests = _slices(vectors, 0, bits, parts)
    high, low, slips = right.midpoint, np.zeros(right.shape), np.zeros(right.shape)
    radius = right.radius + np.zeros(right.shape)
    terms = [(rows[i], columns[j], False) for i in range(parts - 1) for j in range(parts - 1 - i)]
    terms += [(rows[i], column_rests[parts - 1 - i], True) for i in range(parts - 1)]
    terms += [(row_rests[parts - 1], vectors, True)]
    for left, top, rounded in terms:
        product = multiply(left, top)
        high, slip = _two_sum(high, np.negative(product, out=product))
        low += slip
        slips += np.abs(slip, out=slip)
        if rounded:
            # Cheaper than |left| |top|: row sums times the largest entry of the column.
            size = np.abs(left).sum(axis=1, keepdims=True) * np.abs(top).max(axis=0, keepdims=True, initial=0.0)
            size *= gamma(n)
            radius += size
    m = high + low
    radius += gamma(len(terms)) * slips
    radius += np.abs(m) * UNIT
    if not is_zero(matrix.radius):
        radius += multiply(np.broadcast_to(matrix.radius, matrix.shape), np.abs(vectors))
    return Enclosure(m, raised_product(radius, max(n, 1) * len(terms)))


def _slices(x: Floats, axis: int, bits: int, parts: int) -> tuple[list[Floats], list[Floats]]:
    """Lemma A10: leading slices of at most `bits` bits along an axis, and what is left before each and after."""
    slices, rests = [], [x]
    for _ in range(parts - 1):
        _, exponent = np.frexp(np.abs(rests[-1]).max(axis=axis, keepdims=True, initial=0.0))
        anchor = np.ldexp(1.5, exponent + (52 - bits))
        head = rests[-1] + anchor
        head -= anchor
        slices.append(head)
        rests.append(rests[-1] - head)
    return slices, rests


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Knuth: the rounded sum, and its exact error (Lemma A10)."""
    s = a + b
    t = s - a
    slip = s - t
    np.subtract(a, slip, out=slip)
    np.subtract(b, t, out=t)
    slip += t
    return s, slip
