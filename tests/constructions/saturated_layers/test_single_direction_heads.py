"""Theorem Z1: heads of width one reach H (n - 1) + 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.model.vector_attention import mixed_matrix, theta
from constructions.saturated_layers.single_direction_heads import separating_direction, single_direction_heads
from tests.constructions.mahdavi_examples import layer_examples


@given(layer_examples(one_direction=True))
def test_the_rows_of_z_are_independent_down_to_the_smallest_sizes(made) -> None:
    contexts, queries, n_heads, _ = made
    found = single_direction_heads(contexts, queries, n_heads=n_heads)
    assert found.W_Q.shape == (n_heads, queries.shape[1], 1)
    assert np.linalg.matrix_rank(mixed_matrix(contexts, queries, found.W_Q, found.W_K), tol=1e-11) == len(queries)
    assert all(block.stop <= len(queries) for block in found.blocks)


@given(layer_examples(one_direction=True, max_heads=3), st.floats(0.05, 0.9))
def test_freezing_costs_no_more_than_its_share_of_the_separation(made, margin) -> None:
    contexts, queries, n_heads, _ = made
    found = single_direction_heads(contexts, queries, n_heads=n_heads, margin=margin)
    mixed = mixed_matrix(contexts, queries, found.W_Q, found.W_K).reshape(len(queries), n_heads, -1)
    for head, block in enumerate(found.blocks):
        if not block.start or not len(block):
            continue
        earlier = mixed[:, :head].reshape(len(queries), -1)
        C = earlier[block.start : block.stop] @ np.linalg.pinv(earlier[: block.start])
        left = mixed[block.start : block.stop, head] - C @ mixed[: block.start, head]
        smallest = np.linalg.svd(left, compute_uv=False).min()
        assert smallest >= (1 - margin) * found.separations[head] * (1 - 1e-5) - 1e-12


def test_the_attention_on_a_block_does_not_depend_on_the_strength() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(7, 3, 5)), rng.uniform(size=(7, 5))
    weights = []
    for margin in (0.5, 1e-3):
        found = single_direction_heads(contexts, queries, n_heads=3, margin=margin)
        weights.append(theta(contexts, queries, found.W_Q, found.W_K)[3:5, 1])
    assert np.allclose(weights[0], weights[1], atol=1e-9)


def test_wider_heads_are_padded_with_zeros() -> None:
    rng = np.random.default_rng(0)
    found = single_direction_heads(rng.uniform(size=(1, 3, 4)), rng.uniform(size=(5, 4)), n_heads=2, d_head=3)
    assert found.W_Q.shape == (2, 4, 3) and not found.W_Q[:, :, 1:].any() and found.W_Q[1, :, 0].any()


def test_hypotheses_are_refused() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(1, 3, 4)), rng.uniform(size=(6, 4))
    with pytest.raises(CapacityError, match="T = 6"):
        single_direction_heads(contexts, queries, n_heads=2)
    with pytest.raises(HypothesisError, match="query 1 is in the span"):
        single_direction_heads(contexts, queries[[0, 1, 2, 1, 3]], n_heads=2)
    with pytest.raises(InputError, match="d_head = 0"):
        single_direction_heads(contexts, queries[:5], n_heads=2, d_head=0)
    with pytest.raises(HypothesisError, match="distinct tokens"):
        separating_direction(np.ones((2, 2, 3)), rng=rng)
