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


ACCOUNTS, COLUMNS, EVALUATION = (f"verify/kernel/{name}.py" for name in ("accounts", "columns", "evaluation"))

EQUIVALENT: list[Equivalent] = [
    *_of(
        ACCOUNTS,
        "",
        "units beyond 2^64 are told apart or not: a smaller unit is a divisor too, and no format has so many bits",
        ("64", "65"),
    ),
    *_of(
        ACCOUNTS,
        "Runs.anything",
        "at least 12: every format of `FORMATS` has numbers up to 2^15, and scales are not negative",
        ("0", "1"),
    ),
    *_of(
        ACCOUNTS,
        "Reals.weighs",
        "bits stays below 4096 where anything is held, and beyond it a larger distance is stated",
        ("0", "1"),
    ),
]
