"""Products with features that are never formed are those with the features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.families import random_attention
from constructions.attention.grouped_features import GroupedFeatures
from constructions.errors import InputError
from constructions.model.attention import features


@given(
    st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.integers(0, 99)
)
def test_both_products_are_those_with_the_features(tokens, n_ctx, n_heads, width, rows, seed):
    rng = np.random.default_rng(seed)
    weights = random_attention(
        d_vocab=tokens, n_ctx=n_ctx, d_model=tokens + n_ctx + width, n_heads=n_heads, d_head=width, seed=seed
    )
    contexts = rng.integers(0, tokens, (rows, n_ctx))
    exact = features(weights, contexts)
    found = GroupedFeatures(weights, contexts)
    output, gradient = rng.normal(size=(n_heads * width, 2)), rng.normal(size=(rows, 2))
    scale = 1e-5 * (1 + np.abs(exact).max()) * (n_heads * width + rows)
    assert np.abs(found.times(output.astype(np.float32)) - exact @ output).max() <= scale * np.abs(output).max()
    back = found.transposed_times(gradient.astype(np.float32))
    assert back.shape == output.shape
    assert np.abs(back - exact.T @ gradient).max() <= scale * np.abs(gradient).max()
    assert found.size == rows * n_ctx * n_heads


def test_contexts_that_do_not_fit_are_refused():
    weights = random_attention(d_vocab=2, n_ctx=2, d_model=4, n_heads=1, d_head=1, seed=0)
    with pytest.raises(InputError, match="contexts"):
        GroupedFeatures(weights, np.array([[0, 2]]))
