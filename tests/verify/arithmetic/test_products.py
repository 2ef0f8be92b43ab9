"""Enclosures of matrix products hold the exact product, compared in rationals."""

import numpy as np
import pytest
from flint import fmpq

from constructions.errors import InputError
from constructions.numeric.products import multiply
from tests.exact_values import KINDS, exact_product, full_radius, matrices, outside, rational, rationals, swallowing
from tests.verify.arithmetic.test_blas import backwards
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.arithmetic.rounding import gamma


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
        matmul(np.ones(a), np.ones(b))


def test_the_product_is_memorized_whatever_the_order_of_its_sums(monkeypatch) -> None:
    a, b = np.array([[1.0, 2.0**60, -(2.0**60)]]), np.ones((3, 1))
    for order, computed in ((np.matmul, 0.0), (backwards, 1.0)):
        with monkeypatch.context() as patched:
            patched.setattr(np, "matmul", order)
            assert multiply(a, b)[0, 0] == computed
            found = matmul(a, b)
        assert found.lower() <= 1.0 <= found.upper()
