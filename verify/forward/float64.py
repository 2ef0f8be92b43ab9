r"""What the given weights compute in exact real arithmetic, enclosed: attention, features and logits.

The weights are float64 numbers and are taken as exactly those. Every rounding of the evaluation is bounded beforehand,
in whatever order a BLAS adds, with or without fused multiply-add; a bound needs the norms of the factors only, never a
second product. A score depends on the last token, the position and the token there, so each is enclosed once.

That is the float64 rung, the default. With a `precision` in bits the work is done in balls
(`verify/forward/in_balls.py`), at a much higher cost, and rounded outwards once at the end.

Page: docs/rigour/divergence.md proves every bound used here; the lemmas are named in the comments.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from constructions.arrays import BoolArray, Float64Array, Int64Array
from constructions.errors import InputError
from constructions.models.model import Model
from constructions.models.shapes import dana_network, dana_tensors, require_dana_network
from constructions.products import multiplier, multiply
from verify.arithmetic import blas
from verify.arithmetic.elementary import exp
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.arithmetic.rounding import gamma
from verify.arithmetic.sums import total
from verify.forward.idle_heads import alike, idle_heads, members, mostly
from verify.forward.in_balls import (
    attention_in_balls,
    checked_contexts,
    checked_head,
    features_in_balls,
    last_in_balls,
    logits_in_balls,
    rounded_outwards,
)
from verify.linear_algebra.balls import matrix_of_balls
from verify.linear_algebra.given_matrix import given_matrix

_FLOOR = 2.0**-400  # added to every norm: radii do not underflow, and cover what underflows (Lemma F1)
_SLACK = 1.0 + 2.0**-40  # outweighs 4096 roundings of non-negative numbers (Lemma F1)
_FEW = 16  # vectors with so many times fewer nonzero entries are multiplied as sparse ones
_BLOCK_TERMS = 256  # products summed by one call of the BLAS
_CACHED_ENTRIES = 2**17  # entries of an array that is worked on while it stays in the cache
_TABLE_BYTES = 2**26  # queries, keys, values and scores of the heads that are worked on together
_FEATURE_BYTES = 2**27  # features of the contexts that are worked on together
_LOGIT_BYTES = 2**23  # logits of the contexts that are worked on together
_SENT_BYTES = 2**29  # the same where their products are computed elsewhere, and have to be worth the way there
_OFTEN = 4  # how often a token at a position has to occur for all that read it to be taken together
_SLOW = 8  # operations of a BLAS in the time of one elsewhere
_SATURATION = 40.0  # nats by which a saturated head prefers one position
_FEWEST_ROWS = 32  # with fewer, reading the matrix takes longer than multiplying by it


def enclose_last(network: Model, contexts: Int64Array, *, precision: int | None = None) -> Enclosure:
    r"""Enclose the vectors at the last position, what the skip connection carries.

    $$ x_S = W_E[t_S] + W_{pos}[S]. $$

    The error of each sum is itself a float64 number, found exactly (Lemma F2); where a sum is exact, as for one-hot
    embeddings, the radius is 0.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, d_model]`.

    Raises:
        InputError: Contexts of a wrong shape or type, tokens out of range, or no such precision.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1).

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.ones((1, 2)), W_Q=np.ones((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> last = enclose_last(network, np.array([[0], [1]]))
        >>> last.midpoint.tolist(), float(last.radius.max())
        ([[2.0, 1.0], [1.0, 2.0]], 0.0)
    """
    if precision is not None:
        return rounded_outwards(last_in_balls(network, contexts, precision))
    contexts = _checked_contexts(network, contexts)
    return _embedded(network, contexts[:, -1], contexts.shape[1] - 1)


def enclose_attention(network: Model, contexts: Int64Array, head: int, *, precision: int | None = None) -> Enclosure:
    r"""Enclose the attention pattern of one head at the last position.

    $$ a_s = \frac{e^{\sigma_s}}{\sum_r e^{\sigma_r}}, \qquad \sigma_s = \langle x_S W_Q,\, x_s W_K \rangle. $$

    Rigorous by Lemmas F2 to F5 (in balls, F9 and F10). In float64 the radius of a saturated head shrinks with the mass
    that is left elsewhere; in balls it is at best of the order of $2^{-\mathrm{precision}}$.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        head: Which head.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, S]`.

    Raises:
        InputError: As `enclose_last`, or no such head.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1).

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> pattern = enclose_attention(network, np.array([[0, 1]]), 0)
        >>> pattern.midpoint.tolist(), bool((pattern.radius < 1e-14).all())
        ([[0.5, 0.5]], True)
    """
    if precision is not None:
        return rounded_outwards(attention_in_balls(network, contexts, head, precision))
    contexts = _checked_contexts(network, contexts)
    checked_head(network, head)
    with np.errstate(all="ignore"):
        lookup = _Lookup.of(network, contexts)
        scores = _scores(network, lookup, slice(head, head + 1))
        return enclose_softmax(scores[lookup.pair], axis=1).reshape(*contexts.shape)


def enclose_features(network: Model, contexts: Int64Array, *, precision: int | None = None) -> Enclosure:
    r"""Enclose what the heads have read, before $W_O$.

    $$ Y_t = \mathrm{concat}_h \sum_s a^h_s\, x_s W_V^h. $$

    Rigorous by Lemmas F2 to F6 (in balls, F9 and F10). In float64 one radius holds for all coordinates of a head; it is
    given as one radius per row where the heads are alike, which saves half the memory, and in full where they are not.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, n_heads * d_head]`; its radius has the shape `[T, 1]` or that of the midpoint.

    Raises:
        InputError: As `enclose_last`.

    Source: Dana, Pydi, Chevaleyre (2024), Section 3 (the matrix A of Lemma 2).

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> features = enclose_features(network, np.array([[0, 1]]))
        >>> features.midpoint.tolist(), bool((features.radius < 1e-14).all())
        ([[1.0]], True)
    """
    if precision is not None:
        return rounded_outwards(features_in_balls(network, contexts, precision))
    return _features(network, _checked_contexts(network, contexts))


def enclose_logits(
    network: Model, contexts: Int64Array, *, features: Enclosure | None = None, precision: int | None = None
) -> Enclosure:
    r"""Enclose the logits at the last position, in nats.

    $$ \mathrm{logits}_t = (x_S + Y_t W_O)\, W_U. $$

    Rigorous by Lemmas F2 to F8, F11 and F12 (in balls, F9 and F10). For many contexts over a large vocabulary use
    `logit_chunks`, which never holds them all.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        features: What `enclose_features` returned for the same network and contexts, if it is known already. They
            are taken as they are: more bits do not undo their radii.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, d_vocab_out]`.

    Raises:
        InputError: As `enclose_last`, or features of another shape.

    Source: Dana, Pydi, Chevaleyre (2024), equation (2).

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> enclose_logits(network, np.array([[0, 1], [1, 1]])).midpoint.tolist()
        [[1.0, 2.0], [1.0, 2.0]]
    """
    if precision is not None:
        given = None if features is None else matrix_of_balls(given_matrix(features, name="features"))
        return rounded_outwards(logits_in_balls(network, contexts, precision, features=given))
    contexts = _checked_contexts(network, contexts)
    midpoint = np.zeros((len(contexts), network.d_vocab_out))
    radius = np.zeros_like(midpoint)
    for start, part in logit_chunks(network, contexts, features=features):
        midpoint[start : start + len(part)] = part.midpoint
        radius[start : start + len(part)] = part.radius
    return Enclosure(midpoint, radius)


def logit_chunks(
    network: Model, contexts: Int64Array, *, rows: int | None = None, features: Enclosure | None = None
) -> Iterator[tuple[int, Enclosure]]:
    """Enclose the logits of a few contexts at a time, in their order, in bounded memory.

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        rows: Largest number of contexts in one chunk; by default as many as fit in 8 MiB, at least 32; in
            512 MiB where a device multiplies.
        features: What `enclose_features` returned for the same network and contexts, if it is known already.

    Returns:
        Iterator of the index of the first context of the chunk, and the enclosure of its logits `[rows, d_vocab_out]`.

    Raises:
        InputError: As `enclose_logits`, or `rows` below 1.

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> [(start, part.shape) for start, part in logit_chunks(network, np.array([[0, 1], [1, 1], [0, 0]]), rows=2)]
        [(0, (2, 2)), (2, (1, 2))]
    """
    contexts = _checked_contexts(network, contexts)
    if rows is not None and rows < 1:
        raise InputError(f"rows = {rows}, expected at least 1")
    columns = network.n_heads * network.d_head
    if features is not None and features.shape != (len(contexts), columns):
        raise InputError(f"features has shape {features.shape}, expected {(len(contexts), columns)}")
    size = _LOGIT_BYTES if multiplier() is None else _SENT_BYTES
    return _logit_chunks(network, contexts, rows or _rows_within(size, 2 * network.d_vocab_out), features)


def enclose_softmax(logits: Enclosure, *, axis: int = -1) -> Enclosure:
    r"""Enclose the softmax along an axis, as probabilities.

    $$ p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}. $$

    A float64 number, the largest midpoint, is first subtracted from all logits: an exact identity, whatever the number.
    The largest $p_m$ is also enclosed by $1 - \sum_{i \ne m} p_i$, which is the sharper the closer it is to 1, and
    no radius is larger than what $0 \le p_i \le 1$ leaves, even where nothing is known of the logits (Lemma F5).

    Args:
        logits: Logits, in nats; at least one along the axis.
        axis: The axis that is summed over.

    Returns:
        Enclosure of the shape of `logits`.

    Raises:
        InputError: Nothing to sum over.

    Example:
        >>> softmax = enclose_softmax(Enclosure([[0.0, -1000.0]], 1e-3))
        >>> float(softmax.midpoint[0, 0]), bool((softmax.radius < 1e-300).all())
        (1.0, True)
    """
    if logits.ndim == 0 or logits.shape[axis] == 0:
        raise InputError(f"logits has shape {logits.shape}, expected at least one entry along the axis {axis}")
    with np.errstate(all="ignore"):
        powers = exp(logits - logits.midpoint.max(axis=axis, keepdims=True))
        shares = powers / _kept(total(powers, axis), axis)
        # Lemma F5: p lies in [0, 1], whatever the logits; and p_m - mid_m = -(mid_m - 1) - (sum of the others).
        midpoint = shares.midpoint.copy()
        radius = np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))
        top = np.expand_dims(midpoint.argmax(axis=axis), axis)
        top_midpoint, top_radius = (np.take_along_axis(part, top, axis) for part in (midpoint, radius))
        for part in (midpoint, radius):
            np.put_along_axis(part, top, 0.0, axis)
        others = _kept(total(Enclosure(midpoint, radius), axis), axis)
        complement = (Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()
        np.put_along_axis(midpoint, top, top_midpoint, axis)
        np.put_along_axis(radius, top, np.minimum(top_radius, complement), axis)
        return Enclosure(midpoint, radius)


class _Norms(tuple[Float64Array, Float64Array, Float64Array]):
    """Upper bounds of the norms of vectors: the sum, the Euclidean norm and the largest of non-negative entries."""

    @classmethod
    def of(cls, values: Float64Array, axis: int) -> "_Norms":
        # Lemma F1: n additions in any order, and squares that underflow, are outweighed.
        slack = 1.0 + 2.0 * gamma(values.shape[axis] + 8)
        one = values.sum(axis=axis) * slack + _FLOOR
        two = np.sqrt((values * values).sum(axis=axis)) * slack + _FLOOR
        return cls((one, two, values.max(axis=axis, initial=0.0) + _FLOOR))


def _tightest(left: _Norms, right: _Norms) -> tuple[Float64Array, Float64Array]:
    """Hölder: <e, w> <= |e|_1 |w|_inf, |e|_2 |w|_2, |e|_inf |w|_1; the pair of norms that is the smallest overall."""
    pairs = list(zip(left, reversed(right), strict=True))
    return pairs[int(np.argmin([a.sum() * b.sum() for a, b in pairs]))]


@dataclass(frozen=True)
class _Vectors:
    """Enclosed vectors as factors of products, `[vectors, d_model]`; sparse where few of their entries are nonzero.

    Args:
        midpoint: Midpoints.
        size: Their absolute values.
        radius: Radii.
        terms: Largest number of nonzero entries of a midpoint: products with a zero, and sums with one, do not round.
    """

    midpoint: Float64Array | csr_array
    size: Float64Array | csr_array
    radius: Float64Array
    terms: int

    @classmethod
    def of(cls, x: Enclosure) -> "_Vectors":
        terms = _terms(x.midpoint)
        kind = csr_array if terms * _FEW <= x.shape[1] else np.asarray
        return cls(kind(x.midpoint), kind(np.abs(x.midpoint)), x.radius, terms)

    def products(self, matrix: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Of the midpoints by a matrix, and of their sizes by those of the matrix, `[vectors, columns]`."""
        sizes = np.abs(matrix)
        if isinstance(self.midpoint, np.ndarray) and isinstance(self.size, np.ndarray):
            return multiply(self.midpoint, matrix), multiply(self.size, sizes)
        return self.midpoint @ matrix, self.size @ sizes


