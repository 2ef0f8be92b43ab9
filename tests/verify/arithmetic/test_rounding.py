"""Rounding outward passes the neighbours and no more, and factors outweigh the roundings they are for."""

from fractions import Fraction

import numpy as np
import pytest

from constructions.errors import InputError
from tests.exact_values import LARGEST, SMALLEST, anywhere
from verify.arithmetic.rounding import RAISE, TINY, UNIT, down, gamma, outweighing, up


def test_up_and_down_pass_their_neighbours_and_no_more_where_numbers_are_not_tiny() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([anywhere(rng, 5000), [0.0, -0.0, 1.0, -1.0, 2.0, TINY, -TINY, SMALLEST, LARGEST, -LARGEST]])
    x = np.concatenate([x, np.ldexp(1.0, np.arange(-1074, 1024)), -np.ldexp(1.0, np.arange(-1074, 1024))])
    with np.errstate(over="ignore"):
        assert np.all(up(x) >= np.nextafter(x, np.inf))
        assert np.all(down(x) <= np.nextafter(x, -np.inf))
        twice_up = np.nextafter(np.nextafter(x, np.inf), np.inf)
        twice_down = np.nextafter(np.nextafter(x, -np.inf), -np.inf)
    large = np.abs(x) > 2.0**-960
    assert np.all(up(x)[large] <= twice_up[large])
    assert np.all(down(x)[large] >= twice_down[large])
    assert np.all(up(x)[~large] <= x[~large] + 2 * TINY + 4 * UNIT * np.abs(x[~large]))


def test_up_of_infinity_is_infinity_and_no_end_is_ever_lost() -> None:
    assert up(np.inf) == np.inf
    assert down(-np.inf) == -np.inf
    assert up(LARGEST) == np.inf
    assert down(-LARGEST) == -np.inf
    assert np.isnan(up(np.nan))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 31, 1000, 4097, 50_000, 2**31, 2**40])
def test_gamma_is_the_next_float_above_its_definition(n: int) -> None:
    exact = Fraction(n, 2**53 - n)
    assert Fraction(gamma(n)) >= exact
    assert Fraction(gamma(n)) <= exact * (1 + Fraction(3, 2**53))


@pytest.mark.parametrize("n", [-1, 2**40 + 1])
def test_gamma_of_a_number_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(InputError, match="n is"):
        gamma(n)


def test_the_factors_that_outweigh_roundings_do() -> None:
    shrink = 1 - Fraction(UNIT)
    assert Fraction(RAISE) * shrink**14 >= 1
    for n in (0, 1, 2, 5, 31, 1000, 2**20):
        assert Fraction(outweighing(n)) * (1 - (n + 12) * Fraction(UNIT)) >= 1
        assert outweighing(n) <= 1 + 4 * (n + 8) * UNIT
