"""`byheart certify`: which facts, or which rule, a trained model has memorized."""

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.result import Field, Result, Section
from byheart.terminal.answer_fields import answer_fields
from byheart.terminal.argument_types import count, path
from byheart.terminal.exit_codes import INTERRUPTED
from byheart.terminal.fact_options import add_model_options, add_table_options, add_text_options, table_options
from byheart.terminal.next_steps import next_commands
from byheart.terminal.options import (
    add_criterion_options,
    add_out_options,
    add_output_options,
    add_worker_options,
    criterion_of,
    workers,
)
from byheart.terminal.progress import progress_lines
from byheart.terminal.rule_file import named_rule
from byheart.terminal.streams import complain
from byheart.terminal.tables import below, show
from verify.verdict import Verdict

if TYPE_CHECKING:
    from constructions.folds.fold import Fold
    from constructions.tasks.criterion import Criterion

HELP = "prove which facts a trained model has memorized, or where it computes a rule"
EXAMPLE = "byheart certify tensors --task tensors/task.safetensors"

_OF_A_FOLD = "--rule FILE"
_OF_FACTS = ("delimiter", "header", "weights", "tokenizer", "between", "cells")
_OF_RULES = ("length", "tokens", "modulus", "before", "after", "sample", "seed", "one_by_one")
_OF_ADDITION = ("digits", "base", "first_digit", "first_digit_of_sum", "plus", "equals", "sum_digits", "before")
_OPTIONS = {
    "--task": (*_OF_FACTS, "tolerance", "at_most"),  # the answers of a rule are labels, of which a count is asked
    "--rule": (*_OF_RULES, "workers", "scheduler"),
    "--rule addition": _OF_ADDITION,
    _OF_A_FOLD: (),
}
"""The options of each kind of task, by the option that names it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument(
        "model", type=path, help="a trained model (TransformerLens, Hugging Face, safetensors) or a byheart folder"
    )
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--task", type=path, metavar="FILE", help="the facts: a table, or arrays in an .npz")
    asked.add_argument(
        "--rule",
        metavar="RULE",
        help="instead of facts, a rule on all inputs: max, min, first, last or sum (modulo --modulus) of their tokens, "
        "addition (of --digits), FILE.py:function, or the task.safetensors of a folder whose answers are said token by "
        "token",
    )
    add_table_options(parser)
    add_text_options(parser)
    parser.add_argument("--length", type=count, metavar="S", help="tokens in an input (default: n_ctx)")
    parser.add_argument("--tokens", type=count, metavar="N", help="its tokens are below N (default: d_vocab)")
    parser.add_argument("--modulus", type=count, metavar="M", help="modulus of the rule sum (default: --tokens)")
    parser.add_argument("--digits", type=count, metavar="N", help="of each number, for the rule addition")
    parser.add_argument("--base", type=count, metavar="B", help="of the digits, the tokens below B (default: 10)")
    for name, of in (("first-digit", "each number"), ("first-digit-of-sum", "the sum")):
        choices = ("least", "most")
        parser.add_argument(f"--{name}", choices=choices, help=f"which digit of {of} comes first (default: least)")
    for name, where in (("plus", "between the numbers"), ("equals", "behind the second number")):
        parser.add_argument(f"--{name}", type=count, nargs="+", metavar="TOKEN", help=f"tokens {where} (default: 0)")
    parser.add_argument("--sum-digits", type=count, metavar="N", help="how many digits of the sum (default: one more)")
    for name, how in (("before", "prepended"), ("after", "appended")):
        parser.add_argument(f"--{name}", type=count, nargs="+", metavar="TOKEN", help=f"tokens {how} to every input")
    parser.add_argument(
        "--one-by-one",
        type=count,
        metavar="K",
        help="inputs checked one by one at higher precision, at most (default: 2^20)",
    )
    parser.add_argument("--sample", type=count, metavar="N", help="check N inputs drawn at random instead of all")
    parser.add_argument("--seed", metavar="TEXT", help="seed of the draw, beside the weights and the rule")
    parser.add_argument("--config", type=path, metavar="FILE", help="the model's configuration (default: config.json)")
    add_model_options(parser)
    add_criterion_options(parser, "all")
    parser.add_argument(
        "--ignore-field",
        nargs="+",
        metavar="NAME",
        help="fields of the configuration that are not known here, if the model's library agrees without them",
    )
    parser.add_argument(
        "--no-handshake",
        action="store_true",
        help="do not compare with a run of the model in its own library, where that is installed",
    )
    parser.add_argument(
        "--every-run",
        metavar="TYPE",
        help="also prove where every run in float32 (or float64) has one answer, as docs/rigour/runs.md defines it",
    )
    add_out_options(parser, "nowhere")
    add_worker_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.hosts.certify import PIECES_SUFFIX, certify, certify_rule
    from constructions.errors import InputError
    from constructions.tasks.criterion import TOLERANCE

    asked = criterion_of(options, TOLERANCE)
    if (fold := _fold_of(options)) is not None:
        return _certify_fold(options, fold, asked)
    if options.rule is None:
        _require_options_of(options, "--task")
        how = {**_given(options, _OF_FACTS), **table_options(options)}
        if not (options.json or options.quiet):
            how["decided"] = _say
        with progress_lines(options) as progress:
            figures = certify(
                options.model, options.task, criterion=asked, progress=progress, **how, **_of_any_task(options)
            )
        return _shown(options, figures, _fact_fields(figures, of_mean=options.at_most is not None))
    _require_options_of(options, "--rule")
    if options.seed is not None and options.sample is None:
        raise InputError("--seed", f"is {options.seed!r}, but nothing is drawn", "--sample too")
    with progress_lines(options) as progress:
        figures = certify_rule(
            options.model,
            named_rule(options.rule),
            criterion=asked,
            workers=workers(options),
            progress=progress,
            **_given(options, _OF_RULES),
            **_of_any_task(options),
        )
    code = _shown(options, figures, _domain_fields(figures))
    if figures["interrupted"]:
        kept = f"; the same command with --overwrite goes on from {options.out}{PIECES_SUFFIX}" if options.out else ""
        complain(f"interrupted; what had been proved until then is stated{kept}")
        return INTERRUPTED
    return code


def _given(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Return the options of these names that the line gives."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _require_options_of(options: argparse.Namespace, kind: str, of: str = "") -> None:
    """Refuse options of the other kinds of task.

    Args:
        options: The options.
        kind: That of the task.
        of: What the task is called; by default as its kind.

    Raises:
        InputError: Names the first such option.
    """
    from constructions.errors import InputError

    own = _OPTIONS[kind]
    for other, names in _OPTIONS.items():
        strange = _given(options, [name for name in names if name not in own])
        for name, value in strange.items():
            said = f"is {value!r}, which does not apply to {of or kind}, only to {other}"
            raise InputError(f"--{name.replace('_', '-')}", said)


def _shown(options: argparse.Namespace, figures: dict[str, Any], fields: list[Field]) -> int:
    """Print what was proved, and return the exit code."""
    steps = next_commands(options.out, figures["headline"]) if options.out is not None else ()
    return show(options, _result(figures, fields, steps))


def _say(fact: Sequence[Any], memorized: bool, margin: float, arithmetic: str) -> None:
    """Say of a fact whose balls take long what is proved, before the others are: a line on standard error."""
    if arithmetic == "balls":
        prompt, answer = fact
        ahead = f"ahead by {below(margin)} or more" if memorized else f"behind by {below(-margin)} or more"
        sys.stderr.write(f"proved {'right' if memorized else 'wrong'}: {prompt!r} -> {answer!r}, {ahead}\n")


def _of_any_task(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the model and of what is written, which are the same for facts and for every kind
    of rule.
    """
    return {
        "config": options.config,
        "key": options.key,
        "ignore_field": options.ignore_field or (),
        "plain_argmax": options.plain_argmax,
        "handshake": not options.no_handshake,
        "every_run": options.every_run,
        "out": options.out,
        "overwrite": options.overwrite,
    }


