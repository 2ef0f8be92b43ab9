"""The audit of Theorem 3 refutes it and its argument and confirms Theorem LR1, and not with other constants."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from constructions.heads_of_theorem_1.left_out import PartialMemory, sharp_instance, violating_front_end
from tests.verify.conftest import Change, Spoil
from verify.provers.memorization import certify_memorization
from verify.theorems.capacity.divergence_floor import DivergenceFloor
from verify.theorems.claims import dana_theorem_3 as audit
from verify.theorems.claims.dana_theorem_3 import CLAIM
from verify.theorems.encoders.range_bound import RangeBound
from verify.theorems.evidence.theorems import ONE_HEAD_DIVERGENCE
from verify.verdict import Verdict


def test_a_smaller_constant_in_theorem_e_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.judged

    def smaller(instance: PartialMemory, distributions: Any = None) -> RangeBound:
        found = honest(instance, distributions)
        return replace(found, factor=found.factor / 50)

    monkeypatch.setattr(audit, "judged", smaller)
    assert audit.theorem_e_on_random_transformers(range(20)).verdict is Verdict.REFUTED
    assert audit.theorem_e_on_the_distributions_of_lemma_4([100]).verdict is Verdict.REFUTED


def test_an_encoder_of_a_larger_range_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.within_range
    monkeypatch.setattr(audit, "within_range", lambda largest: honest(2 * largest))
    assert audit.cost_of_a_range([Fraction(10), Fraction(1280)]).verdict is not Verdict.PROVED


def test_a_larger_floor_is_not_confirmed(changed: Change, spoil: Spoil) -> None:
    honest = audit.divergence_floor_at_range
    changed(audit, "divergence_floor_at_range", lambda found: 2 * found)
    spoil(audit.DIVERGENCE_AT_RANGE, lambda **given: 2 * honest(**given))
    assert audit.cost_of_a_range([Fraction(10), Fraction(1280)]).verdict is not Verdict.PROVED
    assert audit.theorem_e_on_the_distributions_of_lemma_4([10**6]).verdict is not Verdict.PROVED


@pytest.mark.parametrize("factor", [0.5, 2.5])
def test_another_trade_off_is_not_confirmed(spoil: Spoil, factor: float) -> None:
    honest = audit.TRADE_OFF.judge
    spoil(audit.TRADE_OFF, lambda **given: honest(**given) * factor)
    assert audit.best_rate([Fraction(1, 10**6)]).verdict is not Verdict.PROVED


@pytest.mark.parametrize("factor", [0.0, 0.99, 1.01])
def test_a_floor_of_one_head_that_is_empty_or_false_is_not_confirmed(spoil: Spoil, factor: float) -> None:
    honest = ONE_HEAD_DIVERGENCE.judge

    def scaled(**given: Any) -> DivergenceFloor:
        found = honest(**given)
        return replace(found, lower=factor * found.lower)

    spoil(ONE_HEAD_DIVERGENCE, scaled)
    assert audit.exclusive_or().verdict is Verdict.REFUTED


def test_a_rounded_transformer_is_refused() -> None:
    with pytest.raises(TypeError, match="rational"):
        audit.judged(sharp_instance(violating_front_end(), norm=200.0, occurrences=33))


@pytest.mark.parametrize("parameters", [{}, {"largest_range": 2}, {"largest_range": 500}, {"occurrences": 2}])
def test_the_weights_hold_the_kept_contexts(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    certificate = certify_memorization(made.model, made.task).certificate
    assert certificate.verdict is Verdict.PROVED
    assert certificate.answers.values["memorized"] == 6
    assert (made.task.n_contexts, made.task.n_all) == (6, 9)
