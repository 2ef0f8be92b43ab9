"""The `byheart` command: what a person types, as arguments, tables and exit codes."""

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.arithmetic.decimals import decimal_above, decimal_below

if TYPE_CHECKING:
    from byheart.facts import Given
    from byheart.memory import Answer
    from constructions.tasks.criterion import Criterion
    from constructions.tasks.task import Target, Task
    from verify.certificates.certificate import CheckReport
    from verify.workers import Workers

# The exit codes of `check`, and of every other command where they apply.
PROVED, REFUTED, BAD_USAGE, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES = {"PROVED": PROVED, "REFUTED": REFUTED, "UNDECIDED": UNDECIDED}

FRONT_END_CHOICES = ("auto", "table", "random", "base2", "rank-one", "shared-rank-one")
HOST_CHOICES = (
    "transformer-lens",
    "transformer-bridge",
    "attention-layer",
    "huggingface",
    "onnx",
    "safetensors",
)
_DELIMITERS = {"tab": "\t", "\\t": "\t"}
LARGEST_COUNT = 10**9


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 yes, proved, or done; 1 no, tampered or corrupt; 2 bad usage or bad input; 3 undecided; 130 interrupted. An error
    is one sentence on standard error, never a traceback.

    Args:
        arguments: The words after ``byheart``; those of the process by default.

    Page: docs/install.md

    Example:
        >>> main(["check", "no-such-folder"])
        2
    """
    options = _parser().parse_args(arguments)
    try:
        return _judged(options)
    except KeyboardInterrupt:
        return _fail(options, "interrupted; nothing was written", INTERRUPTED)


def _judged(options: argparse.Namespace) -> int:
    try:
        return options.command(options)
    except BrokenPipeError:
        sys.stderr.close()
        return INTERRUPTED
    except Exception as error:
        return _fail(options, *_meant(error))


def _meant(error: Exception) -> tuple[Exception, int]:
    """What is said of an error and the exit code; raised again if nobody meant it to be raised."""
    from constructions.errors import ByheartError, FileFormatError, TamperedError

    if isinstance(error, MemoryError):
        return MemoryError("out of memory; memorize fewer facts or use fewer heads"), BAD_USAGE
    if not isinstance(error, (ByheartError, OSError, OverflowError)):
        raise error
    return error, REFUTED if isinstance(error, (FileFormatError, TamperedError)) else BAD_USAGE


def _fail(options: argparse.Namespace, error: object, code: int, **about: str) -> int:
    fields = _error_fields(error)
    if getattr(options, "json", False):
        sys.stdout.write(json.dumps({**about, **fields}) + "\n")
    sys.stderr.write(f"byheart: {fields['error']}\n")
    return code


def _worst(codes: set[int]) -> int:
    return next(code for code in (REFUTED, BAD_USAGE, UNDECIDED, PROVED) if code in codes)


_OPTIONS = {
    "d_model": "dim",
    "d_head": "head-dim",
    "n_heads": "heads",
    "facts_at_most": "facts",
    **{name: name.replace("_", "-") for name in (
        "facts", "mass", "context", "vocabulary", "unit", "delimiter", "header", "weights", "seed", "front_end",
        "tail", "dtype", "layers", "device", "overwrite", "attention_only",
    )},
}  # fmt: skip
"""The options of the command line by the arguments that they become."""

_ARGUMENT = re.compile(rf"\b({'|'.join(_OPTIONS)})( = |=)(True|False)?")


def _as_options(message: str) -> str:
    """A message that speaks of arguments, `heads = 3` or `header=True`, in words of the command line."""

    def option(found: "re.Match[str]") -> str:
        name, value = _OPTIONS[found[1]], found[3]
        return f"--no-{name}" if value == "False" else f"--{name}" if value else f"--{name} "

    return _ARGUMENT.sub(option, message)


def _error_fields(error: object) -> dict[str, Any]:
    return {"error": _as_options(str(error)), "kind": type(error).__name__}


class _CommandHelp(argparse.HelpFormatter):
    """Every command on one line with what it does; argparse forgets the indentation of the longest name."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="byheart",
        description="Build, certify and check attention-only transformers that memorize a text or a table exactly.",
        formatter_class=_CommandHelp,
    )
    parser.add_argument("--version", action="version", version=f"byheart {_version()}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    memorize = commands.add_parser("memorize", help="a text or a table in, certified weights out")
    _add_task_options(memorize)
    _add_size_options(memorize)
    memorize.add_argument(
        "--target",
        choices=("laws", "labels"),
        default=None,
        help="hold the laws of the next token (default for texts), or only the most frequent one (default for tables)",
    )
    memorize.add_argument(
        "--memory",
        default=None,
        metavar="NAME",
        help="build this memory, see `byheart memories` (default: smallest, the one of fewest parameters that holds "
        "the facts; theorem-1 where --dim, --head-dim, --heads, --front-end or --tail is given)",
    )
    memorize.add_argument(
        "--dtype",
        choices=("float32", "float64"),
        default=None,
        help="round the weights to this type, and choose a memory that holds the facts when it is run in it "
        "(default: float32; float64 where sizes are given)",
    )
    memorize.add_argument("--attention-only", action="store_true", help="take no memory with neurons")
    memorize.add_argument("--layers", type=_count, default=None, metavar="L", help="take no memory with more layers")
    memorize.add_argument(
        "--front-end",
        default="auto",
        choices=FRONT_END_CHOICES,
        help="the family of attention patterns of theorem-1 (default: auto)",
    )
    memorize.add_argument(
        "--tail",
        choices=("fit", "none"),
        default=None,
        help="with theorem-1, fit the contexts that are not memorized, without disturbing those that are "
        "(default: none)",
    )
    memorize.add_argument(
        "--tolerance",
        type=_bound,
        default=None,
        metavar="NATS",
        help="what the divergence of a held law may be (default: 0.001)",
    )
    memorize.add_argument(
        "--out", type=_path, default=None, metavar="FOLDER", help="where to write (default: out/NAME)"
    )
    memorize.add_argument("--overwrite", action="store_true", help="replace a folder that byheart wrote before")
    memorize.add_argument("--device", default="cpu", help="also run the replica on this device, e.g. cuda")
    _add_common_options(memorize)
    memorize.set_defaults(command=_memorize)

    ask = commands.add_parser("ask", help="type a context, read the fact")
    ask.add_argument("folder", type=_path, help="a folder that `memorize` or `build` wrote")
    ask.add_argument("contexts", nargs="*", metavar="CONTEXT", help="contexts (default: the lines of standard input)")
    _add_common_options(ask)
    ask.set_defaults(command=_ask)

    explain = commands.add_parser("explain", help="which heads, neurons or entries hold a fact")
    explain.add_argument("folder", type=_path, help="a folder that `memorize` or `build` wrote")
    explain.add_argument("--fact", required=True, metavar="CONTEXT", help="the context of the fact, as for `ask`")
    explain.add_argument("--entries", action="store_true", help="set single entries to 0, not heads and neurons")
    _add_common_options(explain)
    explain.set_defaults(command=_explain)

    memories = commands.add_parser("memories", help="list the memories, what they need and what they cost")
    _add_common_options(memories)
    memories.set_defaults(command=_memories)

    capacity = commands.add_parser("capacity", help="how many heads a text or a table really needs")
    _add_task_options(capacity)
    _add_size_options(capacity)
    _add_common_options(capacity)
    capacity.set_defaults(command=_capacity)

    check = commands.add_parser("check", help="prove a stored certificate again, from the weights and the task")
    check.add_argument("folder", type=_path, nargs="+", help="a folder that `memorize` or `build` wrote, or several")
    check.add_argument(
        "--independent",
        action="store_true",
        help="with integers and balls alone, sharing no numerical code with the prover (slower)",
    )
    check.add_argument(
        "--at-least", type=_count, default=None, metavar="K", help="ask whether at least K contexts are held"
    )
    check.add_argument(
        "--at-most", type=_bound, default=None, metavar="NATS", help="ask whether the mean divergence is at most this"
    )
    check.add_argument(
        "--tolerance", type=_bound, default=None, metavar="NATS", help="what the divergence of a held law may be"
    )
    _add_worker_options(check)
    _add_common_options(check)
    check.set_defaults(command=_check)

    run = commands.add_parser("run", help="run the weights in torch and judge the result against the certificate")
    run.add_argument("folder", type=_path, help="a folder that `memorize` or `build` wrote")
    run.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    run.add_argument("--dtype", default="float32", choices=("float64", "float32", "bfloat16"))
    _add_common_options(run)
    run.set_defaults(command=_run)

    export = commands.add_parser("export", help="write the weights for another program, load them there, and compare")
    export.add_argument("folder", type=_path, help="a folder that `memorize` or `build` wrote")
    export.add_argument("--to", required=True, choices=HOST_CHOICES, help="the program")
    export.add_argument("--dtype", default="float64", choices=("float64", "float32", "bfloat16", "float16"))
    export.add_argument(
        "--out", type=_path, default=None, metavar="FOLDER", help="where to write (default: beside the folder)"
    )
    export.add_argument("--overwrite", action="store_true", help="replace a folder that byheart wrote before")
    _add_common_options(export)
    export.set_defaults(command=_export)

    certify = commands.add_parser("certify", help="prove which facts a model of somebody else's holds")
    certify.add_argument(
        "model", type=_path, help="a folder or file: TransformerLens, Hugging Face's GPT-2, safetensors, or of ours"
    )
    asked = certify.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--task", type=_path, default=None, metavar="FILE", help="the facts: a table in CSV, or arrays in an .npz"
    )
    asked.add_argument(
        "--rule",
        default=None,
        metavar="RULE",
        help="instead of facts, on all inputs: max, min, first, last or sum (modulo --modulus) of their tokens",
    )
    certify.add_argument(
        "--length", type=_count, default=None, metavar="S", help="tokens that the rule reads (default: n_ctx)"
    )
    certify.add_argument(
        "--tokens", type=_count, default=None, metavar="N", help="it reads tokens below N (default: all of the model)"
    )
    certify.add_argument("--modulus", type=_count, default=None, metavar="M", help="of a sum (default: --tokens)")
    for name, where in (("before", "before"), ("after", "behind")):
        what = f"tokens {where} them in all inputs"
        certify.add_argument(f"--{name}", type=_count, nargs="+", default=None, metavar="TOKEN", help=what)
    certify.add_argument(
        "--climbs",
        type=_count,
        default=None,
        metavar="K",
        help="how many inputs may be judged one by one (default: 2^20)",
    )
    certify.add_argument(
        "--config", type=_path, default=None, metavar="FILE", help="what the tensors compute (default: config.json)"
    )
    certify.add_argument("--at-least", type=_count, default=None, metavar="K", help="ask whether at least K are held")
    certify.add_argument(
        "--tolerance", type=_bound, default=None, metavar="NATS", help="what the divergence of a held law may be"
    )
    certify.add_argument("--out", type=_path, default=None, metavar="FOLDER", help="where to write (default: nowhere)")
    certify.add_argument("--overwrite", action="store_true", help="replace a folder that byheart wrote before")
    _add_common_options(certify)
    certify.set_defaults(command=_certify)

    claims = commands.add_parser("claims", help="list the claims of the literature and the verdict on each")
    claims.add_argument("claim", nargs="*", metavar="ID", help="only these, with all that is said about them")
    _add_common_options(claims)
    claims.set_defaults(command=_claims)

    audit = commands.add_parser("audit", help="certify the verdict on every claim again")
    audit.add_argument("claim", nargs="*", metavar="ID", help="only these claims, e.g. dana.lemma-2 (default: all)")
    audit.add_argument("--full", action="store_true", help="larger and more instances, for minutes instead of seconds")
    _add_worker_options(audit)
    audit.add_argument("--json", action="store_true", help="a JSON list on standard output, nothing else")
    audit.set_defaults(command=_audit)

    build = commands.add_parser("build", help="write the weights that a claim promises, with their certificate")
    build.add_argument("claim", metavar="ID", help="a claim that builds weights, see `byheart claims`")
    build.add_argument(
        "--param",
        nargs="+",
        action="extend",
        type=_parameter,
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the construction",
    )
    build.add_argument("--out", type=_path, required=True, metavar="FOLDER", help="where to write")
    build.add_argument("--overwrite", action="store_true", help="replace a folder that byheart wrote before")
    build.add_argument("--device", default="cpu", help="also run the replica on this device, e.g. cuda")
    _add_common_options(build)
    build.set_defaults(command=_build)

    assumptions = commands.add_parser("assumptions", help="test the assumptions of memorization on your own data")
    assumptions.add_argument(
        "data", type=_path, metavar="DATA.npz", help="arrays contexts [T,n,d] or [n,d], queries [T,d]"
    )
    assumptions.add_argument(
        "--heads", type=_count, default=None, metavar="H", help="heads of the block condition (default: the fewest)"
    )
    assumptions.add_argument("--head-dim", type=_count, default=None, metavar="DH", help="d_head (default: d)")
    assumptions.add_argument(
        "--samples",
        type=_count,
        default=None,
        metavar="N",
        help="random subsets where nothing is proved (default: 5000)",
    )
    assumptions.add_argument("--seed", type=_count, default=0, help="seed of every random choice (default: 0)")
    _add_common_options(assumptions)
    assumptions.set_defaults(command=_assumptions)
    return parser


