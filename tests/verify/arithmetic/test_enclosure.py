"""The sets and their operators hold the exact result, compared in rationals."""

import ctypes
import platform
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from tests.exact_values import (
    LARGEST,
    SMALLEST,
    anywhere,
    corners,
    full_radius,
    outside,
    rational,
    rationals,
)
from verify.arithmetic.blas import BlasError
from verify.arithmetic.elementary import exp, log, log1p
from verify.arithmetic.enclosure import Enclosure, enclosure, largest, matmul, maximum, rsqrt, sqrt
from verify.arithmetic.rounding import TINY, UNIT, down, up
from verify.arithmetic.sums import total

FINITE = st.floats(allow_nan=False, allow_infinity=False)


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


def test_the_largest_entry_along_an_axis_is_memorized() -> None:
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


@pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="sets rounding by glibc")
@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00], ids=["downward", "upward", "toward zero"])
def test_another_rounding_mode_is_refused(mode: int) -> None:
    libm = ctypes.CDLL("libm.so.6")
    x = Enclosure.exact(np.ones(2))
    assert libm.fesetround(mode) == 0
    try:
        for refused in (lambda: x + x, lambda: up(1.0), lambda: down(1.0), lambda: matmul([[1.0]], [[1.0]])):
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


# ---------------------------------------------------------------------------------------------- the reciprocal root


def test_the_reciprocal_root_holds_the_exact_values_at_all_corners() -> None:
    rng = np.random.default_rng(31)
    m = np.abs(anywhere(rng, 1500))
    m = np.concatenate([m[m > 0], [SMALLEST, 3 * SMALLEST, TINY, LARGEST, 1.0, 4.0]])
    r = m * rng.choice([0.0, 2.0**-60, 2.0**-50, 1e-3, 0.4, 0.9, 1 - 2.0**-20], m.size)
    x = Enclosure(m, r)
    y = rsqrt(x)
    assert np.isfinite(y.radius).mean() > 0.9
    with ctx.workprec(300):
        for p in corners(x):
            keep = [i for i, s in enumerate(p) if s > 0 and np.isfinite(y.radius[i])]
            assert not outside(y[keep], [1 / arb(p[i]).sqrt() for i in keep])


def test_the_radius_of_the_reciprocal_root_is_not_much_larger_than_needed() -> None:
    rng = np.random.default_rng(32)
    m = np.abs(anywhere(rng, 2000))
    m = m[m > 0]
    assert np.all(rsqrt(m).radius <= 3.1 * UNIT * rsqrt(m).midpoint + 2 * TINY)
    normal = m[m > 1e-300]
    wide = rsqrt(Enclosure(normal, 1e-9 * normal))
    assert np.all(full_radius(wide) <= 0.5001e-9 * wide.midpoint + 2 * TINY)
    # An underflow on the way is not magnified to anything that matters.
    few = rsqrt(Enclosure([1e-250, 1e300, 1e-20], [SMALLEST, SMALLEST, SMALLEST]))
    assert np.all(few.radius <= 4 * UNIT * few.midpoint + 1e-100)


def test_the_reciprocal_root_of_what_may_not_be_positive_is_no_information() -> None:
    x = rsqrt(Enclosure([0.0, -1.0, 1.0, 1.0, 2.0, -0.0, 2.0], [0.0, 0.5, 1.0, np.inf, 3.0, 0.0, 1.0]))
    assert np.isfinite(x.radius).tolist() == [False] * 6 + [True]
    assert np.isinf(rsqrt([0.0, -1.0]).radius).all()
