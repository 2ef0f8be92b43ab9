"""How far a forward pass in a floating-point format can be from the exact logits, known before it is run."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.models.shapes import require_dana_network
from verify.arithmetic import blas

Float64Array = NDArray[np.float64]
Int64Array = NDArray[np.int64]


@dataclass(frozen=True)
class FloatFormat:
    """The three numbers of a binary floating-point format that rounding errors depend on.

    Args:
        name: Its name in numpy and torch.
        unit_roundoff: Largest relative error of one rounding to nearest.
        smallest_normal: Smallest positive normal number; what is smaller may be flushed to zero.
        largest: Largest finite number.
    """

    name: str
    unit_roundoff: float
    smallest_normal: float
    largest: float


FLOAT32 = FloatFormat("float32", 2.0**-24, 2.0**-126, (2.0 - 2.0**-23) * 2.0**127)
FLOAT64 = FloatFormat("float64", 2.0**-53, 2.0**-1022, (2.0 - 2.0**-52) * 2.0**1023)

EXP_ULPS = 4.0
"""Assumed accuracy of the exponentials of numpy and torch, in units in the last place of the result."""

# The bound is itself evaluated in float64, from non-negative numbers: fewer than 2**32 roundings in a row lose less.
_EVALUATION_SLACK = 1.0 + 2.0**-20
_BLOCK_ENTRIES = 2**22
_LARGEST_EXPONENT = 0.25


def rounding_bound(
    network: Model,
    contexts: Int64Array,
    *,
    number_format: FloatFormat,
    exp_ulps: float = EXP_ULPS,
) -> Float64Array:
    r"""Upper bound, per context, of |logits computed in a format - exact logits|, in nats, over all output tokens.

    The exact logits are those of the float64 weights in real arithmetic. The computed ones come from weights rounded to
    the format, through the operations of `verify.replica.module.Replica` in the format. The bound follows the
    computation: a sum of $n$ products, added in any order, with or without fused multiply-add, is off by at most

    $$ \gamma_n \sum_i |x_i| |w_i|, \qquad \gamma_n = \frac{n u}{1 - n u}, $$

    and a softmax of scores that are off by $\delta$ by a factor in $[e^{-L}, e^{L}]$ with
    $L = 2\rho + 2\varepsilon/(1 - \varepsilon) + \gamma_{S+2}$, where $\rho = \delta + u \cdot \mathrm{range}$ and
    $\varepsilon$ is the relative error of the exponential.

    Rigorous under three hypotheses, each named on the page: elementary operations of the format have the relative error
    $u$ and may flush subnormal numbers; matrix products are sums of products; the exponentials of numpy and torch are
    accurate to `exp_ulps` units in the last place. Absolute values are taken from a float64 forward pass, which obeys
    the very same bound. The evaluation rounds, which a factor $1 + 2^{-20}$ covers. Where an intermediate result could
    overflow the format, or the analysis does not apply, the bound is infinite: nothing is claimed.

    Args:
        network: The exact weights.
        contexts: Token indices, `[T, S]` with `S <= n_ctx`.
        number_format: `FLOAT32` or `FLOAT64`, or any format with $u \ge 2^{-53}$.
        exp_ulps: Accuracy of the exponential that is assumed.

    Returns:
        Upper bounds, `[T]`; infinite where nothing is claimed.

    Raises:
        InputError: Tokens out of range, contexts of a wrong shape, or an accuracy that is not positive.
        BlasError: The arithmetic of this machine does not keep what the bound rests on.

    Source: Higham (2002), Accuracy and Stability of Numerical Algorithms, Sections 3.1 and 3.5. Page: docs/run.md

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> one = np.ones
        >>> network = dana_network(W_E=one((3, 2)), W_pos=one((4, 2)), W_Q=one((5, 2, 1)), W_K=one((5, 2, 1)),
        ...                   W_V=one((5, 2, 2)), W_O=one((5, 2, 2)), W_U=one((2, 3)))
        >>> bound = rounding_bound(network, np.array([[0, 1, 2, 0]]), number_format=FLOAT32)
        >>> bool(0 < bound[0] < 1e-2)
        True
    """
    blas.probe()
    contexts = _checked_contexts(network, contexts)
    if not (exp_ulps > 0 and math.isfinite(exp_ulps)):
        raise InputError(f"exp_ulps = {exp_ulps}, expected a positive number of units in the last place")
    if not number_format.unit_roundoff >= FLOAT64.unit_roundoff:
        raise InputError(f"number_format: {number_format.name} is finer than float64, in which the bound is evaluated")
    length, (_, _, width), (_, _, head_width) = contexts.shape[1], network.W_Q.shape, network.W_V.shape
    rows = max(1, _BLOCK_ENTRIES // (length * max(width, 2 * head_width)))
    with np.errstate(all="ignore"):
        blocks = [
            _block_bound(network, contexts[start : start + rows], number_format, exp_ulps)
            for start in range(0, len(contexts), rows)
        ]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _checked_contexts(network: Model, contexts: Int64Array) -> Int64Array:
    require_dana_network(network)
    """The contexts as int64 `[T, S]`, or an `InputError` that says why `network` cannot read them."""
    contexts = np.asarray(contexts)
    if contexts.ndim != 2 or contexts.dtype.kind not in "iu":
        raise InputError(f"contexts is {contexts.dtype} of shape {contexts.shape}, expected integers [T, S]")
    if not 1 <= contexts.shape[1] <= network.n_ctx:
        raise InputError(f"contexts have {contexts.shape[1]} tokens, expected 1 .. {network.n_ctx} (n_ctx)")
    if contexts.size and not (contexts.min() >= 0 and contexts.max() < network.d_vocab):
        raise InputError(
            f"contexts holds the tokens {contexts.min()} .. {contexts.max()}, expected 0 .. {network.d_vocab - 1}"
        )
    return contexts.astype(np.int64)


@dataclass(frozen=True)
class _Rounded:
    """What float64 gives for an exact array, and how far the exact and the computed one may be from each other.

    Both the exact array and the one of the format lie within `error` of each other, and so do the exact array and
    `value`: float64 obeys the bound of every coarser format.
    """

    value: Float64Array
    error: Float64Array

    def magnitude(self) -> Float64Array:
        """Upper bound of the absolute value of the exact and of the computed array (Lemma R3)."""
        return np.abs(self.value) + 2.0 * self.error

    def take(self, rows: Int64Array) -> "_Rounded":
        return _Rounded(self.value[rows], self.error[rows])


def _gamma(terms: int, number_format: FloatFormat) -> float:
    """The factor nu / (1 - nu), infinite where the format is too coarse for that many terms."""
    accumulated = terms * number_format.unit_roundoff
    return accumulated / (1.0 - accumulated) if accumulated <= 0.25 else math.inf


def _flushed(terms: int, number_format: FloatFormat) -> float:
    """What underflow adds to a sum of so many products, and to the float64 evaluation of its bound."""
    return 16.0 * (terms + 1) * number_format.smallest_normal


def _size(weights: Float64Array, number_format: FloatFormat) -> Float64Array:
    """A size of weights so large that u times it covers their conversion to the format, underflow included."""
    return np.abs(weights) + 4.0 * number_format.smallest_normal / number_format.unit_roundoff


def _most_nonzero(matrix: Float64Array, axis: int) -> int:
    return int(np.count_nonzero(matrix, axis=axis).max(initial=0))


def _product(x: _Rounded, weights: Float64Array, terms: int, number_format: FloatFormat) -> _Rounded:
    """A product of rows with at most `terms` entries that are not zero and a weight matrix (Lemma R2)."""
    terms = min(terms, _most_nonzero(weights, axis=0))
    carried = x.error + _gamma(terms + 1, number_format) * x.magnitude()
    error = carried @ _size(weights, number_format) + _flushed(terms, number_format)
    return _Rounded(x.value @ weights, error)


def _scores(queries: _Rounded, keys: _Rounded, terms: int, number_format: FloatFormat) -> _Rounded:
    """Scalar products of matching rows, both of them already rounded (Lemma R4)."""
    query_size, key_size = queries.magnitude(), keys.magnitude()
    carried = queries.error + _gamma(terms, number_format) * query_size
    error = np.einsum("ce,ce->c", carried, key_size) + np.einsum("ce,ce->c", query_size, keys.error)
    return _Rounded(np.einsum("ce,ce->c", queries.value, keys.value), error + _flushed(terms, number_format))


def _softmax(scores: _Rounded, number_format: FloatFormat, exp_ulps: float) -> tuple[Float64Array, Float64Array]:
    """Sizes of the attention weights, `[T, S]`, and the largest relative error of each row, `[T, 1]` (Lemma R5)."""
    u, smallest = number_format.unit_roundoff, number_format.smallest_normal
    length = scores.value.shape[1]
    top = scores.value.max(axis=1, keepdims=True)
    spread = top - scores.value.min(axis=1, keepdims=True)
    worst = scores.error.max(axis=1, keepdims=True)
    argument = worst + u * (spread + 4.0 * worst) + 2.0 * smallest
    exp_error = 2.0 * u * exp_ulps
    exponent = 2.0 * argument + 2.0 * exp_error / (1.0 - exp_error) + _gamma(length + 2, number_format)
    small = exponent <= _LARGEST_EXPONENT
    relative = np.where(small, exponent + exponent * exponent, 2.0)
    exponentials = np.exp(scores.value - top)
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    weights = np.where(small, (weights + 16.0 * smallest) * (1.0 + 2.0 * relative), 1.0)
    return weights + 16.0 * smallest / u, relative


def _block_bound(network: Model, contexts: Int64Array, number_format: FloatFormat, exp_ulps: float) -> Float64Array:
    u, length, d_model = number_format.unit_roundoff, contexts.shape[1], network.d_model
    nothing = np.full(len(contexts), math.inf)
    # Lemma R5 needs an exponential that is good for something, and underflow far below the rounding of their sum.
    if not (2.0 * u * exp_ulps <= _LARGEST_EXPONENT and 32.0 * length * number_format.smallest_normal <= u):
        return nothing

    # What a position reads depends on its token and its place alone: each distinct pair is bounded once.
    pairs, inverse = np.unique(contexts * length + np.arange(length), return_inverse=True)
    pair_of = inverse.reshape(contexts.shape)
    tokens, places = pairs // length, pairs % length
    embedded, placed = network.W_E[tokens], network.W_pos[places]
    x = _Rounded(
        embedded + placed,
        _gamma(2, number_format) * (_size(embedded, number_format) + _size(placed, number_format)),
    )
    x_terms = _most_nonzero(np.abs(embedded) + np.abs(placed), axis=1)
    last, last_of = np.unique(pair_of[:, -1], return_inverse=True)
    x_last = x.take(last)
    # Likewise each distinct combination of the last position's pair and another one has one score per head.
    combinations, inverse = np.unique(last_of.reshape(-1, 1) * len(pairs) + pair_of, return_inverse=True)
    score_of = inverse.reshape(contexts.shape)
    query_of, key_of = combinations // len(pairs), combinations % len(pairs)

    stages = [np.max(x.error, initial=0.0)]
    size = x.take(pair_of[:, -1]).magnitude()
    carried = np.zeros((len(contexts), d_model))
    for head in range(network.n_heads):
        W_Q, W_K, W_V = network.W_Q[head], network.W_K[head], network.W_V[head]
        W_O = _size(network.W_O[head], number_format)
        queries = _product(x_last, W_Q, x_terms, number_format)
        keys = _product(x, W_K, x_terms, number_format)
        values = _product(x, W_V, x_terms, number_format)
        score_terms = min(network.d_qk, x_terms * min(_most_nonzero(W_Q, axis=1), _most_nonzero(W_K, axis=1)))
        score = _scores(queries.take(query_of), keys.take(key_of), score_terms, number_format)
        attention, relative = _softmax(_Rounded(score.value[score_of], score.error[score_of]), number_format, exp_ulps)
        factor = relative + _gamma(length, number_format) * (1.0 + relative)
        both = np.concatenate([values.magnitude(), values.error], axis=1)
        mixed = np.einsum("ts,tse->te", attention, both[pair_of])
        mixed_size, mixed_error = mixed[:, : network.d_head], mixed[:, network.d_head :]
        mixed_error = factor * mixed_size + mixed_error + _flushed(length, number_format)
        size += (mixed_size + mixed_error) @ W_O
        carried += mixed_error @ W_O
        stages += [np.max(part, initial=0.0) for part in (queries.error, keys.error, values.error, score.error)]
        stages.append(np.max(mixed_error, initial=0.0))

    inner = network.n_heads * network.d_head
    written = min(inner, _most_nonzero(network.W_O.reshape(inner, d_model), axis=0))
    residual_error = (
        x.error[pair_of[:, -1]] + carried + _gamma(written + 2, number_format) * size + _flushed(inner, number_format)
    )
    read = min(d_model, _most_nonzero(network.W_U, axis=0))
    carried = residual_error + _gamma(read + 1, number_format) * (size + residual_error)
    bound = _largest_entry_of_product(carried, _size(network.W_U, number_format)) + _flushed(d_model, number_format)
    stages += [np.max(residual_error, initial=0.0), np.max(bound, initial=0.0)]

    largest_weight = max(float(np.abs(tensor).max(initial=0.0)) for tensor in network.tensors().values())
    # Lemma R8: an error bound is at least u times half of every partial sum, so that small errors exclude overflow.
    if np.max(stages) <= u * number_format.largest / 8.0 and largest_weight <= number_format.largest / 8.0:
        return bound * _EVALUATION_SLACK
    return nothing


def _largest_entry_of_product(left: Float64Array, right: Float64Array) -> Float64Array:
    """The maximum of each row of a product of non-negative matrices, in slices of columns."""
    columns = max(1, _BLOCK_ENTRIES // max(1, len(left)))
    largest = np.zeros(len(left))
    for start in range(0, right.shape[1], columns):
        largest = np.maximum(largest, (left @ right[:, start : start + columns]).max(axis=1))
    return largest
