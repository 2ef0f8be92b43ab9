"""Contexts of one's own, from every kind of file, and what is none."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import ByheartError, FileFormatError, InputError
from constructions.named.context_rows import context_rows, read_context_rows

NUMBERS = [[0, 1, 1], [10, 0, 1], [2, 2, 2]]
WORDS = [["the", "red", "cat"], ["the", "cat", "red"]]


def texts(rows):
    return [[str(token) for token in row] for row in rows]


@pytest.mark.parametrize("rows", [NUMBERS, WORDS])
@pytest.mark.parametrize("between", [" ", ", ", ",", ";", "\t", " | "])
def test_lines_are_contexts_whatever_stands_between_the_tokens(rows, between, tmp_path):
    path = tmp_path / "contexts.csv"
    path.write_text("\n\n".join(between.join(row) for row in texts(rows)) + "\n")
    assert read_back(path) == texts(rows)


def read_back(path):
    found = read_context_rows(path)
    return [[found.vocabulary[token] for token in row] for row in found.tokens.tolist()]


@pytest.mark.parametrize("rows", [NUMBERS, WORDS])
def test_json_and_arrays_hold_the_same(rows, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    np.save(tmp_path / "a.npy", np.array(rows))
    np.savez(tmp_path / "a.npz", contexts=np.array(rows))
    for suffix in ("json", "jsonl", "npy", "npz"):
        assert read_back(tmp_path / f"a.{suffix}") == texts(rows)


@given(st.lists(st.lists(st.integers(0, 30), min_size=2, max_size=2), min_size=1, max_size=9))
def test_numbers_are_in_the_order_of_numbers(rows):
    found = context_rows(rows)
    assert list(map(int, found.vocabulary)) == sorted({token for row in rows for token in row})
    assert [[int(found.vocabulary[token]) for token in row] for row in found.tokens.tolist()] == rows


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "0 1 1\n0 1\n", "line 2 of the table has 2 cells, but line 1 has 3"),
        ("a.csv", "0 1 1\n\n0 1\n", "line 3 of the table has 2 cells, but line 1 has 3"),
        ("a.csv", "0,,1\n", "line 1 of the table has an empty cell"),
        ("a.csv", "\n\n", "no rows of contexts"),
        ("a.json", "[[0, 1], [0]]", "row 2 has 1 token, expected 2"),
        ("a.json", "[[0, 1.5]]", "the token 1.5"),
        ("a.json", "[[0, true]]", "the token True"),
        ("a.json", "[[0, NaN]]", "the token nan"),
        ("a.json", "[0, 1]", "row 1 is 0"),
        ("a.json", "{}", "holds no contexts"),
        ("a.json", "[", "not readable JSON"),
        ("a.jsonl", "[0]\n[", "line 2 is not readable JSON"),
        ("a.npy", "x", "not a readable .npy file"),
        ("a.npz", "x", "not a readable .npz file"),
    ],
)
def test_what_is_no_file_of_contexts_is_refused_by_its_row(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises((FileFormatError, InputError), match=message.replace("[", r"\[")):
        read_context_rows(tmp_path / name)


def test_a_line_of_words_is_a_context_unless_it_is_said_to_name_the_columns(tmp_path):
    (tmp_path / "a.csv").write_text("token,question\nx,y\n")
    assert read_context_rows(tmp_path / "a.csv").vocabulary == ("question", "token", "x", "y")
    named = read_context_rows(tmp_path / "a.csv", header=True)
    assert (named.tokens.tolist(), named.vocabulary) == ([[0, 1]], ("x", "y"))


def test_quotes_hold_a_separator_and_another_one_may_be_said(tmp_path):
    (tmp_path / "a.csv").write_text('"a,b",c\nc,c\n')
    assert read_back(tmp_path / "a.csv") == [["a,b", "c"], ["c", "c"]]
    (tmp_path / "b.txt").write_text("a,b:c\nc:c\n")
    found = read_context_rows(tmp_path / "b.txt", delimiter=":")
    assert found.vocabulary == ("a,b", "c")
    (tmp_path / "c.json").write_text("[[1]]")
    for form in ({"delimiter": ","}, {"header": True}):
        with pytest.raises(InputError, match="is not a text"):
            read_context_rows(tmp_path / "c.json", **form)


def test_a_missing_file_and_arrays_of_other_shapes_are_refused(tmp_path):
    with pytest.raises(ByheartError, match="does not exist"):
        read_context_rows(tmp_path / "none.csv")
    for array in (np.zeros(3, dtype=np.int64), np.zeros((2, 2)), np.zeros((0, 2), dtype=np.int64)):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(FileFormatError):
            read_context_rows(tmp_path / "a.npy")
