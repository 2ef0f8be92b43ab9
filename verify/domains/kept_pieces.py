r"""What is proved of a domain is kept piece by piece, so that a run that was interrupted goes on where it stopped.

A file is input: whatever it says, a count in it is believed only if this user's own run wrote it, of the same model and
rule and with the same program. So each piece is written with a code that nobody can make who does not know a key, and
the key lies where this user alone can read it. Whatever else the file holds is looked at anew.

Page: docs/rigour/domains.md
"""

import hashlib
import hmac
import inspect
import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError, InputError
from constructions.files import canonical_json, read_regular_file, write_atomically
from constructions.models.model import Model
from constructions.tasks.rule import RuleTask
from verify.domains.tally import Tally

_KEY_BYTES = 32


class KeptPieces:
    """The pieces of a domain that earlier runs of this user have finished, and a place for further ones.

    Args:
        path: The file; it need not exist.
        model: The weights.
        task: The rule and its domain.
        provenance: Which software and which arithmetic judges.

    Raises:
        InputError: The key of this user cannot be written, or others can read it.

    Page: docs/rigour/domains.md
    """

    def __init__(self, path: Path, model: Model, task: RuleTask, provenance: Mapping[str, str]) -> None:
        self._path = Path(path)
        self._about = canonical_json([model.sha256(), task.sha256(), program_sha256(), dict(provenance)])
        self._key = _own_key()
        lines = _lines(self._path)
        believed = [found for line in lines if (found := self._believed(line)) is not None]
        self._pieces = dict(believed)
        self._is_ours = False  # whether the file consists of lines of this run and of believed ones
        self.refused = len(lines) - len(believed)
        """How many lines of the file are not believed: torn, changed, or of another model, rule, program or user."""

    def get(self, piece: int) -> Tally | None:
        """What an earlier run has proved of a piece; none if none has finished it."""
        return self._pieces.get(piece)

    def add(self, piece: int, tally: Tally) -> None:
        """Keep a piece that is finished."""
        self._pieces[piece] = tally
        if self._is_ours:
            with open(self._path, "ab") as file:
                file.write(self._line(piece, tally))
        else:  # without what is not believed, such as half a line of a run that was killed
            write_atomically(self._path, b"".join(self._line(*each) for each in self._pieces.items()))
            self._is_ours = True

    def remove(self) -> None:
        """Delete the file: nothing is left to do."""
        self._path.unlink(missing_ok=True)

    def _line(self, piece: int, tally: Tally) -> bytes:
        record = {"piece": piece, **asdict(tally)}
        return canonical_json({**record, "code": self._code(record)}).encode() + b"\n"

    def _code(self, record: dict[str, Any]) -> str:
        return hmac.new(self._key, canonical_json([self._about, record]).encode(), hashlib.sha256).hexdigest()

    def _believed(self, line: bytes) -> tuple[int, Tally] | None:
        try:
            record = json.loads(line)
            code = record.pop("code")
            if not hmac.compare_digest(code, self._code(record)):
                return None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        for name in ("examples", "left_open"):
            record[name] = [tuple(row) for row in record[name]]
        return record.pop("piece"), Tally(**record)


def _lines(path: Path) -> list[bytes]:
    try:
        return read_regular_file(path).splitlines()
    except FileFormatError:  # it is missing, or no file
        return []


@cache
def program_sha256() -> str:
    """A hash of all that judges: the text of every module of `constructions` and `verify`.

    Page: docs/rigour/domains.md
    """
    digest = hashlib.sha256()
    for module in (__file__, inspect.getfile(RuleTask)):
        root = Path(module).parents[1]
        for path in sorted(root.rglob("*.py")):
            text = path.read_bytes()
            digest.update(f"{path.relative_to(root.parent).as_posix()}:{len(text)};".encode() + text)
    return digest.hexdigest()


def _own_key() -> bytes:
    """A secret of this user, made once."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "byheart" / "key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Whole or not at all, and never over that of another run.
            made = path.with_name(f"key.{os.getpid()}")
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            try:
                os.link(made, path)
            except FileExistsError:
                pass
            finally:
                made.unlink()
        about, key = path.stat(), path.read_bytes()
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        raise InputError(f"the key of kept pieces cannot be read or written: {error}") from error
    shared = os.name == "posix" and (about.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or about.st_uid != os.geteuid())
    if shared or len(key) != _KEY_BYTES:
        raise InputError(
            f"{path} has {len(key)} bytes and the mode {stat.filemode(about.st_mode)}, expected {_KEY_BYTES} bytes "
            "that its owner alone can read"
        )
    return key
