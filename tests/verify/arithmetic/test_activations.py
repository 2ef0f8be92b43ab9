"""Activation functions hold balls of 200 bits and more at hostile points, tightly, and their slopes are bounded."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from flint import arb, arb_series, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from tests.exact_values import LARGEST, SMALLEST, anywhere, full_radius, outside
from verify.arithmetic import activations
from verify.arithmetic.activations import (
    GELU_SLOPE,
    SILU_SLOPE,
    gelu_erf,
    gelu_erf_slope_bound,
    gelu_tanh,
    gelu_tanh_slope_bound,
    relu,
    sigmoid,
    silu,
    silu_slope_bound,
    tanh,
)
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import TINY, UNIT


def logistic(x: arb) -> arb:
    return 1 / (1 + (-x).exp())


def exponent_of_gelu(x: arb) -> arb:
    return 2 * (2 / arb.pi()).sqrt() * (x + arb(44715) / 10**6 * x * x * x)


def normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


class Function(NamedTuple):
    """An enclosure, its exact function, and how many u of its size its radius may be at a float."""

    ours: Callable[..., Enclosure]
    exact: Callable[[arb], arb]
    units: Callable[[np.ndarray], np.ndarray]
    farthest: float


FUNCTIONS = {
    "sigmoid": Function(sigmoid, logistic, lambda x: 8.0 + 0 * x, 708.0),
    "tanh": Function(tanh, arb.tanh, lambda x: 14.0 + 0 * x, np.inf),
    "silu": Function(silu, lambda x: x * logistic(x), lambda x: 9.0 + 0 * x, 708.0),
    "gelu_tanh": Function(
        gelu_tanh,
        lambda x: x * logistic(exponent_of_gelu(x)),
        lambda x: (
            10.0 + 8.0 * np.maximum(1.596 * -np.clip(x, -21, 0) * (1 + 0.044716 * np.clip(x, -21, 0) ** 2) - 0.1, 0)
        ),
        21.0,
    ),
    "gelu_erf": Function(gelu_erf, lambda x: x * normal_cdf(x), lambda x: 24.0 + 0.6 * np.clip(x, -38, 0) ** 2, 37.5),
    "relu": Function(relu, lambda x: x if x > 0 else arb(0), lambda x: 0.0 * x, np.inf),
}
# Where a formula, a series or the range ends, and what is hostile anywhere.
SEAMS = [0.35, 0.5, 1.5, 6.0, 20.0, 21.0, 26.0, 37.5, 354.0, 355.0, 708.0, 709.8, 745.2, 1e4, 1e155, 1e300, LARGEST]
SEAMS += [SMALLEST, 3 * SMALLEST, TINY, 2 * TINY, 1e-300, 2.0**-60, 2.0**-27, 1.0, 0.0]


def points(rng: np.random.Generator, size: int = 1500) -> np.ndarray:
    seams = np.array(SEAMS)
    around = np.concatenate([seams, np.nextafter(seams, 0.0), np.nextafter(seams, LARGEST)])
    return np.concatenate(
        [
            around,
            -around,
            rng.uniform(-1, 1, size),
            rng.uniform(-8, 8, size),
            rng.uniform(-45, 45, size),
            rng.uniform(-760, 760, size // 2),
            anywhere(rng, size),
        ]
    )


def at(exact: Callable[[arb], arb], x: np.ndarray) -> list[arb]:
    return [exact(arb(float(v))) for v in x]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_activation_of_floats_holds_the_exact_value(name: str) -> None:
    function = FUNCTIONS[name]
    x = points(np.random.default_rng(1))
    # Of the far left tails balls of few bits know the sign and the size only, which is all that is claimed of them.
    with ctx.workprec(3000 if name == "tanh" else 400):
        y = function.ours(x)
        assert np.isfinite(y.radius).all()
        near = x >= -40 if name.startswith("gelu") else np.abs(x) < 800
        assert not outside(y[near], at(function.exact, x[near]))
        far = y[~near]
    inside = (far.lower() <= 0.0) & (far.upper() >= 0.0) & (far.midpoint <= 0.0)
    one = (far.lower() <= 1.0) & (far.upper() >= 1.0)
    same = (far.lower() <= x[~near]) & (far.upper() >= x[~near])
    minus_one = (far.lower() <= -1.0) & (far.upper() >= -1.0)
    left = x[~near] < 0
    if name == "tanh":
        assert np.all(np.where(left, minus_one, one))
    elif name == "sigmoid":
        assert np.all(np.where(left, (far.lower() <= 0.0) & (far.upper() >= 1e-308), one))
    else:
        assert np.all(np.where(left, inside, same))
        assert np.all(far.midpoint[left] >= -1e-290)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_radius_at_a_float_is_a_few_units_of_the_value(name: str) -> None:
    function = FUNCTIONS[name]
    x = points(np.random.default_rng(2))
    x = x[x >= -function.farthest]
    y = function.ours(x)
    assert np.all(full_radius(y) <= function.units(x) * (UNIT * np.abs(y.midpoint)) + 2 * TINY)


def sets(rng: np.random.Generator, size: int = 700) -> Enclosure:
    m = np.concatenate([rng.uniform(-6, 6, size), rng.uniform(-45, 45, size), rng.uniform(-720, 720, size // 3)])
    m = np.concatenate([m, anywhere(rng, size // 3, -1074, 3)])
    r = 2.0 ** rng.uniform(-70, 6, m.size) * rng.choice([1.0, 1.0, 1.0, 0.0], m.size)
    r[rng.random(m.size) < 0.1] = 0.5
    r[rng.random(m.size) < 0.1] = 0.25
    return Enclosure(m, r)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_activation_of_a_set_holds_the_values_at_its_points(name: str) -> None:
    function = FUNCTIONS[name]
    x = sets(np.random.default_rng(3))
    y = function.ours(x)
    assert np.isfinite(y.radius).all()
    with ctx.workprec(3000):
        for share in (-1.0, -0.5, 0.0, 0.25, 1.0):
            exact = [
                function.exact(arb(float(m)) + arb(share) * arb(float(r)))
                for m, r in zip(x.midpoint, full_radius(x), strict=True)
            ]
            assert not outside(y, exact)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_radius_of_a_narrow_set_is_little_more_than_the_slope_times_its_radius(name: str) -> None:
    function = FUNCTIONS[name]
    m = np.random.default_rng(4).uniform(-12, 12, 800)
    r = 1e-9 * np.maximum(np.abs(m), 1e-3)
    y = function.ours(Enclosure(m, r))
    with ctx.workprec(300):
        step = arb(2) ** -100
        for v, s, found in zip(m, r, full_radius(y), strict=True):
            slope = abs((function.exact(arb(v) + step) - function.exact(arb(v) - step)) / (2 * step))
            # Where the slope is 0 the curvature counts.
            assert arb(float(found)) <= arb(1.001) * slope * arb(s) + arb(0.45) * arb(s) ** 2 + arb(30 * UNIT)


@pytest.mark.parametrize("name", ["sigmoid", "silu", "gelu_tanh", "gelu_erf"])
def test_the_radius_of_a_set_in_the_left_tail_is_relative_to_the_value(name: str) -> None:
    function = FUNCTIONS[name]
    m = -np.random.default_rng(5).uniform(5, 0.9 * min(function.farthest, 30.0), 300)
    y = function.ours(Enclosure(m, 1e-12))
    condition = {"gelu_tanh": 1.6 * np.abs(m) * (1 + 0.14 * m**2), "gelu_erf": m**2}.get(name, np.abs(m))
    relative = 1e-12 * (condition / np.abs(m) + 1.0) + function.units(m) * UNIT
    assert np.all(full_radius(y) <= 1.01 * relative * np.abs(y.midpoint) + 2 * TINY)


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_a_wide_set_becomes_the_set_between_the_values_at_its_ends(name: str) -> None:
    y = FUNCTIONS[name].ours(Enclosure([0.0, 3.0, 0.0, -50.0], [1.0, 2.0, LARGEST, 49.0]))
    least = 0.0 if name == "sigmoid" else -1.0
    low = [-1.0, 1.0, -np.inf, -99.0]
    high = [1.0, 5.0, np.inf, -1.0]
    function = (lambda x: 1 / (1 + np.exp(-x))) if name == "sigmoid" else np.tanh
    with np.errstate(over="ignore"):
        assert np.allclose(y.lower(), function(np.array(low)), rtol=1e-14, atol=1e-15)
        assert np.allclose(y.upper(), function(np.array(high)), rtol=1e-14, atol=1e-15)
    assert np.all(y.lower() >= least - 1e-15)
    assert np.all(y.upper() <= 1.0 + 1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_information_stays_no_information(name: str) -> None:
    x = Enclosure([np.nan, np.inf, -np.inf, 1.0, 1.0], [0.0, 0.0, 0.0, np.inf, 0.0])
    assert np.isinf(full_radius(FUNCTIONS[name].ours(x))).tolist() == [True] * 4 + [False]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (40, 1), (1, 50), (40, 50)])
def test_activations_accept_radii_of_every_shape(name: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    for scale in (1e-9, 3.0):
        m, r = rng.uniform(-4, 4, (40, 50)), np.asarray(scale * rng.uniform(0.3, 0.9, shape))
        x, full = Enclosure(m, r), Enclosure(m, np.array(np.broadcast_to(r, m.shape)))
        for part in (x, x[1:3], x[:0]):
            assert FUNCTIONS[name].ours(part).shape == part.shape
        assert np.array_equal(FUNCTIONS[name].ours(x).midpoint, FUNCTIONS[name].ours(full).midpoint)
        assert np.array_equal(full_radius(FUNCTIONS[name].ours(x)), full_radius(FUNCTIONS[name].ours(full)))


@given(st.sampled_from(sorted(FUNCTIONS)), st.floats(-800, 800), st.floats(0, 40), st.floats(-1, 1))
def test_any_activation_of_any_set_holds_any_of_its_points(name: str, m: float, r: float, share: float) -> None:
    y = FUNCTIONS[name].ours(Enclosure([m], [r]))
    with ctx.workprec(3000):
        assert not outside(y, [FUNCTIONS[name].exact(arb(m) + arb(share) * arb(r))])


def test_relu_is_exact_away_from_zero_and_halves_what_straddles_it() -> None:
    y = relu(Enclosure([-2.0, 2.0, -1.0, 1.0, 1.0, -1.0, -0.0], [1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 0.0]))
    assert y.radius[[0, 1, 2, 3, 6]].tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]
    assert y.midpoint[[0, 1, 2, 3, 6]].tolist() == [0.0, 2.0, 0.0, 1.0, 0.0]
    assert np.all(y.upper()[4:6] >= [4.0, 2.0])
    assert np.all(y.upper()[4:6] <= [4.0 + 1e-14, 2.0 + 1e-14])
    assert np.all(y.lower()[4:6] >= -1e-14)
    assert relu([-1.0, 2.0]).is_exact()


@pytest.mark.parametrize("theta", [0.0, 8.0])
def test_the_units_of_a_logistic_function_are_those_of_the_page(theta: float) -> None:
    exponent = np.linspace(0, 700, 500)
    for sign in (-1.0, 1.0):
        _, unit, _ = activations._logistic(sign * np.ones(500), exponent, theta)
        share = 1 / (1 + np.exp(-exponent)) if sign < 0 else 1 / (1 + np.exp(exponent))
        # The exponential's 3, a sum, a quotient and a product.
        assert np.all(unit >= ((theta * exponent + 3) * share + 3) * UNIT)


def test_the_change_of_the_exponent_of_the_tanh_form_is_bounded_and_not_by_much_more() -> None:
    rng = np.random.default_rng(8)
    m, r = rng.uniform(-15, 15, 600), 2.0 ** rng.uniform(-60, 3, 600)
    changes = activations._exponent_change(m, r)
    with ctx.workprec(300):
        for v, s, change in zip(m, r, changes, strict=True):
            here = exponent_of_gelu(arb(v))
            moved = [abs(exponent_of_gelu(arb(v) + sign * arb(s)) - here) for sign in (-1, 1)]
            assert max(moved, key=float) <= arb(change) <= max(moved, key=float) * (1 + arb(2) ** -40)


# ------------------------------------------------------------------------------------------------------------- slopes

SLOPES: dict[str, tuple[Callable[..., np.ndarray], float]] = {
    "silu": (silu_slope_bound, SILU_SLOPE),
    "gelu_tanh": (gelu_tanh_slope_bound, GELU_SLOPE),
    "gelu_erf": (gelu_erf_slope_bound, GELU_SLOPE),
}


def series(name: str, x: arb, length: int) -> list[arb]:
    """Taylor's coefficients at every point of a ball."""
    t = arb_series([x, 1], length)
    if name == "gelu_erf":
        return (t * (1 + (t / arb(2).sqrt()).erf()) / 2).coeffs()
    v = t if name == "silu" else 2 * (2 / arb.pi()).sqrt() * (t + arb(44715) / 10**6 * t * t * t)
    return (t / (1 + (-v).exp())).coeffs()


