"""The audit of Definition 2 confirms that it is redundant, and does not confirm other constants."""

import pytest

from tests.verify.conftest import Change
from verify.theorems.claims import dana_definition_2 as audit
from verify.verdict import Verdict


def test_a_larger_constant_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.scaling_constants

    def larger(logits: list) -> tuple:
        g, wide = honest(logits)
        return 3 * g, wide

    monkeypatch.setattr(audit, "scaling_constants", larger)
    assert audit._in_general_position(3, 1, 2, encoders=2, depth=20).verdict is not Verdict.PROVED


def test_a_sequence_that_is_too_fast_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.scaled_encoder
    monkeypatch.setattr(
        audit,
        "scaled_encoder",
        lambda w, e, largest_range, delta: honest(w, e, largest_range=largest_range, delta=4 * delta),
    )
    assert audit._in_general_position(3, 1, 2, encoders=2, depth=20).verdict is not Verdict.PROVED


def test_encoders_that_are_further_away_are_not_confirmed(changed: Change) -> None:
    changed(audit, "mean_divergence", lambda found: 100 * found)
    assert audit._uniform_encoder(6).verdict is not Verdict.PROVED


def test_a_definition_that_one_token_meets_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "judge_approximation", lambda *_, **__: Verdict.PROVED)
    assert audit._one_token().verdict is not Verdict.PROVED
