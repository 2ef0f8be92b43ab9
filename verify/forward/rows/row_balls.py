r"""Rows of floats and a ball about each: the arithmetic of the walk in float64, in double-double, and of a run.

The ball of a row is in the Euclidean norm, of radius $\rho$: the exact row is within $\rho$ of the evaluated one. A
linear map multiplies $\rho$ by its spectral norm, a normalization divides it by the size of the row, attention is
enclosed together with its softmax, and the rounding of each step is added. So the radius costs no second forward pass,
and grows by a few bits with each block, where a radius for each entry grows by twenty.

The same bounds hold for every format of numbers (`verify/forward/arithmetic.py:Numbers`): float64, double-double, and
with a smaller unit they tell in advance what a longer format would leave.

Page: docs/rigour/forward.md proves every bound used here; the lemmas are named in the comments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from constructions.errors import InputError, require_at_least
from constructions.model.blocks import Activation, Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.vectors import Vectors
from verify.arithmetic import blas
from verify.arithmetic.activations import SLOPES
from verify.arithmetic.double_double import DoubleDouble
from verify.arithmetic.elementary import exp
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats, down, gamma, up
from verify.arithmetic.softmax import enclose_softmax
from verify.forward.arithmetic import LOWEST_SCORE, Numbers, Values, growth
from verify.forward.attention_pairs import AttentionPairs
from verify.forward.in_float64 import InFloat64
from verify.forward.map_norms import FLOOR, MapNorms, Norms, raised, row_norms
from verify.forward.matrices import norm_parts
from verify.forward.walk import Heads, checked_inputs, part_of, passed, stream_of

_LOWEST_POWER = 2.0**-865  # exp(-600) < 2^-865.6, as 600 / ln 2 > 865.6: above a numerator below LOWEST_SCORE (T3)
_ROW_ENTRIES = 2**25  # of the distinct rows of the contexts that are worked on together
_WIDE_ENTRIES = 2**23  # of what the last attention and the blocks behind it make of them
_LOGIT_ENTRIES = 2**20  # of the logits of a chunk
_CACHED_ENTRIES = 2**18  # of an array that is worked on while it stays in the cache
_DENSE = 8  # so many times as many scores are worth one product of matrices
# Lemma T2: a float64 product that underflows is off by at most half of the least subnormal number, 2^-1075; a square in
# double-double has far fewer than 2^15 such products.
_UNDERFLOW = 2.0**-1060


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum that rows are elsewhere: more terms may be added to it, in any place, until something reads the rows.

    Args:
        terms: How many terms it has.
        sizes: Bounds of the sums of their sizes, of each row `[P]` or of each entry `[P, d]`.
        rounded: How much of its rounding is counted already, of that shape.
    """

    terms: int
    sizes: Floats
    rounded: Floats

    def gather(self, chosen: Int64Array | slice) -> "Sum":
        """Return the sums of some of the rows."""
        return Sum(self.terms, self.sizes[chosen], self.rounded[chosen])

    @classmethod
    def concat(cls, parts: "Sequence[Sum | None]") -> "Sum | None":
        """Return the sums of the rows of one part after those of the other."""
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        sizes, rounded = (np.concatenate([getattr(part, name) for part in known]) for name in ("sizes", "rounded"))
        return cls(max(part.terms for part in known), sizes, rounded)

    def mean(self, read: Int64Array) -> "Sum":
        """Return the sums of the means of the rows `read`, `[L, S]`."""
        return Sum(self.terms, self.sizes[read].mean(axis=1), self.rounded[read].mean(axis=1))

    def subtract(self, other: "Sum") -> "Sum":
        """Return what is left of the terms without those of the other sum, whose sizes are counted on."""
        return Sum(self.terms - other.terms, self.sizes, self.rounded)

    def beside(self, other: "Sum") -> "Sum":
        """Return the terms of both sums, with what is counted already of the rounding of each."""
        return Sum(self.terms + other.terms, self.sizes + other.sizes, self.rounded + other.rounded)


@dataclass(frozen=True)
class RowBalls:
    r"""Evaluated rows, and bounds of their distance to the exact ones.

    The exact row is $z + \mathrm{diag}(w)(a + b) + c$ with $z$ the value, $|a|$ at most `moved`, $|b|$ at most
    `slipped` and $|c|$ at most `radius`; behind layer normalization $a$ is orthogonal to the ones vector. Without a
    `norm` there are no $a$ and $b$.

    Args:
        value: The rows, `[P, d]`.
        radius: `[P]`.
        norm: The normalization that they come from, or none.
        moved: `[P]`, or none.
        slipped: `[P]`, or none.
        nonzero: Which entries may differ from 0, `[P, d]`, also elsewhere; none if nothing is known.
        sum: The sum that the rows are elsewhere, if more terms may belong to it.
    """

    value: Values
    radius: Floats
    norm: Normalization | None = None
    moved: Floats | None = None
    slipped: Floats | None = None
    nonzero: BoolArray | None = None
    sum: Sum | None = None

    def gather(self, chosen: Int64Array | slice) -> "RowBalls":
        """Return some of the rows."""
        moved, slipped = (None if part is None else part[chosen] for part in (self.moved, self.slipped))
        nonzero = None if self.nonzero is None else self.nonzero[chosen]
        of_rows = None if self.sum is None else self.sum.gather(chosen)
        return RowBalls(self.value[chosen], self.radius[chosen], self.norm, moved, slipped, nonzero, of_rows)

    def through(self, norms: MapNorms) -> Floats:
        """Bounds of the images of the errors under maps, `[P, maps]`."""
        spread = self.radius[..., None] * norms.plain
        if self.moved is not None and self.slipped is not None:
            spread = spread + self.moved[..., None] * norms.moved + self.slipped[..., None] * norms.slipped
        return spread

    def whole(self) -> Floats:
        """One radius for the sum of the errors of a row, `[P]`."""
        if self.norm is None or self.moved is None or self.slipped is None:
            return self.radius
        return raised(self.radius + float(np.abs(self.norm.w).max()) * (self.moved + self.slipped))


