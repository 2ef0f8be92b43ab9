"""The three answers a judge may give.

Page: docs/rigour/certificate.md
"""

import enum


class Verdict(enum.Enum):
    """What a rigorous computation has established about a statement.

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
        """The verdict of a conjunction: refuted by one refuted part, proved only by at least one part, all proved."""
        parts = list(verdicts)
        if any(part is cls.REFUTED for part in parts):
            return cls.REFUTED
        if parts and all(part is cls.PROVED for part in parts):
            return cls.PROVED
        return cls.UNDECIDED


def proved(condition: bool) -> Verdict:
    """PROVED if a rigorous computation has established the condition, else UNDECIDED.

    For conditions whose failure to be established refutes nothing.

    Example:
        >>> proved(2 > 1), proved(float("nan") > 1)
        (<Verdict.PROVED: 'PROVED'>, <Verdict.UNDECIDED: 'UNDECIDED'>)
    """
    return Verdict.PROVED if condition else Verdict.UNDECIDED


def decided(condition: bool) -> Verdict:
    """PROVED or REFUTED: for conditions that an exact computation decides either way.

    Example:
        >>> decided(1 + 1 == 3)
        <Verdict.REFUTED: 'REFUTED'>
    """
    return Verdict.PROVED if condition else Verdict.REFUTED
