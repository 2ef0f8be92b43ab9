"""The result of a command: a headline, a verdict and typed fields; a screen, JSON, a page and a card show it.

Page: docs/commands.md
"""

import html
import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from constructions.counted import inflected
from verify.verdict import Verdict

Direction = Literal["", "at least", "at most", "between"]
"""What a number bounds: a lower bound, an upper bound, the two ends of an interval, or nothing."""

_ROWS = 20  # of a table, unless all are asked for
_ITEMS = 10  # of a list in a cell


@dataclass(frozen=True)
class Field:
    """A figure of a result, with the words that a screen, a page and the documentation use for it.

    Args:
        name: Its key in JSON; empty where JSON does not have it.
        value: Plain data for JSON; `None` where it does not apply or is not known, and then no screen shows it.
        words: What it is, as the label of a row.
        unit: Of a count the singular of what is counted, ``"head"``; of another number its unit, ``"nats"``.
        direction: What the number bounds; a screen rounds it so that the bound stays true.
        note: A sentence that says more.
        columns: Where the value is a list of records, or records by name: what each of their fields is, by its key. The
            screen shows them as a table, whose first column of records by name is the name.
        shown: Whether a screen shows it; what the headline says, and what only a program reads, it does not.

    Example:
        >>> Field("heads", 1200, "heads of the layer", "head").text()
        '1,200 heads'
        >>> Field("margin_lower", 0.123456, "least margin", "nats", "at least").text()
        'at least 0.1234 nats'
    """

    name: str
    value: Any
    words: str
    unit: str = ""
    direction: Direction = ""
    note: str = ""
    columns: Mapping[str, str] | None = None
    shown: bool = True

    @property
    def is_table(self) -> bool:
        """Whether the value is records, which a screen shows as a table."""
        return self.columns is not None

    def text(self) -> str:
        """Return the value for a person, with separators, its unit and what it bounds."""
        return _text(self.value, self.unit, self.direction)

    def meaning(self) -> str:
        """Return what the documentation says of it."""
        bound = {"at least": "a lower bound", "at most": "an upper bound", "between": "`[lower, upper]`"}
        unit = f"in {self.unit}" if self.unit.endswith("s") else ""  # what is counted has a singular, and is a word
        parts = [", ".join(filter(None, [self.words, bound.get(self.direction), unit]))]
        if self.columns is not None:
            said = [f"`{name}`" + f" ({words})" * (words not in ("", name)) for name, words in self.columns.items()]
            parts.append(", ".join(said))
        return "; ".join(filter(None, [*parts, self.note]))

    def records(self) -> list[Mapping[str, Any]]:
        """Return the records of a table.

        Of records by name the name comes first, under the first key of `columns`; of values by name the value is under
        the second.
        """
        if not isinstance(self.value, Mapping):
            return list(self.value or [])
        first, second, *_ = [*(self.columns or {}), "", ""]
        found = []
        for name, record in self.value.items():
            found.append({first: name, **(record if isinstance(record, Mapping) else {second: record})})
        return found


@dataclass(frozen=True)
class Section:
    """Fields that belong together.

    Args:
        title: What they are about.
        fields: The fields.
        verbose: Whether a screen shows them only where all figures are asked for.
    """

    title: str
    fields: tuple[Field, ...]
    verbose: bool = False


