"""`byheart convert`: a folder of an earlier program, proved again and stated in the words of this one."""

import argparse
from typing import Any

from byheart.terminal.exit_codes import EXIT_CODES
from byheart.terminal.options import add_folder, add_out_options, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Rows, print_summary

HELP = "prove a folder of an earlier version again, and write it as this one does"
EXAMPLE = "byheart convert capitals --out capitals-today"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(parser, "a byheart folder whose certificate has the format 3")
    add_out_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from verify.provers.conversion import convert

    require_folder(options.folder)
    with progress_lines(options) as progress:
        found = convert(options.folder, options.out, overwrite=options.overwrite, progress=progress)
    summary = {
        "verdict": found.verdict.value,
        "headline": found.headline(),
        "asked": found.criterion.describe(found.subject.target),
        "statements": [each.label for each in found.statements],
        "out": str(options.out),
    }
    print_summary(options, summary, _tables)
    return EXIT_CODES[found.verdict.value]


def _tables(summary: dict[str, Any]) -> Rows:
    rows = [("criterion", summary["asked"]), ("stated", ", ".join(summary["statements"])), ("in", summary["out"])]
    return [("Proved again and written", rows)]
