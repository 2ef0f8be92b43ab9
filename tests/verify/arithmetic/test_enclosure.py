"""Every enclosure holds the exact result: rationals for what is rational, balls of 240 bits and mpmath for the rest."""

import ctypes
import math
import platform
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.arithmetic import enclosure as arithmetic
from verify.arithmetic.blas import BlasError
from verify.arithmetic.enclosure import (
    TINY,
    UNIT,
    Enclosure,
    down,
    enclosure,
    exp,
    gamma,
    largest,
    log,
    log1p,
    lower_sum,
    matmul,
    maximum,
    residual,
    sqrt,
    total,
    up,
    upper_product,
    upper_sum,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 2.0**-1074


def rational(x: float) -> fmpq:
    return fmpq(*float(x).as_integer_ratio())


def rationals(x: np.ndarray) -> list[fmpq]:
    return [rational(value) for value in np.asarray(x).ravel()]


def full_radius(x: Enclosure) -> np.ndarray:
    return np.broadcast_to(x.radius, x.shape)


def outside(x: Enclosure, points: list) -> list[tuple[int, float, float]]:
    """The entries that are not in the set: their index, midpoint and radius. Points are rationals or balls."""
    wrong = []
    middles, radii = x.midpoint.ravel(), full_radius(x).ravel()
    assert len(points) == len(middles)
    for index, (m, r, point) in enumerate(zip(middles, radii, points, strict=True)):
        if r == np.inf:
            continue
        middle, radius = (rational(m), rational(r)) if isinstance(point, fmpq) else (arb(float(m)), arb(float(r)))
        if not abs(point - middle) <= radius:
            wrong.append((index, float(m), float(r)))
    return wrong


def anywhere(rng: np.random.Generator, size: int, lowest: int = -1074, highest: int = 1023) -> np.ndarray:
    """Floats of both signs whose exponents are spread evenly; some are subnormal, some have few bits, some are 0."""
    mantissas = rng.uniform(1.0, 2.0, size)
    few = rng.random(size) < 0.3
    mantissas[few] = 1.0 + rng.integers(0, 4, size)[few] / 4.0
    x = np.ldexp(mantissas, rng.integers(lowest, highest, size, endpoint=True)) * rng.choice([-1.0, 1.0], size)
    x[rng.random(size) < 0.02] = 0.0
    return x


def corners(x: Enclosure) -> list[list[fmpq]]:
    middles, radii = rationals(x.midpoint), rationals(full_radius(x))
    return [[m + sign * r for m, r in zip(middles, radii, strict=True)] for sign in (-1, 0, 1)]


# ---------------------------------------------------------------------------------------------------- the sets


def test_a_midpoint_or_radius_that_is_not_finite_means_no_information() -> None:
    x = Enclosure([np.nan, np.inf, -np.inf, 1.0, 1.0, 2.0], [1.0, 0.0, 1.0, np.nan, np.inf, 0.5])
    assert x.radius.tolist() == [np.inf] * 5 + [0.5]
    assert np.isfinite(x.midpoint).all()
    assert x.lower().tolist() == [-np.inf] * 5 + [down(1.5)]
    assert x.upper().tolist() == [np.inf] * 5 + [up(2.5)]


def test_finite_entries_whose_sum_overflows_keep_their_information() -> None:
    x = Enclosure([LARGEST, LARGEST], [LARGEST, LARGEST])
    assert x.midpoint.tolist() == [LARGEST] * 2
    assert x.radius.tolist() == [LARGEST] * 2


def test_a_radius_of_lower_shape_stays_small_when_one_entry_is_lost() -> None:
    x = Enclosure(np.ones((3, 4)), np.array([[1.0], [np.nan], [0.0]]))
    assert x.radius.tolist() == [[1.0], [np.inf], [0.0]]


@pytest.mark.parametrize("radius", [-1.0, [0.0, -SMALLEST]])
def test_a_negative_radius_is_refused(radius: float) -> None:
    with pytest.raises(InputError, match=r"radius has the entry -.*expected entries >= 0"):
        Enclosure([1.0, 2.0], radius)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (1, 2, 2)])
def test_a_radius_that_does_not_broadcast_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="expected one that broadcasts"):
        Enclosure(np.ones((2, 2)), np.ones(shape))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_integers_that_float64_would_round_are_refused(value: int) -> None:
    with pytest.raises(InputError, match=r"integers beyond 2\*\*53"):
        Enclosure.exact(np.array([value]))


@pytest.mark.parametrize("value", [np.array([1j]), np.array([2**70], dtype=object), np.array(["1"]), np.longdouble(1)])
def test_types_that_float64_does_not_hold_are_refused(value: np.ndarray) -> None:
    with pytest.raises(InputError, match="has dtype"):
        Enclosure.exact(value)


HIDDEN = np.ma.masked_array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("value", [HIDDEN, HIDDEN.astype(np.int64), [HIDDEN, HIDDEN], ([1.0, 2.0], (HIDDEN,))])
def test_masked_arrays_are_refused_wherever_numbers_are_read(value: Any) -> None:
    readers: list[Callable[[], Any]] = [
        lambda: Enclosure(value),
        lambda: Enclosure(np.zeros(2), value),
        lambda: Enclosure(np.zeros(2)) + value,
        lambda: Enclosure.between(value, np.full(2, 9.0)),
        lambda: Enclosure.between(np.zeros(2), value),
        lambda: matmul(value, np.ones((2, 1))),
        lambda: exp(value),
        lambda: upper_product(value, np.ones((2, 1))),
        lambda: residual(np.ones((1, 2)), value, np.ones((1, 1))),
    ]
    for read in readers:
        with pytest.raises(InputError, match="is a masked array or holds one"):
            read()


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4"])
def test_every_exactly_held_type_is_accepted(dtype: str) -> None:
    x = Enclosure.exact(np.array([0, 1, 1], dtype=dtype))
    assert x.midpoint.dtype == np.float64
    assert x.midpoint.dtype.isnative
    assert x.midpoint.tolist() == [0.0, 1.0, 1.0]


