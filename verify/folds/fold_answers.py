r"""Prove that a model of one attention answers a rule with a state right on its whole domain, without enumeration.

What the attention makes of a context is a mean of values, one of each position. The numbers $z$ that it writes with
are therefore ratios of sums over the positions, and $z \le \lambda$ for all inputs of a cell if and only if
$\max \sum_s e_s (v_s - \lambda) \le 0$: a longest path through the states of the rule (Theorem D1). A cell is the set
of inputs that choose the same at some stages. Behind the attention all is a function of the last token and of $z$; a
box of values of $z$ is cut in halves until each part is decided.

Page: docs/folds.md
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from constructions.arrays import BoolArray, Int64Array
from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.models.blocks import Attention, FeedForward
from constructions.models.model import Model
from constructions.tasks.fold import Fold
from verify.arithmetic import blas
from verify.arithmetic.rounding import Floats, down, gamma, quiet, up
from verify.forward.map_norms import Norms, row_norms
from verify.forward.row_balls import InRowBalls
from verify.forward.row_ellipsoids import InRowEllipsoids, Spread
from verify.forward.walk import Heads, Stream, passed, read_out
from verify.progress import Progress, silent
from verify.runs.format_rows import InFormat
from verify.runs.formats import EXP_ULPS, FLOAT64, FloatFormat

MOST_CELLS = 2**20
"""Cells of inputs that are looked at, unless more are asked for."""

_MOST_BOXES = 2**14  # boxes of one cell: what these leave open is for smaller cells
_TOGETHER = 2**20  # entries of an array that is worked on
_MOST_COORDINATES = 4  # of what the heads write: boxes in more dimensions are too many


@dataclass(frozen=True)
class WrongSum:
    """An input that is proved to be answered wrongly.

    Args:
        prompt: Its tokens.
        answer: What follows by the rule.
        place: The first token of the answer that the model does not say.
        said: A token whose logit is proved to be at least as large as that of the right one there.
    """

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    place: int
    said: int


@dataclass(frozen=True)
class FoldAnswers:
    """What was proved of all inputs of a fold.

    Args:
        inputs: How many there are.
        left: At most so many of them are not proved to be answered right.
        wrong: An input that is proved to be answered wrongly, if one was found.
        cells: How many cells were looked at.
        boxes: How many boxes of what the heads write.
    """

    inputs: int
    left: int
    wrong: WrongSum | None
    cells: int
    boxes: int


def judge_fold(
    model: Model,
    fold: Fold,
    *,
    number_format: FloatFormat | None = None,
    exp_ulps: float = EXP_ULPS,
    most_cells: int = MOST_CELLS,
    progress: Progress = silent,
) -> FoldAnswers:
    r"""Prove that each token of the answer has the strictly largest logit, for all inputs, or find one that is wrong.

    Then greedy decoding, which reads its own tokens, says the answer to every input: the first token is right, so the
    second is asked for with the right first one, and so on.

    Args:
        model: Tokens, one attention, and blocks that work on each row by itself; see `require_one_attention`.
        fold: The rule.
        number_format: Judge all runs in this format, under H1 to H4 of docs/rigour/runs.md; by default real arithmetic.
        exp_ulps: Accuracy of the exponential that is assumed of these runs.
        most_cells: How many cells may be looked at; inputs in others are left.
        progress: Called with the stage and the finished share of it.

    Raises:
        HypothesisError: A model of another shape; names the hypothesis.
        InputError: A prompt that the model cannot read.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    require_at_least(1, most_cells=most_cells)
    require_one_attention(model)
    _require_readable(model, fold)
    blas.probe()
    # Real arithmetic is one of the runs in float64, of which every weight is a number.
    with np.errstate(all="ignore"):
        rows = _Rows(model, fold, number_format or FLOAT64, exp_ulps)
    work = _Work(model, fold, rows, most_cells)
    for place in range(len(fold.answer)):
        progress("answer", place / len(fold.answer), f"token {place + 1} of {len(fold.answer)}")
        work.judge(place)
        if work.wrong is not None:
            break
    left = fold.inputs if work.wrong is not None else min(fold.inputs, work.left)
    return FoldAnswers(fold.inputs, left, work.wrong, work.cells, work.boxes)


