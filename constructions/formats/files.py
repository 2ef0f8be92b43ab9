"""Write files that are either complete or absent: written next to their place, then renamed.

Page: docs/rigour/certificate.md
"""

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError, InputError

_LARGEST_FILE = 2**34  # bytes
_FULL = (errno.ENOSPC, errno.EDQUOT)
_SHOWN = 24  # bytes on either side of a difference
_MARKS = ("certificate.json", "parity.json", "proof/edit.json")  # of results, of an export, of an edited model


def canonical_json(value: Any) -> str:
    r"""Serialize `value` to the one JSON text it has: sorted keys, no spaces, ASCII, no NaN.

    Args:
        value: Anything that `json` accepts.

    Returns:
        The text, without a final newline.

    Raises:
        InputError: The value holds NaN, an infinity, or an object that JSON cannot hold.

    Example:
        >>> canonical_json({"b": [1, "é"], "a": None})
        '{"a":null,"b":[1,"\\u00e9"]}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("value", f"cannot be written as canonical JSON: {error}") from error


def json_object(path: Path, holds: str) -> dict[str, Any]:
    """Read a JSON file that holds one object.

    Args:
        path: The file.
        holds: What the object is, for the message.

    Raises:
        FileFormatError: The file cannot be read, is no JSON, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not readable JSON: {error}") from error
    if not isinstance(content, dict):
        raise FileFormatError(f"{path} holds {type(content).__name__}, expected {holds}")
    return content


def read_regular_file(path: Path) -> bytes:
    """Return the bytes of a file on a disk; refuse a device, a pipe or a folder, whose reading might never end.

    Args:
        path: The file.

    Raises:
        FileFormatError: There is no such file, it is not a regular one, or larger than 16 GiB.
    """
    path = Path(path)
    require_regular_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def read_text(path: Path, largest: int) -> str:
    """Return the ASCII text of a regular file of at most `largest` bytes.

    Raises:
        FileFormatError: There is none.
    """
    require_regular_file(path)
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
        if len(data) > largest:
            raise FileFormatError(f"{path} is longer than {largest} bytes")
        return data.decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path} is not readable: {error}") from error


def parse_json(path: Path, text: str) -> Any:
    """Parse the JSON text of a file.

    Raises:
        FileFormatError: It is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not JSON: {error}") from error


def require_canonical(path: Path, text: str, to_json: Callable[[], str]) -> None:
    """Raise `FileFormatError` unless `to_json` gives the text of the file again."""
    try:
        is_canonical = to_json() == text
    except ValueError:  # a number that JSON has not
        is_canonical = False
    if not is_canonical:
        raise FileFormatError(f"{path} is not canonical (sorted keys, no spaces)")


def require_regular_file(path: Path) -> None:
    """Raise `FileFormatError` unless `path` is a regular file of at most 16 GiB."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise FileFormatError(f"{path} is not a regular file")
    if status.st_size > _LARGEST_FILE:
        raise FileFormatError(f"{path} has {status.st_size} bytes, more than the {_LARGEST_FILE} that are read")


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old file or the new one, never a part.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and the file is renamed; a rename
    within one folder is atomic.

    Args:
        path: Where the file should be; its folder must exist.
        data: The whole content.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "a.txt", b"whole")
        ...     (Path(folder) / "a.txt").read_bytes()
        b'whole'
    """
    with replaced_atomically(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def replaced_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary file in the folder of `path`; what the block writes into it is at `path` once the block ends.

    When the block raises, the file is removed and `path` is as it was.

    Args:
        path: Where the file shall be; its folder must exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replaced_atomically(Path(folder) / "a.txt") as temporary:
        ...         temporary.write_bytes(b"whole")
        ...     (Path(folder) / "a.txt").read_bytes()
        5
        b'whole'
    """
    path = Path(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def difference(stored: bytes, expected: bytes) -> str:
    """Describe where two different files first differ.

    Args:
        stored: What is there.
        expected: What should be there.

    Example:
        >>> difference(b"3 of 3 in float16", b"3 of 3 in float32")
        "at byte 15 it has '3 of 3 in float16', not '3 of 3 in float32'"
    """
    differing = (i for i, (a, b) in enumerate(zip(stored, expected, strict=False)) if a != b)
    place = next(differing, min(len(stored), len(expected)))
    shown = slice(max(0, place - _SHOWN), place + _SHOWN)
    actual = stored[shown].decode("utf-8", errors="replace")
    wanted = expected[shown].decode("utf-8", errors="replace")
    return f"at byte {place} it has {actual!r}, not {wanted!r}"


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Fill a folder that appears at `path` only once it is complete.

    Yields a temporary sibling folder; when the block ends it is renamed to `path`, when the block raises (Ctrl-C
    included) it is removed and `path` is as it was.

    Args:
        path: The folder to make.
        overwrite: Replace a folder that byheart wrote before (one that holds a ``certificate.json``, a ``parity.json``
            or nothing).

    Raises:
        InputError: `path` exists and may not be replaced.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as top:
        ...     with new_folder(Path(top) / "out") as folder:
        ...         _ = (folder / "a.txt").write_text("a")
        ...     sorted(p.name for p in (Path(top) / "out").iterdir())
        ['a.txt']
    """
    path = Path(path)
    refuse_existing(path, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    retired = temporary.with_name(temporary.name + ".old")
    try:
        yield temporary
        os.chmod(temporary, 0o755)
        refuse_existing(path, overwrite=overwrite)
        if path.exists():
            path.rename(retired)
        try:
            temporary.rename(path)
        except BaseException:
            if retired.exists():
                retired.rename(path)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if path.exists():
            shutil.rmtree(retired, ignore_errors=True)


def refuse_existing(path: Path, *, overwrite: bool, reads: Iterable[object] = ()) -> None:
    """Raise `InputError` if writing a new folder at `path` would destroy something.

    Args:
        path: The folder to be made.
        overwrite: Allow to replace an empty folder or one that byheart wrote.
        reads: What is read for it; files and folders of these must not lie there.

    Raises:
        InputError: `path` exists and `overwrite` is not given, `path` is not a folder of byheart's or holds what is
            read, or its place cannot be written to.
    """
    for read in reads:
        if isinstance(read, Path | str) and Path(os.path.realpath(read)).is_relative_to(os.path.realpath(path)):
            raise InputError(f"out: {path}", f"holds {read}, which is read and would be lost", "another folder")
    if not os.path.lexists(path):  # unlike Path.exists it takes a name that is too long for a file
        _require_place(path)
        return
    if not overwrite:
        raise InputError(
            f"out: {path}", "exists; choose another folder, or pass overwrite=True (--overwrite) to replace it"
        )
    ours = path.is_dir() and (not any(path.iterdir()) or any((path / name).is_file() for name in _MARKS))
    if path.is_symlink() or not ours:
        raise InputError(f"out: {path}", "exists and was not written by byheart; it is not overwritten")


def _require_place(path: Path) -> None:
    """Raise `InputError` unless a new folder can be made at `path`, which only an attempt tells.

    Permissions do not: a file system may be read-only, take no folders at all (``/proc``), or no name of that length.
    """
    above = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
    try:
        for part in path.absolute().relative_to(above).parts:
            with tempfile.TemporaryDirectory(dir=above, prefix=f".{part}."):
                pass
    except OSError as error:
        if error.errno in _FULL:
            raise type(error)(error.errno, error.strerror, str(path)) from error
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"out: {path}", "has a name that is too long for a folder", "a shorter one") from error
        wanted = f"cannot be made, as {above} is not a folder that can be written to"
        raise InputError(f"out: {path}", wanted) from error