def test_empty_arrays_have_empty_enclosures() -> None:
    empty = np.zeros((0, 3))
    for result in (
        exp(empty),
        log(empty),
        log1p(empty),
        sqrt(empty),
        empty + Enclosure(empty),
        Enclosure(empty) / empty,
    ):
        assert result.shape == (0, 3)
    for radius in (0.0, np.zeros((0, 1)), np.zeros((1, 3))):
        assert exp(Enclosure(empty, radius)).shape == log(Enclosure(empty, radius)).shape == (0, 3)
    assert total(empty, 1).shape == (0,)
    assert total(empty).midpoint == 0.0
    assert matmul(empty, np.ones((3, 2))).shape == (0, 2)
    assert residual(empty, np.ones((3, 2)), np.zeros((0, 2))).shape == (0, 2)
    assert len(Enclosure(empty)) == 0


def test_an_enclosure_cannot_be_written_to() -> None:
    x = Enclosure(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        x.midpoint[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        x.radius[0] = 2.0


def test_rows_columns_masks_and_reshapes_select_midpoint_and_radius_alike() -> None:
    rng = np.random.default_rng(0)
    m = rng.normal(size=(4, 6))
    for radius in (np.array(0.5), rng.random((4, 1)), rng.random((1, 6)), rng.random(6), rng.random((4, 6))):
        x = Enclosure(m, radius)
        full = np.broadcast_to(radius, m.shape)
        for key in (
            1,
            slice(1, 3),
            [2, 0],
            np.array([3, 3, 1]),
            m[:, 0] > 0,
            (slice(None), 2),
            (1, 2),
            m > 0,
            None,
            ...,
        ):
            part = x[key]
            assert np.array_equal(part.midpoint, m[key])
            assert np.array_equal(full_radius(part), full[key])
        assert np.array_equal(full_radius(x.reshape(3, 8)), full.reshape(3, 8))
        assert np.array_equal(full_radius(x.T), full.T)
        assert np.array_equal(x.T.midpoint, m.T)
    assert Enclosure(m, rng.random((4, 1)))[[0, 1]].radius.shape == (2, 1)
    assert Enclosure(m, rng.random((1, 6)))[1:].radius.shape == (1, 6)
    assert Enclosure(m, 0.5)[[0, 1]].radius.shape == ()


def test_between_holds_both_ends() -> None:
    rng = np.random.default_rng(1)
    a, b = anywhere(rng, 3000), anywhere(rng, 3000)
    close = rng.random(3000) < 0.3
    b[close] = np.nextafter(a[close], np.inf)
    low, high = np.minimum(a, b), np.maximum(a, b)
    x = Enclosure.between(low, high)
    assert not outside(x, rationals(low))
    assert not outside(x, rationals(high))
    with np.errstate(over="ignore"):
        half = high / 2 - low / 2
    assert np.all(x.radius <= half * (1 + 8 * UNIT) + 2 * UNIT * np.abs(x.midpoint) + 2 * TINY)


@pytest.mark.parametrize("value", [SMALLEST, 3 * SMALLEST, -5 * SMALLEST, LARGEST, 0.0, 1.0])
def test_between_equal_ends_is_that_number(value: float) -> None:
    x = Enclosure.between(value, value)
    assert x.midpoint == value
    assert x.radius == 0.0


def test_between_ends_that_are_infinite_or_nan_is_no_information() -> None:
    x = Enclosure.between([-np.inf, 0.0, np.nan, -np.inf, np.inf], [0.0, np.inf, 1.0, np.inf, np.inf])
    assert x.radius.tolist() == [np.inf] * 5


def test_between_swapped_ends_is_refused() -> None:
    with pytest.raises(InputError, match=r"lower has an entry 2.0 above upper's 1.0"):
        Enclosure.between([0.0, 2.0], [1.0, 1.0])


# ---------------------------------------------------------------------------------------------- outward rounding


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


def test_lower_upper_and_magnitude_bound_the_exact_ends() -> None:
    rng = np.random.default_rng(3)
    x = Enclosure(anywhere(rng, 4000), np.abs(anywhere(rng, 4000)))
    near = Enclosure(rng.uniform(1, 2, 4000), rng.uniform(0, 1, 4000) * 2.0 ** rng.integers(-60, 1, 4000))
    for y in (x, near):
        low, _, high = corners(y)
        below, above, size = y.lower(), y.upper(), y.magnitude()
        for index in range(y.size):
            if np.isfinite(below[index]):
                assert rational(below[index]) <= low[index]
            if np.isfinite(above[index]):
                assert rational(above[index]) >= high[index]
            if np.isfinite(size[index]):
                assert rational(size[index]) >= max(abs(low[index]), abs(high[index]))
    assert np.all(near.lower() >= (near.midpoint - near.radius) - 8 * UNIT)
    assert np.all(near.upper() <= (near.midpoint + near.radius) + 8 * UNIT)


def test_lower_and_upper_of_an_exact_entry_are_the_entry() -> None:
    x = Enclosure([1.0, 0.0, SMALLEST, LARGEST], [0.0, 0.0, 0.0, 1.0])
    assert x.lower()[:3].tolist() == [1.0, 0.0, SMALLEST]
    assert x.upper()[:3].tolist() == [1.0, 0.0, SMALLEST]
    assert x.upper()[3] == np.inf
    assert Enclosure.exact([3.0]).lower().tolist() == [3.0]
    assert Enclosure.exact([3.0]).is_exact()
    assert not x.is_exact()


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
    assert Fraction(arithmetic._RAISE) * shrink**14 >= 1
    for n in (0, 1, 2, 5, 31, 1000, 2**20):
        assert Fraction(arithmetic._outweighing(n)) * (1 - (n + 12) * Fraction(UNIT)) >= 1
        assert arithmetic._outweighing(n) <= 1 + 4 * (n + 8) * UNIT


# ------------------------------------------------------------------------------------------- + - * / and the root


OPERATIONS: dict[str, tuple[Callable, Callable]] = {
    "+": (lambda x, y: x + y, lambda p, q: p + q),
    "-": (lambda x, y: x - y, lambda p, q: p - q),
    "*": (lambda x, y: x * y, lambda p, q: p * q),
    "/": (lambda x, y: x / y, lambda p, q: p / q),
}


def operands(rng: np.random.Generator, size: int) -> list[tuple[Enclosure, Enclosure]]:
    def radii(m: np.ndarray) -> np.ndarray:
        r = np.abs(m) * 2.0 ** rng.integers(-60, 3, size) * rng.uniform(0, 1, size)
        r[rng.random(size) < 0.2] = 0.0
        return np.where(np.isfinite(r), r, 0.0)

    ordinary = rng.uniform(-2, 2, size), rng.uniform(1, 2, size)
    wild = anywhere(rng, size), anywhere(rng, size)
    small = anywhere(rng, size, -1074, -900), anywhere(rng, size, -200, 60)
    subnormal = anywhere(rng, size, -560, -500), anywhere(rng, size, -560, -480)
    with np.errstate(over="ignore"):
        pairs = [(Enclosure(a, radii(a)), Enclosure(b, radii(b))) for a, b in (ordinary, wild, small, subnormal)]
    huge_radii = Enclosure(rng.uniform(-1, 1, size) * 2.0**-60, rng.uniform(1, 2, size))
    return [
        *pairs,
        *[(Enclosure.exact(x.midpoint), Enclosure.exact(y.midpoint)) for x, y in pairs],
        (Enclosure.exact(ordinary[0]), pairs[0][1]),
        (pairs[0][0], Enclosure.exact(ordinary[1])),
        (huge_radii, Enclosure.exact(ordinary[1])),
        (Enclosure.exact(ordinary[1]), huge_radii),
        (huge_radii, Enclosure(huge_radii.midpoint[::-1], huge_radii.radius[::-1])),
        (huge_radii, Enclosure(ordinary[1] + 1.0, rng.uniform(0, 1, size))),
    ]


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_holds_the_exact_results_at_all_corners(name: str) -> None:
    ours, exactly = OPERATIONS[name]
    rng = np.random.default_rng(4)
    for x, y in operands(rng, 600):
        result = ours(x, y)
        for p in corners(x):
            for q in corners(y):
                keep = [index for index in range(x.size) if name != "/" or q[index] != 0]
                points = [exactly(p[index], q[index]) for index in keep]
                assert not outside(Enclosure(result.midpoint[keep], result.radius[keep]), points)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_radius_of_an_operation_is_not_much_larger_than_needed(name: str) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.uniform(1, 2, 500), rng.uniform(3, 4, 500)
    result = OPERATIONS[name][0](Enclosure.exact(a), Enclosure.exact(b))
    assert np.all(result.radius <= 1.001 * UNIT * np.abs(result.midpoint))
    x, y = Enclosure(a, 1e-6), Enclosure(b, 1e-6 * b)
    result = OPERATIONS[name][0](x, y)
    slope = {"+": 1 + b, "-": 1 + b, "*": b + a * b, "/": 1 / b + a / b}[name]
    assert np.all(result.radius <= 1.001 * 1e-6 * slope)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (Enclosure(1.0, 1.0), Enclosure(UNIT, UNIT)),
        (Enclosure(1.0, 1.0), Enclosure(-UNIT / 2, UNIT)),
        (Enclosure(0.0, 1.0), Enclosure(0.0, UNIT)),
        (Enclosure(0.0, 1.0 + 2 * UNIT), Enclosure(0.0, 1.0 - UNIT)),
        (Enclosure(0.0, 1.0 + 2 * UNIT), Enclosure(1.0, 1.0 + 2 * UNIT)),
        (Enclosure(2.0**-60, 1.0 / 3.0), Enclosure(-(2.0**-70), 1.0 / 7.0)),
    ],
)
@pytest.mark.parametrize("name", "+-*")
def test_radii_are_added_upward(name: str, x: Enclosure, y: Enclosure) -> None:
    ours, exactly = OPERATIONS[name]
    points = [exactly(p[0], q[0]) for p in corners(x) for q in corners(y)]
    assert not [point for point in points if outside(ours(x, y), [point])]


