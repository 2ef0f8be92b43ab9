"""Labels of all contexts, held exactly by a network with integer embeddings, queries, keys and values."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError
from constructions.model.exact_attention import exact_logits
from constructions.rational.integer_memory import integer_memory


@given(st.integers(1, 3), st.integers(1, 2), st.integers(2, 3), st.integers(0, 3))
def test_rational_weights_hold_every_label_by_four(tokens: int, n_ctx: int, width: int, seed: int) -> None:
    contexts = tokens**n_ctx
    if n_ctx == 1 and tokens > width:
        return
    n_heads = -(-contexts // width) + 2
    task, network = integer_memory(d_vocab=tokens, n_ctx=n_ctx, d_model=width, d_head=width, n_heads=n_heads, seed=seed)
    assert task.n_contexts == contexts
    for row, label in zip(exact_logits(network, task.contexts).tolist(), task.labels.tolist(), strict=True):
        gaps = [row[label] - entry for i, entry in enumerate(row) if i != label]
        assert all(gap >= fmpq(4) for gap in gaps)


def test_embeddings_queries_keys_and_values_are_integers() -> None:
    _, network = integer_memory(d_vocab=3, n_ctx=2, d_model=3, d_head=2, n_heads=6, seed=0)
    for tensor in (network.W_E, network.W_pos, network.W_Q, network.W_K, network.W_V):
        assert all(entry.q == 1 for entry in tensor.flat)
        assert np.abs(tensor).max() <= 3


def test_heads_that_cannot_reach_the_rank_are_refused() -> None:
    # One token in a context: features of two heads are those of one, and three tokens need three dimensions.
    with pytest.raises(HypothesisError, match="features of rank 3"):
        integer_memory(d_vocab=3, n_ctx=1, d_model=2, d_head=2, n_heads=2, seed=0)
