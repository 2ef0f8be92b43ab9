"""The forward pass in float64: fast, and never a proof.

Pages: docs/claims/full_rank_attention.md, docs/conventions.md
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.model.front_end import FrontEnd
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.contexts import checked_contexts

AttentionWeights = Model | FrontEnd
"""What attention reads: a network, or the front end of one that has no W_O and W_U yet."""

_TABLE_ENTRIES = 2**22  # scores are looked up in a table [last token, token] while it stays this small


def last(weights: AttentionWeights, contexts: Int64Array) -> Float64Array:
    """Return the vectors at the last position, $x_S = W_E[t_S] + W_{pos}[S]$, which the skip connection carries.

    Args:
        weights: A network or a front end.
        contexts: Tokens, `[T, S]`.

    Returns:
        Array `[T, d_model]`.

    Raises:
        InputError: Contexts of another length than the positional embeddings, or tokens out of range.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1).

    Example:
        >>> from constructions.attention.families import table_attention
        >>> weights = table_attention(d_vocab=2, n_ctx=2, d_model=4, n_heads=1, d_head=1, seed=0)
        >>> last(weights, np.array([[0, 1]])).tolist()
        [[0.0, 1.0, 0.0, 0.5]]
    """
    _check_contexts(weights, contexts)
    return weights.W_E[contexts[:, -1]] + weights.W_pos[-1]


def attention(weights: AttentionWeights, contexts: Int64Array, head: int) -> Float64Array:
    r"""Return the attention pattern of one head, $a = \mathrm{softmax}_s \langle x_S W_Q, x_s W_K \rangle$.

    Args:
        weights: A network or a front end.
        contexts: Tokens, `[T, S]`.
        head: Index of the head.

    Returns:
        Array `[T, S]`; each row sums to 1 up to rounding.

    Raises:
        InputError: As `last`, or no such head.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1).

    Example:
        >>> from constructions.attention.families import random_attention
        >>> weights = random_attention(d_vocab=3, n_ctx=2, d_model=4, n_heads=1, d_head=2, seed=0)
        >>> pattern = attention(weights, np.array([[0, 1], [2, 2]]), 0)
        >>> pattern.shape, bool(np.allclose(pattern.sum(axis=1), 1))
        ((2, 2), True)
    """
    _check_contexts(weights, contexts)
    if not 0 <= head < len(weights.W_Q):
        raise InputError("head", f"= {head}", f"0 .. {len(weights.W_Q) - 1}")
    return softmax(_Lookup(weights, contexts).scores(head)(slice(None)))


def features(
    weights: AttentionWeights, contexts: Int64Array, *, dtype: type[np.floating] = np.float64, rows: int = 4096
) -> NDArray:
    r"""Return the features read by the heads, before W_O: $Y_t = \mathrm{concat}_h \bigl( \sum_s a^h_s x_s \bigr)
    W_V^h$.

    The score of position s depends on the last token, on s and on the token at s only; so while there are few tokens
    the scores of a head are looked up in one small table.

    Args:
        weights: A network or a front end.
        contexts: Tokens, `[T, S]`.
        dtype: Type in which the result is stored; it is computed in float64.
        rows: Contexts worked on at a time; bounds the memory next to the result.

    Returns:
        Array `[T, n_heads * d_head]`.

    Raises:
        InputError: As `last`.

    Source: Dana, Pydi, Chevaleyre (2024), Section 3 (the matrix A of Lemma 2).

    Example:
        >>> from constructions.attention.families import table_attention
        >>> weights = table_attention(d_vocab=2, n_ctx=2, d_model=4, n_heads=3, d_head=2, seed=0)
        >>> features(weights, np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).shape
        (4, 6)
    """
    _check_contexts(weights, contexts)
    n_heads, _, d_head = weights.W_V.shape
    result = np.empty((len(contexts), n_heads, d_head), dtype=dtype)
    lookup = _Lookup(weights, contexts)
    for head in range(n_heads):
        scores = lookup.scores(head)
        values = lookup.embeddings @ weights.W_V[head]
        position_values = weights.W_pos @ weights.W_V[head]
        for start in range(0, len(contexts), rows):
            part = slice(start, start + rows)
            pattern = softmax(scores(part))
            mixed = pattern @ position_values
            for s in range(contexts.shape[1]):
                mixed += pattern[:, s, None] * values[lookup.token[part, s]]
            result[part, head] = mixed
    return result.reshape(len(contexts), n_heads * d_head)


def logits(network: Model, contexts: Int64Array, *, rows: int = 4096) -> Float64Array:
    r"""Return the logits at the last position, $\bigl(x_S + Y W_O\bigr) W_U$.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]`.
        rows: Contexts worked on at a time.

    Returns:
        Array `[T, d_vocab_out]`.

    Raises:
        InputError: As `last`.

    Source: Dana, Pydi, Chevaleyre (2024), equation (2).

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> zero, one = np.zeros, np.ones
        >>> network = dana_network(W_E=np.eye(2), W_pos=zero((3, 2)), W_Q=zero((1, 2, 1)), W_K=zero((1, 2, 1)),
        ...                   W_V=one((1, 2, 1)), W_O=one((1, 1, 2)), W_U=np.eye(2))
        >>> logits(network, np.array([[0, 1, 1]])).tolist()
        [[1.0, 2.0]]
    """
    _check_contexts(network, contexts)
    output = network.W_O.reshape(-1, network.d_model)
    result = np.empty((len(contexts), network.d_vocab_out))
    for start in range(0, len(contexts), rows):
        part = contexts[start : start + rows]
        result[start : start + rows] = (last(network, part) + features(network, part) @ output) @ network.W_U
    return result


class _Lookup:
    """The contexts of one call, re-indexed by the tokens that occur, so that each token is embedded once."""

    def __init__(self, weights: AttentionWeights, contexts: Int64Array) -> None:
        tokens, token = np.unique(contexts, return_inverse=True)
        lasts, self.last = np.unique(contexts[:, -1], return_inverse=True)
        self.weights = weights
        self.token = token.reshape(contexts.shape)
        self.embeddings = weights.W_E[tokens]
        self.queries = weights.W_E[lasts] + weights.W_pos[-1]
        self.tabulated = len(lasts) * len(tokens) <= _TABLE_ENTRIES

    def scores(self, head: int) -> Callable[[slice], Float64Array]:
        """Return the scores of one head as a function of the requested rows: `[rows, S]`."""
        query = self.queries @ self.weights.W_Q[head]
        key = self.embeddings @ self.weights.W_K[head]
        position_score = query @ (self.weights.W_pos @ self.weights.W_K[head]).T
        if self.tabulated:
            token_score = query @ key.T
            return lambda rows: token_score[self.last[rows, None], self.token[rows]] + position_score[self.last[rows]]

        def directly(rows: slice) -> Float64Array:
            last, token = self.last[rows], self.token[rows]
            return position_score[last] + np.einsum("tq,tsq->ts", query[last], key[token])

        return directly


def softmax(scores: NDArray[Any], axis: int = 1) -> NDArray[Any]:
    """Return weights proportional to the exponentials of scores, along one axis, in the type of the scores."""
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _check_contexts(weights: AttentionWeights, contexts: Int64Array) -> None:
    checked_contexts(contexts, d_vocab=len(weights.W_E), n_ctx=len(weights.W_pos), empty=True)
