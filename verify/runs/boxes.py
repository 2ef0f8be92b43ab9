r"""Find a box in which the rows of every context stay, in every run of a model or in real arithmetic.

Page: docs/rigour/runs.md, Lemma R13.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from verify.arithmetic.rounding import UNIT, Floats
from verify.runs.formats import FloatFormat
from verify.runs.terms import LARGEST_EXACT, SLACK, largest, low, units

_POINTS = 4096  # neurons of one direction whose kinks are all looked at


@dataclass(frozen=True)
class Boxes:
    """The boxes of a model.

    Args:
        values: For each attention, by its place, upper bounds of what its heads mix, `[n_heads, d_head]`.
        first_overflow: The first block in or before which a number may overflow; that of the readout is the last.

    By Lemma R13.
    """

    values: dict[int, Floats]
    first_overflow: int

    @classmethod
    def of(cls, model: Model, length: int, number_format: FloatFormat | None) -> "Boxes":
        r"""Return the boxes of the rows of all contexts of `length` tokens.

        A box is mapped by a matrix term by term. Neurons that read the same direction of the stream are a function of
        one number that is linear between its kinks, so that its range is that of its values there. What rounding adds
        is added at each step, but for sums that are exact.

        Args:
            model: Tokens, rectified neurons, attention; in float64.
            length: S.
            number_format: Number format of the runs; none for real arithmetic.

        By Lemma R13.
        """
        walk = _Walk(number_format)
        values: dict[int, Floats] = {}
        with np.errstate(all="ignore"):
            box = walk.embed(model.W_E, model.W_pos[:length])
            for place, block in enumerate(model.blocks):
                if isinstance(block, FeedForward):
                    box = walk.neurons(box, block)
                else:
                    assert isinstance(block, Attention)
                    box, values[place] = walk.attention(box, block, length)
                if not walk.largest <= walk.allowed:
                    return cls(values, place)
            walk.linear(box, model.W_U, model.b_U)
        return cls(values, len(model.blocks) + bool(walk.largest <= walk.allowed))


@dataclass(frozen=True)
class _Box:
    """Columns between two ends, and the power of two of which they are multiples; 0 if none is known."""

    low: Floats
    high: Floats
    unit: Floats

    @property
    def size(self) -> Floats:
        return np.maximum(np.abs(self.low), np.abs(self.high))


class _Walk:
    def __init__(self, number_format: FloatFormat | None) -> None:
        unit = 0.0 if number_format is None else number_format.unit_roundoff
        self.most = min(1.0 / max(unit, UNIT), LARGEST_EXACT)
        self.unit = UNIT + unit
        self.least = 2.0**-900 if number_format is None else number_format.smallest_normal
        self.allowed = 2.0**1000 if number_format is None else number_format.largest / 8.0
        self.largest = 0.0

    def embed(self, tokens: Floats, positions: Floats) -> _Box:
        """Return the box of the sums of any token and any position."""
        unit = np.minimum(units(tokens), units(positions))
        lowest = tokens.min(axis=0) + positions.min(axis=0)
        highest = tokens.max(axis=0) + positions.max(axis=0)
        return self._wider((lowest, highest), self._error(largest(tokens) + largest(positions), unit, 2), unit)

    def linear(self, box: _Box, matrix: Floats, shift: Floats | None) -> tuple[_Box, Floats]:
        """Return the box of the images, and the added rounding errors."""
        total = box.size @ np.abs(matrix)
        unit = _unit(box.unit, matrix)
        lowest, highest = _image((box.low, box.high), matrix)
        if shift is not None:
            total = total + np.abs(shift)
            unit = np.minimum(unit, low(shift))
            lowest, highest = lowest + shift, highest + shift
        error = self._error(total, unit, len(matrix) + 1) + self._flushed(box.size, matrix)
        return self._wider((lowest, highest), error, unit), error

    def neurons(self, box: _Box, block: FeedForward) -> _Box:
        """Return the box after a feed-forward block; neurons of one direction and its skip connection count as one
        function.
        """
        before, error = self.linear(box, block.W_in, block.b_in)
        hidden, size = np.maximum(before.low, 0.0), np.maximum(before.high, 0.0)
        shift = np.zeros(block.d_mlp) if block.b_in is None else block.b_in
        lines = np.eye(block.d_model, block.d_out) if block.skip else np.zeros((block.d_model, block.d_out))
        start = np.zeros(block.d_out) if block.b_out is None else block.b_out
        total = size @ np.abs(block.W_out) + box.size @ np.abs(lines) + np.abs(start)
        unit = np.minimum(_unit(before.unit, block.W_out), low(start))
        unit = np.minimum(unit, box.unit) if block.skip else unit
        ends, rest, left = (start, start), np.ones(block.d_mlp, dtype=bool), np.ones(block.d_model, dtype=bool)
        for own, direction in _directions(block.W_in):
            at, columns = np.abs(direction).argmax(), np.flatnonzero(direction)
            weight = block.W_in[at, own] / direction[at]
            low_end, high_end = (float(end[0]) for end in _image((box.low, box.high), direction[:, None]))
            kinks = -shift[own] / weight
            points = np.concatenate([[low_end, high_end], kinks[(kinks > low_end) & (kinks < high_end)]])
            values = np.maximum(points[:, None] * weight + shift[own], 0.0) @ block.W_out[own]
            if len(columns) == 1:  # the skip connection is a function of the same number
                values += points[:, None] * lines[columns[0]]
                left[columns[0]] = False
            ends, rest[own] = (ends[0] + values.min(axis=0), ends[1] + values.max(axis=0)), False
        for bounds, matrix in (
            ((hidden[rest], size[rest]), block.W_out[rest]),
            ((box.low, box.high), lines * left[:, None]),
        ):
            part = _image(bounds, matrix)
            ends = ends[0] + part[0], ends[1] + part[1]
        # What the sums of the neurons are off by, the sums behind them, and the evaluation of the ranges here.
        inner = (box.size @ np.abs(block.W_in) + np.abs(shift)) @ np.abs(block.W_out)
        error = error @ np.abs(block.W_out) + self._error(total, unit, block.d_mlp + 2)
        error += self._flushed(size, block.W_out)
        error += 8.0 * (block.d_mlp + block.d_model + 8) * UNIT * (total + inner)
        return self._wider(ends, error, unit)

    def attention(self, box: _Box, block: Attention, length: int) -> tuple[_Box, Floats]:
        """Return the box after an attention, and upper bounds of the head averages, `[n_heads, d_head]`."""
        start = np.zeros(block.d_out) if block.b_O is None else block.b_O
        ends, total, sizes = (start, start), np.abs(start), np.zeros((block.n_heads, block.d_head))
        flushed = np.zeros(block.d_out)
        for head in range(block.n_heads):
            query, _ = self.linear(box, block.W_Q[head], None if block.b_Q is None else block.b_Q[head])
            key, _ = self.linear(box, block.W_K[head], None if block.b_K is None else block.b_K[head])
            value, _ = self.linear(box, block.W_V[head], None if block.b_V is None else block.b_V[head])
            sizes[head] = value.size * SLACK
            self._note(query.size @ key.size)
            # A sum that is divided at the end may be 8 times as large as what is allowed, and rounds with each term.
            self._note(0.25 * length * sizes[head] * (1.0 + self._share(2 * length)))
            # The weights are not negative, and their sum is 1 but for rounding, also rescaled position by position.
            around = self._error(4.0 * sizes[head], np.where(sizes[head] > 0.0, 0.0, np.inf), 4 * length + 12)
            part = _image((value.low - around, value.high + around), block.W_O[head])
            ends = ends[0] + part[0], ends[1] + part[1]
            total = total + (sizes[head] + around) @ np.abs(block.W_O[head])
            flushed += self._flushed(sizes[head] + around, block.W_O[head])
        unit = np.where((block.W_O != 0.0).any(axis=(0, 1)), 0.0, low(start))
        if block.skip:
            ends, total, unit = (ends[0] + box.low, ends[1] + box.high), total + box.size, np.minimum(unit, box.unit)
        error = self._error(total, unit, block.n_heads * block.d_head + 2) + flushed
        return self._wider(ends, error, unit), sizes

    def _error(self, total: Floats, unit: Floats, count: int) -> Floats:
        """Bound the rounding of sums whose terms are multiples of a unit: 0 if the format represents them all
        (Theorem R12 (i)).

        Elsewhere as `InRuns._rounded`, with (1 - u)^-n - 1 instead of gamma_n, so that no n is too large.
        """
        self._note(total)
        share = self._share(count + 4)
        rounded = total * share + 16.0 * (count + 1) * self.least * (1.0 + share)
        exact = (total <= self.most * unit) & (unit >= self.least)
        return np.where(exact, 0.0, rounded) * SLACK

    def _share(self, count: int) -> float:
        """Bound how far n factors (1 + d)^{+-1} with |d| <= u are from 1: (1 - u)^-n - 1, for every n u."""
        return float(np.expm1(count * self.unit / (1.0 - self.unit)))

    def _note(self, sizes: Floats) -> None:
        """Record the largest size; NaN counts as infinite."""
        self.largest = max(self.largest, float(np.max(np.where(np.isnan(sizes), np.inf, sizes), initial=0.0)))

    def _flushed(self, size: Floats, matrix: Floats) -> Floats:
        """Return the loss of a product by weights small enough to be flushed to 0."""
        return 2.0 * self.least * (size @ ((matrix != 0.0) & (np.abs(matrix) < self.least)))

    def _wider(self, ends: tuple[Floats, Floats], error: Floats, unit: Floats) -> _Box:
        return _Box(ends[0] - error, ends[1] + error, np.where(error == 0.0, unit, 0.0))


def _image(ends: tuple[Floats, Floats], matrix: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the products with a matrix, term by term."""
    up, down = np.maximum(matrix, 0.0), np.minimum(matrix, 0.0)
    return ends[0] @ up + ends[1] @ down, ends[1] @ up + ends[0] @ down


def _unit(unit: Floats, matrix: Floats) -> Floats:
    """Return a power of two of which the terms of products with a matrix are multiples; 0 if none is known."""
    return np.where(matrix != 0.0, unit[:, None] * low(matrix), np.inf).min(axis=0, initial=np.inf)


def _directions(matrix: Floats) -> Iterator[tuple[Int64Array, Floats]]:
    """Yield the neurons of one direction, and that direction, for all columns that are multiples of others or
    of few.
    """
    top = np.abs(matrix).max(axis=0, initial=0.0)
    lead = np.where(matrix != 0.0, matrix, 0.0)[np.argmax(matrix != 0.0, axis=0), np.arange(matrix.shape[1])]
    some = np.flatnonzero(top > 0.0)
    if not len(some):
        return
    directions, which = np.unique((matrix[:, some] / lead[some]).T, axis=0, return_inverse=True)
    for index, direction in enumerate(directions):
        own = some[which.ravel() == index]
        if len(own) <= _POINTS and (len(own) > 1 or np.count_nonzero(direction) == 1):
            yield own, direction
