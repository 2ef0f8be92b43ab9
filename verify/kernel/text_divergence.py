r"""The statement `text-divergence`: how far the predictions are from the counts of a text, on average over all of it.

Page: docs/rigour/kernel.md
"""

from dataclasses import dataclass
from typing import Any

from flint import arb, ctx

from verify.kernel.balls import PRECISIONS
from verify.kernel.certificate import FILE, Certificate, read_values
from verify.kernel.divergence import lies_within
from verify.kernel.evaluation import Evaluation, divergence
from verify.kernel.numerals import Number, counted, decimal_above, decimal_below
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "text-divergence"
_DIGITS = 8
_FEW_BITS = 64  # of the balls that are tried first


@dataclass(frozen=True)
class Statement:
    r"""The mean of $d_{KL}(c_t / n_t \| \mathrm{softmax}(z_t))$ over all contexts of a text, memorized or not, nats.

    Args:
        contexts: Number of contexts.
        occurrences: How often all of them occur; each weighs as often as it does, $n_t$.
        lower: The mean is at least this.
        upper: It is at most this.
    """

    contexts: int
    occurrences: int
    lower: Number
    upper: Number


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Read a statement from its JSON record."""
    values = read_values(field, record, ("contexts", "occurrences"), ("lower", "upper"))
    if certificate.target == "values" or values["contexts"] != certificate.sizes["all_contexts"]:
        raise BadInputError(FILE, field, "is about tokens, and about all contexts of the text")
    if values["lower"] > values["upper"]:
        raise BadInputError(FILE, f"{field}.values.lower", "is above the upper end")
    return Statement(**values)


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    return (
        f"Over all {statement.contexts} contexts of the text, weighted by their {statement.occurrences} occurrences, "
        f"the mean divergence KL(empirical distribution || softmax(logits)) is at least "
        f"{decimal_below(statement.lower, _DIGITS)} and at most {decimal_above(statement.upper, _DIGITS)} nats."
    )


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement: the divergence of every context lies in a ball, and so does their mean.

    Raises:
        NotProvedError: An end is on the wrong side, or the contexts occur another number of times.
        UndecidedError: Balls of 4096 bits hold an end.
    """
    task = evaluation.task
    contexts, times = [*task.contexts, *task.tail], [sum(counts.values()) for counts in task.counts]
    if len(times) != len(contexts):
        raise NotProvedError(f"{ID}: the task has no counts")
    if sum(times) != statement.occurrences:
        raise NotProvedError(f"{ID}: occurrences is {statement.occurrences}, the contexts occur {sum(times)} times")
    for bits in (_FEW_BITS, *PRECISIONS):
        with ctx.workprec(bits):
            total = arb(0)
            for row, counts, count in zip(evaluation.logits(contexts, bits), task.counts, times, strict=True):
                total += count * divergence(counts, row, arb(0))
            if lies_within(f"{ID}: ", total / sum(times), statement.lower, statement.upper):
                return f"{counted(len(contexts), 'context')}, by balls of {bits} bits"
    raise UndecidedError(f"{ID}: an end and the mean cannot be told apart by balls of {PRECISIONS[-1]} bits")
