"""`byheart convert`: a folder of an earlier program, proved again and stated in the words of this one."""

import argparse

from byheart.result import Field, Result, Section
from byheart.terminal.options import add_folder, add_out_options, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import show

HELP = "prove a folder of an earlier version again, and write it as this one does"
EXAMPLE = "byheart convert capitals --out capitals-today"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(parser, "a byheart folder of version 3, or of this version with other sentences")
    add_out_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from verify.provers.conversion import convert

    require_folder(options.folder)
    with progress_lines(options) as progress:
        found = convert(options.folder, options.out, overwrite=options.overwrite, progress=progress)
    fields = (
        Field("asked", found.criterion.describe(found.subject.target), "what was asked"),
        Field(
            "statements",
            [stated.label for stated in found.statements],
            "statements that were proved again",
            note="by their `id`, of `runs` and `text` with the number format",
        ),
        Field("out", str(options.out), "the new folder"),
    )
    return show(options, Result(found.headline(), found.verdict, (Section("Proved again and written", fields),)))
