r"""Float64 as a format of the rows of `verify/forward/rows/row_balls.py`.

Page: docs/rigour/forward.md
"""

import math
from collections.abc import Sequence

import numpy as np

from constructions.errors import InputError
from constructions.model.blocks import Activation, Attention, Normalization
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.numeric.products import multiply
from verify.arithmetic.activations import ACTIVATION_UNITS, activated
from verify.arithmetic.elementary import exp
from verify.arithmetic.rounding import UNIT, Floats
from verify.forward.arithmetic import LOWEST_SCORE, Elsewhere, growth
from verify.forward.rotary import tables, turned_entries

_BLOCK_TERMS = 256  # products summed by one call of the BLAS (Lemma T1)


class InFloat64:
    r"""Float64, with the unit $2^{-53}$; a smaller unit predicts what a longer format would leave (no proof).

    Example:
        >>> rows = InFloat64()
        >>> rows.linear(np.ones((1, 2)), np.ones((2, 1)), np.ones(1))
        array([[3.]])
    """

    exponential: float = 5.0  # Lemma A8, and the rounding of its radius
    elsewhere: Elsewhere | None = None
    by_terms = True

    def __init__(self, unit: float = UNIT) -> None:
        if not 2.0**-300 <= unit <= UNIT:
            raise InputError("unit", f"= {unit}", "a float from 2**-300 to 2**-53")
        self.unit = unit

    def inner(self, terms: int) -> float:
        return growth(self.unit, min(terms, _BLOCK_TERMS) + -(-terms // _BLOCK_TERMS))

    def activation_units(self, activation: Activation) -> float:
        return ACTIVATION_UNITS[activation]

    def exact(self, x: Floats) -> Floats:
        return x

    def high(self, x: Floats) -> Floats:
        return x

    def sum_of_exact(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        x = a + b
        part = x - a
        # The error of a sum is a float64 number itself (Lemma F2), less where the unit is.
        return x, np.abs((a - (x - part)) + (b - part)) * (self.unit / UNIT)

    def add(self, x: Floats, y: Floats) -> Floats:
        return x + y

    def concat(self, parts: Sequence[Floats]) -> Floats:
        return np.concatenate(parts)

    def mean(self, x: Floats) -> Floats:
        return x.mean(axis=-2)

    def linear(self, x: Floats, matrix: Floats, shift: Floats | None) -> Floats:
        flat = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        y = multiply(flat, matrix, _BLOCK_TERMS)
        if shift is not None:
            y += shift
        return y.reshape(*x.shape[:-1], matrix.shape[1])

    def normalize(self, x: Floats, norm: Normalization) -> tuple[Floats, Floats, Floats]:
        width = x.shape[-1]
        y = x - x.mean(axis=-1, keepdims=True) if norm.kind == "layer" else x.copy()
        root = np.sqrt(np.einsum("...i,...i->...", y, y) / width + norm.epsilon)
        y /= root[..., None]
        z = y * norm.w
        if norm.b is not None:
            z += norm.b
        return z, y, root

    def scores(self, query: Floats, key: Floats, root: int) -> Floats:
        scores = multiply(query, np.swapaxes(key, -1, -2), _BLOCK_TERMS)
        if root != 1:
            scores /= np.sqrt(float(root))
        return scores

    def subtract_max(self, scores: Floats, allowed: BoolArray) -> Floats:
        scores = np.where(allowed, scores, -np.inf)
        return scores - scores.max(axis=-1, keepdims=True)

    def multiply(self, x: Floats, y: Floats) -> Floats:
        return x * y

    def divide(self, x: Floats, c: float) -> Floats:
        return x / c

    def clip(self, x: Floats, c: float) -> Floats:
        return np.clip(x, -c, c)

    def softcap(self, x: Floats, c: float) -> Floats:
        powers = exp(np.maximum(-2.0 * np.abs(x / c), LOWEST_SCORE)).midpoint
        return np.where(np.isfinite(x), np.copysign(c * ((1.0 - powers) / (1.0 + powers)), x), x)

    def rope(self, x: Floats, block: Attention, positions: Int64Array) -> Floats:
        known, place = np.unique(positions, return_inverse=True)
        cos, sin = (table.high[place.reshape(-1), None] for table in tables(block, known.tolist()))
        first, second = turned_entries(block)
        y = x.copy()
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., second] * cos + x[..., first] * sin
        return y

    def exponentials(self, scores: Floats) -> Floats:
        powers = exp(np.maximum(scores, LOWEST_SCORE)).midpoint
        # The enclosure of an overflow has a midpoint, which must not pass for a number.
        return np.where(scores >= LOWEST_SCORE, powers, np.where(scores < LOWEST_SCORE, 0.0, np.nan))

    def weighted_mean(self, numerators: Floats, values: Floats) -> tuple[Floats, Floats]:
        mass = numerators.sum(axis=-1)
        if numerators.shape[-2] == 1 and numerators.shape[-1] <= _BLOCK_TERMS:  # not worth a BLAS
            return np.einsum("...ij,...jn->...in", numerators, values) / mass[..., None], mass
        return multiply(numerators, values, _BLOCK_TERMS) / mass[..., None], mass

    def activate(self, x: Floats, activation: Activation) -> Floats:
        return activated(x, activation)
