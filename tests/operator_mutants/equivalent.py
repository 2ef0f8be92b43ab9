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
            "self._rounded(distance(reach, scale), 0, 4 * length + 12)",
            "self._rounded(distance(reach, scale), 1, 4 * length + 12)",
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
    *_of(
        "verify/kernel/evaluation.py",
        "guess",
        "a task of values is one of vectors; the type checker is told so",
        ('task.target == "values" and task.vectors is not None', '((task.target == "values"))'),
    ),
    *_of(
        "verify/kernel/columns.py",
        "added.tight",
        "where every term has numbers so has their sum; the type checker is told so",
        ("column.numbers or []", "(column.numbers)"),
    ),
    *_of(
        "verify/kernel/kinds.py",
        "load_module",
        "a path to a module has a spec and a loader; the type checker is told so",
        ("spec is not None and spec.loader is not None", "((spec is not None))"),
        ("spec is not None and spec.loader is not None", "((spec.loader is not None))"),
    ),
    *_of(
        "verify/kernel/edit.py",
        "_read_edit",
        "a number that equals 4 and is no integer is a float, which the reader of JSON refuses",
        (
            '(content["format"], content["version"]) != ("byheart-edit", 4) or type(content["version"]) is not int',
            '(((content["format"], content["version"]) != ("byheart-edit", 4)))',
        ),
    ),
    *_of(
        "verify/kernel/independence.py",
        "exceeds",
        "rows are multiplied by any powers of two, and epsilon is any: what is proved for one pair is true",
        ("(1, -top)", "(2, -top)"),
        ("(1, -5 * bits // 8)", "(2, -5 * bits // 8)"),
        ("-5 * bits // 8", "-5 * bits // 7"),
        ("-5 * bits // 8", "-5 * bits // 9"),
    ),
    *_of(
        "verify/kernel/model.py",
        "_require_widths",
        "what is written is read by the next block, or by the readout, of which no size is 0",
        ("block.reads == width > 0 and block.writes > 0", "((block.reads == width > 0))"),
        ("block.writes > 0", "block.writes >= 0"),
    ),
    *_of(
        "verify/kernel/edit.py",
        "_read_edit",
        "a bound that may be absent and has to be there has to be there",
        ("2:", "1:"),
    ),
]
