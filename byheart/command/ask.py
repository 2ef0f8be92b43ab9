"""`byheart ask`: type a context, read the fact."""

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from byheart.terminal.argument_types import path
from byheart.terminal.exit_codes import BAD_USAGE, PROVED, UNDECIDED, worst
from byheart.terminal.failures import fail
from byheart.terminal.options import add_json_option
from byheart.terminal.places import require_folder
from byheart.terminal.tables import below

if TYPE_CHECKING:
    from byheart.memory import Answer

HELP = "type a context, read the fact"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    parser.add_argument("folder", type=path, help="a folder that `memorize` or `build` wrote")
    parser.add_argument(
        "contexts", nargs="*", metavar="CONTEXT", help="contexts (default: the lines of standard input)"
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.memory import asker
    from constructions.errors import InputError

    require_folder(options.folder)
    lines = options.contexts or [line for line in map(str.rstrip, sys.stdin) if line]
    if not lines:
        raise InputError("no context", "is given", "one or more, or lines on standard input")
    answered = asker(options.folder)
    codes = set()
    for line in lines:
        try:
            answer = answered(line)
        except InputError as error:  # the other lines are answered all the same
            codes.add(fail(options, error, BAD_USAGE, context=line))
            continue
        if options.json:
            sys.stdout.write(json.dumps({"context": line, **_finite(vars(answer))}) + "\n")
        else:
            sys.stdout.write(_answer_line(line, answer) + "\n")
        codes.add(UNDECIDED if answer.token is None else PROVED)
    return worst(codes)


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in fields.items()
    }


def _answer_line(line: str, answer: "Answer") -> str:
    from constructions.tasks.text import OTHER

    known = (
        "held"
        if answer.held
        else "a fact that is not proved to be held"
        if answer.memorized
        else "not one of the facts"
    )
    if OTHER in answer.read_as and OTHER not in line:
        known += f"; read as {' '.join(map(repr, answer.read_as))}"
    if answer.token is None:
        return f"{line!r}: undecided between {answer.runner_up!r} and another ({known})"
    lead = (
        "" if answer.runner_up is None else f", at least {below(answer.margin_lower)} nats before {answer.runner_up!r}"
    )
    return f"{line!r}: {answer.token!r}{lead}, probability {answer.probability:.4g} ({known})"
