"""Seven contexts of degree 1 that one head does not hold, and the heads of the majority of exclusive ors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.theorems.capacity.beyond_degree import forbids_one_head_by_orders, majority_heads
from verify.verdict import Verdict

SEVEN = np.array([[0, 0, 2, 0], [1, 0, 2, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 2, 0, 0], [1, 2, 2, 0], [2, 1, 0, 0]])
LABELS = np.array([1, 0, 1, 0, 0, 1, 0])


def test_seven_contexts_are_beyond_one_head_and_no_six_of_them_are_proved_to_be():
    assert forbids_one_head_by_orders(SEVEN, LABELS) is Verdict.PROVED
    assert forbids_one_head_by_orders(SEVEN, 1 - LABELS) is Verdict.PROVED
    assert forbids_one_head_by_orders(SEVEN[:, [2, 0, 1, 3]], LABELS) is Verdict.PROVED
    for gone in range(7):
        kept = np.delete(np.arange(7), gone)
        assert forbids_one_head_by_orders(SEVEN[kept], LABELS[kept]) is Verdict.UNDECIDED


@given(st.integers(0, 2**32))
def test_labels_that_one_head_holds_are_never_forbidden(seed):
    """The signs of Q_s a_n + b_s E_n + c, with Q and E positive, on contexts that are drawn."""
    rng = np.random.default_rng(seed)
    P, q, E, a = rng.random(3) + 0.1, rng.standard_normal(3), rng.random(3) + 0.1, rng.standard_normal(3)
    contexts = np.array([[x, y, z, 0] for x in range(3) for y in range(3) for z in range(3)])
    phi = P[:, None] * a + q[:, None] * E
    sums = phi[np.arange(3), contexts[:, :3]].sum(axis=1)
    assert forbids_one_head_by_orders(contexts, (sums > np.median(sums)).astype(int)) is Verdict.UNDECIDED


def test_what_is_no_pair_of_labels_with_one_last_token_is_left_open():
    other_end = SEVEN.copy()
    other_end[0, -1] = 1
    assert forbids_one_head_by_orders(other_end, LABELS) is Verdict.UNDECIDED
    assert forbids_one_head_by_orders(SEVEN, 2 * LABELS) is Verdict.UNDECIDED
    assert forbids_one_head_by_orders(np.vstack([SEVEN, [[2, 2, 2, 1]]]), np.append(LABELS, 1)) is Verdict.UNDECIDED


def test_the_heads_of_the_majority_are_those_of_the_page():
    for size in (1, 5, 23, 25, 101):
        share = 1 + 2.0 ** (size - 2) / math.comb(size - 1, (size - 1) // 2)
        assert majority_heads(size) == math.ceil(math.log2(share))
    for size in (0, 4):
        with pytest.raises(InputError, match="an odd number"):
            majority_heads(size)
