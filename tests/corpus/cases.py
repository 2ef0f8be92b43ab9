"""List and write the folders of the corpus: good folders are stored, bad folders are edits of them."""

import csv
import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from tests.corpus.broken_files import broken_files
from tests.corpus.false_claims import Bad, false_claims
from tests.corpus.false_pages import false_pages
from tests.corpus.false_ranks import false_ranks
from tests.corpus.false_runs import false_runs
from tests.corpus.good_folders import GOOD

HERE = Path(__file__).parent
GOOD_FOLDERS, INDEX = HERE / "good", HERE / "index.csv"


@dataclass(frozen=True)
class Case:
    """One line of the index.

    Args:
        name: The name of the folder.
        sort: ``"good"`` if every statement is true, otherwise ``"bad"``.
        kind: The kind of statement that the folder tests, or ``"files"``.
        of: The good folder that it was made from; for a good folder its own name.
        expected: The answer of a complete checker: ``"proved"``, ``"refuted"``, ``"refused"`` or ``"undecided"``.
        honest: ``"yes"`` if every hash is right and every file is canonical, otherwise ``"no"``.
        about: What the folder contains, or what was changed.
        sha256: The hash of its files.
    """

    name: str
    sort: str
    kind: str
    of: str
    expected: str
    honest: str
    about: str
    sha256: str


def bad_folders() -> list[Bad]:
    """Return all bad folders."""
    return [*false_claims(), *false_runs(), *false_ranks(), *false_pages(), *broken_files()]


def write_good(name: str, folder: Path) -> None:
    """Make a good folder again."""
    folder.mkdir(parents=True)
    GOOD[name].write(folder)


def write_bad(bad: Bad, folder: Path, good: Path = GOOD_FOLDERS) -> None:
    """Make a bad folder from a good one."""
    shutil.copytree(good / bad.of, folder)
    bad.forge(folder)


def folder_sha256(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all files in a folder, in hexadecimal."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        data = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name}{'' if path.is_file() else '/'}:{len(data)};".encode() + data)
    return digest.hexdigest()


def write_all(out: Path, good: Path = GOOD_FOLDERS) -> list[Case]:
    """Write every folder under its name, and return the lines of the index."""
    cases = []
    for name, each in GOOD.items():
        shutil.copytree(good / name, out / name)
        what = (name, "good", each.kind, name, each.expected, "yes", each.about)
        cases.append(Case(*what, folder_sha256(out / name)))
    for bad in bad_folders():
        write_bad(bad, out / bad.name, good)
        honest = "yes" if bad.honest else "no"
        what = (bad.name, "bad", bad.kind, bad.of, bad.expected, honest, bad.changed)
        cases.append(Case(*what, folder_sha256(out / bad.name)))
    return cases


def read_index(path: Path = INDEX) -> list[Case]:
    """Read the lines of an index."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Case(**row) for row in csv.DictReader(file)]


def write_index(cases: Iterable[Case], path: Path = INDEX) -> None:
    """Write the lines of an index."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Case)])
        writer.writerows(map(astuple, cases))
