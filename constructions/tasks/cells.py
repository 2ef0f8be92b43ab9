"""Split CSV into cells, and report bad quotes.

Page: docs/task.md
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from constructions.errors import InputError

Rows = list[tuple[int, list[str]]]
"""The cells of each row, with the number of its first line."""


@dataclass(frozen=True)
class Parsed:
    """The rows of a table for one separator.

    Args:
        delimiter: The separator.
        rows: The rows that are not blank, each with the number of its first line.
        stripped: Cells without the spaces that stand around them.
        stray: The line of the first quote in the midst of a cell; 0 where none is.
        broken: The line of the first cell that begins with a quote and does not end with one; 0 where none does.
        mixed: The first line that ends otherwise than the first one; 0 where none does.
    """

    delimiter: str
    rows: Rows
    stripped: int
    stray: int
    broken: int
    mixed: int

    @property
    def clean(self) -> bool:
        """Whether every quote opens a cell, closes it, or is doubled."""
        return not self.stray

    @property
    def split_rows(self) -> int:
        """Number of rows with several cells."""
        return sum(len(row) > 1 for _, row in self.rows)

    @property
    def in_every_row(self) -> bool:
        """Whether each row has several cells."""
        return 0 < len(self.rows) == self.split_rows

    @property
    def in_half_of_the_rows(self) -> bool:
        """Whether at least half of the rows have several cells, and these the same number."""
        widths = {len(row) for _, row in self.rows if len(row) > 1}
        return len(widths) == 1 and 2 * self.split_rows >= len(self.rows)

    def rows_or_refuse(self) -> Rows:
        """Return the rows.

        Raises:
            InputError: A quote is not closed where its cell ends; or rows end in several ways, so that nobody can tell
                whether a carriage return is a part of a cell.
        """
        if self.broken:
            wanted = 'a quote at both ends of a cell, and two for each in it: "say ""hello"""'
            raise InputError(
                f"line {self.broken} of the table", "is not CSV: a quote opens a cell that goes on", wanted
            )
        if self.mixed:
            raise InputError(
                f"line {self.mixed} of the table",
                "ends differently from the first one, so that a line end may end a row or be part of a cell",
                "lines that all end alike, and quotes around a cell with a line end",
            )
        return self.rows


@cache
def _cell(delimiter: str) -> re.Pattern[str]:
    r"""Return one cell and its terminator; quoted, with surrounding spaces, or verbatim.

    A line may end with a carriage return, a newline, both, or ``\r\r\n``, which some programs write by mistake.
    """
    blanks, separator = re.escape("".join({" ", "\t"} - {delimiter})), re.escape(delimiter)
    quoted = rf'[{blanks}]*+"(?P<quoted>(?:[^"]++|"")*+)"[{blanks}]*+'
    return re.compile(rf"(?:{quoted}|(?P<plain>[^{separator}\r\n]*+))(?P<end>{separator}|\r{{0,2}}\n|\r|\Z)")


def parsed(table: str, delimiter: str, *, strip: bool = False) -> Parsed:
    """Parse CSV into rows; quoted text is kept verbatim, including line ends."""
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError("delimiter", f"= {delimiter!r}", "one character other than a quote or a line end")
    blanks = " \t".replace(delimiter, "")
    rows, row = Rows(), list[str]()
    line = first_line = 1
    stripped = stray = broken = mixed = 0
    row_end = ""
    for match in _cell(delimiter).finditer(table):
        cell, plain, end = match["quoted"], match["plain"], match["end"]
        if plain is None:
            line += cell.count("\n") + cell.count("\r") - cell.count("\r\n")
            row.append(cell.replace('""', '"'))
        else:
            if '"' in plain:
                stray = stray or line
                broken = broken or (line if plain.lstrip(blanks).startswith('"') else 0)
            bare = plain.strip(blanks) or plain
            stripped += strip and bare != plain
            row.append(bare if strip else plain)
        if end != delimiter:
            if len(row) > 1 or plain is None or plain.strip(blanks):
                rows.append((first_line, row))
            row_end = row_end or end
            mixed = mixed or (line if end not in ("", row_end) else 0)
            line += end != ""
            row, first_line = [], line
    return Parsed(delimiter, rows, stripped, stray, broken, mixed)


def cells_of_line(line: str, delimiter: str) -> list[str]:
    """Return the stripped cells of one line of CSV; None if the text is not one line of CSV.

    Example:
        >>> cells_of_line('"Rome, Lazio", town', ",")
        ['Rome, Lazio', 'town']
    """
    reading = parsed(line, delimiter, strip=True)
    return reading.rows[0][1] if len(reading.rows) == 1 and reading.clean else []


def line_of_cells(cells: Sequence[str]) -> str:
    """Format cells as a readable line of CSV, with quotes only where needed.

    Example:
        >>> line_of_cells(["Rome, Lazio", "town"])
        '"Rome, Lazio", town'
    """
    needed = re.compile(r'^\s|\s$|[,"\r\n]|^$')
    return ", ".join('"' + cell.replace('"', '""') + '"' if needed.search(cell) else cell for cell in cells)
