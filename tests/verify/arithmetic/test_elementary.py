"""exp, log and log1p hold balls of 240 bits, and the constants of their proofs are what the page says."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.exact_values import (
    LARGEST,
    SMALLEST,
    anywhere,
    balls,
    corners,
    full_radius,
    outside,
)
from verify.arithmetic import elementary
from verify.arithmetic.elementary import exp, log, log1p
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import TINY, UNIT


def exp_points(rng: np.random.Generator) -> np.ndarray:
    halves = (np.arange(-1020, 1024) + 0.5) * math.log(2.0)
    return np.concatenate(
        [
            rng.uniform(-708, 709.78, 4000),
            rng.uniform(-2, 2, 4000),
            rng.uniform(-760, -700, 1000),
            anywhere(rng, 1500, -1074, 9),
            halves,
            np.nextafter(halves, -np.inf),
            [
                0.0,
                -0.0,
                1.0,
                -1.0,
                709.0,
                709.78,
                -708.0,
                np.nextafter(-708.0, -709),
                np.nextafter(-708.0, 0),
                -745.2,
                -1e300,
            ],
        ]
    )


def log_points(rng: np.random.Generator) -> np.ndarray:
    roots = np.ldexp(math.sqrt(0.5), np.arange(-1021, 1024))
    near_one = 1.0 + np.ldexp(rng.uniform(-1, 1, 2000), rng.integers(-52, 0, 2000))
    return np.concatenate(
        [
            rng.uniform(0, 4, 4000)[1:],
            np.abs(anywhere(rng, 4000)),
            near_one[near_one > 0],
            roots,
            np.nextafter(roots, 0.0),
            np.ldexp(1.0, np.arange(-1074, 1024)),
            [1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2), SMALLEST, 3 * SMALLEST, TINY, LARGEST],
        ]
    )


def log1p_points(rng: np.random.Generator) -> np.ndarray:
    x = np.concatenate(
        [
            rng.uniform(-1, 3, 4000),
            anywhere(rng, 4000, -1074, 1023),
            [0.0, SMALLEST, -SMALLEST, -1 + UNIT, -0.5, np.nextafter(math.sqrt(2) - 1, 1), math.sqrt(0.5) - 1, LARGEST],
            (math.sqrt(2) - 1) + np.arange(-20, 20) * UNIT / 2,
            (math.sqrt(0.5) - 1) + np.arange(-20, 20) * UNIT / 2,
        ]
    )
    return x[x > -1.0]


FUNCTIONS: dict[str, tuple[Callable, Callable, Callable, Callable]] = {
    "exp": (exp, arb.exp, mpmath.exp, exp_points),
    "log": (log, arb.log, mpmath.log, log_points),
    "log1p": (log1p, arb.log1p, lambda t: mpmath.log1p(t), log1p_points),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_floats_holds_the_ball_of_240_bits(name: str) -> None:
    ours, ball, _, points = FUNCTIONS[name]
    x = points(np.random.default_rng(22))
    x = x[x > 0] if name == "log" else x
    y = ours(x)
    with ctx.workprec(240):
        assert not outside(y, balls(ball, x))
    known = np.isfinite(y.radius)
    if name == "exp":
        assert np.array_equal(known, x < 709.79)
    else:
        assert known.all()


@pytest.mark.parametrize(("name", "units"), [("exp", 1.6), ("log", 1.6), ("log1p", 4.0)])
def test_a_midpoint_is_nearly_the_nearest_float(name: str, units: float) -> None:
    ours, ball, _, points = FUNCTIONS[name]
    x = points(np.random.default_rng(33))
    x = x[x > 2.0**-1000] if name == "log" else x[(np.abs(x) < 700) & (np.abs(x) > 1e-300)]
    with ctx.workprec(240):
        exact = balls(ball, x)
        far = [
            value
            for value, m, t in zip(x, ours(x).midpoint, exact, strict=True)
            if not abs(arb(m) - t) <= arb(units * UNIT) * abs(t)
        ]
    assert far == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_floats_holds_what_mpmath_finds(name: str) -> None:
    ours, _, second, points = FUNCTIONS[name]
    x = points(np.random.default_rng(23))[::25]
    x = x[x > 0] if name == "log" else x[x < 709]
    y = ours(x)
    with mpmath.workprec(260):
        for value, m, r in zip(x, y.midpoint, full_radius(y), strict=True):
            gap = abs(second(mpmath.mpf(float(value))) - mpmath.mpf(float(m)))
            assert gap <= mpmath.mpf(float(r)) + mpmath.mpf(2) ** -1300


def test_the_radius_of_exp_is_at_most_five_units() -> None:
    x = np.random.default_rng(24).uniform(-660, 709, 5000)
    y = exp(x)
    assert np.all(y.radius <= 5 * UNIT * y.midpoint)
    wide = exp(Enclosure(x, 1e-10))
    assert np.all(wide.radius <= 1.001 * 1e-10 * y.midpoint)


def test_the_radius_of_log_is_at_most_six_units_also_near_one() -> None:
    x = log_points(np.random.default_rng(25))
    y = log(x[x > 0])
    assert np.all(y.radius <= 6 * UNIT * np.abs(y.midpoint))
    z = log1p_points(np.random.default_rng(26))
    y = log1p(z)
    assert np.all(y.radius <= 9 * UNIT * np.abs(y.midpoint) + 2 * TINY)
    wide = log(Enclosure(np.full(3, 5.0), 1e-10))
    assert np.all(wide.radius <= 1.001 * 1e-10 / 5)
    assert log1p(Enclosure(4.0, 1e-10)).radius <= 1.001 * 1e-10 / 5


@pytest.mark.parametrize(("name", "units"), [("exp", 3), ("log", 4), ("log1p", 7)])
def test_a_radius_is_not_below_the_error_that_is_proved(name: str, units: int) -> None:
    ours, _, _, points = FUNCTIONS[name]
    x = points(np.random.default_rng(34))
    for part in (x, x[x > -700.0]):  # exponents that are all in the range take a shorter way
        y = ours(part)
        assert np.all(y.radius >= units * UNIT * np.abs(y.midpoint))


def set_points(name: str, rng: np.random.Generator, size: int) -> Enclosure:
    if name == "exp":
        m = np.concatenate([rng.uniform(-720, 709, size), rng.uniform(-1, 1, size), rng.uniform(-710, -700, 99)])
        r = 2.0 ** rng.uniform(-60, 6, m.size)
    else:
        m = np.abs(np.concatenate([anywhere(rng, size), rng.uniform(0.5, 2, size)]))
        m = m - (0.0 if name == "log" else 0.9) * (m < 2)
        room = m if name == "log" else m + 1.0
        r = room * rng.choice([2.0**-50, 1e-6, 0.3, 0.499, 0.51, 0.7, 0.99, 1 - 2.0**-30], m.size)
    r[rng.random(m.size) < 0.1] = 0.0
    return Enclosure(m, np.where(np.isfinite(r), r, 0.0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_sets_holds_the_balls_of_both_ends(name: str) -> None:
    ours, ball, _, _ = FUNCTIONS[name]
    x = set_points(name, np.random.default_rng(27), 2500)
    y = ours(x)
    assert np.isfinite(y.radius).mean() > 0.75
    with ctx.workprec(240):
        for p in corners(x):
            keep = [i for i, s in enumerate(p) if name == "exp" or s > (0 if name == "log" else -1)]
            keep = [i for i in keep if np.isfinite(y.radius[i])]
            assert not outside(y[keep], [ball(arb(p[i])) for i in keep])


@pytest.mark.parametrize("shape", [(), (40, 1), (1, 50), (40, 50)])
def test_functions_accept_radii_of_every_shape(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(28)
    for scale in (1e-9, 1.0):
        m, r = rng.uniform(1, 4, (40, 50)), np.asarray(scale * rng.uniform(0.3, 0.9, shape))
        x, full = Enclosure(m, r), Enclosure(m, np.array(np.broadcast_to(r, m.shape)))
        for ours, _, _, _ in FUNCTIONS.values():
            assert np.array_equal(ours(x).midpoint, ours(full).midpoint)
            assert np.array_equal(full_radius(ours(x)), full_radius(ours(full)))


def test_blocks_make_no_difference() -> None:
    rng = np.random.default_rng(29)
    x = rng.uniform(0.1, 50, 2 * elementary._CHUNK + 17)
    for ours, _, _, _ in FUNCTIONS.values():
        whole = ours(x)
        for part in (
            slice(0, 5),
            slice(elementary._CHUNK - 3, elementary._CHUNK + 3),
            slice(-9, None),
            slice(0, None, 977),
        ):
            assert np.array_equal(ours(x[part]).midpoint, whole.midpoint[part])
            assert np.array_equal(full_radius(ours(x[part])), full_radius(whole)[part])
    strided = log(np.asfortranarray(x[:5000].reshape(1000, 5)))
    assert np.array_equal(strided.midpoint, log(x[:5000]).midpoint.reshape(1000, 5))


def test_wide_exponents_are_enclosed_by_their_ends() -> None:
    x = Enclosure([0.0, 0.0, 100.0, -700.0], [0.6, 30.0, 5.0, 20.0])
    y = exp(x)
    with np.errstate(over="ignore"):
        assert np.all(y.upper() <= np.exp(x.midpoint + x.radius) * (1 + 1e-12) + 4 * TINY)
    assert np.all(y.lower()[[0, 2]] > 0.0)
    assert np.all(y.lower() >= -4 * UNIT * y.upper() - 4 * TINY)
    assert exp(Enclosure(700.0, 20.0)).radius == np.inf
    assert exp(Enclosure(0.0, np.inf)).radius == np.inf


def test_exponents_below_the_range_are_enclosed_near_zero() -> None:
    y = exp([-709.0, -745.0, -800.0, -1e308])
    assert np.all(y.upper() <= 2.0**-1019)
    assert np.all(y.lower() <= 0.0)
    wide = exp(Enclosure([-1000.0, -720.0], [1.0, 0.25]))
    assert np.all(wide.upper() <= 2.0**-1018)


def test_what_overflows_exp_is_no_information() -> None:
    y = exp([709.79, 710.0, 1e300, 709.0])
    assert y.radius[:3].tolist() == [np.inf] * 3
    assert np.isfinite(y.radius[3])
    assert np.isfinite(exp(709.782).radius)


def test_the_log_of_what_may_not_be_positive_is_no_information() -> None:
    x = Enclosure([0.0, -0.0, -1.0, 1.0, 1.0, 1e-320, 2.0, 5.0], [0.0, 0.0, 0.0, 1.0, 2.0, 1e-320, np.inf, 1.0])
    assert np.isfinite(log(x).radius).tolist() == [False] * 7 + [True]
    assert np.isfinite(log1p(x - 1.0).radius).tolist() == [False] * 7 + [True]
    assert log([-1.0, 1.0]).radius[0] == np.inf
    assert log1p([-1.0, -2.0, 0.0]).radius[:2].tolist() == [np.inf] * 2


def test_zero_beside_positive_numbers_alone_has_no_logarithm() -> None:
    for radius in (0.0, [0.0, 1.0, 0.0]):
        assert np.isfinite(log(Enclosure([0.0, 3.0, SMALLEST], radius)).radius).tolist() == [False, True, True]
    assert np.isfinite(log(Enclosure([2.0, 3.0], [2.0, 0.0])).radius).tolist() == [False, True]
    later = np.ones(2 * elementary._CHUNK)
    later[-5] = 0.0
    assert np.flatnonzero(log(later).radius == np.inf).tolist() == [later.size - 5]


def test_what_else_is_in_a_block_does_not_change_a_logarithm_of_floats() -> None:
    x = np.array([SMALLEST, 2.0**-1030, 3.0])
    for other in (np.nan, -np.inf, np.inf, 0.0, -1.0):
        with np.errstate(all="ignore"):
            assert np.array_equal(elementary.log_floats(np.append(x, other))[:3], elementary.log_floats(x))


def test_whatever_is_no_positive_number_has_some_finite_logarithm_of_floats() -> None:
    x = np.array([0.0, -0.0, -SMALLEST, -1.0, -LARGEST, np.inf, -np.inf, np.nan, -np.nan, 1.0])
    with np.errstate(all="ignore"):
        assert np.isfinite(elementary.log_floats(x)).all()


def test_the_log_of_a_set_that_reaches_beyond_the_largest_float_is_no_information() -> None:
    assert log(Enclosure(1.7e308, 1.6e308)).radius == np.inf


def test_the_log_of_one_is_exactly_zero() -> None:
    y = log([1.0, 2.0])
    assert y.midpoint[0] == 0.0
    assert y.radius[0] == 0.0


@given(st.lists(st.floats(-745, 709.7), min_size=1, max_size=8), st.floats(0, 3))
def test_any_exponent_with_any_radius_is_memorized(x: list[float], radius: float) -> None:
    y = exp(Enclosure(x, radius))
    with ctx.workprec(240):
        for sign in (-1, 0, 1):
            assert not outside(y, [(arb(value) + sign * arb(radius)).exp() for value in x])


def test_the_constants_of_the_reduction_are_what_the_page_says() -> None:
    with ctx.workprec(300):
        log2 = arb(2).log()
        high, low = arb(elementary._LN2_HIGH), arb(elementary._LN2_LOW)
        assert Fraction(elementary._LN2_HIGH) * 2**42 == int(Fraction(elementary._LN2_HIGH) * 2**42)
        assert abs(log2 - high - low) < arb(2) ** -101
        assert 0 < log2 - high < arb(2) ** -44
        assert abs(1 / log2 - arb(elementary._LN2_INVERSE)) < arb(2) ** -53
        assert abs(arb(elementary.EXP_LOWEST).exp()) > arb(2) ** -1022
        assert arb(elementary._EXP_HIGHEST).exp() > arb(LARGEST)


def largest(polynomial: list[Fraction], low: Fraction, high: Fraction) -> Fraction:
    """Above the absolute values on [low, high]: the largest coefficient in the basis of Bernstein's polynomials."""
    shifted = list(polynomial)
    degree = len(shifted) - 1
    for i in range(degree):
        for j in range(degree - 1, i - 1, -1):
            shifted[j] += low * shifted[j + 1]
    scaled = [c * (high - low) ** i / math.comb(degree, i) for i, c in enumerate(shifted)]
    return max(abs(sum((math.comb(k, i) * scaled[i] for i in range(k + 1)), Fraction(0))) for k in range(degree + 1))


