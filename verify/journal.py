"""Store results piece by piece, so that an interrupted run can resume.

A file is input: whatever it says, a result in it is believed only if this user's own run wrote it, about the same thing
and with the same program. So each piece is written with a code that nobody can make who does not know a key, and the
key lies where this user alone can read it. Whatever else the file holds is worked out again.

Pages: docs/rigour/domains.md, docs/audit.md
"""

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from constructions.errors import FileFormatError, InputError, WorkerError
from constructions.formats.files import canonical_json, read_regular_file, require_regular_file, write_atomically
from verify.workers import Workers, completed

_KEY_BYTES = 32
_BEGINNING = b'{"code":"'

Piece = TypeVar("Piece")


class Journal:
    """The pieces of some work that earlier runs of this user have finished, and a place for further ones.

    Args:
        path: The file; it need not exist.
        about: Says as JSON data what the results depend on beside the piece, as that is when it is called.

    Raises:
        InputError: The key of this user cannot be written, or others can read it.
    """

    def __init__(self, path: Path, about: Callable[[], object]) -> None:
        self.path = Path(path)
        self.look, self.about = about, about()
        self._key = _own_key()
        self._pieces: dict[str, Any] = {}
        self._is_ours = False  # whether the file consists of lines of this run and of believed ones
        self.refused = self._read()
        """How many lines of the file are not believed: torn, changed, or about something else, or of another user."""
        self.lost: OSError | None = None
        """Why the last result that could not be written was not, such as a full disk; none if all were."""

    def get(self, piece: object) -> Any:
        """Return the stored result for a piece as JSON data; None if no run has finished it."""
        return self._pieces.get(canonical_json(piece))

    def add(self, piece: object, found: object) -> None:
        """Store the result of a finished piece; both are JSON data.

        Where it cannot be written, the work goes on, and `lost` says why.

        Raises:
            InputError: It is something that JSON cannot hold, such as NaN.
        """
        name = canonical_json(piece)
        line = self._line(name, found)
        self._pieces[name] = found
        try:
            if self._is_ours:
                with open(self.path, "ab") as file:
                    file.write(line)
            else:  # without what is not believed, such as half a line of a run that was killed
                self._read()  # what another run of now has added
                write_atomically(self.path, b"".join(self._line(*stored) for stored in self._pieces.items()))
            self._is_ours = True
        except OSError as error:  # there may be half a line now
            self.lost, self._is_ours = error, False

    def remove(self) -> None:
        """Delete the file, because no work remains."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> int:
        """Load the trusted lines of the file; return how many lines are not trusted."""
        lines = _lines(self.path)
        believed = [entry for line in lines if (entry := self._believed(line)) is not None]
        self._pieces = {**dict(believed), **self._pieces}
        return len(lines) - len(believed)

    def _line(self, piece: str, found: object) -> bytes:
        record = {"piece": piece, "found": found}
        return canonical_json({**record, "code": self._code(record)}).encode() + b"\n"

    def _code(self, record: dict[str, Any]) -> str:
        return hmac.new(self._key, canonical_json([self.about, record]).encode(), hashlib.sha256).hexdigest()

    def _believed(self, line: bytes) -> tuple[str, Any] | None:
        try:
            record = json.loads(line)
            code = record.pop("code")
            if not hmac.compare_digest(code, self._code(record)):
                return None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return record["piece"], record["found"]


def cached_map(
    work: Callable[[Piece], Any],
    pieces: Iterable[Piece],
    workers: Workers | None = None,
    *,
    journal: Journal | None,
    named: Callable[[Piece], object],
    keep_if: Callable[[Any], bool] = lambda _: True,
) -> Generator[tuple[Piece, Any, bool], None, None]:
    """Run `verify/workers.py:completed` on the pieces that no earlier run has finished, and store the results.

    What the results depend on is looked at before the work and, by whoever did it, after it: a result is kept only
    where nothing has changed, so a program or a file that is edited meanwhile, or is another one where the worker is,
    leaves no line behind. What a worker found of other files than those here is not even given.

    Args:
        work: As of `completed`; its results are JSON data.
        pieces: What it is called with; one that stands there twice is done once.
        workers: As of `completed`.
        journal: What earlier runs have found, which is taken over, and where what this run finds is kept; if none,
            nothing is.
        named: Whatever the result for a piece depends on beside what `journal` is about, as JSON data: its name in the
            file. Like `work` and what `journal` looks with a function that a worker can import.
        keep_if: Whether a result is one that another run need not work out again.

    Yields:
        A piece, its result or the exception that it raised, and whether the result was taken over from an earlier run.
    """
    if journal is None and workers is None:
        yield from ((piece, result, False) for piece, result in completed(work, pieces))
        return
    left: dict[Piece, object] = {}
    for piece, name in completed(named, pieces):
        if isinstance(name, Exception):
            yield piece, name, False
        elif journal is not None and (outcome := journal.get(name)) is not None:
            yield piece, outcome, True
        else:
            left[piece] = name
    look = _nothing if journal is None else journal.look
    for piece, result in completed(partial(_signed, work, look, named), left, workers):
        if isinstance(result, Exception):
            yield piece, result, False
            continue
        outcome, about, name = result
        same = name == canonical_json(left[piece])
        if workers is not None and not same:
            outcome = WorkerError("its worker sees other files than those here, or they have changed meanwhile")
        elif journal is not None and same and about == canonical_json(journal.about) and keep_if(outcome):
            with suppress(InputError):  # what JSON cannot hold is worked out again
                journal.add(left[piece], outcome)
        yield piece, outcome, False


def _nothing() -> None:
    pass


def _signed(
    work: Callable[[Piece], Any], about: Callable[[], object], named: Callable[[Piece], object], piece: Piece
) -> tuple[Any, str, str]:
    result = work(piece)
    return result, canonical_json(about()), canonical_json(named(piece))


def is_kept_file(path: Path) -> bool:
    """Tell whether a file may be overwritten: it is missing, empty, or begins like a journal."""
    if not path.exists():
        return not path.is_symlink()
    try:
        require_regular_file(path)
        with open(path, "rb") as file:
            return file.read(len(_BEGINNING)) in (b"", _BEGINNING)
    except (FileFormatError, OSError):  # whatever it is, it is not ours
        return False


def _lines(path: Path) -> list[bytes]:
    try:
        return read_regular_file(path).splitlines()
    except FileFormatError:  # it is missing, or no file
        return []


def _own_key() -> bytes:
    """Return a secret of this user, created once."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "byheart" / "key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Whole or not at all, and never over that of another run.
            draft = path.with_name(f"key.{os.getpid()}")
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        about, key = path.stat(), read_regular_file(path)
    except (OSError, RuntimeError, FileFormatError) as error:  # RuntimeError: there is no home
        raise InputError("the key of kept pieces", f"cannot be read or written: {error}") from error
    shared = os.name == "posix" and (about.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or about.st_uid != os.geteuid())
    if shared or len(key) != _KEY_BYTES:
        raise InputError(
            path,
            f"has {len(key)} bytes and the mode {stat.filemode(about.st_mode)}",
            f"{_KEY_BYTES} bytes that its owner alone can read",
        )
    return key
