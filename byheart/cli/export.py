"""`byheart export`: write the weights for another program, load them there, and compare."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from byheart.result import Field, Result, Section
from byheart.terminal.options import add_folder, add_out_options, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import show
from verify.verdict import Verdict

HOST_CHOICES = (
    "transformer-lens",
    "transformer-bridge",
    "attention-layer",
    "huggingface",
    "gpt2",
    "onnx",
    "safetensors",
    "coq",
)

HELP = "convert to another library, load it there, and compare"
EXAMPLE = "byheart export capitals --to safetensors --out tensors"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(parser)
    parser.add_argument("--to", required=True, type=_host, choices=HOST_CHOICES, help="the library")
    parser.add_argument(
        "--dtype",
        choices=("float64", "float32", "bfloat16", "float16", "narrowest"),
        help="type of the numbers (default: that of the weights and runs the folder was made for)",
    )
    add_out_options(parser, "FOLDER-HOST")
    parser.add_argument(
        "--allow-loss",
        action="store_true",
        help="write even where rounding loses what the certificate asks",
    )
    parser.add_argument(
        "--all-contexts",
        action="store_true",
        help="run the library on all contexts, also where some are drawn because all would take long",
    )
    add_output_options(parser)


def _host(name: str) -> str:
    """Return the name of a host; the library of Hugging Face may be called as its package is."""
    return "huggingface" if name == "transformers" else name


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    require_folder(options.folder)
    folder = options.folder.absolute()
    out = options.out if options.out is not None else folder.with_name(f"{folder.name}-{options.to}")
    if options.to == "coq":
        return _write_for_coq(options, folder, out)
    from byheart.hosts.export import export

    with _said_first(options), progress_lines(options) as progress:
        report = export(
            folder,
            to=options.to,
            dtype=options.dtype,
            out=out,
            allow_loss=options.allow_loss,
            all_contexts=options.all_contexts,
            overwrite=options.overwrite,
            progress=progress,
        )
    sections = _rule_sections(report) if "rule" in report else _fact_sections(report)
    data = tuple(
        Field(name, report[name], said["words"], note=said.get("note", ""), shown=False)
        for name, said in _HIDDEN.items()
        if name in report
    )
    written = Section("Folder", (Field("out", str(out), "written to"), *data))
    return show(options, Result(report["headline"], Verdict(report["verdict"]), (*sections, written)))


def _write_for_coq(options: argparse.Namespace, folder: Path, out: Path) -> int:
    """Write the claim, its proof and the library; nothing is computed, so nothing is compared."""
    from byheart.coq.export import export_for_coq

    report = export_for_coq(folder, out, dtype=options.dtype, overwrite=options.overwrite)
    check = f"make -C {quote(str(out))}, or byheart check FOLDER --coq"
    fields = (
        Field("out", str(out), "folder"),
        Field("", check, "to check it"),
        Field("files", report["files"], "files"),
        *(Field(name, report[name], name, shown=False) for name in ("host", "dtype", "facts", "model", "task")),
    )
    return show(options, Result(report["headline"], None, (Section("Written", fields),)))


@contextmanager
def _said_first(options: argparse.Namespace) -> Iterator[None]:
    """Yield the answer on standard output also where nothing is written because of it."""
    from constructions.errors import LossError

    try:
        yield
    except LossError as error:
        if not options.json:
            sys.stdout.write(f"{str(error).partition('; nothing was written')[0]}\n")
        raise


_HIDDEN: dict[str, dict[str, str]] = {
    "task": {"words": "hash of the facts, as the host numbers tokens"},
    "criterion": {"words": "what was asked: `asked`, `tolerance`, `contexts` and `bound` as in certificate.json"},
    "proved": {"words": "facts that are `memorized`, and `wrong`, proved of the written weights"},
    "measured": {
        "words": "what was measured or noted, and nobody proves again",
        "note": "the `versions` of the packages of the host; `original`, the hash of the weights before they were "
        "rounded; `exact_conversion`, whether nothing was rounded but each weight once; `typed`, memorized contexts "
        "that can be typed and are read back, `null` without `tokenizers`; and of each of the `runs` in the host the "
        "`largest_logit`, `largest_difference`, `relative_difference`, how many `contexts` were run, all or drawn, and "
        "of these how many are `memorized` and the `mean_loss`, and `largest_bound`, `agrees` (docs/hosts.md)",
    },
    "agrees": {"words": "all runs are within what rounding explains", "note": "`null` where that is not known"},
    "files": {"words": "hash of each file"},
}
"""The words of fields that only a program reads."""


def _written(report: dict[str, Any]) -> list[Field]:
    """Return what is the same for facts and for a rule with a state."""
    versions = ", ".join(f"{name} {version}" for name, version in report["measured"]["versions"].items())
    as_written = report["written_as"] if report["written_as"] != report["host"] else None
    return [
        Field("host", report["host"], "host"),
        Field("", versions, "packages of the host"),
        Field("written_as", report["written_as"], "the host that it was written for", shown=as_written is not None),
        Field("dtype", report["dtype"], "type of the numbers"),
        Field("parameters", report["parameters"], "entries of all tensors"),
        Field("stored_bits", report["stored_bits"], "bits of all tensors"),
    ]


def _rule_sections(report: dict[str, Any]) -> tuple[Section, ...]:
    proved, generated = report["proved"], report["measured"]["generated"]
    written = [
        *_written(report),
        Field("rule", report["rule"], "the rule with a state", shown=False),
        Field("layout", report["layout"], "inputs are read as"),
        Field("inputs", report["inputs"], "inputs"),
        Field("", proved["memorized"], "inputs answered right, proved of what is written"),
        Field("", proved["wrong"], "inputs answered wrongly, proved of what is written"),
        Field("every_run", report["every_run"], "type in every run of which all are right, proved"),
    ]
    loaded = (
        Field("", generated["inputs"], "inputs drawn"),
        Field("", generated["right"], "inputs answered right, measured"),
        Field("", generated["largest_difference"], "largest difference of a logit, measured"),
    )
    return Section("Written", tuple(written)), Section("Loaded: generate", loaded)


def _fact_sections(report: dict[str, Any]) -> tuple[Section, ...]:
    measured, proved = report["measured"], report["proved"]
    of_mean = report["criterion"]["asked"] == "at-most"  # of which no single context is a part
    counts = None if of_mean else proved
    written = [
        *_written(report),
        Field("information_bits", report["information_bits"], "entropy of the labels that occur", "bits"),
        Field("facts", report["facts"], "facts"),
        Field("", counts and counts["memorized"], "facts memorized, proved of what is written"),
        Field("", counts and counts["wrong"], "facts lost, proved of what is written"),
        Field(
            "mean_loss_upper",
            report["mean_loss_upper"],
            "loss, mean, proved of what is written",
            direction="at most",
            note="`null` where no bound is finite",
            shown=of_mean,
        ),
        Field("", measured["typed"], "contexts that can be typed and are read back"),
    ]
    loaded = [
        Section(f"Loaded: {name}", _loaded(run, of_mean=of_mean, facts=report["facts"]))
        for name, run in measured["runs"].items()
    ]
    return Section("Written", tuple(written)), *loaded


def _loaded(run: dict[str, Any], *, of_mean: bool, facts: int) -> tuple[Field, ...]:
    judged = {True: "yes", False: "NO", None: "not judged"}[run["agrees"]]
    drawn = f"drawn of {facts:,}; --all-contexts runs all" if run["contexts"] != facts else None
    return (
        Field("", run["contexts"], "contexts run"),
        Field("", drawn, "these are"),
        Field("", None if of_mean else run["memorized"], "right in this run, measured"),
        Field("", run["largest_difference"], "largest difference of a logit, measured"),
        Field("", run["relative_difference"], "as a share of the largest logit"),
        Field("", judged, "it is within what rounding explains"),
        Field("", run["mean_loss"], "loss, mean, measured"),
    )
