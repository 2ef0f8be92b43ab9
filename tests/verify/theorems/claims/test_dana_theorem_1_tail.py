"""The audit of Theorem 1 with contexts left out confirms its verdict, and does not if a constant is another one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.heads_of_theorem_1.left_out import (
    PartialMemory,
    random_front_end,
    random_instance,
    sharp_instance,
    violating_front_end,
)
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.certificate import TEXT_DIVERGENCE
from verify.provers.memorization import certify_memorization
from verify.theorems.audit import audit_claims
from verify.theorems.claims import claim
from verify.theorems.claims import dana_theorem_1_tail as audit
from verify.theorems.evidence import Evidence
from verify.theorems.memories.left_out_bound import LeftOutBound
from verify.verdict import Verdict

ID = "dana.theorem-1-tail"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = audit.sharp_bounds(8)
    monkeypatch.setattr(audit, "sharp_bounds", lambda _: bounds)
    monkeypatch.setattr(audit, "random_instance", lambda seed: random_instance(seed % 4))
    monkeypatch.setattr(audit, "_on_text", lambda **_: audit.never_exceeded("of a text", bounds))


def first_constant() -> Evidence:
    """The first piece that refutes the printed constant."""
    return next(piece for piece in audit.evidence(full=False) if piece.role == "constant")


def scaled(monkeypatch: pytest.MonkeyPatch, name: str, factor: float) -> None:
    """Multiply a bound by a factor."""
    given: Any = getattr(LeftOutBound, name)

    def spoilt(self: LeftOutBound, *arguments: Any) -> Enclosure:
        return factor * (given(self, *arguments) if arguments else given.fget(self))

    monkeypatch.setattr(LeftOutBound, name, spoilt if name == "printed" else property(spoilt))


def test_without_the_square_root_of_two_the_corrected_bound_is_not_confirmed(
    monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    scaled(monkeypatch, "by_rows", 0.7072)
    [found] = audit_claims([ID])
    repairs = [piece for piece in found.evidence if piece.role == "repair"]
    [with_the_rank] = [piece for piece in found.evidence if piece.role == "with"]
    assert not found.confirmed
    assert with_the_rank.verdict is not Verdict.PROVED
    assert "on 6 of 6" not in " ".join(piece.certified for piece in repairs)


def test_with_the_factor_that_was_lost_the_printed_bound_is_not_refuted(
    monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    scaled(monkeypatch, "printed", 1.4143)
    [found] = audit_claims([ID])
    counterexamples = [piece for piece in found.evidence if piece.role == "constant"]
    assert not found.confirmed
    assert all(piece.verdict is not Verdict.PROVED for piece in counterexamples)


def test_an_encoder_that_is_not_aimed_is_no_counterexample(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    monkeypatch.setattr(audit, "violating_front_end", lambda: random_front_end(np.random.default_rng(3)))
    assert first_constant().verdict is not Verdict.PROVED


def test_contexts_that_are_not_the_most_likely_are_no_counterexample(
    monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    def other(front_end: Any, *, norm: float, occurrences: int) -> PartialMemory:
        return sharp_instance(front_end, norm=norm, occurrences=32)  # 96/97 is less than 1 - epsilon

    monkeypatch.setattr(audit, "sharp_instance", other)
    assert first_constant().verdict is not Verdict.PROVED


def test_contexts_whose_features_can_be_independent_do_not_show_the_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    assert audit._without_the_rank().verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "exclusive_or_contexts", lambda: np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    assert audit._without_the_rank().verdict is not Verdict.PROVED


def test_decimals_are_rounded_to_the_side_that_is_proved() -> None:
    third = Enclosure(0.12345, 0.0)
    assert (audit.at_least(third), audit.at_most(third)) == ("0.1234", "0.1235")


def test_a_likelier_context_that_is_left_out_is_no_counterexample() -> None:
    """The kept contexts hold more than 1 - epsilon, and would not without their least likely one, and yet."""
    instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
    spoilt = replace(instance, occurrences=np.array([6000, 3860, 40, 100]))
    assert audit.printed_is_exceeded(spoilt, audit.judged(spoilt)).verdict is not Verdict.PROVED
    fair = replace(instance, occurrences=np.array([6000, 3800, 100, 100]))
    assert audit.printed_is_exceeded(fair, audit.judged(fair)).verdict is Verdict.PROVED


def test_the_sizes_that_are_stated_are_those_of_the_weights() -> None:
    instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
    statement = audit.printed_is_exceeded(instance, audit.judged(instance)).statement
    assert statement.startswith("N = 2, S = 2, d = 1, d_h = 1, H = 2: 3 contexts")


TAIL = claim("dana.theorem-1-tail")


def test_the_weights_hold_the_kept_contexts_and_the_fourth_costs_what_the_page_says() -> None:
    made = TAIL.construct()
    certificate = certify_memorization(made.model, made.task, text_divergence=True).certificate
    assert certificate.verdict is Verdict.PROVED
    values = certificate.statement(TEXT_DIVERGENCE).values
    assert 56.48 < values["lower"] < values["upper"] < 56.49


def test_a_parameter_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no parameter 'd_vocab'"):
        TAIL.construct(d_vocab=2)
