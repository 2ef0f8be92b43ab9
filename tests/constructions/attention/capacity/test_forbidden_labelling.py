"""The search for relations that forbid a labelling to a number of heads."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity import forbidden_labelling
from constructions.attention.capacity.forbidden_labelling import forbidding_multipliers, most_forbidden_heads
from constructions.errors import InputError
from constructions.memories.heads.counting_heads import bit_contexts
from constructions.tasks.arrays import all_contexts
from verify.theorems.capacity.sign_relation import forbids_heads
from verify.verdict import Verdict


def square(last=(0,)):
    return np.array([[a, b, *last] for a, b in product(range(2), repeat=2)])


SEVEN = np.array([[0, 0, 2, 0], [1, 0, 2, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 2, 0, 0], [1, 2, 2, 0], [2, 1, 0, 0]])
SEVEN_LABELS = np.array([1, 0, 1, 0, 0, 1, 0])


@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 4))
def test_whatever_is_found_is_accepted_by_the_judge(d_vocab, n_ctx, seed, n_labels, n_heads):
    rng = np.random.default_rng(seed)
    contexts = all_contexts(d_vocab, n_ctx)
    contexts = contexts[rng.random(len(contexts)) < 0.7]
    if len(contexts) == 0:
        return
    labels = rng.integers(0, n_labels, len(contexts))
    multipliers = forbidding_multipliers(contexts, labels, n_heads=n_heads)
    if multipliers is not None:
        assert forbids_heads(contexts, labels, multipliers, n_heads=n_heads) is Verdict.PROVED
        assert (multipliers.any(axis=1)).sum() >= 2 ** (n_heads + 1) and n_heads < n_ctx - 1


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
def test_parity_needs_as_many_heads_as_it_has_bits(bits):
    contexts = bit_contexts(bits)
    labels = contexts.sum(axis=1) % 2
    found = most_forbidden_heads(contexts, labels)
    assert found.n_heads == bits - 1 and len(found.contexts) == 2**bits
    assert forbids_heads(contexts, labels, found.multipliers, n_heads=bits - 1) is Verdict.PROVED
    assert forbidding_multipliers(contexts, labels, n_heads=bits) is None


@given(st.integers(2, 5), st.integers(0, 2**32))
def test_labels_of_the_count_of_ones_take_as_many_heads_as_they_have_changes(bits, seed):
    levels = np.random.default_rng(seed).integers(0, 2, bits + 1)
    contexts = bit_contexts(bits)
    assert most_forbidden_heads(contexts, levels[contexts.sum(axis=1)]).n_heads == (np.diff(levels) != 0).sum() - 1


def test_seven_contexts_are_left_open_though_one_head_does_not_hold_them():
    assert most_forbidden_heads(SEVEN, SEVEN_LABELS).n_heads == 0
    assert forbidding_multipliers(SEVEN, SEVEN_LABELS, n_heads=1) is None


def test_a_support_that_is_too_large_is_reduced(monkeypatch):
    contexts = bit_contexts(4)
    labels = contexts.sum(axis=1) % 2
    spread = np.concatenate([np.ones(16), np.zeros(0)])

    class Found:  # a solution in the middle of the solutions, as an interior point would find it
        success, x = True, spread / 16

    monkeypatch.setattr(forbidden_labelling.scipy.optimize, "linprog", lambda *_, **__: Found)
    multipliers = forbidding_multipliers(contexts, labels, n_heads=1)
    assert multipliers is not None and forbids_heads(contexts, labels, multipliers) is Verdict.PROVED
    assert 4 <= (multipliers > 0).sum() <= 11 + 1  # the rank of the vectors, and one more


def test_what_has_no_room_is_left_out(monkeypatch):
    monkeypatch.setattr(forbidden_labelling, "_MOST_ENTRIES", 4)
    assert most_forbidden_heads(square(), np.array([0, 1, 1, 0])).n_heads == -1


def test_labels_that_are_all_the_same_are_beyond_no_number_of_heads():
    found = most_forbidden_heads(square(), np.zeros(4, dtype=np.int64))
    assert found.n_heads == -1 and len(found.contexts) == 0


def test_of_the_labellings_of_a_square_only_xor_is_forbidden():
    contexts = square()
    forbidden = [
        labels
        for labels in product(range(2), repeat=4)
        if forbidding_multipliers(contexts, np.array(labels)) is not None
    ]
    assert forbidden == [(0, 1, 1, 0), (1, 0, 0, 1)]


def test_the_forbidden_labellings_of_a_cube_are_those_that_no_plane_separates():
    contexts = np.array([[*corner, 0] for corner in product(range(2), repeat=3)])
    forbidden = 0
    for labels in product(range(2), repeat=8):
        multipliers = forbidding_multipliers(contexts, np.array(labels))
        if multipliers is not None:
            forbidden += forbids_heads(contexts, np.array(labels), multipliers) is Verdict.PROVED
    assert forbidden == 256 - 104  # there are 104 threshold functions of three variables


@given(st.permutations(range(4)), st.integers(1, 3), st.integers(0, 2))
def test_order_padding_and_names_of_the_labels_do_not_matter(order, padding, shift):
    contexts, labels = square((1,) * padding), np.array([shift, shift + 1, shift + 1, shift])
    found = forbidding_multipliers(contexts[list(order)], labels[list(order)])
    assert found is not None
    assert sorted(found.sum(axis=1).tolist()) == [1, 1, 1, 1]


def test_three_labels_can_be_forbidden_though_no_two_of_them_are():
    contexts = np.array([[a, b, c, 0] for a, b, c in product(range(2), repeat=3)])
    rng = np.random.default_rng(0)
    for _ in range(300):
        labels = rng.integers(0, 3, 8)
        pairs = [np.isin(labels, pair) for pair in ((0, 1), (0, 2), (1, 2))]
        alone = [forbidding_multipliers(contexts[rows], labels[rows]) for rows in pairs if rows.any()]
        if forbidding_multipliers(contexts, labels) is not None and all(found is None for found in alone):
            return
    pytest.fail("no such labelling was met")


def test_different_last_tokens_are_not_mixed():
    contexts = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert forbidding_multipliers(contexts, np.array([0, 0, 1, 1])) is None


def test_one_context_one_label_and_bigrams_are_never_forbidden():
    assert forbidding_multipliers(np.array([[0]]), np.array([3])) is None
    assert forbidding_multipliers(square(), np.zeros(4, dtype=np.int64)) is None
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert forbidding_multipliers(all_contexts(3, 2), rng.integers(0, 3, 9)) is None


def test_what_does_not_fit_is_refused():
    wrong: list[Any] = [np.array([0]), np.zeros(4), np.array([0, 1, -1, 0])]
    for labels in wrong:
        with pytest.raises(InputError, match="labels"):
            forbidding_multipliers(square(), labels)
    with pytest.raises(InputError, match="n_heads"):
        forbidding_multipliers(square(), np.zeros(4, dtype=np.int64), n_heads=-1)
