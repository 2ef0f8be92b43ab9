r"""What the given weights compute, in balls: the forward pass of the independent reader, for a model of any blocks.

Every number is a ball of FLINT (a midpoint with a radius), exact where it is read from a file, so that each ball
contains the real number that the weights define, whatever the number of bits; more bits make the balls smaller.

Page: docs/rigour/certificate.md
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import add
from typing import Literal

from flint import arb, arb_mat, ctx

from verify.independent.piecewise_linear import PiecewiseLinear
from verify.independent.plain.plain_arrays import PlainArray
from verify.independent.plain.plain_model import PlainBlock, PlainModel
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask

BITS = 128
PRECISIONS = tuple(BITS << k for k in range(6))  # tried one after the other until everything is decided
_CHUNK = 1024  # examples that are in memory together
_ENTRIES = 2**20  # outputs that are, where there is not much else
_FEW = 16  # numbers that are not worth the lines between the zeros of neurons
_DENSE = 32  # a product of all queries with all keys is made if it is at most so many times what is needed
_REUSED = 2  # rows that are read so often are moved to the output before they are mixed

Row = list[arb]
_Output = tuple[int, tuple[int, ...]]  # a query, and the rows that it reads
Features = Literal["values", "inputs"]


class NoInformationError(Exception):
    """A ball became too wide to say anything; leads to UNDECIDED."""


@dataclass(frozen=True)
class Passed:
    """What a model does with some examples, in balls.

    Args:
        outputs: The logits or outputs, `[examples][d_vocab_out]`.
        features: What the heads of the first attention mix, side by side, `[examples][n_heads * width]`, if asked for.
        last: The row of the stream at the last position that this attention reads, `[examples][d_model]`, likewise.
        shares: The largest attention weight of each head, `[examples][n_heads]`, likewise.
    """

    outputs: list[Row]
    features: list[Row]
    last: list[Row]
    shares: list[Row]


@dataclass(frozen=True)
class _Stream:
    """Distinct rows, for each example which of them stand at its positions, and what the attention in front read."""

    rows: arb_mat
    cells: list[tuple[int, ...]]
    before: arb_mat | None = None


class BallForward:
    r"""A model on the examples of a task, with balls of so many bits.

    Rows are computed once however many examples they stand in. What depends on tokens and positions alone, up to and
    including the exponentials of the scores of the first attention, is computed when the object is made: for a network
    that reads tokens there is one exponential for each head, last token, position and token.

    Args:
        model: The model.
        task: The task; the examples of a task of tokens are the memorized contexts and then those of the tail.
        bits: Precision of the balls.
        features: Whether the heads of the first attention shall be kept, with their ``values`` $x W_V^h$ or their
            ``inputs`` $x$ as what they mix.

    Raises:
        NoInformationError: The rows are wider than the file has numbers (blocks without neurons and heads).
    """

    def __init__(
        self,
        model: PlainModel,
        task: PlainTask | PlainVectorTask,
        *,
        bits: int = BITS,
        features: Features | None = None,
        examples: Sequence[int] | None = None,
    ) -> None:
        entries = sum(len(tensor.values) for tensor in model.tensors.values())
        if any(block.writes > entries for block in model.blocks):
            raise NoInformationError("a block without any number writes rows that are wider than the model has numbers")
        self.bits, self.keep = bits, features is not None
        with ctx.workprec(bits):
            self.read_out = _matrix(model.tensors["unembed.W_U"])
            self.shift = _shift(model.tensors.get("unembed.b_U"))
            self.ends = {name: arb(float.fromhex(x)) for name, x in model.ends.items() if name != "positions"}
            first = next((i for i, block in enumerate(model.blocks) if block.kind == "attention"), len(model.blocks))
            self.before, after = model.blocks[:first], model.blocks[first:]
            stream, self.index, queries = _read_in(model, task, examples)
            for block in self.before:
                stream = _row_by_row(block, stream)
            self.stream, self.attention, self.after, self.lines = stream, None, after[1:], None
            if self.after and PiecewiseLinear.fits(self.after[-1]):
                readout, shift = model.tensors["unembed.W_U"], model.tensors.get("unembed.b_U")
                self.lines = PiecewiseLinear(self.after[-1], readout, shift)
            alone = self.lines is not None and len(self.after) == 1
            self.together = max(_CHUNK, _ENTRIES // model.d_vocab_out) if alone else _CHUNK
            if after:
                self.attention = _Attention(after[0], stream, queries, features or "values", keep=self.keep)

    def run(self, examples: Sequence[int]) -> Passed:
        """What the model does with the examples of these numbers, among those that the object was made for."""
        passed = Passed([], [], [], [])
        with ctx.workprec(self.bits):
            for start in range(0, len(examples), self.together):
                self._run([self.index[example] for example in examples[start : start + self.together]], passed)
        return passed

    def _run(self, places: list[int], passed: Passed) -> None:
        stream = _Stream(self.stream.rows, [self.stream.cells[place] for place in places])
        if self.attention is not None:
            if self.keep:
                passed.last.extend(self.attention.inputs[cells[-1]] for cells in stream.cells)
            mixed = self.attention.run(stream.cells, places)
            stream = mixed.stream
            if self.keep:
                ends = [cells[-1] for cells in stream.cells]
                passed.features.extend(mixed.features[end] for end in ends)
                passed.shares.extend(mixed.shares[end] for end in ends)
        for block in self.after if self.lines is None else self.after[:-1]:
            if block.kind == "attention":
                stream = _Attention(block, stream, None, "values", keep=False).run(stream.cells, None).stream
            else:
                stream = _row_by_row(block, stream)
        ends = sorted({cells[-1] for cells in stream.cells})
        place = {end: i for i, end in enumerate(ends)}
        rows = _rows(stream.rows)
        outputs = list(map(self._bent, self._outputs(_stacked([rows[end] for end in ends], stream.rows.ncols()))))
        passed.outputs.extend(outputs[place[cells[-1]]] for cells in stream.cells)

    def _bent(self, outputs: Row) -> Row:
        """The outputs divided by a number and with a cap on them, where there is one."""
        if "logit_divisor" in self.ends:
            outputs = [x / self.ends["logit_divisor"] for x in outputs]
        cap = self.ends.get("logit_cap")
        return outputs if cap is None else [_capped(x, cap) for x in outputs]

    def _outputs(self, rows: arb_mat) -> list[Row]:
        """What is read out of these rows; the last block still has to map them if it is a piecewise linear function."""
        if self.lines is None:
            return _rows(_moved(rows, self.read_out, self.shift))
        numbers = rows.entries()
        outputs: list[Row | None] = [None] * len(numbers)
        if len(numbers) > _FEW:
            outputs = self.lines(numbers)
        left = [i for i, row in enumerate(outputs) if row is None]
        if left:
            stream = _Stream(arb_mat(len(left), 1, [numbers[i] for i in left]), [])
            read = _moved(_row_by_row(self.after[-1], stream).rows, self.read_out, self.shift)
            for i, row in zip(left, _rows(read), strict=True):
                outputs[i] = row
        return [row for row in outputs if row is not None]


def _read_in(
    model: PlainModel, task: PlainTask | PlainVectorTask, examples: Sequence[int] | None
) -> tuple[_Stream, dict[int, int], arb_mat | None]:
    """The stream before the first block, the places of the examples in it, and their queries where the task has any."""
    if isinstance(task, PlainTask):
        everything = [*task.contexts, *task.tail_contexts]
        chosen = range(len(everything)) if examples is None else examples
        pairs = sorted({pair for i in chosen for pair in enumerate(everything[i])})
        place = {pair: i for i, pair in enumerate(pairs)}
        tokens, positions = model.tensors["embed.W_E"], model.tensors.get("pos_embed.W_pos")
        rows = [list(map(arb, tokens.row(t))) for _, t in pairs]
        if positions is not None:
            rows = [list(map(add, row, map(arb, positions.row(s)))) for row, (s, _) in zip(rows, pairs, strict=True)]
        cells = [tuple(place[pair] for pair in enumerate(everything[i])) for i in chosen]
        return _Stream(_stacked(rows, model.d_model), cells), {i: k for k, i in enumerate(chosen)}, None
    shape, (size, width) = task.contexts.shape, task.queries.shape
    chosen = range(size) if examples is None else examples
    needed = [0] if shape[0] == 1 else chosen
    rows = [_row(task.contexts.values, i * shape[1] + j, width) for i in needed for j in range(shape[1])]
    contexts = [tuple(range(k * shape[1], (k + 1) * shape[1])) for k in range(len(needed))]
    cells = contexts if shape[0] > 1 else contexts * len(chosen)
    queries = _stacked([_row(task.queries.values, i, width) for i in chosen], width)
    return _Stream(_stacked(rows, width), cells), {i: k for k, i in enumerate(chosen)}, queries


@dataclass(frozen=True)
class _Mixed:
    """What an attention leaves: the stream, and of its distinct rows the features and the largest weights."""

    stream: _Stream
    features: list[Row]
    shares: list[Row]


class _Attention:
    """An attention on a stream of distinct rows: its exponentials, ready to be mixed for any examples.

    A distinct output is a pair of a query and the tuple of the rows that it reads. Softmax does not change if a
    constant is subtracted from all scores, so that the midpoint of any one of them may be, here of about the largest.
    """

    def __init__(
        self, block: PlainBlock, stream: _Stream, queries: arb_mat | None, mixes: Features, *, keep: bool
    ) -> None:
        self.block, self.of_task, self.keep = block, block.options["queries"] == "task", keep
        self.heads, _, self.d_qk = block.shape("W_Q")
        self.inputs = _rows(stream.rows) if keep or block.options["skip"] else []
        rows = stream.rows if block.norm is None else _normalized(block.norm, stream.rows)
        asked = rows if queries is None or not self.of_task else queries
        needed: dict[int, set[int]] = {}
        slots = 0
        for query, seen in self._outputs(stream.cells, range(len(stream.cells))):
            needed.setdefault(query, set()).update(seen)
            slots += len(seen)
        self.early = slots >= _REUSED * rows.nrows() and not keep
        self.exponentials: list[dict[int, dict[int, arb]]] = []
        self.mixed: list[list[Row]] = []  # of each head: what is mixed, a row for each row of the stream
        self.moves: list[arb_mat] = []  # of each head: where it goes
        shift = _shift(block.tensors.get("b_O"))
        root = arb(block.options["score_root"]).sqrt()
        place = {row: s for cell in stream.cells for s, row in enumerate(cell)}
        shared = self.heads // block.options.get("key_heads", self.heads) if self.heads else 1
        queries_of, keys_of = (self._asking(x, name, place) for x, name in ((asked, "Q"), (rows, "K")))
        clip = block.options.get("clip")
        for head in range(self.heads):
            query, key = queries_of[head], keys_of[head // shared]
            slope = arb(block.tensors["slopes"].values[head]) if "slopes" in block.tensors else None
            bent = _Bent(block.options.get("score_cap"), slope, place)
            self.exponentials.append(
                _exponentials(_rows(query if root == 1 else query * (1 / root)), key, needed, bent)
            )
            (value, of_value), output = self._map("V", head // shared), _matrix(block.tensors["W_O"], head)
            if clip is not None:
                self.mixed.append(_rows(_clipped(_moved(rows, value, of_value), clip)))
                self.moves.append(output)
                continue
            if of_value:  # the weights of a head sum to 1, so that it is added once
                moved = _times(of_value, output)
                shift = list(map(add, shift, moved)) if shift else moved
            if mixes == "values" or not keep:
                self.mixed.append(_rows(rows * value))
                self.moves.append(output)
            else:
                self.mixed.append(_rows(rows))
                self.moves.append(value * output)
        self.shift = shift
        self.post_norm = block.norms.get("post_norm")
        if self.early:
            moved = [
                _stacked(mixed, output.nrows()) * output for mixed, output in zip(self.mixed, self.moves, strict=True)
            ]
            rows_of = [_rows(matrix) for matrix in moved]
            self.reads = [_stacked([head[r] for head in rows_of], block.writes) for r in range(rows.nrows())]

    def _asking(self, rows: arb_mat, name: str, place: dict[int, int]) -> list[arb_mat]:
        """Queries or keys of each head: moved, cut off, normalized, turned, in this order."""
        options, norm = self.block.options, self.block.norms.get(f"{name.lower()}_norm")
        count = self.block.shape(f"W_{name}")[0]
        heads = [_moved(rows, *self._map(name, head)) for head in range(count)]
        if "clip" in options:
            heads = [_clipped(x, options["clip"]) for x in heads]
        if norm is not None:
            heads = _normalized_heads(norm, heads, together=options.get("norms_all", False))
        if "turned" in options:
            frequencies = [arb(f) for f in self.block.tensors["frequencies"].values]
            heads = [_turned(x, frequencies, options["turned"], place) for x in heads]
        return heads

    def _map(self, name: str, head: int) -> tuple[arb_mat, Row]:
        shift = self.block.tensors.get(f"b_{name}")
        return _matrix(self.block.tensors[f"W_{name}"], head), _row(shift.values, head, shift.shape[1]) if shift else []

    def _outputs(
        self, cells: Iterable[tuple[int, ...]], places: Iterable[int]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """For each row that is left, one example after the other: the query, and the rows that it reads."""
        attends = self.block.options["attends"]
        for place, seen in zip(places, cells, strict=True):
            if attends == "last":
                yield place if self.of_task else seen[-1], seen
            else:
                yield from ((query, seen[: i + 1] if attends == "causal" else seen) for i, query in enumerate(seen))

    def run(self, cells: list[tuple[int, ...]], places: Sequence[int] | None) -> _Mixed:
        """The stream after the attention; `places` are those of the examples among the queries of a task."""
        wanted = list(self._outputs(cells, range(len(cells)) if places is None else places))
        index = {output: i for i, output in enumerate(dict.fromkeys(wanted))}
        outputs = list(index)
        numbers = iter(index[output] for output in wanted)
        per_example = (lambda seen: 1) if self.block.options["attends"] == "last" else len
        after = [tuple(next(numbers) for _ in range(per_example(seen))) for seen in cells]
        weights = [[_softmax(table[query], seen) for query, seen in outputs] for table in self.exponentials]
        features: list[Row] = []
        if self.early:
            rows = self._mixed_after(outputs, weights)
        else:
            features = self._mix(outputs, weights)
            width = sum(move.nrows() for move in self.moves)
            stacked = _stacked([row for move in self.moves for row in _rows(move)], self.block.writes)
            rows = _rows(_stacked(features, width) * stacked) if width else _zeros(len(outputs), self.block.writes)
        if self.shift:
            rows = [list(map(add, row, self.shift)) for row in rows]
        if self.post_norm is not None:
            rows = _rows(_normalized(self.post_norm, _stacked(rows, self.block.writes)))
        before = None
        if self.block.options["skip"]:
            before = _stacked([self.inputs[query] for query, _ in outputs], self.block.reads)
            rows = [list(map(add, row, self.inputs[query])) for row, (query, _) in zip(rows, outputs, strict=True)]
        shares = [[_largest(head[i]) for head in weights] for i in range(len(outputs))] if self.keep else []
        return _Mixed(_Stream(_stacked(rows, self.block.writes), after, before), features, shares)

    def _mix(self, outputs: list[_Output], weights: list[list[Row]]) -> list[Row]:
        """The features: for each output the mixed rows of each head, side by side."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, (_, seen) in enumerate(outputs):
            groups.setdefault(seen, []).append(i)
        features: list[Row] = [[] for _ in outputs]
        for mixed, of_head in zip(self.mixed, weights, strict=True):
            for seen, members in groups.items():
                read = _stacked([mixed[r] for r in seen], len(mixed[0]))
                product = _stacked([of_head[i] for i in members], len(seen)) * read
                for i, row in zip(members, _rows(product), strict=True):
                    features[i].extend(row)
        return features

    def _mixed_after(self, outputs: list[_Output], weights: list[list[Row]]) -> list[Row]:
        """The output of all heads, row by row that is read: one product for each row, with the weights that it gets."""
        readers: dict[int, list[tuple[int, int]]] = {}
        for i, (_, seen) in enumerate(outputs):
            for k, r in enumerate(seen):
                readers.setdefault(r, []).append((i, k))
        parts: list[list[Row]] = [[] for _ in outputs]
        for r, members in readers.items():
            entries = [head[i][k] for i, k in members for head in weights]
            product = arb_mat(len(members), self.heads, entries) * self.reads[r]
            for (i, _), row in zip(members, _rows(product), strict=True):
                parts[i].append(row)
        return [[reduce(add, column) for column in zip(*rows, strict=True)] for rows in parts]


