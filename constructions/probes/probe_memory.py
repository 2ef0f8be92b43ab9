r"""Labels of any contexts as sums of a few entries of one table of integers, which hashes of the context point to.

Page: docs/claims/probes.md
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from constructions.arrays import Float64Array, Int64Array
from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.models.blocks import Attention, Block, FeedForward
from constructions.models.construction import Construction
from constructions.models.exact_steps import LARGEST, Step, halvings, settled, step_blocks
from constructions.models.model import Model
from constructions.models.precision import Precision, require_precision
from constructions.probes.sparse_sums import table_of_sums
from constructions.probes.window_hash import Mixing, mixing
from constructions.tasks.task import Task

_CLAIM = "The probe memory"
_LONGEST = 1182  # tokens: 12 S^2 <= 2^24, so that scores are exact
_SHARP = 256.0  # neighbouring positions are 2 apart: a lead of 1024, beyond which an exponential is 0 in float64 too
_ONE_TABLE = 6000  # facts whose probes go anywhere; more are spread over segments, which can be put aside one by one
_LOADS = {1: 1.0, 2: 0.4, 3: 0.86, 4: 0.93}  # by probes: below the thresholds 1/2, .917 and .977 of random equations
_SEGMENT = 4095  # cells of a segment at most
_EXACT = 2**24
_KNOTS = 1.7e8  # rows^2 times the modulus, up to which knots through random rows stay below 2^24
_TRIES = 12
_ONE_DIGIT = 4096  # answers whose parabola is exact in float32
_DIGIT = 128


@dataclass(frozen=True)
class Plan:
    r"""The shape of a probe memory, from the sizes of a task alone.

    Args:
        facts: T.
        length: S.
        tokens: N.
        answers: Different labels, K.
        outputs: Logits.
        probes: r, min(S, 4).
        columns: D, sums that make up the hash.
        segments: In how many places the first probe can be; 1 where all probes go anywhere.
        rows: Of the table for each segment.
        width: Cells of a row, s.
        one_hot: Whether rows of the table are found by one neuron each, and not by knots.
        free: Rounds of the hash whose maps are drawn freely.
    """

    facts: int
    length: int
    tokens: int
    answers: int
    outputs: int
    probes: int
    columns: int
    segments: int
    rows: int
    width: int
    one_hot: bool
    free: int = 0

    @property
    def segment(self) -> int:
        """Cells of a segment, odd."""
        return self.rows * self.width

    @property
    def table_rows(self) -> int:
        """Rows of the whole table."""
        return self.rows * (1 if self.segments == 1 else self.segments + self.probes - 1)

    @property
    def modulus(self) -> int:
        """A power of two, at least K."""
        return 1 << max(1, (self.answers - 1).bit_length())

    @property
    def load(self) -> float:
        """Facts for each cell of the table."""
        return self.facts / (self.table_rows * self.width)

    @property
    def digits(self) -> int:
        """Coordinates that name a label."""
        return 1 if self.answers <= _ONE_DIGIT else 2

    @property
    def flagged(self) -> bool:
        """Whether some positions are no probes, or one is none of those that the last head reads."""
        return self.length > self.probes or self.probes == 3

    @cached_property
    def mixing(self) -> Mixing:
        """How the hash is gathered."""
        return mixing(self.length, self.columns, self.free)

    @cached_property
    def selected(self) -> Int64Array:
        """Which combination of the sums each probe takes, `[D, r]`."""
        if self.columns == 4:
            return np.eye(4, dtype=np.int64)[:, : self.probes]
        return np.array([[1, 0, 1, 1], [0, 1, 1, -1]])[:, : self.probes]

    @cached_property
    def growth(self) -> tuple[int, int]:
        """How many times the largest code a probe's number can be, and the one that chooses the segment."""
        sums = np.abs(self.mixing.weights).sum(axis=(0, 1))
        return int((sums @ np.abs(self.selected)).max()), int(sums[:2].sum()) if self.segments > 1 else 0

    @cached_property
    def codes_below(self) -> int:
        """Codes of tokens are integers from 0 to less than this."""
        return min(2 * max(self.tokens, self.segment), (LARGEST - 1) // max(self.growth) + 1)

    def thresholds(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Of the steps that find the segment, the cell in it, its row, and the bits of the row."""
        most, choice = (grown * (self.codes_below - 1) + 1 for grown in self.growth)
        segment = [] if self.segments == 1 else [self.segments * k for k in halvings(-(-choice // self.segments))]
        cell = [self.segment * k for k in halvings(-(-most // self.segment))]
        return segment, cell, halvings(self.rows), halvings(self.table_rows) if self.one_hot else []

    @property
    def parameters(self) -> int:
        """Entries of all tensors of the model."""
        d, rounds, r = self.columns + 2, len(self.mixing.strides), self.probes
        total = (self.tokens + self.length) * d + rounds * (4 * d + 2 + 2 * d * self.columns)
        total += 2 * (4 * d + 2 + 2 * d * self.columns)
        segment, cell, row, bit = self.thresholds()
        spread, flag = self.segments > 1, int(self.flagged)
        wide = 3 + flag + spread + len(bit)
        neurons = r + 2 * spread + 2 * flag
        total += neurons * (d + 1 + wide)
        count = len(segment) + len(cell) + len(row) + len(bit)
        total += (3 * count - bool(len(cell) + len(row) + len(bit)) - bool(segment)) * (2 * wide + 1)
        total += spread * ((1 + bool(segment)) * 2 * wide)
        hidden = self.table_rows - (not self.one_hot) + self.width - 1 + flag
        out = self.width + flag
        total += hidden * (wide + 1 + out) + out + out * (out + 1 + flag)
        y, tail = 1 + flag, self.digits + 1
        total += 3 * y + 1 + tail
        tall = len(halvings(r)) + len(self.high())
        total += 3 * tall * (2 * tail + 1) - (2 * tail + 1) * (tall > 0)
        return total + self.digits * (tail + self.digits + 1) + self.outputs * (self.digits + 1)

    def high(self) -> list[int]:
        """Thresholds of the steps that part a label into two digits."""
        return [] if self.digits == 1 else [_DIGIT * k for k in halvings(self.modulus // _DIGIT)]


def plan_of(facts: int, length: int, tokens: int, answers: int, outputs: int, *, ease: int = 0) -> Plan:
    """The plan of fewest parameters for contexts of two tokens or more.

    Args:
        facts: T.
        length: S, 2 .. 1182.
        tokens: N.
        answers: K, the different labels.
        outputs: Logits.
        ease: How often a table has been too full: each time it gets larger, and the hash another.

    Raises:
        HypothesisError: Contexts of another length.

    Example:
        >>> plan = plan_of(1024, 4, 103, 47, 47)
        >>> plan.rows, plan.width, plan.parameters
        (101, 11, 2763)
    """
    if not 2 <= length <= _LONGEST:
        raise HypothesisError(_CLAIM, f"contexts of 2 to {_LONGEST} tokens", f"contexts of {counted(length, 'token')}")
    probes = min(length, 4)
    load = _LOADS[probes] - 0.02 * ease
    spread = facts > _ONE_TABLE and probes > 2
    if spread:  # what peeling alone reaches: sizes as measured for such equations by Graf and Lemire (2022)
        most, grown, least = (0.305, 0.77, 1.075) if probes == 4 else (0.25, 0.875, 1.125)
        ends = math.log(6e5 if probes == 4 else 1e6) / math.log(facts)
        load = 1 / (max(least, grown + most * ends) - 0.03 + 0.02 * ease)
    cells = math.ceil(facts / load) + (2 * probes if facts > 1 else 0)
    sizes = dict(facts=facts, length=length, tokens=tokens, answers=answers, outputs=outputs, probes=probes)
    segment = cells if not spread else min(_SEGMENT, round(2 ** (math.log(facts) / math.log(2.91) - 0.5)))
    found: list[Plan] = []
    for one_hot in (False, True):
        for width in _widths(cells):
            rows = -(-segment // width) | 1
            segments = 1 if not spread else max(2, -(-cells // (rows * width)) - probes + 1)
            plan = Plan(**sizes, columns=2, segments=segments, rows=rows, width=width, one_hot=one_hot)
            if spread or ease or plan.codes_below < 2 * max(tokens, plan.segment):
                plan = _richer(replace(plan, columns=4), 3 * ease)
            gates = 8 * plan.modulus * width <= _EXACT
            if gates and (one_hot or plan.table_rows**2 * plan.modulus <= _KNOTS):
                found.append(plan)
    if not found:
        raise CapacityError(_CLAIM, "a table whose sums stay exact", f"{facts} facts with {answers} answers have none")
    return min(found, key=lambda plan: plan.parameters)


def _richer(plan: Plan, free: int) -> Plan:
    """The plan with the most free rounds, up to so many, that leave codes for all tokens."""
    richer = (replace(plan, free=most) for most in range(min(free, len(plan.mixing.strides)), 0, -1))
    return next((each for each in richer if each.codes_below >= 2 * plan.tokens), plan)


def _widths(cells: int) -> list[int]:
    """Odd numbers of cells in a row to be tried: all up to some dozens, then fewer."""
    most = max(3, 4 * math.isqrt(cells))
    return sorted({int(1.08**i) | 1 for i in range(int(math.log(most) / math.log(1.08)) + 1)})


def probe_memory(task: Task, *, dtype: Precision = "float32", seed: int = 0) -> Construction[Task]:
    r"""Hold any labels of distinct contexts as sums of entries of a table, so that every run in float32 is exact.

    Codes of tokens are integers. Hard heads that read 1, 2, 4, ... positions back add them up, each round with another
    matrix, until the last position holds a few sums over the whole context; the last four positions read these, and
    each takes another one. Steps turn it into a row and a column of a table W of integers, whose entry is found by one
    layer through the rows, and one that silences all columns but one; the last head adds the entries that the
    four positions found, and their sum modulo $2^c$ is the label's number. W solves one sparse equation for each fact.

    Args:
        task: Contexts of up to 1182 tokens, with labels.
        dtype: The precision in which all runs are to be exact; the weights are integers, and halves of some.
        seed: Of the codes and of what the table leaves free.

    Returns:
        The model. The summary says how full the table is and how many draws it took.

    Raises:
        HypothesisError: A task of laws, or longer contexts.
        CapacityError: No draw could be solved; names two contexts that collide in the last, or the load.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> probe_memory(enumerated_task(4, 4)).summary
        '256 contexts by 4 probes each of a table of 287 cells, 89.2% full, at draw 2, 21 blocks, 1036 parameters'
    """
    require_precision(dtype)
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")
    answers, labels = np.unique(task.labels, return_inverse=True)
    if task.n_ctx == 1:
        return _single_tokens(task, answers, labels)
    contexts = np.asarray(task.contexts)
    rng = np.random.default_rng(seed)
    collision = ""
    for attempt in range(_TRIES):
        plan = plan_of(*sizes_of(task), ease=attempt // 3 if task.n_contexts <= _ONE_TABLE else attempt)
        codes = _codes(plan, rng)
        cells = _cells(plan, codes, contexts)
        table = table_of_sums(cells, labels, plan.table_rows * plan.width, plan.modulus.bit_length() - 1, rng)
        if table is None:
            collision = _collision(task, cells, labels) or f"the table was {plan.load:.0%} full"
            continue
        table = table.reshape(plan.table_rows, plan.width)
        if not plan.one_hot and _most(*_knots(table.astype(np.float64))) + 4 * plan.modulus * plan.width > _EXACT:
            collision = "the knots through the table were too steep"
            continue
        model = _model(plan, codes, table, answers)
        return Construction(
            task,
            model,
            f"{counted(plan.facts, 'context')} by {counted(plan.probes, 'probe')} each of a table of "
            f"{table.size} cells, {plan.load:.1%} full, at draw {attempt + 1}, "
            f"{len(model.blocks)} blocks, {model.parameters} parameters",
        )
    raise CapacityError(
        _CLAIM, "probes that tell the contexts apart", f"{_TRIES} draws failed; in the last {collision}"
    )


def sizes_of(task: Task) -> tuple[int, int, int, int, int]:
    """What `plan_of` asks: T, S, N, K and the number of logits."""
    return task.n_contexts, task.n_ctx, task.d_vocab, len(np.unique(task.labels)), task.n_answers


def probe_parameters(task: Task) -> int:
    """Entries of the probe memory of a task, if its first draw can be solved; 0 where it refuses.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> probe_parameters(enumerated_task(4, 4))
        1036
    """
    facts, length, tokens, answers, outputs = sizes_of(task)
    if task.target != "labels" or length > _LONGEST:
        return 0
    if length == 1:
        digits = 1 if answers <= _ONE_DIGIT else 2
        return (tokens + 1) * digits + outputs * (digits + 1)
    return plan_of(facts, length, tokens, answers, outputs).parameters


def _codes(plan: Plan, rng: np.random.Generator) -> Int64Array:
    """Codes of the tokens, `[N, D]`, no two equal where there are enough."""
    codes = np.zeros((plan.tokens, plan.columns), dtype=np.int64)
    for _ in range(_TRIES):
        if len(np.unique(codes, axis=0)) == plan.tokens:
            break
        codes = rng.integers(0, plan.codes_below, (plan.tokens, plan.columns))
    return codes


def _combinations(plan: Plan) -> tuple[Int64Array, Int64Array]:
    """What the probes, and last what chooses the segment, make of the sums, `[D, r + 1]`; and what makes it >= 0."""
    chooses = (np.arange(plan.columns) < 2).astype(np.int64)[:, None]
    made = np.hstack([plan.selected, chooses])
    return made, -np.minimum(plan.mixing.weights @ made, 0).sum(axis=(0, 1)) * (plan.codes_below - 1)


def _cells(plan: Plan, codes: Int64Array, contexts: Int64Array) -> Int64Array:
    """The cells that each context probes, `[T, r]`, as the model finds them."""
    sums = np.zeros((len(contexts), plan.columns), dtype=np.int64)
    for place, weight in enumerate(plan.mixing.weights):
        sums += (codes @ weight)[contexts[:, -1 - place]]
    made, lacking = _combinations(plan)
    numbers = sums @ made + lacking
    cells = numbers[:, :-1] % plan.segment
    if plan.segments > 1:
        cells += plan.segment * (numbers[:, -1:] % plan.segments + np.arange(plan.probes))
    return cells


def _collision(task: Task, cells: Int64Array, labels: Int64Array) -> str:
    """Two contexts with other labels whose probes are the same, in words; empty where there are none."""
    ordered = np.sort(cells, axis=1)
    order = np.lexsort(ordered.T)
    same = (ordered[order[1:]] == ordered[order[:-1]]).all(axis=1) & (labels[order[1:]] != labels[order[:-1]])
    if not same.any():
        return ""
    place = int(np.flatnonzero(same)[0])
    one, other = task.contexts[order[place : place + 2]]
    apart = np.flatnonzero(one != other)
    told = (
        f"{task.vocabulary[one[s]]!r} and {task.vocabulary[other[s]]!r} at position {s + 1}" for s in apart[:4].tolist()
    )
    more = f", and at {len(apart) - 4} more" if len(apart) > 4 else ""
    return f"two contexts with other labels collide, which differ in {', in '.join(told)}{more}"


def _single_tokens(task: Task, answers: Int64Array, labels: Int64Array) -> Construction[Task]:
    """Contexts of one token: its embedding is the number of its label."""
    digits = 1 if len(answers) <= _ONE_DIGIT else 2
    W_U, b_U, middle = _readout(answers, digits, task.n_answers)
    named = np.stack([labels] if digits == 1 else [labels % _DIGIT, labels // _DIGIT], axis=1)
    W_E = np.zeros((task.d_vocab, digits))
    W_E[task.contexts[:, 0]] = named - middle
    model = Model(blocks=(), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((1, digits)))
    return Construction(
        task, model, f"{counted(len(labels), 'token')} with their labels, {model.parameters} parameters"
    )


def _readout(answers: Int64Array, digits: int, outputs: int) -> tuple[Float64Array, Float64Array, Float64Array]:
    r"""Logits $2 c y - c^2$ of each digit c of an answer's number, largest where y = c; and the centres of the y."""
    number = np.arange(len(answers))
    parts = np.stack([number] if digits == 1 else [number % _DIGIT, number // _DIGIT], axis=1)
    middle = parts.max(axis=0) // 2
    W_U, b_U = np.zeros((digits, outputs)), np.full(outputs, -1.0)  # what is never a label is behind by 1
    W_U[:, answers] = 2.0 * (parts - middle).T
    b_U[answers] = -((parts - middle) ** 2).sum(axis=1)
    return W_U, b_U, middle.astype(np.float64)


def _model(plan: Plan, codes: Int64Array, table: Int64Array, answers: Int64Array) -> Model:
    columns, d = plan.columns, plan.columns + 2
    W_E, W_pos = np.zeros((plan.tokens, d)), np.zeros((plan.length, d))
    W_E[:, :columns] = codes
    place = 2.0 * np.arange(plan.length)[::-1] - (plan.probes - 1)  # of the probes -(r - 1), ..., r - 1
    W_pos[:, columns], W_pos[:, columns + 1] = place, place**2
    rounds = [_round(stride, map_) for stride, map_ in zip(plan.mixing.strides, plan.mixing.maps, strict=True)]
    addresses, found = _addresses(plan)
    blocks: list[Block] = [*rounds, _shared(plan), _numbers(plan), *addresses, *_looked_up(plan, table, found)]
    W_U, b_U, middle = _readout(answers, plan.digits, plan.outputs)
    blocks += [_sum_of_probes(plan), *_residue(plan, middle)]
    return Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=W_pos)


def _round(stride: int, map_: Int64Array) -> Attention:
    """Adds to each position what the one so far back holds, times a matrix. Scores are $-(p_j - p_i - 2 m)^2$."""
    columns = len(map_)
    W_Q, W_K = np.zeros((1, columns + 2, 2)), np.zeros((1, columns + 2, 2))
    W_Q[0, columns, 0] = 2.0 * _SHARP
    W_K[0, columns:] = np.eye(2)
    b_Q = np.array([[4.0 * _SHARP * stride, -_SHARP]])
    W_V = np.eye(columns + 2, columns)[None]
    W_O = np.hstack([map_, np.zeros((columns, 2))])[None]
    return Attention(W_Q=W_Q, b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O, attends="all")


def _shared(plan: Plan) -> Attention:
    """Every position gets the sums of the last one, and keeps its place."""
    columns, d = plan.columns, plan.columns + 2
    W_Q, W_K = np.zeros((2, d, 2)), np.zeros((2, d, 2))
    W_Q[1, columns, 0] = 2.0 * _SHARP
    W_K[:, columns:] = np.eye(2)
    b_Q = np.array([[-2.0 * _SHARP * (plan.probes - 1), -_SHARP], [0.0, -_SHARP]])
    W_V, W_O = np.zeros((2, d, columns)), np.zeros((2, columns, d))
    W_V[0], W_O[0] = np.eye(d, columns), np.eye(columns, d)
    W_V[1, columns:, :2] = W_O[1, :2, columns:] = np.eye(2)
    return Attention(W_Q=W_Q, b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O, skip=False, attends="all")


_NUMBER, _BIT, _ROW, _FLAG = range(4)  # columns of the stream behind the hash; then what chooses the segment, and bits


def _width(plan: Plan) -> int:
    return 3 + plan.flagged + (plan.segments > 1) + len(plan.thresholds()[3])


def _numbers(plan: Plan) -> FeedForward:
    r"""Each probe takes its number: $(v_j - Q (p - p_j)^2)_ +$ is that of the probe at $p_j$, and 0 elsewhere."""
    columns, wide, probes = plan.columns, _width(plan), plan.probes
    made, lacking = _combinations(plan)
    most = plan.growth[0] * (plan.codes_below - 1) + 1
    silence = float(-(-most // 4) + 1)
    places = 2.0 * np.arange(probes) - (probes - 1)
    W_in = np.vstack([made[:, :probes], 2.0 * silence * places[None], np.full((1, probes), -silence)])
    b_in = lacking[:probes] - silence * places**2
    W_out = np.zeros((probes, wide))
    W_out[:, _NUMBER] = 1.0
    at = np.eye(columns + 2)[columns]
    parts: list[tuple[Float64Array, Float64Array, Float64Array]] = [(W_in, b_in, W_out)]
    if plan.segments > 1:  # what chooses it; and where that of this probe begins, if the first one's were 0
        chooses = np.append(made[:, probes], [0.0, 0.0])[:, None]
        parts.append((chooses, lacking[probes:].astype(np.float64), _unit(wide, _chooser(plan))))
        parts.append((at[:, None], np.array([probes - 1.0]), plan.rows / 2 * _unit(wide, _ROW)))
    if plan.flagged:  # one of the last four; of three all but the last
        sign, bound = (-1.0, 4.0) if probes == 4 else (1.0, -1.0)
        shifts = -sign * bound + np.array([0.5, -0.5])
        parts.append((sign * np.stack([at, at], axis=1), shifts, np.outer([1.0, -1.0], _unit(wide, _FLAG))))
    W_in, b_in, W_out = _joined(parts)
    return FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, skip=False)


def _joined(parts: list[tuple[Float64Array, Float64Array, Float64Array]]) -> list[Float64Array]:
    """Inputs, shifts and outputs of groups of neurons as those of one layer."""
    return [np.concatenate([part[i] for part in parts], axis=int(i == 0)).astype(np.float64) for i in range(3)]


def _unit(width: int, column: int) -> Float64Array:
    return np.eye(width)[[column]]


def _chooser(plan: Plan) -> int:
    return 3 + plan.flagged


def _addresses(plan: Plan) -> tuple[list[FeedForward], Float64Array]:
    """Steps that leave the row of the table, its bits where wanted, and the cell in the row; and how to read them."""
    wide = _width(plan)
    segment, cell, row, bit = plan.thresholds()
    blocks, last = [], None
    if plan.segments > 1:
        chooser = _chooser(plan)
        blocks += step_blocks(wide, _BIT, [Step(chooser, t) for t in segment])
        last = Step(chooser, segment[-1]) if segment else None
        blocks.append(_moved(wide, settled(wide, _BIT, last), chooser, plan.rows, last is not None))
    steps = [Step(_NUMBER, t) for t in cell] + [Step(_NUMBER, plan.width * k, _ROW, k) for k in row]
    first = wide - len(bit)
    steps += [Step(_ROW, k, first + i, 1) for i, k in enumerate(bit)]
    blocks += step_blocks(wide, _BIT, steps)
    return blocks, settled(wide, _BIT, steps[-1] if steps else None)


def _moved(wide: int, read: Float64Array, column: int, times: int, pending: bool) -> FeedForward:
    """What a column holds, so many times, is added to the row; a step that is pending is carried out."""
    kept = [column, _BIT] if pending else [column]
    W_out = np.zeros((len(kept), wide))
    W_out[0, _ROW] = times
    if pending:
        W_out[1] = (read - np.eye(wide))[_BIT]
    W_in = read[:, [column]] if not pending else np.stack([read[:, column], np.eye(wide)[_BIT]], axis=1)
    return FeedForward(W_in=W_in, W_out=W_out)


def _looked_up(plan: Plan, table: Int64Array, found: Float64Array) -> list[FeedForward]:
    """The row of the table less the modulus everywhere but at the cell; then the one entry that is left above 0."""
    wide, size, flag = _width(plan), plan.width, int(plan.flagged)
    if plan.one_hot:
        bits = plan.thresholds()[3]
        wanted = (np.arange(len(table))[:, None] & np.array(bits, dtype=np.int64)) > 0
        of_rows = np.zeros((wide, len(table)))
        of_rows[wide - len(bits) :] = 4.0 * wanted.T - 2.0
        parts = [(of_rows, 1.0 - 2.0 * wanted.sum(axis=1), table.astype(np.float64))]
        constant = np.zeros(size)
    else:
        shifts, signs, jumps, constant = _knots(table.astype(np.float64))
        parts = [(np.eye(wide)[:, [_ROW]] * signs, shifts, jumps)]
    shifts, signs, jumps, gate = _knots(plan.modulus * (np.eye(size) - 1.0))
    parts.append((np.eye(wide)[:, [_NUMBER]] * signs, shifts, jumps))
    W_in, b_in, W_out = _joined(parts)
    if flag:
        W_in = np.hstack([W_in, np.eye(wide)[:, [_FLAG]]])
        b_in = np.append(b_in, 0.0)
        W_out = np.block([[W_out, np.zeros((len(W_out), 1))], [np.zeros((1, size)), np.ones((1, 1))]])
    b_out = np.append(constant + gate, np.zeros(flag))
    added = np.zeros((size + flag, 1 + flag))
    added[:size, 0] = 1.0
    added[size:, 1:] = 1.0
    return [
        FeedForward(W_in=found @ W_in, b_in=b_in, W_out=W_out, b_out=b_out, skip=False),
        FeedForward(W_in=np.eye(size + flag), W_out=added, skip=False),
    ]


def _knots(rows: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Shifts, signs and jumps of n - 1 neurons through n rows, from the middle one to both sides, and the middle."""
    middle, parts = len(rows) // 2, []
    for sign, chosen in ((1.0, rows[middle:]), (-1.0, rows[middle::-1])):
        jumps = np.diff(np.diff(chosen, axis=0), axis=0, prepend=np.zeros((1, rows.shape[1])))
        parts.append((-sign * middle - np.arange(len(jumps)), np.full(len(jumps), sign), jumps))
    shifts, signs, jumps = (np.concatenate(part) for part in zip(*parts, strict=True))
    return shifts, signs, jumps, rows[middle]


def _most(shifts: Float64Array, signs: Float64Array, jumps: Float64Array, middle: Float64Array) -> float:
    """The largest sum of sizes of terms of the knots, over all rows and columns."""
    active = np.maximum(np.outer(np.arange(len(shifts) + 1), signs) + shifts, 0.0)
    return float((active @ np.abs(jumps) + middle).max(initial=0.0))


def _sum_of_probes(plan: Plan) -> Attention:
    """The sum of what equally many positions found, a power of two; of three the last one and two others."""
    width, flag = 1 + plan.flagged, plan.flagged
    W_K, W_V = np.zeros((1, width, 1)), np.eye(width, 1)[None]
    if flag:
        W_K[0, 1] = 4.0 * _SHARP
    three = plan.probes == 3
    W_O = np.zeros((1, 1, width if three else plan.digits + 1))
    W_O[0, 0, 0] = 2.0 if three else float(plan.probes)
    return Attention(W_Q=np.zeros((1, width, 1)), b_Q=np.ones((1, 1)), W_K=W_K, W_V=W_V, W_O=W_O, skip=three)


def _residue(plan: Plan, middle: Float64Array) -> list[FeedForward]:
    """The sum modulo the modulus, parted into digits, centred."""
    width = plan.digits + 1
    steps = [Step(0, plan.modulus * k) for k in halvings(plan.probes)]
    steps += [Step(0, t, 2, t // _DIGIT) for t in plan.high()]
    read = settled(width, 1, steps[-1] if steps else None)[:, [0, 2][: plan.digits]]
    last = FeedForward(W_in=read, W_out=np.eye(plan.digits), b_out=-middle, skip=False)
    return [*step_blocks(width, 1, steps), last]