def _fold_of(options: argparse.Namespace) -> "Fold | None":
    """Return the rule with a state that is asked about; none for another rule, or for facts."""
    from constructions.errors import InputError
    from constructions.folds.fold import Fold, addition

    rule: str | None = options.rule
    if rule is None:
        return None
    if rule == "addition":
        _require_options_of(options, "--rule addition")
        return addition(**_given(options, _OF_ADDITION))
    if rule.endswith(".safetensors"):
        fold = Fold.load(Path(rule))
    elif ":" not in rule:
        return None
    else:
        function = named_rule(rule)
        if not callable(function) or inspect.signature(function).parameters:
            return None
        fold = _made_by(function, rule)
        if not isinstance(fold, Fold):
            raise InputError(rule, f"gives {type(fold).__name__}", "a Fold (constructions/folds/fold.py)")
    _require_options_of(options, _OF_A_FOLD, fold.name)
    return fold


def _made_by(function: Callable[[], Any], named: str) -> Any:
    """Return what a function of somebody else's gives; where it fails, what it says."""
    from constructions.errors import ByheartError, InputError

    try:
        return function()
    except ByheartError:
        raise
    except Exception as error:
        raise InputError(named, f"fails: {type(error).__name__}: {error}", "a function that gives a Fold") from error


def _certify_fold(options: argparse.Namespace, fold: "Fold", asked: "Criterion") -> int:
    from byheart.hosts.certify import certify_fold

    with progress_lines(options) as progress:
        figures = certify_fold(options.model, fold, **_of_any_task(options), criterion=asked, progress=progress)
    return print_fold(options, figures, fold, options.out)