def _add_task_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        type=_path,
        default=None,
        metavar="FILE",
        help="a UTF-8 text; a table if it ends in .csv or .tsv; arrays in an .npz (default: Python's reference text)",
    )
    parser.add_argument(
        "--table",
        type=_path,
        default=None,
        metavar="CSV",
        help="a table whatever its name; rows: context tokens ..., next token[, weight]",
    )
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="the first row of the table holds names, or is a fact (default: what its cells look like)",
    )
    parser.add_argument(
        "--delimiter",
        default=None,
        metavar="CHAR",
        help="what separates the cells of the table: a character, or tab (default: what fits all rows)",
    )
    parser.add_argument(
        "--weights",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="the last column of the table holds how often the fact occurs, or does not (default: it does where a "
        "header names it 'weight')",
    )
    parser.add_argument(
        "--unit", choices=("char", "byte", "word"), default=None, help="what a token of the text is (default: char)"
    )
    parser.add_argument(
        "--vocabulary",
        type=_count,
        default=None,
        metavar="N",
        help="tokens kept, the others become one (default: 256)",
    )
    parser.add_argument(
        "--context",
        type=_count,
        default=None,
        metavar="S",
        help="tokens in a context (default: 4; a table has its own)",
    )
    parser.add_argument(
        "--facts",
        type=_count,
        default=None,
        metavar="T",
        help="how many contexts to memorize, the most "
        "frequent first (default: 1024, or all there are if fewer; all of a table)",
    )
    parser.add_argument(
        "--mass",
        type=_share,
        default=None,
        metavar="P",
        help="instead of --facts: as many as hold this share of the text",
    )


