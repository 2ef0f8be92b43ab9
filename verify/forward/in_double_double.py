r"""Double-double numbers, about 100 bits, as a format of the rows of `verify/forward/rows/row_balls.py`.

Where the ball of float64 is too wide, the same bounds are taken of the high words, with the unit $2^{-100}$.

Page: docs/rigour/forward.md
"""

import functools
import math
from collections.abc import Sequence

import numpy as np

from constructions.model.blocks import Activation, Attention, Normalization
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic import double_double as dd
from verify.arithmetic.activations import ACTIVATION_UNITS
from verify.arithmetic.double_double import DoubleDouble
from verify.arithmetic.error_function import coefficients, pieces
from verify.arithmetic.rounding import Floats
from verify.forward.arithmetic import LOWEST_SCORE
from verify.forward.rotary import tables, turned_entries

_END, _DEGREE, _PLAIN = 12, 18, 10  # from the degree 10 on float64 is enough


class InDoubleDouble:
    """DoubleDouble of float64, with the unit 2^-100.

    Args:
        slices: Into how many slices products are cut; fewer are faster, and `inner` says how far they are off.

    Example:
        >>> rows = InDoubleDouble()
        >>> y = rows.linear(rows.exact(np.full((1, 2), 2.0**-80)), np.ones((2, 1)), np.ones(1))
        >>> float(y.high[0, 0]), float(y.low[0, 0]) == 2.0**-79
        (1.0, True)
    """

    unit = dd.UNIT
    exponential = dd.EXPONENTIAL_UNITS
    elsewhere = None
    by_terms = False  # a slice is as long as the largest entry of a row, whatever it meets

    def __init__(self, slices: int = dd.SLICES) -> None:
        self._slices = slices

    def inner(self, terms: int) -> float:
        return dd.inner_error(terms, self._slices)

    def _product(self, x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
        return dd.product(x, y, slices=self._slices)

    def activation_units(self, activation: Activation) -> float:
        return ACTIVATION_UNITS[activation]

    def exact(self, x: Floats) -> DoubleDouble:
        return DoubleDouble.exact(x)

    def high(self, x: DoubleDouble) -> Floats:
        return x.high

    def sum_of_exact(self, a: Floats, b: Floats) -> tuple[DoubleDouble, Floats]:
        return DoubleDouble(*dd.two_sum(a, b)), np.zeros(a.shape)

    def add(self, x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
        return dd.blockwise(dd.added, x, y)

    def concat(self, parts: Sequence[DoubleDouble]) -> DoubleDouble:
        return DoubleDouble(np.concatenate([part.high for part in parts]), np.concatenate([part.low for part in parts]))

    def mean(self, x: DoubleDouble) -> DoubleDouble:
        sums = dd.total(x.transpose(0, 2, 1))
        return dd.blockwise(dd.divided, sums, DoubleDouble.exact(np.full(sums.shape, float(x.shape[1]))))

    def linear(self, x: DoubleDouble, matrix: Floats, shift: Floats | None) -> DoubleDouble:
        whole = DoubleDouble(matrix, np.broadcast_to(0.0, matrix.shape))
        y = self._product(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), whole)
        if shift is not None:
            y = dd.added_float(y, shift)
        return y.reshape(*x.shape[:-1], matrix.shape[1])

    def normalize(self, x: DoubleDouble, norm: Normalization) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        width, epsilon = float(x.shape[-1]), np.array(norm.epsilon)
        y = x
        if norm.kind == "layer":
            mean = dd.divided(dd.total(x), DoubleDouble.exact(np.full(x.shape[:-1], width)))
            y = dd.blockwise(dd.added, x, _spread(-mean, x.shape))
        squares = dd.divided(
            dd.total(dd.blockwise(dd.multiplied, y, y)), DoubleDouble.exact(np.full(x.shape[:-1], width))
        )
        root = dd.root(dd.added_float(squares, np.broadcast_to(epsilon, squares.shape)))
        y = dd.blockwise(dd.divided, y, _spread(root, x.shape))
        z = dd.blockwise(dd.multiplied, y, DoubleDouble.exact(np.broadcast_to(norm.w, x.shape)))
        if norm.b is not None:
            z = dd.added_float(z, norm.b)
        return z, y, root.high

    def scores(self, query: DoubleDouble, key: DoubleDouble, root: int) -> DoubleDouble:
        scores = self._product(query, key.transpose(*range(len(key.shape) - 2), -1, -2))
        if root != 1:
            square_root = dd.root(DoubleDouble.exact(np.array([float(root)])))
            scores = dd.blockwise(dd.divided, scores, _spread(square_root[0], scores.shape))
        return scores

    def subtract_max(self, scores: DoubleDouble, allowed: BoolArray) -> DoubleDouble:
        high = np.where(allowed, scores.high, -np.inf)
        # The low word of the largest score may be large too: both words are taken away.
        low = np.where(high == high.max(axis=-1, keepdims=True), scores.low, -np.inf)
        top = low.argmax(axis=-1)[..., None]
        largest = DoubleDouble(np.take_along_axis(scores.high, top, -1), np.take_along_axis(scores.low, top, -1))
        finite = dd.added(scores, _spread(-largest[..., 0], scores.shape))
        return DoubleDouble(np.where(allowed, finite.high, -np.inf), np.where(allowed, finite.low, 0.0))

    def multiply(self, x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
        return dd.blockwise(dd.multiplied, x, y)

    def divide(self, x: DoubleDouble, c: float) -> DoubleDouble:
        return dd.blockwise(dd.divided, x, DoubleDouble.exact(np.full(x.shape, c)))

    def clip(self, x: DoubleDouble, c: float) -> DoubleDouble:
        above, below = (x.high > c) | ((x.high == c) & (x.low > 0)), (x.high < -c) | ((x.high == -c) & (x.low < 0))
        high = np.where(above, c, np.where(below, -c, x.high))
        return DoubleDouble(high, np.where(above | below, 0.0, x.low))

    def softcap(self, x: DoubleDouble, c: float) -> DoubleDouble:
        return dd.blockwise(functools.partial(_capped, c=c), x)

    def rope(self, x: DoubleDouble, block: Attention, positions: Int64Array) -> DoubleDouble:
        known, place = np.unique(positions, return_inverse=True)
        first, second = turned_entries(block)
        a, b = x[..., first], x[..., second]
        cos, sin = (
            DoubleDouble(*(np.broadcast_to(word[place.reshape(-1), None], a.shape) for word in (table.high, table.low)))
            for table in tables(block, known.tolist())
        )
        y = DoubleDouble(x.high.copy(), x.low.copy())
        for where, turned in (
            (first, self.add(self.multiply(a, cos), -self.multiply(b, sin))),
            (second, self.add(self.multiply(b, cos), self.multiply(a, sin))),
        ):
            y.high[..., where], y.low[..., where] = turned.high, turned.low
        return y

    def exponentials(self, scores: DoubleDouble) -> DoubleDouble:
        low = scores.high < LOWEST_SCORE
        powers = dd.blockwise(
            dd.exponential, DoubleDouble(np.where(low, 0.0, scores.high), np.where(low, 0.0, scores.low))
        )
        return DoubleDouble(np.where(low, 0.0, powers.high), np.where(low, 0.0, powers.low))

    def weighted_mean(self, numerators: DoubleDouble, values: DoubleDouble) -> tuple[DoubleDouble, Floats]:
        mass = dd.total(numerators)
        sums = self._product(numerators, values)
        return dd.blockwise(dd.divided, sums, _spread(mass, sums.shape)), mass.high

    def activate(self, x: DoubleDouble, activation: Activation) -> DoubleDouble:
        return dd.blockwise(_ACTIVATIONS[activation], x)


def _spread(x: DoubleDouble, shape: tuple[int, ...]) -> DoubleDouble:
    """One number for each row, repeated along the last axis."""
    return DoubleDouble(np.broadcast_to(x.high[..., None], shape), np.broadcast_to(x.low[..., None], shape))


def _relu(x: DoubleDouble) -> DoubleDouble:
    negative = x.high < 0.0
    return DoubleDouble(np.where(negative, 0.0, x.high), np.where(negative, 0.0, x.low))


def _gelu_tanh(x: DoubleDouble, *, odd: Sequence[tuple[float, float]] = dd.TANH) -> DoubleDouble:
    linear, cubic = map(dd.constant, odd)
    inside = dd.added(dd.multiplied(dd.multiplied(x, x), cubic), linear)
    return _over_one_plus_exp(x, dd.multiplied(x, inside))


def _capped(x: DoubleDouble, *, c: float) -> DoubleDouble:
    """c (1 - e) / (1 + e) with e = exp(-2 |x| / c), and the sign of x."""
    scale = DoubleDouble.exact(np.full(x.shape, c))
    sign = np.where(np.signbit(x.high), -1.0, 1.0)
    ratio = dd.divided(DoubleDouble(x.high * sign, x.low * sign), scale)
    far = ~(ratio.high < 300.0)
    clipped = DoubleDouble(np.where(far, -600.0, -2.0 * ratio.high), np.where(far, 0.0, -2.0 * ratio.low))
    powers = dd.exponential(clipped)
    one = np.ones(x.shape)
    y = dd.multiplied(scale, dd.divided(dd.added_float(-powers, one), dd.added_float(powers, one)))
    known = np.isfinite(x.high)
    return DoubleDouble(np.where(known, y.high * sign, x.high), np.where(known, y.low * sign, x.low))


def _silu(x: DoubleDouble) -> DoubleDouble:
    return _over_one_plus_exp(x, -x)


def _over_one_plus_exp(x: DoubleDouble, t: DoubleDouble) -> DoubleDouble:
    # Beyond, the quotient is x or 0 but for much less than a unit of x (Lemma T4).
    far = np.abs(t.high) > 400.0
    # What overflows on the way is far, and a NaN in x spoils the quotient anyway.
    clipped = np.where(np.isnan(t.high), np.sign(-x.high) * 400.0, np.clip(t.high, -400.0, 400.0))
    powers = dd.exponential(DoubleDouble(clipped, np.where(far | np.isnan(t.low), 0.0, t.low)))
    return dd.divided(x, dd.added_float(powers, np.ones(x.shape)))


def _gelu(x: DoubleDouble) -> DoubleDouble:
    high, low = _table()
    inside = np.abs(x.high) < float(_END)
    place, h = pieces(np.clip(x.high, -float(_END), float(_END)), _END)
    step = dd.added_float(DoubleDouble(h, np.zeros(h.shape)), np.where(inside, x.low, 0.0))
    tail = high[_DEGREE][place]
    for n in range(_DEGREE - 1, _PLAIN - 1, -1):
        tail = tail * h + high[n][place]
    y = DoubleDouble.exact(tail)
    for n in range(_PLAIN - 1, -1, -1):
        y = dd.added(dd.multiplied(y, step), DoubleDouble(high[n][place], low[n][place]))
    return dd.multiplied(x, y)


@functools.cache
def _table() -> tuple[Floats, Floats]:
    return coefficients(_END, _DEGREE)


_ACTIVATIONS = {
    "relu": _relu,
    "gelu": _gelu,
    "gelu-tanh": _gelu_tanh,
    "gelu-bloom": functools.partial(_gelu_tanh, odd=dd.BLOOM_TANH),
    "silu": _silu,
}
