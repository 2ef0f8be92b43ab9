"""A table of facts becomes a task: each row a context, the token that follows it, and perhaps a weight.

Page: docs/task.md
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from constructions.counted import counted
from constructions.errors import InputError
from constructions.tasks.task import Counts, Target, Task, make_task
from constructions.tasks.text import decode, read_bytes

_LARGEST_WEIGHT = 2**53
_SHOWN_PROBLEMS = 20
_WEIGHT = "weight"
_DELIMITERS = (",", ";", "\t", "|")
_NAMES = frozenset(
    "subject relation predicate object entity attribute property question answer context next next_token label target "
    "input output fact prompt completion weight count frequency id index key value name word token term definition "
    "translation country capital city river language currency continent population date year author title".split()
)
_MISSING = frozenset(("", "?", "-", "na", "n/a", "nan", "nil", "none", "null", "unknown"))

Fact = tuple[tuple[str, ...], str, int]


def read_table(path: str | Path) -> str:
    """Read a CSV file in UTF-8 for `table_task`.

    Args:
        path: The file.

    Returns:
        Its content, with newlines for line ends and without a byte order mark.

    Raises:
        InputError: The file is missing, a folder, unreadable, empty, or not UTF-8.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "facts.csv"
        ...     _ = path.write_text("France,capital,Paris\\n")
        ...     read_table(path)
        'France,capital,Paris\\n'
    """
    return decode(read_bytes(path), str(path))


@dataclass(frozen=True)
class TableForm:
    """How a table is written, as far as its rows tell, and what reading it did.

    Args:
        delimiter: What separates the cells.
        header: Whether the first row holds names.
        names: These names; none where it holds none.
        rows: Rows that are facts.
        merged: Those that say what an earlier one says, and are counted with it.
        stripped: Cells without the spaces that stand around them in the file.
    """

    delimiter: str
    header: bool
    names: tuple[str, ...] = ()
    rows: int = 0
    merged: int = 0
    stripped: int = 0

    def described(self) -> str:
        """What was found out about the first row, and how to say otherwise."""
        if self.header:
            return f"the first row names the columns: {', '.join(self.names)} (--no-header if it is a fact)"
        return "the first row is a fact (--header if it names the columns)"


def sniff_table(table: str) -> TableForm:
    """Find out what separates the cells of a table, and whether its first row holds names.

    The delimiter is the one of ``,``, ``;``, tab and ``|`` with which the most rows have the same number of cells, two
    at least; of several the one that makes the most cells. The first row holds names if none of its cells is in another
    row, and

    - each is a name that headers have (``subject``, ``question``, ``country``, ``answer``, ``weight``, ...), or
    - one that is a word stands above numbers alone, two at least, and none is a word for what is missing, or
    - three or more words stand above a single row, of numbers alone, or
    - all begin with small letters, where in some column all others, two at least, begin with capital ones;

    or if its last cell is ``weight`` above a column of integers.

    Args:
        table: The rows.

    Returns:
        What was found; a comma where no delimiter fits, so that the errors of `table_task` say what is wrong.

    Example:
        >>> form = sniff_table("subject;relation;answer\\nFrance;capital;Paris\\n")
        >>> form.delimiter, form.header
        (';', True)
    """
    (fitting, width), delimiter = max(
        ((_fit(table, delimiter), delimiter) for delimiter in _DELIMITERS), key=lambda each: each[0]
    )
    if not fitting:
        return TableForm(_DELIMITERS[0], False)
    rows = [[cell.strip() for cell in row] for _, row in _rows(table, delimiter) if len(row) == width]
    return TableForm(delimiter, len(rows) > 1 and _holds_names(rows[0], rows[1:]))


def _holds_names(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first row is a header, by the rules of `sniff_table`."""
    columns = list(zip(*others, strict=True))
    if first[-1].lower() == _WEIGHT and all(cell.isdigit() for cell in columns[-1]):
        return True
    if len({name.lower() for name in first}) < len(first) or set(first) & {cell for row in others for cell in row}:
        return False
    if all(name.lower() in _NAMES for name in first):
        return True
    words = [name[:1].isalpha() and not _is_number(name) for name in first]
    if len(others) < 2:
        return len(first) > 2 and all(words) and all(map(_is_number, others[0]))
    above_numbers = any(word and all(map(_is_number, column)) for word, column in zip(words, columns, strict=True))
    small = all(name[:1].islower() for name in first) and any(
        all(cell[:1].isupper() for cell in column) for column in columns
    )
    return small or (above_numbers and not any(name.lower() in _MISSING for name in first))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def sniffed_task(
    table: str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
    target: Target = "labels",
    facts: int | None = None,
    mass: Fraction | float | None = None,
    strip: bool = False,
) -> tuple[Task, TableForm]:
    r"""Read a table whose form is found out where it is not said.

    Args:
        table: The rows.
        delimiter: As for `table_task`; by default what `sniff_table` finds.
        header: Likewise.
        weights: As for `table_task`.
        target: As for `table_task`.
        facts: As for `table_task`.
        mass: As for `table_task`.
        strip: Take the spaces away that stand around cells, unless there is nothing else in one.

    Returns:
        The task, and the form in which the table was read.

    Raises:
        InputError: As `table_task`; names the delimiter if it was found out.

    Example:
        >>> task, form = sniffed_task("subject;answer\nFrance;Paris\n")
        >>> task.n_contexts, form.delimiter, form.header
        (1, ';', True)
    """
    found = sniff_table(table)
    form = TableForm(found.delimiter if delimiter is None else delimiter, found.header if header is None else header)
    try:
        return _read(table, form, weights=weights, strip=strip, target=target, facts=facts, mass=mass)
    except InputError as error:
        if delimiter is not None or not error.argument.startswith("line"):
            raise
        parts = {"argument": error.argument, "value": error.value, "expected": error.expected}
        last = "expected" if error.expected else "value"
        parts[last] += f" (read with {form.delimiter!r} between the cells; --delimiter says another)"
        raise InputError(**parts) from None


