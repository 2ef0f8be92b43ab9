r"""Count the inputs of a rule's domain that a model is proved to answer rightly, and wrongly.

Page: docs/rigour/domains.md
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice

import numpy as np

from constructions.errors import require_at_least
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress, silent
from constructions.tasks.rule import RuleTask
from verify.arithmetic import blas
from verify.domains.attention_tables import AttentionTables, is_one_attention
from verify.domains.separable import Budget, judge_last_token
from verify.domains.sweep import sweep_last_token
from verify.domains.tally import MOST_NAMED, Tally
from verify.forward.ladder import rising_precision
from verify.forward.map_norms import Norms
from verify.journal import Journal
from verify.workers import Workers, completed

VISITS = 2**28
"""Beginnings of inputs, or inputs, that are looked at one by one, unless more are asked for."""

ONE_BY_ONE = 2**20
"""Inputs that are judged one by one at rising precision, unless more are asked for."""

_TOGETHER = 4096  # inputs that are judged at the same time
_MOST_BITS = 512  # of the balls; two logits that these do not tell apart are taken for a tie that stays open
_BATCHES = 32  # of workers, a few pieces each: the tables are made once for each errand


@dataclass(frozen=True)
class RuleAnswers:
    """The proved results for all inputs of a domain.

    Args:
        inputs: How many there are.
        right: Number of inputs whose label is proved to have the strictly largest logit.
        wrong: Number of inputs where another logit is proved to be at least as large.
        wrong_examples: Some of those, in order, at most `MOST_NAMED`.
        open_examples: Some of the inputs that were looked at and left open, likewise.
        one_by_one: Inputs that float64 tables did not decide.
        interrupted: Whether the rest was not looked at because somebody interrupted.
        earlier: How many of the inputs that are right or wrong were counted by earlier runs.
        method: The method, in a few words.
    """

    inputs: int
    right: int
    wrong: int
    wrong_examples: tuple[tuple[int, ...], ...]
    open_examples: tuple[tuple[int, ...], ...]
    one_by_one: int
    interrupted: bool
    earlier: int
    method: str

    @property
    def undecided(self) -> int:
        """Number of inputs about which nothing is proved."""
        return self.inputs - self.right - self.wrong


def judge_rule(
    model: Model,
    task: RuleTask,
    *,
    numbers: Sequence[int] | None = None,
    visits: int = VISITS,
    one_by_one: int = ONE_BY_ONE,
    journal: Journal | None = None,
    workers: Workers | None = None,
    progress: Progress = silent,
) -> RuleAnswers:
    """Prove of as many inputs of the domain as possible that they are answered right, or wrong.

    One attention with one head is judged by sums of minima over the positions (`verify/domains/separable.py`), one with
    several heads input by input in float64 (`verify/domains/sweep.py`). What these leave open, and every input of any
    other model, is judged one by one (`verify/forward/ladder.py:rising_precision`). An interrupt from the keyboard ends
    the work, and what was proved until then is returned. The pieces of the work are the last tokens, or for other
    models some thousands of inputs each.

    Args:
        model: The weights: any model that reads tokens and fits the task.
        task: The rule and its domain.
        numbers: The only inputs that are judged, one by one, as `RuleTask.contexts_at` numbers them; by default all.
        visits: How many beginnings of inputs, or inputs, may be looked at one by one; the rest is left undecided.
        one_by_one: How many inputs may be judged one by one; the rest is left undecided.
        journal: What earlier runs have proved of the same model and rule, which is not looked at again, and where what
            this run proves is kept; by default nothing is.
        workers: Makes an executor for the pieces; by default all work is done here. The answer is the same: a piece
            whose worker died, or that took more of `visits` or `one_by_one` than those before it leave, is judged here.
        progress: Called with the stage and the finished share of it.

    Returns:
        The counts, and some examples.

    Raises:
        InputError: `visits` or `one_by_one` below 0.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.tasks.rule import rule_task
        >>> echo = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
        >>> found = judge_rule(echo, rule_task("max", d_vocab=3, n_ctx=2))
        >>> found.right, found.wrong, found.wrong_examples[0]
        (6, 3, (1, 0))
    """
    require_at_least(0, visits=visits, one_by_one=one_by_one)
    if numbers is not None:
        one_by_one = max(one_by_one, len(numbers))
    work = _Work(model, task, Budget(visits), Budget(one_by_one), journal, progress, numbers)
    try:
        if workers is not None:
            work.dispatch(workers)
        work.done()
        interrupted = False
    except KeyboardInterrupt:
        interrupted = True
    return RuleAnswers(
        inputs=task.n_contexts,
        right=work.count("right"),
        wrong=work.count("wrong"),
        wrong_examples=work.named("examples"),
        open_examples=work.named("left_open"),
        one_by_one=work.count("one_by_one"),
        interrupted=interrupted,
        earlier=work.earlier,
        method=work.method + (f"; {work.earlier} counted by earlier runs of this machine" if work.earlier else ""),
    )


def _judge_pieces(
    model: Model, task: RuleTask, visits: int, one_by_one: int, numbers: Sequence[int] | None, pieces: Sequence[int]
) -> list[tuple[int, Tally]]:
    """Judge some pieces, each with the full budgets; return those that were judged completely."""
    blas.probe()
    work, judged_pieces = _Work(model, task, Budget(visits), Budget(one_by_one), None, silent, numbers), []
    tables = AttentionTables.of(model, task.tokens) if work.one_attention else None
    for piece in pieces:
        work.visits, work.one_by_one = Budget(visits), Budget(one_by_one)
        tally, whole = work.judged(piece, tables)
        if whole:
            judged_pieces.append((piece, tally))
    return judged_pieces


class _Work:
    """The work on one domain, piece by piece; the counts are correct at every moment."""

    def __init__(
        self,
        model: Model,
        task: RuleTask,
        visits: Budget,
        one_by_one: Budget,
        journal: Journal | None,
        progress: Progress,
        numbers: Sequence[int] | None,
    ) -> None:
        self.model, self.task, self.progress = model, task, progress
        self.visits, self.one_by_one, self.journal = visits, one_by_one, journal
        self.tallies = dict[int, Tally]()
        self.earlier = 0  # inputs whose counts were kept
        self.numbers = numbers
        self.size = task.n_contexts if numbers is None else len(numbers)
        self.one_attention = is_one_attention(model) and numbers is None
        self.pieces = len(task.tokens[-1]) if self.one_attention else -(-min(self.size, one_by_one.left) // _TOGETHER)
        heads = model.attention.n_heads if self.one_attention else 0
        self.method = (
            f"{'every' if numbers is None else 'each drawn'} input by itself, in the ladder of arithmetics"
            if not heads
            else "sums of minima over the positions, one head"
            if heads == 1
            else f"every input as a sum of rows of tables, {heads} heads"
        )
        self._norms: Norms | None = None

    def done(self) -> None:
        """Judge everything that the budgets allow."""
        tables: AttentionTables | None = None
        for piece in range(self.pieces):
            known, sent = self._known(piece), self.tallies.get(piece)
            if sent is not None and sent.visited < self.visits.left and sent.one_by_one <= self.one_by_one.left:
                self._accept(piece, sent)
            elif sent is None and known is not None:
                self._accept(piece, known)
                self.earlier += known.right + known.wrong
            else:
                if self.one_attention and tables is None:
                    tables = AttentionTables.of(self.model, self.task.tokens)
                tally, whole = self.judged(piece, tables)
                if whole and self.journal is not None:
                    self.journal.add(piece, asdict(tally))
            self._show(piece + 1)

    def dispatch(self, workers: Workers) -> None:
        """Have the open pieces judged, each as if it were the only one."""
        left = [piece for piece in range(self.pieces) if self._known(piece) is None]
        size = -(-len(left) // _BATCHES) or 1
        batches = [tuple(left[start : start + size]) for start in range(0, len(left), size)]
        work = partial(_judge_pieces, self.model, self.task, self.visits.left, self.one_by_one.left, self.numbers)
        for _, result in completed(work, batches, workers):
            # What died, and what another version of this program counted, maybe of other inputs, is judged here.
            judged_pieces = [] if isinstance(result, Exception) else result
            for piece, tally in judged_pieces:
                self.tallies[piece] = tally
                if self.journal is not None:
                    self.journal.add(piece, asdict(tally))
            self._show(len(self.tallies))

    def judged(self, piece: int, tables: AttentionTables | None) -> tuple[Tally, bool]:
        """Judge a piece; return whether nothing was omitted."""
        tally = self.tallies[piece] = Tally()  # in its place before anything is counted: never counted twice
        return tally, self._chunk(piece, tally) if tables is None else self._last_token(tables, piece, tally)

    def _known(self, piece: int) -> Tally | None:
        """Return the result of an earlier run for a piece."""
        stored = None if self.journal is None else self.journal.get(piece)
        return None if stored is None else Tally.of(stored)

    def _accept(self, piece: int, tally: Tally) -> None:
        self.tallies[piece] = tally
        self.visits.left -= tally.visited
        self.one_by_one.left -= tally.one_by_one

    def _show(self, pieces: int) -> None:
        size, right, wrong = self.size, self.count("right"), self.count("wrong")
        share = pieces / self.pieces if self.one_attention else min(1.0, pieces * _TOGETHER / size)
        self.progress("domain", share, f"{right} right, {wrong} wrong of {size} inputs")

    def count(self, name: str) -> int:
        """Return a number of all pieces together."""
        return sum(getattr(tally, name) for tally in list(self.tallies.values()))

    def named(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return the first inputs that the pieces name, in order."""
        every = (example for _, tally in sorted(self.tallies.items()) for example in getattr(tally, name))
        return tuple(sorted(islice(every, MOST_NAMED)))

    def _last_token(self, tables: AttentionTables, place: int, tally: Tally) -> bool:
        """Judge the inputs that end with one token; return whether nothing was omitted."""
        before, several = self.visits.left, self.task.n_contexts // len(self.task.tokens[-1])
        if self.model.attention.n_heads == 1:
            parts = judge_last_token(tables, self.task, place, tally, self.visits)
        elif before >= several:
            self.visits.left -= several
            parts = sweep_last_token(tables, self.task, place, tally)
        else:
            return False
        whole, waiting = True, list[Int64Array]()
        for contexts in parts:
            waiting.append(contexts)
            if sum(map(len, waiting)) >= _TOGETHER:
                whole &= self._one_by_one(np.concatenate(waiting), tally)
                waiting = []
        if waiting:
            whole &= self._one_by_one(np.concatenate(waiting), tally)
        tally.visited = before - self.visits.left
        return whole and (self.visits.left > 0 or self.model.attention.n_heads > 1)

    def _chunk(self, piece: int, tally: Tally) -> bool:
        """Judge some inputs of any other model; return whether nothing was omitted."""
        rows = np.arange(piece * _TOGETHER, min((piece + 1) * _TOGETHER, self.size))
        numbers = rows if self.numbers is None else np.array(self.numbers, dtype=np.int64)[rows]
        return self._one_by_one(self.task.contexts_at(numbers), tally)

    def _one_by_one(self, contexts: Int64Array, tally: Tally) -> bool:
        """Judge as many inputs as the budget allows at rising precision, and return whether these were all."""
        whole, contexts = len(contexts) <= self.one_by_one.left, contexts[: max(0, self.one_by_one.left)]
        self.one_by_one.left -= len(contexts)
        tally.one_by_one += len(contexts)
        is_open, labels = np.ones(len(contexts), dtype=bool), self.task.labels_of(contexts)
        self._norms = self._norms or Norms(self.model)
        for _, _, rows, logits in rising_precision(
            self.model, contexts, is_open, most_bits=_MOST_BITS, norms=self._norms
        ):
            left = tally.count(logits, labels[rows], contexts[rows])
            is_open[np.delete(rows, left)] = False
        room = max(0, MOST_NAMED - len(tally.left_open))
        tally.left_open += [tuple(map(int, row)) for row in contexts[is_open][:room]]
        return whole