def require_one_attention(model: Model) -> None:
    """Refuse a model to which the theorem does not apply.

    Raises:
        HypothesisError: Names the hypothesis that fails.
    """
    theorem = "Theorem D1"
    if not model.reads_tokens or model.is_rational:
        raise HypothesisError(theorem, "a model of tokens in float64", "vectors or rationals")
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    if len(attentions) != 1:
        raise HypothesisError(theorem, "one layer of attention", f"{len(attentions)}")
    [attention] = attentions
    if attention.slopes is not None:
        raise HypothesisError(theorem, "scores without a bias by distance", "ALiBi slopes")
    coordinates = attention.n_heads * attention.d_head
    if not 1 <= coordinates <= _MOST_COORDINATES:
        raise HypothesisError(
            theorem, f"heads that write at most {_MOST_COORDINATES} numbers together", f"{coordinates}"
        )


def _require_readable(model: Model, fold: Fold) -> None:
    if fold.longest > model.n_ctx:
        raise InputError("the rule", f"takes {fold.longest} positions", f"at most {model.n_ctx}, which the model has")
    for name, size in (("d_vocab", model.d_vocab), ("d_vocab_out", model.d_vocab_out)):
        if fold.largest_token >= size:
            raise InputError("the rule", f"has the token {fold.largest_token}", f"tokens below {name} = {size}")


@dataclass(frozen=True)
class _Transitions:
    """All moves from a state before a stage to one after it.

    Args:
        state: The state before, `[T]`.
        after: The state after, `[T]`, in ascending order.
        choice: What the stage reads, `[T]`.
        emits: What it emits, `[T]`; -1 where it emits nothing.
        read: The positions of the rows that it brings, all that it ever may.
    """

    state: Int64Array
    after: Int64Array
    choice: Int64Array
    emits: Int64Array

    @classmethod
    def of(cls, fold: Fold, number: int) -> "_Transitions":
        stage = fold.stages[number]
        state, choice = np.divmod(np.arange(stage.steps.size), stage.steps.shape[1])
        after = stage.steps.reshape(-1)
        order = np.argsort(after, kind="stable")
        emits = np.full(stage.steps.size, -1) if stage.emits is None else stage.emits.reshape(-1)
        return cls(state[order], after[order], choice[order], emits[order])


