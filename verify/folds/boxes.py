"""Bound the head outputs by boxes, which are halved until each is decided.

Page: docs/folds.md
"""

import numpy as np

from constructions.model.blocks import FeedForward
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.rounding import Floats, up
from verify.folds.rows import FoldRows

_MOST_BOXES = 2**10
"""Boxes of one cell: what these leave open is for smaller cells."""

_ENTRIES = 2**17  # of a row that is worked on, times the boxes


class Boxes:
    """Bounds of the head outputs that follow from boxes, and the number of boxes evaluated."""

    def __init__(self, rows: FoldRows) -> None:
        self.rows, self.looked_at = rows, 0
        widths = [rows.model.d_model, rows.model.d_vocab_out]
        widths += [block.d_mlp for block in rows.model.blocks if isinstance(block, FeedForward)]
        self._step = max(1, _ENTRIES // max(widths))

    def left_open(
        self, asking: int, low: Floats, high: Floats, rounding: Floats, label: int, by: float = 0.0
    ) -> BoolArray:
        """Tell for which boxes the margin is not proved to exceed a number, `[N]`.

        Args:
            asking: The row that asks.
            low: The least that the heads write, `[N, H, n]`.
            high: The most.
            rounding: How far what each head writes may be off beyond that, `[H]`.
            label: The token whose logit is to be the largest.
            by: So much.
        """
        known = np.asarray((np.isfinite(low) & np.isfinite(high)).all(axis=(1, 2)))
        left = ~known
        middle = low + 0.5 * (high - low)
        half = up(np.maximum(up(high - middle), up(middle - low)))
        sizes, counts = self.rows.writes(), np.zeros(len(low), dtype=np.int64)
        owner = np.flatnonzero(known)
        stack = [(owner, middle[owner], half[owner])]
        while stack:
            owner, middle, half = stack.pop()
            wanted = ~left[owner]
            owner, middle, half = owner[wanted], middle[wanted], half[wanted]
            if len(owner) > self._step:
                stack.append((owner[self._step :], middle[self._step :], half[self._step :]))
                owner, middle, half = owner[: self._step], middle[: self._step], half[: self._step]
            if not len(owner):
                continue
            self.looked_at += len(owner)
            np.add.at(counts, owner, 1)
            lead, first = self.rows.leads(asking, middle, half, rounding, label)
            decided = lead > by
            hopeless = ~decided & ~(first & (counts[owner] <= _MOST_BOXES))
            left[owner[hopeless]] = True
            rest = ~decided & ~left[owner]
            if rest.any():
                stack.append(halves(owner[rest], middle[rest], half[rest], sizes))
        return left


def halves(owner: Int64Array, middle: Floats, half: Floats, sizes: Floats) -> tuple[Int64Array, Floats, Floats]:
    """Cut each box in two, across the coordinate that moves the stream most; both parts cover it.

    Half of a half is exact, or of the smallest numbers and rounded up; a middle is rounded by at most 2^-53 of its
    size, and the parts overlap by more than that.
    """
    count = len(middle)
    flat = (half * sizes).reshape(count, -1)
    every, widest = np.arange(count), flat.argmax(axis=1)
    shift = np.zeros_like(flat)
    shift[every, widest] = 0.5 * half.reshape(count, -1)[every, widest]
    shift = shift.reshape(middle.shape)
    smaller = up(up(half - shift) + (np.abs(middle) + np.abs(half)) * 2.0**-50)
    return np.tile(owner, 2), np.concatenate([middle - shift, middle + shift]), np.concatenate([smaller, smaller])
