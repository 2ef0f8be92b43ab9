"""`byheart exercise`: judge the answer to an exercise of the book."""

import argparse
import json
import sys

from byheart.terminal.exit_codes import PROVED, REFUTED
from byheart.terminal.options import add_output_options

HELP = "judge the answer to an exercise of the book"
EXAMPLE = "byheart exercise 3.2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument("exercise", nargs="?", help="chapter and number, such as 3.2; without it all are listed")
    parser.add_argument(
        "answer", nargs="*", help="numbers, formulas such as log(3)/2, or contexts such as '0 0 0; 1 1 0'"
    )
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.theorems.exercises import EXERCISES, found, judged

    answer = " ".join(options.answer)
    if not answer:
        names = [options.exercise] if options.exercise else list(EXERCISES)
        listed = {name: found(name) for name in names}
        if options.json:
            rows = [{"exercise": name, "asks": one.asks, "example": one.example} for name, one in listed.items()]
            sys.stdout.write(json.dumps(rows) + "\n")
            return PROVED
        if not options.exercise:
            sys.stdout.write(f"{len(listed)} exercises whose answers are judged\n")
            if options.quiet:
                return PROVED
        for name, one in listed.items():
            sys.stdout.write(f"{name}: {one.asks}; for example {one.example!r}\n")
        return PROVED
    wrong = judged(options.exercise, answer)
    if options.json:
        said = {"exercise": options.exercise, "answer": answer, "right": not wrong, "wrong": wrong or None}
        sys.stdout.write(json.dumps(said) + "\n")
    else:
        sys.stdout.write(f"WRONG: {wrong}\n" if wrong else f"RIGHT: exercise {options.exercise}\n")
    return REFUTED if wrong else PROVED
