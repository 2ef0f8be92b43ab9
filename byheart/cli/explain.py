"""`byheart explain`: which heads, neurons or entries hold a fact."""

import argparse

from byheart.terminal.options import add_folder, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import show

HELP = "which heads, neurons or entries a fact depends on"
EXAMPLE = 'byheart explain capitals "Peru, capital"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(parser)
    parser.add_argument("context", nargs="?", metavar="CONTEXT", help="the context of the fact, as for `ask`")
    parser.add_argument("--fact", help=argparse.SUPPRESS)
    parser.add_argument("--entries", action="store_true", help="ablate single entries instead of heads and neurons")
    add_output_options(parser, verbose=True)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.memory import load
    from constructions.errors import InputError

    require_folder(options.folder)
    context = options.fact if options.context is None else options.context
    if context is None:
        raise InputError("no context", "is given", "the context of a fact, as for `ask`")
    with progress_lines(options) as progress:
        found = load(options.folder).explain(context, entries=options.entries, progress=progress)
    return show(options, found.result())
