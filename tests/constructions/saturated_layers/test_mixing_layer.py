"""Layers of uniform attention that write the identity as a sum."""

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.saturated_layers.mixing_layer import equal_means, equal_queries, mixing_layer
from tests.layers import mixed_tokens


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
def test_the_maps_sum_to_the_identity_or_are_refused(width, n_heads, d_value):
    if n_heads * d_value < width:
        with pytest.raises(HypothesisError, match="H d_v >= d"):
            mixing_layer(d_model=width, n_heads=n_heads, d_value=d_value)
        return
    layer = mixing_layer(d_model=width, n_heads=n_heads, d_value=d_value)
    assert layer.W_V.shape == (n_heads, width, d_value) and layer.W_O.shape == (
        n_heads,
        d_value,
        width,
    )
    assert (np.einsum("hdv,hve->de", layer.W_V, layer.W_O) == np.eye(width)).all()


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32))
def test_tokens_get_the_mean_added_and_keep_their_rank(tokens, width, seed):
    context = np.random.default_rng(seed).integers(-9, 10, (tokens, width))
    made = mixed_tokens(mixing_layer(d_model=width, n_heads=1, d_value=width), context)
    mean = [fmpq(int(total), tokens) for total in context.sum(axis=0)]
    expected = [[int(entry) + m for entry, m in zip(row, mean, strict=True)] for row in context]
    assert made.tolist() == expected
    assert made.rank() == fmpq_mat(tokens, width, context.ravel().tolist()).rank()  # the shift has determinant 2


@given(st.integers(1, 5), st.integers(2, 4), st.integers(0, 2), st.integers(0, 99))
def test_contexts_with_equal_queries_have_full_rank(examples, tokens, more, seed):
    contexts = equal_queries(examples=examples, n_ctx=tokens, d_model=tokens + more, seed=seed)
    assert (contexts[:, 0] == 1).all()
    assert (np.linalg.matrix_rank(contexts) == tokens).all()


def test_equal_means_are_equal():
    contexts = equal_means()
    sums = 2 * contexts[:, 0] + contexts.sum(axis=1)
    assert (sums[0] == sums[1]).all() and (np.linalg.matrix_rank(contexts) == 2).all()


def test_sizes_out_of_range_are_refused():
    for sizes in [(0, 1, 1), (1, 0, 1), (1, 1, 0)]:
        with pytest.raises(InputError):
            mixing_layer(d_model=sizes[0], n_heads=sizes[1], d_value=sizes[2])
    for sizes in [(0, 2, 2), (1, 1, 2), (1, 3, 2)]:
        with pytest.raises(InputError):
            equal_queries(examples=sizes[0], n_ctx=sizes[1], d_model=sizes[2])
