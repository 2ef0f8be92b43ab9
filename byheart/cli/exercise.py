"""`byheart exercise`: judge the answer to an exercise of the book."""

import argparse
import json
import sys

from byheart.terminal.exit_codes import BAD_USAGE, PROVED, REFUTED
from byheart.terminal.options import add_output_options

HELP = "judge the answer to an exercise of the book"
EXAMPLE = "byheart exercise 3.2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument(
        "exercise", nargs="?", help="chapter and number, such as 3.2; without it all are listed, and the exit code is 2"
    )
    parser.add_argument(
        "answer",
        nargs="*",
        help="numbers, formulas such as log(3)/2, or contexts such as '0 0 0; 1 1 0'; without it you see what is asked",
    )
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.theorems.exercises import EXERCISES, judged

    answer = " ".join(options.answer)
    if options.exercise is None:
        _list(options, list(EXERCISES))
        return BAD_USAGE
    if not answer:
        _list(options, [options.exercise])
        return PROVED
    wrong = judged(options.exercise, answer)
    if options.json:
        said = {"exercise": options.exercise, "answer": answer, "right": not wrong, "wrong": wrong or None}
        sys.stdout.write(json.dumps(said) + "\n")
    else:
        sys.stdout.write(f"WRONG: {wrong}\n" if wrong else f"RIGHT: exercise {options.exercise}\n")
    return REFUTED if wrong else PROVED


def _list(options: argparse.Namespace, names: list[str]) -> None:
    """Print what exercises ask for, each with an answer of the right form."""
    from byheart.theorems.exercises import found

    listed = {name: found(name) for name in names}
    if options.json:
        rows = [{"exercise": name, "asks": one.asks, "example": one.example} for name, one in listed.items()]
        sys.stdout.write(json.dumps(rows) + "\n")
        return
    if len(names) > 1:
        sys.stdout.write(f"{len(listed)} exercises whose answers are judged\n")
        if options.quiet:
            return
    for name, one in listed.items():
        sys.stdout.write(f"{name}: {one.asks}; for example {one.example!r}\n")
