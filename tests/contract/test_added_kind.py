"""A kind of statement from outside of the package: two files in a folder that is named, and nothing else."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from byheart.cli.main import main
from constructions.errors import FileFormatError, InputError
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from verify.certificates.certificate import Certificate, Statement
from verify.provers.kinds import find_prover, read_kinds
from verify.provers.memorization import certify_memorization, check_memorization

ID = "integer-weights"
BITS = 3


@pytest.fixture
def kinds(tmp_path):
    """The two files, in a folder of their own."""
    return shutil.copytree(Path(__file__).parent / "added_kind", tmp_path / "kinds")


def folder_with(path: Path, bits: int, kinds: Path) -> Path:
    """A memory of two tokens whose largest weight is 5, in a block, with the statement in its certificate."""
    block = FeedForward(np.array([[5.0, 0.0], [0.0, 5.0]]), np.eye(2))
    model = Model(blocks=(block,), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    task = array_task(np.array([[0], [1]]), next_tokens=np.array([1, 0]), vocabulary=2, target="labels")
    path.mkdir()
    model.save(path / "model.safetensors")
    task.save(path / "task.safetensors")
    made = certify_memorization(model, task).certificate
    statement = Statement(ID, "read off", {"bits": bits})
    replace(made, kinds=read_kinds(kinds)).stating(statement).save(path)
    return path


def checked(capsys, *words: object) -> tuple[int, dict]:
    """The exit code of `byheart check` and what it printed."""
    code = main(["check", "--json", *map(str, words)])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("checker", [[], ["--fast"]], ids=["kernel", "prover"])
def test_the_command_line_proves_a_kind_of_ones_own_and_refutes_it(checker, kinds, tmp_path, capsys):
    true = folder_with(tmp_path / "true", BITS, kinds)
    code, said = checked(capsys, *checker, "--kinds", kinds, true)
    assert (code, said["verdict"]) == (0, "PROVED")
    assert said["headline"].startswith("MEMORIZED, PROVED: 2 of 2 contexts")
    assert said["headline"].endswith(f"believing the kinds of statement of {kinds}")
    own = said["statements"][1]
    assert (own["id"], own["verdict"], own["checker"]) == (ID, "PROVED", "kernel")
    assert own["statement"] == "All weights are integers of at most 3 bits."
    false = folder_with(tmp_path / "false", BITS - 1, kinds)
    code, said = checked(capsys, *checker, "--kinds", kinds, false)
    assert (code, said["verdict"]) == (1, "REFUTED")


def test_the_kernel_alone_proves_it_and_names_what_else_is_believed(kinds, tmp_path):
    for bits, expected in ((BITS, 0), (BITS - 1, 1)):
        folder = folder_with(tmp_path / str(bits), bits, kinds)
        words = [sys.executable, "-m", "verify.kernel", str(folder), "--kinds", str(kinds)]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
        assert run.returncode == expected, run.stdout
        believed = f"Believed beside the kernel: {kinds / 'kernel' / 'integer_weights.py'}"
        assert (run.stdout.splitlines()[-1].strip() == believed) == (bits == BITS)
    run = subprocess.run(words[:-2], capture_output=True, text=True, check=False)
    assert run.returncode == 3 and f"no proof of statements '{ID}'" in run.stdout


@pytest.mark.parametrize("checker", [[], ["--fast"]], ids=["kernel", "prover"])
def test_no_folder_brings_its_own_kinds(checker, kinds, tmp_path, capsys):
    folder = folder_with(tmp_path / "folder", BITS, kinds)
    code, said = checked(capsys, *checker, folder)
    assert code == 2 and "--kinds" in said["error"] and ID in said["error"]
    with pytest.raises(FileFormatError, match=ID):
        Certificate.load(folder)
    shutil.copytree(kinds, folder / "kernel")
    code, said = checked(capsys, *checker, "--kinds", kinds, folder)
    assert code == 2 and "kernel" in said["error"]


def test_a_sentence_that_the_numbers_do_not_make_is_refused(kinds, tmp_path):
    folder = folder_with(tmp_path / "folder", BITS, kinds)
    file = kinds / "kernel" / "integer_weights.py"
    file.write_text(file.read_text().replace("All weights", "The weights"))
    with pytest.raises(FileFormatError, match="canonical"):
        check_memorization(folder, kinds=shutil.copytree(kinds, tmp_path / "others"))


def test_what_only_the_kernel_knows_stays_open_for_the_prover(kinds, tmp_path):
    folder = folder_with(tmp_path / "folder", BITS, kinds)
    (kinds / "provers" / "integer_weights.py").unlink()
    report = check_memorization(folder, kinds=kinds)
    assert report.verdict.value == "UNDECIDED" and "there is no prover" in report.checks[1].reason
    assert find_prover(ID, kinds) is None
    with pytest.raises(InputError, match="no file of a kind"):
        read_kinds(tmp_path)
