"""The fast forward pass against the definition, written out entry by entry, and against balls."""

import math
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.families import random_attention
from constructions.errors import InputError
from constructions.model import attention as forward
from constructions.model.attention import attention, features, last, logits
from constructions.model.shapes import dana_network, dana_tensors

SHAPES = st.fixed_dictionaries(
    {
        "d_vocab": st.integers(1, 5),
        "n_ctx": st.integers(1, 4),
        "d_model": st.integers(2, 5),
        "n_heads": st.integers(1, 4),
        "d_head": st.integers(1, 2),
    }
)


def random_network(shape, seed, outputs=3):
    rng = np.random.default_rng(seed)
    d, n_heads, d_head = shape["d_model"], shape["n_heads"], shape["d_head"]
    return dana_network(
        W_E=rng.standard_normal((shape["d_vocab"], d)),
        W_pos=rng.standard_normal((shape["n_ctx"], d)),
        W_Q=rng.standard_normal((n_heads, d, 3)),
        W_K=rng.standard_normal((n_heads, d, 3)),
        W_V=rng.standard_normal((n_heads, d, d_head)),
        W_O=rng.standard_normal((n_heads, d_head, d)),
        W_U=rng.standard_normal((d, outputs)),
    )


def every_context(network):
    return np.array(list(product(range(network.d_vocab), repeat=network.n_ctx)))


def defined(network, context, exp=math.exp, number=float):
    """Attention, features and logits of one context from the definition, without numpy's linear algebra."""
    tensors = {
        name: [[number(x) for x in row] for row in tensor.reshape(-1, tensor.shape[-1])]
        for name, tensor in dana_tensors(network).items()
    }
    d, n_heads, d_qk, d_head = network.d_model, network.n_heads, network.d_qk, network.d_head
    x = [
        [tensors["W_E"][token][i] + tensors["W_pos"][s][i] for i in range(d)]
        for s, token in enumerate(context.tolist())
    ]
    patterns, read = [], []
    for h in range(n_heads):

        def mapped(name, vector, width, head=h):
            return [sum(vector[i] * tensors[name][head * d + i][k] for i in range(d)) for k in range(width)]

        query = mapped("W_Q", x[-1], d_qk)
        scores = [sum(q * k for q, k in zip(query, mapped("W_K", y, d_qk), strict=True)) for y in x]
        powers = [exp(score) for score in scores]
        total = sum(powers)
        pattern = [power / total for power in powers]
        mixed = [sum(a * y[i] for a, y in zip(pattern, x, strict=True)) for i in range(d)]
        patterns.append(pattern)
        read += mapped("W_V", mixed, d_head)
    stream = [x[-1][i] + sum(r * tensors["W_O"][p][i] for p, r in enumerate(read)) for i in range(d)]
    return patterns, read, [sum(stream[i] * row[j] for i, row in enumerate(tensors["W_U"])) for j in range(3)]


@pytest.mark.parametrize("table", [2**22, 0], ids=["scores looked up", "scores computed"])
@given(shape=SHAPES, seed=st.integers(0, 2**32))
def test_the_forward_pass_is_the_definition(table, shape, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward, "_TABLE_ENTRIES", table)
        network = random_network(shape, seed)
        contexts = every_context(network)[::7]
        read, found = features(network, contexts), logits(network, contexts)
        patterns = [attention(network, contexts, head) for head in range(network.n_heads)]
    for t, context in enumerate(contexts):
        expected_patterns, expected_read, expected_logits = defined(network, context)
        assert np.allclose([pattern[t] for pattern in patterns], expected_patterns, rtol=0, atol=1e-12)
        assert np.allclose(read[t], expected_read, rtol=0, atol=1e-12)
        assert np.allclose(found[t], expected_logits, rtol=0, atol=1e-11)


def test_one_context_lies_in_balls_of_300_bits():
    network = random_network(dict(d_vocab=3, n_ctx=4, d_model=4, n_heads=3, d_head=2), 5)
    context = np.array([2, 0, 1, 1])
    with flint.ctx.workprec(300):
        _, read, found = defined(network, context, exp=lambda x: x.exp(), number=flint.arb)
        for computed, ball in zip(features(network, context[None])[0], read, strict=True):
            assert abs(ball - flint.arb(float(computed))) < 1e-14
        for computed, ball in zip(logits(network, context[None])[0], found, strict=True):
            assert abs(ball - flint.arb(float(computed))) < 1e-13


@given(SHAPES, st.integers(0, 2**32), st.integers(1, 9))
def test_the_number_of_rows_at_a_time_does_not_matter(shape, seed, rows):
    network = random_network(shape, seed)
    contexts = every_context(network)
    assert np.allclose(features(network, contexts, rows=rows), features(network, contexts), rtol=1e-13, atol=1e-13)
    assert np.allclose(logits(network, contexts, rows=rows), logits(network, contexts), rtol=1e-12, atol=1e-12)


def test_scores_beyond_the_range_of_exp_saturate_the_attention():
    network = random_network(dict(d_vocab=4, n_ctx=3, d_model=4, n_heads=2, d_head=2), 0)
    hard = dana_network(**{**dana_tensors(network), "W_Q": network.W_Q * 1e6})
    contexts = every_context(hard)
    assert np.isfinite(features(hard, contexts)).all()
    assert np.allclose(attention(hard, contexts, 1).max(axis=1), 1)


def test_features_can_be_stored_in_single_precision():
    network = random_network(dict(d_vocab=4, n_ctx=3, d_model=4, n_heads=2, d_head=2), 0)
    single = features(network, every_context(network), dtype=np.float32)
    assert single.dtype == np.float32
    assert np.array_equal(single, features(network, every_context(network)).astype(np.float32))


def test_the_last_vector_is_the_embedding_of_the_last_token_at_the_last_position():
    network = random_network(dict(d_vocab=4, n_ctx=3, d_model=4, n_heads=2, d_head=2), 0)
    assert np.array_equal(last(network, np.array([[0, 1, 2]])), (network.W_E[2] + network.W_pos[2])[None])


@pytest.mark.parametrize("function", [last, features, lambda w, c: attention(w, c, 0)])
@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (np.array([[0, 1]]), r"shape \(1, 2\), expected integers \[T, S\] with S = 3"),
        (np.array([0, 1, 2]), r"shape \(3,\)"),
        (np.array([[0, 1, 4]]), r"tokens from 0 to 4, expected 0 \.\. 3"),
        (np.array([[0, -1, 3]]), "tokens from -1 to 3"),
    ],
)
def test_contexts_that_do_not_fit_are_refused(function, contexts, message):
    weights = random_attention(d_vocab=4, n_ctx=3, d_model=2, n_heads=1, d_head=1, seed=0)
    with pytest.raises(InputError, match=message):
        function(weights, contexts)


@pytest.mark.parametrize("head", [-1, 2])
def test_a_head_that_does_not_exist_is_refused(head):
    weights = random_attention(d_vocab=4, n_ctx=3, d_model=2, n_heads=2, d_head=1, seed=0)
    with pytest.raises(InputError, match=f"head = {head}, expected 0 .. 1"):
        attention(weights, np.array([[0, 1, 2]]), head)
