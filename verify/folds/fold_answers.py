r"""Prove that a model of one attention answers a rule with a state correctly on its whole domain, without enumeration.

What the attention makes of a context is a mean of values, one of each position. The numbers $z$ that it writes with
are therefore ratios of sums over the positions, and $z \le \lambda$ for all inputs of a cell if and only if
$\max \sum_s e_s (v_s - \lambda) \le 0$: a longest path through the states of the rule (Theorem FD1). A cell is the set
of inputs that choose the same at some stages. Behind the attention all is a function of the last token and of $z$; a
box of values of $z$ is cut in halves until each part is decided.

Page: docs/folds.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from constructions.errors import HypothesisError, require_at_least
from constructions.folds.fold import Fold
from constructions.model.blocks import Attention
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress, silent
from verify.arithmetic import blas
from verify.arithmetic.rounding import Floats, down, quiet, up
from verify.folds.boxes import Boxes
from verify.folds.decoding import decoded, first_token
from verify.folds.means import largest_mean
from verify.folds.paths import Moves, Paths
from verify.folds.rows import FoldRows, Readable
from verify.forward.rows.row_balls import logit_balls
from verify.runs.formats import EXP_ULPS, FLOAT64, FloatFormat

MOST_CELLS = 2**20
"""Cells of inputs that are looked at, unless more are asked for."""

_TOGETHER = 2**20  # entries of an array that is worked on
_MOST_COORDINATES = 4  # of what the heads write: boxes in more dimensions are too many


@dataclass(frozen=True)
class WrongInput:
    """An input that is proved to get a wrong answer.

    Args:
        prompt: Its tokens.
        answer: The answer by the rule.
        place: Which token of the answer is wrong: after those before it the model prefers another one.
        said: A token whose logit is proved to be at least as large as that of the right one there.
        decoded: What greedy decoding says instead of the answer; shorter where two logits are too close to tell.
    """

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    place: int
    said: int
    decoded: tuple[int, ...]

    def words(self) -> str:
        """Describe it for the first line.

        Example:
            >>> WrongInput((0, 0), (0, 0), 1, 3, (0, 3)).words()
            'to 0 0 it says 0 3, not 0 0'
            >>> WrongInput((0, 0), (0, 0), 1, 3, (0,)).words()
            'after 0 0 0 the logit of 3 is no smaller than that of 0'
        """
        if len(self.decoded) == len(self.answer):
            return f"to {_spaced(self.prompt)} it says {_spaced(self.decoded)}, not {_spaced(self.answer)}"
        context, right = (*self.prompt, *self.answer[: self.place]), self.answer[self.place]
        return f"after {_spaced(context)} the logit of {self.said} is no smaller than that of {right}"


def _spaced(tokens: Sequence[int]) -> str:
    return " ".join(map(str, tokens))


@dataclass(frozen=True)
class FoldAnswers:
    """The result of a proof about all inputs of a fold.

    Args:
        inputs: Number of inputs.
        left: Upper bound of the number of inputs that are not proved to be answered correctly.
        wrong: An input that is proved to be answered wrongly, if one was found.
        cells: Number of cells that were examined.
        boxes: Number of boxes of head outputs that were examined.
    """

    inputs: int
    left: int
    wrong: WrongInput | None
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
        most_cells: Largest number of cells to look at; inputs in others are left.
        progress: Called with the stage and the finished share of it.

    Raises:
        HypothesisError: A model of another shape; names the hypothesis.
        InputError: A prompt that the model cannot read.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    require_at_least(1, most_cells=most_cells)
    require_one_attention(model)
    require_fit(model, fold)
    blas.probe()
    # Real arithmetic is one of the runs in float64, of which every weight is a number.
    with np.errstate(all="ignore"):
        rows = FoldRows(model, fold, number_format or FLOAT64, exp_ulps)
    work = Work(model, fold, rows, most_cells, in_reals=number_format is None)
    for place in range(len(fold.answer)):
        progress("answer", place / len(fold.answer), f"token {place + 1} of {len(fold.answer)}")
        work.judge(place)
        if work.wrong is not None:
            break
    left = fold.inputs if work.wrong is not None else min(fold.inputs, work.left)
    return FoldAnswers(fold.inputs, left, work.wrong, work.cells, work.boxes.looked_at)


def require_one_attention(model: Model) -> None:
    """Refuse a model to which the theorem does not apply.

    Raises:
        HypothesisError: Names the hypothesis that fails.
    """
    theorem = "Theorem FD1"
    if not model.reads_tokens or model.is_rational:
        raise HypothesisError(theorem, "a model of tokens in float64", "vectors or rationals")
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    if len(attentions) != 1:
        raise HypothesisError(theorem, "one layer of attention", f"{len(attentions)}")
    [attention] = attentions
    if attention.queries != "stream":
        raise HypothesisError(theorem, "queries of the stream", "queries of the task")
    if attention.slopes is not None:
        raise HypothesisError(theorem, "scores without a bias by distance", "ALiBi slopes")
    coordinates = attention.n_heads * attention.d_head
    if not 1 <= coordinates <= _MOST_COORDINATES:
        raise HypothesisError(
            theorem, f"heads that write at most {_MOST_COORDINATES} numbers together", f"{coordinates}"
        )


class Work:
    """The work on one model and one rule.

    Args:
        model: The model.
        fold: The rule.
        rows: The rows of its prompts.
        most_cells: Largest number of cells to look at; inputs in others are left.
        wanted: By more than so much each right token is to lead.
        in_reals: Whether what is asked is real arithmetic, in which a single input can be judged at any precision.
    """

    def __init__(
        self, model: Model, fold: Fold, rows: FoldRows, most_cells: int, wanted: float = 0.0, in_reals: bool = False
    ) -> None:
        self.model, self.fold, self.rows, self.most_cells = model, fold, rows, most_cells
        self.wanted, self.in_reals = wanted, in_reals
        self.moves = [Moves.of(stage) for stage in fold.stages]
        self.boxes = Boxes(rows)
        self.left = self.cells = 0
        self.wrong: WrongInput | None = None

    def judge(self, place: int) -> None:
        """Judge one token of the answer for all inputs."""
        if not self.rows.fits:  # something may overflow, about which no bound speaks
            self.left = self.fold.inputs
            return
        for paths, asking in self.paths(place):
            self._judge_paths(paths, asking)
            if self.wrong is not None:
                return

    def paths(self, place: int) -> Iterator[tuple[Paths, int]]:
        """Yield the inputs of each last token and each label of one answer token, with their query row."""
        emits = self.fold.stages[self.fold.answer[place]].emits
        assert emits is not None
        end = self.fold.length + place - 1
        for last in [token for position, token in self.rows.number if position == end]:
            for label in np.unique(emits).tolist():
                paths = Paths(self.fold, self.moves, self.rows.number, place, last, label)
                if not paths.empty:
                    yield paths, self.rows.number[end, last]

    def first_cells(self, paths: Paths) -> Int64Array:
        """Return a cell for each move of the stage that emits the token."""
        return paths.split(paths.whole(), self.fold.answer[paths.place])

    @quiet
    def _judge_paths(self, paths: Paths, asking: int) -> None:
        readable, cells = self.rows.readable(asking, paths.read), self.first_cells(paths)
        widest = max(len(self.rows.positions), *(reads.size for reads in paths.reads))
        step = max(1, _TOGETHER // widest)
        while len(cells):
            if self.cells + len(cells) > self.most_cells:
                self.left += sum(paths.count(cell) for cell in cells)
                return
            left = []
            for start in range(0, len(cells), step):
                left.append(self._undecided(paths, asking, readable, cells[start : start + step]))
                if self.wrong is not None:
                    return
            cells = np.concatenate(left)

    def _undecided(self, paths: Paths, asking: int, readable: Readable, cells: Int64Array) -> Int64Array:
        """Return smaller cells in place of the undecided ones."""
        low, high, extremes = means(paths, cells, readable)
        self.cells += len(cells)
        left = self.boxes.left_open(asking, low, high, readable.rounding, paths.label, self.wanted)
        if not left.any():
            return cells[:0]
        if self.wanted == 0.0:
            self._look_for_wrong(paths, np.unique(np.concatenate([extreme[left] for extreme in extremes]), axis=0))
        return cells[:0] if self.wrong is not None else self._cut(paths, cells[left], readable)

    def _cut(self, paths: Paths, cells: Int64Array, readable: Readable) -> Int64Array:
        """Cut each cell at the stage whose choice moves the head inputs most."""
        weights = readable.upper.T[:, :, None] * readable.value
        spread = np.full((len(cells), len(paths.moves)), -1.0)
        for index, reads in enumerate(paths.reads):
            if len(reads) > 1:
                moved = weights[reads].sum(axis=1).reshape(len(reads), -1)
                spread[:, index] = np.ptp(moved, axis=0).max(initial=0.0)
        spread[cells >= 0] = -1.0
        stage = spread.argmax(axis=1)
        whole = spread.max(axis=1) < 0.0  # nothing is left to choose: one input, that float64 does not decide
        for cell in cells[whole]:
            self._judge_input(paths, cell[None])
        parts = [paths.split(cells[~whole & (stage == index)], index) for index in np.unique(stage[~whole])]
        return np.concatenate(parts) if parts else cells[:0]

    def _judge_input(self, paths: Paths, cell: Int64Array) -> None:
        """Judge the single input of a cell."""
        _, moves = paths.longest(np.zeros((1, len(self.rows.positions))), cell)
        choices = paths.choices(moves)
        [prompt], [answer] = self.fold.prompts(choices).tolist(), self.fold.answers(choices).tolist()
        token = first_token(self.model, (*prompt, *answer[: paths.place])) if self.in_reals else None
        if token is None:
            self.left += 1
        elif token != paths.label:
            told = decoded(self.model, prompt, len(answer))
            self.wrong = self.wrong or WrongInput(tuple(prompt), tuple(answer), paths.place, token, told)

    def _look_for_wrong(self, paths: Paths, moves: Int64Array) -> None:
        """Search some inputs for one that is proved to get a wrong answer at this token."""
        choices = paths.choices(moves)
        prompts, answers = self.fold.prompts(choices), self.fold.answers(choices)
        contexts = np.concatenate([prompts, answers[:, : paths.place]], axis=1)
        for start, logits, radii in logit_balls(self.model, contexts):
            rivals = np.delete(np.arange(logits.shape[1]), paths.label)
            own = up(logits[:, [paths.label]] + radii[:, [paths.label]])
            ahead = down(logits[:, rivals] - radii[:, rivals]) - own
            wrong = np.flatnonzero((ahead >= 0.0).any(axis=1))
            if len(wrong):
                row = start + int(wrong[0])
                token = int(rivals[ahead[wrong[0]].argmax()])
                prompt, answer = tuple(prompts[row].tolist()), tuple(answers[row].tolist())
                self.wrong = WrongInput(prompt, answer, paths.place, token, decoded(self.model, prompt, len(answer)))
                return


def means(paths: Paths, cells: Int64Array, readable: Readable) -> tuple[Floats, Floats, list[Int64Array]]:
    """Return bounds of the head outputs for the inputs of each cell, and inputs that attain them.

    Returns:
        The least and the most of each number, `[N, H, n]` each, and for each of these bounds the moves of an input of
        each cell, `[N, stages]`.
    """
    _, n_heads, width = readable.value.shape
    low, high = np.empty((len(cells), n_heads, width)), np.empty((len(cells), n_heads, width))
    extremes = []
    for head in range(n_heads):
        of_head = readable.radius[:, head], readable.lower[head], readable.upper[head]
        for i in range(width):
            high[:, head, i], top = largest_mean(paths, cells, readable.value[:, head, i], *of_head)
            lowest, bottom = largest_mean(paths, cells, -readable.value[:, head, i], *of_head)
            low[:, head, i] = -lowest
            extremes += [top, bottom]
    return low, high, extremes
