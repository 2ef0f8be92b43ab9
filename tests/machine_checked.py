"""Small folders for Coq, and Coq itself where it is installed: the library compiled once, and one claim at a time."""

import shutil
import subprocess
from pathlib import Path

import pytest

from byheart.cli.main import main
from byheart.coq.claim import claim_of
from byheart.coq.library import LIBRARY, MEMORY, OPTIONS, library_sources, write_sources
from byheart.coq.source import FAR, claim_source, least_scale, proof_sources

CAPITALS = "France,Paris\nPeru,Lima\nJapan,Tokyo\nItaly,Rome\nSpain,Madrid\n"
ROSE = "a rose is a rose.\n"


def _has_flocq() -> bool:
    if shutil.which("coqc") is None:
        return False
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True).stdout.strip()
    return (Path(where) / "user-contrib" / "Flocq").is_dir()


def _has_native_code() -> bool:
    if not _has_flocq():
        return False
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True).stdout.strip()
    return (Path(where).parent / "coq-core" / "kernel" / "nativevalues.cmi").is_file()


needs_native_code = pytest.mark.skipif(
    not _has_native_code(), reason="nothing is evaluated in native code: coqc, Flocq and OCaml are not all here"
)
needs_coq = pytest.mark.skipif(
    not _has_flocq(), reason="no run is proved by Coq: coqc and Flocq are not both on this machine"
)


def capitals(place):
    """A table of five facts, in a memory of 16 integers."""
    return made(place, "capitals.csv", CAPITALS, "--no-header")


def rose(place):
    """A text of 18 characters, which is said from an empty context."""
    return made(place, "rose.txt", ROSE, "--whole")


def made(place, name, text, *words, memory="probes"):
    (place / name).write_text(text, encoding="utf-8")
    out = place / Path(name).stem
    assert main(["memorize", str(place / name), *words, "--memory", memory, "--out", str(out), "--quiet"]) == 0
    return out


def sources(folder, number_format="float32"):
    """The claim of a folder and its proof, by the names of the files."""
    claim = claim_of(folder, number_format)
    return {"claim.v": claim_source(claim, least_scale(claim), FAR), **proof_sources(claim)}


def compiled_library(place):
    """A folder whose library is compiled."""
    write_sources(place, {})
    for name in library_sources():
        run = coqc(place, f"{LIBRARY}/{name}")
        assert run.returncode == 0, run.stderr
    return place


def coqc(place, file):
    return subprocess.run(["coqc", *OPTIONS, file], cwd=place, capture_output=True, text=True)


def accepts(place, files):
    """Whether Coq compiles the files in this order, and what it says."""
    for name, text in files.items():
        (place / MEMORY / name).write_text(text, encoding="utf-8")
    said = ""
    for name in files:
        run = coqc(place, f"{MEMORY}/{name}")
        said += run.stdout + run.stderr
        if run.returncode != 0:
            return False, said
    return True, said
