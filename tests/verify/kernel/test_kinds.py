"""Kinds are found by their names, and by nothing else that a certificate may say."""

from pathlib import Path

import pytest

from verify.kernel import answers, runs, text
from verify.kernel.kinds import find_statement, find_task, kinds_in
from verify.kernel.verdicts import BadInputError


def test_a_kind_of_statement_is_the_file_of_its_name() -> None:
    assert [find_statement(kind.ID) for kind in (answers, runs, text)] == [answers, runs, text]


@pytest.mark.parametrize(
    "id",
    ["halts", "check", "__main__", "__init__", "", "../verdict", "a\0b", "text.ID", "Answers", "ａnswers", "a" * 4096],
)
def test_what_is_no_kind_is_not_found(id: str) -> None:
    assert find_statement(id) is None and find_task(id) is None


def test_kinds_of_another_folder_are_its_files(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "few_tokens.py").write_text('ID = "few-tokens"\n')
    [kind] = kinds_in(tmp_path)
    assert kind.ID == "few-tokens" and find_statement("few-tokens") is None
    assert kinds_in(tmp_path)[0] is kind


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("few.py", "ID = 'many'", "is not the name of the file"),
        ("few.py", "", "is not the name of the file"),
        ("answers.py", "ID = 'answers'", "a kind of statement that there is"),
        ("few.py", "raise ValueError('no')", "cannot be run: no"),
        ("few.txt", "ID = 'few'", "has no file of a kind of statement"),
    ],
)
def test_what_is_no_kind_of_another_folder_is_bad_input(file: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / file).write_text(text)
    with pytest.raises(BadInputError, match=said):
        kinds_in(tmp_path)
