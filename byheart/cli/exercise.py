"""`byheart exercise`: judge the answer to an exercise of the book."""

import argparse

from byheart.result import Field, Result, Section
from byheart.terminal.exit_codes import BAD_USAGE
from byheart.terminal.options import add_output_options
from byheart.terminal.tables import show, show_several
from verify.verdict import Verdict

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
    if answer:
        return show(options, _judged(options.exercise, answer, judged(options.exercise, answer)))
    if options.exercise:
        [result] = results = [_asked(options.exercise)]
        return show_several(options, result, results)
    results = [_asked(name) for name in EXERCISES]
    rows = tuple(Field("", f"{each['asks']}; for example {each['example']!r}", each["exercise"]) for each in results)
    headline = f"{len(results)} exercises of the book are judged by `byheart exercise NUMBER ANSWER`"
    show_several(options, Result(headline, None, (Section("What each asks for", rows),)), results)
    return BAD_USAGE


def _asked(name: str) -> Result:
    """Return what an exercise asks for."""
    from byheart.theorems.exercises import found

    exercise = found(name)
    fields = (
        Field("exercise", name, "chapter and number", shown=False),
        Field("asks", exercise.asks, "what it asks for", note="without an answer", shown=False),
        Field("example", exercise.example, "an answer of the right form, which may be wrong", shown=False),
    )
    headline = f"Exercise {name} asks for {exercise.asks}; for example {exercise.example!r}"
    return Result(headline, None, (Section("", fields),))


def _judged(name: str, answer: str, wrong: str) -> Result:
    """Return whether an answer is right, and what is wrong with it where it is not."""
    fields = (
        Field("exercise", name, "chapter and number", shown=False),
        Field("answer", answer, "the answer", shown=False),
        Field("right", not wrong, "whether it is right", shown=False),
        Field("wrong", wrong or None, "what is wrong with it", note="`null` where it is right", shown=False),
    )
    headline = f"WRONG: {wrong}" if wrong else f"RIGHT: {answer!r} answers exercise {name}"
    return Result(headline, Verdict.REFUTED if wrong else Verdict.PROVED, (Section("", fields),))
