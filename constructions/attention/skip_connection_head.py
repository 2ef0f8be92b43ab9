r"""Replace the skip connection by heads: a network without it whose extra heads write $x_S$.

Each input gets one more coordinate, 1 at the last position and 0 elsewhere. A head whose query and key read it scores
$\lambda$ at the last position and 0 elsewhere, in every context, so it writes, with $k = e^\lambda$,

$$ A_\lambda = \frac{k \, x_S + \sum_{s < S} x_s}{k + S - 1} . $$

Page: docs/claims/skip_connection.md
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from flint import fmpq

from constructions.errors import InputError
from constructions.model.blocks import Attention, Tensor
from constructions.model.model import Model
from constructions.model.shapes import dana_tensors

_STEEPEST = 700.0  # beyond, e^lambda is no float64 number


@dataclass(frozen=True, eq=False)
class Copy:
    r"""A head, or $\lceil d / d_h \rceil$ heads side by side, that add a multiple of $A_\lambda$ to the stream.

    Args:
        sharpness: $\lambda$, in nats; of a rational network in units of $\ln 2$.
        factor: The multiple.
    """

    sharpness: float | fmpq
    factor: float | fmpq


@dataclass(frozen=True, eq=False)
class SkipConnectionHeads:
    """A network without a skip connection, and the one whose skip connection its last heads replace.

    They speak of contexts of the full length S, since the last position is the last one of `W_pos`.

    Args:
        network: With a skip connection.
        model: Without: one coordinate more, the same heads, and the copies.
        copies: What the copying heads write.
    """

    network: Model
    model: Model
    copies: tuple[Copy, ...]

    @property
    def n_copying_heads(self) -> int:
        """Number of heads of width $d_h$ that the copies need."""
        return self.model.n_heads - self.network.n_heads


def skip_connection_head(network: Model, *, sharpness: float) -> SkipConnectionHeads:
    r"""Replace the skip connection of a network by a head that copies $x_S$ up to $e^{-\lambda}$.

    The head reads $A_\lambda$, which is $x_S$ but for a share $(S - 1) / (e^\lambda + S - 1)$ of the mean of the other
    inputs; what this does to the logits is enclosed by `verify/theorems/memories/skip_connection_error.py`. A head of
    width
    $d_h$ copies $d_h$ coordinates, so $\lceil d / d_h \rceil$ heads with the same queries and keys replace
    one of width d.

    Args:
        network: One attention layer with a skip connection, as `constructions.model.shapes.dana_network` makes it.
        sharpness: $\lambda > 0$, in nats, at most 700.

    Returns:
        Both networks. They speak of contexts of the full length S, whose last position is the last one of `W_pos`.

    Raises:
        InputError: A model of another shape, or a sharpness out of range.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Section 4.1: Proposition E7.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> one = np.ones
        >>> network = dana_network(W_E=one((3, 5)), W_pos=one((4, 5)), W_Q=one((2, 5, 2)), W_K=one((2, 5, 2)),
        ...                        W_V=one((2, 5, 2)), W_O=one((2, 2, 5)), W_U=one((5, 3)))
        >>> found = skip_connection_head(network, sharpness=40.0)
        >>> found.n_copying_heads, found.model.d_model, found.model.attention.skip  # ceil(5 / 2) heads
        (3, 6, False)
    """
    if network.is_rational:
        raise InputError("the network", "has rational weights", "float64 weights")
    _require_sharpness(sharpness)
    return _without_skip(network, (Copy(float(sharpness), 1.0),))


def two_head_skip_connection(network: Model, *, sharpness: float | int | None = None) -> SkipConnectionHeads:
    r"""Replace the skip connection of a network by two heads that write $x_S$ exactly; no limit is taken.

    With $k = e^\lambda$, and $A_0$ the mean of all inputs, which a head with scores of 0 writes,

    $$ x_S = \frac{(k + S - 1) A_\lambda - S A_0}{k - 1} . $$

    Nothing has to be steep: $k = 2$, the default, gives the multiples $S + 1$ and $-S$. In a rational network the
    logits are the same, exactly; in float64 the multiples and $\lambda$ are rounded, and that is all that separates
    them.

    Args:
        network: One attention layer with a skip connection, as `constructions.model.shapes.dana_network` makes it.
        sharpness: $\lambda > 0$, in nats, at most 700; of a rational network an integer, in units of $\ln 2$.

    Returns:
        Both networks, which speak of contexts of the full length S.

    Raises:
        InputError: A model of another shape, or a sharpness out of range.

    Source: Proposition E7.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> one = np.ones
        >>> network = dana_network(W_E=one((3, 2)), W_pos=one((4, 2)), W_Q=one((1, 2, 2)), W_K=one((1, 2, 2)),
        ...                        W_V=one((1, 2, 2)), W_O=one((1, 2, 2)), W_U=one((2, 3)))
        >>> found = two_head_skip_connection(network)
        >>> found.n_copying_heads, [round(copy.factor, 12) for copy in found.copies]
        (2, [5.0, -4.0])
    """
    length = network.n_ctx
    if network.is_rational:
        power = 1 if sharpness is None else sharpness
        if type(power) is not int or not 1 <= power <= _STEEPEST:
            raise InputError("sharpness", f"= {sharpness!r}", f"an integer from 1 to {_STEEPEST:g}, in units of ln 2")
        less_one = fmpq(2**power - 1)  # k - 1
        return _without_skip(network, (Copy(fmpq(power), 1 + length / less_one), Copy(fmpq(0), -length / less_one)))
    steepness = math.log(2.0) if sharpness is None else sharpness
    _require_sharpness(steepness)
    inverse = 1.0 / math.expm1(steepness)  # 1 / (k - 1)
    return _without_skip(network, (Copy(float(steepness), 1.0 + length * inverse), Copy(0.0, -length * inverse)))


def _require_sharpness(sharpness: float) -> None:
    if isinstance(sharpness, bool) or not isinstance(sharpness, int | float) or not 0 < sharpness <= _STEEPEST:
        raise InputError("sharpness", f"= {sharpness!r}", f"a number above 0, at most {_STEEPEST:g}, in nats")


def _without_skip(network: Model, copies: tuple[Copy, ...]) -> SkipConnectionHeads:
    """Return the network without its skip connection, with one more coordinate and the copying heads after its own."""
    tensors = dana_tensors(network)
    block, d_model = network.attention, network.d_model
    d_head, d_qk = (block.d_head, block.d_qk) if block.n_heads else (d_model, 1)
    zero, one = (fmpq(0), fmpq(1)) if network.is_rational else (0.0, 1.0)

    def zeros(*shape: int) -> Tensor:
        return np.full(shape, zero, dtype=object if network.is_rational else np.float64)

    W_E = np.concatenate([tensors["W_E"], zeros(network.d_vocab, 1)], axis=1)
    W_pos = np.concatenate([tensors["W_pos"], zeros(network.n_ctx, 1)], axis=1)
    W_pos[-1, -1] = one
    parts = [range(start, min(start + d_head, d_model)) for start in range(0, d_model, d_head)]
    count = len(parts) * len(copies)
    W_Q, W_K = zeros(count, d_model + 1, d_qk), zeros(count, d_model + 1, d_qk)
    W_V, W_O = zeros(count, d_model + 1, d_head), zeros(count, d_head, d_model)
    for head, (copy, coordinates) in enumerate(product(copies, parts)):
        W_Q[head, -1, 0], W_K[head, -1, 0] = copy.sharpness, one
        for column, coordinate in enumerate(coordinates):
            W_V[head, coordinate, column] = one
            W_O[head, column, coordinate] = copy.factor
    if block.n_heads:
        unread = zeros(block.n_heads, 1, d_qk), zeros(block.n_heads, 1, d_qk), zeros(block.n_heads, 1, d_head)
        W_Q, W_K, W_V = (
            np.concatenate([np.concatenate([own, row], axis=1), new])
            for own, row, new in zip((block.W_Q, block.W_K, block.W_V), unread, (W_Q, W_K, W_V), strict=True)
        )
        W_O = np.concatenate([block.W_O, W_O])
    attention = Attention(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, skip=False, attends="last")
    model = Model(blocks=(attention,), W_U=tensors["W_U"], W_E=W_E, W_pos=W_pos)
    return SkipConnectionHeads(network, model, copies)
