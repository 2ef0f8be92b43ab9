"""Heads that nothing reads: what they mix is independent, or it is not proved."""

from dataclasses import replace

import numpy as np

from constructions.saturated_layers.saturated_heads import saturated_heads
from verify.theorems.evidence.unread_heads import heads_as_layer, mixed_inputs_are_independent, of_size_one, unlabelled
from verify.verdict import Verdict

CONTEXTS, QUERIES = np.random.default_rng(0).uniform(size=(1, 2, 3)), np.random.default_rng(1).uniform(size=(4, 3))
HEADS = saturated_heads(CONTEXTS, QUERIES, n_heads=3, d_head=2)


def test_saturated_heads_mix_independent_inputs_and_silent_ones_do_not():
    assert mixed_inputs_are_independent(HEADS, CONTEXTS, QUERIES).verdict is Verdict.PROVED
    silent = replace(HEADS, W_Q=0 * HEADS.W_Q)
    assert mixed_inputs_are_independent(silent, CONTEXTS, QUERIES).verdict is not Verdict.PROVED


def test_the_layer_has_the_heads_and_reads_nothing():
    layer, task = heads_as_layer(HEADS), unlabelled(CONTEXTS, QUERIES)
    assert np.array_equal(layer.W_Q, HEADS.W_Q) and np.array_equal(layer.W_K, HEADS.W_K)
    assert not layer.W_V.any() and not layer.W_O.any() and not layer.W_U.any()
    assert task.labels.tolist() == [[0.0]] * 4 and np.array_equal(task.queries, QUERIES)


def test_queries_of_size_one_are_the_same_up_to_powers_of_two():
    queries = np.array([[3, -5], [8, 1], [1, 0]])
    found = of_size_one(queries)
    factors = queries[:, 0] / found[:, 0]
    assert np.array_equal(factors[:, None] * found, queries) and factors.tolist() == [8, 8, 1]
