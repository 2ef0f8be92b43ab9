"""Heads that ask nothing: their query is exactly 0."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.shapes import dana_network, dana_tensors
from tests.verify.forward.plain_model import plain_logits
from tests.verify.forward.rows.test_row_balls import balls, pairs_hold
from tests.verify.forward.test_heads import (
    KINDS,
    assert_contains,
    assert_encloses,
    random_network,
    reference,
    with_idle_heads,
)
from verify.forward.idle_heads import alike, idle_heads, mostly
from verify.forward.in_balls import logits_in_balls
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.logits import enclose_logits
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import InRowBalls


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


# ---------------------------------------------------------------------------------------------------------------------
# Heads that ask nothing.


def written_together(monkeypatch):
    """How many heads were followed one by one, each time."""
    calls, plain = [], InRowBalls.attend

    def counted(self, block, query, *rest):
        calls.append(query.radius.shape[1])
        return plain(self, block, query, *rest)

    monkeypatch.setattr(InRowBalls, "attend", counted)
    return calls


def idle_cases(kind, seed):
    """Networks most of whose heads are idle, with so many contexts that it pays."""
    network, contexts = with_idle_heads(kind, seed)
    rng = np.random.default_rng([seed, 3])
    return network, rng.integers(0, network.d_vocab, (4 * contexts.shape[1] * network.d_vocab, contexts.shape[1]))[:20]


@pytest.mark.parametrize("kind", ["gaussian", "cancelling", "graded"])
@given(seed=st.integers(0, 2**32))
def test_idle_heads_are_summed_without_looking_at_each(kind, seed):
    assert_encloses(*idle_cases(kind, seed), KINDS[kind])


def test_what_idle_heads_write_together_is_known_up_to_the_rounding_of_each():
    rng = np.random.default_rng(0)
    for _ in range(5):
        W_V, W_O = rng.standard_normal((2, 40))
        W_O[-1] = -(W_V[:-1] @ W_O[:-1]) / W_V[-1]  # all together write almost nothing
        network = dana_network(
            W_E=np.array([[1.0, 0.0]]),
            W_pos=np.zeros((2, 2)),
            W_Q=np.zeros((40, 2, 1)),
            W_K=np.zeros((40, 2, 1)),
            W_V=np.stack([W_V, 0.0 * W_V], 1)[:, :, None],
            W_O=np.stack([0.0 * W_O, W_O], 1)[:, None, :],
            W_U=np.array([[0.0], [1.0]]),
        )
        found = enclose_logits(network, np.array([[0, 0]] * 2))
        with ctx.workprec(300):
            exact = reference(network, [0, 0])[3]
            for row in range(2):
                assert_contains(found[row], exact, 300)


def test_contexts_are_grouped_only_where_most_heads_are_idle_and_rows_are_fewer_than_contexts(monkeypatch):
    calls = written_together(monkeypatch)
    network, _ = random_network("one-hot", 3, sizes=(3, 3, 6, 4, 2, 2, 3))
    contexts = np.array([[i, j, k] for i in range(3) for j in range(3) for k in range(3)])
    plain = enclose_logits(network, contexts)
    assert calls == [4]
    tensors = dict(dana_tensors(network))
    asks = np.zeros((4, 6, 2))
    asks[[0, 1, 2], [0, 1, 1]], asks[3, 4] = 1.0, 1.0
    idle = dana_network(**tensors | {"W_Q": asks})
    calls.clear()
    grouped = enclose_logits(idle, contexts)
    # After the tokens 2, 0 and 1 so many heads are busy; the one that asks a token coordinate 4 never is.
    assert sorted(calls) == [1, 2]
    calls.clear()
    dense = enclose_logits(idle, contexts[:5])
    assert calls == [4]
    assert (np.abs(grouped.midpoint[:5] - dense.midpoint) <= grouped.radius[:5] + dense.radius).all()
    assert max(grouped.radius.max(), plain.radius.max()) < 1e-12


def test_idle_heads_that_nearly_cancel_leave_what_their_products_round():
    rounded = 0.1 * 0.3
    network = dana_network(
        W_E=np.array([[1.0, 0.0]]), W_pos=np.zeros((2, 2)), W_Q=np.zeros((2, 2, 1)), W_K=np.ones((2, 2, 1)),
        W_V=np.array([[[0.1], [0.0]], [[1.0], [0.0]]]), W_O=np.array([[[0.0, 0.3]], [[0.0, -rounded]]]), W_U=np.eye(2),
    )  # fmt: skip
    found = enclose_logits(network, np.array([[0, 0]] * 2))
    exact = Fraction(0.1) * Fraction(0.3) - Fraction(rounded)
    assert exact != 0 and abs(exact - Fraction(float(found.midpoint[0, 1]))) <= Fraction(float(found.radius[0, 1]))
    assert found.radius[0, 1] < 1e-15


@pytest.mark.parametrize("tiny", [5e-324, 2.0**-1000, 1e-30])
def test_a_query_that_is_not_exactly_zero_is_not_idle(tiny, monkeypatch):
    def busy(contexts):
        calls.clear()
        enclose_logits(dana_network(**tensors), np.array(contexts))
        return sorted(calls)

    calls = written_together(monkeypatch)
    network, _ = random_network("one-hot", 3, sizes=(2, 1, 4, 3, 2, 2, 2))
    tensors = dict(dana_tensors(network)) | {"W_E": np.eye(2, 4), "W_pos": np.zeros((1, 4)), "W_Q": np.zeros((3, 4, 2))}
    assert busy([[0], [1]]) == []
    tensors["W_Q"][1, 0, 1] = tiny
    assert busy([[0], [1]]) == [1]
    tensors["W_E"][1, 2], tensors["W_Q"][2, 2] = tiny, 1.0
    assert busy([[0], [1]]) == [1, 1]


def test_entries_that_cancel_to_zero_here_may_not_elsewhere_and_count_as_known_nothing_of():
    network, _ = random_network("one-hot", 3, sizes=(2, 1, 4, 3, 2, 2, 2))
    tensors = dict(dana_tensors(network)) | {"W_E": 0.1 * np.eye(2, 4), "W_pos": -0.1 * np.eye(1, 4)}
    arithmetic = InRowBalls(Norms(dana_network(**tensors)))
    rows = arithmetic.embed(tensors["W_E"], tensors["W_pos"][[0, 0]])
    assert rows.value[0, 0] == 0.0 and arithmetic.nonzero(rows)[0].tolist() == [True, False, False, False]


@pytest.mark.parametrize("seed", range(4))
def test_idle_heads_with_shifts_are_memorized_in_pairs_and_in_balls(seed):
    network, contexts = idle_cases("gaussian", seed)
    rng = np.random.default_rng(seed)
    shifts = {"b_K": rng.normal(size=(network.n_heads, network.d_qk)), "b_O": rng.normal(size=network.d_model)}
    shifts |= {"b_V": rng.normal(size=(network.n_heads, network.d_head))}
    model = replace(network, blocks=(replace(network.attention, **shifts, attends="all"),))
    exact = plain_logits(model, contexts, 500)
    assert pairs_hold(*balls(model, contexts, InDoubleDouble()), exact)
    for row, memorized in zip(exact, logits_in_balls(model, contexts, 100).tolist(), strict=True):
        assert all(ball.overlaps(x) and ball.rad() < 1e-20 for ball, x in zip(memorized, row, strict=True))