def _add_size_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dim", type=_count, default=None, metavar="D", help="d_model of one layer of attention; of others at most"
    )
    parser.add_argument(
        "--head-dim", type=_count, default=None, metavar="DH", help="d_head of its heads (default: --dim / 4)"
    )
    parser.add_argument(
        "--heads", type=_count, default=None, metavar="H", help="number of its heads (default: as many as are needed)"
    )
    parser.add_argument("--seed", type=_count, default=0, help="seed of every random choice (default: 0)")


def _add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")


def _add_worker_options(parser: argparse.ArgumentParser) -> None:
    several = parser.add_mutually_exclusive_group()
    several.add_argument(
        "--workers", type=_count, default=None, metavar="K", help="work on K at a time, in processes of this machine"
    )
    several.add_argument(
        "--scheduler",
        default=None,
        metavar="ADDRESS",
        help="work on many at a time, with this Dask scheduler",
    )


def _workers(options: argparse.Namespace) -> "Workers | None":
    """What makes the executor that is asked for; none: work here."""
    from verify.workers import cluster, processes

    if options.scheduler is not None:
        return partial(cluster, options.scheduler)
    return None if options.workers is None else partial(processes, options.workers)


def _count(text: str) -> int:
    number = int(text)
    if abs(number) > LARGEST_COUNT:
        raise argparse.ArgumentTypeError(f"{text} is too large, expected at most {LARGEST_COUNT}")
    return number