class _Rows:
    """The rows of all pairs of a position and a token that occur, and what the heads make of them.

    What the heads read is enclosed in balls, of which the bounds of the numerators are made; what comes behind them in
    ellipsoids, which follow to first order how the logits move with what the heads write.
    """

    def __init__(self, model: Model, fold: Fold, number_format: FloatFormat, exp_ulps: float) -> None:
        pairs = set(fold.fixed.items())
        for stage in fold.stages:
            for column, position in enumerate(stage.positions):
                pairs |= {(position, int(token)) for token in np.unique(stage.choices[:, column])}
        for place, number in enumerate(fold.answer[:-1]):
            emits = fold.stages[number].emits
            assert emits is not None
            pairs |= {(fold.length + place, int(token)) for token in np.unique(emits)}
        ordered = sorted(pairs)
        self.number = {pair: row for row, pair in enumerate(ordered)}
        self.positions, self.tokens = (np.array(each) for each in zip(*ordered, strict=True))
        self.place = next(place for place, block in enumerate(model.blocks) if isinstance(block, Attention))
        block = model.blocks[self.place]
        assert isinstance(block, Attention)
        norms, numbers = Norms(model), InFormat(number_format, exp_ulps)
        self.block, self.model = block, model
        self.balls, self.ellipsoids = InRowBalls(norms, numbers), InRowEllipsoids(norms, numbers)
        self.read = Heads.of(self.balls, block, self._stream(self.balls))
        self.written = Heads.of(self.ellipsoids, block, self._stream(self.ellipsoids))

    def _stream(self, arithmetic: Any) -> Stream[Any]:
        """The rows as the attention finds them."""
        assert self.model.W_E is not None
        embedded = self.model.W_E[self.tokens]
        if self.model.W_pos is None:
            rows = arithmetic.given(embedded)
        else:
            rows = arithmetic.embedded(embedded, self.model.W_pos[self.positions])
        stream = Stream(rows, np.arange(len(self.tokens))[:, None], self.positions)
        return passed(arithmetic, self.model, stream, range(self.place))

    def leads(
        self, asking: int, middle: Floats, half: Floats, rounding: Floats | float, label: int
    ) -> tuple[Floats, BoolArray]:
        """By how much the label leads, at least, whatever the heads write within boxes.

        Args:
            asking: The row that asks.
            middle: The middles of the boxes, `[B, H, n]`.
            half: Half of their widths.
            rounding: How far what is written may be off beyond them, `[B, H]`, or a number.
            label: The token whose logit is to be the largest.

        Returns:
            The leads `[B]`, and whether the label has the largest logit in the middle of the box.
        """
        arithmetic, stream, count = self.ellipsoids, self.written.stream, len(middle)
        coordinates = middle.shape[1] * middle.shape[2]
        edges = np.eye(coordinates) * half.reshape(count, 1, coordinates)
        rest = np.broadcast_to(rounding, middle.shape[:2]) + 0.0
        mixed = Spread(middle, edges.reshape(count, coordinates, *middle.shape[1:]), rest, np.arange(count), -1, 1)
        asked = np.full(count, asking)
        arithmetic.balls.fits = True
        y = self.written.leave(arithmetic.written(mixed, self.block), asked)
        behind = Stream(y, np.arange(count)[:, None], stream.positions[asked], None, (stream.rows, asked))
        behind = passed(arithmetic, self.model, behind, range(self.place + 1, len(self.model.blocks)))
        (value, _, apart), cells = read_out(arithmetic, self.model, behind)
        # As of `verify.replica.every_run`: how far an output may come towards the largest one.
        ahead = (value[:, [label]] - value) * (1.0 - 2.0**-40) - apart
        ahead[:, label] = math.inf
        least = np.where(np.isfinite(apart).all(axis=1), ahead.min(axis=1), -math.inf)
        first = value.argmax(axis=1) == label
        return np.where(first & arithmetic.fits, least, -math.inf)[cells], first[cells]


@dataclass(frozen=True)
class _Numerators:
    """Bounds of the numerators and of the values that one row which asks may read, `[H, R]` and `[R, H, n]`."""

    lower: Floats
    upper: Floats
    value: Floats
    radius: Floats


