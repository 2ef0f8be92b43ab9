"""The audit of Theorem 3 refutes it and its argument and confirms Theorem E, and not with other constants."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from constructions.claims.dana_theorem_3 import CLAIM
from constructions.memories.left_out import LeftOut, sharp_instance, violating_front_end
from verify.claims import dana_theorem_3 as audit
from verify.claims.audit import NEEDED
from verify.encoders.range_bound import RangeBound
from verify.verdict import Verdict


def test_everything_is_proved() -> None:
    found = list(audit.evidence(full=False))
    assert NEEDED[CLAIM.judgement] <= {piece.role for piece in found}
    assert all(piece.verdict is Verdict.PROVED for piece in found)
    assert "0.31857" in found[0].certified


@pytest.mark.slow
def test_everything_is_proved_at_full_length() -> None:
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))


def test_a_smaller_constant_in_theorem_e_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.judged

    def smaller(instance: LeftOut, laws: Any = None) -> RangeBound:
        found = honest(instance, laws)
        return replace(found, factor=found.factor / 50)

    monkeypatch.setattr(audit, "judged", smaller)
    assert audit.theorem_e_on_random_transformers(range(20)).verdict is Verdict.REFUTED
    assert audit.theorem_e_on_the_laws_of_lemma_4([100]).verdict is Verdict.REFUTED


def test_an_encoder_of_a_larger_range_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.within_range
    monkeypatch.setattr(audit, "within_range", lambda largest: honest(2 * largest))
    assert audit.cost_of_a_range([Fraction(10), Fraction(1280)]).verdict is not Verdict.PROVED


def test_a_larger_floor_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.divergence_floor_at_range
    monkeypatch.setattr(audit, "divergence_floor_at_range", lambda *given: 2 * honest(*given))
    assert audit.cost_of_a_range([Fraction(10), Fraction(1280)]).verdict is not Verdict.PROVED
    assert audit.theorem_e_on_the_laws_of_lemma_4([10**6]).verdict is not Verdict.PROVED


def test_a_cheaper_trade_off_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.best_trade_off
    monkeypatch.setattr(audit, "best_trade_off", lambda *given: honest(*given, steps=20) / 2)
    assert audit.best_rate([Fraction(1, 10**6)]).verdict is not Verdict.PROVED


def test_laws_that_one_head_reaches_are_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.one_head_divergence_floor
    monkeypatch.setattr(audit, "one_head_divergence_floor", lambda contexts, laws: honest(contexts, [laws[0]] * 4))
    assert audit.exclusive_or().verdict is not Verdict.PROVED


def test_a_rounded_transformer_is_refused() -> None:
    with pytest.raises(TypeError, match="rational"):
        audit.judged(sharp_instance(violating_front_end(), norm=200.0, occurrences=33))