@dataclass(frozen=True)
class _Lookup:
    """What a set of contexts reads, each named once.

    Args:
        keys: The vectors x at all pairs of a position and a token that occur.
        queries: Those of them at the last position.
        key: Which of `keys` each context has at each position, `[T, S]`.
        pair_query: Index into `queries` of each pair that has a score, `[pairs]`.
        pair_key: Its index into `keys`, `[pairs]`.
        pair: Which score each context has at each position, `[T, S]`.
    """

    keys: _Vectors
    queries: _Vectors
    key: Int64Array
    pair_query: Int64Array
    pair_key: Int64Array
    pair: Int64Array

    @classmethod
    def of(cls, network: Model, contexts: Int64Array) -> "_Lookup":
        parts, key, n_keys = [], np.empty_like(contexts), 0
        for s in range(contexts.shape[1]):
            tokens, inverse = np.unique(contexts[:, s], return_inverse=True)
            parts.append(_embedded(network, tokens, s))
            key[:, s] = inverse + n_keys
            n_keys += len(tokens)
        keys = Enclosure(
            np.concatenate([part.midpoint for part in parts]), np.concatenate([part.radius for part in parts])
        )
        n_queries = len(parts[-1])
        pairs, pair = np.unique((key[:, -1:] - (n_keys - n_queries)) * n_keys + key, return_inverse=True)
        return cls(
            keys=_Vectors.of(keys),
            queries=_Vectors.of(parts[-1]),
            key=key,
            pair_query=pairs // max(n_keys, 1),
            pair_key=pairs % max(n_keys, 1),
            pair=pair.reshape(key.shape),
        )


