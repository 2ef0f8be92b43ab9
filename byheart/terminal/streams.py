"""Standard input and output as a command may find them: closed, full, or of an encoding that lacks characters."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TextIO

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


@contextmanager
def standard_streams() -> Iterator[None]:
    r"""Let every command write whatever it says: what an encoding lacks is escaped, and a closed stream swallows it.

    A character that the encoding of a terminal lacks becomes `\u4e2d`, say. Bytes on standard input that are no text
    become what no text holds, so that only the line that they are in is refused. A stream that was closed before the
    start is None in Python. While the command runs, the null device takes its place, and its descriptor, which the next
    file that is opened would get otherwise.
    """
    closed = [name for name in _MODES if getattr(sys, name) is None]
    if closed:
        _fill_descriptors()
    for name in closed:
        setattr(sys, name, open(os.devnull, _MODES[name], encoding="utf-8"))
    streams = [(stream, stream.errors) for stream in map(sys.__dict__.get, _MODES) if isinstance(stream, TextIOWrapper)]
    for stream, _ in streams:
        with suppress(OSError):  # of an input that has been read from
            stream.reconfigure(errors="surrogateescape" if stream is sys.stdin else "backslashreplace")
    try:
        yield
    finally:
        for stream, errors in streams:
            with suppress(ValueError, OSError):  # likewise, or of a stream that the command closed, or that is full
                stream.reconfigure(errors=errors)
        for name in closed:
            getattr(sys, name).close()
            setattr(sys, name, None)


def _fill_descriptors() -> None:
    """Give the null device to the free ones among the descriptors 0, 1 and 2."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def abandon(stream: TextIO) -> None:
    """Let what a stream still holds go to the null device: it cannot be written, and the end would try it again."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def complain(text: str) -> None:
    """Write a line on standard error, or nothing where that is closed or full: the exit code still tells."""
    try:
        sys.stderr.write(f"byheart: {text}\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)