def print_fold(options: argparse.Namespace, figures: dict[str, Any], fold: "Fold", out: Path | None) -> int:
    """Print what was proved of a rule with a state, written to `out` if anywhere, and return the exit code."""
    steps = next_commands(out, figures["headline"], fold=fold, runs=False) if out is not None else ()
    return show(options, _result(figures, _fold_fields(figures), steps))


def _result(figures: dict[str, Any], fields: list[Field], steps: Sequence[str]) -> Result:
    """Return what was proved of a model, with what is the same for facts and for every kind of rule."""
    given = [
        Field("reading", figures.get("reading"), "how the facts were read", shown=False),
        Field("parameters", figures["parameters"], "parameters of the model"),
        Field("model", figures["model"], "hash of the model", shown=False),
        Field("files", figures.get("files"), "where each file is, with `--out`", columns={"file": "", "path": ""}),
    ]
    runs, reading = figures.get("every_run"), figures.get("reading")
    sections = [
        Section("Certified, of the weights as stored", (Field("asked", figures["asked"], "what was asked"), *fields)),
        *([Section(f"Every {runs['dtype']} run", _every_run_fields(runs))] if runs is not None else []),
        Section("Model", tuple(field for field in given[:3] if field.name in figures)),
        Section("Files", tuple(field for field in given[3:] if field.name in figures)),
    ]
    if runs is None and "every_run" in figures:
        sections.append(Section("", (Field("every_run", None, _EVERY_RUN, note=_EVERY_RUN_NOTE, shown=False),)))
    sentences = (f"Read as {reading}.",) if reading else ()
    return Result(figures["headline"], Verdict(figures["verdict"]), tuple(sections), sentences, tuple(steps))


_EVERY_RUN = "what every run answers, with `--every-run`"
_EVERY_RUN_NOTE = (
    "`dtype`, what an every run `means` of a machine, of how many `contexts` every run has `one_answer`, in how many "
    "of them it is the `right` one, and the first 100 that are `left_open`; of a rule with a state `dtype` and whether "
    "it is `proved` of all inputs"
)


def _every_run_fields(runs: dict[str, Any]) -> tuple[Field, ...]:
    data = Field("every_run", runs, _EVERY_RUN, note=_EVERY_RUN_NOTE, shown=False)
    if "proved" in runs:
        return data, Field("", "all inputs, proved" if runs["proved"] else "not proved", "right on")
    left = runs["contexts"] - runs["one_answer"]
    return (
        data,
        Field("", runs["contexts"], "contexts"),
        Field("", runs["one_answer"], "contexts with one answer in all runs, proved"),
        Field("", runs["right"], "contexts where it is the right one"),
        Field("", _named(left, runs["left_open"]), "left open"),
        Field("", f"of the formulas of `byheart run`: {runs['means']}", "a run"),
    )