@pytest.mark.parametrize(("name", "end"), [("silu", 40), ("gelu_tanh", 12), ("gelu_erf", 12)])
def test_no_slope_and_no_curvature_is_above_the_constants_of_the_page(name: str, end: int) -> None:
    """Each cell by the mean value theorem; beyond the last cell the page argues by hand."""
    largest = {"silu": (SILU_SLOPE, 0.5), "gelu_tanh": (GELU_SLOPE, 0.8), "gelu_erf": (GELU_SLOPE, 0.8)}[name]
    assert {"silu": activations._SILU_CURVATURE}.get(name, activations._GELU_CURVATURE) >= largest[1] / 2
    cells = 64
    with ctx.workprec(120):
        half = arb(1) / (2 * cells)
        for k in range(-end * cells, end * cells):
            middle = (arb(2 * k + 1)) * half
            exactly, around = series(name, middle, 3), series(name, middle + arb(0, 1) * half * arb("1.0001"), 5)
            slope = abs(exactly[1]) + half * abs(2 * around[2])
            assert slope <= largest[0]
            if name == "silu":
                # Its curvature is 1/2 at 0: the page has the proof.
                assert abs(2 * exactly[2]) <= largest[1]
                continue
            assert abs(2 * exactly[2]) + half * abs(6 * around[3]) <= largest[1]


