"""Errors in one sentence, in words of the command line."""

import pytest

import byheart
from byheart.command.main import main
from constructions.errors import InputError


def test_an_existing_folder_is_named_with_the_option_or_the_argument_that_replaces_it(novel, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    assert main(["memorize", str(novel), "--out", str(tmp_path / "out")]) == 2
    assert "pass --overwrite to replace it" in capsys.readouterr().err
    with pytest.raises(InputError, match="pass overwrite=True to replace it"):
        byheart.memorize({"a": "b"}, out=tmp_path / "out")
