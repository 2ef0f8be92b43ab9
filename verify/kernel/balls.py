"""Evaluate a model of any blocks in FLINT's balls, which contain the exact numbers at any precision.

Every number of a file is an exact ball and every operation on balls contains all results over its operands, so by
induction each ball contains the exact number; a comparison of balls that holds is a theorem. More bits make balls
smaller. Rows of the stream are computed once, however many contexts they stand in.

Page: docs/rigour/kernel.md
"""

from collections.abc import Callable, Iterator, Sequence

from flint import arb, arb_mat, ctx

from verify.kernel.files import Tensor
from verify.kernel.model import Block, Model
from verify.kernel.task import Context, Vectors

PRECISIONS = (128, 256, 512, 1024, 2048, 4096)
TOGETHER = 1024  # contexts that are evaluated together
_PAIRS = 2**22  # pairs of their positions, for each of which a head may compute a weight

Row = list[arb]
Cell = tuple[int, ...]  # of a context the numbers of its rows, position by position


def batches(contexts: Sequence[Context], few: int = TOGETHER) -> Iterator[Sequence[Context]]:
    """Yield the contexts in order, in batches whose computation needs little memory.

    Args:
        contexts: All of them.
        few: At most this many are the first ones.
    """
    start = 0
    while start < len(contexts):
        end, pairs = start + 1, len(contexts[start]) ** 2
        while end < min(len(contexts), start + (few if start == 0 else TOGETHER)):
            pairs += len(contexts[end]) ** 2
            if pairs > _PAIRS:
                break
            end += 1
        yield contexts[start:end]
        start = end


def all_logits(model: Model, contexts: Sequence[Context], bits: int) -> Iterator[Row]:
    """Yield the logits after each context of tokens, in balls of `bits` bits, batch by batch."""
    for some in batches(contexts):
        yield from logits(model, some, bits)


def logits(model: Model, contexts: Sequence[Context], bits: int, vectors: Vectors | None = None) -> list[Row]:
    """Return the logits after all contexts, in balls of `bits` bits; contexts of vectors use the given vectors."""
    with ctx.workprec(bits):
        rows, cells, queries = embedded(model, contexts, vectors)
        before: list[Row] = []  # what the attention in front of parallel neurons read
        for block in model.blocks:
            if block.kind == "attention":
                asking = queries if block.options["queries"] == "task" else [cell[-1] for cell in cells]
                rows, cells, before = _attended(block, rows, cells, asking)
            elif block.kind == "feed-forward":
                rows = _fed(block, rows, before)
            else:
                rows = _normalized(block, rows)
        ends = {end: i for i, end in enumerate(dict.fromkeys(cell[-1] for cell in cells))}
        read = _affine([rows[end] for end in ends], model.tensors["W_U"], model.tensors.get("b_U"))
        if "logit_divisor" in model.ends:
            divisor = arb(float.fromhex(model.ends["logit_divisor"]))
            read = [[x / divisor for x in row] for row in read]
        if "logit_cap" in model.ends:
            read = [_capped(row, float.fromhex(model.ends["logit_cap"])) for row in read]
        return [read[ends[cell[-1]]] for cell in cells]


def embedded(
    model: Model, contexts: Sequence[Context], vectors: Vectors | None
) -> tuple[list[Row], list[Cell], list[int]]:
    """Return the distinct rows that contexts read, the indices of the rows of each context, and those of the queries.

    There is one row for each token at each position, or for each vector. Only contexts of vectors have queries.
    """
    if vectors is not None:
        index: dict[int, int] = {}
        cells = [tuple([index.setdefault(n, len(index)) for n in context]) for context in contexts]
        rows = [[arb(x) for x in vectors.rows[n]] for n in index]
        return rows, [cell[:-1] for cell in cells], [cell[-1] for cell in cells]
    index_of: dict[tuple[int, int], int] = {}  # by position and token
    cells = [tuple([index_of.setdefault(p, len(index_of)) for p in enumerate(context)]) for context in contexts]
    rows = [[arb(x) for x in model.tensors["W_E"].row(token)] for _, token in index_of]
    if "W_pos" in model.tensors:
        for row, (position, _) in zip(rows, index_of, strict=True):
            row[:] = [x + arb(y) for x, y in zip(row, model.tensors["W_pos"].row(position), strict=True)]
    return rows, cells, []


def _matrix(tensor: Tensor, head: int | None = None) -> arb_mat:
    rows, columns = tensor.shape[-2:]
    values = tensor.values if head is None else tensor.row(head)
    return arb_mat(rows, columns, [arb(x) for x in values])


def _affine(rows: list[Row], tensor: Tensor, shift: Tensor | None, head: int | None = None) -> list[Row]:
    """Return rows times a matrix, plus a shift if there is one."""
    matrix = _matrix(tensor, head)
    images = _rows(_stacked(rows, matrix.nrows()) * matrix)
    if shift is None:
        return images
    shifts = [arb(x) for x in (shift.values if head is None else shift.row(head))]
    return [[x + b for x, b in zip(row, shifts, strict=True)] for row in images]