def test_division_by_a_set_that_holds_zero_is_no_information() -> None:
    y = Enclosure([0.0, 1.0, -1.0, 1e-300, 0.0], [0.0, 1.0, 1.5, 1e-300, 1.0])
    assert (1.0 / y).radius.tolist() == [np.inf] * 5
    assert (Enclosure(np.zeros(5), 1.0) / y).radius.tolist() == [np.inf] * 5
    assert (np.zeros(5) / y).radius.tolist() == [np.inf] * 5


def test_division_just_clear_of_zero_holds_its_corners() -> None:
    y = Enclosure(1.0, 1.0 - 2.0**-50)
    quotient = 1.0 / y
    assert np.isfinite(quotient.radius)
    assert not outside(quotient, [rational(2.0**50)])


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_information_stays_no_information(name: str) -> None:
    lost = Enclosure(np.zeros(4), np.inf)
    other = Enclosure([0.0, 1.0, -1.0, 2.0], [0.0, 0.0, 0.5, np.inf])
    for result in (OPERATIONS[name][0](lost, other), OPERATIONS[name][0](other, lost)):
        assert result.radius.tolist() == [np.inf] * 4


@pytest.mark.parametrize("name", OPERATIONS)
def test_overflow_is_no_information(name: str) -> None:
    x, y = {"/": (LARGEST, 0.5), "*": (LARGEST, 2.0), "+": (LARGEST, LARGEST), "-": (LARGEST, -LARGEST)}[name]
    assert OPERATIONS[name][0](enclosure(x), enclosure(y)).radius == np.inf