def _fold_fields(figures: dict[str, Any]) -> list[Field]:
    from constructions.model.entries import Entries

    fields = [
        Field("rule", figures["rule"], "the rule"),
        Field("layout", figures["layout"], "inputs are read as"),
        *_input_fields(figures),
    ]
    wrong = figures["wrong_input"]
    fields.append(
        Field(
            "wrong_input",
            wrong,
            "an input of a rule with a state that is answered wrongly",
            note="its `prompt`, its `answer` by the rule, what the model prefers (`said`) to the right token `place` "
            "of it, what it says instead of the answer (`decoded`), and what the library that runs it, or the replica "
            "in torch, says (`host`, `host_decoded`; `null` without torch); `null` if none was found",
            shown=False,
        )
    )
    if wrong is not None:
        fields += [
            Field("", " ".join(map(str, wrong["prompt"])), "a wrong input"),
            Field("", " ".join(map(str, wrong["answer"])), "its answer by the rule"),
            Field("", " ".join(map(str, wrong["decoded"])) or "what is too close to tell", "the model says"),
            Field("", f"{wrong['said']} as token {wrong['place']} of the answer", "the model prefers"),
        ]
        if wrong["host"] is not None:
            fields.append(Field("", " ".join(map(str, wrong["host_decoded"])), f"{wrong['host']} says"))
    entries = Field(
        "entries",
        figures["entries"],
        "entries of a model that follows a rule with a state",
        note="`stored`, ties and positions included, those that are `not_zero`, how many `distinct` numbers they are, "
        "and their `bits`, each tensor in the narrowest type that holds it",
        shown=False,
    )
    return [
        *fields,
        entries,
        Field("", Entries(**figures["entries"]).words(), "the weights"),
        Field("method", figures["method"], "decided by"),
        Field("cells", figures["cells"], "sets of inputs examined"),
        Field("boxes", figures["boxes"], "boxes examined, of what the heads write"),
    ]


def _input_fields(figures: dict[str, Any]) -> list[Field]:
    """Return how many inputs of a rule are right, and how many are not."""
    return [
        Field("inputs", figures["inputs"], "inputs of the rule"),
        Field("right", figures["right"], "inputs answered right, proved"),
        Field("wrong", figures["wrong"], _WRONG),
        Field("undecided", figures["undecided"], _UNDECIDED),
        *answer_fields({"guess_right": figures["guess_right"]}),
    ]


_WRONG, _UNDECIDED = "answered wrongly, proved", "neither proved right nor proved wrong"


def _fact_fields(figures: dict[str, Any], *, of_mean: bool) -> list[Field]:
    counts = not of_mean  # of which no single fact is a part
    lost = _named(figures["wrong"], figures["wrong_facts"], figures["wrong_contexts"])
    left = _named(figures["undecided"], figures["undecided_facts"], figures["undecided_contexts"])
    place = "places of the first 100 in `task.safetensors`, which is in an order of its own"
    rows = "each as a row of a table, the tokens of the context and the answer; `[]` for vectors"
    return [
        Field("facts", figures["facts"], "facts", shown=counts),
        Field("memorized", figures["memorized"], "facts memorized, proved", shown=counts),
        Field("wrong", figures["wrong"], _WRONG, shown=False),
        Field("", lost if counts else None, _WRONG),
        Field("undecided", figures["undecided"], _UNDECIDED, shown=False),
        Field("", left if counts else None, _UNDECIDED),
        *answer_fields(figures),
        Field("wrong_contexts", figures["wrong_contexts"], "facts that are lost", note=place, shown=False),
        Field("wrong_facts", figures["wrong_facts"], "the same facts", note=rows, shown=False),
        Field("undecided_contexts", figures["undecided_contexts"], "undecided facts", note=place, shown=False),
        Field("undecided_facts", figures["undecided_facts"], "the same facts", note=rows, shown=False),
        Field("decided_by", figures["decided_by"], "arithmetic that decided"),
    ]


def _domain_fields(figures: dict[str, Any]) -> list[Field]:
    most = "at most 100 of them"
    return [
        Field("rule", figures["rule"], "the rule"),
        *_input_fields(figures),
        Field("wrong_inputs", figures["wrong_inputs"], "inputs answered wrongly", note=most, shown=False),
        Field("open_inputs", figures["open_inputs"], "inputs examined and left open", note=most, shown=False),
        Field("", _examples(figures["wrong_inputs"]), "the first that are answered wrongly"),
        Field("", _examples(figures["open_inputs"]), "the first that are open"),
        Field("method", figures["method"], "decided by"),
        Field("one_by_one", figures["one_by_one"], "inputs judged one by one, at rising precision"),
        Field("interrupted", figures["interrupted"], "whether the work was interrupted", shown=False),
        Field("earlier", figures["earlier"], "inputs that were counted by earlier runs", shown=False),
    ]


def _examples(rows: Sequence[Sequence[Any]]) -> list[str]:
    return [" ".join(map(str, row)) for row in rows]


def _named(count: int, rows: Sequence[Sequence[Any]], places: Sequence[int] = ()) -> str:
    """How many, and the first ten of them by their tokens; vectors by their places."""
    shown = _examples(rows[:10]) or [f"context {place}" for place in places[:10]]
    return f"{count:,}{': ' if shown else ''}{'; '.join(shown)}{'; ...' if count > 10 and shown else ''}"