def _stacked(rows: list[Row], width: int) -> arb_mat:
    return arb_mat(len(rows), width, [x for row in rows for x in row])


def _rows(matrix: arb_mat) -> list[Row]:
    entries, width = matrix.entries(), matrix.ncols()
    return [entries[i * width : (i + 1) * width] for i in range(matrix.nrows())]


def _added(rows: list[Row], others: list[Row]) -> list[Row]:
    return [[x + y for x, y in zip(row, other, strict=True)] for row, other in zip(rows, others, strict=True)]


def _normalized(norm: Block, rows: list[Row], start: int = 0) -> list[Row]:
    """Divide the rows, minus their mean for a layer norm, by the root of their mean square; apply gain and shift from
    `start` on.
    """
    epsilon, gains = arb(norm.number("epsilon")), norm.tensors["w"].values
    shifts = norm.tensors["b"].values if "b" in norm.tensors else [0.0] * len(gains)
    normalized = []
    for row in rows:
        if norm.kind == "layer":
            mean = sum(row, arb(0)) / len(row)
            row = [x - mean for x in row]
        scale = (sum((x * x for x in row), arb(0)) / len(row) + epsilon).rsqrt()
        normalized.append([x * scale * arb(gains[start + i]) + arb(shifts[start + i]) for i, x in enumerate(row)])
    return normalized


# Neurons.


def _logistic(x: arb) -> arb:
    """Return 1 / (1 + e^-x), using the exponential that is at most 1."""
    return 1 / (1 + (-x).exp()) if x.mid() > 0 else x.exp() / (1 + x.exp())


def _gelu_tanh(x: arb, root: arb) -> arb:
    """Return x (1 + tanh v) / 2, which is x times the logistic function of 2 v."""
    return x * _logistic(2 * root * (x + arb(44715) / 10**6 * x * x * x))


ACTIVATIONS: dict[str, Callable[[arb], arb]] = {
    "relu": lambda x: x.max(arb(0)),
    "silu": lambda x: x * _logistic(x),
    "gelu": lambda x: x / 2 * (-x / arb(2).sqrt()).erfc(),
    "gelu-tanh": lambda x: _gelu_tanh(x, (2 / arb.pi()).sqrt()),
    "gelu-bloom": lambda x: _gelu_tanh(x, arb(79788456) / 10**8),
}


def _fed(block: Block, rows: list[Row], before: list[Row]) -> list[Row]:
    """Return the rows after a feed-forward block."""
    read = before if block.options.get("parallel") else rows
    read = read if block.norm is None else _normalized(block.norm, read)
    fire = ACTIVATIONS[block.options["activation"]]
    inner = _affine(read, block.tensors["W_in"], block.tensors.get("b_in"))
    if "W_gate" in block.tensors:
        gates = _affine(read, block.tensors["W_gate"], block.tensors.get("b_gate"))
        fired = [[fire(g) * x for g, x in zip(*both, strict=True)] for both in zip(gates, inner, strict=True)]
    else:
        fired = [[fire(x) for x in row] for row in inner]
    output = _affine(fired, block.tensors["W_out"], block.tensors.get("b_out"))
    if "post_norm" in block.norms:
        output = _normalized(block.norms["post_norm"], output)
    return _added(output, rows) if block.options["skip"] else output


# Heads.


def _attended(
    block: Block, rows: list[Row], cells: list[Cell], asking: list[int]
) -> tuple[list[Row], list[Cell], list[Row]]:
    """Return the rows after an attention, their indices for each context, and the query rows.

    A row is known by what asks and by the rows that it reads; where one row alone is left, it is `asking`.
    """
    options, tensors = block.options, block.tensors
    wanted: list[list[tuple[int, Cell]]] = []
    for cell, asks in zip(cells, asking, strict=True):
        if options["attends"] == "last":
            wanted.append([(asks, cell)])
        else:
            causal = options["attends"] == "causal"
            wanted.append([(asks, cell[: s + 1] if causal else cell) for s, asks in enumerate(cell)])
    places = {pair: i for i, pair in enumerate(dict.fromkeys(pair for pairs in wanted for pair in pairs))}
    position = {row: s for cell in cells for s, row in enumerate(cell)}
    read = rows if block.norm is None else _normalized(block.norm, rows)
    shift = [arb(x) for x in tensors["b_O"].values] if "b_O" in tensors else [arb(0)] * block.writes
    output = [shift for _ in places]
    for head, looked in enumerate(heads(block, read, list(places), position)):
        mixed = [row for _, row in looked]
        output = _added(output, _rows(_stacked(mixed, block.shape("W_V")[2]) * _matrix(tensors["W_O"], head)))
    if "post_norm" in block.norms:
        output = _normalized(block.norms["post_norm"], output)
    before = [rows[asks] for asks, _ in places]
    output = _added(output, before) if options["skip"] else output
    return output, [tuple([places[pair] for pair in pairs]) for pairs in wanted], before