@dataclass(frozen=True, repr=False)
class Result:
    """What a command found out or made.

    Args:
        headline: The answer in one sentence, which agrees with the verdict.
        verdict: PROVED for yes, REFUTED for no, UNDECIDED; `None` where there is no question, only something to show.
        sections: The fields, in the order in which a screen shows them.
        sentences: What a screen says under the headline.
        steps: Commands that a person may type next.

    Example:
        >>> heads = Field("heads", 2, "heads")
        >>> found = Result("2 heads are enough, proved", Verdict.PROVED, (Section("Heads", (heads,)),))
        >>> found
        2 heads are enough, proved; heads: 2
        >>> found.json()
        {'headline': '2 heads are enough, proved', 'verdict': 'PROVED', 'heads': 2}
    """

    headline: str
    verdict: Verdict | None = None
    sections: tuple[Section, ...] = ()
    sentences: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = [
            field for field in self.fields() if field.shown and not field.is_table and not _is_missing(field.value)
        ]
        return "; ".join([self.headline, *(f"{field.words}: {field.text()}" for field in shown[:3])])

    def fields(self) -> Iterator[Field]:
        """Yield the fields of all sections."""
        for section in self.sections:
            yield from section.fields

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field, `headline` or `verdict`.

        Raises:
            KeyError: There is no such field.
        """
        return self.json()[name]

    def json(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        answer = {"headline": self.headline} | ({} if self.verdict is None else {"verdict": self.verdict.value})
        return answer | {field.name: field.value for field in self.fields() if field.name}


def data_fields(data: Mapping[str, Any], meanings: Mapping[str, str]) -> tuple[Field, ...]:
    """Return fields that only a program reads, of each name in `data` that has a meaning."""
    return tuple(Field(name, data[name], words, shown=False) for name, words in meanings.items() if name in data)


def json_text(result: Result) -> str:
    """Return the one line of JSON that `--json` prints."""
    return json.dumps(result.json()) + "\n"


def screen(result: Result, *, width: int = 80, quiet: bool = False, verbose: bool = False) -> str:
    """Return what a terminal shows: the headline, sentences, tables, and what may be typed next.

    Args:
        result: The result.
        width: Columns of the terminal.
        quiet: The headline and nothing else.
        verbose: Every section and every row of a table.
    """
    if quiet:
        return f"{result.headline}\n"
    lines = [result.headline, *result.sentences]
    tables = [
        table
        for section in result.sections
        if verbose or not section.verbose
        for table in _tables(section, width, most=None if verbose else _ROWS)
    ]
    for table in tables:
        lines += ["", *table]
    steps = [f"{'     ' if place else 'Next:'} {step}" for place, step in enumerate(result.steps)]
    return "\n".join([*lines, *([""] if tables and steps else []), *steps]) + "\n"


def html_cards(fields: Sequence[Field]) -> str:
    """Return the large figures at the head of a page; a field without a value gives no card."""
    shown = [field for field in fields if not _is_missing(field.value)]
    cards = [
        f"<div class='card'><dt>{html.escape(field.words)}</dt><dd>{html.escape(field.text())}</dd>"
        f"<p>{html.escape(field.note)}</p></div>"
        for field in shown
    ]
    return f"<dl class='cards'>{''.join(cards)}</dl>"


def markdown(result: Result) -> str:
    """Return the headline and the fields as a card of a repository shows them, without tables."""
    shown = [field for field in result.fields() if field.shown and not field.is_table and not _is_missing(field.value)]
    return "\n".join([f"**{result.headline}**", "", *(f"- {field.words}: {field.text()}" for field in shown)]) + "\n"


def table_lines(title: str, rows: Sequence[tuple[str, str]], width: int = 80) -> list[str]:
    """Return a title and two columns, both folded; a path that is longer than a line is not broken."""
    widest = max((len(name) for name, _ in rows), default=0)
    names = textwrap.TextWrapper(min(widest, max(20, width * 9 // 16)), break_long_words=False, break_on_hyphens=False)
    labels = [names.wrap(name) or [""] for name, _ in rows]
    margin = max((len(part) for label in labels for part in label), default=0) + 4
    fold = textwrap.TextWrapper(max(20, width - margin - 1), break_long_words=False, break_on_hyphens=False)
    lines = [title, ""] if title else []
    for label, (_, value) in zip(labels, rows, strict=True):
        cell = [line for part in value.split("\n") for line in fold.wrap(part)]
        beside = zip_longest(label, cell, fillvalue="")
        lines += [f"  {left:<{margin - 2}}{right}".rstrip() for left, right in beside]
    return lines


def _tables(section: Section, width: int, *, most: int | None) -> Iterator[list[str]]:
    """Yield the lines of a section: its figures as one table, then its records as tables of their own."""
    shown = [field for field in section.fields if field.shown and not _is_missing(field.value)]
    figures = [(field.words, field.text()) for field in shown if not field.is_table]
    if figures:
        yield table_lines(section.title, figures, width)
    for field in shown:
        if field.is_table:
            title = f"{field.words[0].upper()}{field.words[1:]}" if figures else section.title
            yield [title, "", *_record_lines(field, width, most=most)]


def _record_lines(field: Field, width: int, *, most: int | None) -> list[str]:
    """Return records side by side under the names of their columns; where that is too wide, one after the other."""
    records, columns = field.records(), field.columns or {}
    known = {name: words for name, words in columns.items() if any(not _is_missing(each.get(name)) for each in records)}
    rows = [[_text(each[name]) if each.get(name) is not None else "" for name in known] for each in records[:most]]
    left = len(records) - len(rows)
    widths = [max(map(len, cells)) for cells in zip(known.values(), *rows, strict=True)]
    if sum(widths) + 2 * len(widths) <= width:
        lines = [
            "  " + "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
            for row in [*([list(known.values())] if any(known.values()) else []), *rows]
        ]
    else:
        labels = list(known.values())[1:]
        named = [
            (first, "; ".join(f"{label} {cell}".strip() for label, cell in zip(labels, rest, strict=True) if cell))
            for first, *rest in rows
        ]
        lines = table_lines("", named, width)
    return [*lines, *([f"  and {left:,} more; --verbose shows all"] if left else [])]


def _is_missing(value: Any) -> bool:
    """Whether there is nothing to show; of an interval neither end is known."""
    if isinstance(value, list | tuple) and all(each is None for each in value):
        return True
    return value is None or value == "" or (isinstance(value, list | tuple | Mapping) and len(value) == 0)


def _text(value: Any, unit: str = "", direction: Direction = "") -> str:
    if direction == "between" and isinstance(value, list | tuple):
        lower, upper = value
        if lower == upper and isinstance(lower, int):
            return f"exactly {_number(lower, unit, '')}"
        return f"between {_number(lower, '', 'at least')} and {_number(upper, unit, 'at most')}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        said = _number(value, unit, direction)
        return f"{direction} {said}" if direction in ("at least", "at most") else said
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_text(each)}" for name, each in value.items() if not _is_missing(each))
    if isinstance(value, list | tuple):
        left = len(value) - _ITEMS
        return "; ".join([*map(_text, value[:_ITEMS]), *([f"and {left:,} more"] if left > 0 else [])])
    return str(value)


def _number(value: float | None, unit: str, direction: Direction) -> str:
    """Return a number with its unit; bounds are rounded outwards, other numbers have four digits."""
    if value is None:
        return "what is not known"
    from verify.arithmetic.decimals import decimal_above, decimal_below

    if isinstance(value, int):
        return f"{value:,} {inflected(unit, value)}" if unit else f"{value:,}"
    if direction == "at least":
        digits = decimal_below(value)
    elif direction == "at most":
        digits = decimal_above(value)
    else:
        digits = f"{value:.4g}" if math.isfinite(value) else "infinite"
    return f"{digits} {unit}".rstrip()