@dataclass(frozen=True)
class _Bent:
    """What becomes of the scores of rows: c tanh(s / c) with a cap c, plus a slope times the position."""

    cap: str | None
    slope: arb | None
    place: dict[int, int]

    def __call__(self, read: Sequence[int], scores: Row) -> Row:
        if self.cap is not None:
            scores = [_capped(s, arb(float.fromhex(self.cap))) for s in scores]
        if self.slope is not None:
            scores = [s + self.slope * self.place[row] for row, s in zip(read, scores, strict=True)]
        return scores


def _capped(x: arb, c: arb) -> arb:
    return c * (x / c).tanh()


def _clipped(rows: arb_mat, c: str) -> arb_mat:
    bound = arb(float.fromhex(c))
    return arb_mat(rows.nrows(), rows.ncols(), [x.max(-bound).min(bound) for x in rows.entries()])


def _normalized_heads(norm: PlainBlock, heads: list[arb_mat], *, together: bool) -> list[arb_mat]:
    """The rows of each head normalized by themselves, or those of all heads as one row."""
    width = heads[0].ncols()
    if together:
        rows = [list(chain(*row)) for row in zip(*map(_rows, heads), strict=True)]
        table = _rows(_normalized(norm, _stacked(rows, norm.reads)))
        return [_stacked([row[h * width : (h + 1) * width] for row in table], width) for h in range(len(heads))]
    gains, shifts = _shift(norm.tensors["w"]), _shift(norm.tensors.get("b"))
    found = []
    for h, head in enumerate(heads):
        at = h * width if len(gains) > width else 0
        rows = _rows(_scaled(norm, head))
        rows = [[x * w for x, w in zip(row, gains[at : at + width], strict=True)] for row in rows]
        if shifts:
            rows = [list(map(add, row, shifts[at : at + width])) for row in rows]
        found.append(_stacked(rows, width))
    return found


