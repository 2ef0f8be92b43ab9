"""Generic integer layers reach the rank of Theorem Q5."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.saturated_layers.generic_contexts import generic_layer, integer_heads
from verify.theorems.capacity.exact_rank import exact_mixed_rank


@given(st.integers(1, 12), st.integers(1, 4), st.integers(2, 4), st.integers(1, 4), st.booleans(), st.integers(0, 9))
def test_the_rank_is_as_large_as_the_matrix_allows(examples, tokens, width, n_heads, same_query, seed):
    layer = generic_layer(
        examples=examples, n_ctx=tokens, d_model=width, n_heads=n_heads, same_query=same_query, seed=seed
    )
    found = exact_mixed_rank(layer.contexts, layer.queries, layer.W_Q, layer.W_K).lower
    assert found == min(examples, n_heads * width if tokens > 1 else width)


def test_one_query_is_the_same_for_all_examples():
    assert len(np.unique(generic_layer(examples=9, n_ctx=2, d_model=3, n_heads=1).queries, axis=0)) == 1
    assert (
        len(np.unique(generic_layer(examples=9, n_ctx=2, d_model=3, n_heads=1, same_query=False).queries, axis=0)) > 1
    )


def test_query_maps_send_no_positive_query_to_zero():
    W_Q, _ = integer_heads(n_heads=20, d_model=3, d_head=2)
    assert W_Q.min() > 0


@pytest.mark.parametrize("wrong", [{"examples": 0}, {"n_ctx": 0}, {"d_model": 0}, {"n_heads": -1}, {"d_head": 0}])
def test_sizes_below_one_are_refused(wrong):
    with pytest.raises(InputError):
        generic_layer(**{"examples": 2, "n_ctx": 2, "d_model": 2, "n_heads": 2, **wrong})
