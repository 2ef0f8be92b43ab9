r"""Any contexts in a table whose row and column are a few bits of tokens: exact in types of eight bits.

Page: docs/claims/one_hot_distributions.md
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError
from constructions.model.blocks import Attention, FeedForward
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision, rounded_model
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.tasks.task import Task

_CLAIM = "The table of bits"
_SHARP = 256.0  # one other bit of the position lowers a score by 512
_LONGEST = {8: 58, 11: 127}  # tokens, by bits: (S + 5) u < 1/4 and 8 S tau < u / 8 in Theorem R12 (i) and (iv)
_TRIED = 64  # bits that are compared before one is chosen
_COLUMN_BITS = 10  # at most
_ENTRIES = 2**27


@dataclass(frozen=True)
class Cells:
    """The bits of a context that locate its label.

    Args:
        bits: The contexts as -1 and 1, `[T, S b]`, the bits of a token side by side.
        width: b, bits of a token.
        rows: The bits that tell the row.
        columns: Those that tell the column.
    """

    bits: Float64Array
    width: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @cached_property
    def named(self) -> tuple[Float64Array, Int64Array]:
        """The signs of each row of the table, and the row of each context."""
        return _distinct(self.bits[:, self.rows])

    @cached_property
    def placed(self) -> tuple[Float64Array, Int64Array]:
        """The signs of each column of the table, and the column of each context."""
        return _distinct(self.bits[:, self.columns])

    @property
    def positions(self) -> list[int]:
        """Those that are read."""
        return sorted({i // self.width for i in (*self.rows, *self.columns)}) or [0]

    @property
    def each(self) -> int:
        """Largest number of bits read from one position, at least 1."""
        return max(1, *np.bincount([i // self.width for i in (*self.rows, *self.columns)], minlength=1).tolist())

    def parameters(self, task: Task, digits: int) -> int:
        """Count the entries of all tensors of the model."""
        place, n = _place_bits(task.n_ctx), len(self.rows) + len(self.columns)
        d, wide, hidden = self.width + place, max(1, n), len(self.named[0]) + len(self.columns)
        of_heads = len(self.positions) * (2 * d * place + place + d * self.each + self.each * wide)
        table_entries = digits * len(self.placed[0])
        second = (table_entries + 1) * (table_entries + digits) - table_entries if self.columns else 0
        table = hidden * (wide + 1 + table_entries) + table_entries + second
        return (
            (task.d_vocab + task.n_ctx) * d
            + of_heads
            + table
            + (digits + (task.distributions is None)) * task.n_answers
        )


def bit_table_memory(task: Task, *, dtype: Precision = "float16") -> Construction[Task]:
    """Memorize labels or distributions of any distinct contexts such that every run in a type of at least eight bits is
    exact.

    Of the bits of all tokens some are chosen that tell contexts with other labels apart; some of them name a row of a
    table, and the others a column. A head for each position that has such a bit writes it, -1 or 1. One neuron for
    each row is 1 where all its bits agree and 0 elsewhere, and the layer after it silences all columns but one.
    Distributions have a row each, of their logarithms less the largest, rounded.

    Args:
        task: Contexts with labels or distributions.
        dtype: The precision in which all runs are to be exact.

    Returns:
        The model: heads, and one or two layers of neurons.

    Raises:
        CapacityError: So long contexts, or so many bits, that no sums over them are exact.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> bit_table_memory(enumerated_task(16, 2), dtype="bfloat16").summary
        '256 contexts by 32 rows and 8 columns of 8 bits, 1 number each, 3 blocks, 924 parameters'
    """
    require_precision(dtype)
    plan = _plan(task, SIGNIFICAND[dtype])
    cells = plan.cells
    model = rounded_model(_model(task, plan), dtype)
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'context')} by {counted(len(cells.named[0]), 'row')} and "
        f"{counted(len(cells.placed[0]), 'column')} of {counted(len(cells.rows) + len(cells.columns), 'bit')}, "
        f"{counted(plan.digits, 'number')} each, {len(model.blocks)} blocks, {model.parameters} parameters",
    )


def bit_table_parameters(task: Task, *, dtype: Precision = "float16") -> int:
    """Count the parameters of the bit table, for labels and distributions; 0 if it refuses the task.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> bit_table_parameters(enumerated_task(16, 2), dtype="bfloat16")
        924
    """
    try:
        plan = _plan(task, SIGNIFICAND[dtype])
    except CapacityError:
        return 0
    return plan.cells.parameters(task, plan.digits)


def digits_of_labels(kinds: int, precision: int) -> tuple[int, int]:
    r"""Return the base B and the number of digits of labels whose logits are exact: $3 \lfloor B / 2 \rfloor^2$ a
    digit.

    Example:
        >>> digits_of_labels(19, 8), digits_of_labels(100, 8), digits_of_labels(53, 11)
        ((19, 1), (10, 2), (53, 1))
    """
    sizes = ((next(b for b in range(1, kinds + 1) if b**digits >= kinds), digits) for digits in count(1))
    return next((base, digits) for base, digits in sizes if 3 * digits * (base // 2) ** 2 <= 1 << precision)


class _Plan(NamedTuple):
    """The cells, the base of the labels' digits (0 for distributions), and the numbers in a cell."""

    cells: Cells
    base: int
    digits: int


