"""Enclosures of residuals hold the exact residual, compared in rationals."""

import numpy as np
import pytest
from flint import fmpq

from constructions.errors import InputError
from tests.exact_values import KINDS, exact_product, full_radius, matrices, outside, rational, rationals
from verify.arithmetic.enclosure import Enclosure, enclosure, matmul
from verify.arithmetic.residuals import residual
from verify.arithmetic.rounding import UNIT


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