def pieces(low: Fraction, high: Fraction, many: int) -> list[tuple[Fraction, Fraction]]:
    return [(low + (high - low) * i / many, low + (high - low) * (i + 1) / many) for i in range(many)]


def test_a_polynomial_is_nowhere_larger_than_its_coefficients_of_bernstein_say() -> None:
    # (x - 1/2)^2 on [0, 1] is at most 1/4, at both ends; on [1/2, 1] as well, and -x on [0, 1/4] at most 1/4.
    square = [Fraction(1, 4), Fraction(-1), Fraction(1)]
    assert largest(square, Fraction(0), Fraction(1)) == largest(square, Fraction(1, 2), Fraction(1)) == Fraction(1, 4)
    assert largest([Fraction(0), Fraction(-1)], Fraction(0), Fraction(1, 4)) == Fraction(1, 4)


RHO = Fraction(34658, 100000)  # above |r| in exp
EXP_DISTANCE = Fraction(16, 100) * Fraction(UNIT)
LOG_DISTANCE = Fraction(1, 10) * Fraction(UNIT)


def test_the_polynomial_of_exp_is_within_the_distance_of_the_page() -> None:
    coefficients = [Fraction(c) for c in elementary._EXP]
    assert coefficients[:2] == [1, 1]
    terms = 20
    rest = RHO**terms / math.factorial(terms) * 2  # a factor 2 is above e^rho
    coefficients += [Fraction(0)] * (terms - len(coefficients))
    gap = [c - Fraction(1, math.factorial(j)) for j, c in enumerate(coefficients)]
    with ctx.workprec(100):
        for low, high in pieces(-RHO, RHO, 24):
            share = (largest(gap, low, high) + rest) / EXP_DISTANCE
            assert arb(share.numerator) / share.denominator < (arb(low.numerator) / low.denominator).exp()