def test_arrays_count_as_exact_on_either_side() -> None:
    x, a = Enclosure([1.0, 2.0], 0.25), np.array([3.0, 4.0])
    for ours, exactly in OPERATIONS.values():
        for result, p, q in ((ours(a, x), [rationals(a)], corners(x)), (ours(x, a), corners(x), [rationals(a)])):
            assert isinstance(result, Enclosure)
            assert result.shape == (2,)
            for left in p:
                for right in q:
                    assert not outside(result, [exactly(s, t) for s, t in zip(left, right, strict=True)])


@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=6))
def test_any_two_floats_are_added_multiplied_and_divided_soundly(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    p, q = rationals(a), rationals(b)
    assert not outside(enclosure(a) + b, [s + t for s, t in zip(p, q, strict=True)])
    assert not outside(enclosure(a) * b, [s * t for s, t in zip(p, q, strict=True)])
    keep = b != 0.0
    points = [s / t for s, t in zip(p, q, strict=True) if t != 0]
    assert not outside((enclosure(a) / b)[keep], points)


def test_absolute_values_maxima_and_negation_hold_the_corners() -> None:
    rng = np.random.default_rng(6)
    for x, y in operands(rng, 200):
        for p in corners(x):
            assert not outside(abs(x), [abs(s) for s in p])
            assert not outside(-x, [-s for s in p])
            for q in corners(y):
                assert not outside(maximum(x, y), [max(s, t) for s, t in zip(p, q, strict=True)])


def test_the_largest_entry_along_an_axis_is_held() -> None:
    rng = np.random.default_rng(7)
    m = rng.integers(-3, 4, (5, 7)) * 1.0
    for shape in ((), (5, 1), (1, 7), (7,), (5, 7)):
        radius = rng.integers(0, 9, shape) / 8.0
        x = Enclosure(m, radius)
        for axis in (0, 1, -1):
            result = largest(x, axis)
            assert result.shape == m.max(axis=axis).shape
            for sign in (-1, 1):
                point = (m + sign * radius).max(axis=axis)
                assert np.all(np.abs(point - result.midpoint) <= full_radius(result))
    assert largest(Enclosure([[1.0, 2.0]], [[np.inf, 0.0]]), 1).radius.tolist() == [np.inf]


def test_the_root_holds_the_exact_roots_of_both_ends() -> None:
    rng = np.random.default_rng(8)
    a = np.abs(anywhere(rng, 4000))
    r = a * 2.0 ** rng.integers(-60, 1, 4000) * rng.uniform(0, 1, 4000)
    r[rng.random(4000) < 0.2] = 0.0
    for x in (Enclosure.exact(a), Enclosure(a, r)):
        y = sqrt(x)
        assert np.isfinite(y.radius).mean() > 0.97
        for p in corners(x):
            with ctx.workprec(400):
                points = [arb(s).sqrt() if s >= 0 else arb(0) for s in p]
                keep = np.array([s >= 0 for s in p])
                assert not outside(y[keep], [point for point, kept in zip(points, keep, strict=True) if kept])


def test_the_root_of_exact_numbers_is_within_one_rounding() -> None:
    a = np.random.default_rng(9).uniform(0.25, 4, 1000)
    assert np.all(sqrt(a).radius <= 1.001 * UNIT * np.sqrt(a))
    x = sqrt(Enclosure(a, 1e-8))
    assert np.all(x.radius <= 1.001 * 1e-8 / (2 * np.sqrt(a)))


def test_the_root_of_what_may_be_negative_is_no_information() -> None:
    x = sqrt(Enclosure([-1.0, 0.0, 1.0, 0.0, 1.0], [0.0, 1e-300, 1.5, 0.0, np.inf]))
    assert x.radius[[0, 1, 2, 4]].tolist() == [np.inf] * 4
    assert x.midpoint[3] == 0.0
    assert x.radius[3] <= TINY


# ------------------------------------------------------------------------------------------------------------ sums


def swallowing(length: int) -> np.ndarray:
    """1 and terms that are lost one by one if they are added to it, but not together."""
    terms = np.full(length, UNIT * (1 - 2.0**-20))
    terms[0] = 1.0
    return terms


@pytest.mark.parametrize("length", [1, 2, 5, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096, 4097, 4161])
def test_sums_hold_the_exact_sum_at_every_length(length: int) -> None:
    rng = np.random.default_rng(length)
    cancelling = rng.normal(size=length)
    cancelling[: length // 2] = -cancelling[length // 2 : 2 * (length // 2)]
    for terms in (
        rng.normal(size=length),
        swallowing(length),
        -swallowing(length),
        anywhere(rng, length, -1074, 900),
        cancelling,
    ):
        exact = sum(rationals(terms), fmpq(0))
        assert not outside(total(terms, 0), [exact])
        assert rational(upper_sum(terms)) >= exact >= rational(lower_sum(terms))
        depth = 63 * max(1, math.ceil(math.log(length, 64) - 1e-9))
        assert total(terms).radius <= 1.001 * depth * UNIT * np.abs(terms).sum() + 2 * TINY


def test_the_depth_of_the_tree_of_additions_is_counted_in_full() -> None:
    terms = np.zeros((64, 64))
    # Block 0 loses 63 terms one by one, and the sum of the blocks loses 63 more.
    terms[0] = terms[:, 0] = UNIT * (1 - 2.0**-20)
    terms[0, 0] = 1.0
    # Along the first axis NumPy adds row after row.
    columns = np.tile(terms.reshape(-1, 1), (1, 8))
    exact = sum(rationals(terms), fmpq(0))
    result = total(columns, 0)
    assert exact - rational(result.midpoint[0]) > rational(125 * UNIT)
    assert not outside(result, [exact] * 8)


@pytest.mark.parametrize("shape", [(), (1,), (640,), (3, 1), (1, 640), (3, 640)])
def test_radii_are_summed_upward_whatever_their_shape(shape: tuple[int, ...]) -> None:
    radius = np.broadcast_to(swallowing(shape[-1]), shape) if shape else np.array(1 / 3)
    x = Enclosure(np.zeros((3, 640)), radius)
    for axis in (0, 1, None):
        result = total(x, axis)
        rows = full_radius(x).reshape(1, -1) if axis is None else np.moveaxis(full_radius(x), axis, -1)
        points = [sum(rationals(row), fmpq(0)) for row in rows]
        assert not outside(result, points)
        assert not outside(result, [-point for point in points])
        assert np.all(full_radius(result).ravel() <= 1.0001 * rows.sum(axis=-1) + 2 * TINY)


def test_radii_that_are_added_row_after_row_are_summed_upward() -> None:
    radius = np.tile(swallowing(64)[:, None], (1, 8))
    result = total(Enclosure(np.zeros((64, 8)), radius), 0)
    assert not outside(result, [sum(rationals(radius[:, 0]), fmpq(0))] * 8)


def test_sums_along_any_axis_agree_with_sums_of_rows() -> None:
    rng = np.random.default_rng(11)
    m, r = rng.normal(size=(3, 700, 5)), rng.random((3, 700, 5))
    for axis in (0, 1, 2, -1):
        result = total(Enclosure(m, r), axis)
        assert np.allclose(result.midpoint, m.sum(axis=axis), rtol=0, atol=1e-12)
        assert np.allclose(result.radius, r.sum(axis=axis), rtol=1e-12)
    assert total(np.zeros((0, 3)), 0).midpoint.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(InputError, match="axis is 3"):
        total(m, 3)


def test_a_sum_with_an_entry_that_is_not_finite_bounds_nothing() -> None:
    for bad in (np.nan, np.inf, -np.inf):
        assert upper_sum([1.0, bad]) == np.inf
        assert lower_sum([1.0, bad]) == -np.inf
    assert total(Enclosure(np.ones(90), np.where(np.arange(90) == 7, np.inf, 0.0))).radius == np.inf
    assert upper_sum([LARGEST, LARGEST]) == np.inf


# -------------------------------------------------------------------------------------------------- matrix products


def exact_product(a: list[fmpq], b: list[fmpq], shape: tuple[int, int, int]) -> list[fmpq]:
    m, n, p = shape
    return list((fmpq_mat(m, n, a) * fmpq_mat(n, p, b)).entries())


def matrices(rng: np.random.Generator, kind: str, m: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    if kind == "normal":
        return rng.normal(size=(m, n)), rng.normal(size=(n, p))
    if kind == "wild":
        return anywhere(rng, m * n, -500, 500).reshape(m, n), anywhere(rng, n * p, -500, 500).reshape(n, p)
    if kind == "underflowing":
        return anywhere(rng, m * n, -560, -500).reshape(m, n), anywhere(rng, n * p, -560, -500).reshape(n, p)
    if kind == "subnormal":
        return anywhere(rng, m * n, 900, 1000).reshape(m, n), anywhere(rng, n * p, -1074, -1030).reshape(n, p)
    if kind in ("large left", "large right"):
        large, small = (400, 500), (-640, -560)
        left, right = (large, small) if kind == "large left" else (small, large)
        return anywhere(rng, m * n, *left).reshape(m, n), anywhere(rng, n * p, *right).reshape(n, p)
    if kind == "cancelling":
        a, b = rng.normal(size=(m, n)), rng.normal(size=(n, p))
        a[:, n // 2 : 2 * (n // 2)], b[n // 2 : 2 * (n // 2)] = a[:, : n // 2], -b[: n // 2]
        return a, b
    if kind == "swallowing":
        return np.tile(swallowing(n), (m, 1)), np.ones((n, p))
    raise AssertionError(kind)


KINDS = ["normal", "wild", "underflowing", "subnormal", "large left", "large right", "cancelling", "swallowing"]


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_exact_matrices_hold_the_exact_product(kind: str, tight: bool) -> None:
    rng = np.random.default_rng(12)
    for m, n, p in [(1, 1, 1), (3, 2, 4), (5, 17, 3), (9, 40, 8), (2, 300, 2), (1, 50, 6), (6, 50, 1)]:
        a, b = matrices(rng, kind, m, n, p)
        result = matmul(a, b, tight=tight)
        assert not outside(result, exact_product(rationals(a), rationals(b), (m, n, p)))
        if kind != "wild" and tight:
            assert np.isfinite(result.radius).all()


RADII = ["scalar", "column", "row", "full", "none"]


def radius_of(rng: np.random.Generator, kind: str, shape: tuple[int, int], size: float) -> np.ndarray:
    shapes = {"scalar": (), "column": (shape[0], 1), "row": (1, shape[1]), "full": shape}
    return size * rng.uniform(0.5, 1.0, shapes[kind]) if kind != "none" else np.array(0.0)


@pytest.mark.parametrize("right", RADII)
@pytest.mark.parametrize("left", RADII)
def test_products_of_sets_hold_the_products_of_their_corners(left: str, right: str) -> None:
    rng = np.random.default_rng(13)
    for m, n, p, size in [(3, 5, 4, 1e-3), (3, 5, 4, 10.0), (2, 33, 3, 1.0), (4, 1, 3, 0.5)]:
        a, b = rng.normal(size=(m, n)), rng.normal(size=(n, p))
        if size == 1.0:
            a, b = a * 2.0**-60, b * 2.0**-60
        x = Enclosure(a, radius_of(rng, left, (m, n), size))
        y = Enclosure(b, radius_of(rng, right, (n, p), size))
        for tight in (True, False):
            result = matmul(x, y, tight=tight)
            assert result.shape == (m, p)
            # The worst corner of entry (i, j): every product moves the entry in the same direction.
            for i in range(m):
                for j in range(p):
                    for sign in (-1, 1):
                        worst = fmpq(0)
                        for k in range(n):
                            s, t = rational(a[i, k]), rational(b[k, j])
                            ds, dt = rational(full_radius(x)[i, k]), rational(full_radius(y)[k, j])
                            worst += sign * max(sign * (s + e * ds) * (t + f * dt) for e in (-1, 1) for f in (-1, 1))
                        assert not outside(result[i : i + 1, j : j + 1], [worst])


def test_the_radius_of_a_product_is_not_much_larger_than_its_formula() -> None:
    rng = np.random.default_rng(14)
    a, b = rng.normal(size=(30, 40)), rng.normal(size=(40, 20))
    ra, rb = 1e-9 * rng.random((30, 40)), 1e-9 * rng.random((40, 20))
    size = np.abs(a) @ np.abs(b)
    assert np.all(matmul(a, b).radius <= 1.0001 * gamma(40) * size)
    assert np.all(matmul(a, b, tight=False).radius <= 4 * gamma(40) * size)
    formula = np.abs(a) @ rb + ra @ (np.abs(b) + rb) + gamma(40) * size
    assert np.all(matmul(Enclosure(a, ra), Enclosure(b, rb)).radius <= 1.0001 * formula)
    column = ra[:, :1]
    formula = column * (np.abs(b) + rb).sum(axis=0) + np.abs(a) @ rb + gamma(40) * size
    assert np.all(matmul(Enclosure(a, column), Enclosure(b, rb)).radius <= 1.0001 * formula)


def test_sums_of_radii_in_a_product_are_rounded_upward() -> None:
    radii = np.tile(swallowing(900), (2, 1))
    exact = sum(rationals(radii[0]), fmpq(0))
    zeros, ones = np.zeros((2, 900)), np.ones((900, 3))
    for result in (
        matmul(Enclosure(zeros, radii), ones),
        matmul(ones.T, Enclosure(zeros.T, radii.T)),
        matmul(Enclosure(np.zeros((2, 900)), np.ones((2, 1))), radii[:1].T),
        matmul(Enclosure(zeros, radii), ones, tight=False),
    ):
        assert not outside(result, [exact] * result.size)


def test_products_in_batches_are_the_products_of_the_matrices() -> None:
    rng = np.random.default_rng(15)
    a, b = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 5, 2))
    for ra, rb in [
        ((3, 4, 5), (3, 5, 2)),
        ((3, 4, 1), (1, 5, 2)),
        ((4, 1), ()),
        ((1, 1, 5), (2,)),
        ((3, 1, 1), (5, 1)),
    ]:
        x, y = Enclosure(a, rng.random(ra)), Enclosure(b, rng.random(rb))
        whole = matmul(x, y)
        for index in range(3):
            part = matmul(x[index], y[index])
            assert np.array_equal(part.midpoint, whole.midpoint[index])
            assert np.allclose(full_radius(part), full_radius(whole)[index], rtol=1e-12)
    assert matmul(a, b[0]).shape == (3, 4, 2)
    assert (Enclosure.exact(a) @ b).shape == (3, 4, 2)
    assert (a @ Enclosure.exact(b)).shape == (3, 4, 2)


def test_strided_transposed_and_reversed_operands_give_enclosures_too() -> None:
    rng = np.random.default_rng(16)
    a, b = rng.normal(size=(8, 60)), rng.normal(size=(60, 8))
    views = [
        (a[::2, ::3], b[::3, ::2]),
        (a[::-1, ::-1], b[::-1]),
        (b.T, a.T),
        (np.asfortranarray(a), np.asfortranarray(b)),
        (a, a.T),
        (np.broadcast_to(a[:1], a.shape), b),
    ]
    for left, right in views:
        m, n = left.shape
        exact = exact_product(rationals(left), rationals(right), (m, n, right.shape[1]))
        assert not outside(matmul(left, right), exact)


def test_an_empty_inner_dimension_gives_exact_zeros() -> None:
    result = matmul(np.zeros((2, 0)), np.zeros((0, 3)))
    assert result.midpoint.tolist() == [[0.0] * 3] * 2
    assert not result.radius.any()


def test_no_information_in_a_row_or_column_spreads_over_the_product() -> None:
    a, b = np.ones((3, 4)), np.ones((4, 2))
    lost = np.zeros((3, 4))
    lost[1, 2] = np.inf
    for x in (Enclosure(a, lost), Enclosure(np.where(lost > 0, np.nan, a))):
        assert np.isfinite(matmul(x, b).radius).tolist() == [[True] * 2, [False] * 2, [True] * 2]
        assert np.isfinite(matmul(b.T, x.T).radius).tolist() == [[True, False, True]] * 2
    # A column of zeros times anything is zero only where the zeros are exact.
    b[2] = 0.0
    assert not np.isfinite(matmul(Enclosure(a, lost), Enclosure(b, 1e-3)).radius[1]).any()


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((), (1, 1)), ((2, 2, 3), (4, 3, 2))]
)
def test_shapes_that_do_not_multiply_are_refused(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"expected \[\.\.\., m, n\] and \[\.\.\., n, p\]"):
        upper_product(np.ones(a), np.ones(b))
    with pytest.raises(InputError, match=r"expected \[\.\.\., m, n\] and \[\.\.\., n, p\]"):
        matmul(np.ones(a), np.ones(b))