class _Paths:
    """The inputs of one last token and one label, as paths through the states of the fold.

    Args:
        work: What is judged.
        place: Which token of the answer is asked for.
        last: The token at the last position.
        label: The right token.
    """

    def __init__(self, work: "_Work", place: int, last: int, label: int) -> None:
        fold = work.fold
        self.transitions, self.place = work.transitions, place
        self.allowed: list[BoolArray] = []
        self.reads: list[Int64Array] = []
        end = fold.length + place - 1  # the last position
        number = work.rows.number
        self.always = np.array([number[pair] for pair in sorted(fold.fixed.items())], dtype=np.int64)
        for index, (stage, moves) in enumerate(zip(fold.stages, self.transitions, strict=True)):
            tokens = [(position, stage.choices[moves.choice, i]) for i, position in enumerate(stage.positions)]
            said = fold.answer.index(index) if index in fold.answer else len(fold.answer)
            if said < place:
                tokens.append((fold.length + said, moves.emits))
            allowed = np.ones(len(moves.state), dtype=bool)
            for position, token in tokens:
                if position == end:
                    allowed &= token == last
            if said == place:
                allowed &= moves.emits == label
            self.allowed.append(allowed)
            rows = [[number[position, token] for token in here.tolist()] for position, here in tokens]
            self.reads.append(np.array(rows, dtype=np.int64).reshape(len(rows), len(moves.state)).T)
        self.read = np.unique(np.concatenate([self.always, *(reads.reshape(-1) for reads in self.reads)]))

    def whole(self) -> Int64Array:
        """The one cell of all of them: nothing is chosen, `[1, stages]`."""
        return np.full((1, len(self.transitions)), -1)

    def longest(self, lengths: Floats, cells: Int64Array) -> tuple[Floats, Int64Array, Floats]:
        """The largest sums of the lengths of the rows that an input of each cell brings.

        Args:
            lengths: Of all rows, `[N, R]`.
            cells: Which transition is chosen at each stage, -1 where any may be, `[N, stages]`.

        Returns:
            The sums `[N]`, minus infinity where a cell is empty; the transitions of a largest one, `[N, stages]`; and
            the sums of the largest sizes of what is added, `[N]`.
        """
        count = len(cells)
        here = np.zeros((count, 1)) + lengths[:, self.always].sum(axis=1)[:, None]
        sizes = np.abs(lengths[:, self.always]).sum(axis=1)
        best_moves = []
        for index, moves in enumerate(self.transitions):
            cost = lengths[:, self.reads[index]].sum(axis=2)
            possible = self._possible(cells, index)
            sizes = sizes + np.where(possible, np.abs(cost), 0.0).max(axis=1)
            sums = np.where(possible, here[:, moves.state] + cost, -np.inf)
            starts = np.flatnonzero(np.diff(moves.after, prepend=-1))
            here = np.maximum.reduceat(sums, starts, axis=1)
            best = np.empty(here.shape, dtype=np.int64)
            stops = np.append(starts[1:], len(moves.after))
            for state, (start, stop) in enumerate(zip(starts, stops, strict=True)):
                best[:, state] = start + sums[:, start:stop].argmax(axis=1)
            best_moves.append(best)
        state = here.argmax(axis=1)
        longest = here[np.arange(count), state]
        path = np.empty((count, len(self.transitions)), dtype=np.int64)
        for index in range(len(self.transitions) - 1, -1, -1):
            path[:, index] = best_moves[index][np.arange(count), state]
            state = self.transitions[index].state[path[:, index]]
        return longest, path, sizes

    def summed(self, weights: Floats, paths: Int64Array) -> Floats:
        """The sums of the weights `[N, R]` of the rows that each path brings, `[N]`."""
        total, count = weights[:, self.always].sum(axis=1), np.arange(len(paths))[:, None]
        for index, reads in enumerate(self.reads):
            total = total + weights[count, reads[paths[:, index]]].sum(axis=1)
        return total

    def _possible(self, cells: Int64Array, index: int) -> BoolArray:
        """Which transitions of a stage the cells leave, `[N, T]`."""
        chosen = cells[:, index, None]
        return self.allowed[index] & ((chosen < 0) | (chosen == np.arange(len(self.allowed[index]))))

    def split(self, cells: Int64Array, index: int) -> Int64Array:
        """The cells, each cut by the transition of one stage; the parts of one side by side."""
        moves = np.flatnonzero(self.allowed[index])
        parts = np.repeat(cells, len(moves), axis=0)
        parts[:, index] = np.tile(moves, len(cells))
        return parts

    def count(self, cell: Int64Array) -> int:
        """How many inputs a cell has, exactly."""
        counts = [1]
        for index, moves in enumerate(self.transitions):
            after = [0] * (int(moves.after.max()) + 1)
            for move in np.flatnonzero(self._possible(cell[None], index)[0]).tolist():
                after[int(moves.after[move])] += counts[int(moves.state[move])]
            counts = after
        return sum(counts)

    def choices(self, paths: Int64Array) -> Int64Array:
        """What the inputs of paths choose at each stage, `[N, stages]`."""
        return np.stack([moves.choice[paths[:, i]] for i, moves in enumerate(self.transitions)], axis=1)


