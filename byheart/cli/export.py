"""`byheart export`: write the weights for another program, load them there, and compare."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from byheart.terminal.exit_codes import EXIT_CODES, PROVED
from byheart.terminal.options import add_folder, add_out_options, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Rows, Table, above, number, print_summary
from constructions.counted import counted

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
    tables = _fold_tables if "rule" in report else _export_tables
    print_summary(options, {**report, "out": str(out)}, tables)
    return EXIT_CODES[report["verdict"]]


def _write_for_coq(options: argparse.Namespace, folder: Path, out: Path) -> int:
    """Write the claim, its proof and the library; nothing is computed, so nothing is compared."""
    from byheart.coq.export import export_for_coq

    report = export_for_coq(folder, out, dtype=options.dtype, overwrite=options.overwrite)
    print_summary(options, {**report, "out": str(out)}, _coq_tables)
    return PROVED


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


def _stored(summary: dict[str, Any]) -> str:
    """Return the bits in the file, and how much of them the labels need."""
    bits, known = summary["stored_bits"], summary["information_bits"]
    share = f", of which the labels' entropy is {known / bits:.1%}" if known else ""
    return f"{summary['parameters']:,} entries, {bits:,} bits{share}"


def _coq_tables(summary: dict[str, Any]) -> Rows:
    check = f"make -C {quote(summary['out'])}, or byheart check FOLDER --coq"
    return [("Written", [("folder", summary["out"]), ("to check it", check), ("files", ", ".join(summary["files"]))])]


def _fold_tables(summary: dict[str, Any]) -> Rows:
    measured, proved, inputs = summary["measured"], summary["proved"], summary["inputs"]
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    generated = measured["generated"]
    written = [
        ("host", f"{summary['host']} ({versions})"),
        ("type", summary["dtype"]),
        ("stored", f"{summary['parameters']:,} entries, {summary['stored_bits']:,} bits"),
        ("read as", summary["layout"]),
        ("right, proved of what is written", f"{proved['held']} of {inputs}, wrong {proved['wrong']}"),
    ]
    if summary["every_run"] is not None:
        written.append((f"every {summary['every_run']} run", "right on all inputs, proved"))
    loaded = [
        ("right, measured", f"{generated['right']} of {counted(generated['inputs'], 'drawn input')}"),
        ("largest difference of a logit", number(generated["largest_difference"])),
    ]
    return [("Written", [*written, ("folder", summary["out"])]), ("Loaded: generate", loaded)]


def _right(run: dict[str, Any], facts: int) -> str:
    """Return how many contexts a run held, and how many it was run on."""
    drawn = "" if run["contexts"] == facts else f" drawn of {facts}; --all-contexts runs all"
    return f"{run['held']} of {run['contexts']}{drawn}"


def _export_tables(summary: dict[str, Any]) -> Rows:
    measured = summary["measured"]
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    facts, proved = summary["facts"], summary["proved"]
    of_mean = summary["criterion"]["asked"] == "at-most"  # of which no single context is a part
    rows = [("host", f"{summary['host']} ({versions})"), ("type", summary["dtype"])]
    rows.append(("stored", _stored(summary)))
    if of_mean:
        rows.append(("loss, mean, proved of what is written", f"<= {above(summary['mean_loss_upper'])}"))
    else:
        rows.append(("memorized, proved of what is written", f"{proved['held']} of {facts}, refuted {proved['wrong']}"))
    if measured["typed"] is not None:
        rows.append(("contexts typed and read back", f"{measured['typed']} of {facts}"))
    tables: list[Table] = [("Written", [*rows, ("folder", summary["out"])])]
    judged = {True: "within what rounding explains", False: "OUTSIDE OF WHAT ROUNDING EXPLAINS", None: "not judged"}
    for name, run in measured["runs"].items():
        off = f"{number(run['largest_difference'])}, {number(run['relative_difference'])} of the largest logit"
        figures = [] if of_mean else [("right in this run, measured", _right(run, facts))]
        figures.append(("largest difference", f"{off}; {judged[run['agrees']]}"))
        figures.append(("loss, mean", number(run["mean_loss"])))
        tables.append((f"Loaded: {name}", figures))
    return tables
