"""`byheart run`: the weights in torch, judged against the certificate; without a folder, a record of the device."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.result import Field, Result, Section, data_fields
from byheart.terminal.argument_types import bound, count, path
from byheart.terminal.exit_codes import INTERRUPTED, UNDECIDED
from byheart.terminal.options import add_folder, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.streams import complain
from byheart.terminal.tables import show
from verify.verdict import Verdict

if TYPE_CHECKING:
    from byheart.device_runs.record import Record

HELP = "run the weights in PyTorch, and compare with the certificate"
EXAMPLE = "byheart run capitals"

_RECORD, _MINUTES = Path("out/device.json"), 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(
        parser,
        "a byheart folder; without one, every memory and construction runs in small, and a record is written",
        nargs="?",
    )
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument(
        "--dtype",
        choices=("float64", "float32", "bfloat16", "float16"),
        help="number type (default: float32; without a folder all four)",
    )
    parser.add_argument(
        "--record", type=path, metavar="FILE", help=f"without a folder: the file to write (default: {_RECORD})"
    )
    parser.add_argument(
        "--minutes",
        type=bound,
        metavar="M",
        help=f"without a folder: begin nothing after so many (default: {_MINUTES:g})",
    )
    parser.add_argument("--threads", type=count, metavar="K", help="threads on the CPU (default: PyTorch's own)")
    add_output_options(parser, verbose=True)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    _require_one_use(options)
    if options.device != "cpu" and (missing := _missing_device(options.device)):
        if options.json:
            sys.stdout.write(json.dumps({"skipped": missing}) + "\n")
        complain(f"skipped: {missing}")
        return UNDECIDED
    if options.folder is None:
        return _record(options)
    from byheart.jobs.run import run_summary

    dtype = options.dtype or "float32"
    summary = run_summary(options.folder, device=options.device, dtype=dtype, threads=options.threads)
    return show(options, _result(summary))


def _require_one_use(options: argparse.Namespace) -> None:
    """Refuse what is not a folder of ours, and options of the record beside a folder."""
    from constructions.errors import InputError

    if options.folder is not None:
        require_folder(options.folder)
        for name in ("record", "minutes"):
            value = getattr(options, name)
            if value is not None:
                raise InputError(f"--{name}", f"= {value} is given, but applies only without a folder")


def _record(options: argparse.Namespace) -> int:
    """Run every memory and construction on the device, and write the record."""
    from importlib.util import find_spec

    from constructions.errors import InputError

    if find_spec("torch") is None:
        raise InputError("torch", "is not installed; `pip install 'byheart[torch]'` to run the weights")
    from byheart.device_runs.record import DTYPES, record_device
    from verify.torch.device import on_threads

    where = options.record or _RECORD
    with progress_lines(options) as progress, on_threads(options.threads):
        record = record_device(
            where,
            device=options.device,
            dtypes=DTYPES if options.dtype is None else (options.dtype,),
            minutes=options.minutes or _MINUTES,
            progress=progress,
        )
    code = show(options, _record_result(record, where))
    return code if record.finished else INTERRUPTED


def _record_result(record: "Record", where: Path) -> Result:
    """Return what ran on the device, what did not, and where the record lies."""
    from byheart.device_runs.record import COLUMNS, reasons, table

    data = record.json()
    device = {"driver": record.driver, "torch": record.torch, "CUDA": record.cuda, "TF32": record.tf32}
    left_out = tuple(Field("", runs, reason) for reason, runs in reasons(record))
    sections = (
        Section(
            "Largest error in each case, over the batch sizes", (Field("", table(record), "cases", columns=COLUMNS),)
        ),
        Section("Left out", left_out),
        Section("Device", tuple(Field("", value or "unknown", name) for name, value in device.items())),
        Section("Files", (Field("", str(where), "record"),)),
        Section("", data_fields(data, _ONLY_DATA)),
    )
    return Result(record.headline, record.verdict, sections)


_ONLY_DATA = {
    "device": "what ran it",
    "driver": "without a folder: version of the driver; `null` on a CPU",
    "torch": "without a folder: version of torch",
    "cuda": "without a folder: version of CUDA; `null` on a CPU",
    "command": "without a folder: what was typed",
    "tf32": "without a folder: what happens to products with TF32 switched on",
    "rows": "without a folder: of each run the `kind` and `name` of the case, its `dtype`, `mode`, `batch`, "
    "`contexts`, how many are `memorized` and `memorized_proved`, the `largest_error` and `largest_bound` (`null` "
    "where none is finite), whether it `agrees` with what is proved (`null` where nothing is), and `seconds`",
    "left_out": "without a folder: each run that is missing, by `kind`, `name`, `dtype`, `mode` and `batch`, and the "
    "`reason`",
    "finished": "without a folder: whether all was tried, `false` after an interrupt",
    "seconds": "time that it took",
    "versions": "without a folder: versions of all else",
}
"""The meaning of the fields of a record that only a program reads."""


def _missing_device(device: str) -> str:
    """Why there is no such device; empty if there is one. A machine without a GPU has refuted nothing."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return ""  # `run_summary` says so
    from verify.torch.device import DeviceError, select_device

    try:
        select_device(device)
    except DeviceError as error:
        return str(error)
    return ""


def _result(summary: dict[str, Any]) -> Result:
    """Return the figures of a run as `run_summary` gives them; what does not apply is `None`."""
    from verify.runs.formats import every_run_is

    of_vectors = "mean_kl" not in summary
    what = "output" if of_vectors else "logit"
    fields = [
        Field("dtype", summary["dtype"], "type of the numbers"),
        Field("device", summary["device"], "device"),
        Field("memorized", summary["memorized"], "right in this run, measured"),
        Field(
            "memorized_proved",
            summary["memorized_proved"],
            "right in every run, proved",
            note="because no sum is rounded, all is within the rounding bound, or to first order (Lemma R15)",
        ),
        Field("all_memorized", summary["all_memorized"], "all are right in this run, measured", shown=False),
        Field("accuracy", summary["accuracy"], "share whose largest output is right, measured"),
        Field("least_margin", summary["least_margin"], "least margin of a right answer, measured", "nats"),
    ]
    losses = [
        ("mean_kl", "KL from the targets, mean, measured", "nats"),
        ("max_kl", "KL from the targets, largest, measured", "nats"),
        ("mean_label_error", "distance from the values, mean, measured", ""),
        ("max_label_error", "distance from the values, largest, measured", ""),
    ]
    fields += [Field(name, summary[name], words, unit) for name, words, unit in losses if name in summary]
    judged = {True: "yes", False: "NO", None: "not judged"}[summary["within_bound"]]
    fields += [
        Field(
            "max_output_error",
            summary["max_output_error"],
            "largest error of an output, measured",
            note="its distance from the middle of its certified enclosure",
        ),
        Field("largest_bound", summary["largest_bound"], "what rounding explains, proved", "", "at most"),
        Field("within_bound", summary["within_bound"], "every error is within its bound", shown=False),
        Field("", judged, f"every {what} is within its bound"),
        Field("note", summary["note"], "why nothing is judged"),
        Field("seconds", summary["seconds"], "time of the run", "seconds", shown=False),
    ]
    every_run = every_run_is(summary["dtype"]) if summary["memorized_proved"] else None
    sections = (Section("Run", tuple(fields)), Section("Every run", (Field("", every_run, "means"),)))
    return Result(summary["headline"], Verdict(summary["verdict"]), sections)
