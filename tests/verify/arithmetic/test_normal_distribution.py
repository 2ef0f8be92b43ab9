"""The error function and the normal law hold balls of 400 bits; the constants of their proofs are what they must be."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest
from flint import arb, arb_series, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.exact_values import LARGEST, SMALLEST, anywhere, corners, full_radius, outside
from verify.arithmetic import normal_distribution as normal
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.normal_distribution import erf, normal_cdf
from verify.arithmetic.rounding import TINY, UNIT

Function = tuple[Callable[[Enclosure | np.ndarray], Enclosure], Callable[[arb], arb]]
FUNCTIONS: dict[str, Function] = {
    "erf": (erf, arb.erf),
    "normal_cdf": (normal_cdf, lambda x: (-x / arb(2).sqrt()).erfc() / 2),
}
SEAMS = [0.5, 3.0, 6.0, 26.0, 37.5, 38.0, 53.0, 1e4, 1e155, LARGEST, SMALLEST, 3 * SMALLEST, TINY, 1e-300, 1.0, 0.0]


def points(rng: np.random.Generator, size: int = 2000) -> np.ndarray:
    seams = np.array(SEAMS)
    around = np.concatenate([seams, np.nextafter(seams, 0.0), np.nextafter(seams, LARGEST)])
    spread = [rng.uniform(-1, 1, size), rng.uniform(-8, 8, size), rng.uniform(-40, 40, size), anywhere(rng, size)]
    return np.concatenate([around, -around, *spread])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_floats_holds_the_ball(name: str) -> None:
    ours, exact = FUNCTIONS[name]
    x = points(np.random.default_rng(1))
    y = ours(x)
    assert np.isfinite(y.radius).all()
    near = np.abs(x) < 60
    with ctx.workprec(400):
        assert not outside(y[near], [exact(arb(float(v))) for v in x[near]])
    far = y[~near]
    for end in (0.0 if name == "normal_cdf" else -1.0, 1.0):
        side = (x[~near] < 0) == (end != 1.0)
        assert np.all(far.lower()[side] <= end)
        assert np.all(far.upper()[side] >= end)
    # Where the tail is not 0, the set holds more than 0.
    assert np.all(far.upper()[x[~near] < 0] > (0.0 if name == "normal_cdf" else -1.0))


def test_the_radius_at_a_float_is_a_few_units_of_the_value() -> None:
    x = points(np.random.default_rng(2))
    y = erf(x)
    assert np.all(full_radius(y) <= 27 * UNIT * np.abs(y.midpoint) + 2 * TINY)
    x = x[x >= -37.5]
    y = normal_cdf(x)
    assert np.all(full_radius(y) <= (23 + 0.6 * np.clip(x, -38, 0) ** 2) * UNIT * y.midpoint + 2 * TINY)
    assert normal_cdf(-38.0).upper() < 2.0**-1019


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_sets_holds_the_values_at_their_corners(name: str) -> None:
    ours, exact = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    m = np.concatenate([rng.uniform(-6, 6, 900), rng.uniform(-40, 40, 600), anywhere(rng, 200, -1074, 3)])
    r = 2.0 ** rng.uniform(-70, 5, m.size) * rng.choice([1.0, 1.0, 1.0, 0.0], m.size)
    x = Enclosure(m, r)
    y = ours(x)
    assert np.isfinite(y.radius).all()
    with ctx.workprec(3000):
        for p in corners(x):
            assert not outside(y, [exact(arb(v)) for v in p])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_radius_of_a_narrow_set_is_little_more_than_the_slope_times_its_radius(name: str) -> None:
    ours, _ = FUNCTIONS[name]
    m = np.linspace(-9, 9, 501)
    y = ours(Enclosure(m, 1e-10))
    slope = (
        np.exp(-m * m / 2) / math.sqrt(2 * math.pi) if name == "normal_cdf" else np.exp(-m * m) * 2 / math.sqrt(math.pi)
    )
    room = 30 * UNIT * np.abs(y.midpoint) * (1 if name == "erf" else 1 + m**2)
    assert np.all(full_radius(y) <= 1.0001e-10 * slope + room + 2 * TINY)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wide_set_becomes_the_set_between_the_values_at_its_ends(name: str) -> None:
    ours, exact = FUNCTIONS[name]
    y = ours(Enclosure([0.0, 3.0, 0.0, 20.0], [1.0, 2.0, LARGEST, 1.0]))
    with ctx.workprec(200):
        for low, high, a, b in zip(y.lower(), y.upper(), [-1, 1, -50, 19], [1, 5, 50, 21], strict=True):
            assert 0 <= exact(arb(a)) - arb(low) <= arb("1e-14")
            assert 0 <= arb(high) - exact(arb(b)) <= arb("1e-14")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (40, 1), (1, 50), (40, 50)])
def test_functions_accept_radii_of_every_shape(name: str, shape: tuple[int, ...]) -> None:
    ours, _ = FUNCTIONS[name]
    rng = np.random.default_rng(4)
    for scale in (1e-9, 3.0):
        m, r = rng.uniform(-4, 4, (40, 50)), np.asarray(scale * rng.uniform(0.3, 0.9, shape))
        x, full = ours(Enclosure(m, r)), ours(Enclosure(m, np.array(np.broadcast_to(r, m.shape))))
        assert np.array_equal(x.midpoint, full.midpoint)
        assert np.array_equal(full_radius(x), full_radius(full))
        assert ours(Enclosure(np.zeros((0, 3)), 1.0)).shape == (0, 3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_information_stays_no_information(name: str) -> None:
    x = Enclosure([np.nan, np.inf, -np.inf, 1.0, 1.0], [0.0, 0.0, 0.0, np.inf, 0.0])
    assert np.isinf(full_radius(FUNCTIONS[name][0](x))).tolist() == [True] * 4 + [False]


def test_the_error_function_keeps_the_sign_of_zero_and_is_odd() -> None:
    x = points(np.random.default_rng(5))
    assert np.array_equal(erf(x).midpoint, -erf(-x).midpoint)
    assert np.signbit(erf(-0.0).midpoint)


@given(st.sampled_from(sorted(FUNCTIONS)), st.floats(-60, 60), st.floats(0, 40), st.floats(-1, 1))
def test_any_point_of_any_set_is_held(name: str, m: float, r: float, share: float) -> None:
    ours, exact = FUNCTIONS[name]
    with ctx.workprec(3000):
        assert not outside(ours(Enclosure([m], [r])), [exact(arb(m) + arb(share) * arb(r))])


# ------------------------------------------------------------------------------- the constants of the proofs (page)


def test_the_constants_are_the_nearest_floats() -> None:
    with ctx.workprec(200):
        for ours, exact in (
            (normal._INVERSE_ROOT_TWO_PI, 1 / (2 * arb.pi()).sqrt()),
            (normal._ROOT_TWO, arb(2).sqrt()),
            (normal._ROOT_TWO_OVER_PI, (2 / arb.pi()).sqrt()),
        ):
            assert abs(arb(ours) - exact) < arb(UNIT) * exact
        for n, coefficient in enumerate(normal._ERF_SERIES):
            exact = 2 / arb.pi().sqrt() * (-1) ** n / (math.factorial(n) * (2 * n + 1))
            assert abs(arb(coefficient) - exact) < 3 * arb(UNIT) * abs(exact)


def test_the_polynomial_of_the_page_is_mills_ratio_up_to_a_third_of_a_unit() -> None:
    """The difference from (1 + 1.25 a) R(a), with its Taylor polynomials on cells of 0 <= a <= 38, in balls."""
    order = 12
    # The cells grow with a, as the scale on which the function changes does.
    ends = [Fraction(0)]
    while ends[-1] < 38:
        ends.append(min(Fraction(38), Fraction(round(66 * ends[-1] + 1), 64)))
    with ctx.workprec(250):
        largest = arb(0)
        for low, high in pairwise(ends):
            middle, half = arb((low + high).numerator) / (low + high).denominator / 2, arb(1) * float(high - low) / 2

            def difference(x: arb, length: int) -> arb_series:
                a = arb_series([x, 1], length)
                ratio = (a * a / 2).exp() * (1 - (a / arb(2).sqrt()).erf()) * (arb.pi() / 2).sqrt()
                if x > 5:
                    ratio = (a * a / 2).exp() * (a / arb(2).sqrt()).erfc() * (arb.pi() / 2).sqrt()
                q = (a - 3) / (a + 3)
                polynomial = arb_series([0], length)
                for coefficient in reversed(normal._MILLS):
                    polynomial = polynomial * q + arb(coefficient)
                return polynomial - ratio * (1 + arb(1.25) * a)

            near = difference(middle, order)
            bound = sum((abs(near[k]) * half**k for k in range(order)), arb(0))
            bound += abs(difference(middle + arb(0, 1) * half, order + 1)[order]) * half**order
            largest = largest.max(bound)
    assert largest < arb(UNIT) * 0.34


def test_the_recurrence_of_the_page_proves_twelve_units_for_mills_ratio() -> None:
    u = Fraction(UNIT)
    sizes = [abs(Fraction(c)) for c in normal._MILLS]
    tails = [*list(accumulate(reversed(sizes)))[::-1], Fraction(0)]
    error = Fraction(0)
    for j in range(len(sizes) - 2, -1, -1):
        error = (error + u * (tails[j + 1] + error) + u * tails[j]) / (1 - u)
    argument = Fraction(301, 100) * u * sum(j * c for j, c in enumerate(sizes))
    least = Fraction(125, 100)  # (1 + 1.25 a) R(a) is at least 1.25 on the page
    whole = (error + argument + Fraction(34, 100) * u) / least + Fraction(301, 100) * u
    assert whole < 12 * u
    # exp 3, the constant and two products 3, and room for terms in u^2.
    assert whole + Fraction(61, 10) * u < normal._TAIL_ERROR * u
    # Besides, sqrt 2 and a product: 2, which Mills' ratio does not magnify.
    assert whole + Fraction(82, 10) * u < normal._ERFC_ERROR * u
    assert normal._TAIL_GROWTH > 0.5 + 0.01
    assert normal._ERFC_GROWTH > 1.0 + 0.01


def test_the_recurrence_of_the_page_proves_seven_units_for_the_series_of_erf() -> None:
    u, w = Fraction(UNIT), Fraction(1, 4)
    sizes = [abs(Fraction(c)) for c in normal._ERF_SERIES]
    tails = [sum((c * w ** (i - j) for i, c in enumerate(sizes) if i >= j), Fraction(0)) for j in range(len(sizes) + 1)]
    error = 3 * u * sizes[-1]
    for j in range(len(sizes) - 2, -1, -1):
        # The value, the rounding of w, the product, the coefficient, the sum.
        error = (w * error + 2 * u * w * (tails[j + 1] + error) + 3 * u * sizes[j] + u * tails[j]) / (1 - u)
    cut = Fraction(12, 10) * w**12 / (math.factorial(12) * 25)
    least = sizes[0] - w * sizes[1]
    assert (error + cut) / least + Fraction(101, 100) * u < normal._ERF_SERIES_ERROR * u