@pytest.mark.parametrize("kind", KINDS)
def test_upper_products_lie_above_the_exact_products_of_absolute_values(kind: str) -> None:
    rng = np.random.default_rng(17)
    for m, n, p in [(3, 2, 4), (5, 17, 3), (2, 700, 2)]:
        a, b = matrices(rng, kind, m, n, p)
        exact = exact_product(rationals(np.abs(a)), rationals(np.abs(b)), (m, n, p))
        bound = upper_product(a, b).ravel()
        assert all(value == np.inf or rational(value) >= point for value, point in zip(bound, exact, strict=True))
    assert upper_product([[np.nan]], [[1.0]]) == np.inf
    assert upper_product([[2.0]], [[-3.0]]) <= 6.0 * (1 + 64 * UNIT)


# --------------------------------------------------------------------------------------------------------- residuals


@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_residuals_hold_the_exact_residual(kind: str, parts: int) -> None:
    rng = np.random.default_rng(18)
    for m, n, p in [(1, 1, 1), (3, 2, 4), (5, 17, 3), (2, 200, 2)]:
        a, x = matrices(rng, kind, m, n, p)
        with np.errstate(over="ignore", invalid="ignore"):
            product = a @ x
        for b in (np.where(np.isfinite(product), product, 0.0), rng.normal(size=(m, p)), np.zeros((m, p))):
            exact = exact_product(rationals(a), rationals(x), (m, n, p))
            points = [s - t for s, t in zip(rationals(b), exact, strict=True)]
            assert not outside(residual(a, x, b, parts=parts), points)