def _fit(table: str, delimiter: str) -> tuple[int, int]:
    """How many rows have the commonest number of cells with this delimiter, and that number; 0 where it is below 2."""
    try:
        widths = Counter(len(row) for _, row in _rows(table, delimiter))
    except InputError:
        return 0, 0
    width, rows = max(widths.items(), key=lambda each: (each[1], each[0]), default=(0, 0))
    return (rows, width) if width > 1 else (0, 0)


def ragged_rows(
    table: str, *, delimiter: str | None = None, header: bool | None = None
) -> tuple[list[tuple[str, ...]], TableForm] | None:
    """The rows of a table whose rows are of several lengths, and its form; nothing where all are of one.

    Args:
        table: The rows.
        delimiter: As for `table_task`; by default what `sniff_table` finds.
        header: Likewise.

    Raises:
        InputError: A row of fewer than two cells, or with an empty one; names the line.

    Example:
        >>> ragged_rows("France,capital,Paris\\nPeru,Lima\\n")[0]
        [('France', 'capital', 'Paris'), ('Peru', 'Lima')]
    """
    found = sniff_table(table)
    form = TableForm(found.delimiter if delimiter is None else delimiter, found.header if header is None else header)
    rows = list(_rows(table, form.delimiter))
    names, facts = (tuple(rows[0][1]), rows[1:]) if form.header and rows else ((), rows)
    if len({len(row) for _, row in facts}) < 2:
        return None
    for line, row in facts:
        if len(row) < 2 or "" in row:
            raise InputError(f"line {line} of the table", f"is {_shown(row)}", "cells of a context, and what follows")
    return [tuple(row) for _, row in facts], replace(form, names=names, rows=len(facts))


