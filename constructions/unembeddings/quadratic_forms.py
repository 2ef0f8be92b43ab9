r"""Build unembeddings from quadratic forms: characters of $\mathrm{GF}(2)^m$, twisted by forms of high distance.

Page: docs/claims/unembeddings.md
"""

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int8Array, IntegerArray
from constructions.unembeddings.coherence import Unembedding, root_above

Forms = Iterator[IntegerArray]
"""The values of one form after the other at the integers 0 .. 2^m - 1, whose bits are the coordinates; in {0, 1}."""

_LARGEST_ENTRY = 127  # of int8


def vectors_of_forms(
    family: str, forms: Forms, *, dimension: int, product: int, count: int, d_model: int, of_forms: int
) -> Unembedding:
    r"""Return the rows $(-1)^{Q(x) + \langle a, x \rangle}$, form by form, then axis vectors if more are needed.

    With $B$ a bound of the inner products of two rows, the leads of a row over another are between $D - B$ and $D + B$.
    An axis vector $e_x$ has the inner product $\pm 1$ with a row on the first $D = 2^m$ coordinates and 0 on the
    others. So that all rows have nearly the same norm, those of the forms are multiplied by s and those of the axes
    by c, with $c \approx s \sqrt D$ (equal for even m); s is the one that gives the least $\kappa$.

    Args:
        family: The name of the family.
        forms: The forms, as many as are needed at least.
        dimension: $D = 2^m \le d$.
        product: B, the bound of the inner products that the rank of the differences gives; below D.
        count: N, how many vectors.
        d_model: d; coordinates from D on are used by axis vectors only.
        of_forms: How many of the vectors are rows of forms.

    Returns:
        The vectors and the margins that the bound promises.

    Example:
        >>> plane = vectors_of_forms("characters", iter([np.zeros(2, dtype=np.int64)]), dimension=2, product=0,
        ...                          count=2, d_model=3, of_forms=2)
        >>> plane.vectors.tolist(), plane.kappa
        ([[1, 1, 0], [1, -1, 0]], Fraction(1, 1))
    """
    axes = count - of_forms
    if not 0 <= axes <= d_model or not 1 <= dimension <= d_model:
        raise InputError("count", f"= {count} with {axes} axis vectors", f"at most d = {d_model} axis vectors")
    s, c = scales(dimension, product, crossed=axes > 0)
    vectors = np.zeros((count, d_model), dtype=np.int8)
    characters = _characters(dimension) * np.int8(s)
    for start in range(0, of_forms, dimension):
        signs = (1 - 2 * next(forms)).astype(np.int8)
        rows = min(dimension, of_forms - start)
        np.multiply(characters[:rows], signs, out=vectors[start : start + rows, :dimension])
    vectors[np.arange(of_forms, count), np.arange(axes)] = c
    least, largest = margins(dimension, product, s, c, crossed=axes > 0)
    coherence = max(Fraction(product, dimension), root_above(Fraction(1, dimension)) if axes else Fraction(0))
    return Unembedding(family, vectors, vectors, least, largest, coherence)


def scales(dimension: int, product: int, *, crossed: bool) -> tuple[int, int]:
    r"""Return the integers s and c for rows of forms and for axis vectors, at most 127, of least $\kappa$.

    Args:
        dimension: D.
        product: B.
        crossed: Whether there are axis vectors at all.

    Returns:
        s and c.

    Raises:
        InputError: No integers below 128 leave positive margins.

    Example:
        >>> scales(1024, 32, crossed=True), scales(128, 16, crossed=True)
        ((1, 32), (2, 23))
    """
    if not crossed:
        return 1, 1
    pairs = [(s, c) for s in range(1, 128) for c in (isqrt(s * s * dimension), isqrt(s * s * dimension) + 1) if c < 128]
    usable = [(s, c) for s, c in pairs if margins(dimension, product, s, c, crossed=True)[0] > 0]
    if not usable:
        raise InputError("dimension", f"is {dimension}", f"one with axis vectors of entries up to {_LARGEST_ENTRY}")

    def kappa(pair: tuple[int, int]) -> Fraction:
        least, largest = margins(dimension, product, *pair, crossed=True)
        return Fraction(largest, least)

    return min(usable, key=kappa)


def margins(dimension: int, product: int, s: int, c: int, *, crossed: bool) -> tuple[int, int]:
    """Return bounds of all margins: between rows of forms and, if crossed, between them and axis vectors.

    Example:
        >>> margins(16, 4, 1, 4, crossed=True)
        (12, 20)
    """
    row, axis, between = s * s * dimension, c * c, c * s
    least, largest = row - s * s * product, row + s * s * product
    if crossed:
        least, largest = min(least, row - between, axis - between), max(largest, row + between, axis + between)
    return least, largest


def _characters(dimension: int) -> Int8Array:
    r"""Return $(-1)^{\langle a, x \rangle}$, `[D, D]`: the Hadamard matrix of Sylvester."""
    index = np.arange(dimension, dtype=np.uint16)
    return (1 - 2 * (np.bitwise_count(index[:, None] & index) & 1).astype(np.int8)).astype(np.int8)
