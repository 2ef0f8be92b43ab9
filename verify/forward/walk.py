r"""The walk: what a model of any blocks computes, in any arithmetic, on the distinct rows of the stream.

Before any block there is one row for each pair of a position and a token that occurs; an attention leaves one for each
pair of what asks and what is read. Every arithmetic walks the same way and brings the operations
(`verify/forward/arithmetic.py`). A block is one function in these operations, and an entry of `BLOCKS`.

Page: docs/rigour/forward.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.contexts import checked_contexts
from constructions.tasks.vectors import Vectors
from verify.forward.arithmetic import Arithmetic
from verify.forward.attention_pairs import AttentionPairs, distinct_pairs, only_last_is_read, pairs_of
from verify.forward.idle_heads import alike, idle_heads, mostly

R = TypeVar("R")


@dataclass(frozen=True)
class Stream(Generic[R]):
    """The rows of the residual stream of a set of contexts, each once.

    Args:
        rows: The distinct rows, `[P, d]`.
        cells: Which of them each context has at each position, `[T, S]`; -1 behind the end of a shorter one.
        positions: At which position each row stands, `[P]`; no row stands at two.
        queries: Those that the task brings, `[examples, d]`, or none.
        before: The rows that the attention in front has read, and which of them has asked for each row.
    """

    rows: R
    cells: Int64Array
    positions: Int64Array
    queries: R | None = None
    before: tuple[R, Int64Array] | None = None

    def last(self, arithmetic: Arithmetic[R, Any, Any]) -> "Stream[R]":
        """Return the rows at the last position alone."""
        chosen, cells = np.unique(self.cells[:, -1], return_inverse=True)
        before = None if self.before is None else (self.before[0], self.before[1][chosen])
        rows = arithmetic.gather(self.rows, chosen)
        return Stream(rows, cells.reshape(-1, 1), self.positions[chosen], self.queries, before)


@dataclass(frozen=True)
class Prefixes:
    """Contexts of several lengths, which share the rows of what they begin with.

    Args:
        contexts: Tokens, `[T, S]`; -1 behind the end of each.

    Example:
        >>> Prefixes.of([np.array([[5]]), np.array([[5, 6], [5, 7]])]).contexts.tolist()
        [[5, -1], [5, 6], [5, 7]]
    """

    contexts: Int64Array

    @classmethod
    def of(cls, parts: Sequence[Int64Array]) -> "Prefixes":
        """Return the contexts of each length, one part after the other."""
        longest = max(part.shape[1] for part in parts)
        rows = [np.pad(part, ((0, 0), (0, longest - part.shape[1])), constant_values=-1) for part in parts]
        return cls(np.concatenate(rows))

    def __len__(self) -> int:
        return len(self.contexts)


def shares_prefixes(model: Model) -> bool:
    """Whether what a model computes at a position depends on the tokens up to it alone, so that prefixes share rows."""
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    return model.reads_tokens and bool(attentions) and all(block.attends == "causal" for block in attentions)


def stream_of(arithmetic: Arithmetic[R, Any, Any], model: Model, inputs: Int64Array | Vectors | Prefixes) -> Stream[R]:
    """Return the stream before any block.

    Args:
        arithmetic: What evaluates it.
        model: The model.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, of several lengths if the model `shares_prefixes`, or the task that
            brings vectors.

    Raises:
        InputError: Inputs that the model cannot read.
    """
    if isinstance(inputs, Prefixes):
        contexts_of(model, np.maximum(inputs.contexts, 0))
        if not shares_prefixes(model):
            raise InputError("inputs", "are of several lengths", "one length: the model has an attention not causal")
        inputs = inputs.contexts
    else:
        inputs = checked_inputs(model, inputs)
    if isinstance(inputs, Vectors):
        count, length = len(inputs), inputs.n_ctx
        firsts = np.zeros(count, dtype=np.int64) if inputs.shared else np.arange(count) * length
        rows = arithmetic.exact(inputs.contexts.reshape(-1, inputs.d_model))
        positions = np.tile(np.arange(length), len(inputs.contexts))
        stream = Stream(rows, firsts[:, None] + np.arange(length), positions, arithmetic.exact(inputs.queries))
    else:
        positions, tokens, cells = distinct_pairs(inputs)
        rows = model.W_E[tokens]
        given = arithmetic.exact(rows) if model.W_pos is None else arithmetic.embed(rows, model.W_pos[positions])
        stream = Stream(given, cells, positions)
    return stream.last(arithmetic) if only_last_is_read(model.blocks, -1) else stream


def passed(
    arithmetic: Arithmetic[R, Any, Any], model: Model, stream: Stream[R], places: Sequence[int] | None = None
) -> Stream[R]:
    """Return the stream after all blocks, or after those at these places."""
    for place in range(len(model.blocks)) if places is None else places:
        block = model.blocks[place]
        stream = BLOCKS[type(block)](arithmetic, block, stream, only_last_is_read(model.blocks, place))
    return stream


def read_out(arithmetic: Arithmetic[R, Any, Any], model: Model, stream: Stream[R]) -> tuple[Any, Int64Array]:
    """Return the outputs of the distinct last rows, and which of them each context has, `[T]`."""
    last = stream.last(arithmetic)
    outputs = arithmetic.unembed(last.rows, model.W_U, model.b_U)
    return arithmetic.softcap(outputs, model.logit_divisor, model.logit_cap), last.cells[:, 0]


# ---------------------------------------------------------------------------------------------------------------------
# The blocks: each a function of the arithmetic, the block, the stream before it, and whether of the stream behind it
# only the last rows are read.


def _normalization(arithmetic: Arithmetic[R, Any, Any], block: Normalization, stream: Stream[R], _: bool) -> Stream[R]:
    return replace(stream, rows=arithmetic.normalize(stream.rows, block), before=None)


def _feed_forward(arithmetic: Arithmetic[R, Any, Any], block: FeedForward, stream: Stream[R], _: bool) -> Stream[R]:
    read = _read(arithmetic, block, stream)
    hidden = arithmetic.linear(read, block.W_in, block.b_in)
    if block.W_gate is None:
        fired = arithmetic.activate(hidden, block.activation)
    else:
        gates = arithmetic.activate(arithmetic.linear(read, block.W_gate, block.b_gate), block.activation)
        fired = arithmetic.multiply(gates, hidden)
    y = _behind(arithmetic, block, arithmetic.linear(fired, block.W_out, block.b_out))
    if block.skip:
        # In parallel with the attention in front all is one sum, as nothing reads what that attention leaves.
        y = arithmetic.add(stream.rows if block.parallel else arithmetic.materialize(stream.rows), y)
    return replace(stream, rows=y, before=None)


def _attention(arithmetic: Arithmetic[R, Any, Any], block: Attention, stream: Stream[R], last: bool) -> Stream[R]:
    return Heads.of(arithmetic, block, stream).attended(stream.cells, only_last=last)


BLOCKS: dict[type, Callable[..., Stream[Any]]] = {
    Normalization: _normalization,
    FeedForward: _feed_forward,
    Attention: _attention,
}
"""How each kind of block is walked."""


def _read(arithmetic: Arithmetic[R, Any, Any], block: Attention | FeedForward, stream: Stream[R]) -> R:
    rows = stream.rows
    if isinstance(block, FeedForward) and block.parallel:
        assert stream.before is not None
        rows = arithmetic.gather(*stream.before)
    return rows if block.norm is None else arithmetic.normalize(rows, block.norm)


def _behind(arithmetic: Arithmetic[R, Any, Any], block: Attention | FeedForward, y: R) -> R:
    return y if block.post_norm is None else arithmetic.normalize(y, block.post_norm)


@dataclass(frozen=True)
class Heads(Generic[R]):
    """Queries, keys and values of the distinct rows of a stream.

    Args:
        arithmetic: What evaluates them.
        block: The attention.
        stream: The stream before it.
        asking: What asks: the rows behind the norm, or the queries of the task.
        read: The rows behind the norm.
        query: `[Q, heads, d_qk]` in the arithmetic.
        key: `[P, heads, d_qk]`.
        value: `[P, heads, d_head]`.
    """

    arithmetic: Arithmetic[R, Any, Any]
    block: Attention
    stream: Stream[R]
    asking: R
    read: R
    query: Any
    key: Any
    value: Any
    _rests: dict[tuple[int, ...], R] = field(default_factory=dict)

    @classmethod
    def of(cls, arithmetic: Arithmetic[R, Any, Any], block: Attention, stream: Stream[R]) -> "Heads[R]":
        """Those of an attention that reads this stream."""
        read = _read(arithmetic, block, stream)
        asking = read
        if block.queries == "task":
            assert stream.queries is not None
            asking = stream.queries
        query = arithmetic.project_heads(asking, block.W_Q, block.b_Q)
        key, value = (
            arithmetic.project_heads(read, block.W_K, block.b_K),
            arithmetic.project_heads(read, block.W_V, block.b_V),
        )
        if not block.plain:
            query, key = (
                _placed(arithmetic, block, heads, norm, stream.positions)
                for heads, norm in ((query, block.q_norm), (key, block.k_norm))
            )
            if block.clip is not None:
                value = arithmetic.clip(value, block.clip)
            if block.key_heads != block.n_heads:
                each = np.repeat(np.arange(block.key_heads), block.n_heads // block.key_heads).tolist()
                key, value = arithmetic.select_heads(key, each), arithmetic.select_heads(value, each)
        return cls(arithmetic, block, stream, asking, read, query, key, value)

    def pairs(self, cells: Int64Array, *, only_last: bool, first: int = 0) -> AttentionPairs:
        """Return what is looked at in contexts with these cells, the first of them the example `first`."""
        return pairs_of(self.block, cells, only_last=only_last, first=first)

    def mixed(self, pairs: AttentionPairs) -> Any:
        """Return what the heads read, a row for each pair."""
        return self.arithmetic.attend(self.block, self.query, self.key, self.value, pairs)

    def attended(self, cells: Int64Array, *, only_last: bool, first: int = 0) -> Stream[R]:
        """Return the stream behind the attention, for contexts with these cells."""
        arithmetic, block = self.arithmetic, self.block
        if only_last and (cells < 0).any():
            return self._attended_by_lengths(cells)
        pairs = self.pairs(cells, only_last=only_last, first=first)
        idle = self._idle(pairs)
        if not block.n_heads:
            y = arithmetic.exact(np.zeros((len(pairs.kept), block.d_out)))
        elif idle is None:
            y = arithmetic.project_output(self.mixed(pairs), block)
        else:
            y = self._written_together(pairs, *idle)
        y = self.leave(y, pairs.asked)
        if block.queries == "task":
            return Stream(y, pairs.cells, np.zeros(len(pairs.kept), dtype=np.int64), self.stream.queries)
        before = self.stream.rows, pairs.asked
        return Stream(y, pairs.cells, self.stream.positions[pairs.asked], self.stream.queries, before)

    def _attended_by_lengths(self, cells: Int64Array) -> Stream[R]:
        """Return the last rows of contexts of several lengths, each asking for its own."""
        lengths = (cells >= 0).sum(axis=1)
        rows, places, asked, found = list[R](), np.empty((len(cells), 1), dtype=np.int64), list[Int64Array](), 0
        for length in np.unique(lengths).tolist():
            alike = np.flatnonzero(lengths == length)
            behind = self.attended(cells[alike, :length], only_last=True)
            assert behind.before is not None
            rows.append(behind.rows)
            asked.append(behind.before[1])
            places[alike] = behind.cells + found
            found += len(behind.before[1])
        every = np.concatenate(asked)
        before = self.stream.rows, every
        return Stream(self.arithmetic.concat(rows), places, self.stream.positions[every], None, before)

    def leave(self, y: R, asked: Int64Array) -> R:
        """Return the rows behind the attention, of what the heads write for the rows `asked`."""
        arithmetic, block = self.arithmetic, self.block
        if block.b_O is not None:
            y = arithmetic.add_bias(y, block.b_O)
        y = _behind(arithmetic, block, y)
        if not block.skip or block.queries == "task":
            return y
        return arithmetic.add(arithmetic.gather(arithmetic.materialize(self.stream.rows), asked), y)

    def followed(self, cells: Int64Array) -> int:
        """How many heads are followed one by one, at most, in contexts with these cells of which the last row asks."""
        idle = self._idle(self.pairs(cells, only_last=True))
        return self.block.n_heads if idle is None else int((~idle[0]).sum(axis=1).max(initial=0))

    def _idle(self, pairs: AttentionPairs) -> tuple[BoolArray, Int64Array] | None:
        """Which heads ask nothing for each row that asks, `[Q, H]`, and the row of each pair; if it is worth it."""
        if pairs.asking.shape[1] != 1 or not self.block.n_heads or not self.block.plain:
            return None
        asked, row_of = np.unique(pairs.asked, return_inverse=True)
        idle = idle_heads(self.arithmetic.nonzero(self.asking)[asked], self.block.W_Q, self.block.b_Q)
        counts = np.bincount(row_of.reshape(-1), minlength=len(asked))
        worth = mostly(idle, counts) and len(np.unique(pairs.read)) <= len(pairs.read)
        return (idle, row_of.reshape(-1)) if worth else None

    def _written_together(self, pairs: AttentionPairs, idle: BoolArray, row_of: Int64Array) -> R:
        """Return what the heads write, `[L, d_out]`: those that are idle together, as one mean (Lemma B7)."""
        arithmetic, block = self.arithmetic, self.block
        groups = alike(idle, row_of)
        parts = []
        for group in groups:
            busy = np.flatnonzero(~idle[row_of[group[0]]]).tolist()
            read = pairs.read[group]
            y = arithmetic.mean(self._rest(busy, read.shape[1]), read)
            if busy:
                query, key, value = (arithmetic.select_heads(x, busy) for x in (self.query, self.key, self.value))
                places = np.arange(len(group))
                some = AttentionPairs(pairs.asking[group], read, pairs.allowed, places, places[:, None])
                mixed = arithmetic.attend(block, query, key, value, some)
                y = arithmetic.add(arithmetic.project_output(mixed, block, busy), y)
            parts.append(y)
        return arithmetic.gather(arithmetic.concat(parts), np.argsort(np.concatenate(groups), kind="stable"))

    def _rest(self, busy: list[int], length: int) -> R:
        """Return what all heads but some write of each row, where they attend equally to so many."""
        if tuple(busy) not in self._rests:
            arithmetic, heads = self.arithmetic, busy or None
            value = self.value if heads is None else arithmetic.select_heads(self.value, busy)
            rest = arithmetic.project_output(arithmetic.uniform_attention(value, length), self.block, heads)
            self._rests[tuple(busy)] = rest if heads is None else arithmetic.subtract(self._rest([], length), rest)
        return self._rests[tuple(busy)]


def _placed(
    arithmetic: Arithmetic[Any, Any, Any],
    block: Attention,
    heads: Any,
    norm: Normalization | None,
    positions: Int64Array,
) -> Any:
    """Return queries or keys after all that is done to them: cut off, normalized, turned."""
    if block.clip is not None:
        heads = arithmetic.clip(heads, block.clip)
    if norm is not None:
        heads = arithmetic.normalize_heads(heads, norm, block.norms_all)
    return heads if block.frequencies is None else arithmetic.rope(heads, block, positions)


def part_of(inputs: Int64Array | Vectors, chosen: Int64Array) -> Int64Array | Vectors:
    """Return some of the contexts, or examples."""
    return inputs.taken(chosen) if isinstance(inputs, Vectors) else np.asarray(inputs)[chosen]


def checked_inputs(model: Model, inputs: Int64Array | Vectors) -> Int64Array | Vectors:
    """Return what the model can read, contexts as int64 `[T, S]`; or an `InputError`."""
    if model.reads_tokens:
        return contexts_of(model, inputs)
    if not isinstance(inputs, Vectors):
        raise InputError("inputs", f"is {type(inputs).__name__}", "Vectors: the model reads vectors")
    if inputs.d_model != model.d_model:
        raise InputError("inputs", f"has vectors of dimension {inputs.d_model}", f"d_model = {model.d_model}")
    return inputs


def contexts_of(model: Model, contexts: Int64Array | Vectors) -> Int64Array:
    """Return the contexts as int64 `[T, S]`, or an `InputError` where the model cannot read them."""
    if not model.reads_tokens:
        raise InputError("the model", "reads vectors", "a task that brings them in the place of contexts of tokens")
    if isinstance(contexts, Vectors):
        raise InputError("inputs", "is a task that brings vectors", "tokens [T, S]: the model reads tokens")
    return checked_contexts(contexts, d_vocab=model.d_vocab, n_ctx=model.n_ctx, shorter=True, empty=True)
