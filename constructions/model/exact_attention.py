"""Evaluate rational attention exactly; exact constructions solve linear systems with these features.

Page: docs/claims/generic_embeddings.md
"""

from flint import fmpq, fmpq_mat

from constructions.errors import HypothesisError, ResourceError
from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_front_end, stacked
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

_MOST_BITS = 2**24  # of one attention weight before normalization


def exact_last(front_end: ExactFrontEnd, contexts: Int64Array) -> fmpq_mat:
    """Return the embedded last token of every context, exactly: `[T, d]`.

    Args:
        front_end: The rational front end.
        contexts: Tokens, `[T, S]`.

    Returns:
        $x_S$, a row for each context.

    Raises:
        InputError: Contexts that are not tokens of this front end.

    Example:
        >>> import numpy as np
        >>> one = fmpq_mat(1, 1, [1])
        >>> front = ExactFrontEnd(fmpq_mat(2, 1, [0, 1]), fmpq_mat(2, 1, [0, 5]), (one,), (one,), (one,))
        >>> exact_last(front, np.array([[0, 1], [1, 0]]))
        [6]
        [5]
    """
    rows = _inputs(front_end, checked_contexts(contexts, d_vocab=front_end.d_vocab, n_ctx=front_end.n_ctx))
    return stacked([row[-1] for row in rows], front_end.d_model)


def exact_features(front_end: ExactFrontEnd, contexts: Int64Array) -> fmpq_mat:
    r"""Return the features $\sum_s a^h_s x_s W_V^h$ of every context and head, exactly: `[T, H d_h]`.

    With the integers $k_s = x_S W_Q W_K^T x_s^T$ the attention weights are $a_s = 2^{k_s} / \sum_r 2^{k_r}$.

    Args:
        front_end: The rational front end.
        contexts: Tokens, `[T, S]`.

    Returns:
        The features, heads one after the other.

    Raises:
        InputError: Contexts that are not tokens of this front end.
        HypothesisError: A score that is not an integer multiple of ln 2.
        ResourceError: Scores of a context that differ by more than 2^24 ln 2.

    Source: Dana, Pydi, Chevaleyre (2024), section 2.

    Example:
        >>> import numpy as np
        >>> one = fmpq_mat(1, 1, [1])
        >>> front = ExactFrontEnd(fmpq_mat(2, 1, [0, 1]), fmpq_mat(2, 1, [0, 1]), (one,), (one,), (one,))
        >>> exact_features(front, np.array([[0, 1], [1, 1]]))
        [32/17]
        [  9/5]
    """
    contexts = checked_contexts(contexts, d_vocab=front_end.d_vocab, n_ctx=front_end.n_ctx)
    inputs = _inputs(front_end, contexts)
    columns = [
        _head(inputs, front_end.W_Q[head] * front_end.W_K[head].transpose(), front_end.W_V[head])
        for head in range(front_end.n_heads)
    ]
    rows = [[entry for head in columns for entry in head[t]] for t in range(len(inputs))]
    return stacked(rows, front_end.n_heads * front_end.d_head)


def exact_logits(network: Model, contexts: Int64Array) -> fmpq_mat:
    r"""Return the logits $(x_S + \sum_h A^h W_V^h W_O^h) W_U$ at the last position, exactly: `[T, N]`, in nats.

    Args:
        network: A rational model of one attention with a skip connection.
        contexts: Tokens, `[T, S]`.

    Returns:
        A row for each context.

    Raises:
        InputError: Contexts that are not tokens of this network, or a model of another shape.
        HypothesisError: A score that is not an integer multiple of ln 2.
        ResourceError: Scores of a context that differ by more than 2^24 ln 2.

    Example:
        >>> import numpy as np
        >>> one = fmpq_mat(1, 1, [1])
        >>> from constructions.model.exact_network import exact_network
        >>> front = ExactFrontEnd(fmpq_mat(2, 1, [0, 1]), fmpq_mat(2, 1, [0, 1]), (one,), (one,), (one,))
        >>> exact_logits(exact_network(front, (one,), fmpq_mat(1, 2, [5, 0])), np.array([[0, 1]]))
        [330/17, 0]
    """
    front_end = exact_front_end(network)
    outputs = as_rationals(network.W_O.reshape(-1, network.d_model))
    stream = exact_last(front_end, contexts) + exact_features(front_end, contexts) * outputs
    return stream * as_rationals(network.W_U)


def _head(inputs: list[list[list[fmpq]]], bilinear: fmpq_mat, value: fmpq_mat) -> list[list[fmpq]]:
    """Return the features of one head, one row per context."""
    rows = []
    for positions in inputs:
        query = fmpq_mat(1, bilinear.nrows(), positions[-1]) * bilinear
        context = stacked(positions, bilinear.ncols())
        weights = fmpq_mat(1, len(positions), _powers((context * query.transpose()).entries()))
        total = sum(weights.entries(), fmpq(0))
        rows.append([entry / total for entry in (weights * (context * value)).entries()])
    return rows


def _powers(scores: list[fmpq]) -> list[fmpq]:
    """Return 2 to the power of each score, times one common factor that keeps them small."""
    for score in scores:
        if score.q != 1:
            raise HypothesisError(
                "exact attention", "scores that are integer multiples of ln 2", f"one is {score} ln 2"
            )
    exponents = [int(score.p) for score in scores]
    least = min(exponents)
    if max(exponents) - least > _MOST_BITS:
        raise ResourceError(
            f"scores that differ by {max(exponents) - least} ln 2 give rationals too long to compute with"
        )
    return [fmpq(1 << (exponent - least)) for exponent in exponents]


def _inputs(front_end: ExactFrontEnd, contexts: Int64Array) -> list[list[list[fmpq]]]:
    """Return the sums of token and position embeddings: [T, S] rows of d rationals."""
    tokens, positions = front_end.W_E.tolist(), front_end.W_pos.tolist()
    table = [[[a + b for a, b in zip(token, position, strict=True)] for token in tokens] for position in positions]
    return [[table[s][token] for s, token in enumerate(context)] for context in contexts.tolist()]
