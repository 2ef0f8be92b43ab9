"""What the recursion believes of an arithmetic: the errors of activations and of many operations."""

from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from tests.verify.forward.plain_model import _activated
from verify.arithmetic.double_double import DoubleDouble
from verify.arithmetic.rounding import gamma
from verify.forward.arithmetic import growth
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.in_float64 import InFloat64

ACTIVATIONS = ["relu", "gelu", "gelu-tanh", "gelu-bloom", "silu"]


def points() -> np.ndarray:
    rng = np.random.default_rng(1)
    wide = np.concatenate(
        [np.ldexp(rng.uniform(-1, 1, 300), rng.integers(-60, 12, 300)), [1e5, -1e5, 1e110, -1e110, 0.0]]
    )
    return np.concatenate([rng.uniform(-10, 10, 1500), rng.uniform(-40, 40, 300), wide])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rows", [InFloat64(), InDoubleDouble()])
def test_an_activation_is_off_by_no_more_than_its_units(rows: Any, activation: Any) -> None:
    x = points()
    with np.errstate(all="ignore"):
        y = rows.activate(rows.exact(x), activation)
    high, low = (y.high, y.low) if isinstance(y, DoubleDouble) else (y, np.zeros_like(y))
    units, worst = rows.activation_units(activation), 0.0
    with ctx.workprec(600):
        for t, h, rest in zip(x.tolist(), high.tolist(), low.tolist(), strict=True):
            error = abs(arb(h) + arb(rest) - _activated(arb(t), activation))
            assert error <= units * rows.unit * abs(arb(t)) + arb(2) ** -1000
            worst = max(worst, float((error / abs(arb(t)) / rows.unit).mid()) if t else 0.0)
    assert worst > (0.5 if isinstance(rows, InFloat64) else 0.001) or activation == "relu"


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rows", [InFloat64(), InDoubleDouble()])
def test_what_is_no_number_has_no_activation(rows: Any, activation: Any) -> None:
    with np.errstate(all="ignore"):
        found = rows.high(rows.activate(rows.exact(np.array([np.nan, np.inf])), activation))
    assert not np.isfinite(found).any()


@pytest.mark.parametrize("count", [1, 5, 1000, 2**20])
def test_growth_lies_above_gamma_until_it_is_infinite(count: int) -> None:
    assert gamma(count) <= growth(2.0**-53, count) < 1.001 * gamma(count)
    assert growth(2.0**-53, 2.0**51) == np.inf


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1000, 2**22 - 1])
def test_growth_in_a_coarse_unit_lies_above_gamma(count: int) -> None:
    exact = fmpq(count, 2**24) / (1 - fmpq(count, 2**24))
    assert arb(exact) <= growth(2.0**-24, count) < 1.001 * arb(exact)
    assert growth(2.0**-24, 2**22) == np.inf


@pytest.mark.parametrize("rows", [InFloat64(), InDoubleDouble()])
def test_scores_far_below_the_largest_have_no_numerator_and_a_nan_spoils_its_row(rows: Any) -> None:
    scores = rows.exact(np.array([[0.0, -599.0, -601.0, -1e300], [np.nan, 0.0, 0.0, 0.0]]))
    with np.errstate(all="ignore"):
        powers = rows.high(rows.exponentials(rows.subtract_max(scores, np.ones((2, 4), dtype=bool))))
    assert powers[0, 0] == 1.0 and 0.0 < powers[0, 1] < 1e-259 and not powers[0, 2:].any()
    assert np.isnan(powers[1]).any()


def test_the_largest_of_large_scores_is_taken_away_with_its_low_word() -> None:
    scores = DoubleDouble(np.array([[1e30, 1e30, 1e30]]), np.array([[-1e13, 1e13, 0.0]]))
    found = InDoubleDouble().subtract_max(scores, np.ones((1, 3), dtype=bool))
    assert found.high.tolist() == [[-2e13, 0.0, -1e13]] and not found.low.any()


@pytest.mark.parametrize("rows", [InFloat64(), InDoubleDouble()])
def test_a_masked_score_has_weight_zero_however_large_it_is(rows: Any) -> None:
    scores = rows.exact(np.array([[1e300, 1.0]]))
    powers = rows.high(rows.exponentials(rows.subtract_max(scores, np.array([[False, True]]))))
    assert powers.tolist() == [[0.0, 1.0]]
