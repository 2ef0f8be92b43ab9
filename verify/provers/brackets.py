"""Judge a statement on a rank or on divergences by bounds that are proved again.

Page: docs/rigour/certificate.md
"""

import math
from collections.abc import Mapping

from constructions.counted import counted
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import DIVERGENCE, Statement, StatementCheck
from verify.verdict import Verdict


def compare_ranks(statement: Statement, lower: int, upper: int, all_weights: int, method: str) -> StatementCheck:
    """Return the verdict on a statement about a rank of who has proved these bounds of it.

    Args:
        statement: The statement.
        lower: The rank for these weights is at least this.
        upper: It is at most this.
        all_weights: For no weights is it more than this.
        method: How, in a few words.

    Example:
        >>> values = {"rows": 4, "columns": 4, "lower": 3, "upper": 3, "all_weights_upper": 4}
        >>> stated = Statement("rank-heads", "", values)
        >>> bounds = (3, 3, 4), (2, 3, 4), (2, 2, 2), (4, 4, 4)
        >>> [compare_ranks(stated, *each, "").verdict.value for each in bounds]
        ['PROVED', 'UNDECIDED', 'REFUTED', 'REFUTED']
    """
    stored = statement.values
    values: dict[str, Number] = {"lower": lower, "upper": upper, "all_weights_upper": all_weights}

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(statement.id, verdict, reason, values)

    # Both ends: a rank that is surely another one is refuted, and not only open.
    if stored["lower"] > upper:
        return checked(Verdict.REFUTED, f"the rank is at most {upper}")
    if min(stored["upper"], stored["all_weights_upper"]) < lower:
        return checked(Verdict.REFUTED, f"the rank is at least {lower}")
    # All three: without one of them any number in its place would follow.
    if stored["lower"] <= lower and upper <= stored["upper"] and all_weights <= stored["all_weights_upper"]:
        return checked(
            Verdict.PROVED, f"{method}: a rank from {lower} to {upper}, of all weights at most {all_weights}"
        )
    return checked(
        Verdict.UNDECIDED, f"only a rank from {lower} to {upper} was proved, of all weights at most {all_weights}"
    )


def compare_divergences(statement: Statement, found: Mapping[str, Number]) -> StatementCheck:
    """Return the verdict on a statement about divergences, given proved bounds of them.

    Args:
        statement: The statement.
        found: Bounds by the names of the statement; of those from above none where none is known.

    Example:
        >>> values = {"contexts": 2, "occurrences": 3, "max_lower": 1, "max_upper": 2, "mean_lower": 1, "mean_upper": 2}
        >>> stated = Statement(DIVERGENCE, "", values)
        >>> compare_divergences(stated, values).verdict.value
        'PROVED'
        >>> compare_divergences(stated, {**values, "max_upper": 3}).verdict.value
        'UNDECIDED'
        >>> compare_divergences(stated, {**values, "mean_lower": 2.5, "mean_upper": 2.5}).reason
        'the mean divergence is outside of the stored interval'
    """
    stored, undecided = statement.values, []
    for name, words in (("max", "largest"), ("mean", "mean")):
        lower, upper = found[f"{name}_lower"], found.get(f"{name}_upper", math.inf)
        if upper < stored[f"{name}_lower"] or lower > stored[f"{name}_upper"]:
            reason = f"the {words} divergence is outside of the stored interval"
            return StatementCheck(DIVERGENCE, Verdict.REFUTED, reason, found)
        if not (stored[f"{name}_lower"] <= lower and upper <= stored[f"{name}_upper"]):
            undecided.append(words)
    if undecided:
        reason = f"the stored interval of the {undecided[0]} divergence does not follow from the enclosure"
        return StatementCheck(DIVERGENCE, Verdict.UNDECIDED, reason, found)
    return StatementCheck(DIVERGENCE, Verdict.PROVED, counted(stored["contexts"], "context"), found)
