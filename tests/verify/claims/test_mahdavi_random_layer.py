"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

import pytest

from constructions.claims.mahdavi_random_layer import CLAIM
from constructions.saturated.mixing_layer import equal_queries
from verify.claims import mahdavi_random_layer as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict

CONTEXTS = equal_queries(examples=4, tokens=2, width=2)
LAYER = audit.random_layer(width=2, heads=1, value_width=2)


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


def test_a_layer_that_writes_nothing_satisfies_nothing():
    assert audit._satisfied(CONTEXTS, LAYER).verdict is Verdict.PROVED
    assert audit._satisfied(CONTEXTS, replace(LAYER, W_O=0 * LAYER.W_O)).verdict is not Verdict.PROVED


def test_a_narrow_layer_does_not_reach_the_rank_of_its_outputs():
    narrow = audit.random_layer(width=3, heads=1, value_width=1)
    contexts = equal_queries(examples=5, tokens=3, width=3)
    assert audit._satisfied(contexts, narrow).verdict is not Verdict.PROVED
    assert audit._too_narrow(contexts).verdict is Verdict.PROVED
    assert audit._too_narrow(CONTEXTS).verdict is not Verdict.PROVED


@pytest.mark.slow
def test_larger_layers_are_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))
