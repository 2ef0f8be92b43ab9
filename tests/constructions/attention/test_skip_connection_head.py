"""Heads in the place of the skip connection: logits differ by what the formula says, in rationals by nothing."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.embeddings import rank_one_integer_attention
from constructions.attention.skip_connection_head import skip_connection_head, two_head_skip_connection
from constructions.errors import InputError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import all_contexts
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.memories.skip_connection_error import enclose_skip_error, largest_skip_error


@given(st.integers(0, 5), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 9))
def test_two_heads_of_a_rational_network_are_its_skip_connection(seed, n_ctx, d_model, d_head, d_vocab, power):
    d_head = min(d_head, d_model)
    drawn = rank_one_integer_attention(
        d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=2, d_head=d_head, seed=seed, largest=2
    )
    rng = np.random.default_rng(seed)
    W_O = [[[fmpq(int(x)) for x in row] for row in head] for head in rng.integers(-2, 3, (2, d_head, d_model))]
    W_U = [[fmpq(int(x)) for x in row] for row in rng.integers(-2, 3, (d_model, 3))]
    network = rational(drawn, W_O, W_U)
    found = two_head_skip_connection(network, sharpness=power)
    contexts = all_contexts(d_vocab, n_ctx)
    assert found.n_copying_heads == 2 * -(-d_model // d_head)
    assert not found.model.attention.skip
    assert exact_network_logits(found.model, contexts) == exact_network_logits(network, contexts)


def rational(drawn, W_O, W_U):
    def tensor(matrices):
        return np.array([matrix.tolist() for matrix in matrices], dtype=object)

    return dana_network(
        W_E=np.array(drawn.W_E.tolist(), dtype=object), W_pos=np.array(drawn.W_pos.tolist(), dtype=object),
        W_Q=tensor(drawn.W_Q), W_K=tensor(drawn.W_K), W_V=tensor(drawn.W_V),
        W_O=np.array(W_O, dtype=object), W_U=np.array(W_U, dtype=object),
    )  # fmt: skip


def test_a_network_without_heads_is_its_copies():
    none = np.zeros((0, 2, 1))
    bare = dana_network(
        W_E=np.eye(2), W_pos=np.ones((3, 2)), W_Q=none, W_K=none, W_V=none, W_O=np.zeros((0, 1, 2)), W_U=np.eye(2)
    )
    found = skip_connection_head(bare, sharpness=100.0)
    assert found.n_copying_heads == found.model.n_heads == 1 and largest_skip_error(bare, found.model) < 1e-40


def random_network(rng):
    return dana_network(
        W_E=rng.normal(size=(4, 5)), W_pos=rng.normal(size=(6, 5)), W_Q=rng.normal(size=(3, 5, 2)),
        W_K=rng.normal(size=(3, 5, 2)), W_V=rng.normal(size=(3, 5, 2)), W_O=rng.normal(size=(3, 2, 5)),
        W_U=rng.normal(size=(5, 4)),
    )  # fmt: skip


def test_what_is_no_such_network_or_sharpness_is_refused():
    network = random_network(np.random.default_rng(0))
    for sharpness in (0.0, -1.0, 701.0, float("nan"), True, "40"):
        with pytest.raises(InputError, match="sharpness"):
            skip_connection_head(network, sharpness=sharpness)
    block = network.attention
    causal = Attention(block.W_Q, block.W_K, block.W_V, block.W_O, attends="causal")
    with pytest.raises(InputError, match="one attention"):
        skip_connection_head(Model((causal,), network.W_U, W_E=network.W_E, W_pos=network.W_pos), sharpness=40.0)
    with pytest.raises(InputError, match="contexts"):
        enclose_skip_error(
            network, skip_connection_head(network, sharpness=40.0).model, np.zeros((1, 5), dtype=np.int64)
        )
