"""Compute the rows of a rule's prompts, the rows that a query reads, and the logits that follow from the head outputs.

Page: docs/folds.md
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from constructions.folds.fold import Fold
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.rounding import Floats, up
from verify.forward.map_norms import Norms, row_norms
from verify.forward.rows.row_balls import InRowBalls
from verify.forward.rows.row_ellipsoids import InRowEllipsoids, Spread
from verify.forward.walk import Heads, Stream, passed, read_out
from verify.runs.format_rows import InFormat
from verify.runs.formats import FloatFormat


@dataclass(frozen=True)
class Readable:
    """The rows that one query may attend to.

    Args:
        lower: Bounds of the numerators of all rows, up to one factor for each context, `[H, R]`.
        upper: Likewise.
        value: The values of the rows, `[R, H, n]`.
        radius: How far that may be off, `[R, H]`.
        rounding: How far a mean of it is rounded off, `[H]`.
    """

    lower: Floats
    upper: Floats
    value: Floats
    radius: Floats
    rounding: Floats


class FoldRows:
    """The rows of all pairs of a position and a token that occur, and the head outputs for them.

    What the heads read is enclosed in balls, of which the bounds of the numerators are made; what comes after them in
    ellipsoids, which follow to first order how the logits move with what the heads write.

    Args:
        model: One attention, and blocks that work on each row by itself.
        fold: The rule.
        number_format: Number format of the runs.
        exp_ulps: Accuracy of the exponential that is assumed of them.
    """

    def __init__(self, model: Model, fold: Fold, number_format: FloatFormat, exp_ulps: float) -> None:
        ordered = sorted(_pairs(fold))
        self.number = {pair: row for row, pair in enumerate(ordered)}
        self.positions, self.tokens = (np.array(values) for values in zip(*ordered, strict=True))
        self.place = next(place for place, block in enumerate(model.blocks) if isinstance(block, Attention))
        block = model.blocks[self.place]
        assert isinstance(block, Attention)
        norms, numbers = Norms(model), InFormat(number_format, exp_ulps)
        self.block, self.model = block, model
        self.balls, self.ellipsoids = InRowBalls(norms, numbers), InRowEllipsoids(norms, numbers)
        self.read = Heads.of(self.balls, block, self._stream(self.balls))
        self.written = Heads.of(self.ellipsoids, block, self._stream(self.ellipsoids))
        self.fits = self.balls.fits and self.ellipsoids.fits

    def _stream(self, arithmetic: Any) -> Stream[Any]:
        """Return the rows as the attention finds them."""
        assert self.model.W_E is not None
        embedded = self.model.W_E[self.tokens]
        if self.model.W_pos is None:
            rows = arithmetic.exact(embedded)
        else:
            rows = arithmetic.embed(embedded, self.model.W_pos[self.positions])
        stream = Stream(rows, np.arange(len(self.tokens))[:, None], self.positions)
        return passed(arithmetic, self.model, stream, range(self.place))

    def readable(self, asking: int, read: Int64Array) -> Readable:
        """Return the rows that a query may read; other rows have numerators of 0.

        Args:
            asking: The row.
            read: The rows of all contexts in which it asks; itself is one.
        """
        length, heads = int(self.positions[asking]) + 1, self.read
        some = self.balls.exponentials(self.block, heads.query, heads.key, asking, read, length)
        lower, upper = (np.zeros((len(some[0]), len(self.positions))) for _ in range(2))
        lower[:, read], upper[:, read] = some
        largest = up(heads.value.size[read] + heads.value.radius[read]).max(axis=0)
        rounding = np.broadcast_to(self.balls.mean_rounding(length, largest), largest.shape)
        self.fits = self.fits and self.balls.fits
        return Readable(lower, upper, heads.value.value, heads.value.radius, rounding)

    def writes(self) -> Floats:
        """Return how the stream depends on each head output, `[H, n]`."""
        return row_norms(self.block.W_O)

    def leads(
        self, asking: int, middle: Floats, half: Floats, rounding: Floats, label: int
    ) -> tuple[Floats, BoolArray]:
        """Return a lower bound of the label's margin for all head outputs in boxes.

        Args:
            asking: The row that asks.
            middle: The middles of the boxes, `[B, H, n]`.
            half: Half of their widths.
            rounding: How far what each head writes may be off beyond them, `[H]`.
            label: The token whose logit is to be the largest.

        Returns:
            The leads `[B]`, and whether the label has the largest logit in the middle of the box.
        """
        arithmetic, stream, count = self.ellipsoids, self.written.stream, len(middle)
        coordinates = middle.shape[1] * middle.shape[2]
        edges = np.eye(coordinates) * half.reshape(count, 1, coordinates)
        rest = np.broadcast_to(rounding, middle.shape[:2])
        mixed = Spread(middle, edges.reshape(count, coordinates, *middle.shape[1:]), rest, np.arange(count), -1, 1)
        query_rows = np.full(count, asking)
        arithmetic.balls.fits = self.fits
        y = self.written.leave(arithmetic.project_output(mixed, self.block), query_rows)
        behind = Stream(y, np.arange(count)[:, None], stream.positions[query_rows], None, (stream.rows, query_rows))
        behind = passed(arithmetic, self.model, behind, range(self.place + 1, len(self.model.blocks)))
        (value, _, apart), cells = read_out(arithmetic, self.model, behind)
        # As of `verify.runs.every_run`: how far an output may come towards the largest one.
        ahead = (value[:, [label]] - value) * (1.0 - 2.0**-40) - apart
        ahead[:, label] = math.inf
        least = np.where(np.isfinite(apart).all(axis=1), ahead.min(axis=1), -math.inf)
        first = value.argmax(axis=1) == label
        return np.where(first & arithmetic.fits, least, -math.inf)[cells], first[cells]


def _pairs(fold: Fold) -> set[tuple[int, int]]:
    """Return all pairs of a position and a token that occur in a prompt, or in an answer before its last token."""
    pairs = set(fold.fixed.items())
    for stage in fold.stages:
        for column, position in enumerate(stage.positions):
            pairs |= {(position, int(token)) for token in np.unique(stage.choices[:, column])}
    for place, number in enumerate(fold.answer[:-1]):
        emits = fold.stages[number].emits
        assert emits is not None
        pairs |= {(fold.length + place, int(token)) for token in np.unique(emits)}
    return pairs
