r"""What a given layer computes in exact real arithmetic, enclosed: attention, mixed inputs and outputs.

The float64 numbers of the layer and of its task are taken as exactly those. Projections, in which a construction lets
terms of size $10^4$ cancel to nothing, are enclosed near the last bit of the result
(`verify.arithmetic.residuals.residual`); the rest is midpoint-radius arithmetic. The work is done for one head and a
block of examples at a time, so that beside the result the memory is bounded.

That is the float64 rung, the default. With a `precision` in bits the work is done in balls
(`verify/forward/in_balls.py`), at a much higher cost, and rounded outwards once at the end.

Page: docs/rigour/layer.md proves every bound used here; the lemmas are named in the comments.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from constructions.arrays import Float64Array
from constructions.errors import InputError
from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.models.shapes import mahdavi_tensors, require_mahdavi_layer
from constructions.tasks.vectors import VectorTask
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, largest, matmul
from verify.arithmetic.products import upper_product
from verify.arithmetic.residuals import residual
from verify.forward.float64 import enclose_softmax
from verify.forward.in_balls import attention_in_balls, logits_in_balls, mixed_inputs_in_balls, rounded_outwards
from verify.progress import Progress

_BLOCK_ENTRIES = 2**19  # of the largest array that is worked on for one head and one block of examples
_OUTPUT_ROWS = 128  # examples whose mixed inputs are read together; the slices of a product take several copies


@dataclass(frozen=True, eq=False)
class AttendedVectors:
    """What the heads of a layer do with the examples of a task, from one pass.

    Args:
        mixed: Enclosure of the matrix Z, `[T, H * d]`.
        top: Enclosure of the largest attention weight of each head, `[T, H]`.
    """

    mixed: Enclosure
    top: Enclosure


def enclose_theta(layer: Model, task: VectorTask, *, precision: int | None = None) -> Enclosure:
    r"""Enclose the attention weights $\theta^h_t = \mathrm{softmax}\bigl(E^{(t)} W_K^h (e^{(t)} W_Q^h)^T\bigr)$.

    Rigorous by Lemmas Y1 and Y2 (in balls, Y5). The radius of a saturated head shrinks with the mass that is left
    elsewhere.

    Args:
        layer: The weights.
        task: The examples; the labels play no part.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, H, n]`.

    Raises:
        InputError: The layer does not fit the task, or no such precision.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> theta = enclose_theta(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1))))
        >>> theta.midpoint.tolist(), bool((theta.radius < 1e-15).all())
        ([[[0.5, 0.5]]], True)
    """
    shape = (task.n_examples, layer.n_heads, task.n_tokens)
    require_mahdavi_layer(layer)
    require_fit(layer, task)
    midpoint, radius = np.empty(shape), np.empty(shape)
    if precision is not None:
        for head in range(layer.n_heads):
            theta = rounded_outwards(attention_in_balls(layer, task, head, precision))
            midpoint[:, head], radius[:, head] = theta.midpoint, theta.radius
        return Enclosure(midpoint, radius)
    for head, rows, theta in _theta_blocks(layer, task):
        midpoint[rows, head], radius[rows, head] = theta.midpoint, theta.radius
    return Enclosure(midpoint, radius)


def enclose_mixed_inputs(layer: Model, task: VectorTask, *, precision: int | None = None) -> Enclosure:
    r"""Enclose the matrix $Z$ with the rows $[z^1_t, \dots, z^H_t]$, $z^h_t = \theta^h_t E^{(t)}$.

    Rigorous by Lemmas Y1 to Y3 (in balls, Y5).

    Args:
        layer: The weights.
        task: The examples; the labels play no part.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, H * d]`.

    Raises:
        InputError: The layer does not fit the task, or no such precision.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> enclose_mixed_inputs(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1)))).midpoint
        array([[0.5, 0.5]])
    """
    if precision is not None:
        return rounded_outwards(mixed_inputs_in_balls(layer, task, precision))
    return enclose_layer(layer, task).mixed


def enclose_layer(layer: Model, task: VectorTask, *, progress: Progress | None = None) -> AttendedVectors:
    r"""Enclose $Z$ and the largest attention weight of each head, in one pass.

    Args:
        layer: The weights.
        task: The examples; the labels play no part.
        progress: Called with the stage and the finished share of it.

    Returns:
        The two enclosures.

    Raises:
        InputError: The layer does not fit the task.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> enclose_layer(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1)))).top.midpoint
        array([[0.5]])
    """
    require_mahdavi_layer(layer)
    require_fit(layer, task)
    shape = (task.n_examples, layer.n_heads, layer.d_model)
    mixed, top = np.empty((2, *shape)), np.empty((2, *shape[:2]))
    for head, rows, theta in _theta_blocks(layer, task):
        part, most = _mixed(task, rows, theta), largest(theta, 1)
        mixed[0, rows, head], mixed[1, rows, head] = part.midpoint, part.radius
        top[0, rows, head], top[1, rows, head] = most.midpoint, most.radius
        if progress is not None and rows.stop == task.n_examples:
            progress("attention", (head + 1) / layer.n_heads, f"head {head + 1} of {layer.n_heads}")
    flat = mixed.reshape(2, shape[0], -1)
    return AttendedVectors(Enclosure(flat[0], flat[1]), Enclosure(top[0], top[1]))


def enclose_outputs(
    layer: Model, task: VectorTask, *, mixed: Enclosure | None = None, precision: int | None = None
) -> Enclosure:
    r"""Enclose the outputs $[z^1_t W_V^1, \dots, z^H_t W_V^H]\, W_O W_D$.

    The maps are multiplied first: the outputs are $Z M$ with $M^h = W_V^h\, (W_O W_D)^h$. Rigorous by Lemmas Y1 to Y4
    (in balls, Y5).

    Args:
        layer: The weights.
        task: The examples; the labels play no part.
        mixed: What `enclose_mixed_inputs` returned for the same layer and task, if it is known already.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings. It takes
            no `mixed`.

    Returns:
        Enclosure `[T, d_out]`.

    Raises:
        InputError: The layer does not fit the task, mixed inputs of another shape, or no such precision.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> enclose_outputs(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1)))).midpoint
        array([[1.]])
    """
    if precision is not None:
        if mixed is not None:
            raise InputError("mixed is given beside a precision, expected one of them")
        return rounded_outwards(logits_in_balls(layer, task, precision))
    require_mahdavi_layer(layer)
    require_fit(layer, task)
    mixed = enclose_mixed_inputs(layer, task) if mixed is None else mixed
    expected = (task.n_examples, layer.n_heads * layer.d_model)
    if mixed.shape != expected:
        raise InputError(f"mixed has shape {mixed.shape}, expected {expected}")
    read = _read_out(layer)
    midpoint, radius = np.empty((2, task.n_examples, layer.d_vocab_out))
    for start in range(0, task.n_examples, _OUTPUT_ROWS):
        part = _product(mixed[start : start + _OUTPUT_ROWS], read)
        midpoint[start : start + len(part)], radius[start : start + len(part)] = part.midpoint, part.radius
    return Enclosure(midpoint, radius)


def _theta_blocks(layer: Model, task: VectorTask) -> Iterator[tuple[int, slice, Enclosure]]:
    """The attention weights `[rows, n]` of one head and one block of examples after the other."""
    blas.probe()
    widest = max(layer.d_model, layer.d_qk, task.n_tokens)
    per_example = widest if task.shared else task.n_tokens * max(layer.d_model, layer.d_qk)
    step = max(1, _BLOCK_ENTRIES // per_example)
    for head in range(layer.n_heads):
        shared_keys = _projected(task.contexts[0], layer.W_K[head]) if task.shared else None
        for start in range(0, task.n_examples, step):
            rows = slice(start, min(start + step, task.n_examples))
            queries = _projected(task.queries[rows], layer.W_Q[head])
            if shared_keys is not None:
                scores = matmul(queries, shared_keys.T)
            else:
                size, shape = rows.stop - rows.start, (task.n_tokens, layer.d_qk)
                keys = _projected(task.contexts[rows].reshape(-1, layer.d_model), layer.W_K[head])
                scores = matmul(keys.reshape(size, *shape), queries.reshape(size, -1, 1)).reshape(size, -1)
            yield head, rows, enclose_softmax(scores, axis=1)  # Lemma Y2


def _projected(vectors: Float64Array, weights: Float64Array) -> Enclosure:
    """The product of two exact matrices, near its last bit (Lemma Y1)."""
    return -residual(vectors, weights, np.zeros((len(vectors), weights.shape[1])))


def _mixed(task: VectorTask, rows: slice, theta: Enclosure) -> Enclosure:
    """What one head mixes, `[rows, d]` (Lemma Y3)."""
    if task.shared:
        return matmul(theta, task.contexts[0])
    size = len(theta)
    return matmul(theta.reshape(size, 1, -1), task.contexts[rows]).reshape(size, -1)


def _read_out(layer: Model) -> Enclosure:
    """The matrix M with the outputs Z M, `[H * d, d_out]` (Lemma Y4)."""
    inner = _projected(mahdavi_tensors(layer)["W_O"], layer.W_U).reshape(layer.n_heads, layer.d_head, layer.d_vocab_out)
    blocks = [_product(Enclosure.exact(values), inner[head]) for head, values in enumerate(layer.W_V)]
    radii = [np.broadcast_to(block.radius, block.shape) for block in blocks]
    return Enclosure(np.concatenate([block.midpoint for block in blocks]), np.concatenate(radii))


def _product(a: Enclosure, b: Enclosure) -> Enclosure:
    """The product of two sets of matrices, near the last bit of that of their midpoints (Lemma Y4)."""
    about = -residual(a, b.midpoint, np.zeros((len(a), b.shape[1])))
    if not b.radius.any():
        return about
    spread = upper_product(a.magnitude(), np.broadcast_to(b.radius, b.shape))
    return about + Enclosure(np.zeros(about.shape), spread)