def _checked_contexts(network: Model, contexts: Int64Array) -> Int64Array:
    require_dana_network(network)
    blas.probe()
    return checked_contexts(network, contexts)


def _embedded(network: Model, tokens: Int64Array, position: int) -> Enclosure:
    """W_E[tokens] + W_pos[position]; the radius is the exact error of each sum (Lemma F2)."""
    with np.errstate(all="ignore"):
        a, b = network.W_E[tokens], network.W_pos[position]
        x = a + b
        b_part = x - a
        return Enclosure(x, np.abs((a - (x - b_part)) + (b - b_part)))


def _terms(vectors: Float64Array) -> int:
    """Largest number of nonzero entries of a vector."""
    return int(np.count_nonzero(vectors, axis=-1).max(initial=1))


def _projected(x: _Vectors, weights: Float64Array) -> Enclosure:
    """The vectors x W_h of all heads h, `[vectors, heads, n]` (Lemma F3)."""
    heads, d_model, n = weights.shape
    columns = np.ascontiguousarray(weights.transpose(1, 0, 2)).reshape(d_model, heads * n)
    midpoint, radius = x.products(columns)
    radius *= gamma(x.terms)
    if x.radius.any():
        radius += multiply(x.radius, np.abs(columns))
    radius *= 1.0 + 2.0 * gamma(d_model + 16)
    radius += _FLOOR
    shape = (len(x.radius), heads, n)
    return Enclosure(midpoint.reshape(shape), radius.reshape(shape))


