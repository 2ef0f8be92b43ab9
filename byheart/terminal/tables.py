"""What a command prints: one JSON object, or tables whose bounds are rounded outwards."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

Table = tuple[str, Sequence[tuple[str, ...]]]
"""A title and rows of (what, value), or longer ones after the names of their columns."""

Rows = Sequence[Table]


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
    """Print tables for a person."""
    from rich import box
    from rich import table as rich_table
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for title, rows in tables:
        table = rich_table.Table(
            title=title, title_justify="left", title_style="bold", show_header=False, box=box.SIMPLE
        )
        wide = bool(rows) and len(rows[0]) > 2
        if wide:  # all of its columns fit into 80 characters
            table.box, table.padding = None, (0, 1, 0, 0)
        table.add_column(style="dim", no_wrap=wide, min_width=max(len(row[0]) for row in rows) if wide else None)
        for _ in rows[0][1:] if rows else [""]:
            table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)


def print_list(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a table of two columns for a person, without what draws tables: loading that takes longer than a list."""
    beside = max((len(name) for name, _ in rows), default=0) + 4
    width = max(20, shutil.get_terminal_size().columns - beside - 1)
    lines = [title, ""]
    for name, value in rows:
        first, *rest = textwrap.wrap(value, width) or [""]
        lines += [f"  {name:<{beside - 2}}{first}", *(" " * beside + line for line in rest)]
    sys.stdout.write("\n".join([*lines, ""]) + "\n")


def below(value: float | None) -> str:
    """A decimal at most the value."""
    from verify.arithmetic.decimals import decimal_below

    return "unknown" if value is None else decimal_below(value)


def above(value: float | None) -> str:
    """A decimal at least the value."""
    from verify.arithmetic.decimals import decimal_above

    return "unknown" if value is None else decimal_above(value)


def number(value: float | None) -> str:
    """Four digits of a value that proves nothing."""
    return "unknown" if value is None else f"{value:.4g}"
