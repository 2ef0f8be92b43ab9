"""The three answers a judge may give."""

import enum


class Verdict(enum.Enum):
    """What a rigorous computation has established about a statement.

    `PROVED` and `REFUTED` are theorems about the given data; `UNDECIDED` means that the computation was not able to
    tell, and is never success.

    Page: docs/rigour/certificate.md

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
