"""Tests of verify/runs/distinct.py: what is equal is one, and nothing else is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.runs.distinct import distinct, distinct_rows, merged
from verify.runs.terms import Rows

TABLES = st.integers(1, 6).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0, 1, 2, 7, 2**40, 2**61]), min_size=width, max_size=width), min_size=1, max_size=12
    )
)


def require_classes(table: np.ndarray, first: np.ndarray, which: np.ndarray) -> None:
    """Each row is the one that stands for it, and no two stand for equal rows."""
    assert np.array_equal(table[first][which], table)
    assert len(np.unique(table, axis=0)) == len(first)


@given(TABLES)
def test_tuples_are_one_where_all_keys_are_equal(rows):
    table = np.array(rows)
    require_classes(table, *distinct(*table.T))


@given(TABLES, st.booleans())
def test_rows_are_one_where_all_entries_are_equal(rows, alike):
    table = np.broadcast_to(np.array(rows[0]), (5, len(rows[0]))) if alike else np.array(rows)
    require_classes(table, *distinct_rows(table))


def test_a_merged_row_is_as_far_off_as_the_furthest_of_its_rows():
    value = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]])
    off = np.array([[0.0, 2.0**-30], [0.0, 0.0], [2.0**-20, 0.0]])
    cells = np.array([[0, 1, 2]])
    rows, after = merged(Rows(value, off), cells)
    assert len(rows.value) == 2
    assert np.array_equal(rows.value[after[0]], value)  # -0.0 == 0.0
    assert rows.off[after[0]].tolist() == [[2.0**-20, 2.0**-30], [0.0, 0.0], [2.0**-20, 2.0**-30]]


@pytest.mark.parametrize("far", [1.0, np.inf, np.nan])
def test_a_row_of_which_nothing_is_known_does_not_spoil_an_equal_one(far):
    rows, after = merged(Rows(np.ones((2, 1)), np.array([[far], [0.0]])), np.array([[0, 1]]))
    assert rows.off[after[0, 1]].tolist() == [0.0]
    assert not rows.off[after[0, 0], 0] < 0.5


def test_rows_without_columns_are_one():
    rows, after = merged(Rows(np.zeros((3, 0)), np.zeros((1, 0))), np.array([[2, 1]]))
    assert len(rows.value) == 1 and after.tolist() == [[0, 0]]
