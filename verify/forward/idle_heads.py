r"""Heads that ask nothing: their query is exactly 0, so that they attend equally to all positions.

Page: docs/rigour/forward.md (Lemma B7), docs/rigour/runs.md (Lemma R11)
"""

import numpy as np

from constructions.model.blocks import Tensor
from constructions.numeric.arrays import BoolArray, Int64Array


def idle_heads(entries: BoolArray, W_Q: Tensor, b_Q: Tensor | None = None) -> BoolArray:
    """Which heads have a query that is exactly 0 for which row that asks, `[rows, H]`.

    Rigorous because a product in which one factor of each term is 0 is exactly 0, in any format.

    Args:
        entries: Which entries of the rows may differ from 0, `[rows, d]`.
        W_Q: The query maps, `[H, d, d_qk]`.
        b_Q: Their shifts, `[H, d_qk]`, or none.

    Example:
        >>> idle_heads(np.array([[True, False]]), np.array([[[1.0], [0.0]], [[0.0], [1.0]]])).tolist()
        [[False, True]]
    """
    read = (W_Q != 0).any(axis=2)
    idle = entries.astype(np.float64) @ read.T.astype(np.float64) == 0.0  # sums of ones, exact
    return idle if b_Q is None else idle & (b_Q == 0).all(axis=1)


def mostly(idle: BoolArray, counts: Int64Array) -> bool:
    """Whether more than half of the heads are idle, with each row counted so often."""
    return bool(2 * (counts @ idle).sum() > counts.sum() * idle.shape[1])


def alike(rows: BoolArray, row_of: Int64Array) -> list[Int64Array]:
    """Return the contexts whose rows are equal, together.

    Args:
        rows: `[R, columns]`.
        row_of: Which of them each context has, `[T]`.
    """
    pattern = np.unique(np.packbits(rows, axis=1), axis=0, return_inverse=True)[1].reshape(-1)[row_of]
    order = np.argsort(pattern, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(pattern[order])) + 1)
