"""`byheart certify`: which facts, or which rule, a trained model has memorized."""

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.terminal.argument_types import count, path
from byheart.terminal.exit_codes import EXIT_CODES, INTERRUPTED
from byheart.terminal.fact_options import add_table_options, table_options
from byheart.terminal.next_steps import next_steps
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
from byheart.terminal.tables import Rows, Table, above, below, print_summary
from constructions.counted import counted

if TYPE_CHECKING:
    from constructions.folds.fold import Fold
    from constructions.tasks.criterion import Criterion

HELP = "prove which facts a trained model has memorized, or where it computes a rule"
EXAMPLE = "byheart certify tensors --task tensors/task.safetensors"

_OF_FACTS = ("tokenizer", "between", "cells")
_OF_ADDITION = ("digits", "base", "first_digit", "first_digit_of_sum", "plus", "equals", "sum_digits")
_ELSEWHERE = ("scheduler", "tolerance", "at_most")  # what becomes a part of another argument
_OF_RULES = ("length", "tokens", "modulus", "before", "after", "sample", "seed", "one_by_one")


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
    parser.add_argument("--cells", choices=("tokens", "texts"), help="what the cells of the table are (default: auto)")
    parser.add_argument(
        "--tokenizer", type=path, metavar="FILE", help="what cuts texts (default: tokenizer.json beside the model)"
    )
    parser.add_argument(
        "--between", metavar="TEXT", help="between prompt and answer, if neither has white space there (default: ' ')"
    )
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
    parser.add_argument(
        "--key", metavar="NAME", help="where the tensors are in a file of torch that holds a dictionary"
    )
    add_criterion_options(parser, "all")
    parser.add_argument(
        "--ignore-field",
        nargs="+",
        metavar="NAME",
        help="fields of the configuration that are not known here, if the model's library agrees without them",
    )
    parser.add_argument(
        "--plain-argmax",
        action="store_true",
        help="ask about the largest logits, whatever generation_config.json makes generate say",
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
    of_rule = {name: getattr(options, name) for name in _OF_RULES}
    of_rule |= {"workers": options.workers, "scheduler": options.scheduler}
    of_facts = {**table_options(options), **{name: getattr(options, name) for name in _OF_FACTS}}
    # The answers of a rule are labels, of which a count is asked.
    kinds = {"rule": of_rule, "task": of_facts | {"tolerance": options.tolerance, "at_most": options.at_most}}
    here, other = ("task", "rule") if options.rule is None else ("rule", "task")
    if strange := [name for name, value in kinds[other].items() if value is not None]:
        raise InputError(f"--{strange[0].replace('_', '-')}", f"is given, but no --{other}")
    if (fold := _fold_of(options)) is not None:
        return _certify_fold(options, fold, asked)
    if options.seed is not None and options.sample is None:
        raise InputError("--seed", "is given, but no --sample")
    given = {name: value for name, value in kinds[here].items() if value is not None and name not in _ELSEWHERE}
    if (makes := workers(options)) is not None:
        given["workers"] = makes
    if options.rule is None and not (options.json or options.quiet):
        given["decided"] = _say
    with progress_lines(options) as progress:
        figures = (certify if options.rule is None else certify_rule)(
            options.model,
            options.task if options.rule is None else named_rule(options.rule),
            **given,
            **_of_any_task(options),
            criterion=asked,
            progress=progress,
        )
    tables = partial(_certify_tables, of_mean=options.at_most is not None) if options.rule is None else _domain_tables
    print_summary(options, figures, tables)
    if options.out is not None and not (options.json or options.quiet):
        sys.stdout.write(next_steps(options.out, figures["headline"]))
    if figures.get("interrupted"):
        kept = f"; the same command with --overwrite goes on from {options.out}{PIECES_SUFFIX}" if options.out else ""
        complain(f"interrupted; what had been proved until then is stated{kept}")
        return INTERRUPTED
    return EXIT_CODES[figures["verdict"]]


def _say(fact: Sequence[Any], held: bool, margin: float, arithmetic: str) -> None:
    """Say of a fact whose balls take long what is proved, before the others are: a line on standard error."""
    if arithmetic == "balls":
        prompt, answer = fact
        ahead = f"ahead by {below(margin)} or more" if held else f"behind by {below(-margin)} or more"
        sys.stderr.write(f"proved {'right' if held else 'wrong'}: {prompt!r} -> {answer!r}, {ahead}\n")


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

    layout = {name: value for name in _OF_ADDITION if (value := getattr(options, name)) is not None}
    if options.rule != "addition" and layout:
        raise InputError(f"--{next(iter(layout)).replace('_', '-')}", "is given, but no --rule addition")
    stored = options.rule is not None and options.rule.endswith(".safetensors")
    if options.rule is None or (options.rule != "addition" and ":" not in options.rule and not stored):
        return None
    if stored:
        fold, strange = Fold.load(Path(options.rule)), _OF_RULES
    elif options.rule == "addition":
        fold = addition(**layout, before=options.before or ())
        strange = [name for name in _OF_RULES if name != "before"]
    else:
        function = named_rule(options.rule)
        if not callable(function) or inspect.signature(function).parameters:
            return None
        fold, strange = _made_by(function, options.rule), _OF_RULES
        if not isinstance(fold, Fold):
            raise InputError(options.rule, f"gives {type(fold).__name__}", "a Fold (constructions/folds/fold.py)")
    if given := [name for name in (*strange, "workers", "scheduler") if getattr(options, name) is not None]:
        raise InputError(f"--{given[0].replace('_', '-')}", "is given", f"none for {fold.name}")
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
    print_summary(options, figures, _fold_tables)
    if out is not None and not (options.json or options.quiet):
        sys.stdout.write(next_steps(out, figures["headline"], fold=fold, runs=False))
    return EXIT_CODES[figures["verdict"]]


def _fold_tables(summary: dict[str, Any]) -> Rows:
    from constructions.model.entries import Entries

    rows = [
        ("criterion", summary["asked"]),
        ("verdict", summary["verdict"]),
        ("read as", summary["layout"]),
        ("right, proved", f"{summary['right']} of {counted(summary['inputs'], 'input')}"),
        ("wrong, proved", str(summary["wrong"])),
    ]
    if (wrong := summary["wrong_input"]) is not None:
        rows.append(("a wrong input", " ".join(map(str, wrong["prompt"]))))
        rows.append(("its answer by the rule", " ".join(map(str, wrong["answer"]))))
        rows.append(("the model says", " ".join(map(str, wrong["decoded"])) or "what is too close to tell"))
        rows.append(("the model prefers", f"{wrong['said']} as token {wrong['place']} of the answer"))
        if wrong["host"] is not None:
            rows.append((f"{wrong['host']} says", " ".join(map(str, wrong["host_decoded"]))))
    if (runs := summary["every_run"]) is not None:
        proved = "right on all inputs, proved" if runs["proved"] else "not proved"
        rows.append((f"every {runs['dtype']} run", proved))
    rows.append(("the weights", Entries(**summary["entries"]).words()))
    rows.append(("decided by", f"{summary['method']}: {summary['cells']} cells, {summary['boxes']} boxes"))
    tables: list[Table] = [("Certified, of the weights as stored", rows)]
    if "files" in summary:
        tables.append(("Files", list(summary["files"].items())))
    return tables


def _certify_tables(summary: dict[str, Any], *, of_mean: bool) -> Rows:
    rows = [("criterion", summary["asked"]), ("verdict", summary["verdict"])]
    if not of_mean:  # of which no single fact is a part
        rows += [
            ("memorized, proved", f"{summary['held']} of {counted(summary['facts'], 'fact')}"),
            ("refuted", _named(summary["wrong"], summary["wrong_facts"], summary["wrong_contexts"])),
            ("undecided", _named(summary["undecided"], summary["undecided_facts"], summary["undecided_contexts"])),
        ]
    for name, what in (
        ("margin_lower", "least margin of these"),
        ("guess_kl_lower", "KL of the best guess that ignores the context"),
    ):
        if summary[name] is not None:
            rows.append((what, f">= {below(summary[name])} nats"))
    if summary["mean_loss_upper"] is not None:
        rows.append(("KL, mean", f"<= {above(summary['mean_loss_upper'])} nats"))
    rows.append(("decided by", summary["decided_by"]))
    return _with_files(summary, rows)


def _domain_tables(summary: dict[str, Any]) -> Rows:
    rows = [
        ("criterion", summary["asked"]),
        ("verdict", summary["verdict"]),
        ("right, proved", f"{summary['right']} of {counted(summary['inputs'], 'input')}"),
        ("wrong, proved", _named(summary["wrong"], summary["wrong_inputs"])),
        ("undecided", _named(summary["undecided"], summary["open_inputs"])),
        ("decided by", _decided_by(summary)),
    ]
    return _with_files(summary, rows)


def _decided_by(summary: dict[str, Any]) -> str:
    if not summary["one_by_one"] or "ladder" in summary["method"]:
        return summary["method"]
    return f"{summary['method']}; {counted(summary['one_by_one'], 'input')} in the ladder of arithmetics"


def _with_files(summary: dict[str, Any], rows: list[tuple[str, str]]) -> Rows:
    tables: list[Table] = [("Certified, of the weights as stored", rows)]
    if (runs := summary.get("every_run")) is not None:
        right = "" if runs["right"] is None else f"; the right one in {runs['right']}"
        left = runs["contexts"] - runs["one_answer"]
        one = [
            ("one answer in all", f"{runs['one_answer']} of {counted(runs['contexts'], 'context')}, proved{right}"),
            ("left open", _named(left, runs["left_open"])),
            ("a run", f"of the formulas of `byheart run`: {runs['means']}"),
        ]
        tables.append((f"Every {runs['dtype']} run", one))
    if "files" in summary:
        tables.append(("Files", list(summary["files"].items())))
    return tables


def _named(count: int, rows: list[list[int]] | list[list[str]], places: list[int] | None = None) -> str:
    """How many, and the first ten of them by their tokens; vectors by their places."""
    shown = [" ".join(map(str, row)) for row in rows[:10]] or [f"context {place}" for place in (places or [])[:10]]
    return f"{count}{': ' if shown else ''}{'; '.join(shown)}{'; ...' if count > 10 and shown else ''}"
