"""The rate on the circle and the parabola: both bounds, down to where they meet, and bounds that are wrong."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.circle import strength
from constructions.errors import InputError
from verify.theorems.encoders.circle_rate import circle_rate, parabola_rate
from verify.verdict import Verdict


@given(st.integers(1, 400), st.floats(1e-9, 400.0))
def test_the_divergence_lies_between_its_bounds(count: int, decay: float) -> None:
    factor = decay / (1 - math.cos(2 * math.pi / max(count, 2)))
    assert circle_rate(count, factor).verdict is Verdict.PROVED


@given(st.integers(1, 60), st.floats(0.01, 30.0))
def test_the_divergence_is_that_of_the_softmax(count: int, factor: float) -> None:
    angles = 2 * np.pi * np.arange(count) / count
    plain = np.log(np.exp(factor * (np.cos(angles) - 1)).sum())
    assert float(circle_rate(count, factor).divergence) == pytest.approx(plain, rel=1e-9, abs=1e-12)


@given(st.integers(2, 100000), st.floats(1e-30, 5.0))
def test_the_factor_for_a_divergence_suffices(count: int, wanted: float) -> None:
    assert circle_rate(min(count, 500), strength(min(count, 500), wanted)).divergence <= arb(wanted)


def test_with_a_smaller_factor_the_divergence_is_missed() -> None:
    assert not circle_rate(3, 0.99 * strength(3, 1e-3)).divergence <= arb(1e-3)


def test_two_tokens_and_one_have_their_own_values() -> None:
    with ctx.workprec(100):
        assert circle_rate(2, 1.5).divergence.overlaps((-arb(3)).exp().log1p())
    assert circle_rate(1, 5.0).divergence == 0
    three = circle_rate(3, 1.0)
    assert three.divergence.overlaps(three.lower)


def test_the_lower_bound_is_strict_from_four_tokens_on() -> None:
    found = circle_rate(4, 3.0)
    assert found.lower < found.divergence < found.upper


@given(st.integers(2, 2000), st.sampled_from([0.1, 0.5, 1, 2, 32, 512]))
def test_the_parabola_keeps_its_bound(count: int, factor: float) -> None:
    found = parabola_rate(count, factor)
    assert found.verdict is Verdict.PROVED
    middle = count // 2
    plain = np.exp(-factor * np.delete(np.arange(count) - middle, middle) ** 2.0).sum()
    assert float(found.divergence) == pytest.approx(math.log1p(plain), rel=1e-9, abs=1e-300)


def test_a_wrong_bound_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    import verify.theorems.encoders.circle_rate as judge

    honest = judge._between
    monkeypatch.setattr(judge, "_between", lambda above, divergence, upper: honest(above, divergence, upper / 2))
    assert circle_rate(5, 2.0).verdict is Verdict.REFUTED
    assert parabola_rate(5, 2).verdict is Verdict.REFUTED


def test_what_is_out_of_range_is_refused() -> None:
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="strength = "):
            circle_rate(3, bad)
    with pytest.raises(InputError, match="count = 0"):
        circle_rate(0, 1.0)
    with pytest.raises(InputError, match="count = 1"):
        parabola_rate(1, Fraction(1))
