"""Errors in one sentence, in words of the command line."""

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


def test_an_error_keeps_its_parts_and_names_the_option():
    error = InputError("n_heads", f"= {0}", "at least 1")
    assert (error.argument, error.value, error.expected) == ("n_heads", "= 0", "at least 1")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "n_heads = 0, expected at least 1"
    assert error_fields(error) == {"error": "--heads 0, expected at least 1", "kind": "InputError"}
    assert error_fields(InputError("header", "= False is given, but no table"))["error"] == (
        "--no-header is given, but no table"
    )
    assert error_fields(InputError("n_heads of the file", "= 0"))["error"] == "n_heads of the file = 0"