def _turned(heads: arb_mat, frequencies: Row, pairs: str, place: dict[int, int]) -> arb_mat:
    """The complex number of each pair of entries times exp(i s f), s the position of its row."""
    table, count = _rows(heads), len(frequencies)
    for number, row in enumerate(table):
        if number not in place:
            continue  # no example has it
        for k, f in enumerate(frequencies):
            i, j = (k, count + k) if pairs == "halves" else (2 * k, 2 * k + 1)
            angle = place[number] * f
            cos, sin = angle.cos(), angle.sin()
            row[i], row[j] = row[i] * cos - row[j] * sin, row[i] * sin + row[j] * cos
    return _stacked(table, heads.ncols())


def _exponentials(
    query: list[Row], key: arb_mat, needed: dict[int, set[int]], bent: _Bent
) -> dict[int, dict[int, arb]]:
    """For each query and each row that it reads the exponential of the score less a constant of the query."""
    result = {}
    asked = [query[number] for number in needed]
    dense = len(asked) * key.nrows() <= _DENSE * sum(map(len, needed.values()))
    everything = _rows(_stacked(asked, key.ncols()) * key.transpose()) if dense else [[]] * len(asked)
    keys: dict[tuple[int, ...], arb_mat] = {}
    rows = [] if dense else _rows(key)
    for (number, seen), asks, scores in zip(needed.items(), asked, everything, strict=True):
        order = tuple(sorted(seen))
        if dense:
            scores = [scores[r] for r in order]
        else:
            if order not in keys:
                keys[order] = _stacked([rows[r] for r in order], key.ncols()).transpose()
            scores = (_stacked([asks], key.ncols()) * keys[order]).entries()
        scores = bent(order, scores)
        top = max(scores).mid()
        result[number] = dict(zip(order, [(score - top).exp() for score in scores], strict=True))
    return result