def test_the_polynomial_of_log_is_within_the_distance_of_the_page() -> None:
    terms, widest = 20, Fraction(2945, 100000)
    assert (Fraction(2929, 10000) / Fraction(17071, 10000)) ** 2 < widest
    assert (Fraction(4143, 10000) / Fraction(24143, 10000)) ** 2 < widest
    rest = Fraction(2, 2 * terms + 1) * widest**terms / (1 - widest)
    coefficients = [Fraction(0)] + [Fraction(c) for c in elementary._ATANH]
    coefficients += [Fraction(0)] * (terms - len(coefficients))
    gap = [c - Fraction(2, 2 * j + 1) * (j > 0) for j, c in enumerate(coefficients)]
    for low, high in pieces(Fraction(0), widest, 24):
        assert largest(gap, low, high) + rest < LOG_DISTANCE


def test_the_recurrence_of_the_page_proves_three_units_for_exp() -> None:
    u = Fraction(UNIT)
    coefficients = [Fraction(c) for c in elementary._EXP]
    assert min(coefficients) > 0

    def tail(j: int) -> Fraction:
        return sum((RHO ** (i - j) * c for i, c in enumerate(coefficients) if i >= j), Fraction(0))

    error = Fraction(0)
    for j in range(len(coefficients) - 2, 0, -1):
        error = (RHO * error + u * RHO * (tail(j + 1) + error) + u * tail(j)) / (1 - u)
    e_rho = tail(0) * (1 + Fraction(1, 10**15))  # above e^rho
    assert Fraction(163, 100) * u < error < Fraction(164, 100) * u
    horner = u + u * (e_rho - 1) + RHO * error * e_rho
    assert horner < Fraction(222, 100) * u
    reduction = (RHO + Fraction(1, 2**30)) * u
    whole = (horner + EXP_DISTANCE + reduction) * (1 + Fraction(1, 10**6))
    assert whole < Fraction(273, 100) * u
    assert whole / (1 - whole) < 3 * u < Fraction(elementary.EXP_ERROR)


