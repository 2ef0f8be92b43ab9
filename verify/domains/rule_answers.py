r"""What a model answers on the whole domain of a rule: how many inputs are proved right, how many wrong.

Page: docs/rigour/domains.md
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.tasks.rule import RuleTask
from verify.domains.attention_tables import AttentionTables, is_one_attention
from verify.domains.separable import Budget, judge_last_token
from verify.domains.sweep import sweep_last_token
from verify.domains.tally import MOST_NAMED, Tally
from verify.forward.logits import climb
from verify.forward.map_norms import Norms
from verify.progress import Progress, silent

Int64Array = NDArray[np.int64]

VISITS = 2**28
"""Beginnings of inputs, or inputs, that are looked at one by one, unless more are asked for."""

CLIMBS = 2**20
"""Inputs that climb the ladder of arithmetics, unless more are asked for."""

_TOGETHER = 4096  # inputs that climb at the same time
_MOST_BITS = 512  # of the balls; two logits that these do not tell apart are taken for a tie that stays open


@dataclass(frozen=True)
class RuleAnswers:
    """What was proved about all inputs of a domain.

    Args:
        inputs: How many there are.
        right: Whose label is proved to have the strictly largest logit.
        wrong: Where another logit is proved to be at least as large.
        wrong_examples: Some of those, in order, at most `MOST_NAMED`.
        open_examples: Some of the inputs that were looked at and left open, likewise.
        climbed: Inputs that float64 tables did not decide.
        interrupted: Whether the rest was not looked at because somebody interrupted.
        method: What was done, in a few words.
    """

    inputs: int
    right: int
    wrong: int
    wrong_examples: tuple[tuple[int, ...], ...]
    open_examples: tuple[tuple[int, ...], ...]
    climbed: int
    interrupted: bool
    method: str

    @property
    def undecided(self) -> int:
        """Inputs about which nothing is proved."""
        return self.inputs - self.right - self.wrong


def judge_rule(
    model: Model, task: RuleTask, *, visits: int = VISITS, climbs: int = CLIMBS, progress: Progress = silent
) -> RuleAnswers:
    """Prove of as many inputs of the domain as possible that they are answered right, or wrong.

    One attention with one head is judged by sums of minima over the positions (`verify/domains/separable.py`), one with
    several heads input by input in float64 (`verify/domains/sweep.py`). What these leave open, and every input of any
    other model, climbs the ladder (`verify/forward/logits.py:climb`). An interrupt from the keyboard ends the work, and
    what was proved until then is returned.

    Args:
        model: The weights: any model that reads tokens and fits the task.
        task: The rule and its domain.
        visits: How many beginnings of inputs, or inputs, may be looked at one by one; the rest is left undecided.
        climbs: How many inputs may climb; the rest is left undecided.
        progress: Called with the stage and the finished share of it.

    Returns:
        The counts, and some examples.

    Raises:
        InputError: `visits` or `climbs` below 0.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Page: docs/rigour/domains.md

    Example:
        >>> from constructions.tasks.rule import rule_task
        >>> echo = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
        >>> found = judge_rule(echo, rule_task("max", tokens=3, length=2))
        >>> found.right, found.wrong, found.wrong_examples[0]
        (6, 3, (1, 0))
    """
    for name, value in (("visits", visits), ("climbs", climbs)):
        if value < 0:
            raise InputError(f"{name} = {value}, expected at least 0")
    work = _Work(model, task, Budget(visits), Budget(climbs), progress)
    try:
        work.done()
        interrupted = False
    except KeyboardInterrupt:
        interrupted = True
    tally = work.tally
    return RuleAnswers(
        inputs=task.n_contexts,
        right=tally.right,
        wrong=tally.wrong,
        wrong_examples=tuple(sorted(tally.examples)),
        open_examples=tuple(sorted(work.left_open)),
        climbed=work.climbed,
        interrupted=interrupted,
        method=work.method,
    )


class _Work:
    """The work on one domain, whose counts are true at every moment."""

    def __init__(self, model: Model, task: RuleTask, visits: Budget, climbs: Budget, progress: Progress) -> None:
        self.model, self.task, self.progress = model, task, progress
        self.visits, self.climbs = visits, climbs
        self.tally, self.climbed, self.left_open = Tally(), 0, list[tuple[int, ...]]()
        self.one_attention = is_one_attention(model)
        heads = model.attention.n_heads if self.one_attention else 0
        self.method = (
            "every input by itself, in the ladder of arithmetics"
            if not heads
            else "sums of minima over the positions, one head"
            if heads == 1
            else f"every input as a sum of rows of tables, {heads} heads"
        )
        self._norms: Norms | None = None

    def done(self) -> None:
        """Look at everything, as far as the budgets go."""
        waiting: list[Int64Array] = []
        for contexts in self._open():
            waiting.append(contexts)
            if sum(map(len, waiting)) >= _TOGETHER:
                self._climb(np.concatenate(waiting))
                waiting = []
        if waiting:
            self._climb(np.concatenate(waiting))

    def _open(self) -> Iterator[Int64Array]:
        """Inputs that the tables leave open, a few at a time; for other models all inputs."""
        task, size = self.task, self.task.n_contexts
        if not self.one_attention:
            most = min(size, self.climbs.left)
            for start in range(0, most, _TOGETHER):
                yield task.contexts_at(np.arange(start, min(start + _TOGETHER, most)))
                self._show(start / size)
            return
        tables, lasts = AttentionTables.of(self.model, task.tokens), len(task.tokens[-1])
        for place in range(lasts):
            if self.model.attention.n_heads == 1:
                yield from judge_last_token(tables, task, place, self.tally, self.visits)
            elif self.visits.left >= size // lasts:
                self.visits.left -= size // lasts
                yield from sweep_last_token(tables, task, place, self.tally)
            self._show((place + 1) / lasts)

    def _climb(self, contexts: Int64Array) -> None:
        contexts = contexts[: self.climbs.left]
        self.climbs.left -= len(contexts)
        self.climbed += len(contexts)
        is_open, labels = np.ones(len(contexts), dtype=bool), self.task.labels_of(contexts)
        self._norms = self._norms or Norms(self.model)
        for _, _, rows, logits in climb(self.model, contexts, is_open, most_bits=_MOST_BITS, norms=self._norms):
            left = self.tally.count(logits, labels[rows], contexts[rows])
            is_open[np.delete(rows, left)] = False
        room = max(0, MOST_NAMED - len(self.left_open))
        self.left_open += [tuple(map(int, row)) for row in contexts[is_open][:room]]

    def _show(self, share: float) -> None:
        tally = self.tally
        self.progress("domain", share, f"{tally.right} right, {tally.wrong} wrong of {self.task.n_contexts} inputs")