def _softmax(exponentials: dict[int, arb], seen: tuple[int, ...]) -> Row:
    chosen = [exponentials[r] for r in seen]
    inverse = 1 / sum(chosen[1:], chosen[0])
    return [e * inverse for e in chosen]


def _largest(row: Row) -> arb:
    result = row[0]
    for entry in row[1:]:
        result = result.max(entry)
    return result


def _row_by_row(block: PlainBlock, stream: _Stream) -> _Stream:
    """A block that maps each row of the stream by itself."""
    if block.kind != "feed-forward":
        return _Stream(_normalized(block, stream.rows), stream.cells)
    rows = stream.rows
    if block.options.get("parallel"):
        assert stream.before is not None
        rows = stream.before
    rows = rows if block.norm is None else _normalized(block.norm, rows)
    inner = _moved(rows, _matrix(block.tensors["W_in"]), _shift(block.tensors.get("b_in")))
    function = _ACTIVATIONS[block.options["activation"]]
    if "W_gate" in block.tensors:
        gates = _moved(rows, _matrix(block.tensors["W_gate"]), _shift(block.tensors.get("b_gate"))).entries()
        fired = [function(g) * u for g, u in zip(gates, inner.entries(), strict=True)]
    else:
        fired = list(map(function, inner.entries()))
    active = arb_mat(inner.nrows(), inner.ncols(), fired)
    result = _moved(active, _matrix(block.tensors["W_out"]), _shift(block.tensors.get("b_out")))
    if "post_norm" in block.norms:
        result = _normalized(block.norms["post_norm"], result)
    return _Stream(result + stream.rows if block.options["skip"] else result, stream.cells)


