r"""The walk of a model of hard heads and ReLU neurons over exact columns, for a chunk of contexts.

A *stream* is a list of rows, one for each position; a row is a list of columns. What logits depend on is evaluated
exactly; of all other columns only the ends are found, so that it is known that nothing overflows, and how large the
values of rows are that a head does not read. Which columns are needed follows from a first walk over ends alone: what a
head reads is known there if it follows from positions.

Page: docs/rigour/kernel.md
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from verify.kernel.accounts import Account, Looked
from verify.kernel.columns import (
    RADIUS,
    Column,
    Integers,
    Sizes,
    Term,
    added,
    column_of,
    divided_up,
    product,
)
from verify.kernel.model import Block, Model
from verify.kernel.task import Context

Row = list[Column]
Tops = list[tuple[int, ...]]  # of each context, or of all alike, the positions with the largest score

_MANY = 16  # neurons that read the same columns and are looked up by what these say
_LARGEST_SCALE = 2048
_NARROW = 64  # neurons that write a column, for which closer bounds are looked for
_FEW = 16  # neurons of one direction whose kinks are all looked at
_NEAR = 1 << RADIUS - 10  # distances beyond which closer bounds are looked for


class UnfitError(Exception):
    """Exact columns cannot evaluate this model; balls may."""


@dataclass(frozen=True)
class Map:
    """An affine map in integers, by columns: the nonzero terms of each, the shift, and whether it is representable.

    Args:
        terms: For each column, pairs of a place and an integer.
        scale: Scale of the integers.
        shifts: An integer for each column.
        shift_scale: Scale of the shifts.
        fits: For each account and column, whether the account reads its weights and its shift as they are.
    """

    terms: list[list[tuple[int, int]]]
    scale: int
    shifts: list[int]
    shift_scale: int
    fits: list[list[bool]]

    def shift(self, j: int) -> Fraction:
        """Return the shift of a column."""
        return Fraction(self.shifts[j], 1 << self.shift_scale)

    @classmethod
    def of(
        cls, values: Sequence[float], shift: Sequence[float] | None, width: int, accounts: Sequence[Account]
    ) -> "Map":
        """Build the map of a matrix with these float rows."""
        whole = Integers.of(values, width)
        shifts = Integers.of([0.0] * width if shift is None else shift, width)
        shift_row = shifts.rows[0] if shifts.rows else []
        terms: list[list[tuple[int, int]]] = []
        columns: list[list[float]] = []
        for j in range(width):
            terms.append([(i, row[j]) for i, row in enumerate(whole.rows) if row[j]])
            columns.append([*values[j::width], *([] if shift is None else [shift[j]])])
        fits = [[account.fits(column) for column in columns] for account in accounts]
        return cls(terms, whole.scale, shift_row, shifts.scale, fits)


@dataclass(frozen=True)
class Head:
    """A head of an attention: its three maps, and the positions of its values among those of all heads."""

    query: Map
    key: Map
    value: Map
    first: int


@dataclass(frozen=True)
class Attention:
    """An attention in integers."""

    heads: list[Head]
    out: Map
    attends: str
    skip: bool
    root: int

    @classmethod
    def of(cls, block: Block, accounts: Sequence[Account]) -> "Attention":
        """Return the heads of a plain block, and one map for their joint output."""

        def of_head(name: str, head: int) -> Map:
            width, shift = block.shape(f"W_{name}")[2], block.tensors.get(f"b_{name}")
            return Map.of(block.tensors[f"W_{name}"].row(head), shift and shift.row(head), width, accounts)

        count, d_head = block.shape("W_Q")[0], block.shape("W_V")[2]
        heads = [Head(of_head("Q", h), of_head("K", h), of_head("V", h), h * d_head) for h in range(count)]
        shift = block.tensors.get("b_O")
        out = Map.of(block.tensors["W_O"].values, shift and shift.values, block.writes, accounts)
        return cls(heads, out, block.options["attends"], block.options["skip"], block.options["score_root"])

    def asking(self, length: int) -> list[int]:
        """Return the positions of the query rows."""
        return [length - 1] if self.attends == "last" else list(range(length))

    def reads(self, position: int, length: int) -> range:
        """Return the positions that a row may read."""
        return range(position + 1 if self.attends == "causal" else length)


@dataclass(frozen=True)
class Neurons:
    """ReLU neurons in integers."""

    into: Map
    out: Map
    skip: bool

    @classmethod
    def of(cls, block: Block, accounts: Sequence[Account]) -> "Neurons":
        """Return the maps of a plain block."""
        shifts = (block.tensors.get(name) for name in ("b_in", "b_out"))
        maps = [
            Map.of(block.tensors[name].values, shift and shift.values, block.shape(name)[1], accounts)
            for name, shift in zip(("W_in", "W_out"), shifts, strict=True)
        ]
        into, out = maps
        return cls(into, out, block.options["skip"])

    @cached_property
    def groups(self) -> dict[tuple[int, ...], list[int]]:
        """The neurons by the columns that they read."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for neuron, terms in enumerate(self.into.terms):
            groups.setdefault(tuple([i for i, _ in terms]), []).append(neuron)
        return groups

    @cached_property
    def directions(self) -> dict[tuple[tuple[int, int], ...], list[tuple[int, Fraction]]]:
        """Neurons by the direction that they read, with its multiple; None for those that read nothing."""
        directions: dict[tuple[tuple[int, int], ...], list[tuple[int, Fraction]]] = {}
        for neuron, terms in enumerate(self.into.terms):
            common = math.gcd(*(weight for _, weight in terms)) or 1
            common = -common if terms and terms[0][1] < 0 else common
            direction = tuple([(i, weight // common) for i, weight in terms])
            directions.setdefault(direction, []).append((neuron, Fraction(common, 1 << self.into.scale)))
        return directions


def fits(model: Model) -> bool:
    """Tell whether a model consists of plain attention and ReLU neurons, with token and position embeddings."""
    plain = all(block.is_plain and block.options.get("activation", "relu") == "relu" for block in model.blocks)
    return model.reads_tokens and not model.ends and plain


def _ends(direction: tuple[tuple[int, int], ...], row: Row, account: int | None) -> tuple[Fraction, Fraction]:
    """Return bounds of a combination of columns, for nominal numbers or for those of an account."""
    low = high = Fraction(0)
    for i, weight in direction:
        column = row[i]
        off = Fraction(0) if account is None else _upper(column.off[account])
        ends = Fraction(column.low, 1 << column.scale) - off, Fraction(column.high, 1 << column.scale) + off
        low, high = low + weight * ends[weight < 0], high + weight * ends[weight > 0]
    return low, high


def _alike(stream: list[Row], needed: Collection[int]) -> list[Row]:
    """Return the stream with one column shared by all positions that are not needed, bounded by the ends of all.

    Only for columns that depend on tokens: what depends on the position alone says where heads look.
    """
    others = [position for position in range(len(stream)) if position not in needed]
    alike = [list(row) for row in stream]
    for i in range(len(stream[0]) if others else 0):
        apart = [position for position in others if not stream[position][i].is_constant]
        if len({stream[position][i] for position in apart}) > 1:
            hull = _hull([stream[position][i] for position in apart])
            for position in apart:
                alike[position][i] = hull
    return alike


def _upper(distance: int) -> Fraction:
    """Return a distance as a fraction that is not less, of few bits."""
    return Fraction(divided_up(distance, RADIUS - 64), 1 << 64)


def _range(
    neurons: list[tuple[Fraction, Fraction, Fraction]], low: Fraction, high: Fraction
) -> tuple[Fraction, Fraction]:
    """Return the range of the sum of w max(0, c a + b), for neurons (c, b, w), over a between two ends."""
    kinks = [-b / c for c, b, _ in neurons if low < -b / c < high]
    values = [sum((w * max(0, c * a + b) for c, b, w in neurons), Fraction(0)) for a in (low, high, *kinks)]
    return min(values), max(values)


class Walk:
    """A model in integers, and the accounts that follow it.

    Args:
        model: The model, which `fits`.
        accounts: Of real arithmetic, of runs.
    """

    def __init__(self, model: Model, accounts: Sequence[Account]) -> None:
        tokens, places = model.tensors["W_E"], model.tensors["W_pos"]
        self.accounts, self.width = list(accounts), tokens.shape[1]
        kinds: dict[str, Any] = {"attention": Attention, "feed-forward": Neurons}
        self.blocks: list[Attention | Neurons] = [kinds[block.kind].of(block, accounts) for block in model.blocks]
        shift = model.tensors.get("b_U")
        self.out = Map.of(model.tensors["W_U"].values, shift and shift.values, model.outputs, accounts)
        self.tokens = Integers.of(tokens.values, self.width)
        self.places = Integers.of(places.values, self.width)
        both = [*tokens.values, *places.values]
        columns = [both[i :: self.width] for i in range(self.width)]
        self.fit = [[account.fits(column) for column in columns] for account in accounts]
        self.needed: list[dict[int, set[int]]] = []
        self.known: dict[tuple[int, int, int], Tops | None] = {}
        self.constants: dict[tuple[int, int, tuple[int, ...]], Column] = {}
        self.scored: dict[tuple[int, int], _Scored] = {}

    # What is needed.

    def plan(self, contexts: Sequence[Context]) -> None:
        """Find which columns of which rows the logits depend on, before each block and after the last one.

        Of these contexts and all others that have the same tokens at each position. A head whose scores do not depend
        on the tokens reads the same rows in all of them; of any other it is assumed that it may read all.
        """
        length = len(contexts[0])
        accounts, self.accounts, self.known = self.accounts, [], {}
        self.constants, self.scored = {}, {}
        self.needed = [{} for _ in range(len(self.blocks) + 1)]
        stream = self.embedded(contexts)
        lengths = [length]
        for place in range(len(self.blocks)):
            stream = self.stepped(place, stream)
            lengths.append(len(stream))
        self.accounts = accounts
        needed = {len(stream) - 1: {i for terms in self.out.terms for i, _ in terms}}
        for place in reversed(range(len(self.blocks))):
            self.needed[place + 1] = needed
            block = self.blocks[place]
            before = self._before_neurons if isinstance(block, Neurons) else self._before_attention
            needed = before(place, needed, lengths[place])
        self.needed[0] = needed

    def _before_neurons(self, place: int, needed: dict[int, set[int]], length: int) -> dict[int, set[int]]:
        block, read_before = self.blocks[place], {}
        assert isinstance(block, Neurons)
        for position, columns in needed.items():
            neurons = {neuron for j in columns for neuron, _ in block.out.terms[j]}
            read = {i for neuron in neurons for i, _ in block.into.terms[neuron]}
            read_before[position] = read | (columns if block.skip else set())
        return read_before

    def _before_attention(self, place: int, needed: dict[int, set[int]], length: int) -> dict[int, set[int]]:
        block = self.blocks[place]
        assert isinstance(block, Attention)
        read_before: dict[int, set[int]] = {}
        for position, columns in needed.items():
            asks = block.asking(length)[position]
            if block.skip:
                read_before.setdefault(asks, set()).update(columns)
            written = {e for j in columns for e, _ in block.out.terms[j]}
            for number, head in enumerate(block.heads):
                own = {e - head.first for e in written if head.first <= e < head.first + len(head.value.terms)}
                if not own:
                    continue
                values = {i for e in own for i, _ in head.value.terms[e]}
                tops = self.known.get((place, number, asks))
                for read in block.reads(asks, length) if tops is None else tops[0]:
                    read_before.setdefault(read, set()).update(values)
                if tops is None:
                    for read in block.reads(asks, length):
                        read_before[read] |= {i for terms in head.key.terms for i, _ in terms}
                    read_before.setdefault(asks, set()).update(i for terms in head.query.terms for i, _ in terms)
        return read_before

    # The stream.

    def run(self, contexts: Sequence[Context]) -> Row:
        """Return the last row before the readout, in all of these contexts; `plan` has been called."""
        stream = self.embedded(contexts)
        for place in range(len(self.blocks)):
            stream = self.stepped(place, stream)
            if any(column.scale > _LARGEST_SCALE for row in stream for column in row):
                raise UnfitError("integers become too long")
        return stream[-1]

    def embedded(self, contexts: Sequence[Context]) -> list[Row]:
        """Return the rows of tokens and positions; each entry is the sum of two given numbers."""
        scale = max(self.tokens.scale, self.places.scale)
        up, up_places = scale - self.tokens.scale, scale - self.places.scale
        columns = [[row[i] << up for row in self.tokens.rows] for i in range(self.width)]
        stream = []
        for position, here in enumerate(zip(*contexts, strict=True)):
            row = []
            for i, table in enumerate(columns):
                wanted = bool(self.needed) and i in self.needed[0].get(position, ())
                numbers = [table[token] for token in (here if wanted else set(here))]
                column = column_of(numbers, scale, (0,) * len(self.accounts))
                if not wanted and not column.is_constant:
                    column = replace(column, numbers=None)
                shift = self.places.rows[position][i] << up_places
                row.append(self._sum([product(1, 0, column)], shift, scale, self.fit, i))
            stream.append(row)
        return stream

    def stepped(self, place: int, stream: list[Row]) -> list[Row]:
        """Return the stream after a block."""
        block = self.blocks[place]
        if isinstance(block, Attention):
            return self._attended(place, block, stream)
        computed: dict[tuple[Column, ...], Row] = {}
        hidden: dict[tuple[int, tuple[Column, ...]], Column] = {}
        written: dict[tuple[int, tuple[Column, ...]], Column] = {}
        needed = self.needed[place + 1]
        stream = _alike(stream, needed)
        for position in sorted(range(len(stream)), key=lambda position: position not in needed):
            row = tuple(stream[position])  # equal columns are one object, of which all is found once
            if row not in computed:
                computed[row] = self._fed(block, list(row), hidden, written, exact=position in needed)
        return [computed[tuple(row)] for row in stream]

    def _sum(
        self, terms: Sequence[Term], shift: int, shift_scale: int, fits: list[list[bool]], j: int, fires: bool = False
    ) -> Column:
        """Return column j of a weighted sum, and how far it, or its positive part, is off for each account."""
        column, sizes = added(terms, shift, shift_scale)
        off = []
        for number, account in enumerate(self.accounts):
            drift = sum([term.drift[number] for term in terms])
            off.append(account.added(sizes, drift, fits=fits[number][j], fires=fires))
        column = replace(column, off=tuple(off))
        if column.is_constant:  # in all chunks that have it the same object
            return self.constants.setdefault((column.low, column.scale, column.off), column)
        return column

    def mapped(self, affine: Map, j: int, row: Row, more: Sequence[Term] = (), *, fires: bool = False) -> Column:
        """Return column j of an affine map of a row plus further terms of the same sum; with `fires`, its positive
        part.
        """
        terms = [product(weight, affine.scale, row[i]) for i, weight in affine.terms[j]]
        return self._sum([*terms, *more], affine.shifts[j], affine.shift_scale, affine.fits, j, fires)

    # Neurons.

    def _fed(
        self,
        block: Neurons,
        row: Row,
        hidden: dict[tuple[int, tuple[Column, ...]], Column],
        written: dict[tuple[int, tuple[Column, ...]], Column],
        *,
        exact: bool,
    ) -> Row:
        """Return the row after a feed-forward block; results per neuron and column are cached by their inputs.

        Of a row that is not needed exactly the ends are kept, unless a row that is needed has the same column.
        """
        fired: dict[int, Column] = {}
        looked_up: list[dict[int, Term]] = []
        for reads, neurons in block.groups.items():
            columns = tuple([row[i] for i in reads])
            known = all(column.numbers is not None for column in columns)
            if len(neurons) >= _MANY and known and not all(column.is_constant for column in columns):
                looked_up.append(self._looked_up(block, reads, neurons, row))
                continue
            for neuron in neurons:
                if (neuron, columns) not in hidden:
                    hidden[neuron, columns] = self.mapped(block.into, neuron, row, fires=True).rectified()
                fired[neuron] = hidden[neuron, columns]
        outputs, out = [], block.out
        for j, terms in enumerate(out.terms):
            own = [(fired[n], weight) for n, weight in terms if n in fired]
            groups = [group[j] for group in looked_up if j in group]
            skip = [row[j]] if block.skip else []
            key = j, (*(column for column, _ in own), *skip)
            if groups or key not in written:
                parts = [product(weight, out.scale, column) for column, weight in own]
                parts += [*groups, *(product(1, 0, column) for column in skip)]
                column = self._sum(parts, out.shifts[j], out.shift_scale, out.fits, j)
                if max(column.off, default=0) > _NEAR and not groups and len(terms) <= _NARROW:
                    column = self._narrowed(block, row, j, column, parts)
                if not exact and not column.is_constant:
                    column = replace(column, numbers=None)
                written[key] = column
            outputs.append(written[key])
        return outputs

    def _looked_up(self, block: Neurons, reads: tuple[int, ...], neurons: list[int], row: Row) -> dict[int, Term]:
        """Return the outputs of neurons that read the same columns, evaluated once per distinct input.

        Of a column that they write: the sum of their products for each context, and the largest sum of absolute values.
        """
        places, narrow = _distinct([row[i] for i in reads])
        small = dict(zip(reads, narrow, strict=True))
        inner = [small.get(i, column) for i, column in enumerate(row)]
        hidden = [self.mapped(block.into, neuron, inner, fires=True).rectified() for neuron in neurons]
        count, scale = max(places) + 1, hidden[0].scale
        number = {neuron: k for k, neuron in enumerate(neurons)}
        columns = {
            j: own
            for j, terms in enumerate(block.out.terms)
            if (own := [(number[n], weight) for n, weight in terms if n in number])
        }
        values, sizes = _written(hidden, list(columns.values()), count)
        looked_up = {}
        for at, (j, terms) in enumerate(columns.items()):
            line = [row[at] for row in values]
            looked_up[j] = Term(
                1,
                [line[place] for place in places],
                scale + block.out.scale,
                min(line),
                max(line),
                max(row[at] for row in sizes),
                lambda terms=terms: min((w & -w).bit_length() - 1 + hidden[k].unit for k, w in terms),
                len(terms),
                tuple([_drift(terms, block.out.scale, hidden, a) for a in range(len(self.accounts))]),
            )
        return looked_up

    def _narrowed(self, block: Neurons, row: Row, j: int, column: Column, terms: Sequence[Term]) -> Column:
        r"""Return the column with tighter bounds: neurons of one direction are a function of one number.

        $f(a) = \sum_n w_n \max(0, c_n a + b_n)$ is linear between its kinks $-b_n / c_n$, so over an interval of a it
        is largest and least at an end or at a kink. All neurons read the same finished numbers, nominal or of an
        account, so what they write together differs by at most that range, and by what each of their own sums rounds.
        """
        skip = row[j] if block.skip else Column([0], 0, 0, 0, (0,) * len(self.accounts))
        low = high = Fraction(block.out.shifts[j], 1 << block.out.shift_scale)
        low, high = low + Fraction(skip.low, 1 << skip.scale), high + Fraction(skip.high, 1 << skip.scale)
        drift = [_upper(r) for r in skip.off]
        weights = {n: Fraction(w, 1 << block.out.scale) for n, w in block.out.terms[j]}
        for direction, neurons in block.directions.items():
            own = [(c, block.into.shift(n), weights[n]) for n, c in neurons if n in weights]
            if len(own) > _FEW:
                return column
            if not own:
                continue
            least, most = _range(own, *_ends(direction, row, None))
            low, high = low + least, high + most
            for a in range(len(self.accounts)):
                least, most = _range(own, *_ends(direction, row, a))
                rounded = sum(
                    abs(weights[n]) * self._rounding(block.into, n, row, a) for n, _ in neurons if n in weights
                )
                drift[a] += most - least + rounded
        off = []
        for a, r in enumerate(column.off):
            naive = sum([term.drift[a] for term in terms])
            off.append(min(r, math.ceil(drift[a] * 2**RADIUS) + max(0, r - naive)))
        if column.numbers is not None:
            return replace(column, off=tuple(off))
        low, high = math.floor(low * 2**column.scale), math.ceil(high * 2**column.scale)
        return Column(None, column.scale, max(low, column.low), min(high, column.high), tuple(off))

    def _rounding(self, affine: Map, j: int, row: Row, account: int) -> Fraction:
        """Bound the rounding of the sum of column j of a map, besides the errors of its terms."""
        terms = [product(weight, affine.scale, row[i]) for i, weight in affine.terms[j]]
        _, sizes = added(terms, affine.shifts[j], affine.shift_scale)
        drift = sum([term.drift[account] for term in terms])
        off = self.accounts[account].added(sizes, drift, fits=affine.fits[account][j])
        return _upper(abs(off - drift))  # a sum that swallows what its terms are off by is off from theirs by that

    # Heads.

    def _attended(self, place: int, block: Attention, stream: list[Row]) -> list[Row]:
        """Return the stream after an attention: for each head, the average over the rows with the largest score."""
        length = len(stream)
        asking = block.asking(length)
        values = [[self._map(head.value, row) for row in stream] for head in block.heads]
        wanted = [self.needed[place + 1].get(position, set()) for position in range(len(asking))]
        looks = []
        for number, head in enumerate(block.heads):
            own = range(head.first, head.first + len(head.value.terms))
            exact = {
                asks: {e - head.first for j in columns for e, _ in block.out.terms[j] if e in own}
                for asks, columns in zip(asking, wanted, strict=True)
            }
            looks.append(_Looks(self, (place, number), head, block, stream, exact))
        attended: dict[int, Row] = {}
        known: dict[tuple[int, tuple[Column, ...]], Column] = {}
        for position in sorted(range(len(asking)), key=lambda position: not wanted[position]):
            mixed: Row = []
            for looked, value in zip(looks, values, strict=True):
                mixed += looked.mixed(asking[position], value)
            row = []
            for j, terms in enumerate(block.out.terms):
                skip = [stream[asking[position]][j]] if block.skip else []
                key = j, (*(mixed[e] for e, _ in terms), *skip)
                if key not in known:
                    known[key] = self.mapped(block.out, j, mixed, [product(1, 0, column) for column in skip])
                row.append(known[key])
            attended[position] = row
        return [attended[position] for position in range(len(asking))]

    def _map(self, affine: Map, row: Row) -> Row:
        return [self.mapped(affine, j, row) for j in range(len(affine.terms))]


@dataclass(frozen=True)
class _Scored:
    """The rows that a head attends to if its scores do not depend on tokens; shared by all chunks with these columns.

    Args:
        queries: From each position that asks.
        keys: Keys of each row.
        seen: The rows with the largest score, and what accounts have to know of them.
        weights: What accounts say of these.
    """

    queries: dict[int, Row]
    keys: list[Row]
    seen: dict[int, tuple[Tops | None, Looked | None]]
    weights: dict[tuple[tuple[int, ...], int], list[int | None]]


class _Looks:
    """The rows that one head attends to, from each position.

    Args:
        walk: The walk.
        place: The places of the block and of the head.
        head: The head.
        block: Its block.
        stream: The rows.
        exact: Which entries of what it reads from each position are needed exactly.
    """

    def __init__(
        self,
        walk: Walk,
        place: tuple[int, int],
        head: Head,
        block: Attention,
        stream: list[Row],
        exact: dict[int, set[int]],
    ) -> None:
        self.walk, self.block, self.exact, self.length = walk, block, exact, len(stream)
        asking = block.asking(self.length)
        self.queries = {asks: walk._map(head.query, stream[asks]) for asks in asking}
        self.keys = [walk._map(head.key, row) for row in stream]
        self.key_ends = [_hull(column) for column in zip(*self.keys, strict=True)]
        self.key_unit = [
            min(column.unit + end.scale - column.scale for column in columns)
            for columns, end in zip(zip(*self.keys, strict=True), self.key_ends, strict=True)
        ]
        self.hulls: dict[int, Row] = {}
        self.found: dict[tuple[tuple[int, ...], int], Row] = {}
        self.weights: dict[tuple[tuple[int, ...], int], list[int | None]] = {}
        before = walk.scored.get(place)
        if before is not None and (before.queries, before.keys) == (self.queries, self.keys):
            self.seen, self.weights = before.seen, before.weights
            return
        self.seen = {asks: self._look(asks) for asks in asking}
        for asks, (tops, looked) in self.seen.items():
            if tops is None or looked is None:
                continue
            if all(column.is_constant for row in (self.queries[asks], *self.keys[: looked.length]) for column in row):
                walk.known[*place, asks] = tops if looked.is_average else None
            if len(tops) == 1:
                key, weights = (tops[0], looked.length), self._weights(looked)
                known = self.weights.get(key, weights)
                self.weights[key] = [_larger(a, b) for a, b in zip(known, weights, strict=True)]
        if all(column.is_constant for row in (*self.queries.values(), *self.keys) for column in row):
            walk.scored[place] = _Scored(self.queries, self.keys, self.seen, self.weights)

    def _weights(self, looked: Looked) -> list[int | None]:
        return [account.weighs(looked, number) for number, account in enumerate(self.walk.accounts)]

    def _look(self, asks: int) -> tuple[Tops | None, Looked | None]:
        """Return the rows with the largest score; None if it is not needed, and depends on tokens."""
        reads = self.block.reads(asks, self.length)
        query, keys = self.queries[asks], [self.keys[r] for r in reads]
        known = all(column.numbers is not None for row in (query, *keys) for column in row)
        constant = known and all(column.is_constant for row in (query, *keys) for column in row)
        if not (constant or (known and self.exact[asks])):
            if self.exact[asks]:
                raise UnfitError("a head reads what is not known")
            # Whatever it reads, its scores are numbers: the accounts note an overflow.
            self._weights(
                Looked(None, 0, True, False, len(reads), self.block.root, query, self.key_ends, self.key_unit)
            )
            return None, None
        tops, gap, scale = _tops(query, keys)
        counts = {len(top) for top in tops}
        is_average = all(count & (count - 1) == 0 for count in counts)
        tops = tops if is_average else [top[:1] for top in tops]
        ties, root = max(counts) > 1, self.block.root
        return tops, Looked(gap, scale, ties, is_average, len(reads), root, query, self.key_ends, self.key_unit)

    def mixed(self, asks: int, values: list[Row]) -> Row:
        """Return the head's average at a position, entry by entry.

        From positions where it reads the same rows it is the same column, as far off as from the worst of them.
        """
        columns = list(zip(*(values[r] for r in self.block.reads(asks, self.length)), strict=True))
        hulls, exact = self._hulls(columns), self.exact[asks]
        tops, looked = self.seen[asks]
        if tops is None or looked is None:
            return [self._any_of(hull, self.length) for hull in hulls]
        key = tops[0], looked.length
        if len(tops) > 1:
            weights = self._weights(looked)
        else:
            weights = self.weights[key]
            if key in self.found and all(self.found[key][e].numbers is not None for e in exact):
                return self.found[key]
        row = [
            self._average(column, hull, tops, looked, weights, exact=e in exact)
            for e, (column, hull) in enumerate(zip(columns, hulls, strict=True))
        ]
        if len(tops) == 1:
            self.found[key] = row
        return row

    def _hulls(self, columns: list[tuple[Column, ...]]) -> Row:
        """Return the range of the values over all rows that are read, by entry; usually the same at each position."""
        count = len(columns[0]) if columns else 0
        if count not in self.hulls:
            self.hulls[count] = [_hull(column) for column in columns]
        return self.hulls[count]

    def _any_of(self, hull: Column, length: int) -> Column:
        """Return bounds of the output of a head that may read any of `length` rows: their hull, and its roundings."""
        reach = hull.size + divided_up(max(hull.off, default=0) << hull.scale, RADIUS)
        more = [account.anything(reach, hull.scale, length) for account in self.walk.accounts]
        return replace(hull, off=tuple([r + m for r, m in zip(hull.off, more, strict=True)]))

    def _average(
        self,
        column: tuple[Column, ...],
        hull: Column,
        tops: Tops,
        looked: Looked,
        weights: list[int | None],
        *,
        exact: bool,
    ) -> Column:
        """Return the average over the top rows of one entry of the values, and its error for each account."""
        power = max(len(top) for top in tops).bit_length() - 1
        scale = hull.scale + power
        read = {r for top in tops for r in top}
        wanted = exact or all(column[r].is_constant for r in read)
        if wanted and any(column[r].numbers is None for r in read):
            raise UnfitError("a head reads what is not known")
        if wanted:
            average = column_of(_averages(column, tops, scale), scale, ())
        else:
            average = Column(None, scale, hull.low << power, hull.high << power, ())
        own = _hull(tuple([column[r] for r in read]))
        unit = min(column[r].unit + hull.scale - column[r].scale for r in read)
        total = own.size << scale - own.scale
        sizes = Sizes(
            total,
            lambda: total,
            scale,
            lambda: unit,
            lambda _: iter((average.high,)),
            looked.length + 3,
            lambda: average.has_zero,
        )
        off = []
        for number, account in enumerate(self.walk.accounts):
            reach = hull.size + divided_up(hull.off[number] << hull.scale, RADIUS)
            weight = weights[number]
            if weight is None:  # the head may read any rows, and the nominal number is one of them
                apart = (hull.high - hull.low << RADIUS >> hull.scale) + 1 + 2 * hull.off[number]
                off.append(apart + account.anything(reach, hull.scale, looked.length))
                continue
            others = divided_up(weight * (reach + (1 << hull.scale)), hull.scale) if weight else 0
            off.append(account.mixed(sizes, others + own.off[number], looked, reach << power))
        return replace(average, off=tuple(off))


def _written(hidden: Row, columns: list[list[tuple[int, int]]], count: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return the outputs of neurons for each input, and the sum of the absolute values, by column.

    Of each reading only the neurons that fire are looked at.
    """
    weights: list[list[tuple[int, int]]] = [[] for _ in hidden]  # of each neuron the columns and weights
    for at, terms in enumerate(columns):
        for k, weight in terms:
            weights[k].append((at, weight))
    values, sizes = [[0] * len(columns) for _ in range(count)], [[0] * len(columns) for _ in range(count)]
    for column, own in zip(hidden, weights, strict=True):
        numbers = column.numbers or []
        for reading in range(count):
            n = numbers[reading if len(numbers) > 1 else 0]
            if n:
                line, size = values[reading], sizes[reading]
                for at, weight in own:
                    line[at] += n * weight
                    size[at] += n * abs(weight)
    return values, sizes


def _drift(terms: list[tuple[int, int]], scale: int, columns: Row, account: int) -> int:
    """How far products are off together for an account, rounded up."""
    return divided_up(sum(abs(weight) * columns[k].off[account] for k, weight in terms), scale)


def _larger(a: int | None, b: int | None) -> int | None:
    """Return the larger of two distances; None if either is unknown."""
    return None if a is None or b is None else max(a, b)


def _hull(columns: Sequence[Column]) -> Column:
    """Return the ends and the largest distances of some columns."""
    scale = max(column.scale for column in columns)
    low = min(column.low << scale - column.scale for column in columns)
    high = max(column.high << scale - column.scale for column in columns)
    return Column(
        None, scale, low, high, tuple([max(offsets) for offsets in zip(*(c.off for c in columns), strict=True)])
    )


def _common(row: Sequence[Column]) -> list[list[int]]:
    """Return the numbers of columns at a common scale, the largest of theirs."""
    scale = max([column.scale for column in row], default=0)
    return [[n << scale - column.scale for n in column.numbers or []] for column in row]


def _tops(query: Row, keys: list[Row]) -> tuple[Tops, int | None, int]:
    """Return the positions with the largest score in each context, a lower bound of their lead, and its scale."""
    width = len(query)
    numbers = _common([*query])
    scale = max([column.scale for column in query], default=0)
    flat = _common([column for row in keys for column in row])
    key_scale = max([column.scale for row in keys for column in row], default=0)
    count = max([len(column) for column in (*numbers, *flat)], default=1)
    scores = []
    for position in range(len(keys)):
        total = [0] * count
        for q, k in zip(numbers, flat[position * width : (position + 1) * width], strict=True):
            q, k = (values * count if len(values) < count else values for values in (q, k))
            total = [t + a * b for t, a, b in zip(total, q, k, strict=True)]
        scores.append(total)
    tops, gap = [], None
    for row in zip(*scores, strict=True):
        best = max(row)
        tops.append(tuple([r for r, score in enumerate(row) if score == best]))
        others = [score for score in row if score != best]
        if others:
            lead = best - max(others)
            gap = lead if gap is None else min(gap, lead)
    return tops, gap, scale + key_scale


def _averages(column: Sequence[Column], tops: Tops, scale: int) -> list[int]:
    """Return the averages over the top rows, at a scale that represents them all."""

    def up(r: int, count: int) -> int:
        return scale - column[r].scale + 1 - count.bit_length()

    if len(tops) == 1:
        top = tops[0]
        lists = [(1 << up(r, len(top)), column[r].numbers or []) for r in top]
        if len(lists) == 1:
            times, numbers = lists[0]
            return numbers if times == 1 else [times * n for n in numbers]
        longest = max(len(numbers) for _, numbers in lists)
        spread = [(times, numbers * longest if len(numbers) < longest else numbers) for times, numbers in lists]
        return [
            sum(summands) for summands in zip(*([times * n for n in numbers] for times, numbers in spread), strict=True)
        ]
    averages = []
    for context, top in enumerate(tops):
        total = 0
        for r in top:
            numbers = column[r].numbers or []
            total += numbers[context if len(numbers) > 1 else 0] << up(r, len(top))
        averages.append(total)
    return averages


def _distinct(columns: Sequence[Column]) -> tuple[list[int], list[Column]]:
    """Return the index of each context's input among the distinct inputs of some columns, and the columns of these."""
    numbers = [column.numbers or [] for column in columns if not column.is_constant]
    numbering: dict[tuple[int, ...], int] = {}
    places = [numbering.setdefault(key, len(numbering)) for key in zip(*numbers, strict=True)]
    distinct_numbers = iter(zip(*numbering, strict=True))
    distinct = []
    for column in columns:
        if not column.is_constant:
            column = column_of(list(next(distinct_numbers)), column.scale, column.off)
        distinct.append(column)
    return places, distinct
