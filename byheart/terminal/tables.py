"""What a command prints: one JSON object, or tables whose bounds are rounded outwards."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any

from byheart.result import Result, json_text, screen, table_lines
from byheart.terminal.exit_codes import EXIT_CODES, PROVED

Table = tuple[str, Sequence[tuple[str, ...]]]
"""A title and rows of (what, value), or longer ones after the names of their columns."""

Rows = Sequence[Table]


def show(options: argparse.Namespace, result: Result) -> int:
    """Print a result as the options ask, and return the exit code of its verdict."""
    if options.json:
        sys.stdout.write(json_text(result))
    else:
        width = shutil.get_terminal_size().columns
        sys.stdout.write(screen(result, width=width, quiet=options.quiet, verbose=getattr(options, "verbose", False)))
    return PROVED if result.verdict is None else EXIT_CODES[result.verdict.value]


def show_several(options: argparse.Namespace, headline: str, results: Sequence[Result]) -> None:
    """Print several results: as one list of JSON, or under one headline the sections of each."""
    if options.json:
        sys.stdout.write(json.dumps([result.json() for result in results]) + "\n")
        return
    together = Result(headline, None, tuple(section for result in results for section in result.sections))
    show(options, together)


def print_summary(
    options: argparse.Namespace, summary: dict[str, Any], tables: Callable[[dict[str, Any]], Rows]
) -> None:
    """Print one JSON object, or the headline and the tables."""
    if options.json:
        sys.stdout.write(json.dumps(summary) + "\n")
        return
    if "headline" in summary:
        sys.stdout.write(f"{summary['headline']}\n")
    if not getattr(options, "quiet", False):
        sys.stdout.write(f"Read as {summary['reading']}.\n" if summary.get("reading") else "")
        sys.stdout.write("\n" * ("headline" in summary))
        print_tables(tables(summary))


def print_tables(tables: Rows) -> None:
    """Print tables for a person: what has two columns as a list, what has more side by side."""
    for title, rows in tables:
        if rows and len(rows[0]) > 2:  # all of its columns fit into 80 characters
            widths = [max(map(len, column)) + 1 for column in zip(*rows, strict=True)]
            lines = ["".join(map(str.ljust, row, widths)).rstrip() for row in rows]
            sys.stdout.write("\n".join([title, "", *lines, ""]) + "\n")
        else:
            print_list(title, [(name, value) for name, value in rows])


def print_list(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a table of two columns; a path that is longer than the screen is neither cut nor broken."""
    lines = table_lines(title, rows, shutil.get_terminal_size().columns)
    sys.stdout.write("\n".join([*lines, ""]) + "\n")


def below(value: float | None) -> str:
    """Return a decimal at most the value."""
    from verify.arithmetic.decimals import decimal_below

    return "unknown" if value is None else decimal_below(value)


def above(value: float | None) -> str:
    """Return a decimal at least the value."""
    from verify.arithmetic.decimals import decimal_above

    return "unknown" if value is None else decimal_above(value)


def number(value: float | None) -> str:
    """Four digits of a value that proves nothing."""
    return "unknown" if value is None else f"{value:.4g}"
