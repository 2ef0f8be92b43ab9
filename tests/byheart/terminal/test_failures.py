"""Errors in one sentence, in words of the command line."""

import errno
import pickle

import pytest

import byheart
from byheart.command.main import main
from byheart.terminal.failures import error_fields
from constructions.errors import InputError


def test_an_existing_folder_is_named_with_the_option_or_the_argument_that_replaces_it(novel, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    assert main(["memorize", str(novel), "--out", str(tmp_path / "out")]) == 2
    assert "(--overwrite) to replace it" in capsys.readouterr().err
    with pytest.raises(InputError, match="pass overwrite=True "):
        byheart.memorize({"a": "b"}, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "no permission"), (errno.EROFS, "read-only")],
)
def test_a_full_disk_and_a_missing_permission_are_said_in_a_sentence(number, words, tmp_path, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(number, "strerror", "out/model.safetensors")

    monkeypatch.setattr("byheart.memory.write_atomically", full)
    table = tmp_path / "facts.csv"
    table.write_text("a,b\nc,d\n")
    assert main(["memorize", str(table), "--quick", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert words in said and "out/model.safetensors" in said and "Errno" not in said
    assert not (tmp_path / "out").exists()


def test_a_folder_in_place_of_a_file_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["memorize", "."]) == 2
    assert "'.' is a folder without texts, expected a file, or a folder of .txt" in capsys.readouterr().err
    (tmp_path / "a.txt").write_text("so much depends")
    (tmp_path / "b.md").write_text("upon a red wheel barrow")
    assert main(["memorize", ".", "--memory", "probes", "--out", "out"]) == 0
    assert capsys.readouterr().out.startswith("BY HEART, PROVED: 38 of 38 characters of 2 texts")


def test_an_error_keeps_its_parts_and_names_the_option():
    error = InputError("n_heads", f"= {0}", "at least 1")
    assert (error.argument, error.value, error.expected) == ("n_heads", "= 0", "at least 1")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "n_heads = 0, expected at least 1"
    assert error_fields(error) == {"error": "--heads 0, expected at least 1", "kind": "InputError"}
    for argument, option in (
        ("unit", "tokens"),
        ("memory", "memory"),
        ("one_by_one", "one-by-one"),
        ("layer", "layer"),
    ):
        assert error_fields(InputError(argument, "is 7"))["error"] == f"--{option} is 7"
    assert error_fields(InputError("header", "= False is given, but no table"))["error"] == (
        "--no-header is given, but no table"
    )
    assert error_fields(InputError("n_heads of the file", "= 0"))["error"] == "n_heads of the file = 0"
