"""Saturated heads: every head fits its block, freezes what was before, and the rows of Z are independent."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.model.vector_attention import mixed_matrix, theta
from constructions.saturated_layers.saturated_heads import (
    combinations,
    farthest,
    freeze,
    near_one_hot_targets,
    saturated_heads,
    sufficient_strength,
)
from tests.constructions.mahdavi_examples import layer_examples


@given(layer_examples(), st.sampled_from(["printed", "near-one-hot"]))
def test_the_rows_of_z_are_independent_down_to_the_smallest_sizes(made, targets) -> None:
    contexts, queries, n_heads, width = made
    found = saturated_heads(contexts, queries, n_heads=n_heads, d_head=width, targets=targets)
    assert found.W_Q.shape == found.W_K.shape == (n_heads, queries.shape[1], width)
    assert np.linalg.matrix_rank(mixed_matrix(contexts, queries, found.W_Q, found.W_K), tol=1e-11) == len(queries)
    assert (found.strengths >= 0).all() and (found.separations > 0).all()


@given(layer_examples(max_heads=3))
def test_a_head_freezes_the_earlier_examples_and_fits_its_block_near_single_tokens(made) -> None:
    contexts, queries, n_heads, width = made
    rho = 0.05
    found = saturated_heads(contexts, queries, n_heads=n_heads, d_head=width, rho=rho, margin=1e-4)
    weights = theta(contexts, queries, found.W_Q, found.W_K)
    tokens = contexts.shape[1]
    for head, block in enumerate(found.blocks):
        fitted = np.sort(weights[block.start : block.stop, head], axis=1)
        expected = np.sort((1 - rho) * np.eye(tokens)[0] + rho / tokens)
        assert np.allclose(fitted, expected, atol=1e-6)
        if len(block):
            assert (1.0 - weights[: block.start, head].max(axis=1) < 0.1).all()


@given(layer_examples(max_heads=3), st.floats(0.05, 0.9))
def test_freezing_costs_no_more_than_its_share_of_the_separation(made, margin) -> None:
    contexts, queries, n_heads, width = made
    found = saturated_heads(contexts, queries, n_heads=n_heads, d_head=width, margin=margin)
    mixed = mixed_matrix(contexts, queries, found.W_Q, found.W_K).reshape(len(queries), n_heads, -1)
    for head, block in enumerate(found.blocks):
        if not block.start or not len(block):
            continue
        earlier = mixed[:, :head].reshape(len(queries), -1)
        C = earlier[block.start : block.stop] @ np.linalg.pinv(earlier[: block.start])
        left = mixed[block.start : block.stop, head] - C @ mixed[: block.start, head]
        smallest = np.linalg.svd(left, compute_uv=False).min()
        assert smallest >= (1 - margin) * found.separations[head] * (1 - 1e-6)


@pytest.mark.parametrize("targets", ["printed", "near-one-hot"])
def test_the_separation_is_that_of_the_limit(targets) -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(1, 8, 16)), rng.uniform(size=(57, 16))
    found = saturated_heads(contexts, queries, n_heads=8, d_head=8, targets=targets, margin=1e-3)
    mixed = mixed_matrix(contexts, queries, found.W_Q, found.W_K).reshape(57, 8, -1)
    for head, block in list(enumerate(found.blocks))[1:]:
        earlier = mixed[:, :head].reshape(57, -1)
        C = earlier[block.start : block.stop] @ np.linalg.pinv(earlier[: block.start])
        left = mixed[block.start : block.stop, head] - C @ mixed[: block.start, head]
        assert np.isclose(np.linalg.svd(left, compute_uv=False).min(), found.separations[head], rtol=1e-3)


def test_with_a_capped_strength_nothing_is_steeper() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(1, 4, 6)), rng.uniform(size=(13, 6))
    free = saturated_heads(contexts, queries, n_heads=4, d_head=4)
    capped = saturated_heads(contexts, queries, n_heads=4, d_head=4, largest_strength=5.0)
    assert free.strengths.max() > 5.0 == capped.strengths.max()
    assert np.linalg.matrix_rank(mixed_matrix(contexts, queries, capped.W_Q, capped.W_K)) == 13


def test_one_seed_is_one_memory_and_another_is_another() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(7, 3, 5)), rng.uniform(size=(7, 5))
    made = [saturated_heads(contexts, queries, n_heads=3, d_head=3, seed=seed).W_K for seed in (0, 0, 1)]
    assert (made[0] == made[1]).all() and (made[0] != made[2]).any()


def test_heads_that_are_not_needed_are_zero() -> None:
    rng = np.random.default_rng(0)
    found = saturated_heads(rng.uniform(size=(1, 3, 4)), rng.uniform(size=(4, 4)), n_heads=3, d_head=5)
    assert not found.W_Q[2].any() and not found.W_Q[:, :, 3:].any() and found.W_Q[1].any()
    assert found.separations[2] == math.inf


def test_hypotheses_are_refused() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(1, 3, 4)), rng.uniform(size=(5, 4))
    with pytest.raises(CapacityError, match=r"T <= H \(b - 1\) \+ 1 = 4"):
        saturated_heads(contexts, np.vstack([queries, queries]), n_heads=3, d_head=2)
    with pytest.raises(HypothesisError, match="contexts of rank n, but context 0 has rank 2 of 3"):
        saturated_heads(contexts[:, [0, 1, 1]], queries, n_heads=2, d_head=3)
    with pytest.raises(HypothesisError, match="query 0 is in the span"):
        saturated_heads(contexts, np.vstack([queries[:3], queries[:1]]), n_heads=2, d_head=3)
    wrong: list[dict[str, Any]] = [{"targets": "other"}, {"rho": 0.0}, {"rho": 1.0}, {"margin": 1.0}]
    for options in [*wrong, {"largest_strength": -1.0}]:
        with pytest.raises(InputError):
            saturated_heads(contexts, queries, n_heads=2, d_head=3, **options)
    with pytest.raises(InputError, match="largest_strength = nan"):
        saturated_heads(contexts, queries, n_heads=2, d_head=3, largest_strength=math.nan)


def test_the_freezing_matrix_vanishes_on_the_block_and_separates_the_others() -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(9, 3, 5)), rng.uniform(size=(9, 5))
    frozen = freeze(contexts, queries, range(6, 9), rng=rng)
    heights = queries @ frozen.query_direction
    assert np.abs(heights[6:]).max() < 1e-14
    values = np.sort((contexts[:6] @ frozen.key_direction) * heights[:6, None], axis=1)
    assert np.allclose(values[:, -1] - values[:, -2], frozen.gaps)
    with pytest.raises(HypothesisError, match="Lemma 3"):
        freeze(contexts[:, [0, 0, 0]], queries, range(6, 9), rng=rng)


def test_a_single_token_needs_no_strength() -> None:
    rng = np.random.default_rng(0)
    frozen = freeze(rng.uniform(size=(1, 1, 3)), rng.uniform(size=(2, 3)), range(1, 2), rng=rng)
    assert frozen.gaps.tolist() == [math.inf] and frozen.winners.tolist() == [0]
    sizes = {"largest_token": 1.0, "combination": 1.0, "separation": 1.0, "margin": 0.5}
    assert sufficient_strength(frozen.gaps, np.zeros(1), n_ctx=1, **sizes) == 0.0


@given(st.integers(0, 2**16), st.integers(2, 5), st.integers(1, 4))
def test_the_strength_is_the_least_that_its_bound_allows(seed: int, tokens: int, earlier: int) -> None:
    rng = np.random.default_rng(seed)
    gaps, spreads = rng.uniform(0.01, 2.0, earlier), rng.uniform(0.0, 5.0, earlier)
    token, C, s, margin = rng.uniform(0.1, 3.0), 10.0 ** rng.uniform(-9, 3), rng.uniform(0.01, 1.0), 0.3
    kappa = sufficient_strength(
        gaps, spreads, n_ctx=tokens, largest_token=token, combination=C, separation=s, margin=margin
    )
    cost = C * token * math.sqrt(earlier) * 2 * (tokens - 1) * np.exp(spreads - kappa * gaps).max()
    assert cost <= margin * s * (1 + 1e-9)
    assert kappa >= 0.0
    assert kappa == 0.0 or cost >= margin * s * (1 - 1e-9)


def test_a_strength_needs_a_separation_and_gaps() -> None:
    sizes = {"n_ctx": 2, "largest_token": 1.0, "combination": 1.0, "margin": 0.5}
    for gap, separation in ((1.0, 0.0), (0.0, 1.0), (1.0, math.nan), (-1.0, 1.0)):
        with pytest.raises(HypothesisError, match="positive"):
            sufficient_strength(np.array([gap]), np.zeros(1), separation=separation, **sizes)
    assert sufficient_strength(np.ones(1), np.zeros(1), separation=1.0, **{**sizes, "combination": 0.0}) == 0.0


@given(st.integers(0, 2**16), st.integers(0, 12))
def test_combinations_are_right_whatever_the_condition_is(seed: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    earlier = np.linalg.qr(rng.standard_normal((4, 4)))[0] @ (10.0 ** -np.linspace(0, digits, 4)[:, None] * Q[:4])
    expected = rng.standard_normal((2, 4))
    rows = expected @ earlier + rng.standard_normal((2, 5)) @ Q[4:]
    found = combinations(earlier, rows)
    assert np.abs((found - expected) @ earlier).max() <= 1e-5 + 10.0 ** (digits - 13)
    if digits < 5:
        assert np.allclose(found, expected, atol=1e-4)


def test_near_one_hot_targets_choose_a_row_outside_of_the_span() -> None:
    keys = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    weights = near_one_hot_targets(keys, np.zeros((2, 2)), rho=0.2)
    assert sorted(weights.tolist()) == [[0.1, 0.9], [0.9, 0.1]]
    assert farthest(np.array([[[0.0, 3.0], [2.0, 0.0]], [[0.0, 3.0], [2.0, 0.0]]])).tolist() == [0, 1]
    assert farthest(np.zeros((2, 2, 2))).tolist() == [0, 0]


def test_a_negative_seed_is_refused_by_name():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="seed = -1, expected at least 0"):
        saturated_heads(rng.normal(size=(1, 3, 4)), rng.normal(size=(5, 4)), n_heads=2, d_head=3, seed=-1)


def test_lists_are_vectors_too():
    rng = np.random.default_rng(0)
    contexts, queries = rng.normal(size=(1, 3, 4)), rng.normal(size=(5, 4))
    of_lists = saturated_heads(contexts.tolist(), queries.tolist(), n_heads=2, d_head=3)
    assert np.array_equal(of_lists.W_Q, saturated_heads(contexts, queries, n_heads=2, d_head=3).W_Q)
