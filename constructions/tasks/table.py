"""Make a task of a table of facts: each row is a context, its answer, and perhaps a weight.

Page: docs/task.md
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from constructions.counted import counted
from constructions.errors import InputError
from constructions.tasks.cells import Rows, parsed
from constructions.tasks.task import Counts, Target, Task, make_task
from constructions.tasks.text import BYTE_ORDER_MARK, decode, read_bytes

_LARGEST_WEIGHT = 2**53
_SHOWN_PROBLEMS = 20
_WEIGHT = "weight"
_SKIP_EMPTY = "; --skip-empty leaves such rows out"
_INTEGER = re.compile(r"[+-]?\d+")
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""What may separate the cells of a table where nobody says what does, by name."""
_ROLES = frozenset(
    "subject relation predicate object entity attribute property question answer context next next_token label target "
    "input output fact prompt completion weight count frequency id index key value name term definition "
    "translation".split()
)
"""Names of columns by what they are for."""
_COUNTS = frozenset((_WEIGHT, "count", "frequency"))
"""Those of them that name a column of weights."""
_KINDS = frozenset(
    "word token country capital city river language currency continent population date year author title element "
    "symbol airport iata icao state region area email phone address company university school major job profession "
    "occupation nationality gender age birthday birthplace code".split()
)
"""Names of columns by what is in them, which a relation may be called too."""

_MISSING = frozenset("na n/a nan none null nil unknown missing many few some infinity inf".split())
"""Words that stand where a number is not known; such a cell above numbers may be a fact."""
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(e[+-]?\d+)?%?", re.IGNORECASE)

Fact = tuple[tuple[str, ...], str, int]


