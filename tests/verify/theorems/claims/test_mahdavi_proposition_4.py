"""The audit certifies what it says, and nothing that is not so."""

import numpy as np

from constructions.saturated_layers.mixing_layer import MixingLayer, equal_means, equal_queries, mixing_layer
from verify.theorems.claims import mahdavi_proposition_4 as audit
from verify.verdict import Verdict


def test_a_wide_layer_is_not_called_too_narrow():
    contexts = equal_queries(examples=4, n_ctx=3, d_model=4)
    assert audit._too_narrow(contexts, n_heads=1, d_value=1).verdict is Verdict.PROVED
    assert audit._too_narrow(contexts, n_heads=1, d_value=2).verdict is not Verdict.PROVED
    assert audit._too_narrow(contexts, n_heads=2, d_value=1).verdict is not Verdict.PROVED


def test_contexts_that_violate_an_assumption_are_no_counterexample():
    contexts = equal_queries(examples=4, n_ctx=3, d_model=4)
    twice = contexts.copy()
    twice[1] = twice[0]  # Assumption 3 fails
    flat = contexts.copy()
    flat[2, 1] = flat[2, 0]  # Assumption 2 fails
    for wrong in (twice, flat, contexts[:2]):
        assert audit._too_narrow(wrong, n_heads=1, d_value=1).verdict is not Verdict.PROVED


def test_means_that_differ_do_not_violate_the_third_assumption():
    contexts = equal_means()
    contexts[1, 1] += 1
    assert audit._third_is_not_implied(contexts).verdict is not Verdict.PROVED


def test_a_layer_that_writes_nothing_or_equal_contexts_prove_nothing():
    contexts = equal_queries(examples=4, n_ctx=2, d_model=3)
    layer = mixing_layer(d_model=3, n_heads=3, d_value=1)
    assert audit._mixed(contexts, layer).verdict is Verdict.PROVED
    assert audit._mixed(contexts, MixingLayer(layer.W_V, 0 * layer.W_O)).verdict is not Verdict.PROVED
    assert audit._mixed(np.repeat(contexts[:1], 4, axis=0), layer).verdict is not Verdict.PROVED


def test_a_layer_that_is_too_narrow_for_the_identity_is_no_instance():
    contexts = equal_queries(examples=4, n_ctx=2, d_model=3)
    layer = mixing_layer(d_model=3, n_heads=3, d_value=1)
    assert audit._mixed(contexts, MixingLayer(layer.W_V[:2], layer.W_O[:2])).verdict is not Verdict.PROVED


def test_queries_that_are_not_equal_are_not_called_so():
    contexts = equal_queries(examples=4, n_ctx=3, d_model=4)
    other = contexts.copy()
    other[1, 0] *= 2  # parallel: all queries together still have rank 1
    assert audit._too_narrow(other, n_heads=1, d_value=1).verdict is not Verdict.PROVED
    assert audit._mixed(other, mixing_layer(d_model=4, n_heads=2, d_value=2)).verdict is not Verdict.PROVED
