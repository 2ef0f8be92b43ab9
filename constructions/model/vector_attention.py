"""The forward pass of a layer in float64: fast, and never a proof.

Page: docs/layer.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.model.attention import softmax
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.model.shapes import mahdavi_tensors
from constructions.numeric.arrays import Float64Array
from constructions.tasks.vectors import VectorTask


def theta(contexts: Float64Array, queries: Float64Array, W_Q: Float64Array, W_K: Float64Array) -> Float64Array:
    r"""Return the attention weights $\theta^h_t = \mathrm{softmax}\bigl(E^{(t)} W_K^h (e^{(t)} W_Q^h)^T\bigr)$.

    It takes the maps rather than a layer, so that a construction can look at one head before the others exist.

    Args:
        contexts: Keys, `[T, n, d]`, or `[1, n, d]` if all examples share them.
        queries: Queries, `[T, d]`.
        W_Q: Query maps, `[H, d, d_h]`.
        W_K: Key maps, `[H, d, d_h]`.

    Returns:
        Array `[T, H, n]`; each row sums to 1 up to rounding.

    Raises:
        InputError: Shapes that do not fit each other.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> theta(np.eye(2)[None], np.zeros((1, 2)), np.ones((1, 2, 1)), np.ones((1, 2, 1))).tolist()
        [[[0.5, 0.5]]]
    """
    _check_shapes(contexts, queries, W_Q, W_K)
    result = np.empty((len(queries), len(W_Q), contexts.shape[1]))
    for head, (query_map, key_map) in enumerate(zip(W_Q, W_K, strict=True)):
        projected_queries, keys = queries @ query_map, contexts @ key_map
        scores = (
            projected_queries @ keys[0].T if len(contexts) == 1 else (keys @ projected_queries[:, :, None])[:, :, 0]
        )
        result[:, head] = softmax(scores)
    return result


def mixed_inputs(contexts: Float64Array, queries: Float64Array, W_Q: Float64Array, W_K: Float64Array) -> Float64Array:
    r"""Return the weighted means of the context for each head, $z^h_t = \theta^h_t E^{(t)}$.

    Args:
        contexts: Keys, `[T, n, d]`, or `[1, n, d]` if all examples share them.
        queries: Queries, `[T, d]`.
        W_Q: Query maps, `[H, d, d_h]`.
        W_K: Key maps, `[H, d, d_h]`.

    Returns:
        Array `[T, H, d]`.

    Raises:
        InputError: Shapes that do not fit each other.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> mixed_inputs(np.eye(2)[None], np.zeros((1, 2)), np.ones((1, 2, 1)), np.ones((1, 2, 1))).tolist()
        [[[0.5, 0.5]]]
    """
    weights = theta(contexts, queries, W_Q, W_K)
    return weights @ (contexts[0] if len(contexts) == 1 else contexts)


def mixed_matrix(contexts: Float64Array, queries: Float64Array, W_Q: Float64Array, W_K: Float64Array) -> Float64Array:
    r"""Return the matrix $Z$ with rows $[z^1_t, \dots, z^H_t]$; its rank limits what the layer can distinguish.

    Args:
        contexts: Keys, `[T, n, d]`, or `[1, n, d]` if all examples share them.
        queries: Queries, `[T, d]`.
        W_Q: Query maps, `[H, d, d_h]`.
        W_K: Key maps, `[H, d, d_h]`.

    Returns:
        Array `[T, H * d]`.

    Raises:
        InputError: Shapes that do not fit each other.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.

    Example:
        >>> mixed_matrix(np.eye(2)[None], np.zeros((3, 2)), np.ones((2, 2, 1)), np.ones((2, 2, 1))).shape
        (3, 4)
    """
    return mixed_inputs(contexts, queries, W_Q, W_K).reshape(len(queries), -1)


def outputs(layer: Model, task: VectorTask) -> Float64Array:
    r"""Return the outputs of the layer, $[z^1_t W_V^1, \dots, z^H_t W_V^H]\, W_O W_D$.

    Args:
        layer: The weights.
        task: The examples; the labels play no part.

    Returns:
        Array `[T, d_out]`.

    Raises:
        InputError: The layer does not fit the task.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> from constructions.model.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> outputs(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1)))).tolist()
        [[1.0]]
    """
    require_fit(layer, task)
    mixed = mixed_inputs(task.contexts, task.queries, layer.W_Q, layer.W_K)
    values = np.einsum("thd,hdv->thv", mixed, layer.W_V).reshape(task.n_examples, -1)
    return values @ mahdavi_tensors(layer)["W_O"] @ layer.W_U


def _check_shapes(contexts: Float64Array, queries: Float64Array, W_Q: Float64Array, W_K: Float64Array) -> None:
    if queries.ndim != 2 or contexts.ndim != 3 or contexts.shape[0] not in (1, len(queries)):
        raise InputError("contexts", f"has shape {contexts.shape} beside queries {queries.shape}", "[T or 1, n, d]")
    if W_Q.ndim != 3 or W_Q.shape != W_K.shape:
        raise InputError("W_Q", f"has shape {W_Q.shape} and W_K {W_K.shape}", "[H, d, d_h] of both")
    if not contexts.shape[2] == queries.shape[1] == W_Q.shape[1]:
        raise InputError(
            "the keys", f"have dimension {contexts.shape[2]}, the queries {queries.shape[1]}, the maps {W_Q.shape[1]}"
        )