@lru_cache(maxsize=1)  # what is counted is built next
def _plan(task: Task, precision: int) -> _Plan:
    width = max(1, (task.d_vocab - 1).bit_length())
    if task.n_ctx > (longest := _LONGEST.get(precision, _ENTRIES)):
        memorized = (
            f"contexts of at most {longest} tokens in {precision} bits, where what a head does not read is absorbed"
        )
        raise CapacityError(_CLAIM, memorized, f"they have {task.n_ctx}")
    if task.contexts.size * width > _ENTRIES:
        raise CapacityError(_CLAIM, f"at most {_ENTRIES} bits of contexts", f"{task.contexts.size * width}")
    bits = _signs(task.contexts, width).reshape(task.n_contexts, -1)
    labels = np.arange(task.n_contexts)
    base, digits = 0, task.n_answers
    if task.distributions is None:
        labels = np.unique(task.labels, return_inverse=True)[1]
        base, digits = digits_of_labels(int(labels.max()) + 1, precision)
    chosen = _telling(bits > 0, labels)
    if 2 * len(chosen) > 1 << precision:
        raise CapacityError(_CLAIM, f"contexts that {2 ** (precision - 1)} bits tell apart", f"{len(chosen)} are taken")
    candidates: list[Cells] = []
    for order in (chosen, sorted(chosen), sorted(chosen, key=lambda i: (i % width, i))):
        for column_bits in range(min(_COLUMN_BITS, len(order)) + 1 if base else 1):
            if (2 * column_bits + 1) * max(1, base - 1) <= 1 << precision:
                for turned in (
                    order,
                    order[column_bits:] + order[:column_bits],
                ):  # columns by the last bits, or the first
                    cut = len(order) - column_bits
                    candidates.append(Cells(bits, width, tuple(turned[:cut]), tuple(turned[cut:])))
    return _Plan(min(candidates, key=lambda cells: cells.parameters(task, digits)), base, digits)


def _telling(bits: BoolArray, labels: Int64Array) -> list[int]:
    """Return a few bits, most informative first; contexts that agree in all of them have one label."""
    rng, group, chosen = np.random.default_rng(0), np.zeros(len(bits), dtype=np.int64), list[int]()
    useful = np.flatnonzero(bits.any(axis=0) & ~bits.all(axis=0))
    while now := _confused(group, labels):
        left = np.setdiff1d(useful, chosen)
        confused = np.unique(group[_first_of(group, labels)], return_counts=True)
        rows = np.flatnonzero(np.isin(group, confused[0][confused[1] > 1]))

        def after(bit: int, rows: Int64Array = rows, group: Int64Array = group) -> int:
            return _confused(2 * group[rows] + bits[rows, bit], labels[rows])

        best = min(rng.choice(left, min(_TRIED, len(left)), replace=False).tolist(), key=after)
        if after(best) == now:  # none of those that were tried tells anything
            best = min(left.tolist(), key=after)
        chosen.append(best)
        group = np.unique(2 * group + bits[:, best], return_inverse=True)[1].reshape(-1)
    for i in [*chosen]:  # one that later ones make needless
        rest = [j for j in chosen if j != i]
        if not _confused(_distinct(bits[:, rest])[1], labels):
            chosen = rest
    return chosen


def _first_of(group: Int64Array, labels: Int64Array) -> Int64Array:
    """Return one row per group and label."""
    return np.unique(group * (labels.max() + 1) + labels, return_index=True)[1]


def _confused(group: Int64Array, labels: Int64Array) -> int:
    """Return how many ordered pairs of a group have different labels."""
    alike, same = (np.unique(x, return_counts=True)[1] for x in (group, group * (labels.max() + 1) + labels))
    return int(alike @ alike - same @ same)


