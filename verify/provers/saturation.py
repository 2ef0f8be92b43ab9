"""Count the pairs of a head and a context with an attention weight close to 1.

Page: docs/layer.md
"""

import math
from fractions import Fraction

from constructions.errors import InputError
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import SATURATION, Statement, StatementCheck
from verify.forward.heads import AttendedVectors
from verify.provers.evaluation import JudgedModel, OnContexts
from verify.provers.features import heads, is_one_attention
from verify.verdict import Verdict

ID = SATURATION

DELTA = Fraction(1, 100)
"""A head is saturated where its largest attention weight is above 1 - DELTA; the source takes 0.99."""

_SLACK = Fraction(1, 1024)  # counted are weights above 1 - delta (1 - slack), so that another BLAS counts them too


def state(judged: JudgedModel, delta: Fraction | float) -> Statement:
    """Return the statement about the heads of a layer.

    Raises:
        InputError: The model is not one attention on vectors, or delta is not in (0, 1).
    """
    limit = Fraction(delta)
    if judged.model.reads_tokens or not 0 < limit < 1:
        raise InputError("saturation", f"= {delta}", "a number in (0, 1), for a task of vectors")
    found = heads(judged)
    if found is None or not is_one_attention(judged.model):
        raise InputError("saturation", "is that of a model of one attention, this one has other blocks")
    return prove_saturation(found, limit)


def prove_saturation(found: AttendedVectors, delta: Fraction) -> Statement:
    r"""Return the statement of how many pairs have an attention weight above $1 - \delta$.

    Args:
        found: The largest attention weight of each context and head, enclosed.
        delta: In (0, 1).
    """
    surely, _ = _saturated(found, delta * (1 - _SLACK))
    values: dict[str, Number] = {"pairs": found.top.size, "delta": delta, "saturated_lower": surely}
    return Statement(SATURATION, "enclosure of the attention weights", values)


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again."""
    return check_saturation(statement, heads(evaluation))


def check_saturation(statement: Statement, found: AttendedVectors | None) -> StatementCheck:
    """Return the verdict on the statement, from the attention weights."""
    stored = statement.values
    if found is None or stored["pairs"] != found.top.size:
        return StatementCheck(SATURATION, Verdict.REFUTED, "the model has another number of pairs", {})
    surely, perhaps = _saturated(found, Fraction(stored["delta"]))
    values: dict[str, Number] = {"saturated_lower": surely}
    if stored["saturated_lower"] <= surely:
        return StatementCheck(SATURATION, Verdict.PROVED, f"{surely} of {found.top.size} pairs", values)
    if perhaps < stored["saturated_lower"]:
        return StatementCheck(SATURATION, Verdict.REFUTED, f"at most {perhaps} pairs are saturated", values)
    reason = "some weights and the limit cannot be told apart"
    return StatementCheck(SATURATION, Verdict.UNDECIDED, reason, values)


def _saturated(found: AttendedVectors, delta: Fraction) -> tuple[int, int]:
    """Return how many largest weights are proved to be above 1 - delta, and how many may be."""
    limit = float(1 - delta)  # the nearest float64; its neighbours lie on either side of the exact limit
    surely = found.top.lower() > math.nextafter(limit, 2.0)
    surely_not = found.top.upper() <= math.nextafter(limit, -1.0)
    return int(surely.sum()), int((~surely_not).sum())