def test_residuals_of_sets_hold_their_corners() -> None:
    rng = np.random.default_rng(19)
    a, x, b = rng.normal(size=(4, 9)), rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    for ra, rb in [
        (1e-3 * rng.random((4, 9)), 0.0),
        (0.0, 1e-3 * rng.random((4, 3))),
        (0.5, rng.random((4, 1))),
        (rng.random((1, 9)), 0.25),
    ]:
        left, right = Enclosure(a, ra), Enclosure(b, rb)
        result = residual(left, x, right)
        for sign in (-1, 1):
            for i in range(4):
                for j in range(3):
                    point = rational(b[i, j]) - sign * rational(full_radius(right)[i, j])
                    for k in range(9):
                        move = rational(full_radius(left)[i, k]) * abs(rational(x[k, j]))
                        point -= rational(a[i, k]) * rational(x[k, j]) + sign * move
                    assert not outside(result[i : i + 1, j : j + 1], [point])


def test_residuals_of_nearly_solved_systems_keep_many_digits() -> None:
    rng = np.random.default_rng(20)
    a, x = rng.normal(size=(60, 60)), rng.normal(size=(60, 5))
    b = a @ x
    size = np.abs(a) @ np.abs(x)
    naive = enclosure(b) - matmul(a, x)
    two, three = residual(a, x, b), residual(a, x, b, parts=3)
    assert np.all(two.radius <= 2.0**-13 * naive.radius)
    assert np.median(three.radius / size) <= 2.0**-88
    assert np.all(np.abs(three.midpoint - two.midpoint) <= two.radius)


