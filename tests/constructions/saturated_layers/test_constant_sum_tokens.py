"""Tokens of a hyperplane, and the rank that they leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.saturated_layers.constant_sum_tokens import constant_sum_layer
from verify.theorems.capacity.exact_rank import exact_mixed_rank


@given(st.integers(1, 12), st.integers(2, 4), st.integers(2, 4), st.integers(1, 4), st.integers(-3, 3))
def test_the_rank_is_the_bound(examples, tokens, width, n_heads, total):
    layer = constant_sum_layer(examples=examples, n_ctx=tokens, d_model=width, n_heads=n_heads, total=total)
    assert (layer.contexts.sum(axis=2) == total).all()
    found = exact_mixed_rank(layer.contexts, layer.queries, layer.W_Q, layer.W_K).lower
    assert found == min(examples, n_heads * (width - 1) + (total != 0))


@pytest.mark.parametrize("wrong", [{"examples": 0}, {"n_ctx": 0}, {"d_model": 1}, {"n_heads": -1}])
def test_sizes_out_of_range_are_refused(wrong):
    with pytest.raises(InputError):
        constant_sum_layer(**{"examples": 2, "n_ctx": 2, "d_model": 2, "n_heads": 2, "total": 1, **wrong})
