r"""What a model of any blocks computes, enclosed: the values of each row of the stream, and a ball about each row.

The ball of a row is in the Euclidean norm, of radius $\rho$: the exact row is within $\rho$ of the evaluated one. A
linear map multiplies $\rho$ by its spectral norm, a normalization divides it by the size of the row, attention is
enclosed together with its softmax, and the rounding of each step is added. So the radius costs no second forward pass,
and grows by a few bits with each block, where a radius for each entry grows by twenty.

The recursion reads the evaluation through `verify/forward/rows.py:Rows`: the same bounds hold for float64 and for
pairs, and with a smaller unit they tell in advance what a longer format would leave.

Page: docs/rigour/depth.md proves every bound used here; the lemmas are named in the comments.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from constructions.arrays import Int64Array
from constructions.errors import InputError, require_at_least
from constructions.models.blocks import Attention, FeedForward, Normalization
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from verify.arithmetic import blas
from verify.arithmetic.activations import SLOPES
from verify.arithmetic.elementary import exp
from verify.arithmetic.rounding import Floats
from verify.forward.in_balls import checked_contexts
from verify.forward.map_norms import FLOOR, MapNorms, Norms, raised, row_norms
from verify.forward.rows import LOWEST_SCORE, InFloat64, Rows, Values, growth

_LOWEST_POWER = 2.0**-865  # above exp(-600)
_CHUNK_ENTRIES = 2**21  # of the widest array of a chunk of contexts
_LOGIT_ENTRIES = 2**24  # of the logits of a chunk
_UNDERFLOW = 2.0**-1060  # above what the underflow of a square can lose, several times over


@dataclass(frozen=True)
class Stream:
    r"""Evaluated rows, and bounds of their distance to the exact ones.

    The exact row is $z + \mathrm{diag}(w)(a + b) + c$ with $z$ the value, $|a|$ at most `moved`, $|b|$ at most
    `slipped` and $|c|$ at most `radius`; behind layer normalization $a$ is orthogonal to the ones vector. Without a
    `norm` there are no $a$ and $b$.

    Args:
        value: The rows, `[T, S, d]`.
        radius: `[T, S]`.
        norm: The normalization that they come from, or none.
        moved: `[T, S]`, or none.
        slipped: `[T, S]`, or none.
    """

    value: Values
    radius: Floats
    norm: Normalization | None = None
    moved: Floats | None = None
    slipped: Floats | None = None

    def last(self) -> "Stream":
        """The last row alone."""
        parts = [None if part is None else part[:, -1:] for part in (self.moved, self.slipped)]
        return Stream(self.value[:, -1:], self.radius[:, -1:], self.norm, *parts)

    def through(self, norms: MapNorms) -> Floats:
        """Bounds of the images of the errors under maps, `[T, S, maps]`."""
        spread = self.radius[..., None] * norms.plain
        if self.moved is not None and self.slipped is not None:
            spread = spread + self.moved[..., None] * norms.moved + self.slipped[..., None] * norms.slipped
        return spread

    def whole(self) -> Floats:
        """One radius for the sum of the errors of a row, `[T, S]`."""
        if self.norm is None or self.moved is None or self.slipped is None:
            return self.radius
        return raised(self.radius + float(np.abs(self.norm.w).max()) * (self.moved + self.slipped))


def logit_balls(
    model: Model,
    inputs: Int64Array | VectorTask,
    *,
    rows: Rows | None = None,
    norms: Norms | None = None,
    chunk: int | None = None,
) -> Iterator[tuple[int, Values, Floats]]:
    r"""Evaluate the logits, or outputs, of a few contexts at a time, with proved radii.

    Args:
        model: The weights, in float64.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors.
        rows: The arithmetic of the evaluation; float64 by default.
        norms: The norms of the maps of the same model, to be shared by several calls.
        chunk: Contexts that are worked on together; by default as many as suit the memory.

    Returns:
        Iterator of the index of the first context of a chunk, its logits `[rows, d_vocab_out]` in the arithmetic of
        `rows`, and the radii, of that shape.

    Raises:
        InputError: Inputs that do not fit the model, a rational model, or norms of another model.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.models.blocks import Normalization
        >>> final = Normalization("layer", w=np.ones(2))
        >>> model = Model(blocks=(final,), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> [(start, logits, radii)] = logit_balls(model, np.array([[0], [1]]))
        >>> logits.shape, bool(radii.max() < 1e-14)
        ((2, 2), True)
    """
    blas.probe()
    rows = InFloat64() if rows is None else rows
    norms = Norms(model) if norms is None else norms
    if norms.model is not model:
        raise InputError("norms are those of another model")
    require_at_least(1, chunk=chunk)
    contexts, task, count = _checked(model, inputs)
    return _chunks(_Walk(model, rows, norms), contexts, task, count, chunk)


def _chunks(
    walk: "_Walk", contexts: np.ndarray, task: VectorTask | None, count: int, chunk: int | None
) -> Iterator[tuple[int, Values, Floats]]:
    step = chunk or walk.contexts_within(contexts.shape[1])
    for start in range(0, count, step):
        with np.errstate(all="ignore"):
            part = slice(start, min(start + step, count))
            stream = walk.read(contexts if len(contexts) == 1 and task is not None else contexts[part], task)
            queries = None if task is None else task.queries[part]
            logits, radii = walk.read_out(walk.passed(stream, queries))
            radii = np.where(walk.fits, radii, np.inf)
        size = part.stop - part.start
        if len(radii) != size:  # examples that share their context and bring no query of their own
            logits, radii = logits[np.zeros(size, dtype=np.int64)], np.repeat(radii, size, axis=0)
        yield start, logits, radii


def _checked(model: Model, inputs: Int64Array | VectorTask) -> tuple[np.ndarray, VectorTask | None, int]:
    if model.reads_tokens:
        if isinstance(inputs, VectorTask):
            raise InputError("inputs is a task that brings vectors, expected tokens [T, S]: the model reads tokens")
        contexts = checked_contexts(model, np.asarray(inputs))
        return contexts, None, len(contexts)
    if not isinstance(inputs, VectorTask):
        raise InputError(f"inputs is {type(inputs).__name__}, expected a VectorTask: the model reads vectors")
    if inputs.d_model != model.d_model:
        raise InputError(f"inputs has vectors of dimension {inputs.d_model}, expected d_model = {model.d_model}")
    return inputs.contexts, inputs, inputs.n_examples


class _Walk:
    """The recursion over the blocks of one model in one arithmetic."""

    def __init__(self, model: Model, rows: Rows, norms: Norms) -> None:
        self.model, self.rows, self.norms = model, rows, norms
        attentions = [i for i, block in enumerate(model.blocks) if isinstance(block, Attention)]
        self._last_attention = max(attentions, default=-1)
        self.fits = True  # whether nothing of the chunk that is worked on can overflow elsewhere

    def _sizes(self, value: Values, radius: Floats) -> Floats:
        """Bounds of the norms of the rows that are evaluated: of those that are seen, or of all within the radius."""
        sizes = row_norms(self.rows.high(value))
        if self.rows.elsewhere is None:
            return sizes
        self._require_small(sizes + radius)
        return raised(sizes + radius)

    def _require_small(self, sizes: Floats | float) -> None:
        """Note whether numbers of these sizes, none of them NaN, may appear elsewhere without an overflow."""
        if self.rows.elsewhere is not None:
            self.fits = self.fits and bool(np.all(sizes <= self.rows.elsewhere.largest))

    def _raised(self, radius: Floats) -> Floats:
        """`raised`, and more than underflow takes elsewhere."""
        return raised(radius) if self.rows.elsewhere is None else raised(radius + self.rows.elsewhere.floor)

    def _rounded(self, sizes: Floats, terms: int, norms: MapNorms) -> Floats:
        """What rows of these sizes round by in a product with each of the maps (Lemma T1)."""
        frobenius, rounding = norms.frobenius, self.rows.inner(terms) * sizes
        if self.rows.elsewhere is not None:
            frobenius = frobenius + self.rows.elsewhere.floor
            self._require_small((1.0 + sizes.max(initial=0.0)) * frobenius)
        return rounding[..., None] * frobenius

    def _given(self, x: Floats) -> Stream:
        """Numbers that the task brings."""
        radius = np.zeros(x.shape[:-1])
        if self.rows.elsewhere is not None:
            radius = self._raised(self.rows.elsewhere.conversion * row_norms(x))
        return Stream(self.rows.exact(x), radius)

    def contexts_within(self, length: int) -> int:
        """How many contexts are worked on together."""
        widths = [1]
        for block in self.model.blocks:
            if isinstance(block, Attention):
                widths += [block.n_heads * max(2 * block.d_qk + block.d_head, length), block.d_out]
            else:
                widths.append(block.width if isinstance(block, Normalization) else max(block.d_mlp, block.d_out))
        entries = _CHUNK_ENTRIES // (max(widths) * length)
        return max(1, min(entries, _LOGIT_ENTRIES // self.model.d_vocab_out))

    def read(self, contexts: np.ndarray, task: VectorTask | None) -> Stream:
        """The stream before the first block."""
        self.fits = True
        if task is not None:
            stream = self._given(contexts)
        else:
            positions = np.broadcast_to(self.model.W_pos[: contexts.shape[1]], (*contexts.shape, self.model.d_model))
            embedded = self.model.W_E[contexts]
            value, errors = self.rows.sum_of_exact(embedded, positions)
            self._require_small(row_norms(embedded) + row_norms(positions))
            stream = Stream(value, self._raised(row_norms(errors)))
        return stream.last() if self._last_attention < 0 else stream

    def passed(self, stream: Stream, queries: Floats | None) -> Stream:
        """The stream behind the last block."""
        for i, block in enumerate(self.model.blocks):
            if isinstance(block, Normalization):
                stream = self._normalized(stream, block)
            elif isinstance(block, FeedForward):
                stream = self._neurons(stream, block)
            else:
                stream = self._attention(stream, block, queries, only_last=i == self._last_attention)
        return stream.last()

    def read_out(self, stream: Stream) -> tuple[Values, Floats]:
        """The logits, and their radii (Lemma T5)."""
        model, rows = self.model, self.rows
        norms = self.norms.of_columns(model.W_U, stream.norm)
        logits = rows.mapped(stream.value, model.W_U, model.b_U)
        radii = stream.through(norms) + self._rounded(self._sizes(stream.value, stream.whole()), len(model.W_U), norms)
        if model.b_U is not None:
            radii += growth(rows.unit, 2) * self._shifted(np.abs(rows.high(logits)), radii, np.abs(model.b_U))
        return logits[:, 0], self._raised(radii)[:, 0]

    def _shifted(self, sizes: Floats, radius: Floats, shifts: Floats) -> Floats:
        """What rounds by half a unit where a shift is added: what is seen, or all that it may be, and the shift."""
        if self.rows.elsewhere is None:
            return sizes
        self._require_small(sizes + radius + shifts)
        return sizes + radius + shifts

    def _normalized(self, stream: Stream, norm: Normalization) -> Stream:
        """Lemma T2."""
        rows, width = self.rows, norm.width
        radius = stream.whole()
        z, y, root = rows.normalized(stream.value, norm)
        size = self._sizes(stream.value, radius)
        normal_size = row_norms(rows.high(y))
        reach = np.sqrt(float(width)) * (1.0 + 2.0**-40)
        square = _UNDERFLOW if rows.elsewhere is None else rows.elsewhere.square
        relative = growth(rows.unit, width + 6) + width * square / norm.epsilon
        relative = relative if relative < 0.125 else np.inf
        centring = self._raised(growth(rows.unit, width + 2) * size)
        centring = centring if norm.kind == "layer" else np.zeros(size.shape)
        least = root * (1.0 - 2.0 * relative - 2.0**-40) - centring / np.sqrt(float(width))
        known = np.isfinite(root) & (relative < np.inf)  # squares may have overflown
        least = np.where(known, least, -np.inf)
        moved = np.minimum(_quotient(radius, least, width), raised(2.0 * reach * np.ones(size.shape)))
        gained = row_norms(rows.high(z))
        if rows.elsewhere is None:
            slipped = raised(_quotient(centring, least, width) + relative / (1.0 - relative) * normal_size)
            furthest = reach + normal_size
            slipped = np.where(known & (slipped < furthest), slipped, furthest)
        else:
            # Its root is that of a row that may be `radius` away, and nothing is known of what it may overflow to.
            slipped = np.zeros(size.shape)
            if norm.kind == "layer":
                slipped = _quotient(centring, least - radius / np.sqrt(float(width)) * (1.0 + 2.0**-40), width)
            most = np.minimum(reach, normal_size / (1.0 - relative) + moved + 2.0 * slipped)
            furthest = (3.0 * reach + normal_size) * (1.0 + 2.0 * relative)
            slipped = self._raised(np.minimum(slipped + relative * most, furthest))
            largest = float(np.abs(norm.w).max())
            gained += largest * (moved + slipped)
            gained *= 4.0 / 3.0  # one more rounding: the gain is converted
            self._require_small(size * (size + width) + norm.epsilon)
            self._require_small(np.where(known, slipped + gained + largest * (1.0 + reach), np.inf))
        spread = growth(rows.unit, 3) * gained
        if norm.b is not None:
            spread = spread + 2.0 * growth(rows.unit, 4) * row_norms(norm.b)
            self._require_small(row_norms(norm.b) + gained)
        return Stream(z, self._raised(spread), norm, moved, raised(slipped))

    def _before(self, stream: Stream, norm: Normalization | None) -> Stream:
        return stream if norm is None else self._normalized(stream, norm)

    def _mapped(self, stream: Stream, maps: Floats, shifts: Floats | None) -> tuple[Values, Floats, Floats]:
        """The images under maps `[maps, n, p]`: values `[T, S, maps, p]`, their norms and radii `[T, S, maps]` (D1)."""
        rows, (count, inner, width) = self.rows, maps.shape
        norms = self.norms.of(maps, stream.norm)
        y = rows.mapped(stream.value, self.norms.side_by_side(maps), None if shifts is None else shifts.reshape(-1))
        y = y.reshape(*stream.radius.shape, count, width)
        sizes = row_norms(rows.high(y))
        radius = stream.through(norms) + self._rounded(self._sizes(stream.value, stream.whole()), inner, norms)
        if shifts is not None:
            radius += growth(rows.unit, 2) * self._shifted(sizes, radius, row_norms(shifts))
        return y, sizes, self._raised(radius)

    def _added(self, stream: Stream, value: Values, radius: Floats) -> Stream:
        """Lemma T5: the residual connection."""
        total, radius = self.rows.add(stream.value, value), stream.whole() + radius
        return Stream(total, self._raised(radius + growth(self.rows.unit, 2) * self._sizes(total, radius)))

    def _neurons(self, stream: Stream, block: FeedForward) -> Stream:
        rows = self.rows
        hidden, _, radius = self._mapped(self._before(stream, block.norm), block.W_in[None], block.b_in)
        hidden, radius = hidden[..., 0, :], radius[..., 0]
        largest = np.abs(rows.high(hidden)).max(axis=-1, initial=0.0) * (1.0 + 2.0**-40) + radius
        steep, curved = SLOPES[block.activation]
        # Lemma T4: g'(0) = 1/2, and the second derivative is at most `curved`.
        slope = 1.0 if block.activation == "relu" else np.minimum(steep, 0.5 + curved * largest)
        units = growth(rows.unit, rows.activation_units(block.activation))
        sizes = self._sizes(hidden, radius)
        radius = self._raised(slope * radius + units * sizes)
        active = Stream(rows.activated(hidden, block.activation), radius)
        y, _, radius = self._mapped(active, block.W_out[None], block.b_out)
        y, radius = y[..., 0, :], radius[..., 0]
        return self._added(stream, y, radius) if block.skip else Stream(y, radius)

    def _attention(self, stream: Stream, block: Attention, queries: Floats | None, *, only_last: bool) -> Stream:
        rows = self.rows
        single = only_last or block.attends == "last"
        keys = self._before(stream, block.norm)
        if block.queries == "task":
            assert queries is not None
            asking = self._given(queries[:, None])
        else:
            asking = keys.last() if single else keys
        length, positions = keys.radius.shape[1], asking.radius.shape[1]
        mixed, radius = [], np.zeros(asking.radius.shape)
        if block.n_heads:
            query, key = self._heads(asking, block.W_Q, block.b_Q), self._heads(keys, block.W_K, block.b_K)
            value = self._heads(keys, block.W_V, block.b_V)
            allowed = np.tri(positions, length, length - positions, dtype=bool)
            if block.attends == "all" or single:
                allowed = np.ones((positions, length), dtype=bool)
            mixed, radii = self._mixed(block, query, key, value, allowed)
            mixed = _swapped(mixed)
            radius = row_norms(np.moveaxis(radii, 1, -1))
            mixed = mixed.reshape(*radius.shape, block.n_heads * block.d_head)
        else:
            mixed = rows.exact(np.zeros((*radius.shape, 1)))
        output = block.W_O.reshape(1, -1, block.d_out) if block.n_heads else np.zeros((1, 1, block.d_out))
        y, _, radius = self._mapped(Stream(mixed, raised(radius)), output, block.b_O)
        y, radius = y[..., 0, :], radius[..., 0]
        if not block.skip:
            return Stream(y, radius)
        return self._added(stream.last() if single else stream, y, radius)

    def _heads(self, stream: Stream, maps: Floats, shifts: Floats | None) -> "_Heads":
        y, sizes, radius = self._mapped(stream, maps, shifts)
        return _Heads(_swapped(y), np.moveaxis(sizes, -1, 1), np.moveaxis(radius, -1, 1))

    def _mixed(
        self, block: Attention, query: "_Heads", key: "_Heads", value: "_Heads", allowed: np.ndarray
    ) -> tuple[Values, Floats]:
        """What the heads mix, `[T, H, i, d_head]`, and its radii `[T, H, i]` (Lemma T3)."""
        rows = self.rows
        scores = rows.below_largest(rows.scores(query.value, key.value, block.score_root), allowed)
        below = rows.high(scores)
        # The error of a score, of its distance to the largest, and of the exponential, logarithmically.
        rounding = rows.inner(block.d_qk) + growth(rows.unit, 4)
        doubt = query.size[..., None] * (key.radius + rounding * key.size)[..., None, :]
        doubt += query.radius[..., None] * (key.radius + key.size)[..., None, :]
        if rows.elsewhere is not None:
            doubt += rounding * (query.radius[..., None] * (key.radius + key.size)[..., None, :])
            doubt += rounding * (query.size[..., None] * key.radius[..., None, :])
            self._require_small((query.size + query.radius).max(initial=0.0) * (key.size + key.radius))
        if block.score_root != 1:
            doubt /= np.sqrt(float(block.score_root))
        distance = np.where(allowed, np.abs(below), 0.0)
        if rows.elsewhere is not None:
            distance += doubt + np.where(allowed, doubt, 0.0).max(axis=-1, keepdims=True)
        doubt += growth(rows.unit, 2) * distance
        doubt = self._raised(doubt + growth(rows.unit, rows.exponential + 1.0))
        powers = rows.numerators(scores)
        mixed, mass = rows.averaged(powers, value.value)
        weights = rows.high(powers)
        surplus, deficit = _exponential_less_one(doubt), np.minimum(doubt, 1.0)
        apart = _distances(rows.high(mixed), rows.high(value.value), value.size)
        hidden = np.where(allowed & (below < LOWEST_SCORE), _LOWEST_POWER, 0.0)
        lost = _times(hidden, 1.0 + surplus)
        if rows.elsewhere is not None:
            # Each numerator may underflow there, where another one is 1.
            flushed = rows.elsewhere.floor * (1.0 + np.where(allowed, surplus, 0.0).max(axis=-1, keepdims=True))
            lost = lost + np.where(allowed, flushed, 0.0)
        error = (_times(weights, surplus) + lost) * apart
        error += (_times(weights, 1.0 + surplus) + lost) * value.radius[..., None, :]
        error = error.sum(axis=-1)
        length = below.shape[-1]
        error += rows.inner(length) * row_norms(weights) * row_norms(value.size)[..., None]
        error += growth(rows.unit, length + 3) * row_norms(rows.high(mixed)) * mass
        error *= 1.0 + 2.0 * growth(2.0**-53, length + 16)
        rest = mass * (1.0 - 2.0**-40) - growth(rows.unit, length) * mass
        rest -= (weights * deficit).sum(axis=-1) * (1.0 + 2.0 * growth(2.0**-53, length + 16))
        rest -= 0.0 if rows.elsewhere is None else lost.sum(axis=-1)
        rest *= 1.0 - 2.0**-40
        hull = np.where(allowed, apart + value.radius[..., None, :], 0.0).max(axis=-1)
        quotient = np.where(rest > 0.0, error / rest, np.inf)
        radius = np.where(quotient < hull, quotient, hull)
        if rows.elsewhere is not None:
            # The sums, the products and the quotient there, which no error above speaks about.
            largest = np.where(allowed, (value.size + value.radius)[..., None, :], 0.0).max(axis=-1)
            radius = radius + growth(rows.unit, 2 * length + 8) * largest
            self._require_small(largest)
        return mixed, self._raised(radius)


@dataclass(frozen=True)
class _Heads:
    """Queries, keys or values by head: `[T, H, S, n]`, their norms and their radii `[T, H, S]`."""

    value: Values
    size: Floats
    radius: Floats


def _quotient(radius: Floats, least: Floats, width: int) -> Floats:
    """Lemma T2: how far rows may move that are divided by their size; infinite where nothing is known."""
    rest = least * (1.0 - 2.0**-40) - radius / (2.0 * np.sqrt(float(width))) * (1.0 + 2.0**-40)
    return np.where(rest > 0.0, raised(radius / rest), np.inf)


def _exponential_less_one(doubt: Floats) -> Floats:
    """Above exp(D) - 1 (Lemma T3)."""
    near = doubt / (1.0 - 0.5 * doubt)
    if (doubt <= 1.0).all():
        return near * (1.0 + 2.0**-40)
    far = exp(np.minimum(doubt, 700.0)).midpoint
    far = np.where(doubt <= 700.0, far, np.inf)
    return np.where(doubt <= 1.0, near, far) * (1.0 + 2.0**-40)


def _times(weights: Floats, factors: Floats) -> Floats:
    """Products in which a weight of 0 counts as nothing, whatever the factor."""
    return np.where(weights == 0.0, 0.0, weights * factors)


def _distances(mixed: Floats, values: Floats, sizes: Floats) -> Floats:
    """Upper bounds of the distances of what is mixed to each value, `[T, H, i, j]` (Lemma T3)."""
    own = np.einsum("...i,...i->...", mixed, mixed)[..., None]
    squares = own + (sizes * sizes)[..., None, :]
    inner = np.matmul(mixed, np.swapaxes(values, -1, -2))
    cancelled = np.maximum(squares - 2.0 * inner, 0.0) + 8.0 * growth(2.0**-53, values.shape[-1] + 32) * squares
    return np.sqrt(cancelled) * (1.0 + 2.0**-40) + FLOOR


def _swapped(x: Values) -> Values:
    """Heads before positions, or behind them again."""
    return x.transpose(0, 2, 1, 3)