def read_table(path: str | Path) -> str:
    """Read a CSV file in UTF-8 for `table_task`.

    Args:
        path: The file.

    Returns:
        Its content as it stands, without the byte order mark that some programs write first.

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
    return decode(read_bytes(path), str(path)).removeprefix(BYTE_ORDER_MARK)


def named_delimiter(path: str | Path) -> str | None:
    """Return the separator that the name of a file implies: a tab for ``.tsv``, else None."""
    return "\t" if Path(path).suffix.lower() == ".tsv" else None


@dataclass(frozen=True)
class TableForm:
    """The form of a table, and what changed while reading it.

    Args:
        delimiter: What separates the cells.
        header: Whether the first row holds names.
        weights: Whether the last column says how often each fact occurs.
        names: The names in the first row; none where it holds none.
        rows: Rows that are facts.
        merged: Those that say what an earlier one says, and are counted with it.
        stripped: Cells without the spaces that stand around them in the file.
        skipped: Rows that are omitted because a cell is empty.
    """

    delimiter: str
    header: bool
    weights: bool = False
    names: tuple[str, ...] = ()
    rows: int = 0
    merged: int = 0
    stripped: int = 0
    skipped: int = 0

    def described(self) -> str:
        """Describe how the first row and the last column were read, and how to override this."""
        if not self.header:
            return "the first row is a fact (--header if it names the columns)"
        counts = "; the last column counts how often" if self.weights else ""
        return f"the first row names the columns: {', '.join(self.names)} (--no-header if it is a fact){counts}"

    @property
    def left_out(self) -> str:
        """Number of omitted rows in words; empty if there are none."""
        return f"{counted(self.skipped, 'row')} with an empty cell left out" if self.skipped else ""


def table_form(
    table: str, *, delimiter: str | None = None, header: bool | None = None, weights: bool | None = None
) -> TableForm:
    """Detect the form of a table; raise an error that names the options if it is ambiguous.

    **Separator.** Each row holds two cells at least, so what separates cells stands in every row. If one of ``,``,
    ``;``, tab and ``|`` does, it is the separator; if two do, nobody can tell. A comma also stands in prose and in
    numbers: if another one stands in at least half of the rows, equally often in each, that is a doubt too. A reading
    with a quote in the midst of a cell is none where another reads every quote as CSV does.

    **Header.** The first row holds names if each is a word that headers have, and no other row has such a word: a role
    (``question``, ``relation``, ``answer``), or a kind (``country``, ``capital``), which may be a relation in other
    rows where one of the names is a role. It does so too if all its cells differ, none stands below in its own column,
    and one is a word above three numbers or more, and nothing else. The first row is a fact if a cell of it stands in
    the same column of a row that is not the same, or if no cell has a letter and they are not consecutive numbers. All
    other first rows may be either; so may an only row, as in a file that has a header and no facts yet.

    **Weights.** A last column called ``weight`` above integers, which may be too small or too large for a weight, may
    say how often a fact occurs, or be the answer. Other columns are never weights unless that is said.

    Args:
        table: The rows.
        delimiter: What separates the cells, if that is known.
        header: Whether the first row holds names, if that is known.
        weights: Whether the last column holds weights, if that is known.

    Returns:
        The form; where no separator stands in every row, the one that stands in most, so that the errors of
        `table_task` say what is wrong.

    Raises:
        InputError: The table can be read in two ways; names both, and how to say which is meant.

    Example:
        >>> form = table_form("subject;relation;answer\\nFrance;capital;Paris\\n")
        >>> form.delimiter, form.header
        (';', True)
    """
    first_line = table.partition("\n")[0].strip()
    if re.fullmatch("(?i)sep=.", first_line):
        raise InputError(
            "line 1 of the table",
            f"is {first_line!r}, which only tells a spreadsheet the separator",
            f"a table without that line, and --delimiter {_spelled(first_line[-1])}",
        )
    separator = _only_delimiter(table) if delimiter is None else delimiter
    rows = parsed(table, separator, strip=True).rows_or_refuse()
    if any(len(row) < 2 for _, row in rows) or not rows:
        return TableForm(separator, bool(header), bool(weights))  # no table of facts, as is said where they are read
    (line, first), other_rows = rows[0], [row for _, row in rows[1:]]
    place, shown = f"line {line} of the table", _shown(first)
    last = [row[-1] for row in other_rows if "" not in row]
    counts = first[-1].lower() == _WEIGHT and bool(last) and all(map(_INTEGER.fullmatch, last))
    if header is None:
        header = True if counts else _holds_names(first, other_rows, bool(weights))
    if header is None:
        raise InputError(
            place,
            f"may name the columns or be a fact: {shown}",
            "--header or --no-header (in Python header=True or header=False)",
        )
    if weights is None and counts and header:
        raise InputError(
            place,
            f"calls the last column {first[-1]!r}, which may count how often a fact occurs or be the answer: {shown}",
            "--weights or --no-weights (in Python weights=True or weights=False)",
        )
    return TableForm(separator, header, bool(weights))


def _only_delimiter(table: str) -> str:
    """Return the separator of `table_form`, or the one in most rows if none is in all.

    Raises:
        InputError: There are two; names both.
    """
    readings = [parsed(table, delimiter, strip=True) for delimiter in DELIMITERS if delimiter in table]
    fitting = [reading for reading in readings if reading.in_every_row]
    if any(reading.clean for reading in fitting):
        readings = [reading for reading in readings if reading.clean]
        fitting = [reading for reading in fitting if reading.clean]
    if [reading.delimiter for reading in fitting] == [","]:
        fitting = [reading for reading in readings if reading.in_every_row or reading.in_half_of_the_rows]
    if len(fitting) > 1:
        ways = [
            f"with {DELIMITERS[candidate.delimiter]}s between cells, {_shown(candidate.rows[-1][1])}"
            for candidate in fitting
        ]
        ways = [f"{way} in line {candidate.rows[-1][0]}" for way, candidate in zip(ways, fitting, strict=True)]
        options = " or ".join(f"--delimiter {_spelled(candidate.delimiter)}" for candidate in fitting)
        raise InputError("the table", f"can be read {', or '.join(ways)}", f"{options} (in Python delimiter=)")
    best = max(readings, key=lambda reading: reading.split_rows, default=None)
    return fitting[0].delimiter if fitting else "," if best is None else best.delimiter


def _spelled(delimiter: str) -> str:
    """Return a delimiter as it is typed after --delimiter."""
    return "tab" if delimiter == "\t" else f"'{delimiter}'"


def _holds_names(first: list[str], others: list[list[str]], weighted: bool) -> bool | None:
    """Tell whether the first row is a header, by the rules of `table_form`; None if it may be either."""
    if weighted and others and first[-1].lower() in _COUNTS:
        return True  # a fact has a number there
    names = {name.lower() for name in first}
    if names <= _ROLES | _KINDS:
        such = names | (_ROLES if names & _ROLES else _KINDS)
        others_have = any(cell.lower() in such for row in others for cell in row)
        return True if others and len(names) == len(first) and not others_have else None
    pairs = (pair for row in others if row != first for pair in zip(first, row, strict=False))
    if any(name == cell != "" for name, cell in pairs):
        return False
    if len(names) == len(first) and any(map(_names_numbers, first, zip(*others, strict=False))):
        return True
    no_letter = not any(letter.isalpha() for name in first for letter in name)
    return False if no_letter and not (others and _count_up(first)) else None


def _names_numbers(name: str, cells: tuple[str, ...]) -> bool:
    """Whether a cell is a word above numbers alone, three at least, and is none that stands for a missing one."""
    is_word = any(letter.isalpha() for letter in name) and not any(letter.isdigit() for letter in name)
    return is_word and name.lower() not in _MISSING and len(cells) > 2 and all(map(_NUMBER.fullmatch, cells))


def _count_up(cells: list[str]) -> bool:
    """Tell whether cells are consecutive numbers, which may number the columns."""
    if not all(cell.isascii() and cell.isdigit() for cell in cells):
        return False
    return all(int(cell) == int(cells[0]) + place for place, cell in enumerate(cells))


def table_facts(
    table: str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
    target: Target = "labels",
    facts: int | None = None,
    mass: Fraction | float | None = None,
    strip: bool = False,
    skip_empty: bool | None = None,
) -> tuple[Task, TableForm]:
    r"""Read a table; detect the parts of its form that are not given by `table_form`.

    Args:
        table: The rows.
        delimiter: As for `table_form`.
        header: Likewise.
        weights: Likewise.
        target: As for `table_task`.
        facts: As for `table_task`.
        mass: As for `table_task`.
        strip: Take the spaces away that stand around cells without quotes, unless there is nothing else in one.
        skip_empty: Leave rows out that have an empty cell. Where it is false, an error about such rows names the option
            ``--skip-empty``; by default there is none.

    Returns:
        The task, and the form in which the table was read.

    Raises:
        InputError: As `table_form` and `table_task`; names the delimiter where that may be the fault.

    Example:
        >>> task, form = table_facts("subject;answer\nFrance;Paris\n")
        >>> task.n_contexts, form.delimiter, form.header
        (1, ';', True)
    """
    form = table_form(table, delimiter=delimiter, header=header, weights=weights)
    hint = f" (read with {form.delimiter!r} between the cells; --delimiter says another)"
    return _read(table, form, strip=strip, skip_empty=skip_empty, hint=hint, target=target, facts=facts, mass=mass)


def texts_of_table(table: str, *, delimiter: str | None = None) -> list[tuple[str, str]] | None:
    """Return the texts of a table with the header ``title,text``, with their titles; None for other tables.

    The header tells the separator. What stands in a cell is not changed.

    Raises:
        InputError: A row has more or fewer cells than a title and a text; names the line.

    Example:
        >>> texts_of_table("title;text\\nhaiku;an old pond, a frog\\n")
        [('haiku', 'an old pond, a frog')]
    """
    for separator in DELIMITERS if delimiter is None else [delimiter]:
        rows = parsed(re.split(r"[\r\n]", table, maxsplit=1)[0], separator, strip=True).rows
        if rows and [cell.lower() for cell in rows[0][1]] == ["title", "text"]:
            texts = parsed(table, separator).rows_or_refuse()[1:]
            for line, row in texts:
                if len(row) != 2:
                    raise InputError(
                        f"line {line} of the table", f"has {counted(len(row), 'cell')}", "a title and a text"
                    )
            return [(title, text) for _, (title, text) in texts]
    return None


def looks_like_a_table(text: str) -> str | None:
    """Return the separator that occurs equally often in each of at least three lines, or None.

    Example:
        >>> looks_like_a_table("a,b\\nc,d\\ne,f\\n"), looks_like_a_table("so, so\\nmuch\\ndepends\\n")
        (',', None)
    """
    for delimiter in (candidate for candidate in DELIMITERS if candidate in text):
        rows = parsed(text, delimiter).rows
        if len(rows) > 2 and len(rows[0][1]) > 1 and len({len(row) for _, row in rows}) == 1:
            return delimiter
    return None


def ragged_rows(
    table: str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
) -> tuple[list[tuple[str, ...]], TableForm] | None:
    """Return the rows and the form of a table with rows of several lengths; None if all have the same length.

    Args:
        table: The rows.
        delimiter: As for `table_form`.
        header: Likewise.
        weights: Likewise.

    Raises:
        InputError: As `table_form`; a row of fewer than two cells, or with an empty one; names the line.

    Example:
        >>> ragged_rows("France,capital,Paris\\nPeru,Lima\\n", header=False)[0]
        [('France', 'capital', 'Paris'), ('Peru', 'Lima')]
    """
    form = table_form(table, delimiter=delimiter, header=header, weights=weights)
    rows = parsed(table, form.delimiter).rows_or_refuse()
    names, facts = (tuple(rows[0][1]), rows[1:]) if form.header and rows else ((), rows)
    if len({len(row) for _, row in facts}) < 2:
        return None
    for line, row in facts:
        if len(row) < 2 or "" in row:
            raise InputError(f"line {line} of the table", f"is {_shown(row)}", "cells of a context, and what follows")
    return [tuple(row) for _, row in facts], replace(form, names=names, rows=len(facts))


def rows_of_contexts(
    table: str, *, delimiter: str | None = None, header: bool | None = None
) -> tuple[list[tuple[int, list[str]]], TableForm]:
    r"""Return the rows of a table that has only contexts and no answers.

    Args:
        table: The rows; where no separator of tables stands in them, the tokens of a line are separated by spaces.
        delimiter: As for `table_form`.
        header: Likewise.

    Returns:
        The rows, each with the number of its line, and the form.

    Raises:
        InputError: As `table_form`; no rows; a row of another length or with an empty cell; names the line.

    Example:
        >>> rows_of_contexts("0 1 1\n1 0 1\n", header=False)[0]
        [(1, ['0', '1', '1']), (2, ['1', '0', '1'])]
    """
    if delimiter is None and not any(separator in table for separator in DELIMITERS):
        table, delimiter = "\n".join(" ".join(line.split()) for line in table.splitlines()), " "
    form = table_form(table, delimiter=delimiter, header=header)
    reading = parsed(table, form.delimiter, strip=True)
    rows = reading.rows_or_refuse()
    names, body = (tuple(rows[0][1]), rows[1:]) if form.header and rows else ((), rows)
    if not body:
        raise InputError("the table", "has no rows of contexts")
    first, width = body[0][0], len(body[0][1])
    problems = []
    for line, row in body:
        if len(row) != width:
            words = f"has {counted(len(row), 'cell')}, but line {first} has {width}: {_shown(row)}"
            problems.append(InputError(f"line {line} of the table", words))
        elif "" in row:
            problems.append(InputError(f"line {line} of the table", f"has an empty cell: {_shown(row)}"))
    _refuse(problems)
    return body, replace(form, names=names, rows=len(body), stripped=reading.stripped)


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
    are taken as they stand: a number is a token like any other unless `weights` says that the last column holds
    weights. Blank lines are skipped, and the weights of equal rows are added. What is read and what is
    answered have a vocabulary each, that of the cells of contexts and that of the tokens that follow, in order of
    appearance, so that a model needs no embedding of what is never read, and no logit of what is never an answer. Where
    the same tokens are read and answered, it is one vocabulary.

    Args:
        table: The rows.
        header: Whether the first row holds names.
        weights: Whether the last column holds weights (positive integers); by default it does not, and has to be said
            if the first row ends in ``weight``.
        delimiter: What separates the cells.
        target: ``"labels"`` for the heaviest next token of each context; ``"distributions"`` for the distribution of
            its next tokens.
        facts: How many contexts to memorize, the heaviest ones; all by default.
        mass: Instead of `facts`, the share of all weight that the memorized contexts must hold.

    Returns:
        The task.

    Raises:
        InputError: A table without facts; a row of another length, or with an empty cell; a weight that is no positive
            integer; for ``labels`` a context with two heaviest next tokens; a first row that ends in ``weight`` while
            `weights` does not say what that means. Each names the line.

    Example:
        >>> task = table_task("France,capital,Paris\\nFrance,river,Seine\\nPeru,capital,Lima\\n")
        >>> task.vocabulary, [task.answers[label] for label in task.labels]
        (('France', 'capital', 'river', 'Peru'), ['Paris', 'Seine', 'Lima'])
    """
    rows = parsed(table, delimiter).rows_or_refuse()
    if weights is None and rows and rows[0][1][-1].strip().lower() == _WEIGHT:
        line, first = rows[0]
        names = "" if header else "header=True (--header) if it holds names, "
        raise InputError(
            f"line {line} of the table",
            f"ends in {first[-1]!r}",
            f"{names}weights=True (--weights) if the column counts how often, weights=False (--no-weights) if not",
        )
    form = TableForm(delimiter, header, bool(weights))
    return _read(table, form, target=target, facts=facts, mass=mass)[0]


