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


EQUIVALENT: list[Equivalent] = []
