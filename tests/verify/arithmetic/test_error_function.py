"""The distribution function of the normal distribution, from its table."""

import numpy as np
from flint import arb, ctx

from verify.arithmetic.error_function import coefficients, normal_distribution, pieces


def test_the_distribution_function_is_off_by_at_most_four_roundings() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-10, 10, 4000), rng.normal(size=4000), np.arange(-160, 161) / 16.0])
    with ctx.workprec(200):
        exact = [(1 + (arb(t) / arb(2).sqrt()).erf()) / 2 for t in x.tolist()]
        errors = [abs(arb(y) - z) for y, z in zip(normal_distribution(x).tolist(), exact, strict=True)]
        assert all(error <= 4 * arb(2) ** -53 for error in errors)


def test_the_coefficients_are_those_of_the_taylor_polynomial() -> None:
    high, low = coefficients(12, 18)
    with ctx.workprec(300):
        h = arb(1) / 16
        for j in (0, 77, 96, 100, 150, 192):
            c = arb(j - 96) / 8
            value = sum((arb(high[n, j]) + arb(low[n, j])) * h**n for n in range(19))
            assert abs(value - (1 + ((c + h) / arb(2).sqrt()).erf()) / 2) < arb(2) ** -105


def test_a_number_is_its_place_and_its_distance() -> None:
    x = np.array([-9.0, -0.0625, 0.3, 9.0])
    place, distance = pieces(x, 9)
    assert np.array_equal((place - 72) / 8.0 + distance, x) and np.abs(distance).max() <= 1 / 16


def test_a_nan_stays_one() -> None:
    assert np.isnan(normal_distribution(np.array([np.nan]))[0])
