"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

from constructions.saturated_layers.generic_contexts import generic_layer
from verify.theorems.claims import mahdavi_one_token as audit
from verify.theorems.claims.mahdavi_one_token import CLAIM
from verify.theorems.evidence import stated
from verify.verdict import Verdict


def test_two_tokens_or_contexts_of_their_own_are_another_case():
    layer = generic_layer(examples=5, n_ctx=1, d_model=3, n_heads=2)
    shared, one = replace(layer, contexts=layer.contexts[:1]), stated(CLAIM, "capacity")
    assert audit._ranked(shared, one, role="claim").verdict is Verdict.PROVED
    assert audit._ranked(layer, one, role="claim").verdict is Verdict.REFUTED
    two = generic_layer(examples=5, n_ctx=2, d_model=3, n_heads=2, same_query=False)
    assert audit._ranked(replace(two, contexts=two.contexts[:1]), one, role="claim").verdict is not Verdict.PROVED
