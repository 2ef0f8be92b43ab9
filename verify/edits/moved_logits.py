"""Bound how far an edit moves the logits, from how far it moves the stream after the edited block.

Page: docs/claims/editing.md
"""

from dataclasses import replace

import numpy as np

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from verify.arithmetic import blas
from verify.arithmetic.rounding import Floats
from verify.forward.arithmetic import Numbers
from verify.forward.map_norms import SLACK, Norms, raised
from verify.forward.rows.row_balls import InRowBalls, RowBalls
from verify.forward.walk import contexts_of, passed, stream_of

_ENTRIES = 2**22  # of the widest array of the contexts that are worked on together
_LEAST = float(np.nextafter(0.0, 1.0))


def moved_logits(model: Model, distance: Floats, *, norms: Norms | None = None) -> Floats:
    r"""Return upper bounds of the largest change of a logit if the stream moves by at most $D$ (Theorem N3), `[T]`, in
    nats.

    Before the last normalization, with $\epsilon$ and the gain $w$, two streams differ by at most D. Then each logit k
    differs by at most

    $$ \frac{\vert P\,\mathrm{diag}(w) W_U[:, k] \vert\, D}{\sqrt\epsilon - D/(2\sqrt d)}, $$

    $P$ the projection along the ones for layer normalization, the identity for the other; infinite where the
    denominator is not positive.

    Args:
        model: A model that ends with a normalization.
        distance: D, non-negative, `[T]`.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        The bounds; exactly 0 where D is 0.

    Example:
        >>> final = Normalization("rms", w=np.ones(4), epsilon=0.25)
        >>> model = Model(blocks=(final,), W_U=np.eye(4), W_E=np.eye(4), W_pos=np.zeros((1, 4)))
        >>> bool(1.0 < moved_logits(model, np.array([0.4]))[0] < 1.01), moved_logits(model, np.zeros(1)).tolist()
        (True, [0.0])
    """
    final = model.blocks[-1]
    assert isinstance(final, Normalization)
    steepest = float((Norms(model) if norms is None else norms).of_columns(model.W_U, final).moved.max())
    distance = np.asarray(distance, dtype=np.float64)
    with np.errstate(all="ignore"):
        spread = distance / (2.0 * np.sqrt(float(model.d_model)))
        rest = np.sqrt(final.epsilon) * (1.0 - 2.0**-50) - spread * SLACK
        # the least number above 0 covers what underflows of a quotient or a product
        moved = steepest * (distance / rest * SLACK + _LEAST) * SLACK + _LEAST
    return np.where(distance == 0.0, 0.0, np.where(rest > 0.0, moved, np.inf))


def moved_behind(
    model: Model,
    place: int,
    contexts: Int64Array,
    distance: Floats,
    *,
    numbers: Numbers | None = None,
    norms: Norms | None = None,
) -> Floats:
    """Return upper bounds of the largest change of a logit if the streams after a block are at most D apart (N5).

    The walk in balls of rows encloses each row of the stream behind the block. A ball whose radius is larger by D holds
    the other row too, and the blocks behind are the same: both logits are in what the walk makes of these balls, and at
    most twice a radius apart.

    Args:
        model: The weights, in float64.
        place: Which block.
        contexts: Tokens, `[T, S]`.
        distance: D of each position, `[T, S]`.
        numbers: The format of the walk; float64 by default.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        The bounds, `[T]`, in nats: exactly 0 where all D are 0, infinite where nothing is known.

    Raises:
        InputError: Contexts that the model cannot read, or a rational model.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> neurons, final = FeedForward(np.eye(2), np.zeros((2, 2))), Normalization("rms", w=np.ones(2), epsilon=1.0)
        >>> model = Model(blocks=(neurons, final), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> bool(0.4 < moved_behind(model, 0, np.array([[0]]), np.array([[0.25]]))[0] < 0.6)
        True
    """
    blas.probe()
    contexts, norms = contexts_of(model, contexts), Norms(model) if norms is None else norms
    length, moved = contexts.shape[1], np.empty(len(contexts))
    step = max(1, _ENTRIES // (length * max(_width(block, length) for block in model.blocks)))
    for start in range(0, len(contexts), step):
        some = slice(start, start + step)
        arithmetic = InRowBalls(norms, numbers)
        with np.errstate(all="ignore"):
            stream = passed(arithmetic, model, stream_of(arithmetic, model, contexts[some]), range(place + 1))
            apart = np.zeros(len(stream.positions))
            np.maximum.at(apart, stream.cells, distance[some, length - stream.cells.shape[1] :])
            rows = RowBalls(stream.rows.value, raised(stream.rows.whole() + apart))
            stream = passed(arithmetic, model, replace(stream, rows=rows), range(place + 1, len(model.blocks)))
            last = stream.last(arithmetic)
            _, radii = arithmetic.unembed(last.rows, model.W_U, model.b_U)
            moved[some] = (2.0 * SLACK * radii.max(axis=1))[last.cells[:, 0]]
    moved[~np.isfinite(moved)] = np.inf
    return np.where((distance == 0.0).all(axis=1), 0.0, moved)


def _width(block: Attention | FeedForward | Normalization, length: int) -> int:
    if isinstance(block, Attention):
        return max(block.n_heads * max(block.d_qk, block.d_head, length), block.d_model)
    return max(block.d_mlp, block.d_model) if isinstance(block, FeedForward) else block.width
