"""Singular values and norms of every member lie in their enclosures, which are narrow."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from tests.exact_values import exactly
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra import gram, singular_values
from verify.linear_algebra.singular_values import enclose_singular_values, enclose_spectral_norm


def truth(x: Any, bits: int = 300) -> list[mpmath.mpf]:
    """The singular values, largest first."""
    with mpmath.workprec(bits):
        rows = [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in exactly(x)]
        matrix = mpmath.matrix(rows)
        tall = matrix if matrix.rows >= matrix.cols else matrix.T
        return sorted(mpmath.svd_r(tall, compute_uv=False), reverse=True)


def assert_encloses(given: Enclosure, member: Any, bits: int = 300) -> None:
    values = truth(member, bits)
    enclosed, norm = enclose_singular_values(given), enclose_spectral_norm(given)
    for value, lower, upper in zip(values, enclosed.lower(), enclosed.upper(), strict=True):
        assert lower <= value <= upper
    assert float(norm.lower()) <= values[0] <= float(norm.upper())


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 2), (2, 5), (5, 5), (6, 4)])
@pytest.mark.parametrize("radius", [0.0, 1e-10, 0.02])
def test_every_member_is_enclosed(shape: tuple[int, int], radius: float) -> None:
    rng = np.random.default_rng([*shape, int(radius * 1e10)])
    for exponent in (0, -3, 40):
        midpoint = rng.standard_normal(shape) * 2.0 ** (exponent * rng.random((shape[0], 1)))
        given = Enclosure(midpoint, np.full((1, shape[1]), radius))
        for _ in range(2):
            assert_encloses(given, exactly(midpoint) + Fraction(radius) * exactly(rng.choice([-1, 0, 1], shape)))


@given(numbers.arrays(np.float64, (2, 3), elements=st.floats(-1e300, 1e300, allow_subnormal=True)))
def test_any_floats_are_enclosed(x: Floats) -> None:
    # Singular values may be as far apart as the entries can be.
    assert_encloses(Enclosure.exact(x), x, bits=9000)


def test_the_ends_of_a_set_of_one_number_are_enclosed() -> None:
    """Rounding the radius down by a hair would lose an end."""
    for radius in (0.1, 2.0**-60, 1e-300, 3.0):
        for enclose in (enclose_singular_values, enclose_spectral_norm):
            found = enclose(Enclosure([[1.0]], radius)).reshape(-1)
            lowest = max(Fraction(0), 1 - Fraction(radius))
            assert Fraction(float(found.lower()[0])) <= lowest
            assert Fraction(float(found.upper()[0])) >= 1 + Fraction(radius)


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-500, 2.0**500, 2.0**1010])
def test_extreme_matrices_are_enclosed(scale: float) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4)) * scale
    assert_encloses(Enclosure.exact(x), x)
    assert enclose_spectral_norm(x).upper() < 8 * scale + 2.0**-1000


@pytest.mark.parametrize("shape", [(60, 60), (40, 90), (90, 40)])
def test_enclosures_are_narrow(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).standard_normal(shape)
    values = np.linalg.svd(x, compute_uv=False)
    enclosed = enclose_singular_values(x)
    assert np.abs(enclosed.midpoint - values).max() < 1e-11 * values[0]
    assert enclosed.radius.max() < 1e-11 * values[0]
    norm = enclose_spectral_norm(x)
    assert abs(norm.midpoint - values[0]) < 1e-9 * values[0] and norm.radius < 1e-9 * values[0]


def test_what_lapack_returns_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong factors, wrong values, and values in the wrong order make wide enclosures, never wrong ones."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.0, 1.0, (4, 3))  # so large that it is not scaled
    assert 0.5 <= np.abs(x).max() < 1.0
    values = truth(x)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    lies = [
        (u, s[::-1], vt),
        (u, 1.1 * s, vt),
        (u, -s, vt),
        (1.3 * u, s / 1.3, vt),
        (0.8 * u, s / 0.8, vt),
        (u, s / 0.8, 0.8 * vt),
        (u, s / 1.2, 1.2 * vt),
        (1.2 * u, s / 1.2, vt),
        (u[:, ::-1], s[::-1], vt[::-1]),
        (-u, -s, vt),
        (np.zeros((4, 3)), np.full(3, 1e9), np.zeros((3, 3))),
        (u * [1.0, 0.9, 1.0], s / [1.0, 0.9, 1.0], vt),
        (u + 0.01 * rng.standard_normal((4, 3)), s, vt),
        (u, s, vt + 0.01 * rng.standard_normal((3, 3))),
        (u, s, np.array([[1.01], [1.0], [1.0]]) * vt),
        (np.zeros((4, 3)), s, vt),
        (np.full((4, 3), np.nan), s, vt),
        (u, np.full(3, np.inf), vt),
        (1e200 * u, 1e-200 * s, vt),
    ]
    for lie in lies:
        monkeypatch.setattr(np.linalg, "svd", lambda *_, lie=lie, **__: lie)
        enclosed = enclose_singular_values(x)
        for value, lower, upper in zip(values, enclosed.lower(), enclosed.upper(), strict=True):
            assert lower <= value <= upper
    monkeypatch.setattr(np.linalg, "svd", lambda *_, **__: (1.2 * u, s / 1.2, vt))
    assert enclose_singular_values(x).radius.max() < 1.0, "a harmless lie should leave some information"


def test_a_wrong_eigenvector_or_eigenvalue_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).standard_normal((3, 5))
    norm = truth(x)[0]
    lies = [(1.0, [1.0, 0.0, 0.0]), (1e9, [0.0, 0.0, 0.0]), (np.nan, [np.nan, 1.0, 1.0]), (-1.0, [1e300] * 3)]
    for lie in [(square, np.array(vector)) for square, vector in lies]:
        monkeypatch.setattr(singular_values, "_largest_eigenpair", lambda _, lie=lie: lie)
        found = enclose_spectral_norm(x)
        assert float(found.lower()) <= norm <= float(found.upper())


def test_a_wrong_factor_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).standard_normal((3, 5))
    monkeypatch.setattr(singular_values, "_largest_eigenpair", lambda _: (1e-3, np.array([1.0, 0.0, 0.0])))
    for lie in (np.zeros((3, 3)), np.eye(3), np.full((3, 3), np.nan)):
        monkeypatch.setattr(gram, "factor", lambda *_, lie=lie, **__: np.tril(lie))
        found = enclose_spectral_norm(x)
        assert float(found.lower()) <= truth(x)[0] <= float(found.upper())


def test_failures_of_lapack_leave_everything_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(np.linalg, "svd", fail)
    monkeypatch.setattr("scipy.linalg.eigh", fail)
    x = np.diag([3.0, 4.0])
    assert np.isinf(enclose_singular_values(x).radius).all()
    norm = enclose_spectral_norm(x)
    assert norm.lower() <= 4 <= norm.upper() < 5.001


@given(numbers.arrays(np.float64, (2, 2), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0])), st.sampled_from([0.5, 2.0]))
@example(np.array([[0.0, 1.0], [-1.0, 1.0]]), 2.0)
@example(np.array([[-1.0, -1.0], [0.0, 1.0]]), 2.0)
def test_matrices_that_fall_into_blocks_are_enclosed(block: Floats, alone: float) -> None:
    x = np.zeros((3, 3))
    x[:2, :2], x[2, 2] = block, alone
    assert_encloses(Enclosure.exact(x), x)


def test_a_matrix_without_entries_has_no_singular_values() -> None:
    for shape in ((0, 0), (0, 3), (3, 0)):
        assert enclose_singular_values(np.zeros(shape)).shape == (0,)
        norm = enclose_spectral_norm(np.zeros(shape))
        assert (norm.midpoint, norm.radius) == (0, 0)


def test_the_zero_matrix_has_norm_zero() -> None:
    assert enclose_spectral_norm(np.zeros((2, 3))).upper() < 1e-100


def test_exact_integers_and_fractions_are_understood() -> None:
    norm = enclose_spectral_norm([[2**70 + 1]])
    assert Fraction(float(norm.lower())) <= 2**70 + 1 <= Fraction(float(norm.upper()))
    third = enclose_singular_values([[Fraction(1, 3)]])
    assert Fraction(float(third.lower()[0])) <= Fraction(1, 3) <= Fraction(float(third.upper()[0]))
