"""The changes that make no statement false and no answer another one, each with its reason."""

from dataclasses import dataclass

from tests.operator_mutants.operators import Change


@dataclass(frozen=True)
class Equivalent:
    """A change that no test can notice.

    Attributes:
        file: The source.
        function: Where it stands, as in `Change`.
        before: The text that is replaced, its blanks as one.
        after: What takes its place; `None` for whatever does.
        why: Why nothing that is proved or refused is another thing then.
    """

    file: str
    function: str
    before: str
    after: str | None
    why: str

    def is_of(self, file: str, change: Change) -> bool:
        """Whether this says of a change of a file that nothing can notice it."""
        return (
            (file, change.function) == (self.file, self.function)
            and _plain(change.before) == self.before
            and self.after in (None, _plain(change.after))
        )


def _plain(text: str) -> str:
    return " ".join(text.split())


def _of(file: str, function: str, why: str, *changes: tuple[str, str | None]) -> list[Equivalent]:
    """Changes of one function that leave everything as it is for the same reason."""
    return [Equivalent(file, function, before, after, why) for before, after in changes]


ACCOUNTS = "verify/kernel/accounts.py"

EQUIVALENT: list[Equivalent] = [
    *_of(
        ACCOUNTS,
        "",
        "units beyond 2^64 are told apart or not: a smaller power of two divides the terms too",
        ("_LARGEST_UNIT = 64", "_LARGEST_UNIT = 65"),
    ),
    *_of(
        ACCOUNTS,
        "Runs.anything",
        "the sum is at least 12: every format has numbers up to 2^15, and no scale is negative",
        ("max(0, scale + self.most - 3)", "max(1, scale + self.most - 3)"),
    ),
    *_of(
        ACCOUNTS,
        "Runs.anything",
        "one unit of 2^-4096 more is stated",
        (
            "self._rounded(-(-(reach << RADIUS) >> scale), 0, 4 * length + 12)",
            "self._rounded(-(-(reach << RADIUS) >> scale), 1, 4 * length + 12)",
        ),
    ),
    *_of(
        ACCOUNTS,
        "Reals.weighs",
        "where it matters the weight is below 2^-4095, and a larger one is stated",
        ("max(0, RADIUS - bits)", "max(1, RADIUS - bits)"),
    ),
    *(
        Equivalent(ACCOUNTS, function, "return 0", "return 1", "after an overflow nothing is said of runs")
        for function in ("Runs._rounded", "Runs.anything", "Runs.mixed")
    ),
]
