"""Random heads: full rank on contexts that differ and at the bound on shared ones, with scores of the asked size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.vector_attention import mixed_matrix
from constructions.saturated_layers.random_heads import random_heads


@given(st.integers(1, 4), st.integers(2, 4), st.integers(1, 5), st.booleans(), st.integers(0, 2**16))
def test_the_rank_is_the_generic_one(n_heads: int, tokens: int, d_head: int, shared: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = tokens + 1
    examples = n_heads * (tokens - 1) + 1 if shared else n_heads * width
    contexts = rng.uniform(size=(1 if shared else examples, tokens, width)) + np.eye(tokens, width)
    queries = rng.uniform(-1, 1, size=(examples, width))
    if not shared:
        queries[:] = queries[0]  # one query for all: Assumption 1 is not needed
    maps = random_heads(contexts, queries, n_heads=n_heads, d_head=d_head, deviation=3.0, seed=seed)
    assert np.linalg.matrix_rank(mixed_matrix(contexts, queries, *maps), tol=1e-13) == examples


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("d_head", [1, 2, 5])
def test_the_scores_have_the_deviation(shared: bool, d_head: int) -> None:
    rng = np.random.default_rng(0)
    contexts, queries = rng.uniform(size=(1 if shared else 50, 6, 8)), rng.uniform(size=(50, 8))
    W_Q, W_K = random_heads(contexts, queries, n_heads=3, d_head=d_head, deviation=7.0)
    for head in range(3):
        scores = np.einsum("cnd,cd->cn", contexts @ W_K[head] * np.ones((50, 1, 1)), queries @ W_Q[head])
        assert np.isclose(np.std(scores - scores.mean(axis=1, keepdims=True)), 7.0)


def test_on_one_context_what_all_queries_share_is_not_seen() -> None:
    rng = np.random.default_rng(0)
    queries = 5.0 + rng.uniform(size=(30, 8))
    W_Q, _ = random_heads(rng.uniform(size=(1, 4, 8)), queries, n_heads=3, d_head=4)
    assert np.abs(queries.mean(axis=0) @ W_Q).max() < 1e-12 * np.abs(queries @ W_Q).max() * 1e3


def test_equal_queries_of_a_shared_context_do_no_harm() -> None:
    W_Q, W_K = random_heads(np.eye(3)[None], np.ones((2, 3)), n_heads=2, d_head=2)
    assert np.isfinite(W_Q).all() and W_Q.any() and np.isfinite(W_K).all()


@pytest.mark.parametrize("options", [{"n_heads": 0}, {"d_head": 0}, {"deviation": 0.0}, {"deviation": np.nan}])
def test_numbers_that_are_not_positive_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected positive numbers"):
        random_heads(np.eye(2)[None], np.eye(2), **{"n_heads": 1, "d_head": 1, **options})