def table_task(
    table: str,
    *,
    header: bool = False,
    weights: bool | None = None,
    delimiter: str = ",",
    target: Target = "labels",
    facts: int | None = None,
    mass: Fraction | float | None = None,
) -> Task:
    """Read facts from the rows of a table in CSV.

    A row holds the tokens of a context, the token that follows, and, if there are weights, how often it follows. Cells
    are taken as written: a number is a token like any other unless it stands in the column of weights. Which column
    that is, is never guessed from numbers: it is the last one if `weights` is true, or if there is a `header` whose
    last name is ``weight``. Blank lines are skipped, and the weights of equal rows are added. What is read and what is
    answered have a vocabulary each, that of the cells of contexts and that of the tokens that follow, in order of
    appearance, so that a model needs no embedding of what is never read, and no logit of what is never an answer. Where
    the same tokens are read and answered, it is one vocabulary.

    Args:
        table: The rows.
        header: Whether the first row holds names.
        weights: Whether the last column holds weights (positive integers); by default as the header says, and no
            weights without a header.
        delimiter: What separates the cells.
        target: ``"labels"`` for the heaviest next token of each context; ``"laws"`` for the distribution of its next
            tokens.
        facts: How many contexts to memorize, the heaviest ones; all by default.
        mass: Instead of `facts`, the share of all weight that the memorized contexts must hold.

    Returns:
        The task.

    Raises:
        InputError: A table without facts; a row of another length, or with an empty cell; a weight that is no positive
            integer; for ``labels`` a context with two heaviest next tokens; a first row that ends in ``weight`` while
            neither `header` nor `weights` says what it is. Each names the line.

    Example:
        >>> task = table_task("France,capital,Paris\\nFrance,river,Seine\\nPeru,capital,Lima\\n")
        >>> task.vocabulary, [task.answers[label] for label in task.labels]
        (('France', 'capital', 'river', 'Peru'), ['Paris', 'Seine', 'Lima'])
    """
    form = TableForm(delimiter, header)
    return _read(table, form, weights=weights, strip=False, target=target, facts=facts, mass=mass)[0]


def _read(
    table: str,
    form: TableForm,
    *,
    weights: bool | None,
    strip: bool,
    target: Target,
    facts: int | None,
    mass: Fraction | float | None,
) -> tuple[Task, TableForm]:
    """The task, and the form with what was found in the rows."""
    delimiter, header = form.delimiter, form.header
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError("delimiter", f"= {delimiter!r}", "one character other than a quote or a line end")
    rows = list(_rows(table, delimiter, skip_spaces=strip))
    if not rows:
        raise InputError("the table", "is empty")
    stripped = 0
    if strip:
        as_written = rows
        rows = [(line, [cell.strip() or cell for cell in row]) for line, row in rows]
        pairs = zip(as_written, rows, strict=True)
        stripped = sum(old != new for (_, before), (_, after) in pairs for old, new in zip(before, after, strict=True))
    line, first = rows[0]
    named_weight = first[-1].strip().lower() == _WEIGHT
    if named_weight and not header and weights is None:
        raise InputError(
            f"line {line} of the table",
            f"ends in {first[-1]!r}: say header=True (--header) if it holds names, or weights=False (--no-weights) if "
            "it is a fact",
        )
    weighted = named_weight if weights is None else weights
    found = _facts(rows[1:] if header else rows, weighted=weighted, place="line {} of the table")
    if not found:
        raise InputError("the table", "has a header, but no facts")
    task, merged = _task(found, place="line {} of the table", target=target, facts=facts, mass=mass)
    names = tuple(first) if header else ()
    return task, replace(form, names=names, rows=len(found), merged=merged, stripped=stripped)


def facts_task(
    rows: Sequence[tuple[str, ...]],
    *,
    weights: bool = False,
    target: Target = "labels",
    facts: int | None = None,
    mass: Fraction | float | None = None,
) -> Task:
    """Make a task of facts given as rows of cells: the tokens of a context, the token that follows, perhaps a weight.

    Args:
        rows: The facts.
        weights: Whether the last cell of each holds its weight.
        target: As for `table_task`.
        facts: As for `table_task`.
        mass: As for `table_task`.

    Returns:
        The task.

    Raises:
        InputError: No facts, and as `table_task`; names the rows, the first being 1.

    Example:
        >>> task = facts_task([("France", "capital", "Paris")])
        >>> task.vocabulary, task.answers
        (('France', 'capital'), ('Paris',))
    """
    found = _facts([(i, list(row)) for i, row in enumerate(rows, 1)], weighted=weights, place="fact {}")
    if not found:
        raise InputError("there", "are no facts")
    return _task(found, place="fact {}", target=target, facts=facts, mass=mass)[0]


