"""Residuals bound the exact distance from the identity for every matrix of a set, whatever the witness is."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import ctx

from tests.exact_values import exactly, upper
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra.approximate_inverse import (
    Residual,
    exact_residual,
    float_residual,
    right_inverse,
    smallest_singular_value,
    unscaled,
)
from verify.linear_algebra.balancing import balanced


def distance(b: np.ndarray, w: np.ndarray) -> np.ndarray:
    """|B W - I|, exactly."""
    return np.abs(exactly(b) @ exactly(w) - exactly(np.eye(len(b))))


def corners(b: Enclosure, rng: np.random.Generator) -> list[np.ndarray]:
    """The midpoint and some extreme members of a set, exactly."""
    radius = exactly(np.broadcast_to(b.radius, b.shape))
    signs = [np.zeros(b.shape, int), *(rng.choice([-1, 1], b.shape) for _ in range(3))]
    return [exactly(b.midpoint) + radius * sign for sign in signs]


def witnesses(b: Floats, rng: np.random.Generator) -> list[Floats]:
    shape = (b.shape[1], len(b))
    honest = np.linalg.pinv(b)
    return [honest, honest + 2.0**-12 * rng.standard_normal(shape), rng.standard_normal(shape) * 2.0**30]


CASES = [(1, 1), (2, 2), (3, 5), (5, 5), (4, 9), (8, 8)]


@pytest.mark.parametrize("shape", CASES)
@pytest.mark.parametrize("radius", [0.0, 2.0**-40, 0.01])
@pytest.mark.parametrize("method", [float_residual, exact_residual])
def test_a_residual_bounds_every_member(shape: tuple[int, int], radius: float, method: Any) -> None:
    rng = np.random.default_rng([*shape, int(radius * 2**40)])
    for _ in range(4):
        b = Enclosure(rng.uniform(-1, 1, shape), np.full((shape[0], 1), radius))
        v = rng.random(shape[0])
        for w in witnesses(b.midpoint, rng):
            residual = method(b, w)
            bound, image = upper(residual.norm) ** 2, exactly(residual.applied(v))
            for member in corners(b, rng):
                e = distance(member, residual.w)
                assert sum((e * e).ravel()) <= bound
                assert (e @ exactly(v) <= image).all()


def test_the_rounding_of_the_product_is_bounded_and_not_guessed() -> None:
    """Without the a-priori term the bounds would be below the truth about every second time."""
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(100):
        b = Enclosure.exact(rng.uniform(-1, 1, (6, 6)))
        residual = float_residual(b, np.linalg.inv(b.midpoint))
        e = distance(b.midpoint, residual.w)
        truth = sum((e * e).ravel())
        below += upper(residual.computed_norm) ** 2 < truth
        assert truth <= upper(residual.norm) ** 2
    assert below > 10


def test_the_subtraction_of_the_identity_is_rounded() -> None:
    """1 * w - 1 = -(1 + 0.9 u) is computed as -1."""
    w = np.array([[-0.9 * 2.0**-53]])
    residual = float_residual(Enclosure.exact([[1.0]]), w)
    assert residual.computed.item() == -1.0
    with ctx.workprec(200):
        assert upper(residual.norm) >= 1 - Fraction(float(w[0, 0]))


def test_what_the_integers_leave_out_is_in_the_bound() -> None:
    tiny = np.array([[2.0**-60 * (1 + 2.0**-52)]])
    residual = exact_residual(Enclosure.exact(tiny), np.array([[2.0**60]]))
    assert residual is not None and residual.computed.item() == 0.0
    assert upper(residual.norm) >= Fraction(1, 2**52)
    assert exactly(residual.applied(np.ones(1)))[0] >= Fraction(1, 2**52)
    w = np.array([[1.0, 0.0], [2.0**-60, 1.0]])
    rounded = exact_residual(Enclosure.exact(np.eye(2)), w)
    assert rounded is not None
    e = distance(np.eye(2), rounded.w)
    assert sum((e * e).ravel()) <= upper(rounded.norm) ** 2


def test_the_exact_residual_is_sharp() -> None:
    rng = np.random.default_rng(1)
    b = Enclosure.exact(rng.uniform(-1, 1, (7, 7)))
    residual = exact_residual(b, np.linalg.inv(b.midpoint))
    assert residual is not None
    e = distance(b.midpoint, residual.w)
    truth = sum((e * e).ravel())
    assert truth <= upper(residual.norm) ** 2 <= truth * (1 + Fraction(1, 1000))


def test_products_that_underflow_are_bounded() -> None:
    b = Enclosure.exact(np.full((2, 2), 2.0**-540))
    w = np.full((2, 2), 2.0**-540)
    residual = float_residual(b, w)
    assert (residual.computed == -np.eye(2)).all()
    e = distance(b.midpoint, w)
    assert sum((e * e).ravel()) <= upper(residual.norm) ** 2
    assert (e @ exactly([1, 1]) <= exactly(residual.applied(np.ones(2)))).all()


def test_weights_that_underflow_are_bounded_against_large_images() -> None:
    """Two products that are each (1 - 2^-60) / 2, of a subnormal and a number near the end of the range."""
    b = np.full((1, 2), 2.0**-1023 * (1 - 2.0**-20))
    w = np.full((2, 1), 2.0**1022 * (1 + 2.0**-20 + 2.0**-40))
    residual = float_residual(Enclosure.exact(b), w)
    assert residual.computed.item() == 0.0
    truth = distance(b, w)[0, 0]
    assert truth == Fraction(1, 2**60)
    assert truth <= exactly(residual.applied(np.ones(1)))[0]


@pytest.mark.parametrize("scale", [2.0**-60, 1.0, 2.0**60])
def test_entries_that_do_not_fit_the_integers_are_rounded_into_the_radius(scale: float) -> None:
    rng = np.random.default_rng(2)
    x = np.ldexp(rng.standard_normal((3, 3)), rng.integers(-200, 0, (3, 3)))
    b = Enclosure.exact(x / np.abs(x).max())
    residual = exact_residual(b, rng.standard_normal((3, 3)) * scale)
    assert residual is not None
    e = distance(b.midpoint, residual.w)
    assert sum((e * e).ravel()) <= upper(residual.norm) ** 2


def test_witnesses_out_of_range_are_left_to_other_rungs() -> None:
    b = Enclosure.exact(np.eye(2))
    for value in (np.nan, np.inf, 2.0**200, 2.0**-200):
        assert exact_residual(b, np.full((2, 2), value)) is None
    assert exact_residual(Enclosure.exact(np.eye(2) * 64.0), np.eye(2)) is None


def sigma_min(x: np.ndarray) -> mpmath.mpf:
    with mpmath.workprec(200):
        entries = [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in exactly(x)]
        return min(mpmath.svd_r(mpmath.matrix(entries).T, compute_uv=False))


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (4, 4), (3, 6), (6, 6)])
def test_no_bound_of_the_smallest_singular_value_is_too_large(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng([4, *shape])
    for radius in (0.0, 1e-9, 1e-3):
        given = Enclosure(
            rng.standard_normal(shape) * 2.0 ** rng.integers(-30, 30, (shape[0], 1)) * 2.0 ** rng.integers(-9, 9),
            radius,
        )
        scaled = balanced(given)
        inverse = right_inverse(scaled.scaled.midpoint)
        assert inverse is not None
        for residual in (float_residual(scaled.scaled, inverse), exact_residual(scaled.scaled, inverse)):
            assert residual is not None
            bound = smallest_singular_value(residual, scaled)
            assert residual.proves_rank == (bound > 0)
            for member in corners(given, rng):
                assert bound <= sigma_min(member)
            if radius == 0.0:
                assert bound >= sigma_min(exactly(given.midpoint)) * 2.0**-4


def test_the_bound_from_weights_is_used_where_the_norm_fails_and_is_not_too_large() -> None:
    """A diagonal with wide radii: ten times 0.5 is 5, but no single row sum reaches 1."""
    size = 100
    b = Enclosure(np.eye(size), np.eye(size) * 0.5)
    residual = float_residual(b, np.eye(size))
    assert not residual.norm < 1
    assert residual.proves_rank
    assert 0.004 < float(residual.smallest_singular_value) <= 0.5
    narrow = Enclosure(np.eye(2), [[0.5, 0.25], [0.75, 0.5]])
    worst = np.array([[0.5, 0.25], [0.75, 0.5]]), np.array([[0.5, -0.25], [-0.75, 0.5]])
    bound = float_residual(narrow, np.eye(2)).smallest_singular_value
    assert 0 < bound and all(bound <= sigma_min(x) for x in worst)


def test_the_imbalance_of_the_weights_is_counted() -> None:
    """Triangular sets have any nilpotent part: E = [[0, t], [0, 0]] gives sigma_min(I + E) near 1 / t."""
    for t in (4.0, 64.0, 1024.0):
        b = Enclosure(np.eye(2), [[0.0, t], [0.0, 0.0]])
        residual = float_residual(b, np.eye(2))
        assert residual.proves_rank
        worst = np.array([[1.0, t], [0.0, 1.0]])
        assert residual.smallest_singular_value <= sigma_min(worst)
    flat = Enclosure(np.eye(4), np.full((4, 4), 0.24) + 0.01 * np.eye(4))
    assert float_residual(flat, np.eye(4)).smallest_singular_value <= sigma_min(
        exactly(np.eye(4)) - exactly(flat.radius)
    )


def test_row_sums_bound_the_spectral_norm_only_with_the_root_of_the_size() -> None:
    """E has one full column, W one large direction: |B^-1| is near M sqrt(n) 0.45, far above M / (1 - 0.45)."""
    size = 400
    w = np.eye(size) + 1000.0 / size
    e = np.zeros((size, size))
    e[1:, 0] = -0.45
    b = (np.eye(size) + e) @ np.linalg.inv(w)
    residual = float_residual(Enclosure.exact(b), w)
    assert not residual.norm < 1 and residual.contraction[0] < 0.5
    smallest = np.linalg.svd(b, compute_uv=False)[-1]
    assert 0 < float(residual.smallest_singular_value) <= smallest < 0.3 / 1000


def test_weights_bound_by_row_sums_and_not_by_less() -> None:
    """|E| = J / 2 for the 2 x 2 matrix J of ones: the spectral radius is exactly 1."""
    residual = Residual(Enclosure(np.eye(2), 0.5), np.eye(2), np.zeros((2, 2)), exact=True)
    assert not residual.contraction[0] < 1
    assert not residual.proves_rank


def test_the_right_inverse_of_a_wide_matrix_is_one() -> None:
    rng = np.random.default_rng(5)
    for shape in ((1, 1), (5, 5), (5, 8), (1, 4)):
        b = rng.standard_normal(shape)
        w = right_inverse(b)
        assert w is not None and w.shape == shape[::-1]
        assert np.abs(b @ w - np.eye(shape[0])).max() < 1e-12
    assert right_inverse(np.zeros((2, 2))) is None
    assert right_inverse(np.zeros((2, 3))) is None


def test_an_unscaled_inverse_is_one_of_the_given_matrix() -> None:
    rng = np.random.default_rng(6)
    a = rng.standard_normal((4, 4)) * 2.0 ** rng.integers(-50, 50, (4, 1)) * 2.0 ** rng.integers(-50, 50, 4)
    scaled = balanced(Enclosure.exact(a))
    inverse = right_inverse(scaled.scaled.midpoint)
    assert inverse is not None
    assert np.allclose(unscaled(inverse, scaled), np.linalg.inv(a), rtol=1e-9, atol=0.0)


def test_scaling_back_counts_the_spread_of_the_rows() -> None:
    """For the balanced matrix the residual is 0.53; for the given one it is 539, and the witness says nothing of it."""
    a = np.array([[1.9, 0.0], [1025.0, 1.9]])
    scaled = balanced(Enclosure.exact(a))
    powers = scaled.column_exponents[:, None] + scaled.row_exponents
    residual = float_residual(scaled.scaled, np.ldexp(np.eye(2) / 1.9, -powers))
    assert residual.norm < 1
    assert 0 < smallest_singular_value(residual, scaled) <= sigma_min(a) < 0.004
