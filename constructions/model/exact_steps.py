"""Split an integer with ReLU steps that are exact in every order of summation, the skip row being one of the terms.

Page: docs/claims/probes.md
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from constructions.model.blocks import FeedForward
from constructions.numeric.arrays import Float64Array

LARGEST = 1_500_000
"""What an integer that is taken apart may be: ten times it are below $2^{24}$ halves."""


class Step(NamedTuple):
    """If the integer in `column` is at least `threshold`, subtract that and add `added` to `target`."""

    column: int
    threshold: int
    target: int | None = None
    add: int = 0


def halvings(quotients: int) -> list[int]:
    """Return the powers of two below a number, largest first: steps that reduce a number of units below one unit.

    Example:
        >>> halvings(5), halvings(4), halvings(1)
        ([4, 2, 1], [2, 1], [])
    """
    return [2**k for k in reversed(range((quotients - 1).bit_length()))]


def step_blocks(d_model: int, pending: int, steps: Sequence[Step]) -> list[FeedForward]:
    r"""Return residual blocks on a stream of `d_model` columns, one per step; the reader applies the last subtraction.

    A block finds $b = [v \ge t] = (2 (v - t) + \frac32)_+ - (2 (v - t) + \frac12)_+$, on integers never at a kink, and
    leaves it in the column `pending`; the next block takes $t b$ away. So every product and every sum has at most ten
    times as many halves as $v$ has units, where $v - t (\dots)_+ + t (\dots)_+$ would have $t v$.

    Args:
        d_model: Columns of the stream.
        pending: A column that is 0, or what an earlier last step left, which `settled` has then been applied to.
        steps: At least one; the integers are at least 0 and at most `LARGEST`.

    Returns:
        The blocks; `settled` reads what they leave.

    Example:
        >>> blocks = step_blocks(2, 1, [Step(0, 2), Step(0, 1)])  # of a number below 4 what is left modulo 1
        >>> [block.W_in.T.tolist() for block in blocks][1]
        [[2.0, -4.0], [2.0, -4.0], [0.0, 1.0]]
    """
    blocks, before = [], None
    for step in steps:
        read = settled(d_model, pending, before)
        count = 2 if before is None else 3
        W_in, W_out, b_in = np.zeros((d_model, count)), np.zeros((count, d_model)), np.zeros(count)
        W_in[:, 0] = W_in[:, 1] = 2.0 * read[:, step.column]
        b_in[:2] = 1.5 - 2.0 * step.threshold, 0.5 - 2.0 * step.threshold
        W_out[:2, pending] = 1.0, -1.0
        if before is not None:
            W_in[pending, 2] = 1.0
            W_out[2] = (read - np.eye(d_model))[pending]
            W_out[2, pending] = -1.0
        blocks.append(FeedForward(W_in=W_in, b_in=b_in, W_out=W_out))
        before = step
    return blocks


def settled(d_model: int, pending: int, last: Step | None) -> Float64Array:
    """Return the map `[width, width]` that applies the last step; the next reader of the stream is multiplied by it.

    Example:
        >>> settled(2, 1, Step(0, 8)).tolist()
        [[1.0, 0.0], [-8.0, 0.0]]
    """
    read = np.eye(d_model)
    if last is not None:
        read[pending, pending] = 0.0
        read[pending, last.column] = -float(last.threshold)
        if last.target is not None:
            read[pending, last.target] = float(last.add)
    return read