def _normalized(block: PlainBlock, rows: arb_mat) -> arb_mat:
    gain, shift = _shift(block.tensors["w"]), _shift(block.tensors.get("b"))
    result = []
    for row in _rows(_scaled(block, rows)):
        row = [x * w for x, w in zip(row, gain, strict=True)]
        result.append(list(map(add, row, shift)) if shift else row)
    return _stacked(result, len(gain))


def _scaled(block: PlainBlock, rows: arb_mat) -> arb_mat:
    """The rows of a normalization before gain and shift."""
    width, epsilon = rows.ncols(), arb(block.epsilon)
    result = []
    for row in _rows(rows):
        if block.kind == "layer":
            mean = sum(row, arb(0)) / width
            row = [x - mean for x in row]
        scale = (sum((x * x for x in row), arb(0)) / width + epsilon).rsqrt()
        result.append([x * scale for x in row])
    return _stacked(result, width)


def _gelu(u: arb) -> arb:
    """u Phi(u); the complement of the error function keeps the accuracy of large negative numbers."""
    return u / 2 * (-u / arb(2).sqrt()).erfc()


def _gelu_tanh(u: arb, root: arb) -> arb:
    """(1 + tanh v) / 2 is the logistic function of 2 v."""
    return u * _logistic(2 * root * (u + arb(44715) / 10**6 * u * u * u))


