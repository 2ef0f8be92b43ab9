"""Exclusive or under one head: the bound, and the weights that meet it."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.verify.conftest import Spoil
from verify.theorems.evidence import exclusive_or as module
from verify.verdict import Verdict

P = Fraction(99, 100)


def verdicts() -> set[Verdict]:
    return {comparison.verdict for comparison in module.exclusive_or_is_met(P)}


@pytest.mark.parametrize("p", [P, Fraction(3, 5), Fraction(9, 10)])
def test_weights_come_near_the_bound(p: Fraction) -> None:
    assert {comparison.verdict for comparison in module.exclusive_or_is_met(p)} == {Verdict.PROVED}
    assert module.exclusive_or_floor(p).value > 0


@pytest.mark.parametrize("n_ctx", [3, 5])
def test_longer_contexts_have_the_same_bound(n_ctx: int) -> None:
    contexts, distributions = module.exclusive_or_distributions(P, n_ctx=n_ctx)
    assert contexts.shape == (4, n_ctx) and [sum(distribution) for distribution in distributions] == [1] * 4
    assert module.exclusive_or_floor(P, n_ctx=n_ctx).value == pytest.approx(module.exclusive_or_floor(P).value)


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_bound_that_is_not_the_infimum_is_refuted(spoil: Spoil, factor: float) -> None:
    honest = module.ONE_HEAD_DIVERGENCE.judge

    def scaled(**given: object) -> object:
        found = honest(**given)
        return replace(found, lower=factor * found.lower)

    spoil(module.ONE_HEAD_DIVERGENCE, scaled)
    assert Verdict.REFUTED in verdicts()


def test_weights_that_stay_away_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = module.exclusive_or_optimum
    monkeypatch.setattr(module, "exclusive_or_optimum", lambda logit, **_: honest(logit, size=100.0))
    assert Verdict.REFUTED in verdicts()
