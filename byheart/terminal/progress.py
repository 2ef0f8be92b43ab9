"""A line per stage of the work on standard error."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from byheart.bars import bars
from constructions.progress import Progress, silent


@contextmanager
def progress_lines(options: argparse.Namespace) -> Iterator[Progress]:
    """Yield a line per stage on standard error while the work goes on; nothing with `--json` and `--quiet`."""
    if options.json or getattr(options, "quiet", False):
        yield silent
        return
    with bars() as progress:
        yield progress
