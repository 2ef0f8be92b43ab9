"""Extract the rows of facts from a list, records, a mapping, a data frame or a series.

Page: docs/library.md
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from constructions.errors import FileFormatError, InputError
from constructions.tasks.table import read_table

JSON_FILES = (".json", ".jsonl")
"""The endings of files that hold rows in JSON."""

TABLE_FILES = (".csv", ".tsv")
"""Those of files that hold rows in CSV."""

_LINE_END = re.compile(r"[\r\n]+")  # no string of JSON holds one of these as it stands


@runtime_checkable
class Frame(Protocol):
    """A data frame, such as that of pandas."""

    @property
    def index(self) -> Any: ...

    def itertuples(self, index: bool = ..., name: str | None = ...) -> Iterable[tuple[Any, ...]]: ...


@runtime_checkable
class Series(Protocol):
    """A column with an index, such as a series of pandas."""

    @property
    def index(self) -> Any: ...

    def items(self) -> Iterable[tuple[Any, Any]]: ...


def rows_of(facts: Any) -> list[tuple[Any, ...]]:
    """Return the cells of each fact as given.

    Args:
        facts: Rows of cells; records, whose values are the cells; a mapping from contexts to what follows; a data frame
            or a series, whose index holds the first cells if somebody has set it.

    Raises:
        InputError: Something else, or a row that is none; names it.

    Example:
        >>> rows_of([{"prompt": "Peru", "answer": "Lima"}]), rows_of({"Peru": "Lima"})
        ([('Peru', 'Lima')], [('Peru', 'Lima')])
    """
    if isinstance(facts, Frame):
        index = _is_of_names(facts.index)
        rows = list(facts.itertuples(index=index, name=None))
        return [(*row[0], *row[1:]) if index and isinstance(row[0], tuple) else tuple(row) for row in rows]
    if isinstance(facts, Mapping | Series):
        return list(facts.items())
    if isinstance(facts, str) or not isinstance(facts, Iterable):
        kind = type(facts).__name__
        raise InputError("facts", f"is {kind}", "a path, a text, a mapping, rows or a data frame")
    cells: list[tuple[Any, ...]] = []
    names: list[Any] = []
    for i, row in enumerate(facts):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise InputError(f"facts: row {i}", f"is {row!r}", "the cells of a context and what follows")
        if isinstance(row, Mapping):
            names = names or list(row)
            if set(row) != set(names):
                raise InputError(f"facts: row {i}", f"has the fields {list(row)}", names)
            row = [row[name] for name in names]
        cells.append(tuple(row))
    return cells


def rows_of_json(path: Path) -> Any:
    """Read rows, records or a mapping from JSON: one value, or for ``.jsonl`` one per line; otherwise by content.

    Args:
        path: The file, in UTF-8, with or without a byte order mark.

    Raises:
        FileFormatError: It is no JSON, or an object in it has a name twice.
        InputError: It is missing, a folder, unreadable, empty, or not UTF-8.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "facts.jsonl"
        ...     _ = path.write_text('{"prompt": "Peru", "answer": "Lima"}\\n["Mali", "Bamako"]\\n')
        ...     rows_of_json(path)
        [{'prompt': 'Peru', 'answer': 'Lima'}, ['Mali', 'Bamako']]
    """
    text, ending = read_table(path), path.suffix.lower()
    by_line = ending == ".jsonl" or (ending != ".json" and _is_by_line(text))
    try:
        return _json_lines(text) if by_line else _json_value(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not readable JSON: {error}") from error


def is_in_json(path: Path) -> bool:
    """Tell whether a file holds rows in JSON, by its name or else by its content.

    Raises:
        InputError: It is missing, a folder, unreadable, or not UTF-8.
    """
    ending = path.suffix.lower()
    return ending in JSON_FILES or (ending not in TABLE_FILES and holds_json(read_table(path)))


def holds_json(text: str) -> bool:
    """Tell whether a text is rows, records or a mapping in JSON, as a whole or on each of at least two lines.

    Example:
        >>> holds_json('["Peru", "Lima"]\\n["Mali", "Bamako"]\\n'), holds_json("[1] a footnote"), holds_json("{}")
        (True, False, False)
    """
    if text.lstrip()[:1] not in ("[", "{"):
        return False
    try:
        value = _json_lines(text) if _is_by_line(text) else _json_value(text)
        return len(rows_of(value)) > 1
    except (ValueError, RecursionError, InputError):
        return False


def _is_by_line(text: str) -> bool:
    """Tell whether the first nonempty line is a JSON value by itself and there are further such lines."""
    first, *more = [line for line in _LINE_END.split(text) if line.strip()] or [""]
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return bool(more)


def _json_value(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_each_once)


def _json_lines(text: str) -> list[Any]:
    return [_json_value(line) for line in _LINE_END.split(text) if line.strip()]


def _each_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, which may not say two things under one name: the second would be taken."""
    if len(unique := dict(fields)) < len(fields):
        twice = next(name for i, (name, _) in enumerate(fields) if name in [other for other, _ in fields[:i]])
        raise ValueError(f"{twice!r} stands there twice")
    return unique


def say_weights(facts: Any, weights: bool | None) -> bool:
    """Tell whether the last cells are weights; ask if the last column or field has this name.

    Raises:
        InputError: The last column of a data frame, or the last field of records, is called ``weight``, and nobody has
            said whether it counts how often a fact occurs.
    """
    if weights is not None:
        return weights
    first = facts[0] if isinstance(facts, Sequence) and len(facts) and isinstance(facts[0], Mapping) else ()
    *_, last = ["", *getattr(facts, "columns", first)]
    if str(last).strip().lower() == "weight":
        counts = "weights=True (--weights) if it counts how often a fact occurs"
        raise InputError("facts", f"have the last column {last!r}", f"{counts}, weights=False (--no-weights) if not")
    return False


def cell_text(cell: Any, *, place: str) -> str:
    """Return a cell as a text.

    Raises:
        InputError: None, NaN, or something of several parts.
    """
    missing = not isinstance(cell, str) and str(cell) in ("None", "nan", "NaT", "<NA>")
    if missing or (isinstance(cell, Mapping | Iterable) and not isinstance(cell, str)):
        raise InputError(f"facts: {place}", f"has the cell {cell!r}", "a text or a number")
    return str(cell)


def _is_of_names(index: Any) -> bool:
    """Tell whether a data frame's index was set by a user: it has a name, or entries other than integers."""
    named = any(name is not None for name in index.names)
    return named or any(not hasattr(label, "__index__") for label in index)
