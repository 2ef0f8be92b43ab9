"""Build the two model shapes of the papers: a network of one attention, and a layer that reads vectors.

Pages: docs/conventions.md, docs/layer.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.model.blocks import Attention, Tensor, frozen
from constructions.model.model import Model


def dana_network(W_E: Tensor, W_pos: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, W_U: Tensor) -> Model:
    r"""Return the one-layer attention-only transformer of Dana, Pydi and Chevaleyre.

    With row vectors and unscaled scores, for tokens $t_1, \dots, t_S$,

    $$ x_s = W_E[t_s] + W_{pos}[s], \quad \mathrm{score}^h_s = \langle x_S W_Q^h,\, x_s W_K^h \rangle, \quad
       a^h = \mathrm{softmax}_{s = 1..S}(\mathrm{score}^h), $$

    $$ \mathrm{logits} = \Bigl(x_S + \sum_h \bigl(\sum_s a^h_s x_s\bigr) W_V^h W_O^h\Bigr) W_U, $$

    at the last position only.

    Args:
        W_E: Embeddings, `[d_vocab, d_model]`.
        W_pos: Positional embeddings, `[n_ctx, d_model]`.
        W_Q: Query maps, `[n_heads, d_model, d_qk]`.
        W_K: Key maps, `[n_heads, d_model, d_qk]`.
        W_V: Value maps, `[n_heads, d_model, d_head]`, with `d_head <= d_model`.
        W_O: Output maps, `[n_heads, d_head, d_model]`.
        W_U: Unembedding, `[d_model, d_vocab_out]`.

    Returns:
        The model.

    Raises:
        InputError: A tensor of a wrong shape or type, or with a NaN or an infinity; names it.

    Source: Dana, Pydi, Chevaleyre (2024), equations (1) and (2).

    Example:
        >>> one = np.ones
        >>> network = dana_network(W_E=one((3, 2)), W_pos=one((4, 2)), W_Q=one((5, 2, 1)), W_K=one((5, 2, 1)),
        ...                        W_V=one((5, 2, 2)), W_O=one((5, 2, 2)), W_U=one((2, 3)))
        >>> network.n_heads, network.d_qk, network.d_head, network.parameters
        (5, 1, 2, 80)
    """
    attention = Attention(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, skip=True, attends="last")
    if attention.d_head > attention.d_model:
        raise InputError("W_V", f"has d_head = {attention.d_head}", f"at most d_model = {attention.d_model}")
    return Model(blocks=(attention,), W_U=W_U, W_E=W_E, W_pos=W_pos)


def dana_tensors(network: Model) -> dict[str, Tensor]:
    """Return the tensors of a network of one attention under the argument names of `dana_network`.

    Raises:
        InputError: The model is of another shape.
    """
    if not is_dana_network(network):
        raise InputError("the model", f"has the options {network.options()}", "those of a network of one attention")
    assert network.W_E is not None and network.W_pos is not None
    block = network.attention
    return {
        "W_E": network.W_E,
        "W_pos": network.W_pos,
        "W_Q": block.W_Q,
        "W_K": block.W_K,
        "W_V": block.W_V,
        "W_O": block.W_O,
        "W_U": network.W_U,
    }


def is_dana_network(model: Model) -> bool:
    """Tell whether a model reads tokens and is one attention from the last position, with skip connection and without
    shifts.
    """
    shape = [b.options() for b in model.blocks] == [_DANA] and model.plain
    return model.reads_tokens and model.b_U is None and shape and _plain(model)


def is_heads_alone(model: Model) -> bool:
    """Tell whether a model reads tokens and is one attention from the last position, without skip connection and
    shifts.

    Example:
        >>> from constructions.attention.full_rank import full_rank_attention
        >>> heads = full_rank_attention(np.array([[0, 1], [1, 1]]), d_model=2, d_head=2, n_heads=1).model
        >>> is_heads_alone(heads), is_dana_network(heads)
        (True, False)
    """
    shape = [b.options() for b in model.blocks] == [_ALONE] and model.plain
    return model.reads_tokens and model.b_U is None and shape and _plain(model)


def mahdavi_layer(W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, W_D: Tensor) -> Model:
    r"""Return the attention layer of Mahdavi, Liao and Thrampoulidis, with the linear map that reads it.

    For a context $E \in \mathbb R^{n \times d}$, whose rows are the keys, and a query $e \in \mathbb R^d$,

    $$ \theta^h = \mathrm{softmax}\bigl(E\, W_K^h\, (e\, W_Q^h)^T\bigr), \qquad z^h = \theta^h E, \qquad
       \mathrm{output} = [z^1 W_V^1, \dots, z^H W_V^H]\, W_O\, W_D, $$

    with row vectors and unscaled scores.

    Args:
        W_Q: Query maps, `[n_heads, d_model, d_qk]`.
        W_K: Key maps, `[n_heads, d_model, d_qk]`.
        W_V: Value maps, `[n_heads, d_model, d_value]`.
        W_O: Output map, `[n_heads * d_value, d_inner]`.
        W_D: Decoder, `[d_inner, d_out]`; the readout `W_U` of the model.

    Returns:
        The model.

    Raises:
        InputError: A tensor of a wrong shape or type, or with a NaN or an infinity; names it.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> one = np.ones
        >>> layer = mahdavi_layer(one((3, 4, 2)), one((3, 4, 2)), one((3, 4, 1)), one((3, 5)), one((5, 1)))
        >>> layer.n_heads, layer.d_model, layer.d_qk, layer.d_head, layer.attention.d_out, layer.parameters
        (3, 4, 2, 1, 5, 80)
    """
    W_V, W_O = frozen("W_V", W_V, 3), frozen("W_O", W_O, 2)
    n_heads, _, d_value = W_V.shape
    if W_O.shape[0] != n_heads * d_value:
        raise InputError("W_O", f"has shape {W_O.shape}", f"({n_heads * d_value}, d_inner) beside W_V {W_V.shape}")
    if 0 in W_V.shape or 0 in W_O.shape:
        raise InputError("W_V", f"has shape {W_V.shape} and W_O {W_O.shape}", "no dimension of 0")
    output = W_O.reshape(n_heads, d_value, W_O.shape[1])
    attention = Attention(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=output, skip=False, attends="last", queries="task")
    return Model(blocks=(attention,), W_U=W_D)


def mahdavi_tensors(layer: Model) -> dict[str, Tensor]:
    """Return the tensors of a layer that reads vectors under the argument names of `mahdavi_layer`.

    Raises:
        InputError: The model is of another shape.
    """
    if not is_mahdavi_layer(layer):
        raise InputError("the model", f"has the options {layer.options()}", "those of a layer that reads vectors")
    block = layer.attention
    W_O = block.W_O.reshape(-1, block.d_out)
    return {"W_Q": block.W_Q, "W_K": block.W_K, "W_V": block.W_V, "W_O": W_O, "W_D": layer.W_U}


def is_mahdavi_layer(model: Model) -> bool:
    """Tell whether the model reads vectors and is one attention with the task's queries, without shifts."""
    return (
        not model.reads_tokens
        and model.b_U is None
        and [b.options() for b in model.blocks] == [_MAHDAVI]
        and model.plain
        and _plain(model)
    )


def _plain(model: Model) -> bool:
    block = model.attention
    return block.b_Q is None and block.b_K is None and block.b_V is None and block.b_O is None


def _options(*, skip: bool, queries: str) -> dict[str, object]:
    one = np.ones((1, 1, 1))
    return Attention(one, one, one, one, skip=skip, attends="last", queries=queries).options()  # pyright: ignore[reportArgumentType]


_DANA = _options(skip=True, queries="stream")
_ALONE = _options(skip=False, queries="stream")
_MAHDAVI = _options(skip=False, queries="task")
