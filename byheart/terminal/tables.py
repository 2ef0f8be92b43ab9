"""What a command prints of a result: JSON, or a screen whose bounds are rounded outwards."""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence

from byheart.result import Result, json_text, screen
from byheart.terminal.exit_codes import EXIT_CODES, PROVED


def show(options: argparse.Namespace, result: Result) -> int:
    """Print a result as the options ask, and return the exit code of its verdict."""
    if options.json:
        sys.stdout.write(json_text(result))
    else:
        width = shutil.get_terminal_size().columns
        sys.stdout.write(screen(result, width=width, quiet=options.quiet, verbose=getattr(options, "verbose", False)))
    return exit_code(result)


def exit_code(result: Result) -> int:
    """Return the exit code that says what the verdict of a result says."""
    return PROVED if result.verdict is None else EXIT_CODES[result.verdict.value]


def show_several(options: argparse.Namespace, overview: Result, results: Sequence[Result]) -> int:
    """Print several results, as one list of JSON or as the overview of them; return the exit code of its verdict."""
    if not options.json:
        return show(options, overview)
    sys.stdout.write(json.dumps([result.json() for result in results]) + "\n")
    return exit_code(overview)


def below(value: float | None) -> str:
    """Return a decimal at most the value."""
    from verify.arithmetic.decimals import decimal_below

    return "unknown" if value is None else decimal_below(value)


def above(value: float | None) -> str:
    """Return a decimal at least the value."""
    from verify.arithmetic.decimals import decimal_above

    return "unknown" if value is None else decimal_above(value)


def number(value: float | None) -> str:
    """Four digits of a value that proves nothing."""
    return "unknown" if value is None else f"{value:.4g}"
