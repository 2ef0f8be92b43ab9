"""Kinds are found by their names, and by nothing else that a certificate may say."""

import pytest

from verify.kernel import answers, runs, text
from verify.kernel.kinds import find_statement, find_task


def test_a_kind_of_statement_is_the_file_of_its_name() -> None:
    assert [find_statement(kind.ID) for kind in (answers, runs, text)] == [answers, runs, text]


@pytest.mark.parametrize(
    "id", ["halts", "check", "__main__", "__init__", "", "../verdict", "a\0b", "text.ID", "Answers", "ａnswers"]
)
def test_what_is_no_kind_is_not_found(id: str) -> None:
    assert find_statement(id) is None and find_task(id) is None
