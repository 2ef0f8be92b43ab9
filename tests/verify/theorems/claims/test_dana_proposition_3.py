"""The audit of Proposition 3 confirms it, and does not if a rate, a factor or a rounding is another one."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from constructions.encoders.one_dimension import Line
from constructions.model.shapes import dana_network, dana_tensors
from tests.verify.conftest import Change
from verify.theorems.claims import dana_proposition_3 as audit
from verify.theorems.claims.dana_proposition_3 import CLAIM
from verify.theorems.evidence import Evidence
from verify.verdict import Verdict


def confirmed(piece: Evidence) -> bool:
    return piece.verdict is Verdict.PROVED


def test_a_smaller_factor_is_not_confirmed(changed: Change) -> None:
    assert confirmed(audit._strength_suffices((2, 3, 100)))
    changed(audit, "strength", lambda found: 0.999 * found)
    assert not confirmed(audit._strength_suffices((2, 3, 100)))


def test_a_smaller_power_is_not_confirmed(changed: Change) -> None:
    changed(audit, "power_for", lambda found: found - 1)
    assert not confirmed(audit._parabola_rates((10,)))


def test_a_parabola_that_is_off_by_one_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.parabola
    monkeypatch.setattr(audit, "parabola", lambda count: honest(count) + np.array([0.0, 1.0]) * (count > 2))
    assert audit._parabola_is_exact((2, 5)).verdict is Verdict.REFUTED


def test_a_line_on_one_scale_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        audit, "multi_scale_line", lambda masses: Line(tuple(range(len(masses))), (Fraction(1),) * len(masses))
    )
    assert not confirmed(audit._line((4, 3, 2, 1)))


def test_a_larger_infimum_is_not_confirmed(changed: Change) -> None:
    changed(audit, "line_infimum", lambda found: found + 1)
    assert not confirmed(audit._line((4, 3, 2, 1)))


def test_rounding_to_fewer_bits_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = audit.rounded
    monkeypatch.setattr(audit, "rounded", lambda vectors, name: honest(vectors, "bfloat16"))
    monkeypatch.setattr(audit, "losing_pair", lambda *_: (0, 1))
    assert not confirmed(audit._float32(everything=False))


def test_other_numbers_of_the_search_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_LAST", 15680)
    assert not confirmed(audit._float32(everything=False))
    monkeypatch.setattr(audit, "_LAST", 15681)
    monkeypatch.setattr(audit, "_LARGEST", 17995)
    assert not confirmed(audit._float32(everything=False))


def test_a_memory_that_forgets_a_label_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = CLAIM.construct()
    silent = dana_network(**{**dana_tensors(made.model), "W_U": np.zeros_like(made.model.W_U)})
    monkeypatch.setattr(type(audit.CLAIM), "construct", lambda _: replace(made, model=silent))
    assert not confirmed(audit._built())


def test_a_circle_that_loses_everywhere_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = SimpleNamespace(verdict=Verdict.REFUTED, distance=1.0)
    monkeypatch.setattr(audit, "winners", lambda vectors: lost)
    assert not confirmed(audit._float64(100))