def heads(
    block: Block, rows: list[Row], places: list[tuple[int, Cell]], position: dict[int, int], *, mix_rows: bool = False
) -> Iterator[Iterator[tuple[Row, Row]]]:
    """Return, for each head and place, its weights for the rows that are read, and the weighted mean of values or rows.

    The weights of a place are computed when it is reached: those of all places together may need much memory.

    Args:
        block: An attention.
        rows: The rows that it reads.
        places: For each row that it writes, which row asks, and which are read.
        position: Position of each row.
        mix_rows: Whether the means are those of the rows themselves.
    """
    tensors, count = block.tensors, block.shape("W_Q")[0]
    queries, keys = (_asked(block, rows, name, position) for name in "QK") if count else ([], [])
    for head in range(count):
        own = head // (count // block.options.get("key_heads", count))
        value = rows
        if not mix_rows:
            value = _clipped(block, _affine(rows, tensors["W_V"], tensors.get("b_V"), own))
        yield _looked(block, head, queries[head], keys[own], value, places, position)


def _looked(
    block: Block,
    head: int,
    queries: list[Row],
    keys: list[Row],
    values: list[Row],
    places: list[tuple[int, Cell]],
    position: dict[int, int],
) -> Iterator[tuple[Row, Row]]:
    """Return the weights of one head at each place, and the weighted mean of the values."""
    for asks, seen in places:
        weights = _softmax(_scores(block, head, queries[asks], [keys[r] for r in seen], seen, position))
        read = _stacked([values[r] for r in seen], len(values[0]))
        yield weights, (_stacked([weights], len(seen)) * read).entries()


def _scores(block: Block, head: int, query: Row, keys: list[Row], seen: Cell, position: dict[int, int]) -> Row:
    """Return inner products, with a cap c tanh(s / c) and a slope times the position if the block has them."""
    scores = (_stacked([query], len(query)) * _stacked(keys, len(query)).transpose()).entries()
    if "score_cap" in block.options:
        scores = _capped(scores, block.number("score_cap"))
    if "slopes" in block.tensors:
        slope = arb(block.tensors["slopes"].values[head])
        scores = [s + slope * position[row] for s, row in zip(scores, seen, strict=True)]
    return scores


def _softmax(scores: Row) -> Row:
    """Return the weights; subtracting a constant from all scores changes none, so an approximate maximum is enough."""
    top = max(scores, key=lambda x: x.mid()).mid()
    powers = [(x - top).exp() for x in scores]
    total = sum(powers[1:], powers[0])
    return [x / total for x in powers]


def _asked(block: Block, rows: list[Row], name: str, position: dict[int, int]) -> list[list[Row]]:
    """Return queries or keys of each head: mapped, cut off, normalized, turned, in this order; queries over the
    root.
    """
    tensor, shift = block.tensors[f"W_{name}"], block.tensors.get(f"b_{name}")
    count, _, width = tensor.shape
    heads = [_clipped(block, _affine(rows, tensor, shift, head)) for head in range(count)]
    norm = block.norms.get(f"{name.lower()}_norm")
    if norm is not None and block.options.get("norms_all"):
        table = _normalized(norm, [[x for head in heads for x in head[i]] for i in range(len(rows))])
        heads = [[row[h * width : (h + 1) * width] for row in table] for h in range(count)]
    elif norm is not None:
        apart = norm.reads > width
        heads = [_normalized(norm, head, h * width if apart else 0) for h, head in enumerate(heads)]
    if "turned" in block.options:
        heads = [_turned(block, head, position) for head in heads]
    root = arb(block.options["score_root"]).sqrt()
    return heads if name == "K" else [[[x / root for x in row] for row in head] for head in heads]


def _turned(block: Block, rows: list[Row], position: dict[int, int]) -> list[Row]:
    """Multiply each pair of entries, as a complex number, by exp(i s f), where s is the position of the row."""
    frequencies, turned = [arb(f) for f in block.tensors["frequencies"].values], []
    for number, row in enumerate(rows):
        row = list(row)
        for k, frequency in enumerate(frequencies if number in position else ()):
            i, j = (k, len(frequencies) + k) if block.options["turned"] == "halves" else (2 * k, 2 * k + 1)
            sin, cos = (frequency * position[number]).sin_cos()
            row[i], row[j] = row[i] * cos - row[j] * sin, row[i] * sin + row[j] * cos
        turned.append(row)
    return turned


def _clipped(block: Block, rows: list[Row]) -> list[Row]:
    if "clip" not in block.options:
        return rows
    bound = arb(block.number("clip"))
    return [[x.max(-bound).min(bound) for x in row] for row in rows]


def _capped(row: Row, cap: float) -> Row:
    return [arb(cap) * (x / arb(cap)).tanh() for x in row]
