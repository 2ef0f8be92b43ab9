"""Errors in one sentence, in words of the command line."""

import argparse
import errno
import json
import sys
from typing import Any

from byheart.terminal.exit_codes import BAD_USAGE, INTERRUPTED, REFUTED
from constructions.counted import counted

_WRITING = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "there is no permission",
    errno.EPERM: "there is no permission",
}


def meant(error: Exception) -> tuple[Exception, int]:
    """What is said of an error and the exit code; raised again if nobody meant it to be raised."""
    from constructions.errors import ByheartError, FileFormatError, HandshakeError, LossError, TamperedError

    if isinstance(error, OSError) and error.errno in _WRITING:
        where = f" ({error.filename})" if error.filename else ""
        return type(error)(f"{_WRITING[error.errno]}{where}; nothing was written"), BAD_USAGE
    if isinstance(error, MemoryError):
        return MemoryError("out of memory; memorize fewer facts or use fewer heads"), BAD_USAGE
    if not isinstance(error, (ByheartError, OSError, OverflowError)):
        raise error
    return error, REFUTED if isinstance(
        error, (FileFormatError, HandshakeError, LossError, TamperedError)
    ) else BAD_USAGE


def fail(options: argparse.Namespace, error: object, code: int, **about: str) -> int:
    """Say what went wrong on standard error, as JSON too where it was asked for; the exit code."""
    fields = error_fields(options, error)
    if getattr(options, "json", False):
        sys.stdout.write(json.dumps({**about, **fields}) + "\n")
    sys.stderr.write(f"byheart: {fields['error']}\n")
    return code


def interrupted_after(done: int, asked: int, noun: str) -> int:
    """Say on standard error how much of what was asked was done when somebody interrupted; the exit code."""
    sys.stderr.write(f"byheart: interrupted after {done} of {counted(asked, noun)}\n")
    return INTERRUPTED


_OTHERWISE = {"d_model": "dim", "d_head": "head_dim", "n_heads": "heads", "facts_at_most": "facts"}
"""What the line calls otherwise than the arguments that it becomes."""


def _in_options(error: object, options: argparse.Namespace) -> str:
    """What is said of an error, `heads = 3` in words of the command line, if its command has such an option."""
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
    """An error as fields of JSON."""
    return {"error": _in_options(error, options), "kind": type(error).__name__}
