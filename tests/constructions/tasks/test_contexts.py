"""Contexts are integers of the right shape, and whatever else is given is named."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.tasks.contexts import checked_contexts

GIVEN = [[0, 1], [2, 0]]


@pytest.mark.parametrize("contexts", [GIVEN, np.array(GIVEN, dtype=np.uint8), tuple(map(tuple, GIVEN))])
def test_integers_are_taken_as_they_are(contexts):
    found = checked_contexts(contexts, d_vocab=3, n_ctx=2, distinct=True)
    assert found.dtype == np.int64 and found.tolist() == GIVEN


def test_what_is_int64_is_not_copied():
    contexts = np.array(GIVEN)
    assert checked_contexts(contexts) is contexts


@pytest.mark.parametrize(
    ("contexts", "limits", "said"),
    [
        (np.ma.masked_array(GIVEN, mask=[[0, 0], [0, 1]]), {}, "masked"),
        ([np.ma.masked_array([0, 1], mask=[0, 1])], {}, "masked"),
        ([0, 1], {}, r"shape \(2,\), expected integers \[T, S\] with T >= 1 and S >= 1"),
        (3, {}, r"shape \(\)"),
        (np.zeros((2, 0), dtype=int), {"empty": True}, "S >= 1"),
        (np.zeros((0, 2), dtype=int), {}, "T >= 1"),
        ([[0.0, 1.0]], {}, "is float64"),
        ([[True, False]], {}, "is bool"),
        (GIVEN, {"n_ctx": 3}, "S = 3"),
        ([[0, 1, 0]], {"n_ctx": 2, "shorter": True}, "1 <= S <= 2"),
        (GIVEN, {"d_vocab": 2}, "tokens from 0 to 2, expected 0 .. 1"),
        ([[0, -1]], {}, "tokens from -1 to 0, expected at least 0"),
        (np.array([[0, 2**63]], dtype=np.uint64), {}, r"below 2\^63"),
        ([[0, 1], [0, 1]], {"distinct": True}, "equal rows"),
    ],
)
def test_what_is_no_contexts_is_refused(contexts, limits, said):
    with pytest.raises(InputError, match=f"contexts .*{said}"):
        checked_contexts(contexts, **limits)


def test_fewer_tokens_and_no_contexts_are_taken_where_they_are_asked_for():
    assert checked_contexts([[1]], n_ctx=2, shorter=True).tolist() == [[1]]
    assert checked_contexts(np.zeros((0, 2), dtype=int), n_ctx=2, empty=True).shape == (0, 2)
    assert checked_contexts([[0, 1], [0, 1]]).tolist() == [[0, 1]] * 2
