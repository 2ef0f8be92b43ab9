"""Contexts without answers, from tables, lines and arrays: what is read, and what is refused by its line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.capacity.context_list import read_context_list
from constructions.errors import FileFormatError, InputError
from tests.command_line import written


def read(tmp_path, text, name="contexts.csv", **form):
    return read_context_list(written(tmp_path / name, text.encode()), **form)


@pytest.mark.parametrize(
    ("text", "name"),
    [("a,b\nb,b\n", "c.csv"), ("a b\n  b   b\n", "c.txt"), ("a\tb\nb\tb\n", "c.tsv"), ("a;b\r\nb;b\r\n", "c.csv")],
)
def test_every_cell_is_a_token_whatever_separates_them(tmp_path, text, name):
    found = read(tmp_path, text, name, header=False)
    assert (found.contexts.tolist(), found.vocabulary) == ([[0, 1], [1, 1]], ("a", "b"))
    assert found.reading.startswith("contexts alone, without answers: 2 rows")


def test_a_header_is_no_context(tmp_path):
    found = read(tmp_path, "token,question\nx,y\n")
    assert found.vocabulary == ("x", "y") and found.reading.endswith("names the columns")


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1).map(list))
def test_an_array_and_a_table_of_numbers_are_the_same_contexts(tmp_path_factory, contexts):
    folder = tmp_path_factory.mktemp("contexts")
    table = "".join(f"{a},{b}\n" for a, b in contexts)
    of_table = read_context_list(written(folder / "contexts.csv", table.encode()), header=False)
    np.savez(folder / "contexts.npz", contexts=np.array(contexts))
    of_array = read_context_list(folder / "contexts.npz")
    texts = [[found.vocabulary[n] for n in row] for found in (of_table, of_array) for row in found.contexts]
    assert texts == [[str(n) for n in row] for row in [*contexts, *contexts]]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a,b\na,b\n", "line 2 of the table is the context of line 1 again, expected distinct contexts"),
        ("a,b\na\n", "line 2 of the table has 1 cell, but line 1 has 2"),
        ("a,b\n,b\n", "line 2 of the table has an empty cell"),
        ("\n", "no rows of contexts"),
    ],
)
def test_what_is_no_list_of_distinct_contexts_is_refused_by_its_line(tmp_path, text, match):
    with pytest.raises(InputError, match=match):
        read(tmp_path, text, header=False)


def test_arrays_of_other_names_or_types_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", contexts=np.eye(2, dtype=int), laws=np.eye(2))
    with pytest.raises(FileFormatError, match="contexts alone"):
        read_context_list(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", contexts=np.eye(2))
    with pytest.raises(InputError, match="contexts"):
        read_context_list(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", contexts=np.zeros((2, 2), dtype=int))
    with pytest.raises(InputError, match="pairwise distinct"):
        read_context_list(tmp_path / "c.npz")
