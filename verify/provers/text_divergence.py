"""Bound the mean divergence of the predictions from the counts of a text, and prove it again.

Page: docs/rigour/certificate.md
"""

import math

import numpy as np

from constructions.counted import counted
from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.task import Task
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_json import Number
from verify.arithmetic.sums import total
from verify.certificates.certificate import TEXT_DIVERGENCE, Statement, StatementCheck
from verify.divergence.kullback_leibler import empirical_divergence
from verify.forward.logits import logit_chunks
from verify.provers.divergence import widened
from verify.provers.evaluation import JudgedModel, OnContexts
from verify.verdict import Verdict

ID = TEXT_DIVERGENCE

_LARGEST = 2.0**1000  # what is larger is no bound worth storing


def of_all_contexts(model: Model, task: Task, *, progress: Progress) -> Enclosure:
    """Return the divergence of each context of a text from its counts, memorized ones first, nats, `[M]`.

    Args:
        model: The weights.
        task: The text.
        progress: Called with the stage and the finished share of it.
    """
    middle, radius = np.zeros((2, task.n_all))
    for before, contexts, counts in (
        (0, task.contexts, task.counts),
        (task.n_contexts, task.tail_contexts, task.tail_counts),
    ):
        for start, outputs in logit_chunks(model, contexts) if len(contexts) else ():
            end = start + len(outputs)
            part = empirical_divergence(outputs, counts.rows(start, end))
            middle[before + start : before + end] = part.midpoint
            radius[before + start : before + end] = part.radius
            progress("all contexts", (before + end) / task.n_all, f"{before + end} of {task.n_all} contexts")
    return Enclosure(middle, radius)


def state(judged: JudgedModel) -> Statement | None:
    """Return the statement about a text; none where nothing of it was left out, or there is no text."""
    facts = judged.task.facts
    if facts is None or not len(facts.tail_contexts):
        return None
    return prove(facts, of_all_contexts(judged.model, facts, progress=judged.progress))


def prove(task: Task, empirical: Enclosure) -> Statement | None:
    """Return the statement between which ends the mean lies; none where it is not known.

    Args:
        task: The text.
        empirical: The divergence of each context, memorized ones first, nats, `[M]`.
    """
    lower, upper = widened(*_mean_over_occurrences(task, empirical))
    if not 0.0 <= lower <= upper < _LARGEST:
        return None
    values: dict[str, Number] = {
        "contexts": task.n_all,
        "occurrences": _occurrences(task),
        "lower": lower,
        "upper": upper,
    }
    return Statement(TEXT_DIVERGENCE, "enclosure of the divergence", values)


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again."""
    task, stored = evaluation.task, statement.values
    facts = task.facts
    if facts is None:
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, "vectors have no text", {})
    # Without this the mean would be one over other weights than the statement says.
    if stored["occurrences"] != _occurrences(facts):
        reason = f"the text has {_occurrences(facts)} occurrences of contexts, not {stored['occurrences']}"
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, {})
    lower, upper = _mean_over_occurrences(facts, of_all_contexts(evaluation.model, facts, progress=evaluation.progress))
    values: dict[str, Number] = {"lower": lower, "upper": upper} if lower <= upper < math.inf else {}
    if stored["lower"] <= lower and upper <= stored["upper"]:
        return StatementCheck(TEXT_DIVERGENCE, Verdict.PROVED, counted(task.n_all, "context"), values)
    if upper < stored["lower"] or lower > stored["upper"]:
        reason = "the mean divergence is outside of the stored interval"
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, values)
    reason = "the stored interval does not follow from the enclosure"
    return StatementCheck(TEXT_DIVERGENCE, Verdict.UNDECIDED, reason, values)


def _occurrences(task: Task) -> int:
    return int(task.counts.totals().sum()) + int(task.tail_counts.totals().sum())


def _mean_over_occurrences(task: Task, empirical: Enclosure) -> tuple[float, float]:
    """Enclose the mean divergence; counts and their sum are integers up to 2^53, exact in float64."""
    weights = np.concatenate([task.counts.totals(), task.tail_counts.totals()]).astype(np.float64)
    # Without the weights a rare context counts as much as a frequent one.
    mean = total(empirical * weights, 0) / float(_occurrences(task))
    # The upper end from above: the lower one bounds nothing.
    return max(0.0, float(mean.lower())), float(mean.upper())
