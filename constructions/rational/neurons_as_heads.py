"""Write SiLU neurons as heads, and masked heads as one neuron.

Page: docs/claims/gated_heads.md
"""

from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.rational.interpolating_network import exact

Array = NDArray[Any]


def neurons_as_heads(embeddings: Array, gates: Array, values: Array, outputs: Array) -> Model:
    r"""Return attention with one head per gated unit $\sigma(\langle x, w_j \rangle) \langle x, v_j \rangle \, o_j$.

    Contexts are [0, t]: the token 0 is the null token, whose embedding and first position are 0, so that its score and
    its value are 0. The second position is 1 in a coordinate of its own, which is the key: the last position gives
    itself the score $\langle x, w_j \rangle$, and the share $\sigma$ of it.

    Args:
        embeddings: The vectors x of the tokens 1, 2, .., `[n, d]`.
        gates: $w_j$, `[m, d]`.
        values: $v_j$, `[m, d]`; $v_j = w_j$ is the neuron SiLU.
        outputs: $o_j$, `[m, D]`.

    Returns:
        A model of one attention without a skip connection, float64 or rational as the arrays are; the token n + 1 is
        never read.

    Raises:
        InputError: Arrays that do not fit.

    Source: Huben, Morris (2023), abstract.

    Example:
        >>> one = np.ones((1, 1))
        >>> model = neurons_as_heads(one, one, one, one)
        >>> model.blocks[0].d_head, model.blocks[0].d_qk, model.W_E.shape
        (1, 1, (2, 2))
    """
    count, d_model = embeddings.shape
    units = len(gates)
    if gates.shape != (units, d_model) or values.shape != (units, d_model) or outputs.shape[0] != units:
        shapes = f"{gates.shape}, {values.shape} and {outputs.shape}"
        raise InputError("gates, values and outputs", f"have shapes {shapes}", f"[m, {d_model}] twice and [m, D]")
    one, zero = (fmpq(1), fmpq(0)) if embeddings.dtype == object else (1.0, 0.0)

    def zeros(*shape: int) -> Array:
        array = np.empty(shape, dtype=embeddings.dtype)
        array[...] = zero
        return array

    W_E, W_pos = zeros(count + 1, d_model + 1), zeros(2, d_model + 1)
    W_E[1:, :d_model], W_pos[1, d_model] = embeddings, one
    W_Q, W_K, W_V = (zeros(units, d_model + 1, 1) for _ in range(3))
    W_Q[:, :d_model, 0], W_K[:, d_model, 0], W_V[:, :d_model, 0] = gates, one, values
    head = Attention(W_Q, W_K, W_V, outputs[:, None, :], skip=False, attends="last")
    return Model(blocks=(head,), W_U=_identity(outputs.shape[1], one, zeros), W_E=W_E, W_pos=W_pos)


def silu_neurons(embeddings: Array, gates: Array, outputs: Array) -> Model:
    r"""Return a layer of neurons $o_j \, u / (1 + e^{-u})$, $u = \langle x, w_j \rangle$, on single tokens.

    Args:
        embeddings: `[n, d]`.
        gates: $w_j$, `[m, d]`.
        outputs: $o_j$, `[m, D]`.

    Example:
        >>> silu_neurons(np.ones((3, 2)), np.ones((4, 2)), np.ones((4, 5))).blocks[0].d_mlp
        4
    """
    block = FeedForward(np.ascontiguousarray(gates.T), outputs, activation="silu", skip=False)
    d_model, outputs_of = gates.shape[1], outputs.shape[1]
    return Model(blocks=(block,), W_U=np.eye(outputs_of), W_E=embeddings, W_pos=np.zeros((1, d_model)))


def masked_neuron(embeddings: list[list[int]], gate: list[int], *, n_ctx: int, mask: int) -> Model:
    r"""Return the neuron on the last of S tokens after a null token; the others are masked by a score of $-M \ln 2$.

    One dimension of queries and keys more is enough for the mask, however long the context is: queries (w, 1), keys
    (1 at the last position, -M at those before, 0 at the null token).

    Args:
        embeddings: Integers of the tokens 1, 2, .., `[n, d]`.
        gate: w, integers in units of ln 2, `[d]`.
        n_ctx: S, without the null token.
        mask: M.

    Returns:
        A rational model of one head for contexts [0, t_1, .., t_S], whose output is the neuron divided by ln 2.

    Source: Huben, Morris (2023), abstract.

    Example:
        >>> masked_neuron([[1], [2]], [1], n_ctx=3, mask=10).n_ctx
        4
    """
    d_model = len(gate)
    W_E = exact([[0] * (d_model + 3)] + [[*row, 0, 0, 0] for row in embeddings])
    # Coordinates: the token, 1 at the last position, -M at those before it, 1 again where the mask is asked for.
    before, last = [0] * d_model + [0, -mask, 0], [0] * d_model + [1, 0, 1]
    W_pos = exact([[0] * (d_model + 3)] + [before] * (n_ctx - 1) + [last])
    W_Q = exact([[w, 0] for w in gate] + [[0, 0], [0, 0], [0, 1]])
    W_K = exact([[0, 0]] * d_model + [[1, 0], [0, 1], [0, 0]])
    W_V = exact([[w] for w in gate] + [[0], [0], [0]])
    head = Attention(W_Q[None], W_K[None], W_V[None], exact([[1]])[None], skip=False, attends="last")
    return Model(blocks=(head,), W_U=exact([[1]]), W_E=W_E, W_pos=W_pos)


def _identity(size: int, one: Any, zeros: Any) -> Array:
    identity = zeros(size, size)
    for i in range(size):
        identity[i, i] = one
    return identity
