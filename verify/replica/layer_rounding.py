"""How far a layer in a floating-point format can be from its exact outputs, known before it is run."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.models.shapes import mahdavi_tensors, require_mahdavi_layer
from constructions.tasks.vectors import VectorTask
from verify.arithmetic import blas
from verify.replica.rounding import (
    _EVALUATION_SLACK,
    _LARGEST_EXPONENT,
    EXP_ULPS,
    FLOAT64,
    FloatFormat,
    _flushed,
    _gamma,
    _product,
    _Rounded,
    _size,
    _softmax,
)

Float64Array = NDArray[np.float64]

_BLOCK_ENTRIES = 2**21


def layer_rounding_bound(
    layer: Model, task: VectorTask, *, number_format: FloatFormat, exp_ulps: float = EXP_ULPS
) -> Float64Array:
    r"""Upper bound, per example, of |outputs computed in a format - exact outputs|, over all outputs.

    The exact outputs are those of the float64 weights, keys and queries in real arithmetic. The computed ones come from
    all of these rounded to the format, through the operations of `verify.replica.layer_replica.LayerReplica` in the
    format. The hypotheses are those of `verify.replica.rounding.rounding_bound`, and so are the lemmas for products,
    scores, softmax and weighted sums; where an intermediate result could overflow, or the analysis does not apply, the
    bound is infinite.

    Args:
        layer: The exact weights.
        task: The examples; the labels play no part.
        number_format: `FLOAT32` or `FLOAT64`, or any format with $u \ge 2^{-53}$.
        exp_ulps: Accuracy of the exponential that is assumed, in units in the last place.

    Returns:
        Upper bounds, `[T]`; infinite where nothing is claimed.

    Raises:
        InputError: The layer does not fit the task, an accuracy that is not positive, or too fine a format.
        BlasError: The arithmetic of this machine does not keep what the bound rests on.

    Source: Higham (2002), Accuracy and Stability of Numerical Algorithms, Sections 3.1 and 3.5.
    Page: docs/rigour/layer.md

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> from verify.replica.rounding import FLOAT32
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> task = VectorTask(contexts=np.eye(2)[None], queries=np.zeros((1, 2)), labels=np.ones((1, 1)))
        >>> bool(0 < layer_rounding_bound(layer, task, number_format=FLOAT32)[0] < 1e-5)
        True
    """
    require_mahdavi_layer(layer)
    require_fit(layer, task)
    blas.probe()
    if not (exp_ulps > 0 and math.isfinite(exp_ulps)):
        raise InputError(f"exp_ulps = {exp_ulps}, expected a positive number of units in the last place")
    if not number_format.unit_roundoff >= FLOAT64.unit_roundoff:
        raise InputError(f"number_format: {number_format.name} is finer than float64, in which the bound is evaluated")
    widest = max(layer.d_model, layer.d_qk, task.n_tokens)
    heads = layer.n_heads * layer.d_head
    per_example = max(heads, widest if task.shared else task.n_tokens * max(layer.d_model, layer.d_qk))
    rows = max(1, _BLOCK_ENTRIES // per_example)
    with np.errstate(all="ignore"):
        blocks = [
            _block_bound(layer, task, slice(start, min(start + rows, task.n_examples)), number_format, exp_ulps)
            for start in range(0, task.n_examples, rows)
        ]
    return np.concatenate(blocks)


def _block_bound(
    layer: Model, task: VectorTask, rows: slice, number_format: FloatFormat, exp_ulps: float
) -> Float64Array:
    u, n_tokens, size = number_format.unit_roundoff, task.n_tokens, rows.stop - rows.start
    nothing = np.full(size, math.inf)
    # Lemma R5 needs an exponential that is good for something, and underflow far below the rounding of their sum.
    if not (2.0 * u * exp_ulps <= _LARGEST_EXPONENT and 32.0 * n_tokens * number_format.smallest_normal <= u):
        return nothing
    contexts = _converted(task.contexts if task.shared else task.contexts[rows], number_format)
    queries = _converted(task.queries[rows], number_format)
    stages = [contexts.error, queries.error]
    sizes, errors = [], []
    for head in range(layer.n_heads):
        asked = _product(queries, layer.W_Q[head], layer.d_model, number_format)
        keys = _product(contexts, layer.W_K[head], layer.d_model, number_format)
        score = _scores(asked, keys, number_format)
        theta, relative = _softmax(score, number_format, exp_ulps)
        # Lemma R6, with the keys as values.
        mixed = _weighted(theta, contexts.magnitude())
        factor = relative + _gamma(n_tokens, number_format) * (1.0 + relative)
        mixed_error = factor * mixed + _weighted(theta, contexts.error) + _flushed(n_tokens, number_format)
        value_size, value_error = _read(mixed + mixed_error, mixed_error, layer.W_V[head], number_format)
        sizes.append(value_size)
        errors.append(value_error)
        stages += [asked.error, keys.error, score.error, mixed_error, value_error]
    inner_size, inner_error = _read(np.hstack(sizes), np.hstack(errors), mahdavi_tensors(layer)["W_O"], number_format)
    _, bound = _read(inner_size, inner_error, layer.W_U, number_format)
    stages += [inner_error, bound]
    given: Sequence[Float64Array] = [*layer.tensors().values(), task.contexts, task.queries]
    largest = max(float(np.abs(array).max()) for array in given)
    # Lemma R8: an error bound is at least u times half of every partial sum, so that small errors exclude overflow.
    # NaN, from an overflow of this evaluation, fails the comparison of every stage.
    small = all(bool(np.all(stage <= u * number_format.largest / 8.0)) for stage in stages)
    if small and largest <= number_format.largest / 8.0:
        return bound.max(axis=1) * _EVALUATION_SLACK
    return nothing


def _converted(values: Float64Array, number_format: FloatFormat) -> _Rounded:
    """Given numbers, and how far their conversion to the format moves them."""
    return _Rounded(values, _gamma(1, number_format) * _size(values, number_format))


def _scores(asked: _Rounded, keys: _Rounded, number_format: FloatFormat) -> _Rounded:
    """Scalar products of each query with its keys, `[T, n]` (Lemma R4)."""
    terms = asked.value.shape[1]
    asked_size, key_size = asked.magnitude(), keys.magnitude()
    carried = asked.error + _gamma(terms, number_format) * asked_size
    error = _products(carried, key_size) + _products(asked_size, keys.error) + _flushed(terms, number_format)
    return _Rounded(_products(asked.value, keys.value), error)


def _products(asked: Float64Array, keys: Float64Array) -> Float64Array:
    """Each row of `asked` with each of its keys, `[T, n]`; keys `[1, n, e]` are shared."""
    return asked @ keys[0].T if len(keys) == 1 else (keys @ asked[:, :, np.newaxis])[:, :, 0]


def _weighted(theta: Float64Array, keys: Float64Array) -> Float64Array:
    """The sums of the keys of each example with the weights theta, `[T, d]`."""
    return theta @ keys[0] if len(keys) == 1 else (theta[:, np.newaxis, :] @ keys)[:, 0]


def _read(
    size: Float64Array, error: Float64Array, weights: Float64Array, number_format: FloatFormat
) -> tuple[Float64Array, Float64Array]:
    """Magnitude and error of a product with a weight matrix, from those of its left factor (Lemma R2)."""
    terms, widened = len(weights), _size(weights, number_format)
    product_error = (error + _gamma(terms + 1, number_format) * size) @ widened + _flushed(terms, number_format)
    return size @ widened + product_error, product_error
