"""How far one attention from one position can be from its exact outputs in a format, entry by entry.

Page: docs/rigour/runs.md
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from constructions.arrays import BoolArray, Float64Array, Int64Array
from constructions.models.model import Model
from constructions.products import multiply
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.formats import FloatFormat
from verify.forward.idle_heads import alike, idle_heads, mostly

# The bound is itself evaluated in float64, from non-negative numbers: fewer than 2**32 roundings in a row lose less.
_EVALUATION_SLACK = 1.0 + 2.0**-20
_BLOCK_ENTRIES = 2**22
_LARGEST_EXPONENT = 0.25


def single_attention_bound(
    model: Model, inputs: Int64Array | VectorTask, number_format: FloatFormat, exp_ulps: float
) -> Float64Array:
    """`verify.replica.rounding.rounding_bound` for a network of Dana et al. or a layer of Mahdavi et al.

    Args:
        model: One of the two.
        inputs: Contexts that it can read, or a task that fits it.
        number_format: The format.
        exp_ulps: Assumed accuracy of the exponential, in units in the last place.

    Returns:
        Upper bounds, `[T]`; infinite where nothing is claimed.

    Source: Higham (2002), Accuracy and Stability of Numerical Algorithms, 3.1 and 3.5.
    """
    count, length = (inputs.n_examples, inputs.n_tokens) if isinstance(inputs, VectorTask) else inputs.shape
    bound = np.full(count, math.inf)
    # Lemma R5 needs an exponential that is good for something, and underflow far below the rounding of their sum.
    u = number_format.unit_roundoff
    if not (2.0 * u * exp_ulps <= _LARGEST_EXPONENT and 32.0 * length * number_format.smallest_normal <= u):
        return bound
    rows = max(1, _BLOCK_ENTRIES // (length * max(model.d_model, model.d_qk, 2 * model.d_head)))
    with np.errstate(all="ignore"):
        whole, at_rest, groups = _Whole.of(model), None, [np.arange(count)]
        if not isinstance(inputs, VectorTask):
            everything = _tokens(model, inputs, number_format)
            idle = _idle(everything.asking, model.attention.W_Q)
            often = np.bincount(everything.asking_of, minlength=len(idle))
            if mostly(idle, often):
                groups = alike(idle, everything.asking_of)
                at_rest = _AtRest.of(model, everything, np.flatnonzero(idle.any(axis=0)), number_format, exp_ulps)
        for group in groups:
            for start in range(0, len(group), rows):
                part = group[start : start + rows]
                if isinstance(inputs, VectorTask):
                    read = _vectors(inputs, part, number_format)
                else:
                    read = _tokens(model, inputs[part], number_format)
                bound[part] = _block_bound(model, read, whole, at_rest, number_format, exp_ulps)
    return bound


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
    error = multiply(carried, _size(weights, number_format)) + _flushed(terms, number_format)
    return _Rounded(multiply(x.value, weights), error)


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


@dataclass(frozen=True)
class _Read:
    """What the attention reads: distinct rows, and which of them each context has, and which asks.

    Args:
        rows: `[P, d]`.
        row_of: `[T, S]`.
        asking: `[Q, d]`.
        asking_of: `[T]`.
        largest: The largest absolute value that is converted to the format.
        pairs: Of tokens and positions, one number for each row; increasing.
    """

    rows: _Rounded
    row_of: Int64Array
    asking: _Rounded
    asking_of: Int64Array
    largest: float
    pairs: Int64Array


def _tokens(network: Model, contexts: Int64Array, number_format: FloatFormat) -> _Read:
    # What a position reads depends on its token and its place alone: each distinct pair is bounded once.
    length = contexts.shape[1]
    pairs, inverse = np.unique(contexts * length + np.arange(length), return_inverse=True)
    row_of = inverse.reshape(contexts.shape)
    embedded, placed = network.W_E[pairs // length], network.W_pos[pairs % length]
    error = _gamma(2, number_format) * (_size(embedded, number_format) + _size(placed, number_format))
    # Where both summands are zero, so is the sum in the format.
    x = _Rounded(embedded + placed, np.where((embedded == 0.0) & (placed == 0.0), 0.0, error))
    last, asking_of = np.unique(row_of[:, -1], return_inverse=True)
    return _Read(x, row_of, x.take(last), asking_of, 0.0, pairs)


def _vectors(task: VectorTask, part: Int64Array, number_format: FloatFormat) -> _Read:
    contexts, queries = task.contexts if task.shared else task.contexts[part], task.queries[part]
    rows, count = contexts.reshape(-1, task.d_model), len(queries)
    row_of = np.broadcast_to(np.arange(len(rows)).reshape(contexts.shape[:2]), (count, task.n_tokens))
    largest = max(float(np.abs(given).max(initial=0.0)) for given in (rows, queries))
    of_rows, of_queries = _converted(rows, number_format), _converted(queries, number_format)
    return _Read(of_rows, row_of, of_queries, np.arange(count), largest, np.arange(len(rows)))


def _converted(values: Float64Array, number_format: FloatFormat) -> _Rounded:
    """Given numbers, and how far their conversion to the format moves them; zero stays zero."""
    return _Rounded(values, np.where(values == 0.0, 0.0, _gamma(1, number_format) * _size(values, number_format)))


def _idle(asking: _Rounded, W_Q: Float64Array) -> BoolArray:
    """Which heads have a query that is exactly 0, in the format too, for which row that asks: `[Q, H]` (Lemma R11)."""
    return idle_heads(asking.magnitude() != 0.0, W_Q)


@dataclass(frozen=True)
class _Whole:
    """What the bound takes from all heads together, whichever are idle.

    Args:
        written: Entries of a column of W_O, all heads together, that are not zero; at most.
        read_out: Likewise of W_U.
        largest: The largest absolute value of a weight.
    """

    written: int
    read_out: int
    largest: float

    @classmethod
    def of(cls, model: Model) -> "_Whole":
        block = model.attention
        return cls(
            _most_nonzero(block.W_O.reshape(block.n_heads * block.d_head, block.d_out), axis=0),
            _most_nonzero(model.W_U, axis=0),
            max(float(np.abs(tensor).max(initial=0.0)) for tensor in model.tensors().values()),
        )


@dataclass(frozen=True)
class _AtRest:
    """What all heads that are idle anywhere would write if all were at once, for each row that is read (Lemma R11).

    Args:
        pairs: The pairs that occur, as in `_Read`.
        size: Their parts of the size of the residual, `[P, d]`.
        carried: Their parts of its error, `[P, d]`.
        flushed: What underflow adds to both, `[d]`.
        stage: The largest error bound of a key, a value or a weighted sum.
    """

    pairs: Int64Array
    size: Float64Array
    carried: Float64Array
    flushed: Float64Array
    stage: float

    @classmethod
    def of(cls, model: Model, read: _Read, idle: Int64Array, number_format: FloatFormat, exp_ulps: float) -> "_AtRest":
        block, length = model.attention, read.row_of.shape[1]
        x, (count, d_model) = read.rows, read.rows.value.shape
        terms = _most_nonzero(x.magnitude(), axis=1)
        # All scores are 0, without an error.
        scores = _Rounded(np.zeros((1, length)), np.zeros((1, length)))
        attention, relative = _softmax(scores, number_format, exp_ulps)
        share = float(attention.max())
        factor = float((relative + _gamma(length, number_format) * (1.0 + relative)).max())
        flushed = _flushed(length, number_format)
        size, carried = np.zeros((2, count, block.d_out))
        lost, stages = np.zeros(block.d_out), [0.0]
        step = max(1, _BLOCK_ENTRIES // (count * max(block.d_head, block.d_qk)))
        for start in range(0, len(idle), step):
            heads = idle[start : start + step]
            W_K, W_V = (tensor[heads].transpose(1, 0, 2).reshape(d_model, -1) for tensor in (block.W_K, block.W_V))
            W_O = _size(block.W_O[heads].reshape(-1, block.d_out), number_format)
            keys, values = (_product(x, weights, terms, number_format) for weights in (W_K, W_V))
            mixed, error = share * values.magnitude(), share * values.error
            size += ((1.0 + factor) * mixed + error) @ W_O
            carried += (factor * mixed + error) @ W_O
            lost += flushed * W_O.sum(axis=0)
            stages += [np.max(part, initial=0.0) for part in (keys.error, values.error)]
            stages.append(length * np.max(factor * mixed + error, initial=0.0) + flushed)
        return cls(read.pairs, size, carried, lost, float(np.max(stages)))

    def of_contexts(self, read: _Read) -> tuple[Float64Array, Float64Array]:
        """The size and the error of what idle heads write, `[T, d]` each."""
        rows = np.searchsorted(self.pairs, read.pairs)[read.row_of]
        size, carried = (np.zeros((len(rows), len(self.flushed))) + self.flushed for _ in range(2))
        for place in rows.T:
            size += self.size[place]
            carried += self.carried[place]
        return size, carried


def _block_bound(
    model: Model,
    read: _Read,
    whole: _Whole,
    at_rest: _AtRest | None,
    number_format: FloatFormat,
    exp_ulps: float,
) -> Float64Array:
    u, (count, length) = number_format.unit_roundoff, read.row_of.shape
    block, x, asking = model.attention, read.rows, read.asking

    x_terms, asking_terms = (_most_nonzero(part.magnitude(), axis=1) for part in (x, asking))
    # Likewise each distinct combination of the last position's pair and another one has one score per head.
    combinations, inverse = np.unique(read.asking_of.reshape(-1, 1) * len(x.value) + read.row_of, return_inverse=True)
    # Positions are the outer axis in memory, since most is done for each of them.
    score_of = np.asfortranarray(inverse.reshape(read.row_of.shape))
    query_of, key_of = combinations // len(x.value), combinations % len(x.value)

    stages: list[float] = [np.max(part.error, initial=0.0) for part in (x, asking)]
    skipped = x.take(read.row_of[:, -1])
    size = skipped.magnitude() if block.skip else np.zeros((count, block.d_out))
    carried = skipped.error if block.skip else np.zeros((count, block.d_out))
    starts, read_rows = np.arange(0, count * length + 1, length), read.row_of.ravel()
    heads = np.arange(block.n_heads)
    if at_rest is not None:
        # What would be written by more heads than are idle is no less.
        heads = np.flatnonzero(~_idle(asking, block.W_Q).all(axis=0))
        rest_size, rest_carried = at_rest.of_contexts(read)
        size, carried = size + rest_size, carried + rest_carried
        stages.append(at_rest.stage)
    for head in heads.tolist():
        W_Q, W_K, W_V = block.W_Q[head], block.W_K[head], block.W_V[head]
        W_O = _size(block.W_O[head], number_format)
        queries = _product(asking, W_Q, asking_terms, number_format)
        keys = _product(x, W_K, x_terms, number_format)
        values = _product(x, W_V, x_terms, number_format)
        query_terms, key_terms = asking_terms * _most_nonzero(W_Q, axis=1), x_terms * _most_nonzero(W_K, axis=1)
        score_terms = min(block.d_qk, query_terms, key_terms)
        score = _scores(queries.take(query_of), keys.take(key_of), score_terms, number_format)
        attention, relative = _softmax(_Rounded(score.value[score_of], score.error[score_of]), number_format, exp_ulps)
        factor = relative + _gamma(length, number_format) * (1.0 + relative)
        both = np.concatenate([values.magnitude(), values.error], axis=1)
        mixed = csr_array((attention.ravel(), read_rows, starts), shape=(count, len(both))) @ both
        mixed_size, mixed_error = mixed[:, : block.d_head], mixed[:, block.d_head :]
        mixed_error = factor * mixed_size + mixed_error + _flushed(length, number_format)
        size += multiply(mixed_size + mixed_error, W_O)
        carried += multiply(mixed_error, W_O)
        stages += [np.max(part, initial=0.0) for part in (queries.error, keys.error, values.error, score.error)]
        stages.append(np.max(mixed_error, initial=0.0))

    inner = block.n_heads * block.d_head
    residual_error = carried + _gamma(whole.written + 2, number_format) * size + _flushed(inner, number_format)
    carried = residual_error + _gamma(whole.read_out + 1, number_format) * (size + residual_error)
    bound = _largest_entry_of_product(carried, _size(model.W_U, number_format)) + _flushed(block.d_out, number_format)
    stages += [np.max(residual_error, initial=0.0), np.max(bound, initial=0.0)]

    largest = max(read.largest, whole.largest)
    # Lemma R8: an error bound is at least u times half of every partial sum, so that small errors exclude overflow.
    if np.max(stages) <= u * number_format.largest / 8.0 and largest <= number_format.largest / 8.0:
        return bound * _EVALUATION_SLACK
    return np.full(count, math.inf)


def _largest_entry_of_product(left: Float64Array, right: Float64Array) -> Float64Array:
    """The maximum of each row of a product of non-negative matrices, in slices of columns."""
    columns = max(1, _BLOCK_ENTRIES // max(1, len(left)))
    largest = np.zeros(len(left))
    for start in range(0, right.shape[1], columns):
        largest = np.maximum(largest, multiply(left, right[:, start : start + columns]).max(axis=1))
    return largest
