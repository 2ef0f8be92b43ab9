"""Read labels from the head outputs, with features as a number format stores them.

Page: docs/claims/saturated_heads.md
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from constructions.encoders.circle import circle
from constructions.errors import HypothesisError, require_one_of
from constructions.model.attention import softmax
from constructions.model.model import Model
from constructions.model.precision import rounded
from constructions.model.shapes import mahdavi_layer, mahdavi_tensors
from constructions.model.vector_attention import mixed_matrix
from constructions.numeric.arrays import Float32Array, Float64Array
from constructions.tasks.vectors import VectorTask

Format = Literal["float64", "float32", "bfloat16"]

_REFINEMENTS = 2


@dataclass(frozen=True, eq=False)
class Code:
    r"""The outputs that the heads should have before the decoder, and the decoder.

    Args:
        targets: $Y'$, `[T, k]`.
        decoder: `[k, d_out]`; the outputs are $Y'$ times it.
    """

    targets: Float64Array
    decoder: Float64Array


def label_code(task: VectorTask) -> Code:
    r"""Return the labels as a matrix of few columns times a decoder: themselves, or classes as points of a circle.

    Classes need two columns, however many there are: class k is the point $u_k$ of the circle, the decoder has the
    columns $u_j$, and $\langle u_k, u_j \rangle \le \cos(2 \pi / K) < 1$. Two classes need one column, $\pm 1$.

    Args:
        task: Regression or classification.

    Returns:
        The code.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3, for the circle.

    Example:
        >>> labels = np.eye(4)[[0, 2]]
        >>> code = label_code(VectorTask(np.eye(2)[None], np.eye(2), labels, "classification"))
        >>> (code.targets @ code.decoder).tolist()
        [[1.0, 0.0, -1.0, 0.0], [-1.0, 0.0, 1.0, 0.0]]
    """
    if task.kind == "regression":
        return Code(task.labels, np.eye(task.d_out))
    points = circle(task.d_out)[:, : 1 if task.d_out == 2 else 2]
    return Code(points[task.classes], np.ascontiguousarray(points.T))


def read_out(mixed: Float64Array, targets: Float64Array) -> Float64Array:
    r"""Return the smallest M with $Z M = Y'$, in the sense of Frobenius, by an orthogonal factorization and refinement.

    Args:
        mixed: $Z$, `[T, P]`, of rank T.
        targets: $Y'$, `[T, k]`.

    Returns:
        `[P, k]`.

    Raises:
        HypothesisError: $Z$ has a rank below T.

    Example:
        >>> read_out(np.array([[1.0, 0.0, 1.0]]), np.array([[4.0]])).round(12).tolist()
        [[2.0], [0.0], [2.0]]
    """
    Q, R = np.linalg.qr(mixed.T)
    if len(R) < len(mixed) or not np.abs(np.diagonal(R)).min(initial=np.inf) > 0.0:
        raise HypothesisError("The read-out", "Z of rank T", f"Z of shape {mixed.shape} has linearly dependent rows")
    solution = np.zeros((mixed.shape[1], targets.shape[1]))
    for _ in range(1 + _REFINEMENTS):
        solution += Q @ scipy.linalg.solve_triangular(R, targets - mixed @ solution, trans=1)
    return solution


def layer_with_read_out(
    task: VectorTask,
    W_Q: Float64Array,
    W_K: Float64Array,
    *,
    d_value: int,
    d_inner: int,
    number_format: Format = "float64",
) -> Model:
    r"""Return a layer with given heads that outputs the labels: $M_h$ as $W_V^h$, stacked identities as $W_O$.

    With k the columns of the code, $W_V^h = [M_h, 0]$, every block of $W_O$ has the identity of size k in its corner,
    and $W_D$ is the decoder above zeros; so outputs are $Z M$ times the decoder. This needs $k \le \min(d_v, d_o)$.

    Args:
        task: The examples.
        W_Q: `[H, d, d_h]`.
        W_K: `[H, d, d_h]`.
        d_value: $d_v$.
        d_inner: $d_o$.
        number_format: Where the layer is to run: heads are rounded to it, and M is solved for on the features that
            come out there.

    Returns:
        The layer; its heads hold numbers of the format, its values float64.

    Raises:
        InputError: No such format.
        HypothesisError: k > min(d_v, d_o), or mixed inputs of rank below T.

    Source: Mahdavi, Liao, Thrampoulidis (2024), proof of Theorem 1.

    Example:
        >>> from constructions.model.vector_attention import outputs
        >>> task = VectorTask(np.eye(2)[None], np.eye(2), np.array([[3.0], [5.0]]))
        >>> layer = layer_with_read_out(task, np.eye(2)[None], np.eye(2)[None], d_value=1, d_inner=2)
        >>> outputs(layer, task).round(12).tolist()
        [[3.0], [5.0]]
    """
    code = label_code(task)
    columns = code.targets.shape[1]
    if columns > min(d_value, d_inner):
        raise HypothesisError(
            "Theorem Z3",
            "d_out <= min(d_v, d_o), or 2 <= min(d_v, d_o) for classes",
            f"labels of {columns} columns, d_v = {d_value}, d_o = {d_inner}",
        )
    W_Q, W_K = _in_format(W_Q, number_format), _in_format(W_K, number_format)
    M = read_out(mixed_matrix_in(number_format, task.contexts, task.queries, W_Q, W_K), code.targets)
    n_heads, d_model = W_Q.shape[:2]
    W_V = np.zeros((n_heads, d_model, d_value))
    W_V[:, :, :columns] = M.reshape(n_heads, d_model, columns)
    W_D = np.zeros((d_inner, task.d_out))
    W_D[:columns] = code.decoder
    corner = np.zeros((d_value, d_inner))
    corner[:columns, :columns] = np.eye(columns)
    return mahdavi_layer(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=np.tile(corner, (n_heads, 1)), W_D=W_D)


def mixed_matrix_in(
    number_format: Format, contexts: Float64Array, queries: Float64Array, W_Q: Float64Array, W_K: Float64Array
) -> Float64Array:
    r"""Return the matrix $Z$ as a number format computes it: every operand and every result is rounded.

    float32 is what numpy computes; bfloat16 rounds inputs, maps, queries, keys, scores, attention weights and mixed
    inputs, and adds and takes exponentials in float32, as accelerators do.

    Args:
        number_format: The format.
        contexts: `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        W_Q: `[H, d, d_h]`.
        W_K: `[H, d, d_h]`.

    Returns:
        `[T, H d]`, in float64.

    Raises:
        InputError: No such format.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> mixed_matrix_in("bfloat16", np.array([[[0.1]]]), np.ones((1, 1)), one, one).tolist()
        [[0.10009765625]]
    """
    if number_format == "float64":
        return mixed_matrix(contexts, queries, W_Q, W_K)

    def memorized(values: NDArray[np.floating]) -> Float32Array:
        return _in_format(np.asarray(values, dtype=np.float64), number_format).astype(np.float32)

    E, e = memorized(contexts), memorized(queries)
    result = np.empty((len(queries), len(W_Q), contexts.shape[2]))
    for head, (query_map, key_map) in enumerate(zip(memorized(W_Q), memorized(W_K), strict=True)):
        projected_queries, keys = memorized(e @ query_map), memorized(E @ key_map)
        scores = memorized(
            projected_queries @ keys[0].T if len(E) == 1 else (keys @ projected_queries[:, :, None])[:, :, 0]
        )
        weights = memorized(softmax(scores))
        result[:, head] = memorized(weights @ E[0] if len(E) == 1 else (weights[:, None] @ E)[:, 0])
    return result.reshape(len(queries), -1)


def outputs_in(number_format: Format, layer: Model, task: VectorTask) -> Float64Array:
    r"""Return the outputs of a layer as a number format computes them; see `mixed_matrix_in`.

    Args:
        number_format: The format.
        layer: The weights; they are rounded to the format.
        task: The examples.

    Returns:
        `[T, d_out]`, in float64.

    Raises:
        InputError: No such format.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> layer = mahdavi_layer(W_Q=one, W_K=one, W_V=one / 3, W_O=one[0], W_D=one[0])
        >>> task = VectorTask(contexts=one, queries=one[0], labels=one[0])
        >>> [float(outputs_in(name, layer, task)[0, 0]) for name in ("bfloat16", "float32")]
        [0.333984375, 0.3333333432674408]
    """
    mixed = mixed_matrix_in(number_format, task.contexts, task.queries, layer.W_Q, layer.W_K)
    accumulator = np.float64 if number_format == "float64" else np.float32

    def memorized(values: NDArray[np.floating]) -> NDArray[np.floating]:
        return _in_format(np.asarray(values, dtype=np.float64), number_format).astype(accumulator)

    heads = memorized(mixed).reshape(task.n_examples, layer.n_heads, -1).transpose(1, 0, 2)
    values = memorized(heads @ memorized(layer.W_V)).transpose(1, 0, 2).reshape(task.n_examples, -1)
    return memorized(memorized(values @ memorized(mahdavi_tensors(layer)["W_O"])) @ memorized(layer.W_U)).astype(
        np.float64
    )


def _in_format(values: Float64Array, number_format: Format) -> Float64Array:
    require_one_of(get_args(Format), number_format=number_format)
    if number_format == "float64":
        return values
    if number_format == "float32":
        return values.astype(np.float32).astype(np.float64)
    return rounded(values, number_format)