def _task(
    found: list[tuple[int, Fact]], *, place: str, target: Target, facts: int | None, mass: Fraction | float | None
) -> tuple[Task, int]:
    """The task, and how many rows say what an earlier one says: the weights of these are added."""
    read = {cell: i for i, cell in enumerate(dict.fromkeys(c for _, (cells, _, _) in found for c in cells))}
    answers = {cell: i for i, cell in enumerate(dict.fromkeys(following for _, (_, following, _) in found))}
    if set(answers) == set(read):
        answers = read
    follows: dict[tuple[int, ...], dict[int, int]] = {}
    line_of: dict[tuple[tuple[int, ...], int], int] = {}
    for line, (context, next_token, weight) in found:
        key, following = tuple(read[token] for token in context), answers[next_token]
        line_of.setdefault((key, following), line)
        weight_of = follows.setdefault(key, {})
        weight_of[following] = weight_of.get(following, 0) + weight
    if target == "labels":
        _refuse(_contradictions(follows, line_of, list(read), list(answers), place))
    task = make_task(
        np.array(list(follows), dtype=np.int64),
        Counts.from_rows(list(follows.values())),
        vocabulary=tuple(read),
        answers=tuple(answers),
        target=target,
        facts=facts,
        mass=mass,
        origin="table" if target == "labels" and all(len(each) == 1 for each in follows.values()) else None,
    )
    return task, len(found) - len(line_of)


def _rows(table: str, delimiter: str, *, skip_spaces: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of its first line; spaces may stand before a quote."""
    reader = csv.reader(io.StringIO(table, newline=""), delimiter=delimiter, strict=True, skipinitialspace=skip_spaces)
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"line {line} of the table", f"is not CSV: {error}") from None
        if row:
            yield line, row
        line = reader.line_num + 1


def _facts(rows: list[tuple[int, list[str]]], *, weighted: bool, place: str) -> list[tuple[int, Fact]]:
    found, problems = [], []
    for line, row in rows:
        width, where = len(rows[0][1]), place.format(line)
        if len(row) != width:
            first = f"{place.split()[0]} {rows[0][0]}"
            problems.append(
                InputError(where, f"has {counted(len(row), 'cell')}, but {first} has {width}: {_shown(row)}")
            )
        elif width < 2 + weighted:
            least = f"at least one token of context, the next token{' and a weight' if weighted else ''}"
            hint = f"{least}: {_shown(row)}; is there another delimiter?"
            problems.append(InputError(where, f"has {counted(width, 'cell')}", hint))
        elif "" in row:
            problems.append(InputError(where, f"has an empty cell: {_shown(row)}"))
        elif weighted and not _is_weight(row[-1]):
            problems.append(InputError(where, f"has the weight {row[-1]!r}", "an integer from 1 to 2**53"))
        else:
            *tokens, last = row
            context, following, weight = (tokens[:-1], tokens[-1], int(last)) if weighted else (tokens, last, 1)
            found.append((line, (tuple(context), following, weight)))
    _refuse(problems)
    return found


def _is_weight(cell: str) -> bool:
    digits = cell.strip()
    # 16 digits reach beyond the largest weight; int() alone would also accept underscores and other alphabets.
    short = digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= 16
    return short and 1 <= int(digits) <= _LARGEST_WEIGHT


def _contradictions(
    follows: dict[tuple[int, ...], dict[int, int]],
    line_of: dict[tuple[tuple[int, ...], int], int],
    read: list[str],
    answers: list[str],
    place: str,
) -> list[InputError]:
    found = []
    kind, rest = place.split(" {}")
    for context, weight_of in follows.items():
        heaviest = max(weight_of.values())
        first, *others = (token for token, weight in weight_of.items() if weight == heaviest)
        found += [
            InputError(
                f"{kind}s {line_of[context, first]} and {line_of[context, other]}{rest}",
                f"contradict each other: {_shown([read[token] for token in context])} -> {answers[first]!r} and "
                f"{answers[other]!r} with equal weight; make one of them heavier, or take the target 'laws'",
            )
            for other in others
        ]
    return found


def _refuse(problems: list[InputError]) -> None:
    """Raise all that is wrong as one `InputError`, or the first of very much."""
    if problems:
        more = [f"and {len(problems) - _SHOWN_PROBLEMS} more"] * (len(problems) > _SHOWN_PROBLEMS)
        said = "\n  ".join([*map(str, problems[:_SHOWN_PROBLEMS]), *more])
        raise InputError(problems[0].argument, said.removeprefix(f"{problems[0].argument} "))


def _shown(tokens: list[str] | tuple[str, ...]) -> str:
    shown = " ".join(map(repr, tokens[:8]))
    return shown if len(tokens) <= 8 else f"{shown} ..."
