"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

from constructions.saturated_layers.constant_sum_tokens import constant_sum_layer
from verify.theorems.claims import mahdavi_proposition_5 as audit
from verify.verdict import Verdict


def test_one_token_of_another_sum_proves_nothing():
    layer = constant_sum_layer(examples=9, n_ctx=2, d_model=3, n_heads=3, total=5)
    assert audit._tight(layer, 5).verdict is Verdict.PROVED
    assert audit._tight(layer, 4).verdict is not Verdict.PROVED
    contexts = layer.contexts.copy()
    contexts[0, 0, 0] += 1
    assert audit._tight(replace(layer, contexts=contexts), 5).verdict is not Verdict.PROVED


def test_equal_heads_prove_nothing():
    layer = constant_sum_layer(examples=9, n_ctx=2, d_model=3, n_heads=3, total=0)
    equal = replace(layer, W_K=layer.W_K[[0, 0, 1]], W_Q=layer.W_Q[[0, 0, 1]])
    assert audit._tight(layer, 0).verdict is Verdict.PROVED
    assert audit._tight(equal, 0).verdict is not Verdict.PROVED


def test_dependent_tokens_are_in_no_general_position():
    layer = constant_sum_layer(examples=6, n_ctx=2, d_model=3, n_heads=1, total=5)
    contexts = layer.contexts.copy()
    contexts[0, 0] = contexts[3, 1]
    assert audit._position(replace(layer, contexts=contexts), 5).verdict is not Verdict.PROVED
    assert audit._position(layer, 0).verdict is not Verdict.PROVED
