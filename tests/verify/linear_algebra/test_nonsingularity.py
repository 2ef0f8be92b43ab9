"""Regular matrices are proved regular, by the method that should, with bounds that hold."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import ctx, fmpq, fmpq_mat, fmpz
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from constructions.errors import InputError
from tests.exact_values import exactly
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra import nonsingularity
from verify.linear_algebra.approximate_inverse import Residual
from verify.linear_algebra.nonsingularity import certify_nonsingular
from verify.linear_algebra.prime_field import PRIMES
from verify.verdict import Verdict


def sigma_min(x: Any) -> mpmath.mpf:
    with mpmath.workprec(400):
        entries = [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in exactly(x)]
        return min(mpmath.svd_r(mpmath.matrix(entries), compute_uv=False))


def conditioned(size: int, condition: float, seed: int = 0) -> Floats:
    rng = np.random.default_rng([seed, size])
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    return left * np.logspace(0.0, -np.log10(condition), size) @ right


@pytest.mark.parametrize(("size", "condition"), [(64, 1e13), (128, 1e12), (256, 1e11), (512, 1e11)])
def test_float64_settles_these_conditions(size: int, condition: float) -> None:
    proof = certify_nonsingular(conditioned(size, condition))
    assert (proof.verdict, proof.method) == (Verdict.PROVED, "float64")
    assert 0 < proof.smallest_singular_value < 1.1 / condition


@pytest.mark.parametrize(("size", "condition"), [(256, 1e14), (64, 1e15)])
def test_the_exact_product_of_the_same_witness_goes_further(size: int, condition: float) -> None:
    proof = certify_nonsingular(conditioned(size, condition))
    assert (proof.verdict, proof.method) == (Verdict.PROVED, "exact product")
    assert 0 < proof.smallest_singular_value < 1.1 / condition


def test_no_exact_product_is_believed_without_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (np.nan, np.inf, 1.0):
        lie = lambda b, w, wrong=wrong: Residual(b, w, np.full((64, 64), wrong), exact=True)  # noqa: E731
        monkeypatch.setattr(nonsingularity, "exact_residual", lie)
        assert certify_nonsingular(conditioned(64, 1e15)).method.startswith("balls of ")


def test_balls_go_further_still() -> None:
    hilbert = np.array([[Fraction(1, i + j + 1) for j in range(24)] for i in range(24)], dtype=object)
    proof = certify_nonsingular(hilbert)
    assert proof.verdict is Verdict.PROVED
    assert proof.method.startswith("balls of ")
    with mpmath.workprec(400):
        truth = min(mpmath.svd_r(mpmath.matrix(24, 24) + mpmath.hilbert(24), compute_uv=False))
    assert truth / 30 <= proof.smallest_singular_value <= truth


def test_a_set_that_is_tiny_about_an_ill_conditioned_midpoint_is_settled_by_balls() -> None:
    vandermonde = np.vander(np.linspace(0.5, 1.0, 24))
    proof = certify_nonsingular(vandermonde, 2.0**-900)
    assert proof.verdict is Verdict.PROVED and proof.method.startswith("balls of ")


def test_a_prime_settles_what_is_too_large_for_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.linear_algebra.balls.LARGEST", 4)
    proof = certify_nonsingular(np.vander(np.arange(1.0, 16.0)))
    assert (proof.verdict, proof.method, proof.smallest_singular_value) == (Verdict.PROVED, "prime field", 0.0)
    singular = certify_nonsingular(np.vander([*range(1, 8), 1]).astype(float), 1e-300)
    assert singular.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("radius", [0.0, 1e-12, 1e-4])
def test_the_bound_holds_for_every_member(size: int, radius: float) -> None:
    rng = np.random.default_rng([size, int(radius * 1e12)])
    for _ in range(5):
        midpoint = rng.standard_normal((size, size)) * 2.0 ** rng.integers(-20, 20, (size, 1))
        proof = certify_nonsingular(midpoint, radius)
        for _ in range(4):
            member = exactly(midpoint) + Fraction(radius) * exactly(rng.choice([-1, 1], (size, size)))
            assert proof.smallest_singular_value <= sigma_min(member)
        if radius == 0.0:
            assert proof.verdict is Verdict.PROVED
            assert proof.smallest_singular_value >= sigma_min(midpoint) / 8


@given(numbers.arrays(np.float64, (3, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_the_verdict_on_an_exact_matrix_is_that_of_the_determinant(x: Floats) -> None:
    determinant = fmpq_mat(3, 3, [fmpq(v.numerator, v.denominator) for v in exactly(x).ravel()]).det()
    proof = certify_nonsingular(x)
    assert proof.verdict is (Verdict.PROVED if determinant != 0 else Verdict.REFUTED)


@given(numbers.arrays(np.int64, (3, 3), elements=st.sampled_from([0, 1, -1, 2, 2**62, -(2**63), 2**53 + 1, 2**53])))
def test_the_verdict_on_large_integers_is_that_of_the_determinant(x: np.ndarray) -> None:
    determinant = fmpq_mat(3, 3, [fmpq(int(v)) for v in x.ravel()]).det()
    assert certify_nonsingular(x).verdict is (Verdict.PROVED if determinant != 0 else Verdict.REFUTED)


def test_integers_that_float64_would_merge_are_kept_apart() -> None:
    regular = np.array([[2**60 + 1, 2**60], [2**60, 2**60]], dtype=np.int64)
    assert regular.astype(np.float64)[0, 0] == 2.0**60
    assert certify_nonsingular(regular).verdict is Verdict.PROVED
    singular = np.array([[(2**30 + 1) ** 2, 2**30 + 1], [2**30 + 1, 1]], dtype=np.int64)
    assert certify_nonsingular(singular).verdict is Verdict.REFUTED
    assert np.linalg.det(singular.astype(np.float64)) == 0.0 or certify_nonsingular(
        singular.astype(np.float64)
    ).verdict is (Verdict.PROVED)


def test_all_kinds_of_exact_entries_are_understood() -> None:
    regular = [[2, 1], [1, 1]]
    kinds: list[Any] = [
        regular,
        tuple(map(tuple, regular)),
        np.array(regular, dtype=np.uint8),
        np.array(regular, dtype=np.float16),
        np.array(regular, dtype=">f8"),
        np.array(regular, dtype=bool) ^ np.array([[0, 0], [0, 1]], dtype=bool),
        np.array([[fmpz(2), fmpq(1)], [Fraction(1), 1.0]], dtype=object),
        [[2**70, 1.0], [1.0, 2**70]],
        np.asfortranarray(regular),
        np.array([[2, 0, 1], [0, 0, 0], [1, 0, 1]])[::2, ::2],
        Enclosure(regular),
    ]
    assert [certify_nonsingular(kind).verdict for kind in kinds] == [Verdict.PROVED] * len(kinds)


def test_a_matrix_that_is_singular_modulo_every_prime_is_not_refuted() -> None:
    """The determinant is the product of the primes, and far too small beside the entries for floats."""
    x, determinant = 10**90, math.prod(PRIMES)
    proof = certify_nonsingular([[x, x + 1], [x - determinant, x + 1 - determinant]])
    assert proof.verdict is Verdict.PROVED and proof.method.startswith("balls of ")


def test_the_given_arrays_are_left_alone() -> None:
    x = np.array([[4.0, 1.0], [1.0, 16.0]])
    radius = np.array([[0.5, 0.25], [0.25, 0.5]])
    certify_nonsingular(x, radius)
    assert x.tolist() == [[4.0, 1.0], [1.0, 16.0]] and radius.tolist() == [[0.5, 0.25], [0.25, 0.5]]


def test_the_empty_matrix_is_nonsingular() -> None:
    proof = certify_nonsingular(np.zeros((0, 0)))
    assert (proof.verdict, proof.method, proof.smallest_singular_value) == (Verdict.PROVED, "empty", np.inf)


@pytest.mark.parametrize("x", [1.0, -3.0, 5e-324, 1e308, 2.0**-1022])
def test_one_number_is_nonsingular_unless_it_is_zero(x: float) -> None:
    proof = certify_nonsingular([[x]])
    assert proof.verdict is Verdict.PROVED
    assert 0.0 <= proof.smallest_singular_value <= abs(x)
    assert certify_nonsingular([[0.0]]).kernel == (1,)
    assert certify_nonsingular([[x]], abs(x)).verdict is Verdict.UNDECIDED


def test_wide_radii_are_settled_up_to_the_nearest_singular_matrix() -> None:
    """The nearest singular matrix of 2 I, entry by entry, is at 2 / n."""
    for size in (2, 8, 32):
        assert certify_nonsingular(2 * np.eye(size), 1.9 / size).verdict is Verdict.PROVED
        assert certify_nonsingular(2 * np.eye(size), 2.0 / size).verdict is Verdict.UNDECIDED


def test_a_radius_may_be_given_by_row_and_by_column() -> None:
    x = np.diag([1.0, 100.0])
    assert certify_nonsingular(x, [[0.2], [20.0]]).verdict is Verdict.PROVED
    assert certify_nonsingular(x, [0.2, 20.0]).verdict is Verdict.PROVED
    assert certify_nonsingular(x, 20.0).verdict is Verdict.UNDECIDED
    assert certify_nonsingular(x, Fraction(1, 5)).verdict is Verdict.PROVED


def test_the_witness_is_an_inverse_of_the_given_matrix() -> None:
    x = np.array([[1.0, 2.0**40], [0.0, 2.0**-20]])
    proof = certify_nonsingular(x, 0.0, witness=True)
    assert proof.witness is not None
    assert np.allclose(proof.witness @ x, np.eye(2)) and np.allclose(x @ proof.witness, np.eye(2))
    assert certify_nonsingular(x).witness is None


def test_a_radius_beside_an_enclosure_is_refused() -> None:
    with pytest.raises(InputError, match="its own radii"):
        certify_nonsingular(Enclosure(np.eye(2)), 0.1)


def test_the_callers_precision_does_not_matter() -> None:
    with ctx.workprec(3):
        proof = certify_nonsingular([[2.0, 1.0], [1.0, 1.0]])
    assert proof.smallest_singular_value == certify_nonsingular([[2.0, 1.0], [1.0, 1.0]]).smallest_singular_value > 0.3
