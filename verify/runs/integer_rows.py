"""Compute the logits of models with integer activations: exactly as in every run, and enclosed as in real arithmetic.

The models are those of tokens whose neurons are rectified and whose heads read one row, or a power of two of rows with
equal scores. Rows that are equal are worked on once, and only those that are read: what a head reads is found first,
from the columns that its scores depend on, which in many models are the same in all contexts.

The walk of every model (`verify/forward/walk.py`) goes forward, over all columns of each row that occurs. Here it goes
back from the logits, because hard heads leave most rows unread (`benchmarks/bench_integer_rows.py`).

Page: docs/rigour/runs.md, Theorem R12 and Lemma R14.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.forward.walk import contexts_of
from verify.runs.boxes import Boxes
from verify.runs.distinct import distinct, distinct_rows, merged
from verify.runs.in_reals import InReals
from verify.runs.in_runs import InRuns
from verify.runs.terms import Group, Layer, Rows, joined

Places = tuple[int, ...]

_MODEL = frozenset({"blocks", "W_U", "b_U", "W_E", "W_pos"})
_BLOCK = frozenset(
    """W_Q W_K W_V W_O b_Q b_K b_V b_O norm skip attends queries score_root W_in W_out b_in b_out activation""".split()
)

_TOGETHER = 2**23  # tokens of the contexts that are worked on at a time
_LOGITS = 2**24  # that are there at a time
_SAMPLE = 64  # contexts that are asked before all are
_ENTRIES = 2**22  # of hidden rows, or of scores, that are there at a time
_FEW = 8  # groups of neurons that are evaluated apart
_WIDE = 64  # neurons from which on rows of equal values are looked for


@dataclass(frozen=True, eq=False)
class Shared:
    """The logits of some contexts, many of which may be equal.

    Args:
        contexts: Their numbers, increasing, `[n]`.
        which: Indices of the logits of each, `[n]`.
        logits: The different ones, `[D, d_vocab_out]`; the radius is infinite where nothing is known.
    """

    contexts: Int64Array
    which: Int64Array
    logits: Enclosure

    def judged(self, kinds: Int64Array) -> Iterator[tuple[Int64Array, Int64Array, Enclosure]]:
        """Yield one context per kind and distinct logits, to be judged for all contexts like it.

        Args:
            kinds: Numbers that are equal where the same is asked of a context, of all contexts of the task.

        Returns:
            Iterator of contexts `[n]`, the place in `[0, D)` of the one that is judged for each, and what is judged:
            the logits `[D, d_vocab_out]` of the first context of each place.
        """
        first, again = distinct(self.which, kinds[self.contexts])
        order = np.argsort(again, kind="stable")
        together = max(1, _LOGITS // self.logits.midpoint.shape[1])
        for start in range(0, len(first), together):
            stop = start + together
            begin, end = np.searchsorted(again[order], [start, stop])
            own = order[begin:end]
            yield self.contexts[own], again[own] - start, self.logits[self.which[first[start:stop]]]


def integer_logits(model: Model, contexts: Int64Array, arithmetic: InRuns | InReals) -> Iterator[Shared]:
    """Enclose the logits of some contexts at a time: of every run in a number format, or in real arithmetic.

    Args:
        model: The weights.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        arithmetic: Whose logits; afterwards it knows how many bits were needed, and what stopped the first context.

    Returns:
        Iterator of contexts with their logits, in each of which every logits stands once.

    Raises:
        InputError: Contexts that the model cannot read.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from verify.runs.formats import FLOAT32
        >>> model = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> [found] = integer_logits(model, np.array([[0], [1], [0]]), InRuns(FLOAT32))
        >>> found.which.tolist(), found.logits.midpoint.tolist(), float(found.logits.radius.max())
        ([0, 1, 0], [[1.0, 0.0], [0.0, 1.0]], 0.0)
    """
    contexts = contexts_of(model, contexts)
    blas.probe()
    return _chunks(model, contexts, arithmetic)


def known_logits(model: Model, contexts: Int64Array, arithmetic: InRuns | InReals) -> Iterator[Shared]:
    """Enclose logits; stop early if those of a few spread-out contexts are all unknown."""
    if refusal(model) or not len(contexts):
        return
    some = np.unique(np.linspace(0, len(contexts) - 1, min(len(contexts), _SAMPLE)).astype(np.int64))
    parts = list(integer_logits(model, contexts[some], arithmetic))
    if any(bool(np.isfinite(part.logits.radius).all(axis=1).any()) for part in parts):
        yield from parts if len(some) == len(contexts) else integer_logits(model, contexts, arithmetic)


def refusal(model: Model) -> str:
    """Explain why the logits of a model are unknown without rounding; empty if they may be known.

    What a model or a block has beside what is known here is refused, so that no new option is passed over.
    """
    if not model.reads_tokens or model.is_rational:
        return "the model reads vectors" if not model.reads_tokens else "the model is rational"
    if extra := _beyond(model, _MODEL):
        return f"the model has {extra}"
    for place, block in enumerate(model.blocks):
        if not isinstance(block, (Attention, FeedForward)) or block.norm is not None:
            return f"block {place} normalizes"
        if isinstance(block, FeedForward) and block.activation != "relu":
            return f"block {place} has neurons of the kind {block.activation}"
        if isinstance(block, Attention) and len({len(tensor) for tensor in (block.W_Q, block.W_K, block.W_V)}) > 1:
            return f"block {place} has heads that share keys"
        if extra := _beyond(block, _BLOCK):
            return f"block {place} has {extra}"
    return ""


def _beyond(record: Model | Attention | FeedForward, known: frozenset[str]) -> str:
    """Return the first unsupported field of a record that differs from its default, or None."""
    for field in fields(record):
        value = getattr(record, field.name)
        # Equal, not the same object: that of a model which another process sent is a copy.
        if field.name not in known and (isinstance(value, np.ndarray) or value != field.default):
            return field.name
    return ""


def _chunks(model: Model, contexts: Int64Array, arithmetic: InRuns | InReals) -> Iterator[Shared]:
    length, why = contexts.shape[1], refusal(model)
    boxes = None if why else Boxes.of(model, length, arithmetic.format)
    if boxes is not None and arithmetic.format is not None:  # 0 times a weight that overflows is no number
        large = (name for name, x in model.tensors().items() if np.abs(x).max(initial=0.0) > arithmetic.format.largest)
        why = next((f"{name} overflows" for name in large), "")
    if not why and boxes is not None and boxes.first_overflow <= _last_attention(model):
        why = f"a number in block {boxes.first_overflow} may overflow"
    if why or boxes is None:
        arithmetic.stop(why)
        yield _nothing_known(model, 0, len(contexts))
        return
    step, together = max(1, _TOGETHER // length), max(1, _LOGITS // model.d_vocab_out)
    for start in range(0, len(contexts), step):
        with np.errstate(all="ignore"):
            chunk = _Chunk(model, contexts[start : start + step], arithmetic, boxes)
            try:
                rows, cells = chunk.last_rows()
            except _NothingKnownError:
                yield _nothing_known(model, start, len(chunk.contexts))
                continue
        for first in range(0, len(rows.value), together):
            own = np.flatnonzero((cells >= first) & (cells < first + together))
            with np.errstate(all="ignore"):
                logits = chunk.read_out(rows[first : first + together])
                known = np.isfinite(logits.value) & np.isfinite(logits.off)
            value, radius = np.where(known, logits.value, 0.0), np.where(known, logits.off, np.inf)
            yield Shared(start + own, cells[own] - first, Enclosure(value, radius))


class _NothingKnownError(Exception):
    """A head input that the logits depend on is unknown for every context."""


def _nothing_known(model: Model, start: int, count: int) -> Shared:
    """Return some contexts with unbounded logits."""
    everything = np.arange(start, start + count)
    unknown = Enclosure(np.zeros((1, model.d_vocab_out)), np.full((1, model.d_vocab_out), np.inf))
    return Shared(everything, np.zeros_like(everything), unknown)


@dataclass(frozen=True)
class _Reads:
    """The positions that heads read, by the pattern of a context.

    Args:
        pattern: Index of the pattern of each context, `[T]`.
        positions: For each head, the positions that it reads, `[patterns, queries, k]`.
        weights: For each head, how much the rows weigh that are not read.
        lost: Of which queries nothing is known, `[patterns, queries]`.
    """

    pattern: Int64Array
    positions: list[Int64Array]
    weights: list[float]
    lost: BoolArray


@dataclass(frozen=True)
class _Step:
    """The part of a block that must be computed.

    Args:
        place: Place of the block.
        read: Columns of the stream that are read.
        written: Columns that are written.
        positions: That are computed.
        chosen: The neurons; of an attention, by head, the entries of its values.
        reads: The rows that the heads read.
    """

    place: int
    read: Int64Array
    written: Int64Array
    positions: Places
    chosen: Int64Array | dict[int, Int64Array]
    reads: _Reads | None

    @property
    def written_of_read(self) -> Int64Array:
        """Positions of the written columns among the read ones, which a skip connection adds."""
        return np.searchsorted(self.read, self.written)


@dataclass(frozen=True, eq=False)
class _Source:
    """Distinct rows, and the row number at each place.

    Args:
        rows: Of some columns.
        cells: Index of the row of each context at some positions, `[T, positions]`.
        columns: The columns.
        positions: The positions.
    """

    rows: Rows
    cells: Int64Array
    columns: Int64Array
    positions: Places

    def column(self, positions: Int64Array) -> Int64Array:
        """Return the index of positions in `cells`; 0 for those that are not read."""
        column = np.zeros(max(int(positions.max(initial=0)), *self.positions) + 1, dtype=np.int64)
        column[list(self.positions)] = np.arange(len(self.positions))
        return column[positions]

    def at(self, positions: Int64Array) -> Int64Array:
        """Return the cells at some positions; if all contexts are alike they are not copied."""
        columns = self.column(positions)
        if self.cells.strides[0] == 0:
            return np.broadcast_to(self.cells[0][columns], (len(self.cells), len(columns)))
        return self.cells[:, columns]

    def read_by(self, pattern: Int64Array, places: Int64Array) -> list[Int64Array]:
        """Return the cells that a head reads from each position, `[T, queries]`, first, second, ...

        Args:
            pattern: Pattern of each context, `[T]`.
            places: The positions that are read, by pattern, `[patterns, queries, k]`.
        """
        if len(places) == 1:
            return [self.at(places[0, :, k]) for k in range(places.shape[2])]
        columns = self.column(places)[pattern]
        return [np.take_along_axis(self.cells, columns[:, :, k], 1) for k in range(places.shape[2])]


class _Chunk:
    """Contexts whose rows are worked on together."""

    def __init__(self, model: Model, contexts: Int64Array, arithmetic: InRuns | InReals, boxes: Boxes) -> None:
        self.model, self.contexts, self.arithmetic, self.boxes = model, contexts, arithmetic, boxes
        self.length = contexts.shape[1]
        self._known: dict[tuple[int, tuple[int, ...], Places], _Reads] = {}

    def last_rows(self) -> tuple[Rows, Int64Array]:
        """Return the columns of the distinct last rows that logits read, and the row number of each context, `[T]`."""
        rows, cells = self._stream(len(self.model.blocks), self._read_out, (self.length - 1,))
        rows, cells = merged(rows, cells)
        return rows, cells[:, 0]

    def read_out(self, rows: Rows) -> Rows:
        """Return the logits of last rows."""
        return self.arithmetic.unembed(rows, self.model.W_U[self._read_out], self.model.b_U)

    @cached_property
    def _read_out(self) -> Int64Array:
        return np.flatnonzero((self.model.W_U != 0.0).any(axis=1) | self._is_whole(len(self.model.blocks)))

    def _stream(self, place: int, columns: Int64Array, positions: Places) -> tuple[Rows, Int64Array]:
        """Return the distinct rows before a block, restricted to some columns and positions, and the row number at each
        place.
        """
        steps: list[_Step] = []
        sources: list[_Source] = []
        for before in reversed(range(place)):
            step = self._step(before, columns, positions)
            steps.append(step)
            if apart := self._apart(step):
                sources = [_Source(*self._stream(before, *own), *own) for own in apart]
                break
            columns, positions = step.read, self._needed(step)
        else:
            sources = [_Source(*self._embedded(columns, positions), columns, positions)]
        for step in reversed(steps):
            block, source = self.model.blocks[step.place], sources[0]
            if isinstance(block, FeedForward):
                rows, cells = self._neurons(step, block, source.rows, source.cells)
                sources = [_Source(rows, cells, step.written, source.positions)]
            else:
                assert isinstance(block, Attention)
                sources = [_Source(*self._attention(step, block, sources), step.written, step.positions)]
        return sources[0].rows, sources[0].cells

    def _apart(self, step: _Step) -> list[tuple[Int64Array, Places]]:
        """Return the columns and positions that each head reads, if no two heads depend on the same column of any
        block.
        """
        block = self.model.blocks[step.place]
        if not isinstance(block, Attention) or block.skip or len(step.chosen) < 2:
            return []
        assert step.reads is not None and isinstance(step.chosen, dict)
        apart = [
            (np.flatnonzero((block.W_V[head][:, own] != 0.0).any(axis=1)), tuple(np.unique(places).tolist()))
            for (head, own), places in zip(step.chosen.items(), step.reads.positions, strict=True)
        ]
        touched = np.zeros((step.place + 1, self._widest), dtype=np.int64)
        for columns, positions in apart:
            touched[step.place, columns] += 1
            for before in reversed(range(step.place)):
                earlier = self._step(before, columns, positions)
                columns, positions = earlier.read, self._needed(earlier)
                touched[before, columns] += 1
        return apart if touched.max() <= 1 else []

    @cached_property
    def _widest(self) -> int:
        return max((b.d_model for b in self.model.blocks if isinstance(b, Attention | FeedForward)), default=0)

    def _step(self, place: int, columns: Int64Array, positions: Places) -> _Step:
        """Return the part of a block to compute for some columns at some positions."""
        block = self.model.blocks[place]
        if isinstance(block, FeedForward):
            whole, reads = self._is_whole(place), None
            chosen = np.flatnonzero((block.W_out[:, columns] != 0.0).any(axis=1) | whole)
            read = (block.W_in[:, chosen] != 0.0).any(axis=1) | whole
        else:
            assert isinstance(block, Attention)
            entries = (block.W_O[:, :, columns] != 0.0).any(axis=2)
            chosen = {int(head): np.flatnonzero(entries[head]) for head in np.flatnonzero(entries.any(axis=1))}
            key = place, tuple(chosen), positions
            if key not in self._known:
                self._known[key] = self._reads(place, block, list(chosen), positions)
            reads = self._known[key]
            read = np.zeros(block.d_model, dtype=bool)
            for head, own in chosen.items():
                read |= (block.W_V[head][:, own] != 0.0).any(axis=1)
        if block.skip:
            read[columns] = True
        return _Step(place, np.flatnonzero(read), columns, positions, chosen, reads)

    def _is_whole(self, place: int) -> bool:
        """Decide whether all of a block has to be computed, since it might overflow elsewhere."""
        return self.boxes.first_overflow <= len(self.model.blocks) and place > _last_attention(self.model)

    def _needed(self, step: _Step) -> Places:
        """Return the positions of the rows that a block reads."""
        if step.reads is None:
            return step.positions
        block = self.model.blocks[step.place]
        assert isinstance(block, Attention)
        needed = [np.unique(places) for places in step.reads.positions]
        if block.skip or not needed:
            needed.append(np.array(step.positions))
        return tuple(np.unique(np.concatenate(needed)).tolist())

    def _embedded(self, columns: Int64Array, positions: Places) -> tuple[Rows, Int64Array]:
        """Return the distinct rows of tokens and positions, restricted to some columns, and the row number at each
        place.
        """
        model, exact = self.model, self.arithmetic.exact
        at = np.array(positions, dtype=np.int64)
        places, tokens = model.W_pos[at][:, columns], model.W_E[:, columns]
        if (tokens == tokens[:1]).all():  # what is read is the position alone
            cells = np.broadcast_to(np.arange(len(at)), (len(self.contexts), len(at)))
            return exact(tokens[np.zeros(len(at), dtype=np.int64)], places), cells
        contexts = self.contexts[:, at]
        alike = bool((places == places[:1]).all())  # what is read is the token alone
        first, cells = distinct(contexts if alike else contexts * len(at) + np.arange(len(at)))
        return exact(tokens[contexts.ravel()[first]], places[first % len(at)]), cells

    def _neurons(self, step: _Step, block: FeedForward, rows: Rows, cells: Int64Array) -> tuple[Rows, Int64Array]:
        chosen = step.chosen
        assert not isinstance(chosen, dict)
        if len(chosen) >= _WIDE > len(step.read):  # rows of many columns are hardly ever equal
            rows, cells = merged(rows, cells)
        layer = Layer(
            block.W_in[np.ix_(step.read, chosen)],
            None if block.b_in is None else block.b_in[chosen],
            block.W_out[np.ix_(chosen, step.written)],
            None if block.b_out is None else block.b_out[step.written],
            step.written_of_read if block.skip else None,
        )
        # Groups pass over columns that no neuron reads, which where something may overflow meet it as infinity times 0.
        apart = len(chosen) >= _WIDE and not block.skip and not self._is_whole(step.place)
        if apart and 1 < len(parts := _groups(rows, layer)) <= _FEW:
            after = self.arithmetic.grouped(parts, layer.b_out, f"block {step.place}")
            if after is not None:
                return after, cells
        together = max(1, _ENTRIES // max(1, len(chosen), len(step.read), len(step.written)))
        parts = [
            self.arithmetic.neurons(rows[start : start + together], layer, f"block {step.place}")
            for start in range(0, len(rows.value), together)
        ]
        return joined(parts), cells

    def _attention(self, step: _Step, block: Attention, sources: list["_Source"]) -> tuple[Rows, Int64Array]:
        """Return the rows after an attention; each head has its own source, or all heads and the skip connection share
        one.

        Contexts in which all heads read equal rows, and the skip connection too, share what is written.
        """
        reads, chosen, source = step.reads, step.chosen, sources[0]
        assert reads is not None and isinstance(chosen, dict)
        own = source.at(np.array(step.positions)) if block.skip or not chosen else None
        if not chosen:
            assert own is not None
            nothing = Rows(np.zeros((len(source.rows.value), 0)), np.zeros((1, 0)))
            skip = source.rows.columns(step.written_of_read) if block.skip else None
            return self._written(step, block, nothing, skip), own
        by_head = sources if len(sources) > 1 else sources * len(chosen)
        keys = [] if own is None else [own]
        for head, places in zip(by_head, reads.positions, strict=True):
            keys += head.read_by(reads.pattern, places)
        lost = reads.lost[reads.pattern] if len(reads.lost) > 1 else np.broadcast_to(reads.lost, keys[0].shape)
        first, after = distinct(*keys, lost.astype(np.int64)) if lost.any() else distinct(*keys)
        taken = iter([key.ravel()[first] for key in keys])
        skip = source.rows.columns(step.written_of_read).take(next(taken)) if block.skip else None
        mixed = [Rows(np.zeros((len(first), 0)), np.zeros((1, 0)))]
        for (head, entries), read, places, weight in zip(
            chosen.items(), by_head, reads.positions, reads.weights, strict=True
        ):
            W_V, b_V = block.W_V[head][np.ix_(read.columns, entries)], _row(block.b_V, head, entries)
            value = self.arithmetic.linear(read.rows, W_V, b_V, where=f"block {step.place}, head {head}")
            which = np.stack([next(taken) for _ in range(places.shape[2])], axis=1)
            others = weight * (self.boxes.values[step.place][head][entries] + 1.0)  # weights times V + 1, R12 (iv)
            mixed.append(self.arithmetic.weighted_mean(value, which, others, self.length))
        result = self._written(step, block, _beside(mixed), skip)
        if lost.any():
            unknown = np.where(lost.ravel()[first], np.inf, 0.0)
            result = Rows(result.value, result.off + unknown[:, None])
        return result, after

    def _written(self, step: _Step, block: Attention, mixed: Rows, skip: Rows | None) -> Rows:
        """Return the joint output of the heads for their averages, as one sum with the skip rows."""
        assert isinstance(step.chosen, dict)
        W_O = [np.zeros((0, len(step.written)))]
        W_O += [block.W_O[head][np.ix_(entries, step.written)] for head, entries in step.chosen.items()]
        shift = None if block.b_O is None else block.b_O[step.written]
        return self.arithmetic.linear(mixed, np.concatenate(W_O), shift, skip=skip, where=f"block {step.place}")

    def _reads(self, place: int, block: Attention, heads: list[int], positions: Places) -> _Reads:
        """Return the averages of some heads at some positions: of one row, or of a power of two of rows with equal
        scores.
        """
        if not heads:
            none = np.zeros(len(self.contexts), dtype=np.int64)
            return _Reads(none, [], [], np.zeros((1, len(positions)), dtype=bool))
        available = self._available(place, block, positions)
        columns = _columns_read(block, heads)
        rows, cells = merged(*self._stream(place, columns, available))
        first, pattern = distinct_rows(cells)
        cells = cells[first]
        places, asks = np.array(available), np.searchsorted(available, positions)
        allowed = np.ones((len(asks), len(places)), dtype=bool)
        if block.attends == "causal":
            allowed = places[None, :] <= np.array(positions)[:, None]
        query_rows = np.flatnonzero(np.bincount(cells[:, asks].ravel(), minlength=len(rows.value)))
        lost = np.zeros((len(cells), len(asks)), dtype=bool)
        result, weights = [], []
        for head in heads:
            where = f"block {place}, head {head}"
            query = self.arithmetic.linear(rows, block.W_Q[head][columns], _row(block.b_Q, head), where=where)
            key = self.arithmetic.linear(rows, block.W_K[head][columns], _row(block.b_K, head), where=where)
            root = float(np.sqrt(float(block.score_root)))
            error, exact = self.arithmetic.score_error(query.take(query_rows), key, block.score_root)
            top_cells, count, gap = _looked(query.value, key.value, cells, asks, allowed, root)
            decided = self.arithmetic.decides(gap, error, exact, count, self.length)
            if not (decided | lost).all():
                self.arithmetic.stop(f"{where}: it reads neither one row nor equal ones alone")
            lost |= ~decided
            if lost.all():
                raise _NothingKnownError
            least = float(gap[decided].min(initial=np.inf))
            result.append(places[top_cells])
            weights.append(self.arithmetic.weight_of_others(least, error, count[decided], self.length))
        return _Reads(pattern, result, weights, lost)

    def _available(self, place: int, block: Attention, positions: Places) -> Places:
        """Return the positions that an attention can read from some positions."""
        if any(isinstance(earlier, Attention) and earlier.attends == "last" for earlier in self.model.blocks[:place]):
            available = (self.length - 1,)
        else:
            available = tuple(range(self.length))
        if block.attends == "causal":
            available = tuple(position for position in available if position <= positions[-1])
        return available


def _columns_read(block: Attention, heads: list[int]) -> Int64Array:
    """Return the columns of the stream from which some query or key of these heads is made."""
    read = np.zeros(block.d_model, dtype=bool)
    for head in heads:
        read |= (block.W_Q[head] != 0.0).any(axis=1) | (block.W_K[head] != 0.0).any(axis=1)
    return np.flatnonzero(read)


def _last_attention(model: Model) -> int:
    return max((place for place, block in enumerate(model.blocks) if isinstance(block, Attention)), default=-1)


def _looked(
    query: Floats, key: Floats, cells: Int64Array, asks: Int64Array, allowed: BoolArray, root: float
) -> tuple[Int64Array, Int64Array, Floats]:
    """Return the positions of the top scores `[n, I, k]`, their number, and their lead `[n, I]`."""
    tops, counts, gaps = [], [], []
    step = max(1, _ENTRIES // max(1, len(asks) * cells.shape[1] * max(1, query.shape[1])))
    for start in range(0, len(cells), step):
        part = cells[start : start + step]
        scores = np.matmul(query[part[:, asks]], np.swapaxes(key[part], 1, 2)) / root
        scores = np.where(allowed, scores, -np.inf)
        top = scores.max(axis=2, keepdims=True)
        read = scores == top
        count = read.sum(axis=2)
        gaps.append(top[..., 0] - np.where(read, -np.inf, scores).max(axis=2))
        counts.append(count)
        # Of a number of rows that is no power of two nothing will be said.
        whole = np.where(count & (count - 1) == 0, np.maximum(count, 1), 1)
        largest = int(whole.max(initial=1))
        if largest == 1:
            tops.append(scores.argmax(axis=2)[..., None])
        else:
            order = np.argsort(~read, axis=2, kind="stable")
            tops.append(np.take_along_axis(order, np.arange(largest) % whole[..., None], 2))
    most = max(part.shape[2] for part in tops)
    tops = [np.tile(part, most // part.shape[2]) for part in tops]
    return np.concatenate(tops), np.concatenate(counts), np.concatenate(gaps)


def _groups(rows: Rows, layer: Layer) -> list[Group]:
    """Partition the neurons into groups without a common input column, with the distinct rows of each group's
    inputs.
    """
    reads = layer.W_in != 0.0
    group = np.arange(reads.shape[1])  # the first neuron of the group of each
    for column in reads:
        if column.any():
            own = np.isin(group, group[column])
            group[own] = group[own].min()
    groups = []
    firsts = np.unique(group)
    for first in firsts if len(firsts) <= _FEW else ():
        own = np.flatnonzero(group == first)
        columns = np.flatnonzero(reads[:, own].any(axis=1))
        different, which = merged(rows.columns(columns), np.arange(len(rows.value))[:, None])
        shift = None if layer.b_in is None else layer.b_in[own]
        part = Layer(layer.W_in[np.ix_(columns, own)], shift, layer.W_out[own], None, None)
        groups.append(Group(different, which[:, 0], part))
    return groups


def _row(shifts: Floats | None, head: int, entries: Int64Array | None = None) -> Floats | None:
    """Return the shift of a head, or some of its entries."""
    if shifts is None:
        return None
    return shifts[head] if entries is None else shifts[head][entries]


def _beside(parts: list[Rows]) -> Rows:
    """Return the columns of all parts, side by side."""
    count = max(len(part.off) for part in parts)
    off = np.hstack([np.broadcast_to(part.off, (count, part.off.shape[1])) for part in parts])
    return Rows(np.concatenate([part.value.T for part in parts]).T, off)
