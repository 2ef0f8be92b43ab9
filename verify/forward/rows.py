r"""The arithmetic in which the rows of a model are evaluated, and the relative error of each of its operations.

The bounds of docs/rigour/depth.md need to know of an evaluation only its *unit* $\epsilon$, an upper bound of the
relative error of a sum, product, quotient or root, and a few multiples of it: for inner products, for the exponential,
and for each activation. So one recursion bounds the errors of all arithmetics: `InFloat64` here, `InPairs` of
`verify/forward/pair_rows.py`.

Pages: docs/rigour/depth.md, docs/rigour/runs.md
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from constructions.errors import InputError
from constructions.models.blocks import Activation, Normalization
from constructions.products import multiply
from verify.arithmetic.activations import ACTIVATION_UNITS, activated
from verify.arithmetic.elementary import exp
from verify.arithmetic.rounding import UNIT, Floats

Values = Any
"""Rows of numbers in some arithmetic; they are indexed and reshaped as arrays are."""

LOWEST_SCORE = -600.0  # below the largest score; what lies lower has a numerator of 0, and the bound knows of it
_BLOCK_TERMS = 256  # products summed by one call of the BLAS (Lemma T1)


@dataclass(frozen=True)
class Elsewhere:
    """What else has to be known of an evaluation that is bounded without being seen.

    Args:
        conversion: Relative error with which it takes what it is given.
        floor: What underflow adds to a row at one step, and to the size of a map.
        square: What underflow adds to a mean of squares, for each entry.
        largest: Numbers up to this never overflow, nor do their sums of eight.
    """

    conversion: float
    floor: float
    square: float
    largest: float


class Rows(Protocol):
    """An arithmetic: what it does to rows, and how large its errors are.

    Where `elsewhere` is given, the values stand for those of another evaluation, which are within the radii as well.
    """

    unit: float

    @property
    def elsewhere(self) -> Elsewhere | None:
        """What is to be known of another evaluation, for which the values stand."""
        ...

    def inner(self, terms: int) -> float:
        """The factor f for which a computed product x W is within f |x| |W| of the exact one; see Lemma T1."""
        ...

    @property
    def exponential(self) -> float:
        """How many units the exponential may be off, relatively."""
        ...

    def activation_units(self, activation: Activation) -> float:
        """How many units times the argument an activation may be off."""
        ...

    def exact(self, x: Floats) -> Values:
        """Float64 numbers as they are."""
        ...

    def high(self, x: Values) -> Floats:
        """Float64 numbers within 2^-52 of the values, relatively."""
        ...

    def sum_of_exact(self, a: Floats, b: Floats) -> tuple[Values, Floats]:
        """The sum of float64 arrays, and an array whose entries bound its errors."""
        ...

    def add(self, x: Values, y: Values) -> Values:
        """The sum."""
        ...

    def mapped(self, x: Values, matrix: Floats, shift: Floats | None) -> Values:
        """The product of the rows with an exact matrix, plus an exact shift."""
        ...

    def normalized(self, x: Values, norm: Normalization) -> tuple[Values, Values, Floats]:
        """The normalized rows after gain and shift, before them, and the root by which was divided."""
        ...

    def scores(self, query: Values, key: Values, root: int) -> Values:
        """The inner products of queries [..., i, n] and keys [..., j, n] over the square root of `root`."""
        ...

    def below_largest(self, scores: Values, allowed: Floats) -> Floats | Values:
        """The scores less their largest along the last axis; minus infinity where they are not allowed."""
        ...

    def numerators(self, scores: Values) -> Values:
        """The exponentials; 0 below `LOWEST_SCORE`."""
        ...

    def averaged(self, numerators: Values, values: Values) -> tuple[Values, Floats]:
        """The averages of the values with weights proportional to the numerators, and the sums of the numerators."""
        ...

    def activated(self, x: Values, activation: Activation) -> Values:
        """The activation of each entry."""
        ...


class InFloat64:
    r"""Float64, with the unit $2^{-53}$; a smaller unit predicts what a longer format would leave (no proof).

    Example:
        >>> rows = InFloat64()
        >>> rows.mapped(np.ones((1, 2)), np.ones((2, 1)), np.ones(1))
        array([[3.]])
    """

    exponential: float = 5.0  # Lemma A8, and the rounding of its radius
    elsewhere: Elsewhere | None = None

    def __init__(self, unit: float = UNIT) -> None:
        if not 2.0**-300 <= unit <= UNIT:
            raise InputError(f"unit = {unit}, expected a float from 2**-300 to 2**-53")
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

    def mapped(self, x: Floats, matrix: Floats, shift: Floats | None) -> Floats:
        flat = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        y = multiply(flat, matrix, _BLOCK_TERMS)
        if shift is not None:
            y += shift
        return y.reshape(*x.shape[:-1], matrix.shape[1])

    def normalized(self, x: Floats, norm: Normalization) -> tuple[Floats, Floats, Floats]:
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

    def below_largest(self, scores: Floats, allowed: Floats) -> Floats:
        scores = np.where(allowed, scores, -np.inf)
        return scores - scores.max(axis=-1, keepdims=True)

    def numerators(self, scores: Floats) -> Floats:
        powers = exp(np.maximum(scores, LOWEST_SCORE)).midpoint
        # The enclosure of an overflow has a midpoint, which must not pass for a number.
        return np.where(scores >= LOWEST_SCORE, powers, np.where(scores < LOWEST_SCORE, 0.0, np.nan))

    def averaged(self, numerators: Floats, values: Floats) -> tuple[Floats, Floats]:
        mass = numerators.sum(axis=-1)
        return multiply(numerators, values, _BLOCK_TERMS) / mass[..., None], mass

    def activated(self, x: Floats, activation: Activation) -> Floats:
        return activated(x, activation)


def growth(unit: float, count: float) -> float:
    r"""Above $\gamma = k\epsilon/(1 - k\epsilon)$ for $k$ = `count` errors of `unit`; infinite from $\frac14$ on.

    Example:
        >>> growth(2.0**-53, 4) >= 2.0**-51
        True
    """
    accumulated = count * unit
    if accumulated < 2.0**-21:
        return accumulated * (1.0 + 2.0**-20)
    return accumulated / (1.0 - accumulated) * (1.0 + 2.0**-20) if accumulated < 0.25 else np.inf
