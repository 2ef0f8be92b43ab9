"""Whether what a folder says is true, by the definitions alone: answers, the divergence over a text, and domains."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from constructions.models.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import RuleTask
from constructions.tasks.vectors import load_task
from tests.corpus.definitions import DIGITS, Figures, figures, logits_of, margin_of, point
from verify.certificates.certificate import Certificate, Statement, held_mask


def falsehoods(folder: Path) -> list[str]:
    """What is false in a folder with one canonical certificate, and whether its answer is another than yes."""
    certificate = Certificate.load(folder)
    model, path = Model.load(folder / "model.safetensors"), folder / "task.safetensors"
    with mpmath.workdps(DIGITS):
        if certificate.subject.is_of_a_rule:
            return of_domain(certificate, model, RuleTask.load(path))
        true = figures(model, load_task(path), certificate.criterion.tolerance)
        found = of_answers(certificate.answers, true)
        text = certificate.statement("text-divergence")
        if text is not None and not text.values["lower"] <= exactly(true.over_text) <= text.values["upper"]:
            found.append("the mean divergence over the text is outside of the interval")
        if not is_answered_yes(certificate.criterion, true, certificate.subject.target):
            found.append("the answer is not yes")
        return found


def exactly(value: Any) -> Fraction:
    """A number of many digits, or of a certificate, as the fraction that it is."""
    if not isinstance(value, mpmath.mpf):
        return Fraction(value)
    mantissa, exponent = value.man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def of_answers(statement: Statement, true: Figures) -> list[str]:
    """What is false in an ``answers`` statement."""
    values, total = statement.values, len(true.held)
    named = held_mask(statement.held, total) if statement.held else set(range(total) if values["held"] else [])
    margins = [true.margins[i] for i in named] if true.margins else []
    truths = {
        "the margin is smaller": ("margin_lower", min(margins, default=None), 1),
        "a loss is larger": ("max_upper", max(true.losses), -1),
        "the mean loss is larger": ("mean_upper", mpmath.fsum(true.losses) / total, -1),
        "a guess does better": ("guess_lower", true.guess_lower, 1),
    }
    checks = {
        "a context that is named is not held": any(not true.held[i] for i in named),
        "fewer contexts are wrong": values["wrong"] > true.held.count(False),
        "the most frequent label holds another number": values.get("guess_held", 0) != true.guess_held,
    }
    for what, (name, truth, sign) in truths.items():
        if name in values and truth is not None and mpmath.isfinite(truth):
            checks[what] = sign * (exactly(values[name]) - exactly(truth)) > 0
    return [what for what, is_false in checks.items() if is_false]


def is_answered_yes(criterion: Criterion, true: Figures, target: str) -> bool:
    """Whether the question is met, and by more than a guess."""
    total, held, mean = len(true.held), true.held.count(True), mpmath.fsum(true.losses) / len(true.held)
    if criterion.asked == "at-most":
        return mean <= criterion.bound and mean < true.guess_lower
    met = held >= (total if criterion.contexts is None else criterion.contexts)
    if target == "labels":
        return met and (held > true.guess_held or held == total == true.guess_held)
    return met and mean < true.guess_lower


def of_domain(certificate: Certificate, model: Model, task: RuleTask) -> list[str]:
    """What is false in the counts of a domain, all of whose inputs are looked at."""
    contexts = task.contexts_at(np.arange(task.n_contexts))
    labels = task.labels_of(contexts)
    right = sum(
        margin_of(point(label, model.d_vocab_out), logits_of(model, context)) > 0
        for context, label in zip(contexts.tolist(), labels.tolist(), strict=True)
    )
    values, wrong, asked = certificate.answers.values, task.n_contexts - right, certificate.criterion
    wanted = task.n_contexts if asked.contexts is None else asked.contexts
    checks = {
        "fewer inputs are right": values["held"] > right,
        "fewer inputs are wrong": values["wrong"] > wrong,
        "the most frequent answer holds another number": values["guess_held"] != task.guess_held,
        "the answer is not yes": not (right >= wanted and right > task.guess_held),
        "a sample leaves inputs open": certificate.statement("sample") is not None,
    }
    return [what for what, is_false in checks.items() if is_false]
