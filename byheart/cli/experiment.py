"""`byheart experiment`: train what the figures of the sources show, and prove what each model holds."""

import argparse
from importlib import import_module
from pathlib import Path

from byheart.terminal.argument_types import path
from byheart.terminal.options import add_output_options, add_worker_options

HELP = "train what the figures of the sources show, and prove what each model holds"
EXAMPLE = "byheart experiment --list"

_CHECKOUT = Path(__file__).parents[2]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument("name", nargs="*", metavar="NAME", help="figures, e.g. dana.4 (default: all)")
    parser.add_argument("--list", action="store_true", help="name the figures, with the number of models of each")
    parser.add_argument("--full", action="store_true", help="the grids as printed: hours, instead of minutes")
    parser.add_argument("--device", default="cpu", help="where the training is done, e.g. cuda (default: cpu)")
    add_worker_options(parser)
    parser.add_argument("--keep", type=path, metavar="FOLDER", help="of trained weights (default: weights in --out)")
    parser.add_argument(
        "--out",
        type=path,
        metavar="FOLDER",
        default="out/experiments",
        help="where to write (default: out/experiments)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="train nothing: prove every cell of the tables in --out again, and of NAME alone where some are named",
    )
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code.

    Raises:
        InputError: The experiments, which are in no wheel, do not lie beside the package.
    """
    from constructions.errors import InputError

    if not (_CHECKOUT / "experiments" / "command.py").is_file():
        raise InputError("experiments", "are not there", "a checkout of byheart, in which they lie beside the package")
    return import_module("experiments.command").run(options)
