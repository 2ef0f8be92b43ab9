"""The audit certifies what it says, and nothing that is not so."""

import pytest

from constructions.claims.dana_value_rank import CLAIM
from verify.claims import dana_value_rank as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


def test_with_more_heads_or_one_dimension_there_is_no_counterexample():
    assert audit._lost(width=2, heads=1).verdict is Verdict.PROVED
    assert audit._lost(width=1, heads=1).verdict is Verdict.REFUTED
    assert audit._lost(width=3, heads=3).verdict is Verdict.REFUTED


@pytest.mark.slow
def test_larger_networks_are_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))