def _distinct(weights: Float64Array) -> Float64Array:
    """The maps of all heads, or the one map that all of them have, `[1, d_model, n]`."""
    return weights[:1] if (weights == weights[:1]).all() else weights


def _scores(network: Model, lookup: _Lookup, heads: slice) -> Enclosure:
    """The scores of all pairs, `[pairs, heads]`."""
    query = _projected(lookup.queries, network.W_Q[heads])
    key = _projected(lookup.keys, network.W_K[heads])
    return _inner_products(query, key, lookup.pair_query, lookup.pair_key)


def _inner_products(query: Enclosure, key: Enclosure, of_query: Int64Array, of_key: Int64Array) -> Enclosure:
    """The inner products of pairs of queries and keys `[vectors, heads, n]`, as `[pairs, heads]` (Lemma F4)."""
    query_size, key_size = np.abs(query.midpoint), np.abs(key.midpoint)
    rounding = gamma(min(_terms(query_size), _terms(key_size)))
    error, whole = _tightest(_Norms.of(rounding * query_size + query.radius, -1), _Norms.of(key_size + key.radius, -1))
    size, key_error = _tightest(_Norms.of(query_size, -1), _Norms.of(key.radius, -1))
    _, heads, n = query.shape
    midpoint, radius = np.empty((2, len(of_query), heads))
    for part in row_blocks(len(of_query), heads * n):
        q, k = of_query[part], of_key[part]
        np.einsum("phn,phn->ph", query.midpoint[q], key.midpoint[k], out=midpoint[part])
        radius[part] = (error[q] * whole[k] + size[q] * key_error[k]) * _SLACK
    return Enclosure(midpoint, radius)


