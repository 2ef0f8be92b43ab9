"""`byheart ask`: type a context, read the fact."""

import argparse
import json
import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from byheart.terminal.exit_codes import BAD_USAGE, PROVED, REFUTED, UNDECIDED, worst
from byheart.terminal.failures import fail
from byheart.terminal.options import add_folder, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.tables import below

if TYPE_CHECKING:
    from byheart.memory import Answer
    from constructions.tasks.any_task import AnyTask
    from constructions.tasks.rule import RuleTask

HELP = "type a context, read what the model answers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    add_folder(parser)
    parser.add_argument(
        "contexts", nargs="*", metavar="CONTEXT", help="what to ask (default: the lines of standard input)"
    )
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.memory import load
    from constructions.errors import InputError

    require_folder(options.folder)
    memory = load(options.folder)
    answered, lines = memory.ask, options.contexts or _typed_lines(sys.stdin, memory.task)
    if not lines:
        raise InputError("no context", "is given", "one or more, or lines on standard input")
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
        unproved = answer.token is None or (answer.memorized and not answer.held)
        codes.add(REFUTED if answer.refuted else UNDECIDED if unproved else PROVED)
    return worst(codes)


def _typed_lines(lines: Iterable[str], task: "AnyTask | RuleTask") -> list[str]:
    """The contexts on standard input, one a line; of a table whose cells have line ends a quoted cell goes on."""
    goes_on = any("\n" in name or "\r" in name for name in task.vocabulary if len(name) > 1)
    found, begun = [], ""
    for line in lines:
        begun += line
        if not (goes_on and begun.count('"') % 2):
            found.append(begun.rstrip("\r\n"))
            begun = ""
    return [line for line in [*found, begun.rstrip("\r\n")] if line]


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in fields.items()
    }


def _answer_line(line: str, answer: "Answer") -> str:
    known = _how_read(line, answer) or (
        "memorized"
        if answer.held
        else "a fact that is proved to be lost"
        if answer.refuted
        else "a fact that is not proved to be memorized"
        if answer.memorized
        else "not one of the facts"
    )
    if answer.token is None:
        return f"{line!r}: undecided between {answer.runner_up!r} and another ({known})"
    lead = (
        "" if answer.runner_up is None else f", at least {below(answer.margin_lower)} nats above {answer.runner_up!r}"
    )
    return f"{line!r}: {answer.token!r}{lead}, probability {answer.probability:.3g} ({known})"


def _how_read(line: str, answer: "Answer") -> str:
    """What of a line was not read, and what was; empty where all was."""
    from constructions.counted import counted
    from constructions.tasks.vocabulary import OTHER
    from constructions.tasks.windows import END

    names = [name for name in answer.read_as if name != END]
    letters = len(names) <= len(line) and all(
        name in (letter, OTHER) for name, letter in zip(names, line[len(line) - len(names) :], strict=True)
    )  # of cells of one character the line has more than these
    between = (
        "" if letters or any(name.strip() != name for name in names) else " "
    )  # pieces of a text have their spaces
    read = f"read as: {between.join(names)}"
    if answer.ignored:
        return f"{counted(answer.ignored, 'character' if letters else 'word')} ignored; {read}"
    return read if OTHER in answer.read_as and OTHER not in line else ""