def test_remainders_whose_roundings_all_point_the_same_way_are_held() -> None:
    # The slices of x are 1 and 0. Sixteen remainders of a quarter of a unit add up to more than the others can move.
    n, unit = 240, 2.0**-21
    x = np.full((n, 16), 3.9 * unit * UNIT)
    x[:16] = 1.0 + unit / 4
    b = np.full((16, 16), 16.0)
    result = residual(np.ones((16, n)), x, b)
    exact = 16 - sum(rationals(x[:, 0]), fmpq(0))
    assert abs(exact - rational(result.midpoint[0, 0])) > rational(100 * unit * UNIT)
    assert not outside(result, [exact] * 256)


def test_residuals_of_few_bits_are_exact_up_to_the_last_rounding() -> None:
    rng = np.random.default_rng(21)
    a, x = rng.integers(-1000, 1000, (20, 30)), rng.integers(-1000, 1000, (30, 4))
    b = rng.normal(size=(20, 4))
    result = residual(a, x, b)
    assert np.all(result.radius <= 1.01 * UNIT * np.abs(result.midpoint) + 4 * 30 * 2.0**-1015)
    exact = residual(a, x, (a @ x))
    assert not exact.midpoint.any()
    assert np.all(exact.radius <= 2.0**-1000)


def test_residuals_beyond_the_range_of_the_slices_are_no_information() -> None:
    result = residual([[2.0**1020]], [[1.0]], [[0.0]])
    assert result.radius == np.inf
    assert residual([[1.0]], [[np.nan]], [[0.0]]).radius == np.inf
    assert residual(Enclosure([[1.0]], np.inf), [[1.0]], [[0.0]]).radius == np.inf


def test_residuals_of_wrong_shapes_or_too_few_parts_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected \[m, n\], \[n, p\] and \[m, p\]"):
        residual(np.ones((2, 3)), np.ones((2, 1)), np.ones((2, 1)))
    with pytest.raises(InputError, match=r"expected \[m, n\], \[n, p\] and \[m, p\]"):
        residual(np.ones((2, 3)), np.ones(3), np.ones(2))
    with pytest.raises(InputError, match="parts is 1"):
        residual(np.ones((2, 3)), np.ones((3, 1)), np.ones((2, 1)), parts=1)
    assert residual(np.ones((2, 0)), np.ones((0, 1)), np.ones((2, 1))).midpoint.tolist() == [[1.0], [1.0]]


# ---------------------------------------------------------------------------------------------------- exp and log


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


def balls(function: Callable[[arb], arb], x: np.ndarray) -> list[arb]:
    return [function(arb(float(value))) for value in x]


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
    x = rng.uniform(0.1, 50, 2 * arithmetic._CHUNK + 17)
    for ours, _, _, _ in FUNCTIONS.values():
        whole = ours(x)
        for part in (
            slice(0, 5),
            slice(arithmetic._CHUNK - 3, arithmetic._CHUNK + 3),
            slice(-9, None),
            slice(0, None, 977),
        ):
            assert np.array_equal(ours(x[part]).midpoint, whole.midpoint[part])
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


def test_the_log_of_a_set_that_reaches_beyond_the_largest_float_is_no_information() -> None:
    assert log(Enclosure(1.7e308, 1.6e308)).radius == np.inf


def test_the_log_of_one_is_exactly_zero() -> None:
    y = log([1.0, 2.0])
    assert y.midpoint[0] == 0.0
    assert y.radius[0] == 0.0


