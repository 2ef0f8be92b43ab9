"""Tokens after a layer, in exact rationals: by another way than that of the builder."""

import numpy as np
from flint import fmpq

from constructions.saturated_layers.mixing_layer import equal_queries, mixing_layer
from tests.layers import mixed_tokens
from verify.theorems.evidence.attended_tokens import (
    attended_tokens,
    context_ranks,
    queries_and_ranks,
    queries_are_equal,
    queries_plus_means,
)


def test_scores_of_zero_mix_as_the_builder_says():
    for width, n_heads, d_value in ((2, 1, 2), (3, 2, 2)):
        contexts = equal_queries(examples=2, n_ctx=2, d_model=width)
        maps = mixing_layer(d_model=width, n_heads=n_heads, d_value=d_value)
        scores = np.zeros((n_heads, width, width), dtype=np.int64)
        for context in contexts:
            assert attended_tokens(context, scores, maps.W_V, maps.W_O) == mixed_tokens(maps, context)


def test_a_token_asks_the_others_by_its_own_scores():
    # Two tokens 1 and 2 and the score 1: token 1 has the scores (1, 2), token 2 the scores (2, 4).
    one = np.ones((1, 1, 1), dtype=np.int64)
    found = attended_tokens(np.array([[1], [2]]), one, one, 3 * one).entries()
    assert found == [1 + 3 * fmpq(2 * 1 + 4 * 2, 6), 2 + 3 * fmpq(4 * 1 + 16 * 2, 20)]


def test_scores_are_of_the_asking_token_on_the_left():
    context, scores = np.array([[1, 0], [0, 1]]), np.array([[[0, 1], [0, 0]]])
    identity = np.eye(2, dtype=np.int64)[None]
    # Only token 1 on token 2 has a score, 1: weights (1, 2) / 3 for the first, (1, 1) / 2 for the second.
    assert attended_tokens(context, scores, identity, identity).entries() == [
        1 + fmpq(1, 3),
        fmpq(2, 3),
        fmpq(1, 2),
        1 + fmpq(1, 2),
    ]


def test_queries_are_the_first_tokens_up_to_one_factor():
    contexts = np.array([[[1, 0], [0, 1]], [[1, 1], [3, 3]]])
    nothing = np.zeros((1, 2, 2), dtype=np.int64)
    queries, ranks = queries_and_ranks(contexts, nothing, nothing, nothing)
    assert queries.tolist() == contexts[:, 0].tolist() and ranks == context_ranks(contexts) == {1, 2}
    halves, _ = queries_and_ranks(contexts, nothing, np.eye(2, dtype=np.int64)[None], np.eye(2, dtype=np.int64)[None])
    assert halves.tolist() == queries_plus_means(contexts).tolist() == [[3, 1], [6, 6]]


def test_queries_that_differ_are_not_called_equal():
    contexts = equal_queries(examples=3, n_ctx=2, d_model=2)
    assert queries_are_equal(contexts)
    contexts[1, 0, 0] += 1
    assert not queries_are_equal(contexts)
