r"""What the heads of a model of one attention read at the last position, enclosed: weights, means of rows, features.

Page: docs/rigour/forward.md (Lemmas B2, B5 and T3)
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flint import arb_mat, ctx

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress
from constructions.tasks.vectors import Vectors
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, largest
from verify.arithmetic.rounding import Floats
from verify.forward.attention_pairs import AttentionPairs
from verify.forward.in_balls import InBalls, checked_precision, rounded_outwards
from verify.forward.in_float64 import InFloat64
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import HeadBalls, InRowBalls, RowBalls
from verify.forward.walk import Heads, checked_inputs, part_of, stream_of

_ENTRIES = 2**23  # of what the heads read that is worked on together


@dataclass(frozen=True, eq=False)
class AttendedVectors:
    """What the heads do with the examples of a task, from one pass.

    Args:
        mixed: Enclosure of the matrix Z, `[T, H * d]`.
        top: Enclosure of the largest attention weight of each head, `[T, H]`.
    """

    mixed: Enclosure
    top: Enclosure


def enclose_last(model: Model, inputs: Int64Array | Vectors, *, precision: int | None = None) -> Enclosure:
    r"""Enclose the vectors at the last position before any block, $x_S = W_E[t_S] + W_{pos}[S]$ for tokens.

    In float64 the radius of an entry is the exact error of its sum (Lemma F2): 0 where the sum is exact, as for one-hot
    embeddings.

    Args:
        model: The weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, d_model]`.

    Raises:
        InputError: Inputs that the model cannot read, or no such precision.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1).

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.ones((1, 2)), W_Q=np.ones((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> last = enclose_last(network, np.array([[0], [1]]))
        >>> last.midpoint.tolist(), float(last.radius.max())
        ([[2.0, 1.0], [1.0, 2.0]], 0.0)
    """
    if precision is not None:
        return rounded_outwards(last_in_balls(model, inputs, precision))
    blas.probe()
    inputs = checked_inputs(model, inputs)
    if isinstance(inputs, Vectors):
        lasts = np.broadcast_to(inputs.contexts[:, -1], (len(inputs), inputs.d_model))
        return Enclosure.exact(np.ascontiguousarray(lasts))
    with np.errstate(all="ignore"):
        value, errors = InFloat64().sum_of_exact(model.W_E[inputs[:, -1]], model.W_pos[inputs.shape[1] - 1])
        return Enclosure(value, errors)


def enclose_attention(
    model: Model, inputs: Int64Array | Vectors, head: int, *, precision: int | None = None
) -> Enclosure:
    r"""Enclose the attention weights of one head at the last position.

    $$ a_s = \frac{e^{\sigma_s}}{\sum_r e^{\sigma_r}}, \qquad
       \sigma_s = \frac{1}{\sqrt m} \langle x_S W_Q + b_Q,\, x_s W_K + b_K \rangle, $$

    where the task's query stands in the place of $x_S$ if the model takes one. In float64 the radius of a saturated
    head shrinks with the mass that is left elsewhere; in balls it is at best of the order of $2^{-\mathrm{precision}}$.

    Args:
        model: The weights: one attention and no other block.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        head: Which head.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, S]`.

    Raises:
        InputError: Inputs or a precision that are none, or a model with other blocks, or no such head.

    Source: Dana, Pydi, Chevaleyre (2024), equation (1); Mahdavi et al. (2024), Section 3.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> pattern = enclose_attention(network, np.array([[0, 1]]), 0)
        >>> pattern.midpoint.tolist(), bool((pattern.radius < 1e-14).all())
        ([[0.5, 0.5]], True)
    """
    if precision is not None:
        return rounded_outwards(attention_in_balls(model, inputs, head, precision))
    checked_head(model, head)
    inputs = checked_inputs(model, inputs)
    midpoint, radius = np.empty((2, len(inputs), _length(inputs)))
    for rows, arithmetic, heads in _chunks(model, inputs):
        query, key = (arithmetic.select_heads(x, [head]) for x in (heads.query, heads.key))
        pattern = _patterns(arithmetic, heads, query, key)
        midpoint[rows] = pattern.midpoint[:, 0]
        radius[rows] = np.broadcast_to(pattern.radius, pattern.shape)[:, 0]
    return Enclosure(midpoint, radius)


def beside_last(model: Model, contexts: Int64Array, features: Enclosure) -> Enclosure:
    """Return the embedded last tokens and the features of the same contexts, $[x_S \\mid Y]$, `[T, d_model +
    columns]`.
    """
    parts = enclose_last(model, contexts), features
    radii = [np.broadcast_to(part.radius, part.shape) for part in parts]
    return Enclosure(np.hstack([part.midpoint for part in parts]), np.hstack(radii))


def enclose_features(model: Model, inputs: Int64Array | Vectors, *, precision: int | None = None) -> Enclosure:
    r"""Enclose what the heads have read at the last position, before $W_O$.

    $$ Y_t = \mathrm{concat}_h \sum_s a^h_s\, (x_s W_V^h + b_V^h). $$

    In float64 one radius holds for all coordinates of a head; it is given as one radius per row where the heads are
    alike, which saves half the memory, and in full where they are not.

    Args:
        model: The weights: one attention and no other block.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, n_heads * d_head]`; its radius has the shape `[T, 1]` or that of the midpoint.

    Raises:
        InputError: Inputs or a precision that are none, or a model with other blocks.

    Source: Dana, Pydi, Chevaleyre (2024), Section 3 (the matrix A of Lemma 2).

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> features = enclose_features(network, np.array([[0, 1]]))
        >>> features.midpoint.tolist(), bool((features.radius < 1e-14).all())
        ([[1.0]], True)
    """
    if precision is not None:
        return rounded_outwards(features_in_balls(model, inputs, precision))
    inputs = checked_inputs(model, inputs)
    block, count = model.attention, len(inputs)
    midpoint, radius = np.empty((count, block.n_heads, block.d_head)), np.empty((count, block.n_heads))
    for rows, arithmetic, heads in _chunks(model, inputs):
        midpoint[rows], radius[rows] = _mixed(arithmetic, heads, heads.value)
    return _side_by_side(midpoint, radius)


def enclose_mixed_inputs(model: Model, inputs: Int64Array | Vectors, *, precision: int | None = None) -> Enclosure:
    r"""Enclose what the heads mix at the last position, before $W_V$: the matrix $Z$.

    $$ Z_t = \mathrm{concat}_h \sum_s a^h_s\, x_s. $$

    Args:
        model: The weights: one attention and no other block.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors; labels play no part.
        precision: Bits of the balls that are worked with, 2 to 10^6; by default float64 with proved roundings.

    Returns:
        Enclosure `[T, n_heads * d_model]`.

    Raises:
        InputError: Inputs or a precision that are none, or a model with other blocks.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.

    Example:
        >>> from constructions.model.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> enclose_mixed_inputs(layer, Vectors(np.eye(2)[None], np.zeros((1, 2)))).midpoint
        array([[0.5, 0.5]])
    """
    if precision is not None:
        return rounded_outwards(mixed_inputs_in_balls(model, inputs, precision))
    return enclose_layer(model, inputs).mixed


def enclose_layer(model: Model, inputs: Int64Array | Vectors, *, progress: Progress | None = None) -> AttendedVectors:
    r"""Enclose $Z$ and the largest attention weight of each head, in one pass.

    Args:
        model: The weights: one attention and no other block.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors; labels play no part.
        progress: Called with the stage and the finished share of it.

    Returns:
        The two enclosures.

    Raises:
        InputError: Inputs that do not fit the model, or a model with other blocks.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.model.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> enclose_layer(layer, Vectors(np.eye(2)[None], np.zeros((1, 2)))).top.midpoint
        array([[0.5]])
    """
    inputs = checked_inputs(model, inputs)
    block, count = model.attention, len(inputs)
    midpoint, radius = np.empty((count, block.n_heads, block.d_model)), np.empty((count, block.n_heads))
    top = np.empty((2, count, block.n_heads))
    for rows, arithmetic, heads in _chunks(model, inputs):
        midpoint[rows], radius[rows] = _mixed(arithmetic, heads, arithmetic.repeat_heads(heads.read, block.n_heads))
        most = largest(_patterns(arithmetic, heads, heads.query, heads.key), 2)
        top[0, rows], top[1, rows] = most.midpoint, most.radius
        if progress is not None:
            progress("attention", rows.stop / count, f"{rows.stop} of {count} contexts")
    return AttendedVectors(_side_by_side(midpoint, radius), Enclosure(top[0], top[1]))


def last_in_balls(model: Model, inputs: Int64Array | Vectors, precision: int) -> arb_mat:
    r"""Return the vectors at the last position before any block as balls, `[T, d_model]`; see `enclose_last`.

    Rigorous because addition of balls is; exact where the sums have at most `precision` bits. Operations on the result
    have the precision of their own context.

    Raises:
        InputError: Inputs that the model cannot read, or no such precision.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.full((1, 1), 2.0**-100), W_pos=np.ones((1, 1)), W_Q=np.ones((1, 1, 1)),
        ...                   W_K=np.ones((1, 1, 1)), W_V=np.ones((1, 1, 1)), W_O=np.ones((1, 1, 1)), W_U=np.eye(1))
        >>> [last_in_balls(network, np.array([[0]]), bits)[0, 0].is_exact() for bits in (53, 101)]
        [False, True]
    """
    with ctx.workprec(checked_precision(precision)):
        arithmetic = InBalls(model)
        stream = stream_of(arithmetic, model, inputs)
        return arithmetic.gather(stream.rows, stream.cells[:, -1])


def attention_in_balls(model: Model, inputs: Int64Array | Vectors, head: int, precision: int) -> arb_mat:
    r"""Return the attention weights of one head at the last position as balls, `[T, S]`; see `enclose_attention`.

    Rigorous by Lemma B2; where nothing is known of the scores, the ball is that of all numbers from 0 to 1.

    Raises:
        InputError: As `enclose_attention`.

    Example:
        >>> from flint import arb
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((2, 2)), W_Q=np.ones((1, 2, 1)),
        ...                   W_K=np.array([[[0.0], [-1000.0]]]), W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)),
        ...                   W_U=np.eye(2))
        >>> pattern = attention_in_balls(network, np.array([[0, 1]]), 0, 128)
        >>> abs(pattern[0, 1] / arb(-1000).exp() - 1) < 1e-12
        True
    """
    checked_head(model, head)
    with ctx.workprec(checked_precision(precision)):
        arithmetic, heads, pairs = _in_balls(model, inputs)
        shares = arithmetic.patterns(heads.block, heads.query[head], heads.key[head], pairs)
        entries = [share for pair in pairs.cells[:, 0].tolist() for share in shares[pair]]
        return arb_mat(len(pairs.cells), _length(inputs), entries)


def mixed_inputs_in_balls(model: Model, inputs: Int64Array | Vectors, precision: int) -> arb_mat:
    r"""Return what the heads mix at the last position, before $W_V$, as balls, `[T, n_heads * d_model]` (Lemma B2).

    Raises:
        InputError: As `enclose_mixed_inputs`.

    Example:
        >>> from constructions.model.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> mixed_inputs_in_balls(layer, Vectors(np.eye(2)[None], np.zeros((1, 2))), 64).str()
        '[0.500000000000000, 0.500000000000000]'
    """
    with ctx.workprec(checked_precision(precision)):
        arithmetic, heads, pairs = _in_balls(model, inputs)
        return _of_contexts(arithmetic, heads, pairs, arithmetic.repeat_heads(heads.read, heads.block.n_heads))


def features_in_balls(model: Model, inputs: Int64Array | Vectors, precision: int) -> arb_mat:
    r"""Return what the heads have read at the last position, before $W_O$, as balls, `[T, n_heads * d_head]` (Lemma
    B2).

    Raises:
        InputError: As `enclose_features`.

    Example:
        >>> from flint import arb
        >>> from constructions.model.shapes import dana_network
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((3, 2)), W_Q=np.zeros((1, 2, 1)),
        ...                       W_K=np.ones((1, 2, 1)),
        ...                        W_V=np.array([[[1.0], [0.0]]]), W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> third = features_in_balls(network, np.array([[0, 1, 1]]), 256)[0, 0]
        >>> (3 * third).contains(1), third.rad() < arb(2) ** -250
        (True, True)
    """
    with ctx.workprec(checked_precision(precision)):
        arithmetic, heads, pairs = _in_balls(model, inputs)
        return _of_contexts(arithmetic, heads, pairs, heads.value)


def checked_head(model: Model, head: int) -> None:
    """Raise an `InputError` where the one attention of the model has no such head."""
    if not 0 <= head < model.n_heads:
        raise InputError("head", f"= {head}", f"0 .. {model.n_heads - 1}")


def _in_balls(model: Model, inputs: Int64Array | Vectors) -> tuple[InBalls, Heads[arb_mat], AttentionPairs]:
    block, arithmetic = model.attention, InBalls(model)
    heads = Heads.of(arithmetic, block, stream_of(arithmetic, model, inputs))
    return arithmetic, heads, heads.pairs(heads.stream.cells, only_last=True)


def _of_contexts(arithmetic: InBalls, heads: Heads[arb_mat], pairs: AttentionPairs, value: list[arb_mat]) -> arb_mat:
    """Return the means of the values of each context, the heads side by side."""
    if not value:
        return arb_mat(len(pairs.cells), 0)
    mixed = arithmetic.attend(heads.block, heads.query, heads.key, value, pairs)
    return arithmetic.gather(arithmetic.side_by_side(mixed), pairs.cells[:, 0])


def _chunks(model: Model, inputs: Int64Array | Vectors) -> Iterator[tuple[slice, InRowBalls, Heads[RowBalls]]]:
    """Yield the heads of some contexts at a time, in float64."""
    blas.probe()
    block, norms = model.attention, Norms(model)
    count, width = len(inputs), block.n_heads * max(block.d_model, block.d_head, block.d_qk, _length(inputs))
    step = max(1, _ENTRIES // max(1, width))
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        part = inputs if rows.stop - start == count else part_of(inputs, np.arange(start, rows.stop))
        with np.errstate(all="ignore"):
            arithmetic = InRowBalls(norms)
            heads = Heads.of(arithmetic, block, stream_of(arithmetic, model, part))
        yield rows, arithmetic, heads


def _mixed(arithmetic: InRowBalls, heads: Heads[RowBalls], value: HeadBalls) -> tuple[Floats, Floats]:
    """Return the means of the values, `[T, H, n]`, and a radius for each head, `[T, H]`."""
    pairs = heads.pairs(heads.stream.cells, only_last=True)
    with np.errstate(all="ignore"):
        mixed = arithmetic.attend(heads.block, heads.query, heads.key, value, pairs)
    pair = pairs.cells[:, 0]
    return mixed.value[pair], mixed.radius[pair]


def _patterns(arithmetic: InRowBalls, heads: Heads[RowBalls], query: HeadBalls, key: HeadBalls) -> Enclosure:
    """Return the attention weights, `[T, H, S]`."""
    pairs = heads.pairs(heads.stream.cells, only_last=True)
    with np.errstate(all="ignore"):
        return arithmetic.patterns(heads.block, query, key, pairs)[pairs.cells[:, 0]]


def _side_by_side(midpoint: Floats, radius: Floats) -> Enclosure:
    """Return the rows `[T, H * n]` of all heads; one radius per row, unless that would be much larger."""
    rows, n_heads, n = midpoint.shape
    most = radius.max(axis=1, keepdims=True, initial=0.0)
    alike = n_heads * most.sum() <= 4.0 * radius.sum()
    return Enclosure(midpoint.reshape(rows, n_heads * n), most if alike else np.repeat(radius, n, axis=1))


def _length(inputs: Int64Array | Vectors) -> int:
    return inputs.n_ctx if isinstance(inputs, Vectors) else int(np.shape(inputs)[1])
