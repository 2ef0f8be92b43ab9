"""Errors in one sentence, in words of the command line."""

import argparse
import errno
import json
import os
import sys
import traceback
from typing import Any

from byheart.terminal.exit_codes import BAD_USAGE, INTERRUPTED, REFUTED, UNDECIDED, UNFORESEEN
from byheart.terminal.streams import abandon, complain
from constructions.counted import counted

SHOW_TRACEBACK = "BYHEART_TRACEBACK"
"""The environment variable that asks for the place where an error was raised."""

_WRITING = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "there is no permission",
    errno.EPERM: "there is no permission",
}


def meant(options: argparse.Namespace, error: BaseException) -> tuple[BaseException, int]:
    """Return what is said of an error, and its exit code.

    1 is only for what is proved to be otherwise, and for a file that is another one than was certified. A file that
    cannot be read refutes nothing.
    """
    from byheart.theory import lost
    from constructions.errors import ByheartError, LossError, TamperedError

    if isinstance(error, ModuleNotFoundError) and (part := lost(error.name)):
        return part, BAD_USAGE
    if isinstance(error, OSError) and error.errno in _WRITING:
        # Of standard output Python names no file, and a folder may be finished by then.
        where = (
            f" ({error.filename}); nothing was written" if error.filename else ", or standard output cannot be written"
        )
        return type(error)(f"{_WRITING[error.errno]}{where}"), BAD_USAGE
    if isinstance(error, OSError) and error.filename and error.strerror:
        return type(error)(f"{error.filename}: {error.strerror}"), BAD_USAGE
    if isinstance(error, MemoryError):
        return MemoryError("out of memory; memorize fewer facts or use fewer heads"), BAD_USAGE
    if isinstance(error, KeyboardInterrupt):
        return error, INTERRUPTED
    if isinstance(error, LossError):
        return error, REFUTED if error.proved else UNDECIDED
    if isinstance(error, TamperedError):
        return error, REFUTED
    return error, BAD_USAGE if isinstance(error, (ByheartError, OSError, OverflowError)) else UNFORESEEN


def fail(options: argparse.Namespace, error: object, code: int, **about: str) -> int:
    """Say what went wrong on standard error, as JSON too where it was asked for; the exit code."""
    fields = error_fields(options, error)
    if getattr(options, "json", False):
        try:
            sys.stdout.write(json.dumps({**about, **fields}) + "\n")
        except OSError:  # it may be the very stream that could not be written
            abandon(sys.stdout)
    complain(fields["error"])
    if isinstance(error, BaseException) and code != INTERRUPTED and os.environ.get(SHOW_TRACEBACK):
        complain("".join(traceback.format_exception(error)))
    return code


def interrupted_after(done: int, asked: int, noun: str) -> int:
    """Say on standard error how much of what was asked was done when somebody interrupted; the exit code."""
    complain(f"interrupted after {done} of {counted(asked, noun)}")
    return INTERRUPTED


_OTHERWISE = {"d_model": "dim", "d_head": "head_dim", "n_heads": "heads", "facts_at_most": "facts"}
"""What the line calls otherwise than the arguments that it becomes."""


def _in_options(error: object, options: argparse.Namespace) -> str:
    """Return what is said of an error, `heads = 3` in words of the command line, if its command has such an option."""
    from constructions.errors import InputError

    if not isinstance(error, InputError):
        return str(error)
    name = _OTHERWISE.get(error.argument, error.argument)
    option = getattr(options, "typed", {}).get(name)
    if option is None or (name == error.argument and getattr(options, name) is None):
        return str(error)
    value = error.value.removeprefix("= ")
    if value.split(" ")[0] in ("True", "False"):
        switch, _, rest = value.partition(" ")
        return str(InputError(option if switch == "True" else f"--no-{option[2:]}", rest, error.expected))
    return str(InputError(option, value, error.expected))


def error_fields(options: argparse.Namespace, error: object) -> dict[str, Any]:
    """Return an error as fields of JSON; one that nobody foresaw is named by its class, with how to see where it came
    from.
    """
    said, kind = _in_options(error, options), type(error).__name__
    if isinstance(error, BaseException) and meant(options, error)[1] == UNFORESEEN:
        named = f"{kind}: {said}" if said else kind
        said = f"unforeseen error, nothing is answered: {named} ({SHOW_TRACEBACK}=1 in the environment shows where)"
    return {"error": said, "kind": kind}
