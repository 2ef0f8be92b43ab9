"""Options that several commands take: JSON, where to write, and where the work is done."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from byheart.terminal.argument_types import count, path

if TYPE_CHECKING:
    from verify.workers import Workers


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Ask for JSON."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")


def add_out_options(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Where to write, and whether over what lies there; the folder has to be named if no default is said."""
    parser.add_argument(
        "--out",
        type=path,
        required=default is None,
        metavar="FOLDER",
        help="where to write" if default is None else f"where to write (default: {default})",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a folder that byheart wrote before")


def add_worker_options(parser: argparse.ArgumentParser) -> None:
    """Where the work is done."""
    several = parser.add_mutually_exclusive_group()
    several.add_argument("--workers", type=count, metavar="K", help="work on K at a time, in processes of this machine")
    several.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="work on many at a time, with this Dask scheduler",
    )


def workers(options: argparse.Namespace) -> "Workers | None":
    """What makes the executor that is asked for; none: work here."""
    from verify.workers import cluster, processes

    if options.scheduler is not None:
        return partial(cluster, options.scheduler)
    return None if options.workers is None else partial(processes, options.workers)
