"""The audit certifies what it says, and nothing that is not so."""

from fractions import Fraction

from verify.theorems.claims import dana_corollary_1_step as audit
from verify.verdict import Verdict


def test_a_delta_that_is_not_small_proves_nothing(monkeypatch):
    monkeypatch.setattr(audit, "_delta", lambda bits: Fraction(1, 4))
    assert audit._small_enough(10, 100).verdict is Verdict.REFUTED


def test_another_divergence_is_noticed(monkeypatch):
    honest = audit._number
    monkeypatch.setattr(audit, "_number", lambda value: honest(value) * honest(Fraction(1025, 1024)))
    assert audit._gap_is_reached(3).verdict is Verdict.REFUTED