@given(st.lists(st.floats(-745, 709.7), min_size=1, max_size=8), st.floats(0, 3))
def test_any_exponent_with_any_radius_is_held(x: list[float], radius: float) -> None:
    y = exp(Enclosure(x, radius))
    with ctx.workprec(240):
        for sign in (-1, 0, 1):
            assert not outside(y, [(arb(value) + sign * arb(radius)).exp() for value in x])


# ------------------------------------------------------------------------------- the constants of the proofs (page)


def test_the_constants_of_the_reduction_are_what_the_page_says() -> None:
    with ctx.workprec(300):
        log2 = arb(2).log()
        high, low = arb(arithmetic._LN2_HIGH), arb(arithmetic._LN2_LOW)
        assert Fraction(arithmetic._LN2_HIGH) * 2**42 == int(Fraction(arithmetic._LN2_HIGH) * 2**42)
        assert abs(log2 - high - low) < arb(2) ** -101
        assert 0 < log2 - high < arb(2) ** -44
        assert abs(1 / log2 - arb(arithmetic._LN2_INVERSE)) < arb(2) ** -53
        assert abs(arb(arithmetic._EXP_LOWEST).exp()) > arb(2) ** -1022
        assert arb(arithmetic._EXP_HIGHEST).exp() > arb(LARGEST)
    for j, coefficient in enumerate(arithmetic._TAYLOR):
        assert abs(Fraction(coefficient) - Fraction(1, math.factorial(j))) <= Fraction(UNIT) / math.factorial(j)
    for j, coefficient in enumerate(arithmetic._ATANH):
        assert abs(Fraction(coefficient) - Fraction(2, 2 * j + 1)) <= Fraction(UNIT) * Fraction(2, 2 * j + 1)
    assert arithmetic._TAYLOR[:3] == (1.0, 1.0, 0.5)


def test_the_recurrence_of_the_page_proves_three_units_for_exp() -> None:
    u, rho = Fraction(UNIT), Fraction(34658, 100000)

    def tail(j: int) -> Fraction:
        return sum((rho ** (i - j) / math.factorial(i) for i in range(j, 14)), Fraction(0))

    error = u / math.factorial(13)
    for j in range(12, 0, -1):
        coefficient = u / math.factorial(j) if j > 2 else Fraction(0)
        error = (rho * error + u * rho * (tail(j + 1) + error) + coefficient + u * tail(j)) / (1 - u)
    e_rho = tail(0) + Fraction(1, 10**16)  # above e^rho
    horner = u + u * (e_rho - 1) + rho * error * e_rho
    taylor = rho**14 / math.factorial(14) * e_rho**2
    reduction = (rho + Fraction(1, 2**30)) * u
    whole = (horner + taylor + reduction) * (1 + Fraction(1, 10**6))
    assert whole < Fraction(266, 100) * u
    assert whole / (1 - whole) < 3 * u < Fraction(arithmetic._EXP_ERROR)


def test_the_recurrence_of_the_page_proves_four_units_for_log() -> None:
    u = Fraction(UNIT)
    room = 1 + 1000 * u  # for the terms in u^2

    def worst(f: Fraction) -> tuple[Fraction, Fraction]:
        s = abs(f) / (2 + f)
        w = s * s
        value, error = Fraction(2, 19), u * Fraction(2, 19)
        for j in range(8, 0, -1):
            coefficient = Fraction(2, 2 * j + 1)
            error = (error * w + 6 * u * value * w) * room + u * coefficient
            value = coefficient + value * w
            error += u * (value + error)
        series_error = (error * w + 6 * u * value * w) * room
        difference = abs(f) - value * w if f > 0 else abs(f) + value * w
        difference_error = series_error + u * (difference + series_error)
        product_error = s * (difference_error + 3 * u * difference) * room
        missing = w**10 / (21 * (1 - w))
        without_power = product_error / (2 * s) + missing + u * room
        small = Fraction(1, 2**30)
        size = Fraction(3466, 10000)
        absolute = product_error + missing * size + u * (s * difference + small + size + small + small) * room
        return without_power, absolute / Fraction(3465, 10000) + u * room

    bounds = [worst(Fraction(-2929, 10000)), worst(Fraction(4143, 10000))]
    assert max(without_power for without_power, _ in bounds) < Fraction(21, 10) * u
    whole = max(with_power for _, with_power in bounds)
    assert whole < Fraction(33, 10) * u
    assert whole / (1 - whole) < 4 * u < Fraction(arithmetic._LOG_ERROR)
    rounded = whole + Fraction(101, 100) * u / Fraction(3465, 10000)
    assert rounded / (1 - rounded) < 7 * u < Fraction(arithmetic._LOG1P_ERROR)


# -------------------------------------------------------------------------------------------- the machine's arithmetic


@pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="sets rounding by glibc")
@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00], ids=["downward", "upward", "toward zero"])
def test_another_rounding_mode_is_refused(mode: int) -> None:
    libm = ctypes.CDLL("libm.so.6")
    x = Enclosure.exact(np.ones(2))
    assert libm.fesetround(mode) == 0
    try:
        for refused in (lambda: x + x, lambda: up(1.0), lambda: down(1.0), lambda: upper_product([[1.0]], [[1.0]])):
            with pytest.raises(BlasError, match="does not round float64 to nearest"):
                refused()
    finally:
        libm.fesetround(0)
    assert (x + x).midpoint.tolist() == [2.0, 2.0]


def test_a_thread_that_flushes_subnormals_is_refused() -> None:
    torch = pytest.importorskip("torch")
    x = Enclosure.exact(np.ones(2))
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals")
    try:
        with pytest.raises(BlasError, match="flushes subnormal"):
            x * x
    finally:
        torch.set_flush_denormal(False)
    assert (x * x).midpoint.tolist() == [1.0, 1.0]
