r"""What the given weights compute where every head is all but hard: integers, and one radius for each column of rows.

Page: docs/rigour/certificate.md
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import add, or_
from typing import Any

from flint import arb, arb_mat, ctx, fmpz_mat

from verify.arithmetic.integers import Integers
from verify.independent.ball_forward import NoInformationError
from verify.independent.plain.plain_model import PlainBlock, PlainModel

_UNIT = 4096  # radii are integers over 2 to this power, rounded up
_SOFT = 64  # bits: a head that looks elsewhere with more than 2 to minus this is left to balls
_LONGEST = 4096  # bits of an integer
_TOGETHER = 2**20  # hidden neurons, or logits, that are in memory together
_LOG2_E = (14_426_950_408, 10**10)  # a little less than the binary logarithm of e

Columns = list[list[int]]


@dataclass(frozen=True)
class _Rows:
    r"""Distinct rows by columns, integers over $2^{scale}$, how far each column may be off, and where they stand."""

    columns: Columns
    scale: int
    radii: list[int]
    cells: list[tuple[int, ...]]

    def reduced(self) -> "_Rows":
        """The same rows, each once, over the least power of two."""
        bits = reduce(or_, chain.from_iterable(self.columns), 0)
        if bits.bit_length() > _LONGEST:
            raise NoInformationError(f"integers of {bits.bit_length()} bits")
        spare = min(self.scale, (bits & -bits).bit_length() - 1) if bits else self.scale
        found: dict[tuple[int, ...], int] = {}
        place = [found.setdefault(row, len(found)) for row in zip(*self.columns, strict=True)]
        columns = [[n >> spare for n in column] for column in zip(*found, strict=True)]
        cells = [tuple([place[r] for r in cell]) for cell in self.cells]
        return _Rows(columns, self.scale - spare, self.radii, cells)


class ExactForward:
    r"""The logits of a model of hard heads and ReLU neurons: exact integers, and how far the real logits are off.

    A row of the stream is an integer vector m over a power of two, and each coordinate of the real row is within a
    radius of it that all rows share. Affine maps of m are exact, and move a radius r to $\sum_i |w_{ij}| r_i$; a
    neuron is 1-Lipschitz. Of a head, let the scores of the integer rows be at most $\delta \le 1/2$ off, let k of
    the S keys share the largest one, and the others lie lower by g at least. Then the attention differs in 1-norm from
    the average over these k by at most

    $$ 2 \rho + [k > 1] \, 4 \delta , \qquad \rho = S e^{1 - g} , $$

    since the others have together at most $\rho$ times the weight of the k, and among the k no weight differs from
    $1 / k$ by a factor beyond $e^{\pm 2 \delta}$. What is mixed moves by this times its largest entry, and its radius.

    Args:
        model: The model, which `fits`.
    """

    def __init__(self, model: PlainModel) -> None:
        self.model = model

    @staticmethod
    def fits(model: PlainModel) -> bool:
        """Whether a model of tokens consists of plain attention and ReLU neurons alone."""

        def plain(block: PlainBlock) -> bool:
            if block.norm is not None or not block.is_plain:
                return False
            if block.kind == "attention":
                return block.options["queries"] == "stream" and block.shape("W_Q")[0] > 0
            return block.kind == "feed-forward" and block.options["activation"] == "relu"

        return model.reads_tokens and not model.ends and all(map(plain, model.blocks))

    def run(self, contexts: Sequence[tuple[int, ...]]) -> "ExactLogits":
        """What the model says of contexts.

        Raises:
            NoInformationError: A head is not hard, or averages over a number of rows that is no power of two.
        """
        rows = self._read_in(contexts)
        for block in self.model.blocks:
            rows = (_attended if block.kind == "attention" else _fed)(block, rows).reduced()
        ends = _Rows(rows.columns, rows.scale, rows.radii, [(cell[-1],) for cell in rows.cells])
        return ExactLogits(ends, self.model)

    def _read_in(self, contexts: Sequence[tuple[int, ...]]) -> _Rows:
        pairs = sorted({pair for context in contexts for pair in enumerate(context)})
        place = {pair: i for i, pair in enumerate(pairs)}
        tokens, positions = self.model.tensors["embed.W_E"], self.model.tensors.get("pos_embed.W_pos")
        parts = [[*tokens.row(t), *(positions.row(s) if positions is not None else ())] for s, t in pairs]
        exact, width = Integers.exact([*chain.from_iterable(parts)]), self.model.d_model
        wide = len(parts[0])
        columns = [exact.values[j::wide] for j in range(width)]
        if positions is not None:
            columns = [list(map(add, column, exact.values[width + j :: wide])) for j, column in enumerate(columns)]
        cells = [tuple([place[pair] for pair in enumerate(context)]) for context in contexts]
        return _Rows(columns, exact.scale, [0] * width, cells).reduced()


class ExactLogits:
    """The logits of some contexts, each different row once.

    Args:
        ends: The rows that are read out, one for each context.
        model: The model, for its readout.
    """

    def __init__(self, ends: _Rows, model: PlainModel) -> None:
        self.places = [cell[0] for cell in ends.cells]
        self.rows = list(zip(*ends.columns, strict=True))
        self.width, self.columns = model.tensors["unembed.W_U"].shape
        self.readout = _exact(model, "unembed.W_U")
        self.shift, self.scale = _shifts(
            model.tensors.get("unembed.b_U"), ends.scale + self.readout.scale, self.columns
        )
        self.finer = self.scale - ends.scale - self.readout.scale
        self.radius = max(_moved_radii(ends.radii, self.readout, self.columns), default=0)

    def of(self, places: Sequence[int]) -> Iterator[tuple[list[arb], arb]]:
        """The logits of rows of these numbers, exact, and how far each may be off."""
        matrix = fmpz_mat(self.width, self.columns, [n << self.finer for n in self.readout.values])
        together = max(1, _TOGETHER // self.columns)
        error = arb((self.radius, -_UNIT))
        for start in range(0, len(places), together):
            part = places[start : start + together]
            read = fmpz_mat(len(part), self.width, [*chain.from_iterable(self.rows[place] for place in part)]) * matrix
            read += fmpz_mat(len(part), self.columns, self.shift * len(part))
            with ctx.workprec(2 * _LONGEST):
                balls = (arb_mat(read) * arb((1, -self.scale))).tolist()
            yield from ((row, error) for row in balls)


def _exact(holder: PlainModel | PlainBlock, name: str) -> Integers:
    return Integers.exact(holder.tensors[name].values)


def _shifts(shift: Any, scale: int, width: int) -> tuple[list[int], int]:
    """A shift at this scale, or at a finer one that it needs."""
    exact = Integers.exact([0.0] * width if shift is None else shift.values)
    finest = max(scale, exact.scale)
    return [n << finest - exact.scale for n in exact.values], finest


def _moved_radii(radii: Sequence[int], weights: Integers, width: int) -> list[int]:
    """Radii after a linear map, rounded up."""
    sums = (sum(abs(w) * r for w, r in zip(weights.values[j::width], radii, strict=True)) for j in range(width))
    return [-(-total >> weights.scale) for total in sums]


def _of_distinct(columns: Columns, reads: Sequence[int]) -> tuple[list[tuple[int, ...]], list[int]]:
    """The different values of some columns together, and which of them each row has."""
    if not reads:
        return [()], [0] * len(columns[0])
    found: dict[tuple[int, ...], int] = {}
    place = [found.setdefault(row, len(found)) for row in zip(*(columns[i] for i in reads), strict=True)]
    return list(found), place


def _products(
    rows: Sequence[tuple[int, ...]], weights: Sequence[Sequence[int]], shift: Sequence[int]
) -> Iterator[list[Any]]:
    """Entries of rows times a matrix, with a shift, a few rows at a time."""
    width = len(shift)
    matrix = fmpz_mat(len(weights), width, [*chain.from_iterable(weights)])
    together = max(1, _TOGETHER // max(1, width))
    for start in range(0, len(rows), together):
        part = rows[start : start + together]
        moved = fmpz_mat(len(part), len(weights), [*chain.from_iterable(part)]) * matrix
        yield (moved + fmpz_mat(len(part), width, [*shift] * len(part))).entries()


def _fed(block: PlainBlock, rows: _Rows) -> _Rows:
    """Neurons, those that read the same columns together, for each different value of these."""
    hidden, written = block.shape("W_in")[1], block.writes
    into, out = _exact(block, "W_in"), _exact(block, "W_out")
    b_in, scale = _shifts(block.tensors.get("b_in"), rows.scale + into.scale, hidden)
    finer = scale - rows.scale - into.scale
    least = max(scale + out.scale, rows.scale)
    b_out, finest = _shifts(block.tensors.get("b_out"), least, written)
    size = len(rows.columns[0])
    columns = [[b] * size for b in b_out]
    if block.options["skip"]:
        up = finest - rows.scale
        columns = [[(n << up) + b for n in column] for column, b in zip(rows.columns, b_out, strict=True)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for j in range(hidden):
        groups.setdefault(tuple(i for i, w in enumerate(into.values[j::hidden]) if w), []).append(j)
    up = finest - scale - out.scale
    for reads, neurons in groups.items():
        values, place = _of_distinct(rows.columns, reads)
        goes = [j for j in range(written) if any(out.values[n * written + j] for n in neurons)]
        weights = [[into.values[i * hidden + j] << finer for j in neurons] for i in reads]
        moves = fmpz_mat(len(neurons), len(goes), [out.values[n * written + j] << up for n in neurons for j in goes])
        added: list[int] = []
        for entries in _products(values, weights, [b_in[j] for j in neurons]):
            active = [n if n > 0 else 0 for n in entries]
            added.extend(map(int, (fmpz_mat(len(active) // len(neurons), len(neurons), active) * moves).entries()))
        for k, j in enumerate(goes):
            more = added[k :: len(goes)]
            columns[j] = [n + more[p] for n, p in zip(columns[j], place, strict=True)]
    radii = _moved_radii(_moved_radii(rows.radii, into, hidden), out, written)
    if block.options["skip"]:
        radii = list(map(add, radii, rows.radii))
    return _Rows(columns, finest, radii, rows.cells)


def _attended(block: PlainBlock, rows: _Rows) -> _Rows:
    """Heads that are all but hard: the average of the rows with the largest score."""
    wanted = [each for cell in rows.cells for each in _asked(block, cell)]
    outputs = list(dict.fromkeys(wanted))
    number = {output: i for i, output in enumerate(outputs)}
    numbers = iter([number[output] for output in wanted])
    cells = [tuple([next(numbers) for _ in _asked(block, cell)]) for cell in rows.cells]
    (heads, width, _), written = block.shape("W_Q"), block.writes
    parts: list[tuple[Columns, list[tuple[int, ...]], int]] = []  # of each head: what it reads of rows, which, scale
    radii = list(rows.radii) if block.options["skip"] else [0] * written
    shift = _shift_of_heads(block)
    for head in range(heads):
        move, scale = _value_map(block, head)
        reads = [i for i in range(width) if any(move[i])]
        values, place = _of_distinct(rows.columns, reads)
        entries = [int(n) for part in _products(values, [move[i] for i in reads], [0] * written) for n in part]
        moved = [[entries[p * written + j] for p in place] for j in range(written)]
        seen, off = _seen(block, head, rows, outputs)
        largest = [max(map(abs, column), default=0) for column in moved]
        parts.append((moved, seen, rows.scale + scale))
        flat = Integers([n for row in move for n in row], scale)
        mixed = [-(-n * off >> rows.scale + scale) for n in largest]
        radii = [r + m + n for r, m, n in zip(radii, mixed, _moved_radii(rows.radii, flat, written), strict=True)]
    spread = max((len(tops).bit_length() - 1 for _, seen, _ in parts for tops in seen), default=0)
    finest = max(rows.scale, shift.scale, *(scale + spread for *_, scale in parts))
    columns = [[b << finest - shift.scale] * len(outputs) for b in shift.values]
    for moved, seen, scale in parts:
        ups = [finest - scale - (len(tops).bit_length() - 1) for tops in seen]
        for j, column in enumerate(moved):
            if any(column):
                sums = (column[tops[0]] if len(tops) == 1 else sum([column[r] for r in tops]) for tops in seen)
                columns[j] = [n + (m << up) for n, m, up in zip(columns[j], sums, ups, strict=True)]
    if block.options["skip"]:
        up, queries = finest - rows.scale, [query for query, _ in outputs]
        columns = [
            [n + (old[q] << up) for n, q in zip(column, queries, strict=True)]
            for column, old in zip(columns, rows.columns, strict=True)
        ]
    return _Rows(columns, finest, radii, cells)


def _asked(block: PlainBlock, cell: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """For each row that is left the one that asks, and those that it may read."""
    attends = block.options["attends"]
    if attends == "last":
        yield cell[-1], cell
    else:
        yield from ((query, cell[: i + 1] if attends == "causal" else cell) for i, query in enumerate(cell))


def _of_head(block: PlainBlock, name: str, head: int) -> tuple[list[list[int]], int]:
    """The matrix of a head, exact."""
    _, rows, columns = block.shape(name)
    size = rows * columns
    exact = Integers.exact(block.tensors[name].values[head * size : (head + 1) * size])
    return [exact.values[i * columns : (i + 1) * columns] for i in range(rows)], exact.scale


def _value_map(block: PlainBlock, head: int) -> tuple[list[list[int]], int]:
    """W_V W_O of a head."""
    (value, v), (output, o) = _of_head(block, "W_V", head), _of_head(block, "W_O", head)
    product = fmpz_mat(value) * fmpz_mat(output) if output else fmpz_mat(len(value), block.writes)
    return [list(map(int, row)) for row in product.table()], v + o


def _shift_of_heads(block: PlainBlock) -> Integers:
    """What all heads add whatever they see: the weights of a head sum to 1."""
    width, values = block.writes, block.tensors.get("b_V")
    shift = Integers.exact([0.0] * width if "b_O" not in block.tensors else block.tensors["b_O"].values)
    if values is None:
        return shift
    (heads, d_head), exact = values.shape, Integers.exact(values.values)
    maps = [_of_head(block, "W_O", head) for head in range(heads)]
    finest = max([shift.scale, *(exact.scale + scale for _, scale in maps)])
    total = [n << finest - shift.scale for n in shift.values]
    for head, (output, scale) in enumerate(maps):
        for i in range(d_head):
            n = exact.values[head * d_head + i] << finest - scale - exact.scale
            total = [t + n * w for t, w in zip(total, output[i], strict=True)]
    return Integers(total, finest)


def _seen(
    block: PlainBlock, head: int, rows: _Rows, outputs: list[tuple[int, tuple[int, ...]]]
) -> tuple[list[tuple[int, ...]], int]:
    """The rows with the largest score for each output, and what the attention differs from their average, in units."""
    asks, answers = (_asking(block, head, name, rows) for name in "QK")
    root = math.isqrt(block.options["score_root"])
    if root * root != block.options["score_root"]:
        raise NoInformationError("scores are divided by a root that is no integer")
    scale = asks.scale + answers.scale
    queries = fmpz_mat(asks.vectors) if asks.vectors[0] else fmpz_mat(len(asks.vectors), 0)
    keys = fmpz_mat(answers.vectors) if answers.vectors[0] else fmpz_mat(len(answers.vectors), 0)
    scores = [list(map(int, row)) for row in (queries * keys.transpose()).table()]
    # |q k - q' k'| <= |q| |k - k'| + |k| |q - q'| + |q - q'| |k - k'|, column by column.
    far = sum(
        -(-(q * s) >> asks.scale) - (-(k * r) >> answers.scale) - (-(r * s) >> _UNIT)
        for q, k, r, s in zip(asks.largest, answers.largest, asks.radii, answers.radii, strict=True)
    )
    delta = -(-far // root)
    known: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
    kinds: dict[tuple[int, ...], tuple[int, ...]] = {}
    gaps, ties, longest, result = [], False, 1, []
    for query, cell in outputs:
        if cell not in kinds:
            kinds[cell] = tuple([answers.place[r] for r in cell])
        kind, ask = kinds[cell], asks.place[query]
        tops = known.get((ask, kind))
        if tops is None:
            row = scores[ask]
            of_cell = [row[k] for k in kind]
            best = max(of_cell)
            tops = known[ask, kind] = tuple([s for s, n in enumerate(of_cell) if n == best])
            if len(tops) & len(tops) - 1:
                raise NoInformationError(f"a head averages over {len(tops)} rows")
            if len(tops) < len(kind):
                gaps.append(best - max(n for n in of_cell if n != best))
            ties, longest = ties or len(tops) > 1, max(longest, len(kind))
        result.append(tuple([cell[s] for s in tops]))
    off = 0
    if gaps:
        bits = ((min(gaps) // root >> scale) - 1) * _LOG2_E[0] // _LOG2_E[1]
        if bits < _SOFT:
            raise NoInformationError("a head is not hard")
        off = 2 * longest * (1 << max(0, _UNIT - bits))
    if 2 * delta > 1 << _UNIT:
        raise NoInformationError("scores are not known well enough")
    return result, off + (4 * delta if ties else 0)


@dataclass(frozen=True)
class _Asking:
    """Queries or keys: of each different value of what they read a vector, which rows have it, sizes and radii."""

    vectors: list[list[int]]
    scale: int
    place: list[int]
    largest: list[int]
    radii: list[int]


def _asking(block: PlainBlock, head: int, name: str, rows: _Rows) -> _Asking:
    weights, scale = _of_head(block, f"W_{name}", head)
    width = block.shape(f"W_{name}")[2]
    shift = block.tensors.get(f"b_{name}")
    exact = Integers.exact([0.0] * width if shift is None else shift.values[head * width : (head + 1) * width])
    finest = max(rows.scale + scale, exact.scale)
    reads = [i for i, row in enumerate(weights) if any(row)]
    values, place = _of_distinct(rows.columns, reads)
    up = finest - rows.scale - scale
    matrix = [[n << up for n in weights[i]] for i in reads]
    parts = _products(values, matrix, [n << finest - exact.scale for n in exact.values])
    entries = [int(n) for part in parts for n in part]
    vectors = [entries[i * width : (i + 1) * width] for i in range(len(values))]
    largest = [max(map(abs, column)) for column in zip(*vectors, strict=True)]
    flat = Integers([n for row in weights for n in row], scale)
    return _Asking(vectors, finest, place, largest, _moved_radii(rows.radii, flat, width))
