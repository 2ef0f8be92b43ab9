"""`byheart ask`: type a context, read the fact."""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable
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
EXAMPLE = 'byheart ask capitals "Peru, capital"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(parser)
    parser.add_argument(
        "contexts", nargs="*", default=[], metavar="CONTEXT", help="what to ask (default: the lines of standard input)"
    )
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from constructions.errors import InputError
    from verify.certificates.certificate import Certificate

    require_folder(options.folder)
    certificate = Certificate.load(options.folder)
    lines, answered = _of_a_fold(options) if certificate.subject.is_of_a_fold else _of_facts(options)
    if not lines:
        raise InputError("no context", "is given", "one or more, or lines on standard input")
    codes = set()
    for line in lines:
        try:
            code, fields, words = answered(line)
        except InputError as error:  # the other lines are answered all the same
            codes.add(fail(options, error, BAD_USAGE, context=line))
            continue
        sys.stdout.write((json.dumps({"context": line, **fields}) if options.json else words) + "\n")
        codes.add(code)
    return worst(codes)


Answered = Callable[[str], tuple[int, dict[str, Any], str]]
"""From a context to the exit code, the fields of the JSON and what is printed instead of it."""


def _of_facts(options: argparse.Namespace) -> tuple[list[str], Answered]:
    """Return the contexts, and what the model answers to one that is memorized or not."""
    from byheart.memory import load
    from constructions.errors import InputError

    memory = load(options.folder)

    def answered(line: str) -> tuple[int, dict[str, Any], str]:
        try:
            answer = memory.ask(line)
        except InputError as error:
            raise InputError(repr(line), f"is not one of the facts: {error}") from None
        unproved = answer.token is None or (answer.is_fact and not answer.memorized)
        code = REFUTED if answer.refuted else UNDECIDED if unproved else PROVED
        return code, _finite(vars(answer)), _answer_line(line, answer)

    return options.contexts or _typed_lines(sys.stdin, memory.task), answered


def _of_a_fold(options: argparse.Namespace) -> tuple[list[str], Answered]:
    """Return the inputs of a rule with a state, and what the model says to one, token by token."""
    from byheart.folds.proved_fold import load_fold
    from constructions.folds.typed import words_of

    proved = load_fold(options.folder)
    fold = proved.fold
    lines = options.contexts or [line for line in sys.stdin.read().splitlines() if line.strip()]
    single = [len([word for word in words_of(fold, line) if word]) <= 1 for line in lines]
    if len(lines) > 1 and fold.length > 1 and options.contexts and all(single):
        lines = [" ".join(lines)]  # one input, a number or token in each argument

    def answered(line: str) -> tuple[int, dict[str, Any], str]:
        found = proved.ask(line)
        fields = {name: getattr(found, name) for name in ("prompt", "decoded", "answer", "number", "right")}
        words = str(found) if options.quiet else f"{found}\n{found.words()}"
        return {True: PROVED, False: REFUTED, None: UNDECIDED}[found.right], fields, words

    return lines, answered


def _typed_lines(lines: Iterable[str], task: "AnyTask | RuleTask") -> list[str]:
    """Return the contexts on standard input, one a line; of a table whose cells have line ends a quoted cell
    goes on.
    """
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
    read, known = (
        _how_read(line, answer),
        (
            "memorized"
            if answer.memorized
            else "a fact that is proved to be lost"
            if answer.refuted
            else "a fact that is not proved to be memorized"
            if answer.is_fact
            else "not one of the facts"
        ),
    )
    if read:
        known = f"{read}, which is {known}"
    if answer.token is None:
        return f"{line!r}: undecided between {answer.runner_up!r} and another ({known})"
    lead = (
        "" if answer.runner_up is None else f", at least {below(answer.margin_lower)} nats above {answer.runner_up!r}"
    )
    return f"{line!r}: {answer.token!r}{lead}, probability {_probability(answer)} ({known})"


def _probability(answer: "Answer") -> str:
    """Return the probability in three digits, none of which rounds to 1 what has a finite lead over another answer."""
    shown = f"{answer.probability:.3g}"
    return "above 0.999" if shown == "1" and answer.runner_up is not None else shown


def _how_read(line: str, answer: "Answer") -> str:
    """Return what of a line was not read, and what was; empty where all was."""
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
