"""The audit of the slides' bound for low entropy certifies what it says."""

import pytest

from constructions.claims import claim
from verify.claims import slides_low_entropy as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict


def test_the_recorded_judgement_is_confirmed() -> None:
    pieces = list(audit.evidence(full=False))
    assert Audit(claim("slides.low-entropy"), tuple(pieces), 0.0).confirmed
    assert all(piece.verdict is Verdict.PROVED for piece in pieces)
    assert [piece.role for piece in pieces] == ["without", "with", "with", "claim"]


@pytest.mark.slow
def test_all_evidence_is_certified() -> None:
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))


def test_wrong_factors_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "slides_factor", lambda constant: 1.0 - 0.0 * constant)
    found = [piece.verdict for piece in audit.evidence(full=False)]
    assert found == [Verdict.REFUTED, Verdict.REFUTED, Verdict.PROVED, Verdict.PROVED]
