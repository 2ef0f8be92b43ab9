"""`byheart export --to coq`: a folder with the claim, its proof and the library, of which nothing is checked yet."""

import hashlib
import json
import subprocess

import pytest

from byheart.cli.main import main
from byheart.coq.claim import FORMATS
from byheart.coq.compiled import Coqc, check_by_coq, compile_library
from byheart.coq.export import export_for_coq
from constructions.errors import InputError
from tests.machine_checked import CAPITALS, made, needs_coq, sources
from verify.verdict import Verdict

BIGRAMS = "".join(f"{i},{j},{(i * i + 3 * j) % 7}\n" for i in range(6) for j in range(6))
SUMS = "".join(f"{i},{j},{(i + j) % 6}\n" for i in range(6) for j in range(6))
BITWISE_SUMS = "".join(f"{i},{j},{i ^ j}\n" for i in range(4) for j in range(4))
PROVED = {
    "probes": ("probes", BIGRAMS, []),
    "packed-words": ("packed-words", BIGRAMS, []),
    "affine": ("affine", SUMS, []),
    "affine in a group": ("affine", BITWISE_SUMS, []),
    "object-words": ("object-words", BIGRAMS, []),
    "probes in float64": ("probes", BIGRAMS, ["--dtype", "float64"]),
    "bit-table in bfloat16": ("bit-table", CAPITALS, ["--dtype", "bfloat16"]),
    "bit-table in float16": ("bit-table", BIGRAMS, ["--dtype", "float16"]),
    "knots of one token": ("knots", CAPITALS, []),
}
REFUSED = {
    "knots": ("knots", BIGRAMS, [], "has no proof in integers"),
    "one-hot-distributions": (
        "one-hot-distributions",
        BIGRAMS,
        ["--target", "distributions"],
        "distributions for a target",
    ),
}


@pytest.fixture
def without_coqc(monkeypatch, tmp_path):
    """A machine where nothing can be tried before it is written."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


@pytest.mark.usefixtures("without_coqc")
def test_the_command_writes_what_make_compiles(capitals_folder, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["export", str(capitals_folder), "--to", "coq", "--out", str(out)]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("WRITTEN FOR COQ, NOT YET CHECKED: the largest logit is the label's")
    assert (out / "memory" / "claim.v").read_text(encoding="utf-8") == sources(capitals_folder)["claim.v"]
    assert main([*words, "--overwrite", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    for name, digest in report["files"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    assert report["dtype"] == "float32" and report["facts"] == 5


@pytest.mark.usefixtures("without_coqc")
def test_the_format_of_the_runs_is_chosen(capitals_folder, tmp_path):
    export_for_coq(capitals_folder, tmp_path / "out", dtype="bfloat16")
    claim = (tmp_path / "out" / "memory" / "claim.v").read_text(encoding="utf-8")
    assert "facts_by_heart bfloat16 far stored 1 5 facts" in claim
    with pytest.raises(InputError, match="dtype = 'narrowest'"):
        export_for_coq(capitals_folder, tmp_path / "other", dtype="narrowest")
    assert not (tmp_path / "other").exists()


def compiles(out):
    run = subprocess.run(["make", "-C", str(out)], capture_output=True, text=True)
    assert run.returncode == 0 and "Axioms:\n" in run.stdout, run.stderr


@needs_coq
@pytest.mark.slow
def test_make_lets_coq_check_it(rose_folder, tmp_path):
    export_for_coq(rose_folder, tmp_path / "out")
    compiles(tmp_path / "out")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    place = tmp_path_factory.mktemp("library")
    compile_library(Coqc.found(), place)
    return place


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", PROVED)
def test_coq_accepts_what_is_written_of_a_memory_of_integers(library, tmp_path, name):
    memory, table, words = PROVED[name]
    folder = made(tmp_path, "table.csv", table, "--no-header", *words, memory=memory)
    report = check_by_coq(folder, library=library)
    assert report.verdict is Verdict.PROVED
    assert report.claim.number_format == (words[1] if words else "float32")


def test_a_memory_is_proved_in_each_format():
    assert {words[1] if words else "float32" for _, _, words in PROVED.values()} == set(FORMATS)


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_memory_that_rounds_is_refused_in_a_sentence(tmp_path, name):
    memory, table, words, message = REFUSED[name]
    folder = made(tmp_path, "table.csv", table, "--no-header", *words, memory=memory)
    with pytest.raises(InputError, match=message):
        export_for_coq(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
