"""The audit of the slides' bound for low entropy certifies what it says."""

import pytest

from constructions.errors import InputError
from verify.claims import slides_low_entropy as audit
from verify.claims.slides_low_entropy import CLAIM
from verify.verdict import Verdict


def test_wrong_factors_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "slides_factor", lambda constant: 1.0 - 0.0 * constant)
    found = [piece.verdict for piece in audit.evidence(full=False)]
    assert found == [Verdict.REFUTED, Verdict.REFUTED, Verdict.PROVED, Verdict.PROVED, Verdict.PROVED]


def test_the_claim_needs_a_hypothesis_and_builds_nothing() -> None:
    assert (CLAIM.id, CLAIM.module, CLAIM.judgement) == ("slides.low-entropy", "slides_low_entropy", "hypothesis")
    assert "C < 1/2" in CLAIM.truth and "C < 1/2" not in CLAIM.printed
    with pytest.raises(InputError, match="builds no weights"):
        CLAIM.construct()