def _read(
    table: str,
    form: TableForm,
    *,
    target: Target,
    facts: int | None,
    mass: Fraction | float | None,
    strip: bool = False,
    skip_empty: bool | None = None,
    hint: str = "",
) -> tuple[Task, TableForm]:
    """Return the task, and the form with the results of reading; `hint` follows an error about the number of cells."""
    reading = parsed(table, form.delimiter, strip=strip)
    rows = reading.rows_or_refuse()
    if not rows:
        raise InputError("the table", "is empty")
    names, facts_of_rows = (rows[:1], rows[1:]) if form.header else ([], rows)
    kept_rows = [(line, row) for line, row in facts_of_rows if not (skip_empty and "" in row)]
    width = len(names[0][1]) if names else None
    way_out = _SKIP_EMPTY if skip_empty is False else ""
    read_facts = _facts(
        kept_rows, weighted=form.weights, place="line {} of the table", width=width, hint=hint, empty_hint=way_out
    )
    if not read_facts:
        left = " but those with an empty cell, which are left out" if facts_of_rows else ""
        raise InputError("the table", f"has a header, but no facts{left}" if names else f"has no rows{left}")
    task, merged = _task(read_facts, place="line {} of the table", target=target, facts=facts, mass=mass)
    form = replace(form, names=tuple(names[0][1]) if names else (), rows=len(read_facts), merged=merged)
    return task, replace(form, stripped=reading.stripped, skipped=len(facts_of_rows) - len(kept_rows))


