"""Heads that ask nothing: their query is exactly 0."""

import numpy as np
import pytest

from verify.forward.idle_heads import alike, idle_heads, mostly


def test_a_head_is_idle_where_no_entry_that_may_differ_from_zero_is_read():
    W_Q = np.zeros((3, 2, 2))
    W_Q[0, 0, 1], W_Q[1, 1, 0] = -1e-320, 1e300
    rows = np.array([[True, False], [False, True], [True, True], [False, False]])
    assert idle_heads(rows, W_Q).tolist() == [[i, j, True] for i, j in [(0, 1), (1, 0), (0, 0), (1, 1)]]


@pytest.mark.parametrize(("counts", "expected"), [([1, 1], False), ([1, 2], True), ([2, 1], False), ([0, 0], False)])
def test_half_of_the_heads_are_not_most(counts, expected):
    assert mostly(np.array([[False, False], [True, True]]), np.array(counts)) is expected


def test_contexts_with_equal_rows_are_together_once_and_in_order():
    rng = np.random.default_rng(0)
    rows, row_of = rng.random((6, 3)) < 0.5, rng.integers(0, 6, 40)
    found = alike(rows, row_of)
    assert sorted(np.concatenate(found).tolist()) == list(range(40))
    for places in found:
        assert (np.diff(places) > 0).all() and (rows[row_of[places]] == rows[row_of[places[0]]]).all()
    assert len(found) == len(np.unique(rows[row_of], axis=0))


def test_a_shift_wakes_a_head():
    b_Q = np.array([[0.0, 0.0], [0.0, 5e-324]])
    assert idle_heads(np.array([[False]]), np.ones((2, 1, 2)), b_Q).tolist() == [[True, False]]
