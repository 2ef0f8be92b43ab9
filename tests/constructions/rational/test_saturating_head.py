"""Heads whose scores order the tokens as they are to be saturated, in integers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.model.exact_network import as_rationals
from constructions.rational.saturating_head import exact_head, exact_saturating_matrix
from constructions.saturated_layers.query_blocks import block_violation


@given(st.integers(1, 3), st.integers(0, 2), st.integers(0, 4), st.integers(0, 2**16))
def test_a_head_fits_its_block_with_r_columns(tokens: int, more: int, earlier: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    fitted = tokens - 1 if earlier else tokens
    assume(fitted)
    contexts = rng.integers(-3, 4, (earlier + fitted, tokens, tokens + more))
    queries = rng.integers(-3, 4, (earlier + fitted, tokens + more))
    assume(all(as_rationals(context).rank() == tokens for context in contexts))
    assume(block_violation(queries.astype(float), [range(earlier, earlier + fitted)]) is None)
    head = exact_head(contexts, queries, fitted=fitted)
    assert head.width <= tokens
    assert as_rationals(queries[earlier:]) * head.W_Q == as_rationals(np.eye(fitted, dtype=np.int64))
    for context, inverse in zip(contexts[earlier:], head.inverses, strict=True):
        assert as_rationals(context) * inverse == as_rationals(np.eye(tokens, dtype=np.int64))


def test_what_cannot_be_fitted_is_refused() -> None:
    contexts = np.tile(np.eye(2, 3, dtype=np.int64), (2, 1, 1))
    with pytest.raises(HypothesisError, match="linearly dependent"):
        exact_head(contexts, np.array([[1, 0, 0], [2, 0, 0]]), fitted=2)
    with pytest.raises(HypothesisError, match="query 0 is in the span"):
        exact_head(contexts, np.array([[1, 0, 0], [2, 0, 0]]), fitted=1)
    with pytest.raises(HypothesisError, match="contexts of rank n"):
        exact_head(contexts[:, [0, 0]], np.eye(2, 3, dtype=np.int64), fitted=2)


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 4), st.integers(0, 3), st.integers(0, 2**16))
def test_it_vanishes_on_the_killed_and_separates_the_others(
    tokens: int, more: int, kept: int, killed: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    width = tokens + more
    contexts = rng.integers(-3, 4, (kept + killed, tokens, width))
    queries = rng.integers(-3, 4, (kept + killed, width))
    assume(kept + killed)
    assume(all(len(np.unique(context, axis=0)) == tokens for context in contexts[:kept]))
    rank = as_rationals(queries[kept:]).rank() if killed else 0
    assume(all(as_rationals(np.vstack([queries[kept:], e[None]])).rank() == rank + 1 for e in queries[:kept]))
    found = exact_saturating_matrix(contexts, queries, killed=killed, seed=seed)
    heights = queries @ np.array(found.query_direction)
    assert not heights[kept:].any() and heights[:kept].all()
    for context in contexts[:kept]:
        assert len(set((context @ np.array(found.key_direction)).tolist())) == tokens


def test_what_cannot_be_frozen_is_refused() -> None:
    contexts = np.tile(np.eye(2, 3, dtype=np.int64), (2, 1, 1))
    with pytest.raises(HypothesisError, match="Lemma 3"):
        exact_saturating_matrix(contexts, np.array([[1, 0, 0], [2, 0, 0]]), killed=1)
    with pytest.raises(HypothesisError, match="distinct tokens"):
        exact_saturating_matrix(contexts[:, [0, 0]], np.array([[1, 0, 0], [0, 1, 0]]), killed=1)
    with pytest.raises(InputError, match="killed = 3"):
        exact_saturating_matrix(contexts, np.eye(2, 3, dtype=np.int64), killed=3)