@dataclass(frozen=True)
class HeadBalls:
    """Rows of each head: values `[P, H, n]`, their norms and their radii `[P, H]`."""

    value: Values
    size: Floats
    radius: Floats


class InRowBalls:
    """The arithmetic of rows of floats with a ball about each.

    Args:
        norms: The norms of the maps of the model.
        numbers: The format; float64 by default.
    """

    def __init__(self, norms: Norms, numbers: Numbers | None = None) -> None:
        self.norms, self.numbers = norms, InFloat64() if numbers is None else numbers
        # Whether nothing that was worked on can overflow elsewhere; what is kept serves later contexts too.
        self.fits = True

    def _sizes(self, value: Values, radius: Floats) -> Floats:
        """Bounds of the norms of the rows that are evaluated: of those that are seen, or of all within the radius."""
        sizes = row_norms(self.numbers.high(value))
        if self.numbers.elsewhere is None:
            return sizes
        self._require_small(sizes + radius)
        return raised(sizes + radius)

    def _require_small(self, sizes: Floats | float) -> None:
        """Note whether numbers of these sizes, none of them NaN, may appear elsewhere without an overflow."""
        if self.numbers.elsewhere is not None:
            self.fits = self.fits and bool(np.all(sizes <= self.numbers.elsewhere.largest))

    def _raised(self, radius: Floats) -> Floats:
        """Return `raised`, and more than underflow takes elsewhere."""
        return raised(radius) if self.numbers.elsewhere is None else raised(radius + self.numbers.elsewhere.floor)

    def _summed(self, rows: RowBalls, maps: Floats, norms: MapNorms, terms: int, chosen: Floats | None) -> Sum:
        """Return the sums of a product of rows with each of the maps, `[P, maps]`, and what they round by (Lemma T1).

        Args:
            rows: The rows.
            maps: The maps, `[maps, n, p]`.
            norms: Those of the maps.
            terms: How many products a sum has.
            chosen: The norms of the rows of the maps, `[n, maps]`, where they are known.
        """
        numbers = self.numbers
        sizes = self._sizes(rows.value, rows.whole())
        if numbers.elsewhere is not None:
            frobenius = norms.frobenius + numbers.elsewhere.floor
            self._require_small((1.0 + sizes.max(initial=0.0)) * frobenius)
        inner = numbers.inner(terms)
        if not numbers.by_terms:
            whole = sizes[:, None] * norms.frobenius
            return Sum(terms, whole, inner * whole)
        if rows.nonzero is not None and rows.nonzero.shape[1] <= terms:
            terms = min(terms, int(rows.nonzero.sum(axis=1).max(initial=0)))
            inner = min(inner, growth(numbers.unit, terms + (numbers.elsewhere is not None)))
        by_row = self.norms.rows_of(maps) if chosen is None else chosen
        value = numbers.high(rows.value)
        terms_of = np.abs(value) @ by_row * (1.0 + 2.0 * gamma(value.shape[1] + 8)) + FLOOR
        if numbers.elsewhere is not None:
            terms_of = terms_of + rows.whole()[:, None] * norms.frobenius + sizes[:, None] * numbers.elsewhere.floor
        return Sum(terms, terms_of, inner * terms_of)

    def _one(self, rows: RowBalls) -> Sum:
        """Rows that a sum takes as one number each: nothing of them is converted or multiplied any more."""
        sizes = self._sizes(rows.value, rows.whole())
        return Sum(1, sizes, self.numbers.inner(1) * sizes)

    def _together(self, sums: Sum, others: Sum) -> tuple[Sum, Floats]:
        """One sum of all terms, in any order, and what it rounds by beyond what is counted already (Lemma R10)."""
        both = sums.beside(others)
        self._require_small(both.sizes)
        rounded = self.numbers.inner(both.terms) * both.sizes
        return Sum(both.terms, both.sizes, rounded), not_counted(rounded, both.rounded)

    # -----------------------------------------------------------------------------------------------------------------
    # Rows.

    def exact(self, x: Floats) -> RowBalls:
        """Numbers that the task brings."""
        radius = np.zeros(x.shape[:-1])
        if self.numbers.elsewhere is not None:
            self._require_small(row_norms(x))
            radius = self._raised(self.numbers.elsewhere.conversion * row_norms(x))
        return RowBalls(self.numbers.exact(x), radius, nonzero=x != 0.0)

    def embed(self, a: Floats, b: Floats) -> RowBalls:
        """Lemma T5 (a)."""
        value, errors = self.numbers.sum_of_exact(a, b)
        self._require_small(row_norms(a) + row_norms(b))
        return RowBalls(value, self._raised(row_norms(errors)), nonzero=(a != 0.0) | (b != 0.0))

    def gather(self, rows: RowBalls, chosen: Int64Array) -> RowBalls:
        return rows.gather(chosen)

    def concat(self, parts: Sequence[RowBalls]) -> RowBalls:
        whole = np.concatenate([part.whole() for part in parts])
        sums = Sum.concat([part.sum for part in parts])
        return RowBalls(self.numbers.concat([part.value for part in parts]), whole, sum=sums)

    def materialize(self, rows: RowBalls) -> RowBalls:
        return replace(rows, sum=None)

    def add(self, rows: RowBalls, others: RowBalls) -> RowBalls:
        """Lemma T5 (b); elsewhere the terms of both make one sum (Lemma R10)."""
        total, radius = self.numbers.add(rows.value, others.value), rows.whole() + others.whole()
        if self.numbers.elsewhere is None:
            return RowBalls(total, self._raised(radius + growth(self.numbers.unit, 2) * self._sizes(total, radius)))
        whole, rounded = self._together(rows.sum or self._one(rows), others.sum or self._one(others))
        return RowBalls(total, self._raised(radius + rounded), sum=whole)

    def subtract(self, rows: RowBalls, others: RowBalls) -> RowBalls:
        """Return the difference, which is formed here alone: elsewhere the terms of the others were never added."""
        total, radius = self.numbers.add(rows.value, -others.value), rows.whole() + others.whole()
        rest = None if rows.sum is None or others.sum is None else rows.sum.subtract(others.sum)
        radius = self._raised(radius + growth(self.numbers.unit, 2) * self._sizes(total, radius))
        return RowBalls(total, radius, sum=rest)

    def mean(self, rows: RowBalls, read: Int64Array) -> RowBalls:
        """Lemma B7."""
        values, length = [], read.shape[1]
        radius, sizes = rows.whole()[read].mean(axis=1), row_norms(self.numbers.high(rows.value))[read].mean(axis=1)
        step = max(1, _CACHED_ENTRIES // (length * rows.value.shape[1]))
        for start in range(0, len(read), step):
            values.append(self.numbers.mean(rows.value[read[start : start + step]]))
        radius = radius + growth(self.numbers.unit, length + 3) * (sizes + radius)
        mean = self.numbers.concat(values) if values else rows.value[:0]
        return RowBalls(mean, self._raised(radius), sum=None if rows.sum is None else rows.sum.mean(read))

    def nonzero(self, rows: RowBalls) -> BoolArray:
        return np.ones(rows.value.shape, dtype=bool) if rows.nonzero is None else rows.nonzero

    def add_bias(self, rows: RowBalls, b: Floats) -> RowBalls:
        value = self.numbers.add(rows.value, self.numbers.exact(np.broadcast_to(b, rows.value.shape)))
        whole, rounded = self._with_shift(rows.sum or self._one(rows), value, row_norms(b))
        return RowBalls(value, self._raised(rows.whole() + rounded), sum=whole)

    def _with_shift(self, sums: Sum, value: Values, shifts: Floats) -> tuple[Sum | None, Floats]:
        """Return the sums with shifts of these sizes, and what is not counted yet of their rounding.

        Here half a unit of what is seen; elsewhere a shift is one more term, that is converted, in any place.
        """
        if self.numbers.elsewhere is None:
            return None, growth(self.numbers.unit, 2) * row_norms(self.numbers.high(value))
        return self._together(sums, Sum(1, np.broadcast_to(shifts, sums.sizes.shape), np.zeros_like(sums.sizes)))

    def linear(self, rows: RowBalls, W: Floats, b: Floats | None) -> RowBalls:
        images, sums = self._mapped(rows, W[None], None if b is None else b[None])
        of_rows = None if sums is None else Sum(sums.terms, sums.sizes[:, 0], sums.rounded[:, 0])
        return RowBalls(images.value[:, 0], images.radius[:, 0], sum=of_rows)

    def _mapped(self, rows: RowBalls, maps: Floats, shifts: Floats | None) -> tuple[HeadBalls, Sum | None]:
        """Return the images under maps `[maps, n, p]` (Lemma T1), and the sums that they are elsewhere, `[P, maps]`."""
        count, inner, width = maps.shape
        norms = self.norms.of(maps, rows.norm)
        side_by_side = self.norms.side_by_side(maps)
        y = self.numbers.linear(rows.value, side_by_side, None if shifts is None else shifts.reshape(-1))
        y = y.reshape(len(rows.radius), count, width)
        sums: Sum | None = self._summed(rows, maps, norms, inner, None)
        radius = rows.through(norms) + sums.rounded
        if shifts is not None:
            sums, rounded = self._with_shift(sums, y, row_norms(shifts))
            radius = radius + rounded
        return HeadBalls(y, row_norms(self.numbers.high(y)), self._raised(radius)), sums

    def unembed(self, rows: RowBalls, W: Floats, b: Floats | None) -> tuple[Values, Floats]:
        """Return the outputs, and a radius for each (Lemma T5 (c))."""
        norms = self.norms.of_columns(W, rows.norm)
        outputs = self.numbers.linear(rows.value, W, b)
        sizes = self._sizes(rows.value, rows.whole())
        frobenius = norms.frobenius
        if self.numbers.elsewhere is not None:
            frobenius = frobenius + self.numbers.elsewhere.floor
            self._require_small((1.0 + sizes.max(initial=0.0)) * frobenius)
        radii = rows.through(norms) + (self.numbers.inner(len(W)) * sizes)[:, None] * frobenius
        if b is not None:
            terms = sizes[:, None] * frobenius if self.numbers.elsewhere else radii
            sums = Sum(len(W), terms, self.numbers.inner(len(W)) * terms)
            radii = radii + self._with_shift(sums, outputs[..., None], np.abs(b))[1]
        return outputs, self._raised(radii)

    def normalize(self, rows: RowBalls, norm: Normalization) -> RowBalls:
        """Lemma T2."""
        numbers, width = self.numbers, norm.width
        radius = rows.whole()
        z, y, root = numbers.normalize(rows.value, norm)
        size = self._sizes(rows.value, radius)
        normal_size = row_norms(numbers.high(y))
        reach = np.sqrt(float(width)) * (1.0 + 2.0**-40)
        square = _UNDERFLOW if numbers.elsewhere is None else numbers.elsewhere.square
        roundings = width + 6 if numbers.elsewhere is None else width + 10
        relative = growth(numbers.unit, roundings) + width * square / norm.epsilon
        relative = relative if relative < 0.125 else np.inf
        centred = width + 2 if numbers.elsewhere is None else width + 6
        centring = self._raised(growth(numbers.unit, centred) * size)
        centring = centring if norm.kind == "layer" else np.zeros(size.shape)
        least = root * (1.0 - 2.0 * relative - 2.0**-40) - centring / np.sqrt(float(width))
        known = np.isfinite(root) & (relative < np.inf)  # squares may have overflown
        least = np.where(known, least, -np.inf)
        moved = np.minimum(_quotient(radius, least, width), raised(2.0 * reach * np.ones(size.shape)))
        gained = row_norms(numbers.high(z))
        if numbers.elsewhere is None:
            slipped = raised(_quotient(centring, least, width) + relative / (1.0 - relative) * normal_size)
            furthest = reach + normal_size
            slipped = np.where(known & (slipped < furthest), slipped, furthest)
        else:
            # Its root is that of a row that may be `radius` away, and nothing is known of what it may overflow to.
            slipped = np.zeros(size.shape)
            if norm.kind == "layer":  # it centres and divides by a root that each may be so far off (H4)
                slipped = 2.0 * _quotient(centring, least - radius / np.sqrt(float(width)) * (1.0 + 2.0**-40), width)
            most = np.minimum(reach, normal_size / (1.0 - relative) + moved + 2.0 * slipped)
            furthest = 3.0 * reach + normal_size
            furthest = furthest + (size + centring) / np.sqrt(norm.epsilon) * (norm.kind == "layer")
            furthest = furthest * (1.0 + 4.0 * relative)
            slipped = self._raised(np.minimum(slipped + relative * most, furthest))
            largest = float(np.abs(norm.w).max())
            gained += largest * (moved + slipped)
            gained *= 4.0 / 3.0  # one more rounding: the gain is converted
            self._require_small(size * (size + width) + norm.epsilon)
            self._require_small(np.where(known, slipped + gained + largest * (1.0 + reach), np.inf))
        spread = growth(numbers.unit, 3) * gained
        if norm.b is not None:
            spread = spread + 2.0 * growth(numbers.unit, 4) * row_norms(norm.b)
            self._require_small(row_norms(norm.b) + gained)
        return RowBalls(z, self._raised(spread), norm, moved, raised(slipped))

    def activate(self, rows: RowBalls, activation: Activation) -> RowBalls:
        """Lemma T4."""
        numbers, radius = self.numbers, rows.whole()
        largest = np.abs(numbers.high(rows.value)).max(axis=-1, initial=0.0) * (1.0 + 2.0**-40) + radius
        steep, curved = SLOPES[activation]
        # Lemma T4: g'(0) = 1/2, and the second derivative is at most `curved`.
        slope = 1.0 if activation == "relu" else np.minimum(steep, 0.5 + curved * largest)
        units = growth(numbers.unit, numbers.activation_units(activation))
        radius = self._raised(slope * radius + units * self._sizes(rows.value, radius))
        return RowBalls(numbers.activate(rows.value, activation), radius)

    def multiply(self, rows: RowBalls, others: RowBalls) -> RowBalls:
        """Lemma T10."""
        numbers, radius, other = self.numbers, rows.whole(), others.whole()
        tall, wide = (
            np.abs(numbers.high(x.value)).max(axis=-1, initial=0.0) * (1.0 + 2.0**-40) for x in (rows, others)
        )
        y = numbers.multiply(rows.value, others.value)
        spread = tall * other + wide * radius + radius * other
        if numbers.elsewhere is not None:
            self._require_small((tall + radius) * (wide + other))
        return RowBalls(y, self._raised(spread + growth(numbers.unit, 2) * self._sizes(y, spread)))

    def softcap(
        self, outputs: tuple[Values, Floats], divisor: float | None, cap: float | None
    ) -> tuple[Values, Floats]:
        """Lemma T11, of each output by itself."""
        (y, radii), numbers = outputs, self.numbers
        for divide, c in ((True, divisor), (False, cap)):
            if c is None:
                continue
            if numbers.elsewhere is not None:
                self._require_small(radii + np.abs(numbers.high(y)))
                self._require_small(1.0 / c)
            if divide:
                y, radii = numbers.divide(y, c), radii / c
                sizes = np.abs(numbers.high(y)) + (0.0 if numbers.elsewhere is None else radii)
                radii = self._raised(radii + growth(numbers.unit, 8) * sizes)
            else:
                y = numbers.softcap(y, c)
                radii = self._raised(radii + self.cap_rounding(c))
        return y, radii

    def cap_rounding(self, c: float) -> float:
        """How far c tanh(x / c) may be evaluated off, absolutely (Lemma T11 (b): 2 E + 12 units are enough)."""
        return growth(self.numbers.unit, 2.0 * self.numbers.exponential + 16.0) * c

    # -----------------------------------------------------------------------------------------------------------------
    # Heads.

    def clip(self, heads: HeadBalls, c: float) -> HeadBalls:
        """Lemma T11: cutting off brings no two numbers further apart."""
        value = self.numbers.clip(heads.value, c)
        self._require_small(2.0 * c)
        # Elsewhere c is converted.
        doubt = 0.0 if self.numbers.elsewhere is None else 2.0 * self.numbers.elsewhere.conversion * c
        radius = heads.radius + doubt * np.sqrt(float(value.shape[-1]))
        return HeadBalls(value, row_norms(self.numbers.high(value)), self._raised(radius))

    def normalize_heads(self, heads: HeadBalls, norm: Normalization, together: bool) -> HeadBalls:
        """Lemma T2 for the row of each head, or of all side by side."""
        count, n_heads, width = len(heads.radius), *heads.value.shape[1:]
        if together:
            whole = RowBalls(heads.value.reshape(count, n_heads * width), raised(row_norms(heads.radius)))
            found = self.normalize(whole, norm)
            value = found.value.reshape(count, n_heads, width)
            radius = np.repeat(found.whole()[:, None], n_heads, axis=1)
            return HeadBalls(value, row_norms(self.numbers.high(value)), radius)
        parts = [norm] * n_heads if norm.width == width else norm_parts(norm, width)
        rows = [self.normalize(RowBalls(heads.value[:, h], heads.radius[:, h]), part) for h, part in enumerate(parts)]
        value = self.numbers.concat([row.value[:, None].transpose(1, 0, 2) for row in rows]).transpose(1, 0, 2)
        radius = np.stack([row.whole() for row in rows], axis=1)
        return HeadBalls(value, row_norms(self.numbers.high(value)), radius)

    def rope(self, heads: HeadBalls, block: Attention, positions: Int64Array) -> HeadBalls:
        """Lemma T9."""
        numbers, sizes = self.numbers, heads.size
        if numbers.elsewhere is not None:
            sizes = sizes + heads.radius
            self._require_small(2.0 * sizes)
        value = numbers.rope(heads.value, block, positions)
        radius = self._raised(heads.radius + self.turn_rounding() * sizes)
        return HeadBalls(value, row_norms(numbers.high(value)), radius)

    def turn_rounding(self) -> float:
        """How far a turned row may be evaluated off, relatively (Lemma T9)."""
        unit = self.numbers.unit
        # 1.4143 > sqrt(2); the tables are within one unit of the exact ones.
        return 1.4143 * growth(unit, 2) * (1.0 + 1.5 * unit) + 2.0 * unit

    def project_heads(self, rows: RowBalls, maps: Floats, shifts: Floats | None) -> HeadBalls:
        if len(maps):
            return self._mapped(rows, maps, shifts)[0]
        none = np.zeros((len(rows.radius), 0))
        return HeadBalls(self.numbers.exact(np.zeros((*none.shape, maps.shape[2]))), none, none)

    def select_heads(self, x: HeadBalls, heads: Sequence[int]) -> HeadBalls:
        which = np.asarray(heads, dtype=np.int64)
        return HeadBalls(x.value[:, which], x.size[:, which], x.radius[:, which])

    def uniform_attention(self, value: HeadBalls, length: int) -> HeadBalls:
        """Elsewhere the weights are not quite equal (Lemma R11)."""
        if self.numbers.elsewhere is None:
            return value
        often = 1.0 + rescalings(length)
        theta = growth(self.numbers.unit, 2.0 * often * (self.numbers.exponential + 1.0) + 2.0 * length + 12.0)
        largest = value.size + value.radius
        self._require_small(0.25 * length * largest)  # a sum of them, divided at the end
        return HeadBalls(value.value, value.size, self._raised(value.radius + theta * largest))

    def project_output(self, mixed: HeadBalls, block: Attention, heads: Sequence[int] | None = None) -> RowBalls:
        """Lemma T1 for the heads side by side; elsewhere those that are left out are terms of the same sum."""
        count, whole = len(mixed.radius), block.W_O.reshape(1, -1, block.d_out)
        norms, by_row = self.norms.of(whole), self.norms.rows_of(whole)
        matrix = whole[0]
        if heads is not None:
            rows_of_heads = (np.asarray(heads)[:, None] * block.d_head + np.arange(block.d_head)).ravel()
            matrix, by_row = matrix[rows_of_heads], by_row[rows_of_heads]
        rows = RowBalls(mixed.value.reshape(count, len(matrix)), raised(row_norms(mixed.radius)))
        y = self.numbers.linear(rows.value, matrix, None)
        # Heads of very different sizes meet maps of very different sizes.
        sizes = row_norms(block.W_O.reshape(block.n_heads, -1))[slice(None) if heads is None else list(heads)]
        spread = np.fmin(rows.through(norms)[:, 0], raised(mixed.radius @ sizes))
        sums = self._summed(rows, whole, norms, len(matrix) if self.numbers.elsewhere else whole.shape[1], by_row)
        of_rows = Sum(sums.terms, sums.sizes[:, 0], sums.rounded[:, 0])
        return RowBalls(y, self._raised(spread + of_rows.rounded), sum=of_rows)

    def attend(
        self, block: Attention, query: HeadBalls, key: HeadBalls, value: HeadBalls, pairs: AttentionPairs
    ) -> HeadBalls:
        """Lemma T3, for contexts whose arrays stay in the cache."""
        (count, positions), length = pairs.asking.shape, pairs.read.shape[1]
        n_heads, width = value.value.shape[1:]
        if not n_heads or not count:
            none = np.zeros((len(pairs.kept), n_heads))
            return HeadBalls(self.numbers.exact(np.zeros((*none.shape, width))), none, none)
        table = self._score_table(block, query, key, pairs)
        values, radii = [], []
        step = max(1, _CACHED_ENTRIES // (n_heads * length * max(positions, width)))
        for start in range(0, count, step):
            part = slice(start, start + step)
            mixed, radius = self._mixed(block, query, key, value, pairs, part, table)
            values.append(mixed.transpose(0, 2, 1, 3).reshape(-1, n_heads, width))
            radii.append(radius.transpose(0, 2, 1).reshape(-1, n_heads))
        mixed, radius = self.numbers.concat(values)[pairs.kept], np.concatenate(radii)[pairs.kept]
        return HeadBalls(mixed, row_norms(self.numbers.high(mixed)), radius)

    def patterns(self, block: Attention, query: HeadBalls, key: HeadBalls, pairs: AttentionPairs) -> Enclosure:
        """Return the attention weights of the last position in float64, `[L, H, S]` (Lemma F3)."""
        table, count = self._score_table(block, query, key, pairs), len(pairs.asking)
        shape = (count, query.radius.shape[1], pairs.read.shape[1])
        midpoint, radius = np.empty(shape), np.empty(shape)
        step = max(1, _CACHED_ENTRIES // max(1, shape[1] * shape[2]))
        for start in range(0, count, step):
            part = slice(start, start + step)
            scores, doubt = self._scores(block, query, key, pairs, part, table)
            weights = enclose_softmax(Enclosure(scores[:, :, 0], self._raised(doubt)[:, :, 0]), axis=2)
            midpoint[part], radius[part] = weights.midpoint, weights.radius
        return Enclosure(midpoint, radius)

    def repeat_heads(self, rows: RowBalls, heads: int) -> HeadBalls:
        """Return the rows themselves, for each head."""
        value, radius = rows.value, np.repeat(rows.whole()[:, None], heads, axis=1)
        sizes = np.repeat(row_norms(self.numbers.high(value))[:, None], heads, axis=1)
        return HeadBalls(np.broadcast_to(value[:, None], (len(value), heads, value.shape[1])), sizes, radius)

    def exponentials(
        self,
        block: Attention,
        query: HeadBalls,
        key: HeadBalls,
        asking: int,
        read: Int64Array,
        length: int,
    ) -> tuple[Floats, Floats]:
        r"""Bounds of the numerators of the softmax, up to one factor for each context (Lemma T3).

        The rows that are read may stand for each other: a context has some of them. Whatever it has, its weights are
        proportional to numbers between these bounds, here and in every evaluation elsewhere.

        Args:
            block: The attention, without slopes.
            query: The queries.
            key: The keys.
            asking: The row that asks.
            read: The rows that may be read.
            length: How many of them a context has.

        Returns:
            Lower and upper bounds, `[H, rows read]`; the largest upper bound is near 1.
        """
        numbers = self.numbers
        one = np.zeros((1, 1), dtype=np.int64)
        pairs = AttentionPairs(one + asking, read[None], np.ones((1, len(read)), dtype=bool), one[0], one)
        scores, doubt = self._scores(block, query, key, pairs, slice(0, 1), None)
        scores = numbers.subtract_max(scores, pairs.allowed)
        weights = numbers.high(numbers.exponentials(scores))[0, :, 0]
        errors = self._numerator_errors(numbers.high(scores), doubt, pairs.allowed, length)
        surplus, deficit, lost = (each[0, :, 0] for each in errors)
        lower = np.maximum(down(down(weights * down(1.0 - deficit)) - lost), 0.0)
        return lower, up(up(weights * up(1.0 + surplus)) + lost)

    def _numerator_errors(
        self, below: Floats, doubt: Floats, allowed: BoolArray, length: int
    ) -> tuple[Floats, Floats, Floats]:
        """How far numerators of the softmax may be off: above and below, relatively, and beyond that (Lemma T3).

        Args:
            below: The scores less the largest, `[C, H, i, S]`.
            doubt: How far the scores may be off, of that shape; it is changed.
            allowed: Which position reads which, `[i, S]`.
            length: How many positions are read at most.
        """
        numbers = self.numbers
        distance = np.where(allowed, np.abs(below), 0.0)
        if numbers.elsewhere is not None:
            distance += doubt + np.where(allowed, doubt, 0.0).max(axis=-1, keepdims=True)
        doubt += growth(numbers.unit, 2 if numbers.elsewhere is None else 4) * distance
        # The error of a score, of its distance to the largest, and of the exponential, logarithmically.
        rescaled = 0.0 if numbers.elsewhere is None else rescalings(length)
        doubt = self._raised(doubt + growth(numbers.unit, (numbers.exponential + 1.0) * (1.0 + rescaled)))
        surplus, deficit = _exponential_less_one(doubt), np.minimum(doubt, 1.0)
        hidden = np.where(allowed & (below < LOWEST_SCORE), _LOWEST_POWER, 0.0)
        lost = _times(hidden, 1.0 + surplus)
        if numbers.elsewhere is not None:
            # Each numerator may underflow there, where another one is 1.
            flushed = numbers.elsewhere.floor * (1.0 + np.where(allowed, surplus, 0.0).max(axis=-1, keepdims=True))
            lost = lost + np.where(allowed, flushed, 0.0)
        return surplus, deficit, lost

    def mean_rounding(self, length: int, largest: Floats | float) -> Floats | float:
        """How far a weighted mean of so many values of at most this size is rounded off elsewhere (Lemma R10)."""
        if self.numbers.elsewhere is None:
            return 0.0
        self._require_small(0.25 * length * largest)  # a sum of them, divided at the end
        return growth(self.numbers.unit, 2 * length + 2 * rescalings(length) + 8) * largest

    def _score_table(
        self, block: Attention, query: HeadBalls, key: HeadBalls, pairs: AttentionPairs
    ) -> tuple[Values, Int64Array, Int64Array] | None:
        """Return the scores of all rows that ask with all that are read, `[Q, P, H]`, and which is where; if they are
        few.
        """
        if pairs.asking.shape[1] != 1:
            return None
        asked, asking = np.unique(pairs.asking[:, 0], return_inverse=True)
        rows, read = np.unique(pairs.read, return_inverse=True)
        if len(asked) * len(rows) > min(_DENSE * pairs.read.size, _WIDE_ENTRIES // query.radius.shape[1]):
            return None
        asks, has = query.value[asked].transpose(1, 0, 2), key.value[rows].transpose(1, 0, 2)
        scores = self.numbers.scores(asks, has, block.score_root)
        return scores.transpose(1, 2, 0), asking.reshape(-1), read.reshape(pairs.read.shape)

    def _scores(
        self,
        block: Attention,
        query: HeadBalls,
        key: HeadBalls,
        pairs: AttentionPairs,
        part: slice,
        table: tuple[Values, Int64Array, Int64Array] | None,
    ) -> tuple[Values, Floats]:
        """Return the scores in some contexts and how far they are off, `[C, H, i, S]` (Lemma T3)."""
        numbers, asking, read = self.numbers, pairs.asking[part], pairs.read[part]
        if table is None:
            asks, has = (x.value[rows].transpose(0, 2, 1, 3) for x, rows in ((query, asking), (key, read)))
            scores = numbers.scores(asks, has, block.score_root)
        else:
            known, asked_of, read_of = table
            scores = known[asked_of[part][:, None], read_of[part]].transpose(0, 2, 1)[:, :, None]
        query_size, query_radius = (x[asking].transpose(0, 2, 1)[..., None] for x in (query.size, query.radius))
        key_size, key_radius = (x[read].transpose(0, 2, 1)[:, :, None] for x in (key.size, key.radius))
        rounding = (
            growth(numbers.unit, score_roundings(block.d_qk))
            if numbers.elsewhere
            else (numbers.inner(block.d_qk) + growth(numbers.unit, 4))
        )
        doubt = query_size * (key_radius + rounding * key_size) + query_radius * (key_radius + key_size)
        if numbers.elsewhere is not None:
            doubt += rounding * (query_radius * (key_radius + key_size) + query_size * key_radius)
            self._require_small((query_size + query_radius).max(initial=0.0) * (key_size + key_radius))
        if block.score_root != 1:
            doubt /= np.sqrt(float(block.score_root))
        if block.score_cap is not None:
            scores, doubt = numbers.softcap(scores, block.score_cap), doubt + self.cap_rounding(block.score_cap)
            self._require_small(block.score_cap + 1.0 / block.score_cap)
        if block.slopes is not None:
            places = np.arange(read.shape[1], dtype=np.float64)
            shape = (1, len(block.slopes), 1, len(places))
            slopes, places = (np.broadcast_to(x, shape) for x in (block.slopes[None, :, None, None], places))
            bias = numbers.multiply(numbers.exact(slopes), numbers.exact(places))
            sizes = np.abs(numbers.high(bias))
            scores = numbers.add(scores, _widened(bias, scores.shape))
            seen = np.abs(numbers.high(scores)) + 2.0 * sizes + (0.0 if numbers.elsewhere is None else doubt)
            self._require_small(seen)
            # Elsewhere the sum of a score may start with it.
            terms = 4 if numbers.elsewhere is None else score_roundings(block.d_qk)
            doubt = doubt + growth(numbers.unit, terms) * seen
        return scores, doubt

    def _mixed(
        self,
        block: Attention,
        query: HeadBalls,
        key: HeadBalls,
        value: HeadBalls,
        pairs: AttentionPairs,
        part: slice,
        table: tuple[Values, Int64Array, Int64Array] | None,
    ) -> tuple[Values, Floats]:
        """Return what the heads mix in some contexts, `[C, H, i, n]`, and its radii `[C, H, i]` (Lemma T3)."""
        numbers, allowed = self.numbers, pairs.allowed
        scores, doubt = self._scores(block, query, key, pairs, part, table)
        scores = numbers.subtract_max(scores, allowed)
        below, read = numbers.high(scores), pairs.read[part]
        value_size, value_radius = (x[read].transpose(0, 2, 1) for x in (value.size, value.radius))
        powers = numbers.exponentials(scores)
        values = value.value[read].transpose(0, 2, 1, 3)
        mixed, mass = numbers.weighted_mean(powers, values)
        weights = numbers.high(powers)
        surplus, deficit, lost = self._numerator_errors(below, doubt, allowed, below.shape[-1])
        apart = _distances(numbers.high(mixed), numbers.high(values), value_size)
        error = (_times(weights, surplus) + lost) * apart
        error += (_times(weights, 1.0 + surplus) + lost) * value_radius[:, :, None]
        error = error.sum(axis=-1)
        length = below.shape[-1]
        error += numbers.inner(length) * row_norms(weights) * row_norms(value_size)[..., None]
        error += growth(numbers.unit, length + 3) * row_norms(numbers.high(mixed)) * mass
        error *= 1.0 + 2.0 * growth(2.0**-53, length + 16)
        rest = mass * (1.0 - 2.0**-40) - growth(numbers.unit, length) * mass
        rest -= (weights * deficit).sum(axis=-1) * (1.0 + 2.0 * growth(2.0**-53, length + 16))
        rest -= 0.0 if numbers.elsewhere is None else lost.sum(axis=-1)
        rest *= 1.0 - 2.0**-40
        hull = np.where(allowed, apart + value_radius[:, :, None], 0.0).max(axis=-1)
        quotient = np.where(rest > 0.0, error / rest, np.inf)
        radius = np.where(quotient < hull, quotient, hull)
        if numbers.elsewhere is not None:
            # The sums, the products and the quotient there, which no error above speaks about.
            largest = np.where(allowed, (value_size + value_radius)[:, :, None], 0.0).max(axis=-1)
            radius = radius + self.mean_rounding(length, largest)
        return mixed, self._raised(radius)


def logit_balls(
    model: Model,
    inputs: Int64Array | Vectors,
    *,
    numbers: Numbers | None = None,
    norms: Norms | None = None,
    chunk: int | None = None,
) -> Iterator[tuple[int, Values, Floats]]:
    r"""Evaluate the logits, or outputs, of a few contexts at a time, with proved radii.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        numbers: The format of the evaluation; float64 by default.
        norms: The norms of the maps of the same model, to be shared by several calls.
        chunk: Contexts whose outputs are given together; by default as many as suit the memory.

    Returns:
        Iterator of the index of the first context of a chunk, its logits `[rows, d_vocab_out]` in the format
        `numbers`, and the radii, of that shape.

    Raises:
        InputError: Inputs that do not fit the model, a rational model, or norms of another model.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.model.blocks import Normalization
        >>> final = Normalization("layer", w=np.ones(2))
        >>> model = Model(blocks=(final,), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> [(start, logits, radii)] = logit_balls(model, np.array([[0], [1]]))
        >>> logits.shape, bool(radii.max() < 1e-14)
        ((2, 2), True)
    """
    blas.probe()
    norms = Norms(model) if norms is None else norms
    if norms.model is not model:
        raise InputError("norms", "are those of another model")
    require_at_least(1, chunk=chunk)
    return _chunks(
        model, checked_inputs(model, inputs), norms, numbers, chunk or max(1, _LOGIT_ENTRIES // model.d_vocab_out)
    )


def _chunks(
    model: Model, inputs: Int64Array | Vectors, norms: Norms, numbers: Numbers | None, chunk: int
) -> Iterator[tuple[int, Values, Floats]]:
    for start, count, rows, arithmetic in _last_rows(model, inputs, norms, numbers, chunk):
        for first in range(0, count, chunk):
            with np.errstate(all="ignore"):
                part = slice(first, min(first + chunk, count))
                fits = arithmetic.fits
                logits, radii = arithmetic.softcap(
                    arithmetic.unembed(rows.gather(part), model.W_U, model.b_U), model.logit_divisor, model.logit_cap
                )
                radii = np.where(arithmetic.fits, radii, np.inf)
                arithmetic.fits = fits
            yield start + first, logits, radii


def _last_rows(
    model: Model, inputs: Int64Array | Vectors, norms: Norms, numbers: Numbers | None, chunk: int
) -> Iterator[tuple[int, int, RowBalls, InRowBalls]]:
    """Yield the last rows behind all blocks, of many contexts at a time: a row for each."""
    places = [i for i, block in enumerate(model.blocks) if isinstance(block, Attention)]
    last = places[-1] if places else 0
    count = len(inputs)
    together = _contexts_together(model, inputs, last)
    for start in range(0, count, together):
        arithmetic = InRowBalls(norms, numbers)
        with np.errstate(all="ignore"):
            some = inputs if together >= count else part_of(inputs, np.arange(start, min(start + together, count)))
            stream = passed(arithmetic, model, stream_of(arithmetic, model, some), range(last))
            block = model.blocks[last] if places else None
            heads = Heads.of(arithmetic, block, stream) if isinstance(block, Attention) else None
        size = len(stream.cells)
        step = -(-_contexts_within(model, last, heads, stream.cells) // chunk) * chunk
        for first in range(0, size, step):
            with np.errstate(all="ignore"):
                cells = stream.cells[first : first + step]
                behind = replace(stream, cells=cells)
                if heads is not None:
                    behind = heads.attended(cells, only_last=True, first=first)
                behind = passed(arithmetic, model, behind, range(last + bool(places), len(model.blocks)))
                rows = behind.rows.gather(behind.cells[:, -1])
            yield start + first, len(cells), rows, arithmetic


def _contexts_together(model: Model, inputs: Int64Array | Vectors, last: int) -> int:
    """How many contexts share their rows up to the last attention."""
    shared = model.reads_tokens and not any(isinstance(block, Attention) for block in model.blocks[:last])
    of_vectors = isinstance(inputs, Vectors)
    count, length = (len(inputs), inputs.n_ctx) if of_vectors else inputs.shape
    width = max((row_width(block, length) for block in model.blocks[: last + 1]), default=1)
    most = length * model.d_vocab if shared else count * length
    return max(1, count if most * width <= _ROW_ENTRIES else _ROW_ENTRIES // (length * width))


def _contexts_within(model: Model, last: int, heads: Heads[RowBalls] | None, cells: Int64Array) -> int:
    """How many contexts are worked on together from the last attention on."""
    widths = [row_width(block, 1) for block in model.blocks[last + (heads is not None) :]]
    if heads is not None:
        widths += [heads.followed(cells) * heads.block.d_head, heads.block.d_model, heads.block.d_out]
    return max(1, _WIDE_ENTRIES // max(widths, default=1))


def row_width(block: Any, length: int) -> int:
    """Entries of the widest array that a block makes of a row."""
    if isinstance(block, Attention):
        return max(block.n_heads * max(block.d_qk, block.d_head, length), block.d_model, block.d_out)
    if isinstance(block, FeedForward):
        return max(block.d_model, block.d_mlp, block.d_out)
    return block.width if isinstance(block, Normalization) else max(block.d_model, block.d_out)


def score_roundings(terms: int) -> float:
    """How many roundings a score of so many products may pass elsewhere (Lemma R10).

    Its terms, one of them a bias of its position, and its scale; or both factors times the fourth root of that; or, of
    a power of 2, also its product with log2 e, and that of the largest score.
    """
    return terms + 12.0


def rescalings(length: int) -> float:
    """How often a softmax over so many positions is rescaled, in blocks all but one of which have 16 or more (H4)."""
    return float((length - 1) // 16)


def not_counted(rounded: Floats, already: Floats) -> Floats:
    """Return what is left of a rounding, of which a part is counted; infinite where nothing is known."""
    return np.where(np.isfinite(rounded), np.maximum(rounded - already, 0.0), np.inf)


def _widened(x: Values, shape: tuple[int, ...]) -> Values:
    """Return the numbers repeated along the axes of length 1."""
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, shape)
    return DoubleDouble(np.broadcast_to(x.high, shape), np.broadcast_to(x.low, shape))


def _quotient(radius: Floats, least: Floats, width: int) -> Floats:
    """Lemma T2: how far rows may move that are divided by their size; infinite where nothing is known."""
    rest = least * (1.0 - 2.0**-40) - radius / (2.0 * np.sqrt(float(width))) * (1.0 + 2.0**-40)
    return np.where(rest > 0.0, raised(radius / rest), np.inf)


def _exponential_less_one(doubt: Floats) -> Floats:
    """Above exp(D) - 1 (Lemma T3)."""
    near = doubt / (1.0 - 0.5 * doubt)
    if (doubt <= 1.0).all():
        return near * (1.0 + 2.0**-40)
    far = exp(np.minimum(doubt, 700.0)).midpoint
    far = np.where(doubt <= 700.0, far, np.inf)
    return np.where(doubt <= 1.0, near, far) * (1.0 + 2.0**-40)


def _times(weights: Floats, factors: Floats) -> Floats:
    """Products in which a weight of 0 counts as nothing, whatever the factor."""
    return np.where(weights == 0.0, 0.0, weights * factors)


def _distances(mixed: Floats, values: Floats, sizes: Floats) -> Floats:
    """Upper bounds of the distances of what is mixed to each value, `[T, H, i, j]` (Lemma T3)."""
    own = np.einsum("...i,...i->...", mixed, mixed)[..., None]
    squares = own + (sizes * sizes)[..., None, :]
    if mixed.shape[-2] == 1:
        inner = np.einsum("...in,...jn->...ij", mixed, values)
    else:
        inner = np.matmul(mixed, np.swapaxes(values, -1, -2))
    # Lemma T3, distances: half of what is added is enough.
    cancelled = np.maximum(squares - 2.0 * inner, 0.0) + 8.0 * growth(2.0**-53, values.shape[-1] + 32) * squares
    return np.sqrt(cancelled) * (1.0 + 2.0**-40) + FLOOR
