"""Certify margins of sign vectors by Walsh transforms, one per pair of classes.

Page: docs/claims/unembeddings.md
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from constructions.numeric.arrays import BoolArray, Int64Array, IntegerArray
from verify.theorems.unembeddings.margins import Margins, require_exact

_ROWS = 4096  # that are reduced at a time
_ENTRIES = 2**22  # of the functions that are transformed at a time
_SAMPLE = 1024  # rows of each of the two worst classes, to see whether the bound is attained


def walsh_transform(columns: NDArray[np.int16]) -> NDArray[np.int16]:
    r"""Return $\hat{f}(a) = \sum_x (-1)^{\langle a, x \rangle} f(x)$ for each column f, exactly.

    Args:
        columns: Functions on $0, \dots, 2^m - 1$ with values $\pm 1$, `[2^m, n]`, m <= 14.

    Returns:
        Their transforms, `[2^m, n]`; none is above $2^m$ in absolute value, so int16 holds them all.

    Example:
        >>> walsh_transform(np.array([[1], [1], [1], [-1]], dtype=np.int16)).ravel().tolist()
        [2, 2, 2, -2]
    """
    size, functions = columns.shape
    half = 1
    while half < size:
        pairs = columns.reshape(size // (2 * half), 2, half, functions)
        columns = np.empty_like(columns)
        into = columns.reshape(pairs.shape)
        np.add(pairs[:, 0], pairs[:, 1], out=into[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=into[:, 1])
        half *= 2
    return columns


def coset_margins(vectors: IntegerArray, *, most_classes: int | None = None) -> Margins | None:
    r"""Return bounds of all margins of rows $\pm s (-1)^{Q_i(x) + \langle a, x \rangle}$ and axis vectors $\pm c e_x$.

    Nothing is believed of the rows. Each row of signs is read as a function on $\mathrm{GF}(2)^m$ and reduced by an
    affine function to one that vanishes at 0 and at the m unit vectors. Rows with the same reduction form a class:
    two of them with different linear parts are orthogonal. Two rows of different classes have the inner product $\pm
    s^2 \hat{f}(a)$, with $f$ the product of the two reductions and $a$ the sum of the linear parts, so the transform
    of $f$ bounds all of them at once. It makes no difference what the functions are.

    Args:
        vectors: The rows, `[N, d]`, integers.
        most_classes: More classes than this are left to other certificates; the work grows with their square.

    Returns:
        The bounds, or `None` if the rows are not of this shape, two of them are parallel, or there are more classes.

    Raises:
        InputError: Not an integer matrix with N >= 2, or entries too large.

    Source: MacWilliams, Sloane, The Theory of Error-Correcting Codes, chapters 14 and 15.

    Example:
        >>> found = coset_margins(np.array([[1, 1, 1, 1], [1, 1, 1, -1], [2, 0, 0, 0]]))
        >>> found.least, found.largest, found.coherence_squared
        (2, 6, Fraction(1, 4))
    """
    require_exact(vectors, vectors)
    shape = _shape(vectors)
    if shape is None:
        return None
    classes = _classes(vectors, shape)
    if classes is None or (most_classes is not None and classes.functions.shape[1] > most_classes):
        return None
    size, s, c = len(shape.support), shape.scale, shape.axis_scale
    largest, worst = _largest_transform(classes.functions)
    row, axis = s * s * size, c * c
    low, high = _crossed_products(vectors, shape)
    both = len(shape.rows) > 0 and len(shape.axes) > 0
    # Each entry: own product, least and largest product with another row of the kind that follows.
    kinds = [(row, -s * s * largest, s * s * largest)] if len(shape.rows) > 1 else []
    kinds += [(axis, 0, 0)] if len(shape.axes) > 1 else []
    kinds += [(row, low, high), (axis, low, high)] if both else []
    seen = [
        _sample(vectors, shape, classes, worst) if kind == (row, -s * s * largest, s * s * largest) else kind
        for kind in kinds
    ]
    least, most = _leads(kinds)
    squares = [Fraction(0)]
    squares += [Fraction(largest, size) ** 2] if size else []
    squares += [Fraction(max(low * low, high * high), row * axis)] if both else []
    return Margins(
        rows=len(vectors),
        least=least,
        largest=most,
        least_product=min(lo for _, lo, _ in kinds),
        largest_product=max(hi for _, _, hi in kinds),
        coherence_squared=max(squares),
        attained=_leads(seen) == (least, most),
        method=f"Walsh transforms of {len(classes.functions.T)} classes of rows",
    )


def _leads(kinds: list[tuple[int, int, int]]) -> tuple[int, int]:
    return min(own - hi for own, _, hi in kinds), max(own - lo for own, lo, _ in kinds)


@dataclass(frozen=True, eq=False)
class _Shape:
    """Rows of +-s on one support, and axis vectors +-c."""

    rows: Int64Array
    axes: Int64Array
    support: Int64Array
    scale: int
    axis_scale: int


def _shape(vectors: IntegerArray) -> _Shape | None:
    chunks = [vectors[start : start + _ROWS] for start in range(0, len(vectors), _ROWS)]
    filled = np.concatenate([np.count_nonzero(chunk, axis=1) for chunk in chunks])
    axes, rows = np.flatnonzero(filled == 1), np.flatnonzero(filled != 1)
    place = np.array([np.flatnonzero(vectors[i])[0] for i in axes], dtype=np.int64)
    axis_scales = np.unique(np.abs(vectors[axes, place].astype(np.int64)))
    if len(np.unique(place)) < len(axes) or len(axis_scales) > 1:
        return None
    support, scale = np.arange(0), 0
    if len(rows):
        support = np.flatnonzero(vectors[rows[0]])
        scale = abs(int(vectors[rows[0]][support[0]])) if len(support) else 0
        if len(support) & (len(support) - 1) or not 2 <= len(support) <= 2**14:
            return None
        if not (filled[rows] == len(support)).all() or not all(
            (np.abs(_on(support, vectors[part]).astype(np.int64)) == scale).all() for part in _parts(rows)
        ):
            return None
    return _Shape(rows, axes, support, scale, int(axis_scales[0]) if len(axes) else 0)


@dataclass(frozen=True, eq=False)
class _Classes:
    """The reduced functions, one per column, and the class of each row."""

    functions: BoolArray
    of_row: Int64Array


def _classes(vectors: IntegerArray, shape: _Shape) -> _Classes | None:
    size = len(shape.support)
    if not len(shape.rows):
        return _Classes(np.zeros((1, 0), dtype=bool), np.zeros(0, dtype=np.int64))
    units, x = 1 << np.arange(size.bit_length() - 1), np.arange(size, dtype=np.uint16)
    packed, linear = [], []
    for part in _parts(shape.rows):
        negative = _on(shape.support, vectors[part]) < 0
        at_zero = negative[:, :1]
        codes = ((negative[:, units] ^ at_zero) * units).sum(axis=1).astype(np.uint16)
        affine = (np.bitwise_count(codes[:, None] & x) & 1).astype(bool) ^ at_zero
        packed.append(np.packbits(negative ^ affine, axis=1))
        linear.append(codes)
    rows = np.ascontiguousarray(np.concatenate(packed))
    keys, of_row = np.unique(rows.view(np.dtype((np.void, rows.shape[1]))).ravel(), return_inverse=True)
    if not np.array_equal(keys[of_row].view(np.uint8).reshape(rows.shape), rows):
        return None  # believed of no library: a class holds equal reductions only
    codes = np.concatenate(linear).astype(np.int64)
    if len(np.unique(of_row * size + codes)) < len(codes):
        return None  # two rows are equal or opposite
    bits = np.unpackbits(keys.view(np.uint8).reshape(len(keys), -1), axis=1, count=size)
    return _Classes(np.ascontiguousarray(bits.T).astype(bool), of_row)


def _largest_transform(functions: BoolArray) -> tuple[int, tuple[int, int]]:
    """Return the largest absolute value of the transforms of all products of two functions, and two that attain it."""
    size, classes = functions.shape
    largest, worst = 0, (0, 0)
    width = max(1, _ENTRIES // size)
    for i in range(classes - 1):
        for start in range(i + 1, classes, width):
            product = functions[:, start : start + width] ^ functions[:, i : i + 1]
            transforms = np.abs(walsh_transform((1 - 2 * product).astype(np.int16))).max(axis=0)
            if transforms.max() > largest:
                largest, worst = int(transforms.max()), (i, start + int(transforms.argmax()))
    return largest, worst


def _crossed_products(vectors: IntegerArray, shape: _Shape) -> tuple[int, int]:
    """Return the least and the largest product of a row with an axis vector."""
    if not len(shape.rows) or not len(shape.axes):
        return 0, 0
    place = np.array([np.flatnonzero(vectors[i])[0] for i in shape.axes])
    entry = vectors[shape.axes, place].astype(np.int64)
    low, high = [], []
    for part in _parts(shape.rows):
        product = vectors[part][:, place] * entry
        low.append(int(product.min()))
        high.append(int(product.max()))
    return min(low), max(high)


def _sample(vectors: IntegerArray, shape: _Shape, classes: _Classes, worst: tuple[int, int]) -> tuple[int, int, int]:
    """Return the own product, and the least and largest product, of rows of the two worst classes."""
    one, two = (vectors[shape.rows[classes.of_row == k][:_SAMPLE]].astype(np.float64) for k in worst)
    products = one @ two.T  # integers below 2^53
    if worst[0] == worst[1]:
        products = np.zeros(1)
    return shape.scale**2 * len(shape.support), int(products.min()), int(products.max())


def _on(support: Int64Array, rows: IntegerArray) -> IntegerArray:
    """Return the columns of the support; without a copy where they are side by side."""
    first, last = support[0], support[-1] + 1
    return rows[:, first:last] if last - first == len(support) else rows[:, support]


def _parts(indices: Int64Array) -> list[Int64Array]:
    return [indices[start : start + _ROWS] for start in range(0, len(indices), _ROWS)]
