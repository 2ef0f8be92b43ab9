"""The formula for two tokens, against exact weights."""

import numpy as np
import pytest
from flint import fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.saturated_layers.generic_contexts import integer_heads
from verify.theorems.capacity.exact_rank import exact_mixed_inputs, exact_mixed_rank
from verify.theorems.capacity.two_token_rank import two_token_rank

QUERIES = st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=1, max_size=7).map(np.array)
CONTEXT = np.array([[1, 0], [1, 1]])


@given(QUERIES, st.integers(1, 8), st.integers(0, 99))
def test_generic_weights_reach_the_formula_and_no_more(queries, n_heads, seed):
    W_Q, W_K = integer_heads(n_heads=n_heads, d_model=2, d_head=2, seed=seed)
    found = two_token_rank(CONTEXT, queries)
    assert exact_mixed_rank(CONTEXT[None], queries, W_Q, W_K).lower == found.largest(n_heads)


@given(QUERIES, st.integers(0, 99))
def test_a_relation_holds_for_all_weights(queries, seed):
    maps = np.random.default_rng(seed).integers(-3, 4, (2, 3, 2, 2))
    mixed = exact_mixed_inputs(CONTEXT[None], queries, maps[0], maps[1])
    found = two_token_rank(CONTEXT, queries)
    assert found.limit + len(found.relations) == found.examples == len(queries)
    for relation in found.relations:
        assert not any((fmpq_mat(1, len(relation), list(relation)) * mixed).entries())


@pytest.mark.parametrize(
    ("queries", "limit"),
    [
        ([[1, 0], [-1, 0], [0, 1]], 3),
        ([[1, 0], [-1, 0], [0, 1], [0, -1]], 3),
        ([[1, 0], [-1, 0], [0, 0]], 2),
        ([[0, 0], [0, 0]], 1),
        ([[1, 0], [2, 0], [-3, 0]], 3),
        ([[0.5, 0], [-0.5, 0], [0.25, 0], [-0.25, 0]], 3),
    ],
)
def test_coincidences_of_queries_cost_rank(queries, limit):
    assert two_token_rank(np.eye(2), np.array(queries)).limit == limit


def test_no_head_has_no_rank():
    assert two_token_rank(np.eye(2), np.eye(2)).largest(0) == 0


@pytest.mark.parametrize("context", [np.eye(3), np.ones((2, 2)), np.zeros((2, 3))])
def test_other_contexts_are_refused(context):
    with pytest.raises(HypothesisError, match="two independent tokens"):
        two_token_rank(context, np.ones((1, context.shape[1])))


def test_queries_of_another_dimension_than_the_tokens_are_refused():
    with pytest.raises(InputError, match="dimension 3, the tokens 2"):
        two_token_rank(np.eye(2), np.eye(3))
