"""The conditions of a partition: each one, broken, is noticed."""

import numpy as np
import pytest

from constructions.errors import InputError
from verify.theorems.capacity.independent_windows import partition_holds

CONTEXTS = np.array([[0, 1, 0], [1, 0, 1], [2, 2, 2], [1, 1, 0], [0, 0, 1], [0, 0, 0]])


def holds(skip, windows, d_model=3, d_head=2, contexts=CONTEXTS):
    return partition_holds(contexts, skip=skip, windows=windows, d_model=d_model, d_head=d_head)


def test_a_partition_and_a_part_of_one_hold():
    assert holds([0, 1, 2], [([3, 4], [0, 1]), ([5], [1])])
    assert holds([], [([3, 4], [0, 1]), ([], [])])


@pytest.mark.parametrize(
    ("skip", "windows"),
    [
        ([0, 1, 2], [([0], [1])]),  # a context twice
        ([], [([3, 4], [0, 1]), ([3], [0])]),
        ([0, 0], []),
        ([0, 3], []),  # the same last token
        ([], [([0, 3], [0, 0])]),
        ([], [([0, 1, 2], [0, 0, 0])]),  # more than d_head
        ([6], []),  # no such context
        ([], [([-1], [0])]),
        ([], [([3], [2])]),  # the last position has no difference
        ([], [([3], [-1])]),
        ([], [([3, 4], [0])]),  # a position is missing
        ([], [([2, 5], [0, 0])]),  # two constant contexts have one difference at the same position
    ],
)
def test_each_broken_condition_is_noticed(skip, windows):
    assert not holds(skip, windows)


def test_the_skip_connection_holds_no_more_than_its_width():
    assert holds([0, 1, 2], [], d_model=3) and not holds([0, 1, 2], [], d_model=2)


def test_two_constant_contexts_are_independent_at_different_positions():
    assert holds([], [([2, 5], [0, 1])])


def test_heads_wider_than_the_stream_hold_no_more_than_the_stream():
    assert holds([], [([0, 1, 2], [1, 1, 0])], d_model=3, d_head=9)
    assert not holds([], [([0, 1, 2], [1, 1, 0])], d_model=2, d_head=9)


def test_an_even_cycle_walked_back_and_forth_is_dependent():
    square = np.array([[2, 0], [2, 1], [3, 0], [3, 1]])
    assert not holds([], [([0, 1, 2, 3], [0] * 4)], d_model=4, d_head=4, contexts=square)
    directed = np.array([[1, 0], [2, 1], [3, 2], [0, 3]])
    assert holds([], [([0, 1, 2, 3], [0] * 4)], d_model=4, d_head=4, contexts=directed)


def test_a_loop_and_a_directed_cycle_are_dependent():
    contexts = np.array([[1, 0], [0, 1], [2, 2]])
    assert not holds([], [([0, 1, 2], [0] * 3)], d_model=3, d_head=3, contexts=contexts)
    assert holds([], [([0, 2], [0] * 2)], d_model=3, d_head=3, contexts=contexts)


def test_input_that_is_none_is_refused():
    with pytest.raises(InputError, match="equal rows"):
        holds([0], [], contexts=np.array([[0, 1], [0, 1]]))
    with pytest.raises(InputError, match="shape"):
        holds([0], [], contexts=np.array([0, 1]))
    with pytest.raises(InputError, match="d_head = 0"):
        holds([0], [], d_head=0)
