r"""The statement `divergence`: how far the predictions are from the distributions, the largest divergence and the mean.

Page: docs/rigour/kernel.md
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any

from flint import arb, ctx

from verify.kernel.answers import ball
from verify.kernel.balls import PRECISIONS
from verify.kernel.certificate import FILE, Certificate, read_values
from verify.kernel.evaluation import Evaluation
from verify.kernel.numerals import Number, counted, decimal_above, decimal_below
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "divergence"
_DIGITS = 8


@dataclass(frozen=True)
class Statement:
    r"""The largest $d_{KL}(\pi_t \| \mathrm{softmax}(z_t))$ of all contexts, in nats, and the mean over occurrences.

    Args:
        contexts: Number of contexts.
        occurrences: How often all of them occur together.
        largest: Between which numbers the largest lies.
        mean: Between which numbers the mean lies.
    """

    contexts: int
    occurrences: int
    largest: tuple[Number, Number]
    mean: tuple[Number, Number]


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    ends = ("max_lower", "max_upper", "mean_lower", "mean_upper")
    values = read_values(field, record, ("contexts", "occurrences"), ends)
    most_lower, most_upper, mean_lower, mean_upper = (values[name] for name in ends)
    if certificate.target != "distributions" or values["contexts"] != certificate.sizes["contexts"]:
        raise BadInputError(FILE, field, "is about distributions, and about all contexts of the subject")
    if not (most_lower <= most_upper and mean_lower <= min(mean_upper, most_upper)):
        raise BadInputError(FILE, f"{field}.values", "have a lower end above an upper one")
    return Statement(values["contexts"], values["occurrences"], (most_lower, most_upper), (mean_lower, mean_upper))


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    worst, mean = (
        f"from {decimal_below(lower, _DIGITS)} to {decimal_above(upper, _DIGITS)} nats"
        for lower, upper in (statement.largest, statement.mean)
    )
    return (
        f"Of {counted(statement.contexts, 'context')} the largest divergence KL(distribution || softmax(logits)) is "
        f"{worst}; the mean, weighted by their {counted(statement.occurrences, 'occurrence')}, is {mean}."
    )


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement: the divergences of all contexts lie in balls, and so do their maximum and their mean.

    Raises:
        NotProvedError: An end is on the wrong side, or the contexts occur another number of times.
        UndecidedError: Balls of 4096 bits hold an end.
    """
    answers = dict(enumerate(evaluation.in_reals))
    times = [sum(counts.values()) for counts in evaluation.task.counts[: len(answers)]]
    if sum(times) != statement.occurrences:
        raise NotProvedError(f"{ID}: occurrences is {statement.occurrences}, the contexts occur {sum(times)} times")
    for bits in (None, *PRECISIONS):
        with ctx.workprec(bits or PRECISIONS[0]):
            answers |= evaluation.in_balls(list(answers), bits) if bits else {}
            losses = [answer.loss for answer in answers.values() if answer is not None]
            if len(losses) < len(answers):
                continue
            mean = sum((loss * count for loss, count in zip(losses, times, strict=True)), arb(0)) / sum(times)
            of_largest = lies_within(f"{ID}: max_", reduce(arb.max, losses), *statement.largest)
            if lies_within(f"{ID}: mean_", mean, *statement.mean) and of_largest:
                return f"{counted(len(losses), 'context')}, by {f'balls of {bits} bits' if bits else 'exact integers'}"
    raise UndecidedError(f"{ID}: an end and what it bounds cannot be told apart by balls of {PRECISIONS[-1]} bits")


def lies_within(name: str, found: arb, lower: Number, upper: Number) -> bool:
    """Tell whether a divergence, or a mean of divergences, is proved to lie between these numbers; it is at least 0
    (Gibbs).

    Args:
        name: The beginning of the names of the two numbers.
        found: A ball of the divergence, nats.
        lower: A number that is at least 0.
        upper: Another.

    Raises:
        NotProvedError: It surely is not.
    """
    if found < ball(lower):
        raise NotProvedError(f"{name}lower is above what it bounds")
    if found > ball(upper):
        raise NotProvedError(f"{name}upper is below what it bounds")
    return (lower == 0 or found >= ball(lower)) and found <= ball(upper)
