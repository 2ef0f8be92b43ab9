"""The audit of the slides' bound for low entropy certifies what it says."""

import pytest

from verify.theorems.claims import slides_low_entropy as audit
from verify.verdict import Verdict


def test_wrong_factors_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "slides_factor", lambda constant: 1.0 - 0.0 * constant)
    found = [piece.verdict for piece in audit.evidence(full=False)]
    assert found == [Verdict.REFUTED, Verdict.REFUTED, Verdict.PROVED, Verdict.PROVED, Verdict.PROVED]
