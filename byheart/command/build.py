"""`byheart build`: the weights that a claim promises, with their certificate."""

import argparse

from byheart.terminal.argument_types import parameter
from byheart.terminal.exit_codes import EXIT_CODES
from byheart.terminal.made import print_made
from byheart.terminal.options import add_device_option, add_out_options, add_output_options
from byheart.terminal.progress import progress_lines

HELP = "build the weights that a claim promises, and certify them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    parser.add_argument("claim", metavar="ID", help="a claim with a construction, see `byheart claims`")
    parser.add_argument(
        "--param",
        nargs="+",
        action="extend",
        type=parameter,
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the construction",
    )
    add_out_options(parser)
    add_device_option(parser, "also run the model here; ")
    add_output_options(parser, verbose=True)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.job import build_claim
    from constructions.errors import InputError
    from verify.claims import claim

    parameters = dict(options.param)
    if len(parameters) < len(options.param):
        raise InputError(f"--param {' '.join((name for name, _ in options.param))}: a name", "is given twice")
    with progress_lines(options) as progress:
        figures = build_claim(
            claim(options.claim),
            out=options.out,
            parameters=parameters,
            overwrite=options.overwrite,
            device=options.device,
            progress=progress,
        )
    print_made(options, figures, options.out)
    return EXIT_CODES[figures.verdict]
