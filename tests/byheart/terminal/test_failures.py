"""Errors in one sentence, in words of the command line."""

import errno
import pickle
from pathlib import Path

import pytest

import byheart
from byheart.cli.main import _parser, main
from byheart.terminal.failures import error_fields
from constructions.errors import InputError


def said(error, *words):
    """What a command that was called with these words says of an error."""
    return error_fields(_parser(words[:1]).parse_args(words), error)["error"]


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
    assert main(["memorize", str(table), "--quick", "--no-header", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert words in said and "out/model.safetensors" in said and "Errno" not in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["memorize"], ["ask"], ["check"], ["recite"]])
def test_no_error_about_a_file_shows_the_number_of_an_error(words, capsys):
    for name in ("n" * 300 + ".csv", "n" * 300, "none.csv", "none"):
        assert main([*words, name]) == 2
        said = capsys.readouterr().err
        assert "Errno" not in said and Path(name).stem in said


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
    assert said(error, "memorize", "--no-header") == "--heads 0, expected at least 1"
    no_table = InputError("header", "= False is given, but no table")
    assert said(no_table, "memorize", "--no-header") == "--no-header is given, but no table"
    assert said(InputError("n_heads of the file", "= 0"), "memorize") == "n_heads of the file = 0"
    assert said(InputError("unit", "is 7"), "memorize", "--unit", "words") == "--tokens is 7"


def test_options_are_named_that_the_command_has_and_that_were_given():
    assert said(InputError("n_heads", "= 0"), "build", "dana.lemma-2", "--out", "out") == "n_heads = 0"
    assert said(InputError("d_model", "= 0"), "assumptions", "data.npz") == "d_model = 0"
    few, model = InputError("task", "has 3 answers, the model 2 logits"), "model.safetensors"
    assert said(few, "certify", model, "--task", "facts.csv") == "--task has 3 answers, the model 2 logits"
    assert said(few, "certify", model, "--rule", "max") == str(few)
    many, given = InputError("keep_domain", "= 9: 5^9 contexts", "fewer"), ("--keep-domain", "9", "--out", "out")
    assert said(many, "edit", "host", *given) == "--keep-domain 9: 5^9 contexts, expected fewer"


@pytest.mark.parametrize("command", ["memorize", "capacity"])
@pytest.mark.parametrize("name", ["a folder", "empty.csv", "ragged.csv", "none.csv"])
def test_a_bad_file_is_named_and_not_the_number_of_facts(command, name, tmp_path, capsys):
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "verse.txt").write_text("The rose is red.")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "ragged.csv").write_text("a,b\nc\n")
    assert main([command, str(tmp_path / name), "--facts", "3"]) == 2
    error = capsys.readouterr().err
    assert "--facts" not in error and ("the table" if name == "ragged.csv" else name) in error