def _logistic(u: arb) -> arb:
    if u.mid() > 0:
        return 1 / (1 + (-u).exp())
    power = u.exp()
    return power / (1 + power)


_ACTIVATIONS: dict[str, Callable[[arb], arb]] = {
    "relu": lambda u: u.max(arb(0)),
    "gelu": _gelu,
    "gelu-tanh": lambda u: _gelu_tanh(u, (2 / arb.pi()).sqrt()),
    "gelu-bloom": lambda u: _gelu_tanh(u, arb(79788456) / 10**8),
    "silu": lambda u: u * _logistic(u),
}


def _row(values: Sequence[float], i: int, width: int) -> Row:
    return [arb(x) for x in values[i * width : (i + 1) * width]]


def _matrix(tensor: PlainArray, block: int = 0) -> arb_mat:
    """A matrix, or the one of that number of a tensor of three dimensions; float64 numbers are exact balls."""
    rows, columns = tensor.shape[-2:]
    return arb_mat(rows, columns, _row(tensor.values, block, rows * columns))


def _shift(tensor: PlainArray | None) -> Row:
    return [] if tensor is None else list(map(arb, tensor.values))


def _stacked(rows: Sequence[Row], width: int) -> arb_mat:
    return arb_mat(len(rows), width, list(chain.from_iterable(rows)))


def _zeros(rows: int, columns: int) -> list[Row]:
    return [[arb(0)] * columns for _ in range(rows)]


def _rows(matrix: arb_mat) -> list[Row]:
    entries, width = matrix.entries(), matrix.ncols()
    return [entries[i * width : (i + 1) * width] for i in range(matrix.nrows())]


def _moved(rows: arb_mat, matrix: arb_mat, shift: Row) -> arb_mat:
    product = rows * matrix
    return product + _stacked([shift] * rows.nrows(), len(shift)) if shift else product


def _times(row: Row, matrix: arb_mat) -> Row:
    return (arb_mat(1, len(row), row) * matrix).entries()
