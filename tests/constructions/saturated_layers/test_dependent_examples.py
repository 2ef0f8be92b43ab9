"""Examples that meet some of the assumptions of Mahdavi et al. and not the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError
from constructions.saturated_layers.dependent_examples import (
    absorbing_mean,
    coinciding_means,
    dominant_direction,
    hidden_relation,
)


@given(st.integers(2, 6), st.integers(2, 4), st.integers(4, 6), st.integers(0, 10**6))
def test_all_shifted_queries_coincide(examples, tokens, width, seed):
    contexts, queries = coinciding_means(examples=examples, n_ctx=tokens, d_model=width, seed=seed)
    shifted = tokens * queries + contexts.sum(axis=1)
    assert (shifted == shifted[0]).all()


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_one_query_is_the_sum_of_others(size, seed):
    queries, rows = hidden_relation(examples=12, size=size, d_model=9, seed=seed)
    assert len(set(rows)) == size and (queries[list(rows[:-1])].sum(axis=0) == queries[rows[-1]]).all()


def test_minus_the_mean_is_an_affine_combination():
    contexts, queries = absorbing_mean(examples=5, n_ctx=3, d_model=4)
    weights = np.array([2.0, 0.0, -1.0])
    assert weights.sum() == 1.0 and (contexts[0].sum(axis=0) == -3 * (weights @ queries[:3])).all()


def test_the_vectors_are_near_one_direction():
    vectors = dominant_direction(examples=4, d_model=6, share=2.0**-20)
    assert 0 < np.abs(vectors - 1.0).max() <= 2.0**-17


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (coinciding_means, {"examples": 1, "n_ctx": 2, "d_model": 2}),
        (coinciding_means, {"examples": 3, "n_ctx": 3, "d_model": 2}),
        (hidden_relation, {"examples": 3, "size": 4, "d_model": 2}),
        (absorbing_mean, {"examples": 1, "n_ctx": 2, "d_model": 2}),
    ],
)
def test_sizes_without_such_an_instance_are_refused(make, arguments):
    with pytest.raises(HypothesisError, match="Mahdavi"):
        make(**arguments)