def _distinct(bits: Float64Array | BoolArray) -> tuple[Float64Array, Int64Array]:
    """Return the distinct rows of signs, and the index of each row among them."""
    if not bits.shape[1]:
        return np.zeros((1, 0)), np.zeros(len(bits), dtype=np.int64)
    _, first, which = np.unique(np.packbits(bits > 0, axis=1), axis=0, return_index=True, return_inverse=True)
    return bits[first].astype(np.float64), which.reshape(-1)


def _place_bits(n_ctx: int) -> int:
    return max(1, (n_ctx - 1).bit_length())


def _signs(numbers: Int64Array, width: int) -> Float64Array:
    """Return the bits of numbers as -1 and 1, `[..., width]`."""
    return (2 * (numbers[..., None] >> np.arange(width) & 1) - 1).astype(np.float64)


def _model(task: Task, plan: _Plan) -> Model:
    cells, base, digits = plan
    width, place = cells.width, _place_bits(task.n_ctx)
    W_E, W_pos = np.zeros((task.d_vocab, width + place)), np.zeros((task.n_ctx, width + place))
    W_E[:, :width], W_pos[:, width:] = _signs(np.arange(task.d_vocab), width), _signs(np.arange(task.n_ctx), place)
    if task.distributions is None:
        answers, labels = np.unique(task.labels, return_inverse=True)
        numbers = np.arange(len(answers))[:, None] // base ** np.arange(digits) % base
        middle = numbers.max(axis=0) // 2
        W_U, b_U = np.zeros((digits, task.n_answers)), np.full(task.n_answers, -1.0)  # what is no label is behind
        W_U[:, answers], b_U[answers] = 2.0 * (numbers - middle).T, -((numbers - middle) ** 2).sum(axis=1)
        stored = numbers[labels].astype(np.float64)
    else:
        stored = np.log(
            task.distributions / task.distributions.max(axis=1, keepdims=True)
        )  # what is likely is rounded least
        W_U, b_U, middle = np.eye(digits), None, np.zeros(digits)
    blocks = [
        _heads(cells, W_pos[:, width:]),
        *_table(cells, stored, float(max(1, base - 1)), -middle.astype(np.float64)),
    ]
    return Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=W_pos)


def _heads(cells: Cells, places: Float64Array) -> Attention:
    """Return a head per position: 256 times the number of agreeing bits minus differing bits."""
    order, reads, place = (*cells.rows, *cells.columns), cells.positions, places.shape[1]
    n_heads, d = len(reads), cells.width + place
    W_K, W_V = np.zeros((n_heads, d, place)), np.zeros((n_heads, d, cells.each))
    W_O = np.zeros((n_heads, cells.each, max(1, len(order))))
    W_K[:, cells.width :] = np.eye(place)
    taken = [0] * n_heads
    for column, bit in enumerate(order):
        position, offset = divmod(bit, cells.width)
        head = reads.index(position)
        W_V[head, offset, taken[head]] = W_O[head, taken[head], column] = 1.0
        taken[head] += 1
    W_Q, b_Q = np.zeros((n_heads, d, place)), _SHARP * places[reads]
    return Attention(W_Q=W_Q, b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O, skip=False)


def _table(cells: Cells, numbers: Float64Array, top: float, shift: Float64Array) -> list[FeedForward]:
    r"""Return a neuron for each row, $(\langle x, s_i \rangle - n + 1)_+$, and one for each column.

    The latter is $(W_{ij} - t h_j)_+$, where h is the number of its bits that differ, and t at least W.
    """
    (rows, row), (columns, column), digits = cells.named, cells.placed, numbers.shape[1]
    size, bits, digit_columns = len(rows), len(cells.columns), len(columns) * digits
    W_in, b_in = np.zeros((max(1, len(cells.rows) + bits), size + bits)), np.zeros(size + bits)
    W_in[: len(cells.rows), :size], b_in[:size] = rows.T, 1.0 - len(cells.rows)
    W_in[len(cells.rows) + np.arange(bits), size + np.arange(bits)] = 1.0
    table = np.zeros((size, len(columns), digits))
    table[row, column] = numbers
    pushed = np.repeat(top * columns.T, digits, axis=1)
    W_out, b_out = np.vstack([table.reshape(size, digit_columns), pushed]), -pushed.clip(min=0.0).sum(axis=0)
    if not bits:
        return [FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, b_out=shift, skip=False)]
    total = np.tile(np.eye(digits), (len(columns), 1))
    return [
        FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, b_out=b_out, skip=False),
        FeedForward(W_in=np.eye(digit_columns), W_out=total, b_out=shift, skip=False),
    ]
