"""The bracket of the best encoder: a bound that is false or empty, and a search that misses, do not pass."""

from dataclasses import replace

import pytest

from tests.verify.conftest import Spoil
from verify.theorems.evidence import encoder_bracket as module
from verify.theorems.evidence.quantifier import Quantifier
from verify.verdict import Verdict


def test_both_sides_meet() -> None:
    piece = module.bracketed("claim")
    assert piece.verdict is Verdict.PROVED and piece.quantifier is Quantifier.ALL_ENCODERS
    assert len(piece.compared) == 4


@pytest.mark.parametrize("factor", [0.1, 0.8, 1.3])
def test_a_bound_that_is_empty_or_false_is_refuted(spoil: Spoil, factor: float) -> None:
    honest = module.ENCODER_DIVERGENCE.judge

    def scaled(**given: object) -> object:
        found = honest(**given)
        return replace(found, lower=factor * found.lower)

    spoil(module.ENCODER_DIVERGENCE, scaled)
    assert module.bracketed("claim").verdict is Verdict.REFUTED


def test_an_encoder_that_is_not_the_best_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = module.best_encoder

    def spoilt(*given, **options):
        found = honest(*given, **options)
        return replace(found, E=-3.0 * found.E)

    monkeypatch.setattr(module, "best_encoder", spoilt)
    assert module.bracketed("claim").verdict is Verdict.REFUTED
