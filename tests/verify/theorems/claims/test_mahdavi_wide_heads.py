"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

from constructions.saturated_layers.generic_contexts import generic_layer
from verify.theorems.claims import mahdavi_wide_heads as audit
from verify.theorems.claims.mahdavi_wide_heads import CLAIM
from verify.theorems.evidence import stated
from verify.verdict import Verdict

LAYER = generic_layer(examples=12, n_ctx=2, d_model=3, n_heads=4, d_head=3)


LARGEST = stated(CLAIM, "generic", T=12, H=4, d=3)


def test_equal_heads_and_narrow_ones_prove_nothing():
    assert audit._reached(LAYER, LARGEST, thin=False).verdict is Verdict.PROVED
    equal = replace(LAYER, W_Q=LAYER.W_Q[[0, 0, 1, 2]], W_K=LAYER.W_K[[0, 0, 1, 2]])
    assert audit._reached(equal, LARGEST, thin=False).verdict is Verdict.REFUTED
    assert audit._reached(LAYER, LARGEST, thin=True).verdict is not Verdict.PROVED
    narrow = generic_layer(examples=12, n_ctx=2, d_model=3, n_heads=4)
    assert audit._reached(narrow, LARGEST, thin=False).verdict is not Verdict.PROVED


def test_another_number_is_refuted():
    other = stated(CLAIM, "capacity", H=4, n=2)
    assert audit._reached(LAYER, other, thin=False).verdict is Verdict.REFUTED
