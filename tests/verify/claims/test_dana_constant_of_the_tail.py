"""The audit certifies what it says, and nothing that is not so."""

import pytest

from constructions.claims.dana_constant_of_the_tail import CLAIM
from verify.claims import dana_constant_of_the_tail as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


def test_dependent_features_prove_nothing(monkeypatch):
    honest = audit.exact_outputs
    monkeypatch.setattr(audit, "exact_outputs", lambda *given: 0 * honest(*given))
    assert audit._large(2).verdict is Verdict.REFUTED


@pytest.mark.slow
def test_larger_scores_are_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))
