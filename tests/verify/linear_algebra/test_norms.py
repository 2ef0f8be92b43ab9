"""Bounds of norms and products hold for the exact numbers."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from tests.exact_values import exactly, upper
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.fixed_point import fixed_point, integer_matrix
from verify.arithmetic.rounding import Floats
from verify.linear_algebra.balancing import balanced
from verify.linear_algebra.norms import (
    contraction,
    exponents,
    float_above,
    float_below,
    frobenius,
    frobenius_below,
    product,
    product_error,
    radius_norm,
    roundings,
    times_positive,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
MODERATE = st.floats(-(2.0**400), 2.0**400)
MATRICES = numbers.arrays(np.float64, numbers.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=FINITE)
SQUARES = numbers.arrays(np.float64, st.integers(1, 5).map(lambda n: (n, n)), elements=MODERATE)


def lower(x: arb) -> Fraction:
    return -upper(-x)


def square_sum(x: Any) -> Fraction:
    return sum((entry * entry for entry in exactly(x).ravel()), Fraction(0))


@given(MATRICES)
def test_the_frobenius_norm_is_bounded_from_above(x: Floats) -> None:
    bound = frobenius(x)
    assert not bound.is_finite() or upper(bound) ** 2 >= square_sum(x)


def test_the_frobenius_norm_is_bounded_closely() -> None:
    x = np.random.default_rng(0).standard_normal((200, 300))
    with ctx.workprec(200):
        for seed in range(200):
            y = np.random.default_rng(seed).standard_normal((3, 4))
            assert square_sum(y) <= upper(frobenius(y)) ** 2 <= square_sum(y) * (1 + Fraction(1, 2**46))
            assert square_sum(y) >= lower(frobenius_below(y)) ** 2 >= square_sum(y) * (1 - Fraction(1, 2**46))
    assert frobenius(x) <= np.linalg.norm(x) * (1 + 1e-10)


def test_squares_that_underflow_are_not_forgotten() -> None:
    assert frobenius(np.full((2, 2), 1e-200)) >= 2e-200
    assert frobenius(np.full((2, 2), 5e-324)) >= 1e-323
    assert not frobenius_below(np.full((2, 2), 1e-200)) > 0
    assert frobenius(np.zeros((0, 3))) >= 0


def test_squares_that_overflow_bound_nothing() -> None:
    assert not frobenius(np.full((2, 2), 1e200)) < math.inf
    assert not frobenius(np.array([[math.nan]])) < math.inf


def test_a_broadcast_radius_counts_as_often_as_it_is_broadcast() -> None:
    midpoint = np.zeros((3, 4))
    for radius in (0.5, np.full((3, 1), 0.5), np.full((1, 4), 0.5), np.full(4, 0.5), np.full((3, 4), 0.5)):
        bound = radius_norm(Enclosure(midpoint, radius))
        assert 3 <= upper(bound) ** 2 <= 3 * (1 + Fraction(1, 2**40))
    graded = radius_norm(Enclosure(midpoint, [[1.0], [2.0], [3.0]]))
    assert 56 <= upper(graded) ** 2 <= 56 * (1 + Fraction(1, 2**40))


@pytest.mark.parametrize("inner", [1, 2, 7, 64, 511, 512, 513, 1500])
def test_a_product_is_as_near_the_exact_one_as_promised(inner: int) -> None:
    rng = np.random.default_rng(inner)
    for scale in (0, -520):
        a, b = (np.ldexp(rng.standard_normal(shape), scale) for shape in ((3, inner), (inner, 2)))
        exact = exactly(a) @ exactly(b)
        error = np.abs(exactly(product(a, b)) - exact)
        sizes = np.abs(exactly(a)) @ np.abs(exactly(b))
        slack = 4 * inner * Fraction(2) ** -1022
        assert (error <= Fraction(roundings(inner)) * sizes + slack).all()
        norms = frobenius(a) * frobenius(b)
        assert square_sum(error) <= upper(product_error(norms, (3, 2), inner)) ** 2
        assert error.any() or scale, "nothing was rounded: the test shows nothing"


def test_a_product_that_underflows_has_an_error() -> None:
    tiny = np.array([[2.0**-600]])
    assert product(tiny, tiny) == 0.0
    assert product_error(arb(2) ** -1200, (1, 1), 1) >= arb(2) ** -1200


def test_long_products_go_through_few_roundings() -> None:
    assert 512 * 2.0**-53 < roundings(512) < 512.1 * 2.0**-53
    assert 519 * 2.0**-53 < roundings(4096) < 519.1 * 2.0**-53
    assert 2.0**-53 < roundings(1) < 1.1 * 2.0**-53


def test_blocks_of_rows_and_terms_are_put_together_rightly() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, (2100, 1100)), rng.integers(-9, 9, (1100, 3))
    assert np.array_equal(product(a.astype(np.float64), b.astype(np.float64)), a @ b)


@given(MATRICES, st.integers(0, 2**32 - 1))
def test_a_product_with_a_nonnegative_vector_is_bounded_from_above(x: Floats, seed: int) -> None:
    v = np.random.default_rng(seed).random(x.shape[1]) * 2.0 ** int(seed % 40 - 20)
    bound = times_positive(np.abs(x), v)
    known = np.isfinite(bound)
    assert (exactly(bound[known]) >= (np.abs(exactly(x)) @ exactly(v))[known]).all()


def test_a_product_with_a_nonnegative_vector_is_bounded_closely() -> None:
    rng = np.random.default_rng(2)
    for inner in (1, 3, 40, 900):
        x, v = rng.random((4, inner)), rng.random(inner)
        exact = exactly(x) @ exactly(v)
        bound = exactly(times_positive(x, v))
        assert (exact <= bound).all() and (bound <= exact * (1 + Fraction(inner + 30, 2**50))).all()


def test_products_that_underflow_are_still_bounded() -> None:
    assert times_positive(np.array([[5e-324]]), np.array([0.25]))[0] > 0.0
    assert times_positive(np.full((1, 3), 2.0**-600), np.full(3, 2.0**-600))[0] > 0.0


def test_a_product_with_a_nonnegative_vector_has_room_for_ten_roundings() -> None:
    rng = np.random.default_rng(8)
    for inner in (1, 5, 60):
        x, v = rng.random((50, inner)), rng.random(inner)
        assert (exactly(times_positive(x, v)) >= exactly(x) @ exactly(v) * (1 + Fraction(10, 2**53))).all()


def test_the_quotients_of_a_contraction_are_rounded_up() -> None:
    """Images that are exact, or next to it, leave no room for the rounding of the quotient."""
    rng = np.random.default_rng(9)
    improved = 0
    for _ in range(300):
        e = rng.integers(0, 9, (3, 3)).astype(np.float64)

        def image(v: Floats, e: Floats = e) -> Floats:
            exact = exactly(e) @ exactly(v)
            near = exact.astype(np.float64)
            return np.where(exactly(near) < exact, np.nextafter(near, np.inf), near)

        alpha, weights = contraction(image, 3)
        improved += bool((weights != 1.0).any())
        assert (exactly(e) @ exactly(weights) <= upper(alpha) * exactly(weights)).all()
    assert improved > 100


@given(SQUARES)
def test_a_contraction_is_one(x: Floats) -> None:
    e = np.abs(x)
    alpha, weights = contraction(lambda v: times_positive(e, v), len(e))
    assert (weights >= 1).all() and (weights == np.rint(weights)).all() and weights.max(initial=1.0) <= 2.0**40
    assert weights.size == 0 or weights.max() <= weights.min() * 2.0**30
    if alpha.is_finite():
        assert (exactly(e) @ exactly(weights) <= upper(alpha) * exactly(weights)).all()


def test_a_row_of_zeros_has_a_small_weight_but_not_zero() -> None:
    e = np.array([[0.0, 1.5], [0.0, 0.0]])
    alpha, weights = contraction(lambda v: times_positive(e, v), 2)
    assert alpha < 2.0**-29
    assert weights.tolist() == [2.0**40, 2.0**10]


def test_a_contraction_is_near_the_spectral_radius() -> None:
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 30):
        e = rng.random((size, size)) * 2.0 ** rng.integers(-6, 6, size)
        e *= 0.9 / max(abs(np.linalg.eigvals(e)))
        alpha, _ = contraction(lambda v, e=e: times_positive(e, v), size)
        assert 0.9 <= alpha <= 0.95


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_no_contraction(value: float) -> None:
    e = np.array([[0.0, value], [0.0, 0.0]])
    alpha, _ = contraction(lambda v: times_positive(e, v), 2)
    assert not alpha < 1


@given(st.floats(allow_nan=False, min_value=0.0), st.floats(allow_nan=False, min_value=0.0))
def test_floats_are_rounded_outwards(x: float, y: float) -> None:
    exact = (arb(x) + arb(y)).sqrt()
    if exact.is_finite():
        assert float_below(exact) <= exact <= float_above(exact)
        assert 0.0 <= float_below(exact)


class Lying(arb):
    """A ball of one number whose ends, as they are handed to `float`, are wrong."""

    def lower(self) -> arb:
        return arb(self) + 1

    def upper(self) -> arb:
        return arb(self) - 1


def test_a_wrong_conversion_of_a_ball_says_nothing() -> None:
    assert float_below(Lying(3)) == 0.0
    assert float_above(Lying(3)) == math.inf


def test_converted_balls_are_near() -> None:
    with ctx.workprec(200):
        for denominator in range(3, 60, 2):
            third = arb(1) / denominator
            assert 0.0 < float_above(third) - float_below(third) <= 3 * math.ulp(1 / denominator)
            assert -float_above(-third) > 0.0


def test_unknown_balls_become_trivial_floats() -> None:
    for unknown in (arb("nan"), arb("0 +/- inf")):
        assert float_below(unknown) == 0.0
        assert float_above(unknown) == math.inf
    assert float_below(arb(-3)) == 0.0
    assert arb(1) / 3 <= float_above(arb(1) / 3)
    assert float_below(arb(1) / 3) <= arb(1) / 3


@given(FINITE)
def test_an_exponent_is_the_least_that_bounds_unless_it_is_extreme(x: float) -> None:
    e = int(exponents(np.array([x]))[0])
    assert -1000 <= e and abs(Fraction(x)) < Fraction(2) ** e
    if -1000 < e and x:
        assert Fraction(2) ** (e - 1) <= abs(Fraction(x)) < Fraction(2) ** e


@given(MATRICES, st.booleans(), st.floats(0.0, 1e300))
def test_balancing_loses_no_matrix_of_the_set(x: Floats, columns: bool, radius: float) -> None:
    scaled = balanced(Enclosure(x, radius), columns=columns)
    powers = np.array(
        [[Fraction(2) ** int(r + c) for c in scaled.column_exponents] for r in scaled.row_exponents], dtype=object
    )
    radii = np.broadcast_to(scaled.scaled.radius, x.shape)
    for corner in (-1, 0, 1):
        member = (exactly(x) + corner * Fraction(radius)) * powers
        distance = np.abs(member - exactly(scaled.scaled.midpoint))
        assert all(
            not math.isfinite(r) or d <= Fraction(float(r)) for d, r in zip(distance.flat, radii.flat, strict=True)
        )


def test_what_underflows_in_a_row_is_not_lost_when_its_column_is_scaled_up() -> None:
    x = np.array([[1.0, 3 * 2.0**-1060], [2.0**60, 0.0]])
    scaled = balanced(Enclosure.exact(x[[1, 0]] * [[1.0], [2.0**-14]]))
    exact = exactly(x[[1, 0]] * [[1.0], [2.0**-14]])
    for i in range(2):
        for j in range(2):
            member = exact[i, j] * Fraction(2) ** int(scaled.row_exponents[i] + scaled.column_exponents[j])
            radius = np.broadcast_to(scaled.scaled.radius, (2, 2))[i, j]
            assert abs(member - Fraction(float(scaled.scaled.midpoint[i, j]))) <= Fraction(float(radius))
    lossy = balanced(Enclosure.exact([[2.0**700, 2.0**-370 * (1 + 2.0**-52)]]))
    member = Fraction(2.0**-370 * (1 + 2.0**-52)) * Fraction(2) ** int(
        lossy.row_exponents[0] + lossy.column_exponents[1]
    )
    assert member != Fraction(float(lossy.scaled.midpoint[0, 1]))
    assert abs(member - Fraction(float(lossy.scaled.midpoint[0, 1]))) <= Fraction(float(lossy.scaled.radius.max()))


def test_balancing_puts_the_largest_entries_near_one() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((5, 7)) * 2.0 ** rng.integers(-400, 400, (5, 1)) * 2.0 ** rng.integers(-300, 300, 7)
    scaled = balanced(Enclosure.exact(x))
    largest = np.abs(scaled.scaled.midpoint).max(axis=0)
    assert (largest >= 0.5).all() and (largest < 1.0).all() and scaled.scaled.radius.max() < 2.0**-500
    rows = balanced(Enclosure.exact(x), columns=False)
    assert not rows.column_exponents.any()
    assert (np.abs(rows.scaled.midpoint).max(axis=1) >= 0.5).all()
    assert scaled.growth == scaled.row_exponents.max() + scaled.column_exponents.max()


def test_no_balanced_entry_is_above_one() -> None:
    for x in ([[1.7e308, 1.0], [1.0, -1.7e308]], [[5e-324, 0.0], [0.0, 1.7e308]], [[2.0**1000, 2.0**-1000]]):
        for columns in (False, True):
            assert np.abs(balanced(Enclosure.exact(x), columns=columns).scaled.midpoint).max() <= 1.0


def test_balancing_leaves_zeros_and_the_given_array_alone() -> None:
    x = np.array([[0.0, 8.0], [0.0, 0.0]])
    scaled = balanced(Enclosure.exact(x))
    assert scaled.scaled.midpoint.tolist() == [[0.0, 0.5], [0.0, 0.0]]
    assert x.tolist() == [[0.0, 8.0], [0.0, 0.0]]


@given(numbers.arrays(np.float64, (2, 3), elements=st.floats(-16.0, 16.0)), st.integers(1, 5))
def test_fixed_point_numbers_are_within_half_a_unit(x: Floats, limbs: int) -> None:
    integers, bits, exact = fixed_point(x, limbs)
    unit = Fraction(1, 2**bits)
    distance = [abs(Fraction(float(v)) - int(n) * unit) for v, n in zip(x.flat, integers.entries(), strict=True)]
    assert max(distance) <= unit / 2
    assert exact == (max(distance) == 0)
    assert exact or bits == 48 * limbs


@pytest.mark.parametrize("value", [16.5, -17.0, 1e300, np.inf, np.nan])
def test_what_might_not_fit_an_integer_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="at most 16"):
        fixed_point(np.array([[0.5, value]]), 2)


def test_integer_matrices_keep_their_layout() -> None:
    x = np.asfortranarray([[1.0, -2.0], [2.0**62, 4.0], [5.0, 0.0]])
    assert integer_matrix(x).tolist() == [[1, -2], [2**62, 4], [5, 0]]
    assert integer_matrix(x[::-1]).tolist() == [[5, 0], [2**62, 4], [1, -2]]