@pytest.mark.parametrize("name", SLOPES)
def test_a_slope_bound_lies_above_every_chord(name: str) -> None:
    bound, largest = SLOPES[name]
    x = sets(np.random.default_rng(7), 400)
    slopes = bound(x.midpoint, x.radius)
    assert np.all(slopes <= largest)
    exact = FUNCTIONS[name].exact
    with ctx.workprec(3000):
        for m, r, slope in zip(x.midpoint, full_radius(x), slopes, strict=True):
            for share in (-1.0, -0.3, 0.01, 1.0):
                step = arb(share) * arb(float(r)) if r else arb(share) * arb(2) ** -1500
                moved = abs(exact(arb(float(m)) + step) - exact(arb(float(m))))
                assert moved <= arb(float(slope)) * abs(step) * (1 if r else 1 + arb(2) ** -300)


@pytest.mark.parametrize("name", SLOPES)
def test_a_slope_bound_of_a_narrow_set_is_the_slope(name: str) -> None:
    bound, _ = SLOPES[name]
    m = np.concatenate([np.linspace(-12, 12, 301), [-700.0, -40.0, 40.0, 700.0, 1e300, -1e300]])
    slopes = bound(m, 1e-10)
    with ctx.workprec(3000):
        for v, slope in zip(m[:301], slopes[:301], strict=True):
            exact = abs(series(name, arb(v), 2)[1])
            assert exact <= arb(slope) <= exact + arb("1e-10")
    assert np.all(np.abs(slopes[301:] - [0, 0, 1, 1, 1, 0]) < 1e-10)


def test_slope_bounds_need_radii_and_give_their_largest_value_without_information() -> None:
    with pytest.raises(InputError, match=r"radius has the entry -1.0, expected entries >= 0"):
        gelu_erf_slope_bound([1.0, 2.0], [0.0, -1.0])
    for bound, largest in SLOPES.values():
        assert bound([np.nan, np.inf, 1.0, 1.0], [0.0, 0.0, np.nan, np.inf]).tolist() == [largest] * 4
        assert bound(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4)