def _bound(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no bound, expected a number above 0")
    return number


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the path is empty, expected a file or a folder")
    return Path(text)


def _parameter(text: str) -> tuple[str, int]:
    name, separator, value = text.partition("=")
    try:
        if not name or not separator:
            raise ValueError
        return name, _count(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no parameter, expected NAME=INTEGER") from error


def _share(text: str) -> Fraction:
    try:
        if len(text) > 40 or "e" in text.lower():  # a decimal exponent makes a fraction that fills the memory
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number, expected a share in (0, 1]") from error


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("byheart")
    except PackageNotFoundError:
        return "(not installed)"


def _read_facts(options: argparse.Namespace, target: "Target | None") -> "Given":
    """What the options name, as a task."""
    from byheart.facts import read_facts
    from constructions.errors import InputError

    if options.source is not None and options.table is not None:
        raise InputError(f"both FILE {options.source} and --table {options.table} are given, expected one of them")
    return read_facts(
        options.source if options.table is None else options.table,
        table=None if options.table is None else True,
        delimiter=None if options.delimiter is None else _DELIMITERS.get(options.delimiter, options.delimiter),
        header=options.header,
        weights=options.weights,
        unit=options.unit,
        vocabulary=options.vocabulary,
        context=options.context,
        target=target,
        facts_at_most=options.facts,
        mass=options.mass,
    )


def _folder_of(options: argparse.Namespace) -> Path:
    """Where to write, by default a folder named like the file."""
    source = options.table if options.table is not None else options.source
    return options.out if options.out is not None else Path("out") / ("topics" if source is None else source.stem)


@contextmanager
def _progress(enabled: bool) -> Iterator[Callable[[str, float | None, str], None]]:
    """A line per stage on standard error, with a bar where the stage can tell how far it is."""
    from byheart.job import silent

    if not enabled:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", style="dim"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        lines: dict[str, TaskID] = {}

        def show(stage: str, share: float | None, detail: str) -> None:
            if stage not in lines:
                for line in lines.values():
                    bars.update(line, total=1.0, completed=1.0)
                lines[stage] = bars.add_task(stage, total=None, detail="")
            total = None if share is None else 1.0
            bars.update(lines[stage], total=total, completed=share or 0.0, detail=detail)

        yield show
        for line in lines.values():
            bars.update(line, total=1.0, completed=1.0)


def _memorize(options: argparse.Namespace) -> int:
    from byheart.job import hold
    from constructions.files import refuse_existing
    from constructions.tasks.criterion import TOLERANCE

    out = _folder_of(options)
    refuse_existing(out, overwrite=options.overwrite)
    with _progress(not options.json) as progress:
        progress("task", None, "")
        given = _read_facts(options, options.target)
        task = given.task
        progress("task", 1.0, f"{task.n_all} contexts of {task.context_length} tokens, {task.n_contexts} to memorize")
        memory = hold(
            task,
            memory=options.memory,
            dtype=options.dtype,
            attention_only=options.attention_only,
            layers=options.layers,
            d_model=options.dim,
            d_head=options.head_dim,
            n_heads=options.heads,
            front_end=options.front_end,
            tail=options.tail,
            tolerance=TOLERANCE if options.tolerance is None else options.tolerance,
            seed=options.seed,
            device=options.device,
            source=given.source,
            progress=progress,
        )
        memory.summary["reading"] = _as_options(given.reading)
        progress("files", None, "")
        summary = memory.save(out, overwrite=options.overwrite)
        progress("files", 1.0, "")
    _print(options, summary, _memorize_tables)
    if not options.json:
        sys.stdout.write(_next_steps(out, task))
    return EXIT_CODES[summary["verdict"]]


def _next_steps(out: Path, task: "Task") -> str:
    from constructions.tasks.vocabulary import typed

    typable = (typed(task, i) for i in range(min(64, task.n_contexts)))
    example = next((text for text in typable if text and text.strip() == text), None)
    asked = [] if example is None else [f"  byheart ask {out} {json.dumps(example, ensure_ascii=False)}"]
    return "\n".join(["Next:", f"  byheart check {out}", *asked, f"  byheart run {out} --dtype float32", ""])


def _ask(options: argparse.Namespace) -> int:
    from byheart.memory import asker
    from constructions.errors import InputError

    _require_folder(options.folder)
    lines = options.contexts or [line for line in map(str.rstrip, sys.stdin) if line]
    if not lines:
        raise InputError("no context is given, expected one or more, or lines on standard input")
    answered = asker(options.folder)
    codes = set()
    for line in lines:
        try:
            answer = answered(line)
        except InputError as error:  # the other lines are answered all the same
            codes.add(_fail(options, error, BAD_USAGE, context=line))
            continue
        if options.json:
            sys.stdout.write(json.dumps({"context": line, **_finite(vars(answer))}) + "\n")
        else:
            sys.stdout.write(_answer_line(line, answer) + "\n")
        codes.add(UNDECIDED if answer.token is None else PROVED)
    return _worst(codes)


def _explain(options: argparse.Namespace) -> int:
    from byheart.memory import explain_folder

    _require_folder(options.folder)
    with _progress(not options.json) as progress:
        found = explain_folder(options.folder, options.fact, entries=options.entries, progress=progress)
    _print(options, found.summary(), _explain_tables)
    if found.fate == "lost":
        return REFUTED
    return UNDECIDED if found.fate == "undecided" or found.undecided else PROVED


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
        "" if answer.runner_up is None else f", at least {_below(answer.margin_lower)} nats before {answer.runner_up!r}"
    )
    return f"{line!r}: {answer.token!r}{lead}, probability {answer.probability:.4g} ({known})"


def _memories(options: argparse.Namespace) -> int:
    from constructions.memories.choice import MEMORIES

    listed = [
        {
            "memory": memory.name,
            "needs": memory.needs,
            "parameters": memory.cost,
            "attention_only": memory.attention_only,
            "page": memory.page,
        }
        for memory in MEMORIES
    ]
    if options.json:
        sys.stdout.write(json.dumps(listed) + "\n")
        return PROVED
    _print_tables(
        [
            (
                memory["memory"],
                [
                    ("needs", memory["needs"]),
                    ("parameters", memory["parameters"]),
                    ("layers", "of attention alone" if memory["attention_only"] else "of attention and of neurons"),
                    ("page", _file_of_page(memory["page"])),
                ],
            )
            for memory in listed
        ]
    )
    return PROVED


def _capacity(options: argparse.Namespace) -> int:
    from byheart.job import capacity_summary

    with _progress(not options.json) as progress:
        progress("task", None, "")
        task = _read_facts(options, "labels").task
        progress("task", 1.0, f"{task.n_all} contexts of {task.context_length} tokens, {task.n_contexts} to memorize")
        summary = capacity_summary(
            task,
            d_model=options.dim,
            d_head=options.head_dim,
            n_heads=options.heads,
            seed=options.seed,
            progress=progress,
        )
    _print(options, summary, _capacity_tables)
    return PROVED


def _check(options: argparse.Namespace) -> int:
    for folder in options.folder:
        _require_folder(folder)
    if len(options.folder) > 1 or options.workers is not None or options.scheduler is not None:
        return _check_each(options)
    [folder] = options.folder
    with _progress(not options.json) as progress:
        report = _checker(options)(folder, _asked(options, folder), progress=progress)
    _print(options, report.summary(), _check_tables)
    return EXIT_CODES[report.verdict.value]


def _check_each(options: argparse.Namespace) -> int:
    """Check several folders; what one of them is does not keep the others from being checked."""
    from verify.workers import completed

    found: dict[Path, dict[str, Any]] = {}
    codes: set[int] = set()
    with _progress(not options.json) as progress:
        for folder, result in completed(partial(_checked, options), options.folder, _workers(options)):
            if isinstance(result, Exception):
                try:
                    error, code = _meant(result)
                except Exception as unforeseen:
                    error, code = unforeseen, UNDECIDED
                found[folder] = _error_fields(error)
            else:
                found[folder], code = result, EXIT_CODES[result["verdict"]]
            codes.add(code)
            progress(str(folder), 1.0, found[folder].get("verdict", "not checked"))
    if options.json:
        sys.stdout.write(json.dumps([{"folder": str(folder), **found[folder]} for folder in options.folder]) + "\n")
    else:
        for folder in options.folder:
            sys.stdout.write(f"{folder}: {found[folder].get('headline') or found[folder]['error']}\n")
    return _worst(codes)


def _checked(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    return _checker(options)(folder, _asked(options, folder)).summary()


def _asked(options: argparse.Namespace, folder: Path) -> "Criterion | None":
    """What is asked on the command line; nothing: what the certificate asks."""
    from constructions.errors import InputError
    from constructions.tasks.criterion import Criterion
    from verify.certificates.certificate import Certificate

    if options.at_least is None and options.at_most is None and options.tolerance is None:
        return None
    if options.at_least is not None and options.at_most is not None:
        raise InputError(f"both --at-least {options.at_least} and --at-most {options.at_most} are given, expected one")
    tolerance = Certificate.load(folder).criterion.tolerance if options.tolerance is None else options.tolerance
    if options.at_most is not None:
        return Criterion.at_most(options.at_most)
    return (
        Criterion(tolerance=tolerance)
        if options.at_least is None
        else Criterion.at_least(options.at_least, tolerance=tolerance)
    )


def _checker(options: argparse.Namespace) -> "Callable[..., CheckReport]":
    """The checker, loaded alone: the independent one shares no arithmetic with the other."""
    if options.independent:
        from verify.independent.checker import check_independently

        return check_independently
    from verify.certificates.memorization import check_memorization

    return check_memorization


def _run(options: argparse.Namespace) -> int:
    _require_folder(options.folder)
    from byheart.job import run_summary

    if options.device != "cpu" and (missing := _missing_device(options.device)):
        if options.json:
            sys.stdout.write(json.dumps({"skipped": missing}) + "\n")
        sys.stderr.write(f"byheart: skipped: {missing}\n")
        return UNDECIDED
    summary = run_summary(options.folder, device=options.device, dtype=options.dtype)
    _print(options, summary, _run_tables)
    if summary["within_bound"] is False:
        return REFUTED
    if summary["within_bound"] is None:
        return UNDECIDED
    return PROVED if summary["all_held"] else REFUTED


def _export(options: argparse.Namespace) -> int:
    _require_folder(options.folder)
    from byheart.hosts.export import export

    folder = options.folder.absolute()
    out = options.out if options.out is not None else folder.with_name(f"{folder.name}-{options.to}")
    with _progress(not options.json) as progress:
        report = export(
            folder, to=options.to, dtype=options.dtype, out=out, overwrite=options.overwrite, progress=progress
        )
    _print(options, {**report, "out": str(out)}, _export_tables)
    return REFUTED if report["agrees"] is False else PROVED


def _certify(options: argparse.Namespace) -> int:
    from byheart.hosts.certify import certify, certify_rule
    from constructions.errors import InputError
    from constructions.tasks.criterion import TOLERANCE, Criterion

    tolerance = TOLERANCE if options.tolerance is None else options.tolerance
    asked = (
        Criterion(tolerance=tolerance)
        if options.at_least is None
        else Criterion.at_least(options.at_least, tolerance=tolerance)
    )
    of_rule = {name: getattr(options, name) for name in ("length", "tokens", "modulus", "before", "after", "climbs")}
    given = {name: value for name, value in of_rule.items() if value is not None}
    if given and options.rule is None:
        raise InputError(f"--{next(iter(given))} is given, but no --rule")
    with _progress(not options.json) as progress:
        figures = (certify if options.rule is None else certify_rule)(
            options.model,
            options.task if options.rule is None else options.rule,
            **given,
            criterion=asked,
            config=options.config,
            out=options.out,
            overwrite=options.overwrite,
            progress=progress,
        )
    _print(options, figures, _certify_tables if options.rule is None else _domain_tables)
    if figures.get("interrupted"):
        sys.stderr.write("byheart: interrupted; what had been proved until then is stated\n")
        return INTERRUPTED
    return EXIT_CODES[figures["verdict"]]


def _claims(options: argparse.Namespace) -> int:
    from constructions.claims import claims

    found = claims(options.claim or None)
    listed = [
        {
            "id": claim.id,
            "title": claim.title,
            "verdict": claim.judgement,
            "reconstructed": claim.reconstructed or None,
            "source": claim.source,
            "printed": claim.printed,
            "truth": claim.truth,
            "hypotheses": [hypothesis.statement for hypothesis in claim.hypotheses],
            "parameters": dict(claim.parameters) if claim.build else None,
            "page": claim.page,
        }
        for claim in found
    ]
    if options.json:
        sys.stdout.write(json.dumps(listed) + "\n")
        return PROVED
    _print_tables(_claims_tables(listed, in_full=bool(options.claim)))
    return PROVED


def _audit(options: argparse.Namespace) -> int:
    # Its matrices are small: threads of the BLAS, which is loaded now, would wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from constructions.claims import claims
    from verify.claims.audit import audit_summaries

    ids = [claim.id for claim in claims(options.claim or None)]  # an unknown id is refused before any work
    summaries: list[dict[str, Any]] = []
    interrupted = False
    try:
        with _progress(not options.json) as progress:
            for summary in audit_summaries(ids, full=options.full, progress=progress, workers=_workers(options)):
                summaries.append(summary)
    except KeyboardInterrupt:
        interrupted = True
    order = {id: place for place, id in enumerate(ids)}
    summaries.sort(key=lambda summary: order.get(summary["id"], len(order)))
    if options.json:
        sys.stdout.write(json.dumps(summaries) + "\n")
    else:
        _print_tables(_audit_tables(summaries))
    if interrupted:
        sys.stderr.write(f"byheart: interrupted after {len(summaries)} of {len(ids)} claims\n")
        return INTERRUPTED
    if all(summary["confirmed"] for summary in summaries):
        return PROVED
    refuted = any(piece["verdict"] == "REFUTED" for summary in summaries for piece in summary["evidence"])
    return REFUTED if refuted else UNDECIDED


def _build(options: argparse.Namespace) -> int:
    from byheart.job import build_claim
    from constructions.claims import claim
    from constructions.errors import InputError

    parameters = dict(options.param)
    if len(parameters) < len(options.param):
        raise InputError(f"--param {' '.join(name for name, _ in options.param)}: a name is given twice")
    with _progress(not options.json) as progress:
        summary = build_claim(
            claim(options.claim),
            out=options.out,
            parameters=parameters,
            overwrite=options.overwrite,
            device=options.device,
            progress=progress,
        )
    _print(options, summary, _memorize_tables)
    return EXIT_CODES[summary["verdict"]]


def _assumptions(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from constructions.capacity.promised_ranks import promised_ranks
    from constructions.errors import FileFormatError
    from constructions.tasks.context_arrays import read_contexts
    from verify.saturated.assumptions import assess_assumptions

    try:
        contexts, queries = read_contexts(options.data)
    except FileFormatError as error:  # no file that byheart wrote: bad input, and nothing is refuted
        return _fail(options, error, BAD_USAGE)
    with _progress(not options.json) as progress:
        found = assess_assumptions(
            contexts, queries, n_heads=options.heads, samples=options.samples, seed=options.seed, progress=progress
        )
    promised = promised_ranks(
        n_examples=found.n_examples,
        n_tokens=found.n_tokens,
        d_model=found.d_model,
        n_heads=found.n_heads,
        d_head=found.d_model if options.head_dim is None else options.head_dim,
    )
    _print(options, {**found.summary(), "heads": found.n_heads, "promised": asdict(promised)}, _assumptions_tables)
    return PROVED


def _missing_device(device: str) -> str:
    """Why there is no such device; empty if there is one. A machine without a GPU has refuted nothing."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return ""  # `run_summary` says so
    from verify.replica.device import DeviceError, select_device

    try:
        select_device(device)
    except DeviceError as error:
        return str(error)
    return ""


def _require_folder(folder: Path) -> None:
    from constructions.errors import InputError

    if not any((folder / name).is_file() for name in ("certificate.json", "model.safetensors")):
        kind = "holds no certificate.json" if folder.is_dir() else "is not a folder"
        raise InputError(f"folder: {folder} {kind}, expected one that `byheart memorize` wrote")


Table = tuple[str, Sequence[tuple[str, ...]]]
"""A title and rows of (what, value), or longer ones after the names of their columns."""

Rows = Sequence[Table]


def _print(options: argparse.Namespace, summary: dict[str, Any], tables: Callable[[dict[str, Any]], Rows]) -> None:
    if options.json:
        sys.stdout.write(json.dumps(summary) + "\n")
        return
    if "headline" in summary:
        reading = f"Read as {summary['reading']}.\n" if "reading" in summary else ""
        sys.stdout.write(f"{summary['headline']}\n{reading}\n")
    _print_tables(tables(summary))


def _print_tables(tables: Rows) -> None:
    from rich import box
    from rich import table as rich_table
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for title, rows in tables:
        table = rich_table.Table(
            title=title, title_justify="left", title_style="bold", show_header=False, box=box.SIMPLE
        )
        if rows and len(rows[0]) > 2:  # all of its columns fit into 80 characters
            table.box, table.padding = None, (0, 1, 0, 0)
        table.add_column(style="dim")
        for _ in rows[0][1:] if rows else [""]:
            table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)


def _capacity_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    lower, upper = summary["rank_lower"], summary["rank_upper"]
    truth = f"exactly {lower}" if lower == upper else f"at least {lower}, at most {upper}"
    fewest, count = summary["fewest_heads"], summary["rank_heads"]
    heads = "1 head holds" if count == 1 else f"{count} heads hold"
    return [
        (
            "contexts to memorize",
            f"{summary['memorized']} of {summary['contexts']}, {summary['context_length']} tokens "
            f"each, from {summary['vocabulary']} tokens",
        ),
        ("dimensions", f"d_model {summary['dim']}, d_head {summary['head_dim']}"),
        (f"{heads}, by the paper", f"{summary['paper_rank']} contexts, min(T, H d_h + d)"),
        (f"{heads}, certified", f"{truth} contexts"),
        ("heads needed, by the paper", str(summary["paper_heads"])),
        ("heads needed, certified", _heads_needed(summary["necessary_heads"], fewest)),
        ("heads needed without changing x_S", _heads_needed(summary["necessary_heads"], summary["heads_alone"])),
        *(
            [
                ("any architecture, all labels", _both(summary["any_labels"], "entries of float64")),
                ("any architecture, all laws", _both(summary["any_laws"], "numbers that depend on the laws")),
            ]
            if "any_labels" in summary
            else []
        ),
    ]


def _both(bounds: list[int], what: str) -> str:
    return f"at least {bounds[0]} {what}; {bounds[1]} suffice"


def _heads_needed(necessary: int | None, fewest: int | None) -> str:
    if fewest is None:
        return "no number of heads suffices" if necessary is None else f"at least {necessary}"
    return f"{fewest}" if necessary is None or necessary >= fewest else f"{fewest} suffice, {necessary} are necessary"


def _assumptions_tables(summary: dict[str, Any]) -> Rows:
    second, blocks, promised = summary["assumption_2"], summary["block_condition"], summary["promised"]
    size = summary["assumption_1"]["size"]
    shared = "one shared context" if summary["shared"] else "a context each"
    contexts = f"{second['verdict']}: {second['full']} of {second['contexts']} of rank {summary['tokens']}"
    if second["relation"] is not None:
        contexts += f"; context {second['first_dependent']}: {_relation(second['relation'])}"
    held = "no number of heads holds more than one example with one token"
    if blocks is not None:
        held = f"{blocks['verdict']}: {blocks['examples']} examples, {blocks['heads']} heads; {blocks['method']}"
        held += f"; {_relation(blocks['relation'])}" if blocks["relation"] is not None else ""
    return [
        (
            f"{summary['examples']} examples with {shared} of {summary['tokens']} tokens, d = {summary['dim']}",
            [
                (f"1: any {size} queries independent", _subset_test(summary["assumption_1"])),
                ("2: contexts of full rank", contexts),
                (f"3: any {size} of query + mean token", _subset_test(summary["assumption_3"])),
                ("the block condition", held),
            ],
        ),
        (
            "Ranks of the first queries: exact, and with tolerances, which prove nothing",
            [(name, _three_ranks(ranks)) for name, ranks in summary["ranks"].items()],
        ),
        (
            f"Examples that {summary['heads']} heads hold",
            [
                ("printed, H (min(n, d_h) - 1) + 1", f"{promised['printed']}, under 1 and 2"),
                ("any d_h, H (n - 1) + 1", f"{promised['sharp']}, under 2 and the block condition"),
                ("almost all contexts, H d", str(promised["generic"])),
                ("Dana et al., H d_h + d", f"{promised['dana']}, where contexts are tokens"),
            ],
        ),
    ]


def _subset_test(test: dict[str, Any]) -> str:
    text = f"{test['verdict']}: {test['method']}"
    if test["relation"] is not None:
        text += f"; {_relation(test['relation'])}"
    if (sample := test["sample"]) is not None:
        text += (
            f"; {sample['dependent']} of {sample['samples']} random subsets are dependent, so with "
            f"{100 * sample['confidence']:g} % confidence a share of at most {_above(sample['share_upper'])} is"
        )
    return text


def _relation(relation: dict[str, Any]) -> str:
    rows = relation["rows"]
    listed = ", ".join(map(str, rows[:8])) + (", .." if len(rows) > 8 else "")
    return f"exact relation between {len(rows)} vectors: {listed}"


def _three_ranks(ranks: dict[str, Any]) -> str:
    lower, upper = ranks["exact_lower"], ranks["exact_upper"]
    exact = f"{lower}" if lower == upper else f"{lower} .. {upper}"
    return (
        f"{exact} of {min(ranks['rows'], ranks['columns'])} exactly, {ranks['float64']} in float64, "
        f"{ranks['float32']} in float32; smallest singular value / largest {_number(ranks['spread'])}"
    )


def _capacity_tables(summary: dict[str, Any]) -> Rows:
    return [("Capacity", _capacity_rows(summary))]


def _memorize_tables(summary: dict[str, Any]) -> Rows:
    unit = "" if summary["target"] == "values" else " nats"
    loss = "distance from the values" if summary["target"] == "values" else "KL, memorized"
    lower, upper = summary["text_kl"]
    certified = [
        ("asked", summary["asked"]),
        ("targets", summary["origin"]),
        ("contexts held", f"{summary['held']} of {summary['memorized']}; {summary['wrong']} proved not to be"),
        *([("least margin", f">= {_below(summary['margin_lower'])}")] if summary["margin_lower"] is not None else []),
        (f"{loss}, mean", f"<= {_above(summary['mean_loss_upper'])}{unit}"),
        (f"{loss}, worst", f"<= {_above(summary['max_loss_upper'])}{unit}"),
        *(
            [("KL of a guess without the context", f">= {_below(summary['guess_kl_lower'])} nats")]
            if summary["guess_kl_lower"] is not None
            else []
        ),
        *_encoder_rows(summary),
        *(
            [
                (
                    "KL of the raw counts, all contexts, mean",
                    f"in [{_below(lower)}, {_above(upper)}] nats; memorized are smoothed counts",
                )
            ]
            if lower is not None
            else []
        ),
        *([("condition of the features", f"<= {_above(summary['condition'])}")] if summary["condition"] else []),
        *(
            [
                (
                    f"attention above 1 - {_above(summary['saturation_delta'])}",
                    f"at least {summary['saturated_pairs']} of {summary['pairs']} pairs of a head and a context",
                )
            ]
            if summary["pairs"] is not None
            else []
        ),
        ("weights", f"{_shape(summary)}, {summary['parameters']} parameters, {summary['front_end']}"),
    ]
    return [
        *([("Built", [(summary["claim"], summary["built"])])] if "claim" in summary else []),
        *(_memories_tables(summary) if "memories" in summary else []),
        *([("Capacity, for any targets", _capacity_rows(summary))] if "rank_lower" in summary else []),
        ("Certified, of the weights as written", certified),
        (
            "Replica in torch",
            [(name, _torch_row(row)) for name, row in (summary["torch"] or {}).items()]
            or [("torch", "not run here; `byheart run` does, where torch is installed")],
        ),
        ("Files", list(summary["files"].items())),
        ("Seconds", [(stage, f"{seconds:.1f}") for stage, seconds in summary["seconds"].items()]),
    ]


def _shape(summary: dict[str, Any]) -> str:
    if "blocks" in summary:
        return f"d_model {summary['dim']}, {', '.join(summary['blocks'])}"
    heads = "1 head" if summary["heads"] == 1 else f"{summary['heads']} heads"
    return f"{heads}, d_qk {summary['query_dim']}, d_head {summary['head_dim']}"


_COLUMNS = ("", "parameters", "not 0", "facts each", "bits/fact", "margin", "holds in", "s")


def _memories_tables(summary: dict[str, Any]) -> Rows:
    tried = [offer for offer in summary["memories"] if "parameters" in offer]
    refused = [(offer["memory"], offer["refused"]) for offer in summary["memories"] if "refused" in offer]
    limit = str(summary["information_limit"])
    what = "numbers" if summary["target"] == "laws" else summary["dtype"]
    last = ("no fewer", limit, "", "", "", "", what, "")
    built = [(summary["memory"], summary["built"])]
    if summary["torch"] is not None:
        run = summary["torch"][summary["dtype"]]
        proved = f"of every run within the rounding bound: {run['held_proved']}, proved"
        measured = f"holds {run['held']} of {summary['memorized']}, measured"
        built.append((f"run in {summary['dtype']}", f"{measured}; {proved}"))
    return [
        ("Memories that hold the facts when they are run", [_COLUMNS, *map(_offer_row, tried), last]),
        *([("Memories that were not taken", refused)] if refused else []),
        ("Built", built),
    ]


def _offer_row(offer: dict[str, Any]) -> tuple[str, ...]:
    return (
        offer["memory"],
        str(offer["parameters"]),
        str(offer["nonzero"]),
        f"{offer['facts_per_parameter']:.3g}",
        f"{offer['bits_per_fact']:.4g}",
        "not run" if offer["least_margin"] is None else _number(offer["least_margin"]),
        offer["smallest_dtype"] or "not run",
        f"{offer['seconds']:.1f}",
    )


def _encoder_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What a stream of d dimensions cannot avoid; nothing for labels."""
    if summary.get("unavoidable_kl") is None:
        return []
    (lower, upper), (_, reached) = summary["unavoidable_kl"], summary["encoder_kl"]
    return [
        ("KL, memorized, by frequency", f"<= {_above(reached)} nats"),
        (f"of it unavoidable with d = {summary['dim']}", f"in [{_below(lower)}, {_above(upper)}] nats"),
    ]


def _claims_tables(listed: list[dict[str, Any]], *, in_full: bool) -> Rows:
    if not in_full:
        return [("Claims", [(claim["id"], f"{claim['verdict']}: {claim['title']}") for claim in listed])]
    return [
        (
            f"{claim['id']}: {claim['title']}",
            [
                ("source", claim["source"]),
                ("printed", claim["printed"]),
                ("verdict", claim["verdict"]),
                *([("reconstructed", claim["reconstructed"])] if claim["reconstructed"] else []),
                ("true", claim["truth"]),
                *(("needs", hypothesis) for hypothesis in claim["hypotheses"]),
                ("builds", _parameters(claim["parameters"])),
                ("page", _file_of_page(claim["page"])),
            ],
        )
        for claim in listed
    ]


def _file_of_page(page: str) -> str:
    """Where a page of the documentation is: inside this package in a wheel, beside it in a clone."""
    if "://" in page:
        return page
    package = Path(__file__).parents[1]
    for file in (package / page, package.parent / page):
        if file.is_file():
            return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)
    return f"{page}, of the source"


def _parameters(parameters: dict[str, int] | None) -> str:
    if parameters is None:
        return "no weights"
    return "weights, --param " + " ".join(f"{name}={value}" for name, value in parameters.items())


def _audit_tables(summaries: list[dict[str, Any]]) -> Rows:
    tables = []
    for summary in summaries:
        rows = [("printed", summary["printed"]), ("true", summary["truth"])]
        for piece in summary["evidence"]:
            judged = (
                f"promised {piece['promised']}; certified {piece['certified']}, {piece['speaks_of']}; {piece['method']}"
            )
            rows.append((f"{piece['role']}, {piece['verdict']}", f"{piece['statement']}\n{judged}"))
        rows += [("missing", reason) for reason in summary["missing"]]
        word = "confirmed" if summary["confirmed"] else "NOT CONFIRMED"
        verdict = summary["verdict"] + (", of a reconstruction" if summary["reconstructed"] else "")
        tables.append((f"{summary['id']}: {verdict}, {word}, {summary['seconds']:.1f} s", rows))
    confirmed = sum(summary["confirmed"] for summary in summaries)
    seconds = sum(summary["seconds"] for summary in summaries)
    total = [("confirmed", f"{confirmed} of {len(summaries)} verdicts"), ("seconds", f"{seconds:.1f}")]
    return [*tables, ("Audit", total)]


def _torch_row(row: dict[str, Any]) -> str:
    judged = {True: "within the bound", False: "OUTSIDE THE BOUND", None: "not judged"}[row["within_bound"]]
    parts = [] if row["accuracy"] is None else [f"accuracy {_number(row['accuracy'])}"]
    for key, name in {"mean_kl": "mean KL", "max_label_error": "largest label error"}.items():
        parts += [f"{name} {_number(row[key])}"] if key in row else []
    what = "logit" if "mean_kl" in row else "output"
    if row.get("held") is not None:
        every = "" if row["held_proved"] is None else f" (of every run: {row['held_proved']}, proved)"
        parts.insert(0, f"holds {row['held']}{every}")
    return f"{', '.join(parts)}, largest {what} error {_number(row['max_output_error'])}, {judged}"


def _check_tables(summary: dict[str, Any]) -> Rows:
    rows = [("asked", summary["asked"]), ("by", summary["path"])]
    rows += [(each["id"], f"{each['verdict']}: {each['reason']}") for each in summary["statements"]]
    return [("Proved again", rows)]


def _run_tables(summary: dict[str, Any]) -> Rows:
    return [(f"{summary['dtype']} on {summary['device']}", [("replica", _torch_row(summary))])]


def _certify_tables(summary: dict[str, Any]) -> Rows:
    rows = [
        ("asked", summary["asked"]),
        ("verdict", summary["verdict"]),
        ("held, proved", f"{summary['held']} of {summary['facts']} facts"),
        ("not held, proved", _places(summary["wrong"], summary["wrong_contexts"])),
        ("undecided", _places(summary["undecided"], summary["undecided_contexts"])),
    ]
    for name, what in (("margin_lower", "least margin of those held"), ("guess_kl_lower", "best guess, mean KL")):
        if summary[name] is not None:
            rows.append((what, f">= {_below(summary[name])} nats"))
    if summary["mean_loss_upper"] is not None:
        rows.append(("KL, mean", f"<= {_above(summary['mean_loss_upper'])} nats"))
    rows.append(("decided by", summary["decided_by"]))
    tables: list[Table] = [("Certified, of the weights as stored", rows)]
    if "files" in summary:
        tables.append(("Files", list(summary["files"].items())))
    return tables


def _explain_tables(summary: dict[str, Any]) -> Rows:
    lost = [each for each in summary["ablations"] if each["fate"] == "lost"]
    answers = [
        (each["part"], "lost" + ("" if each["token"] is None else f": the answer is then {each['token']!r}"))
        for each in lost
    ]
    kept = summary["parts"] - len(lost) - len(summary["undecided"])
    others = [("held without each of", f"{kept} others")]
    if summary["undecided"]:
        others.append(("undecided without", ", ".join(summary["undecided"][:10])))
    return [("Set to 0, one at a time", [*answers, *others])]


def _domain_tables(summary: dict[str, Any]) -> Rows:
    rows = [
        ("asked", summary["asked"]),
        ("verdict", summary["verdict"]),
        ("right, proved", f"{summary['right']} of {summary['inputs']} inputs"),
        ("wrong, proved", _inputs(summary["wrong"], summary["wrong_inputs"])),
        ("undecided", _inputs(summary["undecided"], summary["open_inputs"])),
        ("decided by", f"{summary['method']}; {summary['climbed']} inputs in the ladder of arithmetics"),
    ]
    tables: list[Table] = [("Certified, of the weights as stored", rows)]
    if "files" in summary:
        tables.append(("Files", list(summary["files"].items())))
    return tables


def _inputs(count: int, named: list[list[int]]) -> str:
    """How many inputs, and some of them."""
    shown = "; ".join(" ".join(map(str, each)) for each in named[:10])
    return str(count) + (f": {shown}{'; ...' if count > 10 else ''}" if named else "")


def _places(count: int, places: list[int]) -> str:
    """How many contexts, and the first of them."""
    shown = ", ".join(map(str, places[:10]))
    return str(count) + (f": contexts {shown}{', ...' if count > 10 else ''}" if places else "")


def _export_tables(summary: dict[str, Any]) -> Rows:
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    facts, proved = summary["facts"], summary["proved"]
    rows = [("host", f"{summary['host']} ({versions})"), ("type", summary["dtype"])]
    if proved is not None:
        rows.append(("proved of what is written", f"{proved['right']} of {facts} argmaxes right"))
    if summary["typed"] is not None:
        rows.append(("contexts typed and read back", f"{summary['typed']} of {facts}"))
    tables: list[Table] = [("Written", [*rows, ("folder", summary["out"])])]
    judged = {True: "within what rounding explains", False: "OUTSIDE OF WHAT ROUNDING EXPLAINS", None: "not judged"}
    for name, run in summary["runs"].items():
        off = f"{_number(run['largest_difference'])}, {_number(run['relative_difference'])} of the largest logit"
        figures = [] if run["held"] is None else [("held", f"{run['held']} of {facts}")]
        figures.append(("largest difference", f"{off}; {judged[run['agrees']]}"))
        if run["mean_kl"] is not None:
            figures.append(("mean KL", f"{_number(run['mean_kl'])} nats"))
        tables.append((f"Loaded: {name}", figures))
    return tables


def _below(value: float | None) -> str:
    return "unknown" if value is None else decimal_below(value)


def _above(value: float | None) -> str:
    return "unknown" if value is None else decimal_above(value)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
