"""What the arithmetic of a format says about each operation holds for torch, and for the worst that is allowed."""

from typing import Any

import numpy as np
import pytest
import torch
from flint import arb, ctx

from tests.verify.forward.plain_model import _activated
from verify.arithmetic.rounding import gamma
from verify.runs.format_rows import InFormat
from verify.runs.formats import EXP_ULPS, FLOAT32, FLOAT64, FloatFormat
from verify.torch.module import _ACTIVATIONS

FORMATS = [FLOAT32, FLOAT64]


def points(number_format: FloatFormat) -> np.ndarray:
    rng = np.random.default_rng(1)
    wide = np.ldexp(rng.uniform(-1, 1, 300), rng.integers(-60, 12, 300))
    x = np.concatenate([rng.uniform(-10, 10, 1500), rng.uniform(-120, 120, 300), wide, [1e13, -1e13, 1e18, -1e18, 0.0]])
    return x.astype(number_format.name).astype(np.float64)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "gelu-bloom", "silu"])
def test_an_activation_of_torch_is_off_by_no_more_than_its_units(number_format: FloatFormat, activation: Any) -> None:
    x, rows = points(number_format), InFormat(number_format, EXP_ULPS)
    y = _ACTIVATIONS[activation](torch.tensor(x).to(getattr(torch, number_format.name))).double().numpy()
    units, worst = rows.activation_units(activation), 0.0
    with ctx.workprec(600):
        for t, value in zip(x.tolist(), y.tolist(), strict=True):
            error = abs(arb(value) - _activated(arb(t), activation))
            assert error <= units * number_format.unit_roundoff * abs(arb(t)) + 4 * number_format.smallest_normal
            worst = max(worst, float((error / abs(arb(t)) / number_format.unit_roundoff).mid()) if t else 0.0)
    assert worst > 0.5 or activation == "relu"


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_products_sums_and_conversions_round_in_both_formats(number_format: FloatFormat) -> None:
    rows, u = InFormat(number_format, EXP_ULPS), number_format.unit_roundoff
    assert rows.unit >= u + 2.0**-53
    for terms in (0, 1, 5, 1000):
        # A weight is converted, n products are rounded and added; float64 does the same without the conversion.
        assert rows.inner(terms) >= (terms + 1) * u / (1 - (terms + 1) * u) + (gamma(terms) if terms else 0.0)
    big, small = np.array([[1e4 + 1 / 3]]), np.array([[-1e4]])
    value, error = rows.sum_of_exact(big, small)
    assert value[0, 0] == big[0, 0] + small[0, 0] and error[0, 0] >= 2 * u * 2e4
    assert rows.elsewhere is not None and rows.elsewhere.conversion >= u


def test_a_coarser_exponential_has_more_units() -> None:
    fine, coarse = InFormat(FLOAT32, 0.5), InFormat(FLOAT32, 50.0)
    assert fine.exponential == 5.0 and coarse.exponential == 100.0
    for activation in ("gelu-tanh", "silu"):
        # Half of the relative error of the exponential, which is 2 u for each unit in the last place.
        assert coarse.activation_units(activation) >= fine.activation_units(activation) + 0.25 * 2.0 * 49.0
    assert coarse.activation_units("relu") == 0.0