def facts_task(
    rows: Sequence[tuple[str, ...]],
    *,
    weights: bool = False,
    skip_empty: bool | None = None,
    target: Target = "labels",
    facts: int | None = None,
    mass: Fraction | float | None = None,
) -> Task:
    """Make a task of rows of cells: the tokens of the context, the answer, perhaps a weight.

    Args:
        rows: The facts.
        weights: Whether the last cell of each holds its weight.
        skip_empty: Where it is false, an error about an empty cell names the option ``--skip-empty``.
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
    checked_facts = _facts(
        [(i, list(row)) for i, row in enumerate(rows, 1)],
        weighted=weights,
        place="fact {}",
        empty_hint=_SKIP_EMPTY if skip_empty is False else "",
    )
    if not checked_facts:
        raise InputError("rows", "is empty", "at least one fact")
    return _task(checked_facts, place="fact {}", target=target, facts=facts, mass=mass)[0]


def _task(
    found: list[tuple[int, Fact]], *, place: str, target: Target, facts: int | None, mass: Fraction | float | None
) -> tuple[Task, int]:
    """Return the task and the number of repeated rows, whose weights are added."""
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
        origin="table" if target == "labels" and all(len(followers) == 1 for followers in follows.values()) else None,
    )
    return task, len(found) - len(line_of)


def _facts(
    rows: Rows, *, weighted: bool, place: str, width: int | None = None, hint: str = "", empty_hint: str = ""
) -> list[tuple[int, Fact]]:
    """Return the facts of rows with equal numbers of cells, `width` if a header gives it."""
    facts, problems, empty = [], [], False
    for line, row in rows:
        least, where = len(rows[0][1]) if width is None else width, place.format(line)
        if len(row) != least:
            first = f"{place.split()[0]} {rows[0][0]}" if width is None else "the header"
            problems.append(
                InputError(where, f"has {counted(len(row), 'cell')}, but {first} has {least}: {_shown(row)}{hint}")
            )
        elif least < 2 + weighted:
            wanted = f"at least one token of context, the next token{' and a weight' if weighted else ''}"
            problems.append(InputError(where, f"has {counted(least, 'cell')}", f"{wanted}: {_shown(row)}{hint}"))
        elif "" in row:
            empty = True
            problems.append(InputError(where, f"has an empty cell: {_shown(row)}"))
        elif weighted and not _is_weight(row[-1]):
            wanted = "an integer from 1 to 2**53 (--no-weights if the column is the answer)"
            problems.append(InputError(where, f"has the weight {row[-1]!r}", wanted))
        else:
            *tokens, last = row
            context, following, weight = (tokens[:-1], tokens[-1], int(last)) if weighted else (tokens, last, 1)
            facts.append((line, (tuple(context), following, weight)))
    _refuse(problems, empty_hint if empty else "")
    return facts


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
    errors = []
    kind, rest = place.split(" {}")
    for context, weight_of in follows.items():
        heaviest = max(weight_of.values())
        first, *rivals = (token for token, weight in weight_of.items() if weight == heaviest)
        errors += [
            InputError(
                f"{kind}s {line_of[context, first]} and {line_of[context, other]}{rest}",
                f"contradict each other: {_shown([read[token] for token in context])} -> {answers[first]!r} and "
                f"{answers[other]!r} equally often; keep one of them, or learn how often each follows, with the target "
                "'distributions'",
            )
            for other in rivals
        ]
    return errors


def _refuse(problems: list[InputError], hint: str = "") -> None:
    """Raise one `InputError` for all bad rows, or for the first ones, with a hint."""
    if problems:
        more = [f"and {len(problems) - _SHOWN_PROBLEMS} more"] * (len(problems) > _SHOWN_PROBLEMS)
        message = "\n  ".join([*map(str, problems[:_SHOWN_PROBLEMS]), *more])
        raise InputError(problems[0].argument, message.removeprefix(f"{problems[0].argument} ") + hint)


def _shown(tokens: list[str] | tuple[str, ...]) -> str:
    shown = " ".join(map(repr, tokens[:8]))
    return shown if len(tokens) <= 8 else f"{shown} ..."
