"""The leads on the parabola are the integers they should be, at the largest size too; one size beyond is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.parabola import MOST, parabola, power_for, stream
from constructions.errors import InputError


@given(st.integers(1, 300), st.integers(-900, 900))
def test_every_lead_is_a_square_times_the_factor(count: int, power: int) -> None:
    labels = np.arange(count)
    logits = stream(labels, power=power) @ parabola(count).T
    leads = np.diag(logits)[:, None] - logits
    assert (np.ldexp(leads, -power) == (labels[:, None] - labels) ** 2).all()


def test_the_last_tokens_of_the_largest_parabola_are_exact() -> None:
    last = np.array([MOST - 1, MOST - 2, MOST - 3])
    vectors = np.stack([2.0 * last, -(last.astype(float) ** 2)], axis=1)
    logits = stream(last, power=0) @ vectors.T
    exact = [[2 * int(g) * int(j) - int(j) ** 2 for j in last] for g in last]
    assert logits.astype(object).tolist() == exact


@given(st.floats(1e-300, 3.0))
def test_the_power_is_the_least_that_suffices(wanted: float) -> None:
    def bound(power: int) -> float:
        return math.log(2) - 2.0**power - math.log1p(-math.exp(-3 * 2.0**power))

    power = power_for(wanted)
    assert bound(power) <= math.log(wanted)
    assert power == 0 or bound(power - 1) > math.log(wanted) - 1e-8


def test_what_is_out_of_range_is_refused() -> None:
    for count in (0, MOST + 1):
        with pytest.raises(InputError, match="count = "):
            parabola(count)
    with pytest.raises(InputError, match="power = 901"):
        stream(np.array([0]), power=901)
    with pytest.raises(InputError, match="divergence = 0"):
        power_for(0.0)
