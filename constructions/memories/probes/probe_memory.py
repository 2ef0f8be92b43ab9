"""Memorize labels of any contexts as sums of a few cells of one table, which hashes of the context select.

Page: docs/claims/probes.md
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.memories.probes.sparse_sums import table_of_sums
from constructions.memories.probes.window_hash import Mixing, mixing
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.model.construction import Construction
from constructions.model.exact_steps import LARGEST, Step, halvings, settled, step_blocks
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task
from constructions.tasks.windows import LONGEST

_CLAIM = "The probe memory"
_SHARP = 256.0  # neighbouring positions are 2 apart: a lead of 1024, beyond which an exponential is 0 in float64 too
_ONE_TABLE = 6000  # facts whose probes go anywhere; more are spread over segments, which can be put aside one by one
_LOADS = {1: 1.0, 2: 0.4, 3: 0.86, 4: 0.93}  # by probes: below the thresholds 1/2, .917 and .977 of random equations
_SEGMENT = 4095  # cells of a segment at most
_EXACT = 2**24
_KNOTS = 1.7e8  # rows^2 times the modulus, up to which knots through random rows stay below 2^24
_SUMMED = 2**51  # what the proof in real arithmetic may add up in float64
_TRIES = 12
_SPARE = 3  # bits of the format beyond a word's: 3 w < 2^p to silence one, 4 (w + w/2 + w/4) to take its bits
_ONE_DIGIT = 4096  # answers whose parabola is exact in float32
_DIGIT = 128


@dataclass(frozen=True)
class Plan:
    """The shape of a probe memory, which depends only on the sizes of a task.

    Args:
        facts: T.
        n_ctx: S.
        d_vocab: N.
        answers: Different labels, K.
        outputs: Logits.
        probes: r, min(S, 4).
        columns: D, sums that make up the hash.
        segments: In how many places the first probe can be; 1 where all probes go anywhere.
        rows: Of the table for each segment.
        width: Cells of a row, s.
        labels_per_word: m cells share an entry of the table, whose rows are found by one neuron each; 0 where an entry
            is a cell, and rows are found by knots.
        free: Rounds of the hash whose maps are drawn freely.
    """

    facts: int
    n_ctx: int
    d_vocab: int
    answers: int
    outputs: int
    probes: int
    columns: int
    segments: int
    rows: int
    width: int
    labels_per_word: int = 0
    free: int = 0

    @property
    def one_hot(self) -> bool:
        """Whether each row of the table is found by one neuron."""
        return self.labels_per_word > 0

    @property
    def segment(self) -> int:
        """Cells of a segment that are used, odd."""
        return (self.rows * self.width * max(1, self.labels_per_word) - 1) | 1

    @property
    def table_rows(self) -> int:
        """Rows of the whole table."""
        return self.rows * (1 if self.segments == 1 else self.segments + self.probes - 1)

    @property
    def split(self) -> tuple[int, int]:
        """Bounds of the two numbers of a row: its segment and its place there, or two digits."""
        base = self.rows if self.segments > 1 else math.isqrt(self.rows - 1) + 1
        return -(-self.table_rows // base), base

    @property
    def modulus(self) -> int:
        """A power of two, at least K."""
        return 1 << max(1, (self.answers - 1).bit_length())

    @property
    def cells(self) -> int:
        """Cells of the whole table."""
        return self.segment * (1 if self.segments == 1 else self.segments + self.probes - 1)

    @property
    def load(self) -> float:
        """Facts per cell of the table."""
        return self.facts / self.cells

    @property
    def digits(self) -> int:
        """Coordinates that name a label."""
        return 1 if self.answers <= _ONE_DIGIT else 2

    @property
    def flagged(self) -> bool:
        """Whether some positions are not probes, or one of them is not read by the last head."""
        return self.n_ctx > self.probes or self.probes == 3

    @cached_property
    def mixing(self) -> Mixing:
        """Rounds that gather the hash."""
        return mixing(self.n_ctx, self.columns, self.free)

    @cached_property
    def selected(self) -> Int64Array:
        """Combination of the sums for each probe, `[D, r]`."""
        if self.columns == 4:
            return np.eye(4, dtype=np.int64)[:, : self.probes]
        return np.array([[1, 0, 1, 1], [0, 1, 1, -1]])[:, : self.probes]

    @cached_property
    def growth(self) -> tuple[int, int]:
        """Ratio of the largest number of a probe, and of the segment's number, to the largest code."""
        sums = np.abs(self.mixing.weights).sum(axis=(0, 1))
        return int((sums @ np.abs(self.selected)).max()), int(sums[:2].sum()) if self.segments > 1 else 0

    @cached_property
    def codes_below(self) -> int:
        """Codes of tokens are integers from 0 to less than this."""
        return min(2 * max(self.d_vocab, self.segment), (LARGEST - 1) // max(self.growth) + 1)

    def reduced(self) -> tuple[list[int], list[int]]:
        """Return the thresholds of the steps that find the segment, and the cell in it."""
        most, choice = (grown * (self.codes_below - 1) + 1 for grown in self.growth)
        segment = [] if self.segments == 1 else [self.segments * k for k in halvings(-(-choice // self.segments))]
        return segment, [self.segment * k for k in halvings(-(-most // self.segment))]

    def parted(self) -> list[Step]:
        """Return the steps that split a cell's number into its row, its column, and its place in a word."""
        m, (heights, base) = max(1, self.labels_per_word), self.split
        if not self.one_hot:
            return [Step(_NUMBER, self.width * k, _ROW, k) for k in halvings(self.rows)]
        unit, high = self.width * m, halvings(heights) if self.segments == 1 else []
        steps = [Step(_NUMBER, unit * base * k, _HIGH, k) for k in high]
        steps += [Step(_NUMBER, unit * k, _ROW, k) for k in halvings(base)]
        return steps + [Step(_NUMBER, m * k, _COLUMN, k) for k in halvings(self.width)]

    def peeled(self) -> list[Step]:
        """Return the steps that strip the bits of a word, from the highest, down to the labels."""
        bits = self.modulus.bit_length() - 1
        places = reversed(range(bits, bits * self.labels_per_word))
        return [Step(0, 1 << i, 1 + i // bits, 1 << i % bits) for i in places]

    @property
    def parameters(self) -> int:
        """Entries of all tensors of the model."""
        d, rounds, r = self.columns + 2, len(self.mixing.strides), self.probes
        total = (self.d_vocab + self.n_ctx) * d + rounds * (4 * d + 2 + 2 * d * self.columns)
        total += 2 * (4 * d + 2 + 2 * d * self.columns)
        (segment, cell), parted = self.reduced(), self.parted()
        spread, flag, wide = self.segments > 1, int(self.flagged), _width(self)
        neurons = r + 2 * spread + 2 * flag
        total += neurons * (d + 1 + wide)
        count = len(segment) + len(cell) + len(parted)
        total += (3 * count - bool(len(cell) + len(parted)) - bool(segment)) * (2 * wide + 1)
        total += spread * ((1 + bool(segment)) * 2 * wide)
        m, kept = self.labels_per_word, flag + (self.labels_per_word > 1)
        hidden, out, found = self.table_rows - (not m) + self.width - (not m) + kept, self.width + kept, 1 + flag
        if m:
            square = 3 + kept + sum(self.split) + self.width - 3
            total += square * (wide + 1 + 5 + kept) + 5 + kept
            wide = 5 + kept
        total += hidden * (wide + 1 + out) + out
        if m > 1:
            found, chosen = m + 2 + flag, m + flag
            total += (3 * len(self.peeled()) - 1) * (2 * found + 1)
            total += (chosen + m - 1) * (found + 1 + chosen) + chosen + chosen * (chosen + 1 + flag)
        total += out * (out + found)
        y, tail = 1 + flag, self.digits + 1
        total += 3 * y + 1 + tail
        tall = len(halvings(r)) + len(self.high())
        total += 3 * tall * (2 * tail + 1) - (2 * tail + 1) * (tall > 0)
        return total + self.digits * (tail + self.digits + 1) + self.outputs * (self.digits + 1)

    def high(self) -> list[int]:
        """Return the thresholds of the steps that split a label into two digits."""
        return [] if self.digits == 1 else [_DIGIT * k for k in halvings(self.modulus // _DIGIT)]


def plan_of(
    facts: int,
    n_ctx: int,
    d_vocab: int,
    answers: int,
    outputs: int,
    *,
    dtype: Precision = "float32",
    labels_per_word: int | None = None,
    ease: int = 0,
) -> Plan:
    """Return the plan of fewest parameters for contexts of two tokens or more.

    Args:
        facts: T.
        n_ctx: S, 2 .. 1182.
        d_vocab: N.
        answers: K, the different labels.
        outputs: Logits.
        dtype: The precision, which says how long a word may be.
        labels_per_word: m; by default what gives the fewest parameters.
        ease: How often a table has been too full: each time it gets larger, and the hash another.

    Raises:
        HypothesisError: Contexts of another length.

    Example:
        >>> plan = plan_of(1024, 4, 103, 47, 47)
        >>> plan.rows, plan.width, plan.parameters
        (101, 11, 2763)
    """
    if not 2 <= n_ctx <= LONGEST:
        raise HypothesisError(_CLAIM, f"contexts of 2 to {LONGEST} tokens", f"contexts of {counted(n_ctx, 'token')}")
    probes = min(n_ctx, 4)
    load = _LOADS[probes] - 0.02 * ease
    spread = facts > _ONE_TABLE and probes > 2
    if spread:  # what peeling alone reaches: sizes as measured for such equations by Graf and Lemire (2022)
        most, grown, least = (0.305, 0.77, 1.075) if probes == 4 else (0.25, 0.875, 1.125)
        ends = math.log(6e5 if probes == 4 else 1e6) / math.log(facts)
        load = 1 / (max(least, grown + most * ends) - 0.03 + 0.02 * ease)
    cells = math.ceil(facts / load) + (2 * probes if facts > 1 else 0)
    sizes = dict(facts=facts, n_ctx=n_ctx, d_vocab=d_vocab, answers=answers, outputs=outputs, probes=probes)
    segment = cells if not spread else min(_SEGMENT, round(2 ** (math.log(facts) / math.log(2.91) - 0.5)))
    plans: list[Plan] = []
    most_labels = (SIGNIFICAND[dtype] - _SPARE) // max(1, (answers - 1).bit_length())
    every = (0, *sorted({max(1, int(most_labels * 0.75**k)) for k in range(14)}))
    for m in every if labels_per_word is None else [labels_per_word] * (0 <= labels_per_word <= most_labels):
        for width in _widths(cells):
            unit = width * max(1, m)
            rows = -(-segment // unit) | (m == 0)
            segments = 1 if not spread else max(2, -(-cells // (rows * unit)) - probes + 1)
            plan = Plan(**sizes, columns=2, segments=segments, rows=rows, width=width, labels_per_word=m)
            if spread or ease or plan.codes_below < 2 * max(d_vocab, plan.segment):
                plan = _richer(replace(plan, columns=4), 3 * ease)
            knots = 8 * plan.modulus * width <= _EXACT and plan.table_rows**2 * plan.modulus <= _KNOTS
            squares = 2 * sum(n**2 for n in (*plan.split, width)) <= _EXACT
            words = plan.table_rows * plan.modulus**m <= _SUMMED
            if squares and words if m else knots:
                plans.append(plan)
    if not plans:
        condition = "" if labels_per_word is None else f" with {counted(labels_per_word, 'label')} an entry"
        raise CapacityError(
            _CLAIM, "a table whose sums stay exact", f"{facts} facts with {answers} answers have none{condition}"
        )
    return min(plans, key=lambda plan: plan.parameters)


def _richer(plan: Plan, free: int) -> Plan:
    """Return the plan with the most free rounds, up to a limit, that leaves codes for all tokens."""
    richer = (replace(plan, free=most) for most in range(min(free, len(plan.mixing.strides)), 0, -1))
    return next((candidate for candidate in richer if candidate.codes_below >= 2 * plan.d_vocab), plan)


def _widths(cells: int) -> list[int]:
    """Return the odd numbers of cells in a row to try: all up to some dozens, then fewer."""
    most = max(3, 4 * math.isqrt(cells))
    return sorted({int(1.08**i) | 1 for i in range(int(math.log(most) / math.log(1.08)) + 1)})


def probe_memory(
    task: Task, *, dtype: Precision = "float32", labels_per_word: int | None = None, seed: int = 0
) -> Construction[Task]:
    """Memorize any labels of distinct contexts as sums of table entries, such that every run in float32 is exact.

    Codes of tokens are integers. Hard heads that read 1, 2, 4, ... positions back add them up, each round with another
    matrix, until the last position holds a few sums over the whole context; the last four positions read these, and
    each takes another one. Steps turn it into a row and a column of a table W of integers, whose entry is found by one
    layer through the rows, and one that silences all columns but one. Of large tables an entry is a word of several
    labels, which steps take apart bit by bit. The last head adds what the
    four positions found, and their sum modulo $2^c$ is the label's number. W solves one sparse equation for each fact.

    Args:
        task: Contexts of up to 1182 tokens, with labels.
        dtype: The precision in which all runs are to be exact; the weights are integers, and halves of some. In float64
            more labels share an entry.
        labels_per_word: How many labels share an entry of the table, 0 for one of a table between knots; by default
            what gives the fewest parameters.
        seed: Seed of the codes and of what the table leaves free.

    Returns:
        The model. The summary says how full the table is and how many draws it took.

    Raises:
        HypothesisError: A task of distributions, or longer contexts.
        CapacityError: No draw could be solved; names two contexts that collide in the last, or the load. No word holds
            this many labels.

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
        ease = attempt // 3 if task.n_contexts <= _ONE_TABLE else max(0, attempt - 3)
        plan = plan_of(*sizes_of(task), dtype=dtype, labels_per_word=labels_per_word, ease=ease)
        codes = _codes(plan, rng)
        cells = _cells(plan, codes, contexts)
        table = table_of_sums(cells, labels, plan.cells, plan.modulus.bit_length() - 1, rng)
        if table is None:
            collision = _collision(task, cells, labels) or f"the table was {plan.load:.0%} full"
            continue
        words = _words(plan, table)
        if not plan.one_hot and _most(*_knots(words)) + 4 * plan.modulus * plan.width > _EXACT:
            collision = "the knots through the table were too steep"
            continue
        model = _model(plan, codes, words, answers)
        return Construction(
            task,
            model,
            f"{counted(plan.facts, 'context')} by {counted(plan.probes, 'probe')} each of a table of "
            f"{table.size} cells, {plan.load:.1%} full, {_packed(plan)}at draw {attempt + 1}, "
            f"{len(model.blocks)} blocks, {model.parameters} parameters",
        )
    raise CapacityError(
        _CLAIM, "probes that tell the contexts apart", f"{_TRIES} draws failed; in the last {collision}"
    )


def _packed(plan: Plan) -> str:
    return f"{plan.labels_per_word} an entry, " if plan.labels_per_word > 1 else ""


def _words(plan: Plan, table: Int64Array) -> Float64Array:
    """Return the entries of the table, `[table_rows, width]`; the first cell of each is the lowest digit."""
    m = max(1, plan.labels_per_word)
    cells = table.reshape(-1, plan.segment)
    padded = np.zeros((len(cells), plan.rows * plan.width * m), dtype=np.int64)
    padded[:, : plan.segment] = cells
    return (padded.reshape(-1, plan.width, m) @ plan.modulus ** np.arange(m)).astype(np.float64)


def sizes_of(task: Task) -> tuple[int, int, int, int, int]:
    """Return the arguments of `plan_of`: T, S, N, K and the number of logits."""
    return task.n_contexts, task.n_ctx, task.d_vocab, len(np.unique(task.labels)), task.n_answers


def probe_parameters(task: Task, dtype: Precision = "float32") -> int:
    """Count the parameters of the probe memory of a task, if its first draw is solvable; 0 if it refuses the task.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> probe_parameters(enumerated_task(4, 4))
        1036
    """
    facts, n_ctx, d_vocab, answers, outputs = sizes_of(task)
    if task.target != "labels" or n_ctx > LONGEST:
        return 0
    if n_ctx == 1:
        digits = 1 if answers <= _ONE_DIGIT else 2
        return (d_vocab + 1) * digits + outputs * (digits + 1)
    return plan_of(facts, n_ctx, d_vocab, answers, outputs, dtype=dtype).parameters


def _codes(plan: Plan, rng: np.random.Generator) -> Int64Array:
    """Return codes of the tokens, `[N, D]`, pairwise distinct if there are enough."""
    codes = np.zeros((plan.d_vocab, plan.columns), dtype=np.int64)
    for _ in range(_TRIES):
        if len(np.unique(codes, axis=0)) == plan.d_vocab:
            break
        codes = rng.integers(0, plan.codes_below, (plan.d_vocab, plan.columns))
    return codes


def _combinations(plan: Plan) -> tuple[Int64Array, Int64Array]:
    """Return the combinations of sums for the probes and, last, for the segment, `[D, r + 1]`; and the shift that makes
    them >= 0.
    """
    chooses = (np.arange(plan.columns) < 2).astype(np.int64)[:, None]
    combined = np.hstack([plan.selected, chooses])
    return combined, -np.minimum(plan.mixing.weights @ combined, 0).sum(axis=(0, 1)) * (plan.codes_below - 1)


def _cells(plan: Plan, codes: Int64Array, contexts: Int64Array) -> Int64Array:
    """Return the cells that each context probes, `[T, r]`, as the model computes them."""
    sums = np.zeros((len(contexts), plan.columns), dtype=np.int64)
    for place, weight in enumerate(plan.mixing.weights):
        sums += (codes @ weight)[contexts[:, -1 - place]]
    combinations, lacking = _combinations(plan)
    numbers = sums @ combinations + lacking
    cells = numbers[:, :-1] % plan.segment
    if plan.segments > 1:
        cells += plan.segment * (numbers[:, -1:] % plan.segments + np.arange(plan.probes))
    return cells


def _collision(task: Task, cells: Int64Array, labels: Int64Array) -> str:
    """Describe two contexts with different labels and equal probes; empty if there are none."""
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
    """Memorize contexts of one token: the embedding is the number of the label."""
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
    """Return logits $2 c y - c^2$ of each digit c of an answer's number, largest for y = c, and the centres of y."""
    number = np.arange(len(answers))
    parts = np.stack([number] if digits == 1 else [number % _DIGIT, number // _DIGIT], axis=1)
    middle = parts.max(axis=0) // 2
    W_U, b_U = np.zeros((digits, outputs)), np.full(outputs, -1.0)  # what is never a label is behind by 1
    W_U[:, answers] = 2.0 * (parts - middle).T
    b_U[answers] = -((parts - middle) ** 2).sum(axis=1)
    return W_U, b_U, middle.astype(np.float64)


def _model(plan: Plan, codes: Int64Array, table: Float64Array, answers: Int64Array) -> Model:
    columns, d = plan.columns, plan.columns + 2
    W_E, W_pos = np.zeros((plan.d_vocab, d)), np.zeros((plan.n_ctx, d))
    W_E[:, :columns] = codes
    place = 2.0 * np.arange(plan.n_ctx)[::-1] - (plan.probes - 1)  # of the probes -(r - 1), ..., r - 1
    W_pos[:, columns], W_pos[:, columns + 1] = place, place**2
    rounds = [_round(stride, map_) for stride, map_ in zip(plan.mixing.strides, plan.mixing.maps, strict=True)]
    addresses, found = _addresses(plan)
    blocks: list[Block] = [*rounds, _shared(plan), _numbers(plan), *addresses, *_looked_up(plan, table, found)]
    W_U, b_U, middle = _readout(answers, plan.digits, plan.outputs)
    blocks += [_sum_of_probes(plan), *_residue(plan, middle)]
    return Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=W_pos)


def _round(stride: int, map_: Int64Array) -> Attention:
    """Add to each position the content of an earlier one, times a matrix. Scores are $-(p_j - p_i - 2 m)^2$."""
    columns = len(map_)
    W_Q, W_K = np.zeros((1, columns + 2, 2)), np.zeros((1, columns + 2, 2))
    W_Q[0, columns, 0] = 2.0 * _SHARP
    W_K[0, columns:] = np.eye(2)
    b_Q = np.array([[4.0 * _SHARP * stride, -_SHARP]])
    W_V = np.eye(columns + 2, columns)[None]
    W_O = np.hstack([map_, np.zeros((columns, 2))])[None]
    return Attention(W_Q=W_Q, b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O, attends="all")


def _shared(plan: Plan) -> Attention:
    """Copy the sums of the last position to every position, which keeps its place."""
    columns, d = plan.columns, plan.columns + 2  # the sums, then the place p and p^2
    # Scores are q_0 p + q_1 p^2, which is -_SHARP (p - p')^2 up to a constant: head 0 attends to the place
    # p' = 1 - probes, and head 1 to the place of the query.
    W_Q, W_K = np.zeros((2, d, 2)), np.zeros((2, d, 2))
    W_Q[1, columns, 0] = 2.0 * _SHARP
    W_K[:, columns:] = np.eye(2)
    b_Q = np.array([[-2.0 * _SHARP * (plan.probes - 1), -_SHARP], [0.0, -_SHARP]])
    W_V, W_O = np.zeros((2, d, columns)), np.zeros((2, columns, d))
    W_V[0], W_O[0] = np.eye(d, columns), np.eye(columns, d)
    W_V[1, columns:, :2] = W_O[1, :2, columns:] = np.eye(2)
    return Attention(W_Q=W_Q, b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O, skip=False, attends="all")


_NUMBER, _BIT, _ROW, _HIGH, _COLUMN = range(5)  # of the stream behind the hash; the last two for rows of one neuron


def _flag(plan: Plan) -> int:
    return 3 + 2 * plan.one_hot


def _chooser(plan: Plan) -> int:
    return _flag(plan) + plan.flagged


def _width(plan: Plan) -> int:
    return _chooser(plan) + (plan.segments > 1)


def _of_segment(plan: Plan) -> tuple[int, int]:
    """Return the column that a segment's number is added to, and how many times."""
    return (_HIGH, 1) if plan.one_hot else (_ROW, plan.rows)


def _numbers(plan: Plan) -> FeedForward:
    """Select the number of each probe: $(v_j - Q (p - p_j)^2)_+$ is the number of the probe at $p_j$, and 0
    elsewhere.
    """
    columns, wide, probes = plan.columns, _width(plan), plan.probes
    combinations, lacking = _combinations(plan)
    most = plan.growth[0] * (plan.codes_below - 1) + 1
    silence = float(-(-most // 4) + 1)
    places = 2.0 * np.arange(probes) - (probes - 1)
    W_in = np.vstack([combinations[:, :probes], 2.0 * silence * places[None], np.full((1, probes), -silence)])
    b_in = lacking[:probes] - silence * places**2
    W_out = np.zeros((probes, wide))
    W_out[:, _NUMBER] = 1.0
    at = np.eye(columns + 2)[columns]
    parts: list[tuple[Float64Array, Float64Array, Float64Array]] = [(W_in, b_in, W_out)]
    if plan.segments > 1:  # what chooses it; and where that of this probe begins, if the first one's were 0
        chooses = np.append(combinations[:, probes], [0.0, 0.0])[:, None]
        parts.append((chooses, lacking[probes:].astype(np.float64), _unit(wide, _chooser(plan))))
        column, times = _of_segment(plan)
        parts.append((at[:, None], np.array([probes - 1.0]), times / 2 * _unit(wide, column)))
    if plan.flagged:  # one of the last four; of three all but the last
        sign, bound = (-1.0, 4.0) if probes == 4 else (1.0, -1.0)
        shifts = -sign * bound + np.array([0.5, -0.5])
        parts.append((sign * np.stack([at, at], axis=1), shifts, np.outer([1.0, -1.0], _unit(wide, _flag(plan)))))
    W_in, b_in, W_out = _joined(parts)
    return FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, skip=False)


def _joined(parts: list[tuple[Float64Array, Float64Array, Float64Array]]) -> list[Float64Array]:
    """Concatenate the inputs, shifts and outputs of groups of neurons into one layer."""
    return [np.concatenate([part[i] for part in parts], axis=int(i == 0)).astype(np.float64) for i in range(3)]


def _unit(width: int, column: int) -> Float64Array:
    return np.eye(width)[[column]]


def _addresses(plan: Plan) -> tuple[list[FeedForward], Float64Array]:
    """Return steps that leave the numbers of the row, the column and the place in the word, and how to read them."""
    wide = _width(plan)
    segment, cell = plan.reduced()
    blocks, last = [], None
    if plan.segments > 1:
        chooser = _chooser(plan)
        blocks += step_blocks(wide, _BIT, [Step(chooser, t) for t in segment])
        last = Step(chooser, segment[-1]) if segment else None
        blocks.append(_moved(wide, settled(wide, _BIT, last), chooser, *_of_segment(plan), last is not None))
    steps = [Step(_NUMBER, t) for t in cell] + plan.parted()
    blocks += step_blocks(wide, _BIT, steps)
    return blocks, settled(wide, _BIT, steps[-1] if steps else None)


def _moved(wide: int, read: Float64Array, column: int, to: int, times: int, pending: bool) -> FeedForward:
    """Add multiples of one column to another; carry out a pending step."""
    kept = [column, _BIT] if pending else [column]
    W_out = np.zeros((len(kept), wide))
    W_out[0, to] = times
    if pending:
        W_out[1] = (read - np.eye(wide))[_BIT]
    W_in = read[:, [column]] if not pending else np.stack([read[:, column], np.eye(wide)[_BIT]], axis=1)
    return FeedForward(W_in=W_in, W_out=W_out)


_Neurons = tuple[Float64Array, Float64Array, Float64Array]
"""Inputs, shifts and outputs of some neurons."""


def _looked_up(plan: Plan, table: Float64Array, found: Float64Array) -> list[FeedForward]:
    """Return the entry of a cell and the flag, from the numbers of the cell."""
    wide, size, m = len(found), plan.width, plan.labels_per_word
    flag = [_flag(plan)] * plan.flagged
    if not plan.one_hot:
        rows, middle = _through(wide, _ROW, table)
        gates, gate = _through(wide, _NUMBER, plan.modulus * (np.eye(size) - 1.0))
        return _one_of(found, [rows, gates], middle + gate, flag, [1] * plan.flagged, 1 + plan.flagged)
    squares = _squares(plan, found, [_NUMBER] * (m > 1) + flag)
    inner, top = squares.d_out, plan.modulus**m - 1.0
    middles = np.array([*plan.split, size])[:, None] // 2
    numbers = np.stack(np.divmod(np.arange(len(table)), plan.split[1])) - middles[:2]
    rows = (*_hits(inner, [0, 1], 2, numbers), table)
    columns = (*_hits(inner, [3], 4, np.arange(size)[None] - middles[2]), top * np.eye(size))
    behind = m + 2 + plan.flagged if m > 1 else 1 + plan.flagged
    passed = list(range(5, inner))
    places = list(range(behind - len(passed), behind))
    blocks = [squares, *_one_of(np.eye(inner), [rows, columns], np.full(size, -top), passed, places, behind)]
    if m == 1:
        return blocks
    # The stream is a word, a bit, all labels of the word but the first, the place of the one that is wanted, the flag.
    steps = plan.peeled()
    gates, gate = _through(behind, m + 1, plan.modulus * (np.eye(m) - 1.0))
    labels = (np.eye(behind)[:, [0, *range(2, m + 1)]], np.zeros(m), np.eye(m))
    blocks += step_blocks(behind, 1, steps)
    read, last = settled(behind, 1, steps[-1]), [1] * plan.flagged
    return blocks + _one_of(read, [labels, gates], gate, [m + 2] * plan.flagged, last, 1 + plan.flagged)


def _squares(plan: Plan, found: Float64Array, kept: list[int]) -> FeedForward:
    """Return the two numbers of the row and the sum of their squares, the column and its square, and the columns that
    stay.

    All three numbers count from the middle of their range on.
    """
    wide, inner = len(found), 5 + len(kept)
    passed = [_HIGH, _ROW, _COLUMN, *kept]
    parts = [(np.eye(wide)[:, passed], np.zeros(len(passed)), np.eye(inner)[[0, 1, 3, *range(5, inner)]])]
    constant = np.zeros(inner)
    for column, count, own, to in (
        (_HIGH, plan.split[0], 0, 2),
        (_ROW, plan.split[1], 1, 2),
        (_COLUMN, plan.width, 3, 4),
    ):
        centred = np.arange(count)[:, None] - count // 2
        neurons, middle = _through(wide, column, centred**2 * _unit(inner, to))
        parts.append(neurons)
        constant += middle - count // 2 * _unit(inner, own)[0]
    return _layer(found, parts, constant)


def _hits(width: int, columns: list[int], square: int, numbers: Int64Array) -> tuple[Float64Array, Float64Array]:
    """Return inputs and shifts of $(1 - |x - n|^2)_+$ for each column n of some numbers: 1 where $x = n$, else 0."""
    W_in = np.zeros((width, numbers.shape[1]))
    W_in[columns] = 2.0 * numbers
    W_in[square] = -1.0
    return W_in, 1.0 - (numbers**2).sum(axis=0)


def _layer(read: Float64Array, parts: list[_Neurons], shift: Float64Array) -> FeedForward:
    W_in, b_in, W_out = _joined(parts)
    return FeedForward(W_in=read @ W_in, b_in=b_in, W_out=W_out, b_out=shift, skip=False)


def _one_of(
    read: Float64Array, parts: list[_Neurons], shift: Float64Array, passed: list[int], places: list[int], behind: int
) -> list[FeedForward]:
    """Return the sum of the positive parts of some numbers, and columns that are copied to later places of the
    stream.
    """
    size, count = len(shift), len(passed)
    # Both blocks have the numbers first and the columns that are copied after them.
    widened = [(W_in, b_in, np.hstack([W_out, np.zeros((len(W_out), count))])) for W_in, b_in, W_out in parts]
    copies = np.eye(len(read))[:, passed], np.zeros(count), np.eye(size + count)[size:]
    W_out = np.zeros((size + count, behind))
    W_out[:size, 0] = 1.0
    W_out[np.arange(size, size + count), places] = 1.0
    first = _layer(read, [*widened, copies], np.append(shift, np.zeros(count)))
    return [first, FeedForward(W_in=np.eye(size + count), W_out=W_out, skip=False)]


def _through(width: int, column: int, rows: Float64Array) -> tuple[_Neurons, Float64Array]:
    """Return neurons that produce row i for a column that holds i, and their shift."""
    shifts, signs, jumps, middle = _knots(rows)
    return (_unit(width, column).T * signs, shifts, jumps), middle


def _knots(rows: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Return shifts, signs and jumps of n - 1 neurons through n rows, from the middle outwards, and the middle row."""
    middle = len(rows) // 2
    zero = np.zeros((1, rows.shape[1]))
    shifts, signs, jumps = [], [], []
    for sign, side in ((1.0, rows[middle:]), (-1.0, rows[middle::-1])):
        slopes = np.diff(side, axis=0)
        side_jumps = np.diff(slopes, axis=0, prepend=zero)  # each neuron changes the slope at its knot
        shifts.append(-sign * middle - np.arange(len(side_jumps)))
        signs.append(np.full(len(side_jumps), sign))
        jumps.append(side_jumps)
    return np.concatenate(shifts), np.concatenate(signs), np.concatenate(jumps), rows[middle]


def _most(shifts: Float64Array, signs: Float64Array, jumps: Float64Array, middle: Float64Array) -> float:
    """Return the largest sum of sizes of terms of the knots, over all rows and columns."""
    active = np.maximum(np.outer(np.arange(len(shifts) + 1), signs) + shifts, 0.0)
    return float((active @ np.abs(jumps) + middle).max(initial=0.0))


def _sum_of_probes(plan: Plan) -> Attention:
    """Add the results of a power of two of positions; for three, add the last one and two others."""
    width, flag = 1 + plan.flagged, plan.flagged
    W_K, W_V = np.zeros((1, width, 1)), np.eye(width, 1)[None]
    if flag:
        W_K[0, 1] = 4.0 * _SHARP
    three = plan.probes == 3
    W_O = np.zeros((1, 1, width if three else plan.digits + 1))
    W_O[0, 0, 0] = 2.0 if three else float(plan.probes)
    return Attention(W_Q=np.zeros((1, width, 1)), b_Q=np.ones((1, 1)), W_K=W_K, W_V=W_V, W_O=W_O, skip=three)


def _residue(plan: Plan, middle: Float64Array) -> list[FeedForward]:
    """Return the sum modulo the modulus, parted into digits, centred."""
    width = plan.digits + 1
    steps = [Step(0, plan.modulus * k) for k in halvings(plan.probes)]
    steps += [Step(0, t, 2, t // _DIGIT) for t in plan.high()]
    read = settled(width, 1, steps[-1] if steps else None)[:, [0, 2][: plan.digits]]
    last = FeedForward(W_in=read, W_out=np.eye(plan.digits), b_out=-middle, skip=False)
    return [*step_blocks(width, 1, steps), last]
