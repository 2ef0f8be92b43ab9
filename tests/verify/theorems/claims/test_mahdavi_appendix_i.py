"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

from constructions.saturated_layers.generic_contexts import generic_layer
from verify.theorems.claims import mahdavi_appendix_i as audit
from verify.theorems.evidence import memorized_labels
from verify.verdict import Verdict


def test_equal_contexts_or_equal_heads_prove_nothing():
    layer = generic_layer(examples=10, n_ctx=2, d_model=3, n_heads=3)
    assert audit._full(layer).verdict is Verdict.PROVED
    contexts = layer.contexts.copy()
    contexts[:] = contexts[0]
    assert audit._full(replace(layer, contexts=contexts)).verdict is not Verdict.PROVED
    equal = replace(layer, W_K=layer.W_K[[0, 0, 1]], W_Q=layer.W_Q[[0, 0, 1]])
    assert audit._full(equal).verdict is not Verdict.PROVED


def test_one_example_less_than_the_rank_counts_examples():
    assert audit._full(generic_layer(examples=4, n_ctx=2, d_model=3, n_heads=3)).promised.endswith("= 4")


def test_outputs_that_are_off_prove_nothing(changed):
    changed(memorized_labels, "enclose_logits", lambda found: found + 1e-3)
    assert audit._memorized(n_heads=2, n_ctx=2, d_model=2).verdict is not Verdict.PROVED


def test_queries_that_are_not_equal_or_not_inside_are_not_called_so():
    random = generic_layer(examples=10, n_ctx=2, d_model=3, n_heads=3, same_query=False)
    assert audit._full(random, same_query=False).verdict is Verdict.PROVED
    assert audit._full(random).verdict is not Verdict.PROVED
    layer = generic_layer(examples=10, n_ctx=2, d_model=3, n_heads=3)
    assert audit._full(audit._inside(layer), inside=True).verdict is Verdict.PROVED
    assert audit._full(layer, inside=True).verdict is not Verdict.PROVED
