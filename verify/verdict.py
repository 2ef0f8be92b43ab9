"""Define the three answers of a judge.

Page: docs/rigour/certificate.md
"""

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Verdict(enum.Enum):
    """The verdict of a rigorous computation on a statement.

    `PROVED` and `REFUTED` are theorems about the given data; `UNDECIDED` means that the computation was not able to
    tell, and is never success.

    Example:
        >>> Verdict.all_of([Verdict.PROVED, Verdict.UNDECIDED])
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"

    @classmethod
    def all_of(cls, verdicts: "list[Verdict] | tuple[Verdict, ...]") -> "Verdict":
        """Return the verdict of a conjunction: refuted if one part is, proved if there are parts and all are."""
        parts = list(verdicts)
        if any(part is cls.REFUTED for part in parts):
            return cls.REFUTED
        if parts and all(part is cls.PROVED for part in parts):
            return cls.PROVED
        return cls.UNDECIDED


def proved(condition: bool) -> Verdict:
    """Return PROVED if a rigorous computation has established the condition, else UNDECIDED.

    For conditions whose failure to be established refutes nothing.

    Example:
        >>> proved(2 > 1), proved(float("nan") > 1)
        (<Verdict.PROVED: 'PROVED'>, <Verdict.UNDECIDED: 'UNDECIDED'>)
    """
    return Verdict.PROVED if condition else Verdict.UNDECIDED


def decided(condition: bool) -> Verdict:
    """Return PROVED or REFUTED, for conditions that an exact computation decides either way.

    Example:
        >>> decided(1 + 1 == 3)
        <Verdict.REFUTED: 'REFUTED'>
    """
    return Verdict.PROVED if condition else Verdict.REFUTED


_UNDECIDED: ContextVar[list[str] | None] = ContextVar("undecided", default=None)


@contextmanager
def undecided_conditions() -> Iterator[list[str]]:
    """Collect the conditions in the block that are false only because they are undecided.

    A comparison with `Bounds`, or a `Proof` in a condition, is false both where the opposite is proved and where
    nothing is. Who draws a conclusion from a false one asks here which it was.

    Returns:
        A context manager for the list, which grows while the block runs.

    Example:
        >>> from verify.quantities import Bounds
        >>> with undecided_conditions() as open_questions:
        ...     print(Bounds(0, 2, "") > 3, Bounds(0, 2, "") > 1)
        False False
        >>> open_questions
        ['0 .. 2 > 1']
    """
    collected: list[str] = []
    token = _UNDECIDED.set(collected)
    try:
        yield collected
    finally:
        _UNDECIDED.reset(token)


def as_condition(verdict: Verdict, question: str) -> bool:
    """Return whether the verdict is PROVED; note an UNDECIDED one for `undecided_conditions`.

    Example:
        >>> as_condition(Verdict.PROVED, "1 < 2"), as_condition(Verdict.UNDECIDED, "0 .. 2 < 1")
        (True, False)
    """
    collected = _UNDECIDED.get()
    if verdict is Verdict.UNDECIDED and collected is not None:
        collected.append(question)
    return verdict is Verdict.PROVED


def either(holds: bool, fails: bool) -> Verdict:
    """Return PROVED if a statement is known to hold, REFUTED if it is known to fail, otherwise UNDECIDED.

    Example:
        >>> either(False, False)
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """
    if holds:
        return Verdict.PROVED
    return Verdict.REFUTED if fails else Verdict.UNDECIDED
