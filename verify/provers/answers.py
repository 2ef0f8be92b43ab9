"""Prove, and prove again, which contexts are memorized, with which margin and loss.

Page: docs/rigour/certificate.md
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from constructions.counted import counted
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from verify.arithmetic.exact_json import Number, lowered, raised
from verify.certificates.certificate import ANSWERS, GUESS, Statement, StatementCheck, mask_text, memorized_mask
from verify.certificates.headline import beats_a_guess
from verify.provers.answer_bounds import Answers, guess_loss
from verify.provers.evaluation import OnContexts
from verify.verdict import Verdict

ID = ANSWERS

_SLACK = 2.0**-14  # relative; what a stored bound gives away so that another BLAS proves it too: nobody sees it
_TINY = 2.0**-30  # losses below it come from radii of enclosures, which depend on the machine
_TINY_SLACK = 2.0**-2
_LARGEST = 2.0**1000  # what is larger is no bound worth storing


def figures(task: AnyTask, criterion: Criterion, answers: Answers) -> dict[str, Number]:
    """Return the proved bounds of the answers, without slack."""
    memorized, wrong = (
        answers.memorized(task.target, criterion.tolerance),
        answers.wrong(task.target, criterion.tolerance),
    )
    values: dict[str, Number] = {
        "contexts": len(memorized),
        "memorized": int(memorized.sum()),
        "wrong": int(wrong.sum()),
    }
    if memorized.any() and task.target != "values":
        # The least: it is said of every context that is memorized.
        values["margin_lower"] = float(answers.margin_lower[memorized].min())
        if not 0.0 < values["margin_lower"] < _LARGEST:  # where every token is a mode of every context, there is none
            del values["margin_lower"]
    lower, upper = answers.mean_loss()
    most = float(answers.loss_upper.max())
    values["mean_lower"] = lower
    if upper < _LARGEST and most < _LARGEST:
        values |= {"mean_upper": upper, "max_upper": most}
    guess = guess_loss(task)
    least = max(0.0, float(guess.lower()))
    if least < _LARGEST:
        values["guess_lower"] = least
    if task.target != "values" and float(guess.upper()) < _LARGEST:  # of values the guess may be worse than that
        values["guess_upper"] = float(guess.upper())
    if task.target == "labels":
        values[GUESS] = task.guess_right
    return values


def prove(task: AnyTask, criterion: Criterion, answers: Answers) -> Statement:
    """Return the statement of the proved bounds, with a negligible slack.

    Args:
        task: The contexts and their targets.
        criterion: The criterion to decide.
        answers: The bounds of each context.
    """
    exact, memorized = figures(task, criterion, answers), answers.memorized(task.target, criterion.tolerance)
    # What only refutes is proved again, and not stored.
    values = {name: value for name, value in exact.items() if name not in ("mean_lower", "guess_upper")}
    if "margin_lower" in values:
        values["margin_lower"] = lowered(
            _margin_elsewhere(answers.margin_lower[memorized], answers.margin_upper[memorized]), _SLACK
        )
        if not values["margin_lower"] > 0.0:
            del values["margin_lower"]
    for name in ("mean_upper", "max_upper"):
        if name in values:
            values[name] = _loss_above(float(values[name]), task.target)
    if "guess_lower" in values:
        values["guess_lower"] = lowered(float(values["guess_lower"]), _SLACK)
    # A slack that nobody sees must not turn a yes into a no, or leave it open.
    if criterion.asked == "at-most" and "mean_upper" in values:
        if exact["mean_upper"] <= Fraction(criterion.bound or 0.0) < values["mean_upper"]:
            values["mean_upper"] = float(criterion.bound or 0.0)
    if beats_a_guess(criterion, exact, task.target) and not beats_a_guess(criterion, values, task.target):
        values |= _still_apart(exact, values)
    return Statement(ANSWERS, "enclosure of the outputs", values, mask_text(memorized.tolist()))


def _still_apart(exact: Mapping[str, Number], values: Mapping[str, Number]) -> dict[str, Number]:
    """Return a mean loss below that of a guess, each with at most a third of the distance between them as its slack."""
    mean, guess = float(exact["mean_upper"]), float(exact["guess_lower"])
    third = (guess - mean) / 3
    upper, lower = min(float(values["mean_upper"]), mean + third), max(float(values["guess_lower"]), guess - third)
    if not upper < lower:  # of neighbours in float64 each is the other one's
        upper, lower = mean, guess
    return {"mean_upper": upper, "guess_lower": lower}


def _margin_elsewhere(lower: Float64Array, upper: Float64Array) -> float:
    """Return a bound of the least margin that other orders of summation prove too, but at least half of the bound
    proved here.

    Its bounds hold the same margin and are as far apart as these, so its lower one is below ours by that at most.
    """
    with np.errstate(invalid="ignore"):  # an infinite margin is above no other
        return float(np.minimum(lower, np.fmax(2.0 * lower - upper, 0.5 * lower)).min())


def _loss_above(bound: float, target: str) -> float:
    return raised(bound, _TINY_SLACK if target != "labels" and bound < _TINY else _SLACK)


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Require that the stored numbers follow from the enclosures; return the checker's own numbers for the question."""
    certificate, criterion, answers, task = (
        evaluation.certificate,
        evaluation.asked,
        evaluation.answers,
        evaluation.task,
    )
    stored, own = statement.values, figures(task, certificate.criterion, answers)
    target, tolerance = task.target, certificate.criterion.tolerance
    memorized, wrong = answers.memorized(target, tolerance), answers.wrong(target, tolerance)
    proved = figures(task, criterion, answers)
    named = (
        memorized_mask(statement.memorized, len(memorized))
        if statement.memorized
        else set(range(len(memorized)) if stored["memorized"] else [])
    )

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(ANSWERS, verdict, reason, proved)

    false = [i for i in named if wrong[i]]
    if false:
        return checked(
            Verdict.REFUTED, f"it names {counted(len(false), 'context')} not memorized, first context {false[0]}"
        )
    if len(memorized) - int(memorized.sum()) < stored["wrong"]:
        return checked(
            Verdict.REFUTED, f"at least {counted(int(memorized.sum()), 'context')} memorized, more than it leaves"
        )
    missing = [i for i in named if not memorized[i]]
    if missing:
        return checked(Verdict.UNDECIDED, f"context {missing[0]}, which it names, was not decided")
    if int(wrong.sum()) < stored["wrong"]:
        return checked(Verdict.UNDECIDED, f"only {counted(int(wrong.sum()), 'context')} proved not to be memorized")
    if "margin_lower" in stored:
        places = sorted(named)
        if float(answers.margin_upper[places].min()) < stored["margin_lower"]:
            return checked(Verdict.REFUTED, "the stored margin is larger than the least one")
        # Without this any margin that is not refuted would be proved.
        if not stored["margin_lower"] <= float(answers.margin_lower[places].min()):
            return checked(Verdict.UNDECIDED, "the stored margin does not follow from the enclosure")
    if "max_upper" in stored:
        lower, _ = answers.mean_loss()
        if float(answers.loss_lower.max()) > stored["max_upper"] or lower > stored["mean_upper"]:
            return checked(Verdict.REFUTED, "a loss is larger than the stored bound")
        # Both bounds: without the one of the mean, or of the largest, any number in its place would follow.
        known = (
            "max_upper" in own and own["max_upper"] <= stored["max_upper"] and own["mean_upper"] <= stored["mean_upper"]
        )
        if not known:
            return checked(Verdict.UNDECIDED, "the stored bounds of the loss do not follow from the enclosure")
    if "guess_lower" in stored and not ("guess_lower" in own and stored["guess_lower"] <= own["guess_lower"]):
        return checked(Verdict.UNDECIDED, "the stored loss of a guess does not follow")
    if stored.get(GUESS) != own.get(GUESS):
        return checked(Verdict.REFUTED, f"the most frequent label holds {own.get(GUESS, 0)}, not so many")
    size = counted(proved["contexts"], "context")
    return checked(
        Verdict.PROVED, f"mean over {size}" if criterion.asked == "at-most" else f"{proved['memorized']} of {size}"
    )
