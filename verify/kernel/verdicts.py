"""Define how a check ends if not with PROVED: three exceptions, each with an exit code.

Page: docs/rigour/kernel.md
"""


class CheckError(Exception):
    """Base class of the three; its text is one sentence for a person."""

    exit_code = 1
    word = "NOT PROVED"


class NotProvedError(CheckError):
    """A statement is false, the answer is no, or a file is a different one; names the context, the number or the
    file.
    """


class BadInputError(CheckError):
    """The folder does not match its certificate or its format; names the file and the field."""

    exit_code = 2
    word = "BAD INPUT"

    def __init__(self, file: str, field: str, problem: str) -> None:
        self.file, self.field, self.problem = file, field, problem
        super().__init__(f"{file}: {field} {problem}")


class UndecidedError(CheckError):
    """Nothing is wrong, but the kernel has no proof: neither PROVED nor refuted."""

    exit_code = 3
    word = "UNDECIDED"
