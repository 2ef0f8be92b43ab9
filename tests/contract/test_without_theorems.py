"""The core does without the theorems: their folders are deleted, and what does not speak of them works as before."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from byheart.cli.main import COMMANDS
from byheart.theory import FOLDERS

ROOT = Path(__file__).parents[2]
TABLE = "number,next\n0,1\n1,2\n2,3\n3,0\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The packages without what speaks of the theorems; beside them a text and a table, and the memories of both."""
    place = tmp_path_factory.mktemp("core")
    for package in ("byheart", "constructions", "verify"):
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in FOLDERS:
        if folder != "byheart.theorems":  # it only imports them, and says what is missing
            shutil.rmtree(place / folder.replace(".", "/"))
    (place / "facts.csv").write_text(TABLE)
    (place / "verse.txt").write_text("The rose is red, the violet's blue,\nthe honey's sweet, and so are you.\n")
    for source, name, how in (("facts.csv", "facts", ("--header",)), ("verse.txt", "verse", ("--whole",))):
        assert byheart(place, "memorize", source, *how, "--out", name).returncode == 0
    return place


@pytest.fixture(scope="module")
def bare(copy, tmp_path_factory):
    """The same without the folder that imports them, as well."""
    place = tmp_path_factory.mktemp("bare") / "core"
    return shutil.copytree(copy, place, ignore=shutil.ignore_patterns("__pycache__", "theorems"))


def byheart(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command of the copy that lies in this place."""
    origin = f"import sys, byheart; assert byheart.__file__.startswith({str(place)!r}); sys.argv[0] = 'byheart'; "
    command = [sys.executable, "-c", origin + "from byheart.cli.main import main; sys.exit(main())", *words]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("recite", "verse"), "the honey's sweet, and so are you.\n"),
        (("ask", "facts", "1"), "'1' -> '2': FACT PROVED"),
        (("check", "facts"), "MEMORIZED, PROVED: 4 of 4"),
        (("check", "--fast", "verse"), "PROVED"),
        (("certify", "facts/model.safetensors", "--task", "facts.csv", "--header"), "MEMORIZED, PROVED: 4 of 4"),
        (("export", "facts", "--to", "safetensors", "--out", "exported"), "exported"),
        (("memories",), "knots"),
        (("--help",), "memorize"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_of_the_core_works_without_the_theorems(copy, words, said):
    ran = byheart(copy, *words)
    assert ran.returncode == 0 and said in ran.stdout, ran.stderr


def test_the_help_names_every_command_without_what_imports_the_theorems(bare):
    ran = byheart(bare, "--help")
    assert ran.returncode == 0 and all(f"\n    {name} " in ran.stdout for name in COMMANDS), ran.stderr
    ran = byheart(bare, "claims")
    assert ran.returncode == 2 and ran.stderr.startswith("byheart: byheart/theorems is not there, expected")


def test_weights_run_without_the_theorems(copy):
    pytest.importorskip("torch")
    ran = byheart(copy, "run", "facts")
    assert ran.returncode == 0 and "4 of 4" in ran.stdout, ran.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("capacity", "facts.csv", "--header"),
        ("claims",),
        ("audit",),
        ("build",),
        ("assumptions", "examples.npz"),
        ("exercise",),
    ],
    ids=lambda words: words[0],
)
def test_a_command_of_the_theorems_says_in_one_sentence_what_is_missing(copy, words):
    ran = byheart(copy, *words)
    (sentence,) = ran.stderr.splitlines()
    assert ran.returncode == 2 and ran.stdout == ""
    assert sentence.endswith(" is not there, expected a whole copy of byheart: this speaks of the theorems")


def test_the_heads_of_theorem_1_are_no_memory_where_their_folder_is_missing(copy):
    ran = byheart(copy, "memorize", "facts.csv", "--header", "--heads", "3", "--out", "heads")
    assert ran.returncode == 2 and "memory is 'theorem-1', expected one of 'smallest'" in ran.stderr
    assert not (copy / "heads").exists()