def test_the_recurrence_of_the_page_proves_four_units_for_log() -> None:
    u = Fraction(UNIT)
    room = 1 + 1000 * u  # for the terms in u^2
    coefficients = [Fraction(c) for c in elementary._ATANH]
    assert min(coefficients) > 0

    def worst(f: Fraction) -> tuple[Fraction, Fraction]:
        s = abs(f) / (2 + f)
        w = s * s
        value, error = coefficients[-1], Fraction(0)
        for coefficient in coefficients[-2::-1]:
            error = (error * w + 6 * u * value * w) * room
            value = coefficient + value * w
            error += u * (value + error)
        series_error = (error * w + 6 * u * value * w) * room
        difference = abs(f) - value * w if f > 0 else abs(f) + value * w
        difference_error = series_error + u * (difference + series_error)
        product_error = s * (difference_error + 3 * u * difference) * room
        without_power = product_error / (2 * s) + LOG_DISTANCE / 2 + u * room
        small = Fraction(1, 2**30)
        size = Fraction(3466, 10000)
        absolute = product_error + LOG_DISTANCE / 2 * size + u * (s * difference + small + size + small + small) * room
        return without_power, absolute / Fraction(3465, 10000) + u * room

    bounds = [worst(Fraction(-2929, 10000)), worst(Fraction(4143, 10000))]
    assert max(without_power for without_power, _ in bounds) < 2 * u
    whole = max(with_power for _, with_power in bounds)
    assert whole < Fraction(32, 10) * u
    assert whole / (1 - whole) < 4 * u < Fraction(elementary.LOG_ERROR)
    rounded = whole + Fraction(101, 100) * u / Fraction(3465, 10000)
    assert rounded / (1 - rounded) < 7 * u < Fraction(elementary._LOG1P_ERROR)
