"""`byheart ask`: type a context, read the fact."""

import argparse
import math
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from byheart.result import Result, Section, data_fields
from byheart.terminal.exit_codes import BAD_USAGE, worst
from byheart.terminal.failures import fail
from byheart.terminal.options import add_folder, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.tables import below, show
from verify.verdict import Verdict

if TYPE_CHECKING:
    from byheart.folds.proved_fold import FoldAnswer
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
            result = answered(line)
        except InputError as error:  # the other lines are answered all the same
            codes.add(fail(options, error, BAD_USAGE, context=line))
            continue
        codes.add(show(options, result))
    return worst(codes)


def _of_facts(options: argparse.Namespace) -> tuple[list[str], Callable[[str], Result]]:
    """Return the contexts, and what the model answers to one that is memorized or not."""
    from byheart.memory import load
    from constructions.errors import InputError

    memory = load(options.folder)

    def answered(line: str) -> Result:
        try:
            return _result_of_fact(line, memory.ask(line))
        except InputError as error:
            raise InputError(repr(line), f"is not one of the facts: {error}") from None

    return options.contexts or _typed_lines(sys.stdin, memory.task), answered


def _of_a_fold(options: argparse.Namespace) -> tuple[list[str], Callable[[str], Result]]:
    """Return the inputs of a rule with a state, and what the model says to one, token by token."""
    from byheart.folds.proved_fold import load_fold
    from constructions.folds.typed import words_of

    proved = load_fold(options.folder)
    fold = proved.fold
    lines = options.contexts or [line for line in sys.stdin.read().splitlines() if line.strip()]
    single = [len([word for word in words_of(fold, line) if word]) <= 1 for line in lines]
    if len(lines) > 1 and fold.length > 1 and options.contexts and all(single):
        lines = [" ".join(lines)]  # one input, a number or token in each argument

    def answered(line: str) -> Result:
        return _result_of_input(line, proved.ask(line))

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


def _result_of_fact(line: str, answer: "Answer") -> Result:
    """Return what is proved of the answer to a context, fact or not."""
    unproved = answer.token is None or (answer.is_fact and not answer.memorized)
    verdict = Verdict.REFUTED if answer.refuted else Verdict.UNDECIDED if unproved else Verdict.PROVED
    fields = data_fields({"context": line, **_finite(vars(answer))}, _OF_FACTS)
    headline = f"{line!r}{_how_read(line, answer)} -> {_judged(answer)}"
    return Result(headline, verdict, (Section("", fields),), tuple(_compared(answer)))


def _judged(answer: "Answer") -> str:
    """Return the answer, and what is proved of it."""
    if answer.token is None:
        return f"UNDECIDED between {answer.runner_up!r} and another answer"
    if answer.memorized:
        return f"{answer.token!r}: FACT PROVED"
    if answer.refuted:
        return f"{answer.token!r}: NOT MEMORIZED, this fact is proved to be lost"
    if answer.is_fact:
        return f"{answer.token!r}: UNDECIDED, this fact is not proved to be memorized"
    return f"{answer.token!r}: PROVED to be the answer of the weights; this is not one of the facts"


def _compared(answer: "Answer") -> list[str]:
    """Return by how much the answer exceeds the next one, and how likely it is."""
    if answer.token is None:
        return []
    probable = f"Its probability is {_probability(answer)}, measured."
    if answer.runner_up is None:
        return [probable]
    lead = f"at least {below(answer.margin_lower)}"
    return [f"The logit of {answer.token!r} exceeds that of {answer.runner_up!r}, the next, by {lead}. {probable}"]


_OF_FACTS = {
    "context": "what was typed",
    "token": "the answer, proved to have the largest logit; `null` where no answer is proved",
    "runner_up": "the answer with the next largest logit",
    "margin_lower": "lead of the answer over the next one, a lower bound, in nats; `null` where no answer is proved",
    "probability": "probability of the answer, measured",
    "is_fact": "whether the context is one of the facts",
    "memorized": "whether this fact is proved to be memorized",
    "refuted": "whether it is proved to be lost",
    "read_as": "the tokens that the context was read as",
    "ignored": "how many words or characters before these were not read",
}
"""The meaning of the fields of an answer to a context."""


def _result_of_input(line: str, answer: "FoldAnswer") -> Result:
    """Return what is proved of the answer to an input of a rule with a state."""
    verdict = {True: Verdict.PROVED, False: Verdict.REFUTED, None: Verdict.UNDECIDED}[answer.right]
    fields = data_fields({"context": line, **vars(answer)}, _OF_INPUTS)
    return Result(answer.headline(), verdict, (Section("", fields),), (answer.decoded_words(),))


_OF_INPUTS = {
    "context": "what was typed",
    "prompt": "of a rule with a state: the tokens that were read",
    "decoded": "of a rule with a state: the tokens that the model says, each proved",
    "answer": "of a rule with a state: the tokens that the rule says",
    "number": "the number that an adder says; `null` where it says none",
    "right": "whether all tokens are those of the rule; `null` where some are undecided",
}
"""The meaning of the fields of an answer to an input of a rule with a state."""


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
        return f" ({counted(answer.ignored, 'character' if letters else 'word')} ignored; {read})"
    return f" ({read})" if OTHER in answer.read_as and OTHER not in line else ""
