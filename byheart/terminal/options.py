"""Options that several commands take: JSON, where to write, and where the work is done."""

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.terminal.argument_types import bound, count, path
from byheart.terminal.streams import complain
from constructions.counted import counted

if TYPE_CHECKING:
    from constructions.tasks.criterion import Criterion
    from verify.journal import Journal
    from verify.workers import Workers


def add_json_option(parser: argparse._ActionsContainer) -> None:
    """Ask for JSON."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def add_output_options(parser: argparse.ArgumentParser, *, verbose: bool = False) -> argparse._MutuallyExclusiveGroup:
    """How much is said: JSON, the answer alone, or where there is more, all of it. Returns the group of the options."""
    how = parser.add_mutually_exclusive_group()
    add_json_option(how)
    how.add_argument("--quiet", action="store_true", help="print only the first line, and no progress")
    if verbose:
        how.add_argument("--verbose", action="store_true", help="print all figures")
    return how


def add_folder(parser: argparse.ArgumentParser, help: str = "a byheart folder", **how: Any) -> None:
    """Add the argument of a certified folder."""
    parser.add_argument("folder", type=path, help=help, **how)


def add_criterion_options(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the options that say what is asked of a model instead of `default`."""
    parser.add_argument(
        "--at-least", type=count, metavar="K", help=f"criterion: at least K contexts are right (default: {default})"
    )
    parser.add_argument("--at-most", type=bound, metavar="NATS", help="criterion: the mean divergence is at most NATS")
    parser.add_argument(
        "--tolerance", type=bound, metavar="NATS", help="largest KL of a right distribution (default: 0.001)"
    )


def criterion_of(options: argparse.Namespace, tolerance: float) -> "Criterion":
    """Return what the options of `add_criterion_options` ask.

    Args:
        options: The options.
        tolerance: Nats, where they say none.

    Raises:
        InputError: They ask two questions, or say of a mean what is said of each distribution.
    """
    from constructions.errors import InputError
    from constructions.tasks.criterion import Criterion

    if options.at_least is not None and options.at_most is not None:
        raise InputError(f"both --at-least {options.at_least} and --at-most {options.at_most}", "are given", "one")
    if options.at_most is not None:
        if options.tolerance is not None:
            given = f"--tolerance {options.tolerance} beside --at-most {options.at_most}"
            raise InputError(given, "is a tolerance of each distribution, but a mean is asked for", "one of the two")
        return Criterion.at_most(options.at_most)
    within = tolerance if options.tolerance is None else options.tolerance
    if options.at_least is not None:
        return Criterion.at_least(options.at_least, tolerance=within)
    return Criterion(tolerance=within)


def add_out_options(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Where to write, and whether over what lies there; the folder has to be named if no default is said."""
    parser.add_argument(
        "--out",
        type=path,
        required=default is None,
        metavar="FOLDER",
        help="output folder" if default is None else f"output folder (default: {default})",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing byheart folder")


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """Where torch runs the model."""
    parser.add_argument("--device", default="cpu", help="also run the model here, e.g. cuda (default: cpu)")


def add_worker_options(parser: argparse.ArgumentParser) -> None:
    """Where the work is done."""
    several = parser.add_mutually_exclusive_group()
    several.add_argument("--workers", type=count, metavar="K", help="number of worker processes on this machine")
    several.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask scheduler whose workers share the work",
    )


def add_keep_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Where a run keeps what it has finished, for a later one to take over."""
    parser.add_argument(
        "--keep",
        type=path,
        metavar="FILE",
        help=f"save {what} in FILE, and resume from it",
    )


def journal_of(options: argparse.Namespace) -> "Journal | None":
    """Return what earlier runs have kept in the file that is asked for; one that holds something else is left
    as it is.
    """
    from constructions.errors import InputError
    from verify.certificates.provenance import all_that_judges
    from verify.journal import Journal, is_kept_file

    file = options.keep
    if file is None:
        return None
    above = file.absolute().parent
    if not above.is_dir() or not os.access(above, os.W_OK) or not is_kept_file(file):
        raise InputError(
            "--keep", f"is {str(file)!r}", "a file that --keep wrote, or a new one in a folder that can be written"
        )
    return Journal(Path(os.path.realpath(file)), all_that_judges)  # a link stays, and what it leads to is written


def say_what_was_kept(journal: "Journal | None", earlier: int, now: int) -> None:
    """Write to standard error how much was taken over and how much was worked out."""
    if journal is None:
        return
    refused = f"; {counted(journal.refused, 'line')} rejected (signature mismatch)" if journal.refused else ""
    lost = f"; not all could be kept: {journal.lost}" if journal.lost else ""
    complain(
        f"{earlier} taken over from {journal.path}, as earlier runs left it, not proved again; {now} judged "
        f"by this run{refused}{lost}"
    )


def workers(options: argparse.Namespace) -> "Workers | None":
    """Return what makes the executor that is asked for; none: work here."""
    from verify.workers import cluster, processes

    if options.scheduler is not None:
        return partial(cluster, options.scheduler)
    return None if options.workers is None else partial(processes, options.workers)
