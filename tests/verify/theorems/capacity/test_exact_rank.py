"""Exact attention of integer layers, against floats and against itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.model.vector_attention import mixed_matrix
from verify.theorems.capacity.exact_rank import exact_mixed_inputs, exact_mixed_rank


@st.composite
def layers(draw):
    examples, tokens, width, n_heads, d_head = (draw(st.integers(1, most)) for most in (5, 4, 3, 3, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    contexts = rng.integers(-3, 4, (draw(st.sampled_from([1, examples])), tokens, width))
    maps = rng.integers(-2, 3, (2, n_heads, width, d_head))
    return contexts, rng.integers(-2, 3, (examples, width)), maps[0], maps[1]


@given(layers())
def test_floats_come_near_the_exact_inputs(layer):
    contexts, queries, W_Q, W_K = (array.astype(np.float64) for array in layer)
    exact = [[float(entry.p) / float(entry.q) for entry in row] for row in exact_mixed_inputs(*layer).tolist()]
    np.testing.assert_allclose(mixed_matrix(contexts, queries, W_Q, np.log(2.0) * W_K), exact, atol=1e-12)


@given(layers())
def test_the_prime_gives_the_rank_of_the_rationals(layer):
    assert exact_mixed_rank(*layer).lower == exact_mixed_inputs(*layer).rank()


@given(layers(), st.sampled_from([3, 5, 7, 11]))
def test_a_small_prime_gives_no_more(layer, prime):
    try:
        found = exact_mixed_rank(*layer, prime=prime)
    except HypothesisError:
        return
    assert found.lower <= exact_mixed_inputs(*layer).rank()


def test_attention_weights_sum_to_one_for_the_prime_too():
    """Two heads on two shared tokens leave rank 3; weights that are not normalized would have 4."""
    context, queries = np.eye(2, dtype=np.int64)[None], np.arange(-3, 4)[:, None] * np.ones(2, dtype=np.int64)
    W_Q, W_K = np.array([[[1], [0]]] * 2), np.array([[[1], [0]], [[3], [0]]])
    assert exact_mixed_rank(context, queries, W_Q, W_K).lower == 3


def test_a_prime_that_divides_a_denominator_is_refused():
    one = np.ones((1, 1, 1), dtype=np.int64)
    with pytest.raises(HypothesisError, match="divides no denominator"):
        exact_mixed_rank(np.array([[[0], [1]]]), np.array([[1]]), one, one, prime=3)


def test_scores_may_be_far_apart_for_the_prime_and_not_for_the_rationals():
    one = np.ones((1, 1, 1), dtype=np.int64)
    contexts, queries = np.array([[[0], [1]]]), np.array([[2**40], [1]])
    assert exact_mixed_rank(contexts, queries, one, one).lower == 1
    with pytest.raises(ResourceError, match="too long"):
        exact_mixed_inputs(contexts, queries, one, one)


@pytest.mark.parametrize(
    ("contexts", "queries", "maps"),
    [
        (np.ones((1, 2, 2)), np.ones((3, 2), dtype=int), np.ones((1, 2, 1), dtype=int)),
        (np.ones((2, 2, 2), dtype=int), np.ones((3, 2), dtype=int), np.ones((1, 2, 1), dtype=int)),
        (np.ones((1, 2, 3), dtype=int), np.ones((3, 2), dtype=int), np.ones((1, 2, 1), dtype=int)),
        (np.ones((1, 2, 2), dtype=int), np.ones((3, 2), dtype=int), np.ones((0, 2, 1), dtype=int)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(contexts, queries, maps):
    for judge in (exact_mixed_inputs, exact_mixed_rank):
        with pytest.raises(InputError):
            judge(contexts, queries, maps, maps)


@pytest.mark.parametrize("modulus", [-3, 0, 1, 4, 35, 2**64 + 13])
def test_a_modulus_that_is_no_prime_is_refused_before_flint_meets_it(modulus):
    context, queries = np.array([[[1, 0], [0, 1]]]), np.array([[0, 1], [1, 0], [3, 1]])
    W_Q, W_K = np.ones((1, 2, 1), dtype=np.int64), np.array([[[1], [2]]])
    with pytest.raises(InputError, match="expected a prime"):
        exact_mixed_rank(context, queries, W_Q, W_K, prime=modulus)


def test_masked_numbers_are_no_integers():
    one = np.ones((1, 1, 1), dtype=np.int64)
    masked = np.ma.array(np.array([[[1], [2]]]), mask=[[[True], [False]]])
    with pytest.raises(InputError, match="not an array of integers"):
        exact_mixed_rank(masked, np.array([[1]]), one, one)
