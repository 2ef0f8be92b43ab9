r"""What an arithmetic has to do with rows of the stream, so that every block is evaluated in it.

Two protocols. `Arithmetic` is what the walk of `verify/forward/walk.py` asks for: matrices of balls, of rationals, or
rows of floats with a ball about each. `Numbers` is what the rows of floats ask for: float64, double-double, or a
format in which somebody else computes. Of these the bounds of docs/rigour/forward.md need to know only the *unit*
$\epsilon$, an upper bound of the relative error of a sum, product, quotient or root, and a few multiples of it.

Pages: docs/rigour/forward.md, docs/rigour/runs.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from constructions.model.blocks import Activation, Attention, Normalization, Tensor
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.rounding import Floats
from verify.forward.attention_pairs import AttentionPairs

Values = Any
"""Numbers in some format; they are indexed and reshaped as arrays are."""

R = TypeVar("R")  # rows, `[P, d]`
H = TypeVar("H")  # rows of each head, `[P, heads, n]`
Out = TypeVar("Out", covariant=True)

LOWEST_SCORE = -600.0  # below the largest score; what lies lower has a numerator of 0, and the bound knows of it


class Arithmetic(Protocol[R, H, Out]):
    """Operations on rows of the stream; each returns a set that holds what it is of all rows in its operands."""

    def exact(self, x: Tensor, /) -> R:
        """Exact numbers, `[P, d]`."""
        ...

    def embed(self, a: Tensor, b: Tensor, /) -> R:
        """Return the sums of two exact arrays."""
        ...

    def gather(self, rows: R, chosen: Int64Array, /) -> R:
        """Return some of the rows."""
        ...

    def concat(self, parts: Sequence[R], /) -> R:
        """Return the rows of one part after those of the other."""
        ...

    def add(self, rows: R, others: R, /) -> R:
        """Return the sums; elsewhere with the terms that both are sums of, in any order, except `materialize`d ones."""
        ...

    def materialize(self, rows: R, /) -> R:
        """Return the rows as something reads them: one number each, wherever they are added."""
        ...

    def linear(self, rows: R, W: Tensor, b: Tensor | None, /) -> R:
        """Return the products with an exact matrix, plus an exact shift."""
        ...

    def normalize(self, rows: R, norm: Normalization, /) -> R:
        """Return the rows after a normalization."""
        ...

    def activate(self, rows: R, activation: Activation, /) -> R:
        """Return the activation of each entry."""
        ...

    def multiply(self, rows: R, others: R, /) -> R:
        """Return the products of the entries."""
        ...

    def clip(self, heads: H, c: float, /) -> H:
        """Return the rows of heads with every entry cut off at -c and c."""
        ...

    def normalize_heads(self, heads: H, norm: Normalization, together: bool, /) -> H:
        """Return the rows of heads after a normalization of each by itself, or of all side by side."""
        ...

    def rope(self, heads: H, block: Attention, positions: Int64Array, /) -> H:
        """Return the rows of heads, turned by the angles of their positions `[P]`."""
        ...

    def project_heads(self, rows: R, maps: Tensor, shifts: Tensor | None, /) -> H:
        """Return the images under the maps `[heads, d, n]` of the heads, plus their shifts `[heads, n]`."""
        ...

    def attend(self, block: Attention, query: H, key: H, value: H, pairs: AttentionPairs, /) -> H:
        """Return the means of the values with the softmax of the scores as weights, a row for each pair."""
        ...

    def project_output(self, mixed: H, block: Attention, heads: Sequence[int] | None = None, /) -> R:
        """Return what all heads, or those that `mixed` is of, write by `W_O`, without `b_O`."""
        ...

    def add_bias(self, rows: R, b: Tensor, /) -> R:
        """Return the rows plus one exact shift."""
        ...

    def unembed(self, rows: R, W: Tensor, b: Tensor | None, /) -> Out:
        """Return the outputs: as `linear`, with what is known of each one by itself."""
        ...

    def softcap(self, outputs: Any, divisor: float | None, cap: float | None, /) -> Any:
        """Return the outputs divided by a number, and then c tanh(x / c) of each with the cap c."""
        ...

    def nonzero(self, rows: R, /) -> BoolArray:
        """Which entries of the rows may differ from 0, here or wherever the model is run."""
        ...

    def repeat_heads(self, rows: R, heads: int, /) -> H:
        """Return the rows themselves, for each head."""
        ...

    def select_heads(self, x: H, heads: Sequence[int], /) -> H:
        """Return some of the heads."""
        ...

    def uniform_attention(self, value: H, length: int, /) -> H:
        """Return the values as a head reads them that attends equally to so many positions."""
        ...

    def subtract(self, rows: R, others: R, /) -> R:
        """Return the differences."""
        ...

    def mean(self, rows: R, read: Int64Array, /) -> R:
        """Return the means of the rows `read`, `[L, S]`."""
        ...


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


class Numbers(Protocol):
    """A format of floats: what it does to rows, and how large its errors are.

    Where `elsewhere` is given, the values stand for those of another evaluation, which are within the radii as well.
    """

    unit: float

    @property
    def elsewhere(self) -> Elsewhere | None:
        """What is to be known of another evaluation, for which the values stand."""
        ...

    @property
    def by_terms(self) -> bool:
        """Whether a sum of k products is within `growth(unit, k)` of it, relatively to the sum of their sizes."""
        ...

    def inner(self, terms: int) -> float:
        """Return the factor f for which a computed product x W is within f |x| |W| of the exact one; see Lemma T1."""
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
        """Return the sum of float64 arrays, and an array whose entries bound its errors."""
        ...

    def concat(self, parts: Sequence[Values]) -> Values:
        """Return the rows of one part after those of the other."""
        ...

    def add(self, x: Values, y: Values) -> Values:
        """Return the sum."""
        ...

    def mean(self, x: Values) -> Values:
        """Return the means of `[L, S, d]` over S."""
        ...

    def linear(self, x: Values, matrix: Floats, shift: Floats | None) -> Values:
        """Return the product of the rows with an exact matrix, plus an exact shift."""
        ...

    def normalize(self, x: Values, norm: Normalization) -> tuple[Values, Values, Floats]:
        """Return the normalized rows after gain and shift, before them, and the root by which was divided."""
        ...

    def scores(self, query: Values, key: Values, root: int) -> Values:
        """Return the inner products of queries [..., i, n] and keys [..., j, n] over the square root of `root`."""
        ...

    def subtract_max(self, scores: Values, allowed: BoolArray) -> Values:
        """Return the scores less their largest along the last axis; minus infinity where they are not allowed."""
        ...

    def multiply(self, x: Values, y: Values) -> Values:
        """Return the products of the entries."""
        ...

    def divide(self, x: Values, c: float) -> Values:
        """Return the entries divided by c."""
        ...

    def clip(self, x: Values, c: float) -> Values:
        """Return the entries cut off at -c and c, exactly."""
        ...

    def softcap(self, x: Values, c: float) -> Values:
        """c tanh(x / c) of each entry (Lemma T11)."""
        ...

    def rope(self, x: Values, block: Attention, positions: Int64Array) -> Values:
        """Return the rows `[P, H, n]`, turned by the angles of their positions (Lemma T9)."""
        ...

    def exponentials(self, scores: Values) -> Values:
        """Return the exponentials; 0 below `LOWEST_SCORE`."""
        ...

    def weighted_mean(self, numerators: Values, values: Values) -> tuple[Values, Floats]:
        """Return the averages of the values with weights proportional to the numerators, and the sums of the
        numerators.
        """
        ...

    def activate(self, x: Values, activation: Activation) -> Values:
        """Return the activation of each entry."""
        ...


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
