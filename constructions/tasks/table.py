"""A table of facts becomes a task: each row a context, the token that follows it, and perhaps a weight.

Page: docs/task.md
"""

import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from constructions.errors import InputError
from constructions.tasks.task import Counts, Target, Task, make_task
from constructions.tasks.text import decode, read_bytes

_LARGEST_WEIGHT = 2**53
_WEIGHT = "weight"

Fact = tuple[tuple[str, ...], str, int]


def read_table(path: str | Path) -> str:
    """Read a CSV file in UTF-8 for `table_task`.

    Args:
        path: The file.

    Returns:
        Its content, with newlines for line ends and without a byte order mark.

    Raises:
        InputError: The file is missing, a folder, unreadable, empty, or not UTF-8.

    Page: docs/task.md

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "facts.csv"
        ...     _ = path.write_text("France,capital,Paris\\n")
        ...     read_table(path)
        'France,capital,Paris\\n'
    """
    return decode(read_bytes(path), str(path))


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
    last name is ``weight``. Blank lines are skipped. The vocabulary is that of all cells, in order of appearance.

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
        InputError: A table without facts; a row of another length, with an empty cell, or equal to another row but for
            the weight; a weight that is no positive integer; for ``labels`` a context with two heaviest next tokens;
            a first row that ends in ``weight`` while neither `header` nor `weights` says what it is. Each names the
            line.

    Page: docs/task.md

    Example:
        >>> task = table_task("France,capital,Paris\\nFrance,river,Seine\\nPeru,capital,Lima\\n")
        >>> [task.vocabulary[label] for label in task.labels]
        ['Paris', 'Seine', 'Lima']
    """
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"delimiter = {delimiter!r}, expected one character other than a quote or a line end")
    rows = list(_rows(table, delimiter))
    if not rows:
        raise InputError("the table is empty")
    line, first = rows[0]
    named_weight = first[-1].strip().lower() == _WEIGHT
    if named_weight and not header and weights is None:
        raise InputError(
            f"line {line} of the table ends in {first[-1]!r}: say header=True if it holds names, or weights=False if "
            "it is a fact"
        )
    weighted = named_weight if weights is None else weights
    found = _facts(rows[1:] if header else rows, weighted=weighted)
    if not found:
        raise InputError("the table has a header, but no facts")

    number: dict[str, int] = {}
    follows: dict[tuple[int, ...], dict[int, int]] = {}
    line_of: dict[tuple[tuple[int, ...], int], int] = {}
    for line, (context, next_token, weight) in found:
        *tokens, following = (number.setdefault(token, len(number)) for token in (*context, next_token))
        key = tuple(tokens)
        if (key, following) in line_of:
            raise InputError(
                f"line {line} of the table repeats line {line_of[key, following]}: {_shown(context)} -> {next_token!r}"
            )
        line_of[key, following] = line
        follows.setdefault(key, {})[following] = weight
    if target == "labels":
        _refuse_contradictions(follows, line_of, list(number))
    return make_task(
        np.array(list(follows), dtype=np.int64),
        Counts.from_rows(list(follows.values())),
        vocabulary=tuple(number),
        target=target,
        facts=facts,
        mass=mass,
        origin="table" if target == "labels" and all(len(each) == 1 for each in follows.values()) else None,
    )


def _rows(table: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of its first line."""
    reader = csv.reader(io.StringIO(table, newline=""), delimiter=delimiter, strict=True)
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"line {line} of the table is not CSV: {error}") from None
        if row:
            yield line, row
        line = reader.line_num + 1


def _facts(rows: list[tuple[int, list[str]]], *, weighted: bool) -> list[tuple[int, Fact]]:
    found = []
    for line, row in rows:
        width = len(rows[0][1])
        if len(row) != width:
            raise InputError(
                f"line {line} of the table has {len(row)} cells, but line {rows[0][0]} has {width}: {_shown(row)}"
            )
        if width < 2 + weighted:
            raise InputError(
                f"line {line} of the table has {width} cells, expected at least one token of context, the next token"
                f"{' and a weight' if weighted else ''}: {_shown(row)}"
            )
        if "" in row:
            raise InputError(f"line {line} of the table has an empty cell: {_shown(row)}")
        weight = 1
        if weighted:
            *row, last = row
            weight = _weight(last, line)
        found.append((line, (tuple(row[:-1]), row[-1], weight)))
    return found


def _weight(cell: str, line: int) -> int:
    digits = cell.strip()
    # 16 digits reach beyond the largest weight; int() alone would also accept underscores and other alphabets.
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= 16 and 1 <= int(digits) <= _LARGEST_WEIGHT:
        return int(digits)
    raise InputError(f"line {line} of the table has the weight {cell!r}, expected an integer from 1 to 2**53")


def _refuse_contradictions(
    follows: dict[tuple[int, ...], dict[int, int]],
    line_of: dict[tuple[tuple[int, ...], int], int],
    vocabulary: list[str],
) -> None:
    for context, weight_of in follows.items():
        heaviest = max(weight_of.values())
        first, *others = (token for token, weight in weight_of.items() if weight == heaviest)
        if others:
            raise InputError(
                f"lines {line_of[context, first]} and {line_of[context, others[0]]} of the table contradict each "
                f"other: {_shown([vocabulary[token] for token in context])} -> {vocabulary[first]!r} and "
                f"{vocabulary[others[0]]!r} with equal weight; make one of them heavier, or take the target 'laws'"
            )


def _shown(tokens: list[str] | tuple[str, ...]) -> str:
    shown = " ".join(map(repr, tokens[:8]))
    return shown if len(tokens) <= 8 else f"{shown} ..."
