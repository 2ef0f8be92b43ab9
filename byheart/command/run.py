"""`byheart run`: the weights in torch, judged against the certificate."""

import argparse
import json
import sys
from typing import Any

from byheart.terminal.argument_types import count
from byheart.terminal.exit_codes import EXIT_CODES, UNDECIDED
from byheart.terminal.made import torch_row
from byheart.terminal.options import add_folder, add_output_options
from byheart.terminal.places import require_folder
from byheart.terminal.streams import complain
from byheart.terminal.tables import Rows, print_summary
from verify.runs.formats import every_run_is

HELP = "run the weights in PyTorch, and compare with the certificate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    add_folder(parser)
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=("float64", "float32", "bfloat16", "float16"),
        help="number type (default: float32)",
    )
    parser.add_argument("--threads", type=count, metavar="K", help="threads on the CPU (default: PyTorch's own)")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    require_folder(options.folder)
    from byheart.job import run_summary

    if options.device != "cpu" and (missing := _missing_device(options.device)):
        if options.json:
            sys.stdout.write(json.dumps({"skipped": missing}) + "\n")
        complain(f"skipped: {missing}")
        return UNDECIDED
    summary = run_summary(options.folder, device=options.device, dtype=options.dtype, threads=options.threads)
    print_summary(options, summary, _run_tables)
    return EXIT_CODES[summary["verdict"]]


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


def _run_tables(summary: dict[str, Any]) -> Rows:
    every = [("every run", every_run_is(summary["dtype"]))] if summary["held_proved"] else []
    return [("Measured", [(f"{summary['dtype']} on {summary['device']}", torch_row(summary)), *every])]