def _features(network: Model, contexts: Int64Array) -> Enclosure:
    with np.errstate(all="ignore"):
        lookup = _Lookup.of(network, contexts)
        n_heads, _, n = network.W_V.shape
        midpoint = np.empty((len(contexts), n_heads, n))
        radius = np.empty((len(contexts), n_heads))
        per_head = 4 * len(lookup.keys.radius) * (network.d_qk + n) + 8 * len(lookup.pair_key)
        width = max(1, _TABLE_BYTES // (8 * per_head + 1))
        for start in range(0, n_heads, width):
            heads = slice(start, min(start + width, n_heads))
            scores = _scores(network, lookup, heads)
            values = _projected(lookup.keys, _distinct(network.W_V[heads]))
            size, error = np.abs(values.midpoint).max(axis=-1, initial=_FLOOR), values.radius.max(axis=-1, initial=0.0)
            for rows in row_blocks(len(contexts), scores.shape[1] * max(contexts.shape[1], n)):
                pattern = enclose_softmax(scores[lookup.pair[rows]], axis=1)
                midpoint[rows, heads], radius[rows, heads] = _mixed(
                    pattern, values.midpoint, size, error, lookup.key[rows]
                )
        return _assembled(midpoint, radius)


def _mixed(
    pattern: Enclosure, values: Float64Array, size: Float64Array, error: Float64Array, key: Int64Array
) -> tuple[Float64Array, Float64Array]:
    """The sums over s of a_s v_s, `[rows, heads, n]`, and one radius for each, `[rows, heads]` (Lemma F6).

    Args:
        pattern: The attention a, `[rows, S, heads]`.
        values: Midpoints of the vectors v, `[keys, heads, n]`; or `[keys, 1, n]` if all heads have the same.
        size: The largest entry of each of them, `[keys, heads]`.
        error: The largest radius of each of them, `[keys, heads]`.
        key: Which of the vectors each row has at each position, `[rows, S]`.
    """
    rounding = gamma(key.shape[1])
    shared = values.shape[1] == 1
    radius = np.zeros((len(key), pattern.shape[2]))
    if shared:
        midpoint = np.matmul(pattern.midpoint.transpose(0, 2, 1), values[key, 0])
    else:
        midpoint = np.zeros((len(key), *values.shape[1:]))
    for s in range(key.shape[1]):
        share, share_error, read = pattern.midpoint[:, s], pattern.radius[:, s], key[:, s]
        if not shared:
            term = values[read]
            term *= share[:, :, None]
            midpoint += term
        radius += (share_error + rounding * share) * size[read] + (share + share_error) * error[read]
    return midpoint, radius * (1.0 + 2.0 * gamma(key.shape[1] + 16))


def _assembled(midpoint: Float64Array, radius: Float64Array) -> Enclosure:
    """The features `[T, n_heads * n]` of all heads; one radius per row, unless that would be much larger."""
    rows, n_heads, n = midpoint.shape
    largest = radius.max(axis=1, keepdims=True, initial=0.0)
    alike = n_heads * largest.sum() <= 4.0 * radius.sum()
    return Enclosure(midpoint.reshape(rows, n_heads * n), largest if alike else np.repeat(radius, n, axis=1))


def _logit_chunks(
    network: Model, contexts: Int64Array, rows: int, features: Enclosure | None
) -> Iterator[tuple[int, Enclosure]]:
    columns = network.n_heads * network.d_head
    output = network.W_O.reshape(columns, network.d_model)
    output_sizes, unembedding_sizes = _block_sizes(output), _block_sizes(network.W_U)
    idle = _idle_heads(network, contexts) if features is None else None
    many = max(rows, _rows_within(_FEATURE_BYTES, columns if idle is None else 2 * network.d_model))
    written = None if idle is None else _multiplied(_values(network), output, output_sizes)
    for start in range(0, len(contexts), many):
        part = contexts[start : start + many]
        if idle is None or written is None:
            if features is None:
                added = _written(network, part, output_sizes)
            else:
                added = _multiplied(features[start : start + many], output, output_sizes)
            residual = enclose_last(network, part) + added
        else:
            residual = _grouped_residual(network, part, idle, written)
        for first in range(0, len(part), rows):
            yield start + first, _multiplied(residual[first : first + rows], network.W_U, unembedding_sizes)


def _written(network: Model, contexts: Int64Array, sizes: list[tuple[Float64Array, _Norms]]) -> Enclosure:
    """What all heads add to the stream, `[T, d_model]`; `sizes` are those of the blocks of W_O."""
    n_heads, d_model, n = network.W_V.shape
    output = network.W_O.reshape(n_heads * n, d_model)
    rest = np.ones(len(contexts), dtype=bool)
    midpoint, radius = np.empty((2, len(contexts), d_model))
    length = contexts.shape[1]
    if length * d_model <= n * (d_model + _SLOW * length):
        with np.errstate(all="ignore"):
            lookup = _Lookup.of(network, contexts)
            if 0 < _OFTEN * len(lookup.keys.radius) <= len(contexts):
                midpoint, radius, rest = _written_by_token(network, lookup)
    if rest.any():
        others = _multiplied(_features(network, contexts[rest]), output, sizes)
        midpoint[rest], radius[rest] = others.midpoint, others.radius
    return Enclosure(midpoint, radius)


def _written_by_token(network: Model, lookup: _Lookup) -> tuple[Float64Array, Float64Array, BoolArray]:
    """The contexts that read one token at one position together: one product with what all heads make of it (F12).

    Returns:
        Midpoints and radii of what is added to the stream, `[T, d_model]`, and the contexts, `[T]`, that are left out:
        in some head all that they see is far below the largest score after their last token.
    """
    n_heads, d_model, n = network.W_V.shape
    rows, length = lookup.key.shape
    n_keys = len(lookup.keys.radius)
    midpoint, radius, rest = np.zeros((rows, d_model)), np.zeros((rows, d_model)), np.zeros(rows, dtype=bool)
    per_head = n_keys * (d_model + 4 * n + 4 * network.d_qk) + 8 * len(lookup.pair_key) + length * rows
    width = max(1, _FEATURE_BYTES // (8 * per_head + 1))
    chunks = [slice(start, min(start + width, n_heads)) for start in range(0, n_heads, width)]
    rounding = gamma(n_heads + length * len(chunks) + 1)
    groups = [members(lookup.key[:, s]) for s in range(length)]
    for heads in chunks:
        powers, spread = _powers(_scores(network, lookup, heads), lookup.pair_query)
        weights, loss, low = _weights(powers, spread, lookup)
        rest |= low
        moved, size, error = _moved_values(network, lookup, heads)
        for s in range(length):
            for key, readers in groups[s]:
                midpoint[readers] += weights[s][readers] @ moved[key]
        same = ((3.0 * gamma(length) + rounding + _FLOOR) * size + error).sum(axis=0)
        radius += loss @ size
        radius += same
    radius *= _SLACK * (1.0 + 2.0 * gamma(n_heads + length + len(chunks) + 16))
    return midpoint, radius + _FLOOR, rest


def _powers(scores: Enclosure, of_query: Int64Array) -> tuple[Float64Array, Float64Array]:
    """Exponentials of all scores less their query's largest, `[pairs, heads]`, and its factor of p (1 - p) (F12)."""
    starts = np.flatnonzero(np.diff(of_query, prepend=-1))
    largest = np.maximum.reduceat(scores.midpoint, starts)
    place = np.cumsum(np.diff(of_query, prepend=-1) != 0) - 1
    powers = exp(scores - largest[place])
    size, radius = powers.midpoint, np.broadcast_to(powers.radius, powers.shape)
    # What is too small for a relative error has to be negligible.
    relative = np.where(size >= 2.0**-900, radius / size, np.where(size + radius <= 2.0**-891, 0.0, np.inf))
    worst = np.maximum.reduceat(relative, starts) * _SLACK
    spread = np.full((int(of_query.max(initial=-1)) + 1, size.shape[1]), np.inf)
    spread[of_query[starts]] = np.where(worst <= 0.25, 2.0 * worst / (1.0 - worst) * _SLACK, np.inf)
    return size, spread


def _weights(
    powers: Float64Array, spread: Float64Array, lookup: _Lookup
) -> tuple[Float64Array, Float64Array, BoolArray]:
    """Attention weights `[S, T, heads]`, their errors but for roundings, `[T, heads]`, and who is left out (F12)."""
    rows, length = lookup.key.shape
    weights, loss = np.empty((length, rows, powers.shape[1])), np.empty((rows, powers.shape[1]))
    rest = np.empty(rows, dtype=bool)
    query = lookup.pair_query[lookup.pair[:, -1]]
    for part in row_blocks(rows, powers.shape[1] * (length + 3)):
        block = weights[:, part]
        for s in range(length):
            block[s] = powers[lookup.pair[part, s]]
        whole = block.sum(axis=0)
        rest[part] = ~(whole >= 2.0**-400).all(axis=1)
        block /= whole
        # F12: the sum of p (1 - p).
        uncertain = block[0] * (1.0 - block[0])
        for s in range(1, length):
            uncertain += block[s] * (1.0 - block[s])
        loss[part] = np.fmin(uncertain * spread[query[part]], 2.0)
    return weights, loss, rest


def _moved_values(network: Model, lookup: _Lookup, heads: slice) -> tuple[Float64Array, Float64Array, Float64Array]:
    """The x W_V W_O of all keys and heads, `[keys, heads, d_model]`; the largest of all keys, and of their radii."""
    values = _projected(lookup.keys, network.W_V[heads])
    parts = [matmul(values[:, h], weights, tight=False) for h, weights in enumerate(network.W_O[heads])]
    moved = np.stack([part.midpoint for part in parts], axis=1)
    size = np.stack([np.abs(part.midpoint).max(axis=0, initial=0.0) for part in parts])
    error = np.stack([np.broadcast_to(part.radius, part.shape).max(axis=0, initial=0.0) for part in parts])
    return moved, size, error


def _idle_heads(network: Model, contexts: Int64Array) -> BoolArray | None:
    """Which heads have the query 0 after each token, `[N, H]`; none unless most have, context by context (Lemma F8).

    Rigorous because a product in which one factor of each term is 0 is exactly 0, and F2 tells which entries of x are.
    """
    tokens, counts = np.unique(contexts[:, -1], return_counts=True)
    x = _embedded(network, tokens, contexts.shape[1] - 1)
    idle = idle_heads((x.midpoint != 0.0) | (x.radius != 0.0), network.W_Q)
    if not mostly(idle, counts):
        return None
    of_token = np.zeros((network.d_vocab, network.n_heads), dtype=bool)
    of_token[tokens] = idle
    return of_token


def _values(network: Model) -> Enclosure:
    """The maps W_V of all heads side by side, `[d_model, H * n]`."""
    return Enclosure.exact(network.W_V.transpose(1, 0, 2).reshape(network.d_model, -1))


def _grouped_residual(network: Model, contexts: Int64Array, idle: BoolArray, written: Enclosure) -> Enclosure:
    """x_S + Y W_O, `[T, d_model]`, the contexts with the same idle heads together (Lemma F8).

    Args:
        network: The weights.
        contexts: Tokens, `[T, S]`.
        idle: Which heads have the query 0 after each token, `[N, H]`.
        written: The sum of W_V W_O over all heads, `[d_model, d_model]`.
    """
    midpoint, radius = np.empty((2, len(contexts), network.d_model))
    tokens, token_of = np.unique(contexts[:, -1], return_inverse=True)
    for rows in alike(idle[tokens], token_of):
        busy = _with_heads(network, ~idle[contexts[rows[0], -1]])
        columns = busy.n_heads * busy.d_head
        output = busy.W_O.reshape(columns, busy.d_model)
        sizes = _block_sizes(output)
        at_rest = written - _multiplied(_values(busy), output, sizes)
        saturated, row_of, read = _saturated(busy, contexts[rows])
        settled = _multiplied(read, output, sizes) if saturated.any() else None
        for same in alike(saturated, row_of):
            few = _with_heads(busy, ~saturated[row_of[same[0]]])
            few_output = few.W_O.reshape(-1, few.d_model)
            few_sizes = _block_sizes(few_output)
            step = _rows_within(_FEATURE_BYTES, max(len(few_output), contexts.shape[1] * few.d_model))
            for start in range(0, len(same), step):
                within = same[start : start + step]
                chosen = rows[within]
                part = contexts[chosen]
                stream = enclose_last(network, part) + matmul(_mean_input(network, part), at_rest)
                if settled is not None:
                    stream = stream + settled[row_of[within]]
                if settled is None or few.n_heads:
                    stream = stream + _multiplied(_features(few, part), few_output, few_sizes)
                midpoint[chosen], radius[chosen] = stream.midpoint, stream.radius
    return Enclosure(midpoint, radius)


def _saturated(network: Model, contexts: Int64Array) -> tuple[BoolArray, Int64Array, Enclosure]:
    r"""Heads that see the position before the last alone, and what they read there (Lemma F11).

    For each last token and each token at that position: a head counts as saturated if its score there is above all that
    occur elsewhere by 40 nats or more. Of what it reads, $x_{S - 1} W_V$, the enclosure holds what leaks.

    Args:
        network: Heads that are busy.
        contexts: Tokens, `[T, S]`.

    Returns:
        Which heads are, `[B, H]`, none where the table would be too large; which of these rows each context has, `[T]`;
        and what they read, `[B, H * n]`, 0 for the other heads.
    """
    (count, length), heads, n = contexts.shape, network.n_heads, network.d_head
    none = np.zeros((1, heads), dtype=bool), np.zeros(count, dtype=np.int64), Enclosure.exact(np.zeros((1, heads * n)))
    if length < 2:
        return none
    with np.errstate(all="ignore"):
        lookup = _Lookup.of(network, contexts)
        pairs, row_of = np.unique(lookup.pair[:, -2], return_inverse=True)
        W_V = _distinct(network.W_V)
        if 8 * len(lookup.pair_key) * (heads * (2 + network.d_qk) + len(W_V) * n) > _TABLE_BYTES:
            return none
        scores = _scores(network, lookup, slice(0, heads))
        elsewhere = np.delete(scores.upper(), pairs, axis=0).max(axis=0)
        below = Enclosure.exact(elsewhere) - Enclosure.exact(scores.lower()[pairs])
        saturated = below.upper() <= -_SATURATION
        if not saturated.any():
            return none
        values = _projected(lookup.keys, W_V)
        largest = values.magnitude().max(axis=(0, 2))
        leak = (exp(below) * (2.0 * (length - 1)) * Enclosure.exact(largest)).upper()
        read = values[lookup.pair_key[pairs]] + Enclosure(np.zeros((len(pairs), heads, n)), leak[:, :, None])
        kept = saturated[:, :, None]
        midpoint, radius = (np.where(kept, part, 0.0) for part in (read.midpoint, read.radius))
        shape = (len(pairs), heads * n)
        return saturated, row_of.reshape(-1), Enclosure(midpoint.reshape(shape), radius.reshape(shape))


def _with_heads(network: Model, heads: BoolArray) -> Model:
    """The network with some of its heads."""
    tensors = dana_tensors(network)
    return dana_network(**tensors | {name: tensors[name][heads] for name in ("W_Q", "W_K", "W_V", "W_O")})


def _mean_input(network: Model, contexts: Int64Array) -> Enclosure:
    """What uniform attention sees, the mean of x_s over the positions, `[T, d_model]`."""
    length = contexts.shape[1]
    inputs = [_embedded(network, contexts[:, s], s) for s in range(length)]
    whole = Enclosure(np.stack([x.midpoint for x in inputs], 1), np.stack([x.radius for x in inputs], 1))
    return total(whole, 1) / float(length)


def _multiplied(a: Enclosure, b: Float64Array, sizes: list[tuple[Float64Array, _Norms]]) -> Enclosure:
    """The product a b, summed block by block; `sizes` are those of the blocks of b (Lemma F7)."""
    with np.errstate(all="ignore"):
        rounding = gamma(min(len(b), _BLOCK_TERMS) + len(sizes))
        slack = _SLACK * (1.0 + 2.0 * gamma(len(sizes) + 16))
        radii = np.broadcast_to(a.radius, a.shape)
        midpoint, radius = multiply(a.midpoint, b, _BLOCK_TERMS), np.zeros((len(a), b.shape[1]))
        for i, (scales, norms) in enumerate(sizes):
            part = slice(i * _BLOCK_TERMS, (i + 1) * _BLOCK_TERMS)
            block = a.midpoint[:, part]
            # Scaled first: an underflow of the small numbers could otherwise be scaled up.
            error = np.abs(block)
            error *= scales
            error *= rounding
            error += radii[:, part] * scales
            left, right = _tightest(_Norms.of(error, -1), norms)
            radius += np.multiply.outer(left * slack, right)
        return Enclosure(midpoint, radius)


def _block_sizes(b: Float64Array) -> list[tuple[Float64Array, _Norms]]:
    """Of each block of rows: powers of two about as large as the rows, and the norms of the columns divided by them.

    So scaled, the inequalities of Hölder lose little even where the rows are of very different sizes.
    """
    sizes = []
    with np.errstate(all="ignore"):
        for start in range(0, len(b), _BLOCK_TERMS):
            block = np.abs(b[start : start + _BLOCK_TERMS])
            exponents = np.frexp(block.max(axis=1))[1] - 1
            scaled = np.ldexp(block, -exponents[:, None])
            sizes.append((np.ldexp(1.0, exponents), _Norms.of(scaled, 0)))
    return sizes


def _rows_within(size: int, columns: int) -> int:
    """Number of rows of so many float64 columns that fit in so many bytes."""
    return max(_FEWEST_ROWS, size // (8 * max(columns, 1)))


def row_blocks(rows: int, width: int) -> Iterator[slice]:
    """Slices of so few rows each that an array of this width stays in the cache."""
    step = max(1, _CACHED_ENTRIES // max(width, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _kept(x: Enclosure, axis: int) -> Enclosure:
    """The same numbers with the axis, over which was summed, put back."""
    radius = x.radius if x.radius.size == 1 else np.expand_dims(np.broadcast_to(x.radius, x.shape), axis)
    return Enclosure(np.expand_dims(x.midpoint, axis), radius)
