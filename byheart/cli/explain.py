"""`byheart explain`: which heads, neurons or entries hold a fact."""

import argparse
from functools import partial
from typing import Any

from byheart.terminal.exit_codes import EXIT_CODES
from byheart.terminal.options import add_folder, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Rows, print_summary

_SHOWN = 20  # parts
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
    print_summary(options, found.summary(), partial(_explain_tables, most=None if options.verbose else _SHOWN))
    return EXIT_CODES[found.outcome.verdict.value]


def _explain_tables(summary: dict[str, Any], most: int | None) -> Rows:
    lost = [each for each in summary["ablations"] if each["fate"] == "lost"]
    answers = [(each["part"], f"lost{_reason(each['token'], summary['token'])}") for each in lost[:most]]
    if len(answers) < len(lost):
        answers.append((f"and {len(lost) - len(answers)} more", "lost; --verbose names them"))
    kept = summary["parts"] - len(lost) - len(summary["undecided"])
    others = [("memorized without each of", f"{kept} others")]
    if summary["undecided"]:
        others.append(("undecided without", ", ".join(summary["undecided"][:10])))
    return [("Set to zero, one at a time", [*answers, *others])]


def _reason(token: str | None, right: str) -> str:
    if token is None:
        return ""
    if token == right:
        return f": {right!r} still leads, but its distribution is off by more than the tolerance"
    return f": the answer is then {token!r}"
