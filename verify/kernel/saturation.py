r"""The statement `saturation`: how many pairs of a head and a context have an attention weight close to 1.

Page: docs/rigour/kernel.md
"""

from dataclasses import dataclass
from typing import Any

from flint import ctx

from verify.kernel.answers import ball
from verify.kernel.balls import PRECISIONS
from verify.kernel.certificate import FILE, Certificate, read_values
from verify.kernel.evaluation import Evaluation
from verify.kernel.features import LAYER, largest_weights, shape
from verify.kernel.numerals import Number, decimal_above
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "saturation"


@dataclass(frozen=True)
class Statement:
    r"""At least `saturated` of the pairs have $\max_s a^h_s > 1 - \delta$.

    Args:
        pairs: Of a head and a context, all of them.
        saturated: How many at least.
        delta: $\delta$, above 0 and below 1.
    """

    pairs: int
    saturated: int
    delta: Number


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    values = read_values(field, record, ("pairs", "saturated_lower"), ("delta",))
    if not (0 < values["delta"] < 1 and values["saturated_lower"] <= values["pairs"]):
        raise BadInputError(FILE, f"{field}.values", "has a delta out of range, or more pairs than there are")
    return Statement(values["pairs"], values["saturated_lower"], values["delta"])


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words; a smaller delta would claim more, so it is rounded up."""
    return (
        f"Of the {statement.pairs} pairs of a head and a context at least {statement.saturated} have an attention "
        f"weight above 1 - {decimal_above(statement.delta)}."
    )


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement: count the largest weights whose balls are above the limit, and those whose balls are not.

    Raises:
        NotProvedError: Fewer pairs are saturated, or the model has no such heads or another number of them.
        UndecidedError: Balls of 4096 bits hold the limit.
    """
    model, task = evaluation.model, evaluation.task
    if shape(model, task) != LAYER or statement.pairs != len(task.contexts) * model.blocks[0].shape("W_Q")[0]:
        raise NotProvedError(f"{ID}: the model has no such heads, or not {statement.pairs} pairs")
    for bits in PRECISIONS:
        weights = largest_weights(model, task, bits)
        with ctx.workprec(bits):
            limit = 1 - ball(statement.delta)
            surely = sum(weight > limit for weight in weights)
            surely_not = sum(weight <= limit for weight in weights)
        if surely >= statement.saturated:
            return f"{surely} of {statement.pairs} pairs, by balls of {bits} bits"
        if statement.pairs - surely_not < statement.saturated:
            raise NotProvedError(f"{ID}: {surely_not} of {statement.pairs} pairs are proved not to be saturated")
    raise UndecidedError(f"{ID}: weights and the limit cannot be told apart by balls of {PRECISIONS[-1]} bits")
