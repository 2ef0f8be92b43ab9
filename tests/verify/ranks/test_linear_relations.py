"""Bounds for all weights: never exceeded by exact weights, and with the linear relation behind them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.capacity.sub_alphabet import dimensions
from constructions.errors import InputError
from tests.constructions.exact_features import (
    XOR,
    context_sets,
    exact_features,
    exact_rank,
    span_of_differences,
    span_of_inputs,
)
from verify.ranks.linear_relations import indicator_relation, rank_upper_bound_for_all_weights

LOOPS = np.array([[n, n] for n in range(9)])
sizes = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (max(pair), min(pair)))


def bound(contexts, d_model, d_head, n_heads, *, with_skip=True, subset=None):
    return rank_upper_bound_for_all_weights(
        contexts, subset=subset, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip
    )


@given(context_sets(lengths=(1, 4), largest=7), sizes, st.integers(0, 3), st.booleans(), st.data())
def test_no_exact_weights_exceed_the_bound_of_any_subset(contexts, widths, n_heads, with_skip, data):
    d_model, d_head = widths
    subset = sorted(data.draw(st.sets(st.integers(0, len(contexts) - 1))))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    spread = data.draw(st.sampled_from([1, 4]))  # small integers are often in special position
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    rank = exact_rank(exact_features(contexts, rng, **options, spread=spread))
    assert rank <= bound(contexts, d_model, d_head, n_heads, with_skip=with_skip, subset=subset).rank
    assert rank <= bound(contexts, d_model, d_head, n_heads, with_skip=with_skip).rank


@given(context_sets(lengths=(1, 4), largest=14), sizes, st.integers(0, 4), st.booleans())
def test_the_generic_rank_is_within_the_bound(contexts, widths, n_heads, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    found = bound(contexts, d_model, d_head, n_heads, with_skip=with_skip)
    assert generic_rank(contexts, **options) <= found.rank
    # The builder's bound of the same set knows one more inequality.
    assert dimensions(contexts).rank_bound(**options) <= found.rank
    assert (found.differences, found.inputs) == (span_of_differences(contexts), span_of_inputs(contexts))


@pytest.mark.parametrize(
    ("contexts", "d", "n_heads", "rank", "name"),
    [
        (XOR, 4, 1, 3, "U2"),
        (XOR, 64, 1, 3, "U2"),
        (LOOPS, 3, 3, 5, "U1'"),
        (LOOPS[:4], 2, 2, 3, "U1'"),
        (np.arange(2)[:, None], 1, 2, 1, "U1"),
        (np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 4, 1, 3, "U1'"),
    ],
)
def test_each_way_in_which_lemma_2_fails_is_bounded(contexts, d, n_heads, rank, name):
    found = bound(contexts, d, d, n_heads, with_skip=False)
    assert (found.rank, found.name) == (rank, name)
    assert found.rank < min(len(contexts), n_heads * d)


def test_one_context_fewer_is_no_counterexample():
    assert bound(XOR[:3], 4, 4, 1, with_skip=False).rank == 3
    assert bound(XOR, 4, 4, 2, with_skip=False).rank == 4
    assert bound(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1]]), 4, 4, 1).rank == 4


def test_what_bounds_heads_alone_does_not_bound_them_beside_the_skip_connection():
    bigrams = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert bound(bigrams, 4, 4, 1, with_skip=False).rank == 3
    assert bound(bigrams, 4, 4, 1).rank == 4 == generic_rank(bigrams, d_model=4, d_head=4, n_heads=1)


def test_contexts_outside_the_subset_add_one_each():
    contexts = np.concatenate([XOR, [[0, 0, 1], [1, 1, 1]]])
    assert bound(contexts, 8, 8, 1, subset=range(4)).rank == 5
    assert bound(contexts, 8, 8, 1, subset=[]).rank == 6
    assert bound(contexts, 8, 8, 1, subset=[]).name == "contexts"


def test_no_heads_leave_the_last_tokens():
    assert bound(XOR, 4, 2, 0).rank == 1
    assert bound(XOR, 4, 2, 0, with_skip=False).rank == 0


@given(context_sets(lengths=(1, 5), largest=10, one_class=True))
def test_a_relation_between_indicators_is_one_and_exists_where_the_bound_says_so(contexts):
    contexts = contexts[contexts[:, -1] == contexts[0, -1]]
    relation = indicator_relation(contexts)
    found = bound(contexts, 9, 9, 1)
    assert (relation is None) == (found.relations == 0)
    if relation is not None:
        assert any(relation) and np.gcd.reduce(relation) == 1
        for s in range(contexts.shape[1]):
            for token in np.unique(contexts):
                assert sum(k for k, context in zip(relation, contexts, strict=True) if context[s] == token) == 0


def test_a_relation_holds_between_the_exact_features_of_any_weights():
    contexts = np.array([[0, 0, 1, 0], [2, 2, 1, 0], [0, 2, 1, 0], [2, 0, 1, 0], [1, 1, 1, 0]])
    assert indicator_relation(contexts) == [1, 1, -1, -1, 0]


@pytest.mark.parametrize(
    ("contexts", "message"),
    [(np.array([[0, 1], [0, 1]]), "equal rows"), (np.array([0, 1]), "shape"), (np.array([[-1, 0]]), "at least 0")],
)
def test_contexts_that_are_none_are_refused(contexts, message):
    with pytest.raises(InputError, match=message):
        bound(contexts, 2, 2, 1)
    with pytest.raises(InputError, match=message):
        indicator_relation(contexts)


def test_subsets_and_sizes_that_are_none_are_refused():
    for subset in ([0, 0], [4], [-1]):
        with pytest.raises(InputError, match="subset"):
            bound(XOR, 2, 2, 1, subset=subset)
    for widths in ((0, 1, 1), (1, 0, 1), (1, 1, -1)):
        with pytest.raises(InputError, match="d_model"):
            bound(XOR, *widths)
    with pytest.raises(InputError, match="different last tokens"):
        indicator_relation(np.array([[0, 0], [0, 1]]))


@given(st.integers(1, 7), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_a_relation_is_found_exactly_if_the_indicators_are_dependent(
    rows: int, n_ctx: int, tokens: int, seed: int
) -> None:
    contexts = np.random.default_rng(seed).integers(0, tokens, (rows, n_ctx))
    contexts[:, -1] = 0
    contexts = np.unique(contexts, axis=0)[::-1]
    rows = len(contexts)
    indicators = (contexts[:, :, None] == np.arange(tokens)).reshape(rows, -1).astype(np.int64)
    relation = indicator_relation(contexts)
    assert (relation is None) == (np.linalg.matrix_rank(indicators) == rows)
    if relation is not None:
        assert any(relation) and not (np.array(relation) @ indicators).any()
        assert math.gcd(*relation) == 1
