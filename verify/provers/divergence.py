"""Bound the largest and the mean divergence of the predictions from the distributions of the contexts.

Page: docs/rigour/certificate.md
"""

import math

import numpy as np

from constructions.errors import InputError
from constructions.tasks.task import Task
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_json import Number
from verify.arithmetic.sums import total
from verify.certificates.certificate import DIVERGENCE, Statement, StatementCheck
from verify.provers.answer_bounds import Answers
from verify.provers.brackets import compare_divergences
from verify.provers.evaluation import JudgedModel, OnContexts
from verify.verdict import Verdict

ID, NEEDS_LOWER_LOSSES = DIVERGENCE, True

_LARGEST = 2.0**1000  # what is larger is no bound worth storing


def state(judged: JudgedModel) -> Statement | None:
    """Return the statement about a model on distributions; raises `InputError` for other targets."""
    if judged.task.target != "distributions":
        raise InputError("divergence", f"is asked of a task of {judged.task.target}", "a task of distributions")
    facts = judged.task.facts
    return None if facts is None else prove_divergence(facts, judged.answers)


def prove_divergence(task: Task, answers: Answers) -> Statement | None:
    r"""Return the statement between which ends $d_{KL}(\pi_t \Vert \mathrm{softmax}(z_t))$ lies, if they are finite.

    Args:
        task: The contexts, with distributions.
        answers: Of them the losses, enclosed from both sides, nats.
    """
    (least, most), (mean_least, mean_most) = (widened(*ends) for ends in _ends(task, answers))
    if not max(most, mean_most) < _LARGEST:
        return None
    values: dict[str, Number] = {
        "contexts": task.n_contexts,
        "occurrences": int(task.counts.totals().sum()),
        "max_lower": least,
        "max_upper": most,
        "mean_lower": mean_least,
        "mean_upper": mean_most,
    }
    return Statement(DIVERGENCE, "enclosure of the divergence", values)


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again."""
    task, answers = evaluation.task.facts, evaluation.answers
    if task is None:
        return StatementCheck(DIVERGENCE, Verdict.REFUTED, "vectors have no distributions", {})
    occurrences = int(task.counts.totals().sum())
    # Without this the mean would be one over other weights than the statement says.
    if statement.values["occurrences"] != occurrences:
        reason = f"the contexts have {occurrences} occurrences, not {statement.values['occurrences']}"
        return StatementCheck(DIVERGENCE, Verdict.REFUTED, reason, {})
    (least, most), (mean_least, mean_most) = _ends(task, answers)
    values: dict[str, Number] = {"max_lower": least, "mean_lower": mean_least}
    if max(most, mean_most) < math.inf:
        values |= {"max_upper": most, "mean_upper": mean_most}
    return compare_divergences(statement, values)


def widened(lower: float, upper: float) -> tuple[float, float]:
    """Return the interval extended by its own width on either side, with ends on a coarse grid and at least 0."""
    width = upper - lower
    if not 0.0 < width < math.inf:
        return lower, upper
    grid = max(math.ldexp(1.0, math.frexp(width)[1] - 3), math.ulp(0.0))  # of a subnormal width it would be 0
    # Without its own width above, the interval does not follow on a machine that rounds otherwise.
    return max(0.0, math.floor((lower - width) / grid) * grid), math.ceil((upper + width) / grid) * grid


def _ends(task: Task, answers: Answers) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return bounds of the largest divergence and of the mean over occurrences, which are integers up to 2^53 in
    sum.
    """
    lower, upper = answers.loss_lower, answers.loss_upper
    largest = float(lower.max()), float(upper.max())
    if not largest[1] < math.inf:
        return largest, (0.0, math.inf)
    counts = task.counts.totals().astype(np.float64)
    mean = total(Enclosure.between(lower, upper) * counts, 0) / float(counts.sum())
    # A mean is no larger than the largest, whatever its rounding.
    return largest, (max(0.0, float(mean.lower())), min(float(mean.upper()), largest[1]))