class _Work:
    """The work on one model and one rule."""

    def __init__(self, model: Model, fold: Fold, rows: _Rows, most_cells: int) -> None:
        self.model, self.fold, self.rows, self.most_cells = model, fold, rows, most_cells
        self.transitions = [_Transitions.of(fold, number) for number in range(len(fold.stages))]
        self.fits = rows.balls.fits and rows.ellipsoids.fits
        self.left = self.cells = self.boxes = 0
        self.wrong: WrongSum | None = None

    def judge(self, place: int) -> None:
        """Judge one token of the answer, for all inputs."""
        if not self.fits:  # something may overflow, about which no bound speaks
            self.left = self.fold.inputs
            return
        emits = self.fold.stages[self.fold.answer[place]].emits
        assert emits is not None
        for last in self._last_tokens(place):
            for label in np.unique(emits).tolist():
                self._judge_paths(place, last, label)
                if self.wrong is not None:
                    return

    def _last_tokens(self, place: int) -> list[int]:
        end = self.fold.length + place - 1
        return [token for position, token in self.rows.number if position == end]

    @quiet
    def _judge_paths(self, place: int, last: int, label: int) -> None:
        paths = _Paths(self, place, last, label)
        asking = self.rows.number[self.fold.length + place - 1, last]
        numerators = self._numerators(asking, paths.read)
        cells = paths.whole()
        if not np.isfinite(paths.longest(np.zeros((1, len(self.rows.positions))), cells)[0][0]):
            return  # no input has this last token and this label
        cells = paths.split(cells, self.fold.answer[place])
        while len(cells):
            if self.cells + len(cells) > self.most_cells:
                self.left += sum(paths.count(cell) for cell in cells)
                return
            left = []
            step = max(1, _TOGETHER // max(len(self.rows.positions), max(len(m.state) for m in paths.transitions)))
            for start in range(0, len(cells), step):
                left.append(self._undecided(paths, asking, numerators, cells[start : start + step], label))
                if self.wrong is not None:
                    return
            cells = np.concatenate(left)

    def _numerators(self, asking: int, read: Int64Array) -> _Numerators:
        """Bounds of what the row that asks may read, of all rows; of those that it never reads, 0."""
        arithmetic, heads = self.rows.balls, self.rows.read
        length = int(self.rows.positions[asking]) + 1
        some = arithmetic.numerators(self.rows.block, heads.query, heads.key, asking, read, length)
        lower, upper = (np.zeros((len(some[0]), len(self.rows.positions))) for _ in range(2))
        lower[:, read], upper[:, read] = some
        return _Numerators(lower, upper, heads.value.value, heads.value.radius)

    def _undecided(
        self, paths: _Paths, asking: int, numerators: _Numerators, cells: Int64Array, label: int
    ) -> Int64Array:
        """Smaller cells in place of those that are not decided."""
        count, (_, n_heads, width) = len(cells), numerators.value.shape
        low, high = np.empty((count, n_heads, width)), np.empty((count, n_heads, width))
        found = np.ones(count, dtype=bool)
        extremes = []
        for head in range(n_heads):
            for i in range(width):
                value, radius = numerators.value[:, head, i], numerators.radius[:, head]
                bounds = numerators.lower[head], numerators.upper[head]
                high[:, head, i], top = _largest_mean(paths, cells, value, radius, *bounds)
                lowest, bottom = _largest_mean(paths, cells, -value, radius, *bounds)
                low[:, head, i] = -lowest
                found &= np.isfinite(high[:, head, i])
                extremes += [top, bottom]
        cells, low, high = cells[found], low[found], high[found]
        self.cells += len(cells)
        open_cells = self._open(asking, low, high, label)
        if not open_cells.any():
            return cells[:0]
        tried = np.concatenate([extreme[found][open_cells] for extreme in extremes])
        self._look_for_wrong(paths, np.unique(tried, axis=0), label)
        if self.wrong is not None:
            return cells[:0]
        return self._cut(paths, cells[open_cells], numerators)

    def _cut(self, paths: _Paths, cells: Int64Array, numerators: _Numerators) -> Int64Array:
        """Cut each cell at the stage whose choice moves most of what the heads read."""
        weights = numerators.upper.T[:, :, None] * numerators.value
        spread = np.zeros((len(cells), len(paths.transitions)))
        for index, reads in enumerate(paths.reads):
            moved = weights[reads].sum(axis=1).reshape(len(reads), -1)[paths.allowed[index]]
            spread[:, index] = np.ptp(moved, axis=0).max(initial=0.0)
        spread[cells >= 0] = -1.0
        single = np.array([len(moves.state) == 1 for moves in paths.transitions])
        spread[:, single] = -1.0
        stage = spread.argmax(axis=1)
        whole = spread.max(axis=1) < 0.0  # nothing is left to choose: one input, that no arithmetic here decides
        self.left += int(whole.sum())
        parts = [paths.split(cells[~whole & (stage == index)], index) for index in np.unique(stage[~whole])]
        return np.concatenate(parts) if parts else cells[:0]

    def _open(self, asking: int, low: Floats, high: Floats, label: int) -> BoolArray:
        """Which cells are not decided by boxes about what the heads write, `[N]`."""
        arithmetic, length = self.rows.balls, int(self.rows.positions[asking]) + 1
        middle = low + 0.5 * (high - low)
        half = up(np.maximum(up(high - middle), up(middle - low)))
        largest = float(np.maximum(np.abs(low), np.abs(high)).max(initial=0.0)) * math.sqrt(low.shape[2])
        rounding = arithmetic.mean_rounding(length, largest * (1.0 + 2.0**-40))
        sizes = row_norms(self.rows.block.W_O)
        owner, undecided = np.arange(len(low)), np.zeros(len(low), dtype=bool)
        boxes = np.zeros(len(low), dtype=np.int64)
        step = max(1, _TOGETHER // (8 * self._width()))
        stack = [(owner, middle, half)]
        while stack:
            owner, middle, half = stack.pop()
            if len(owner) > step:
                stack.append((owner[step:], middle[step:], half[step:]))
                owner, middle, half = owner[:step], middle[:step], half[:step]
            wanted = ~undecided[owner]
            owner, middle, half = owner[wanted], middle[wanted], half[wanted]
            if not len(owner):
                continue
            self.boxes += len(owner)
            np.add.at(boxes, owner, 1)
            lead, first = self.rows.leads(asking, middle, half, rounding, label)
            decided = (lead > 0.0) & arithmetic.fits
            hopeless = ~decided & ~(first & (boxes[owner] <= _MOST_BOXES))
            undecided[owner[hopeless]] = True
            rest = ~decided & ~undecided[owner]
            if rest.any():
                stack.append(_halves(owner[rest], middle[rest], half[rest], sizes))
        return undecided

    def _width(self) -> int:
        widths = [self.model.d_model, self.model.d_vocab_out]
        widths += [block.d_mlp for block in self.model.blocks if isinstance(block, FeedForward)]
        return max(widths)

    def _look_for_wrong(self, paths: _Paths, moves: Int64Array, label: int) -> None:
        """Look whether one of some inputs is proved to be answered wrongly at this token."""
        from verify.forward.row_balls import logit_balls

        choices = paths.choices(moves)
        prompts, answers = self.fold.prompts(choices), self.fold.answers(choices)
        contexts = np.concatenate([prompts, answers[:, : paths.place]], axis=1)
        for start, logits, radii in logit_balls(self.model, contexts):
            rivals = np.delete(np.arange(logits.shape[1]), label)
            behind = down(logits[:, rivals] - radii[:, rivals]) - up(logits[:, [label]] + radii[:, [label]])
            wrong = np.flatnonzero((behind >= 0.0).any(axis=1))
            if len(wrong):
                first = int(wrong[0])
                said = int(rivals[behind[first].argmax()])
                row = start + first
                self.wrong = WrongSum(tuple(prompts[row].tolist()), tuple(answers[row].tolist()), paths.place, said)
                return


def _largest_mean(
    paths: _Paths, cells: Int64Array, value: Floats, radius: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Int64Array]:
    r"""An upper bound of the mean of the values that an input of each cell brings, with the numerators as weights.

    Why it is rigorous: let $\lambda$ be a number. If $\sum_s e_s (v_s - \lambda) \le 0$ for all inputs of a cell and
    all numerators between their bounds, the mean is at most $\lambda$ for all of them, since $\sum_s e_s > 0$. The
    largest of these sums is that of a longest path, on which each row brings $(v + \rho - \lambda)$ times the upper
    bound where that is positive, and times the lower one elsewhere. How $\lambda$ is found (Dinkelbach's iteration) proves
    nothing; the sum at the $\lambda$ that is returned is bounded, with all of its roundings.

    Args:
        paths: The paths.
        cells: `[N, stages]`.
        value: Of each row, `[R]`.
        radius: How far the values may be off, `[R]`.
        lower: Bounds of the numerators, `[R]`.
        upper: Likewise.

    Returns:
        The bounds `[N]`, minus infinity for an empty cell, and the path of a largest mean, `[N, stages]`.
    """
    count, value = len(cells), up(value + radius)
    terms = sum(reads.shape[1] for reads in paths.reads) + len(paths.always)

    def lengths(level: Floats) -> Floats:
        above = up(value - level[:, None])
        return np.where(above >= 0.0, up(above * upper), up(above * lower))

    level = np.full(count, float(value[paths.read].min()))
    sums, path, sizes = paths.longest(lengths(level), cells)
    filled = np.isfinite(sums)
    for _ in range(40):
        moved = lengths(level)
        sums, path, sizes = paths.longest(moved, cells)
        weights = np.where(value >= level[:, None], upper, lower)
        mass = paths.summed(weights, path)
        better = np.where(filled & (mass > 0.0), level + sums / mass, level)
        if not (better > level + 1e-13 * np.abs(level)).any():
            break
        level = np.maximum(level, better)
    least = float(lower[paths.read].max(initial=0.0)) or 1.0
    spare = 8.0 * gamma(terms + 8) * sizes / least + 2.0**-60 * np.abs(level)
    for _ in range(60):
        sums, _, sizes = paths.longest(lengths(level + spare), cells)
        proved = up(sums + gamma(terms + 8) * sizes * (1.0 + 2.0**-20)) <= 0.0
        if (proved | ~filled).all():
            break
        spare = np.where(proved, spare, 4.0 * spare + 2.0**-200)
    bound = np.where(proved, level + spare, math.inf)
    return np.where(filled, bound, -math.inf), path


def _halves(owner: Int64Array, middle: Floats, half: Floats, sizes: Floats) -> tuple[Int64Array, Floats, Floats]:
    """Each box cut in two, across the coordinate that moves the stream most."""
    count, n_heads, width = middle.shape
    flat = (half * sizes).reshape(count, n_heads * width)
    widest = flat.argmax(axis=1)
    quarter = np.zeros((count, n_heads * width))
    quarter[np.arange(count), widest] = 0.5 * half.reshape(count, -1)[np.arange(count), widest]
    quarter = quarter.reshape(middle.shape)
    smaller = half - quarter
    # The parts overlap by what is rounded of their middles.
    lower, higher = middle - quarter, middle + quarter
    smaller = up(smaller + (np.abs(middle) + np.abs(half)) * 2.0**-50)
    return np.tile(owner, 2), np.concatenate([lower, higher]), np.concatenate([smaller, smaller])
