"""What becomes of one fact in a model: it is memorized, it is lost, or neither is proved.

Page: docs/commands.md
"""

from typing import Literal

import numpy as np

from constructions.model.model import Model
from constructions.progress import silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from verify.provers.answer_bounds import Answers, guess_loss, judge_answers

Fate = Literal["memorized", "lost", "undecided"]


def criterion_of_fact(task: AnyTask, criterion: Criterion) -> Criterion:
    """Return when one fact counts as memorized: within the tolerance, and nearer than the best guess without a context
    is on average.
    """
    if task.target != "distributions":
        return criterion
    guess = float(np.nextafter(guess_loss(task).lower(), 0.0))
    return Criterion(tolerance=min(criterion.tolerance, max(guess, np.finfo(float).tiny)))


def fate(model: Model, fact: AnyTask, criterion: Criterion) -> Fate:
    """Return what becomes of the fact of a task that has no other, judged as in a certificate."""
    return fate_of(judge_answers(model, fact, criterion, progress=silent), fact, criterion)


def fate_of(answers: Answers, fact: AnyTask, criterion: Criterion) -> Fate:
    """Return the same from the bounds of its context."""
    if answers.memorized(fact.target, criterion.tolerance)[0]:
        return "memorized"
    return "lost" if answers.wrong(fact.target, criterion.tolerance)[0] else "undecided"
