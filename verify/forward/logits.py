r"""The logits, or outputs, of any model in exact real arithmetic, enclosed.

Page: docs/rigour/forward.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.errors import require_at_least
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.vectors import Vectors
from verify.arithmetic.enclosure import Enclosure
from verify.forward.in_balls import logits_in_balls, rounded_outwards
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import logit_balls


def enclose_logits(model: Model, inputs: Int64Array | Vectors, *, precision: int | None = None) -> Enclosure:
    r"""Enclose the logits, or outputs, of any model.

    For many contexts over a large vocabulary use `logit_chunks`, which never holds them all.

    Args:
        model: The weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, d_vocab_out]`.

    Raises:
        InputError: Inputs that do not fit the model, or no such precision.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> enclose_logits(network, np.array([[0, 1], [1, 1]])).midpoint.tolist()
        [[1.0, 2.0], [1.0, 2.0]]
    """
    if precision is not None:
        return rounded_outwards(logits_in_balls(model, inputs, precision))
    parts = [part for _, part in logit_chunks(model, inputs)]
    if not parts:
        return Enclosure(np.zeros((0, model.d_vocab_out)))
    return Enclosure(np.concatenate([p.midpoint for p in parts]), np.concatenate([p.radius for p in parts]))


def logit_chunks(
    model: Model, inputs: Int64Array | Vectors, *, rows: int | None = None, norms: Norms | None = None
) -> Iterator[tuple[int, Enclosure]]:
    """Enclose the logits of a few contexts at a time, in their order, in bounded memory.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        rows: Largest number of contexts in one chunk; by default as many as suit the memory.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        Iterator of the index of the first context of the chunk, and the enclosure of its logits `[rows, d_vocab_out]`.

    Raises:
        InputError: As `enclose_logits`, or `rows` below 1.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> [(start, part.shape) for start, part in logit_chunks(network, np.array([[0, 1], [1, 1], [0, 0]]), rows=2)]
        [(0, (2, 2)), (2, (1, 2))]
    """
    require_at_least(1, rows=rows)
    balls = logit_balls(model, inputs, norms=norms, chunk=rows)
    return ((start, Enclosure(value, radius)) for start, value, radius in balls)
