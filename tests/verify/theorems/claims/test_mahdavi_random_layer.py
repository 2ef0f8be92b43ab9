"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

from constructions.saturated_layers.mixing_layer import equal_queries
from verify.theorems.claims import mahdavi_random_layer as audit
from verify.verdict import Verdict

CONTEXTS = equal_queries(examples=4, n_ctx=2, d_model=2)


LAYER = audit.random_layer(d_model=2, n_heads=1, d_value=2)


def test_a_layer_that_writes_nothing_satisfies_nothing():
    assert audit._satisfied(CONTEXTS, LAYER).verdict is Verdict.PROVED
    assert audit._satisfied(CONTEXTS, replace(LAYER, W_O=0 * LAYER.W_O)).verdict is not Verdict.PROVED


def test_a_narrow_layer_does_not_reach_the_rank_of_its_outputs():
    narrow = audit.random_layer(d_model=3, n_heads=1, d_value=1)
    contexts = equal_queries(examples=5, n_ctx=3, d_model=3)
    assert audit._satisfied(contexts, narrow).verdict is not Verdict.PROVED
    assert audit._too_narrow(contexts).verdict is Verdict.PROVED
    assert audit._too_narrow(CONTEXTS).verdict is not Verdict.PROVED
