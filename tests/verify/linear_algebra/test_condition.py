"""The condition number of every member lies in its enclosure, which is narrow."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from constructions.errors import InputError
from tests.exact_values import exactly
from tests.verify.linear_algebra.test_singular_values import truth
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra.condition import enclose_condition


def assert_encloses(given: Enclosure, member: Any, bits: int = 300) -> None:
    values, condition = truth(member, bits), enclose_condition(given)
    if values[-1] > 0:
        assert float(condition.lower()) <= values[0] / values[-1] * (1 + mpmath.mpf(2) ** -200)
        assert values[0] / values[-1] <= float(condition.upper()) * (1 + mpmath.mpf(2) ** -200)
    else:
        assert np.isinf(condition.radius)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 2), (2, 5), (5, 5), (6, 4)])
@pytest.mark.parametrize("radius", [0.0, 1e-10, 0.02])
def test_every_member_is_enclosed(shape: tuple[int, int], radius: float) -> None:
    rng = np.random.default_rng([*shape, int(radius * 1e10)])
    for exponent in (0, -3, 40):
        midpoint = rng.standard_normal(shape) * 2.0 ** (exponent * rng.random((shape[0], 1)))
        given = Enclosure(midpoint, np.full((1, shape[1]), radius))
        for _ in range(2):
            assert_encloses(given, exactly(midpoint) + Fraction(radius) * exactly(rng.choice([-1, 0, 1], shape)))


@given(numbers.arrays(np.float64, (2, 3), elements=st.floats(-1e300, 1e300, allow_subnormal=True)))
def test_any_floats_are_enclosed(x: Floats) -> None:
    assert_encloses(Enclosure.exact(x), x, bits=9000)


@pytest.mark.parametrize("shape", [(60, 60), (40, 90), (90, 40)])
def test_enclosures_are_narrow(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).standard_normal(shape)
    values, condition = np.linalg.svd(x, compute_uv=False), enclose_condition(x)
    assert abs(condition.midpoint - values[0] / values[-1]) < 1e-6 * condition.midpoint
    assert condition.radius < 1e-6 * condition.midpoint


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_a_matrix_without_entries_has_no_condition(shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="empty"):
        enclose_condition(np.zeros(shape))


def test_the_zero_matrix_has_an_infinite_condition() -> None:
    assert np.isinf(enclose_condition(np.zeros((2, 3))).radius)
