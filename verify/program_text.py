"""Hash the program and the files that a result depends on.

Page: docs/rigour/domains.md
"""

import hashlib
import inspect
import secrets
from pathlib import Path

from constructions.errors import InputError
from constructions.formats.files import canonical_json

_TOP = Path(inspect.getfile(InputError)).parents[1]
_PROGRAM = ("byheart", "constructions", "verify")


def program_sha256() -> str:
    """Return a hash of all that judges: the files of `byheart`, `constructions` and `verify`, which this process runs.

    A process that began before one of them was edited runs another text than theirs; no hash of it is found twice.
    """
    now = _program_now()
    return now if now == _BEGUN_WITH else secrets.token_hex()


def files_sha256(*places: Path, names: str = "*") -> str:
    """Hash files and the contents of folders except bytecode; a missing path gets a hash that never repeats.

    Nor where a folder has links to folders, which are not followed. Of a pipe and the like the name counts.

    Args:
        places: Files, or folders with all that is below them.
        names: Patterns of the names of files that count.
    """
    hashed = [_files_of(place, names) or secrets.token_hex() for place in places]
    return hashlib.sha256(canonical_json(hashed).encode()).hexdigest()


def _program_now() -> str:
    # An editor that is open leaves hidden files, which nobody runs.
    return files_sha256(*(_TOP / name for name in _PROGRAM), names="[!.]*")


def _files_of(place: Path, names: str) -> list[tuple[str, str]]:
    every = [place] if place.is_file() else sorted(place.rglob(names))
    if any(path.is_dir() and path.is_symlink() for path in every):
        return []
    files = [path for path in every if "__pycache__" not in path.parts]
    return [(str(path.relative_to(place)), _sha256_of(path) if path.is_file() else "") for path in files]


def _sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_BEGUN_WITH = _program_now()
