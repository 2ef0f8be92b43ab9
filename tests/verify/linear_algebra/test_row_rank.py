"""Full row rank is proved where it holds, by the method that should, with bounds that hold for every member."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import ctx, fmpz_mat

from tests.exact_values import exactly, upper
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra import gram, row_rank
from verify.linear_algebra.approximate_inverse import Residual
from verify.linear_algebra.given_matrix import given_matrix
from verify.linear_algebra.gram import GramWitness
from verify.linear_algebra.row_rank import InverseWitness, certify_full_row_rank, prove_by_floats
from verify.verdict import Verdict


def singular_values(x: Any) -> list[mpmath.mpf]:
    with mpmath.workprec(300):
        entries = [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in exactly(x)]
        return sorted(mpmath.svd_r(mpmath.matrix(entries).T, compute_uv=False))


def conditioned(rows: int, columns: int, condition: float) -> Floats:
    rng = np.random.default_rng([rows, columns])
    left = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, rows)))[0].T
    return left * np.logspace(0.0, -np.log10(condition), rows) @ right


@pytest.mark.parametrize(
    ("condition", "method"),
    [(1e2, "gram"), (1e5, "gram"), (1e9, "inverse"), (1e11, "inverse"), (6e14, "exact product")],
)
def test_each_condition_has_its_method(condition: float, method: str) -> None:
    x = conditioned(60, 90, condition)
    for kept in (False, True):
        proof = certify_full_row_rank(x, witness=kept)
        assert (proof.verdict, proof.method) == (Verdict.PROVED, method)
        assert 0.02 / condition < proof.smallest_singular_value < 1.05 / condition
        assert (proof.witness is not None) == kept


def test_no_exact_product_is_believed_without_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (np.nan, np.inf, 1.0):
        lie = lambda b, w, wrong=wrong: Residual(b, w, np.full((60, 60), wrong), exact=True)  # noqa: E731
        monkeypatch.setattr(row_rank, "exact_residual", lie)
        assert certify_full_row_rank(conditioned(60, 90, 6e14)).method.startswith("balls of ")


def test_tiny_sets_about_ill_conditioned_midpoints_need_balls() -> None:
    x = np.vander(np.linspace(0.5, 1.0, 26))[:20]
    proof = certify_full_row_rank(Enclosure(x, 2.0**-900))
    assert proof.verdict is Verdict.PROVED and proof.method.startswith("balls of ")
    assert 0 <= proof.smallest_singular_value <= singular_values(x)[0]


def test_a_prime_settles_what_is_too_large_for_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.linear_algebra.balls.LARGEST", 4)
    x = np.vander(np.arange(1.0, 18.0))[:15]
    proof = certify_full_row_rank(x)
    assert (proof.verdict, proof.method, proof.smallest_singular_value) == (Verdict.PROVED, "prime field", 0.0)
    x[3] = x[4]
    assert certify_full_row_rank(x).method == "exact rational"
    assert certify_full_row_rank(Enclosure(x, 1e-300)).verdict is Verdict.UNDECIDED


def test_integers_beyond_float64_are_settled_exactly() -> None:
    huge = 10**400
    assert certify_full_row_rank([[huge + 1, huge, 0], [huge, huge, 0]]).verdict is Verdict.PROVED
    assert certify_full_row_rank([[huge, huge, 0], [huge, huge, 0]]).verdict is Verdict.REFUTED


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2), (3, 5), (6, 6), (5, 12)])
@pytest.mark.parametrize("radius", [0.0, 1e-9, 1e-2])
def test_the_bound_holds_for_every_member(shape: tuple[int, int], radius: float) -> None:
    rng = np.random.default_rng([*shape, int(radius * 1e9)])
    for _ in range(3):
        midpoint = rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 9, (shape[0], 1))
        radii = radius * rng.random((shape[0], 1))
        proof = certify_full_row_rank(Enclosure(midpoint, radii))
        for _ in range(3):
            member = exactly(midpoint) + exactly(radii) * exactly(rng.choice([-1, 1], shape))
            assert proof.smallest_singular_value <= singular_values(member)[0]
        if radius == 0.0:
            assert proof.verdict is Verdict.PROVED
            assert proof.smallest_singular_value >= singular_values(midpoint)[0] / 2.0**3


def test_the_bound_is_close_for_rows_of_one_size() -> None:
    x = np.random.default_rng(0).standard_normal((50, 80))
    truth = np.linalg.svd(x, compute_uv=False)[-1]
    assert 0.3 * truth < certify_full_row_rank(x).smallest_singular_value < truth


def test_radii_are_settled_up_to_the_distance_in_the_frobenius_norm() -> None:
    x = np.hstack([np.eye(8), np.zeros((8, 8))])
    assert certify_full_row_rank(Enclosure(x, 0.05)).verdict is Verdict.PROVED
    assert certify_full_row_rank(Enclosure(x, 0.5)).verdict is Verdict.UNDECIDED


def test_more_rows_than_columns_have_no_full_row_rank() -> None:
    proof = certify_full_row_rank(np.eye(3)[:, :2])
    assert (proof.verdict, proof.method) == (Verdict.REFUTED, "shape")
    assert certify_full_row_rank(np.zeros((2, 0))).verdict is Verdict.REFUTED


def test_no_rows_have_full_row_rank() -> None:
    proof = certify_full_row_rank(np.zeros((0, 5)))
    assert (proof.verdict, proof.method, proof.smallest_singular_value) == (Verdict.PROVED, "empty", np.inf)


@pytest.mark.parametrize("size", [3, 600])
def test_the_gram_matrix_is_within_its_error(size: int) -> None:
    rng = np.random.default_rng(size)
    b = rng.integers(-(2**20), 2**20, (size, 5)).astype(np.float64)
    k = gram.gram(b)
    lower = np.tril(np.ones((size, size), dtype=bool))
    assert np.array_equal(k.lower[lower], (b @ b.T)[lower])
    c = rng.standard_normal((3, 900))
    k = gram.gram(c)
    difference = exactly(k.lower) - exactly(c) @ exactly(c).T
    assert 0 < sum((difference * difference).ravel()) <= upper(k.error) ** 2


@pytest.mark.parametrize("sign", [1, -1])
def test_the_distance_bounds_that_of_any_factor(sign: int) -> None:
    rng = np.random.default_rng(sign + 1)
    for size in (1, 2, 4, 6):
        b = rng.standard_normal((size, 9))
        k = gram.gram(b)
        for shift in (0.0, 0.3, 2.0**-40, 30.0, 2.0**60):
            for root in (rng.standard_normal((size, size)), np.zeros((size, size)), 2.0**20 * np.eye(size)):
                root = np.tril(root)
                exact = exactly(b) @ exactly(b).T - Fraction(shift) * exactly(np.eye(size))
                difference = sign * exact - exactly(root) @ exactly(root).T
                bound = upper(gram.distance(k, shift, root, sign=sign))
                assert sum((difference * difference).ravel()) <= bound**2


def test_the_distance_counts_every_rounding() -> None:
    """With the best factor nothing is left but rounding errors, and the bound is still above the truth."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        b = rng.standard_normal((4, 6))
        k = gram.gram(b)
        shift = gram.smallest_eigenvalue_estimate(k) / 2
        root = gram.factor(k, shift)
        assert root is not None and np.array_equal(root, np.tril(root))
        exact = exactly(b) @ exactly(b).T - Fraction(shift) * exactly(np.eye(4))
        difference = exact - exactly(root) @ exactly(root).T
        assert 0 < sum((difference * difference).ravel()) <= upper(gram.distance(k, shift, root)) ** 2


def test_the_distance_adds_the_blocks_of_a_large_matrix() -> None:
    rng = np.random.default_rng(2)
    size = 1100
    b = rng.integers(-3, 4, (size, 4)).astype(np.float64)
    root = np.tril(rng.integers(-1, 2, (size, size))).astype(np.float64)
    truth = np.linalg.norm(b @ b.T - 2.0 * np.eye(size) - root @ root.T)
    assert truth <= float(gram.distance(gram.gram(b), 2.0, root)) <= truth * (1 + 1e-6)


def test_the_distance_counts_the_rounding_of_the_shift() -> None:
    """With b = 1, c = -Q and Q = fl(x^2), 1 + Q - x^2 is computed as 0, and is nearly 2 if both roundings conspire."""
    rng = np.random.default_rng(4)
    k = gram.gram(np.array([[1.0]]))
    worst = Fraction(0)
    with ctx.workprec(200):
        for x in 2.0**26.5 * (1 + 0.01 * rng.random(400)):
            q = float(x * x)
            truth = abs(1 + Fraction(q) - Fraction(float(x)) ** 2)
            assert truth <= upper(gram.distance(k, -q, np.array([[x]])))
            worst = max(worst, truth if 1.0 + q == q else worst)
    assert worst > 1.9


def test_the_distance_counts_the_rounding_of_the_difference() -> None:
    """-(b^2 + x^2) with b near 1 and x small: two roundings of nearly u each, towards each other."""
    rng = np.random.default_rng(6)
    close = 0
    for _ in range(500):
        b, x = 1.0 + 2.0**-22 * rng.random(), 2.0**-14 * rng.random()
        truth = Fraction(b) ** 2 + Fraction(x) ** 2
        k = gram.gram(np.array([[b]]))
        with ctx.workprec(200):
            assert truth <= upper(gram.distance(k, 0.0, np.array([[x]]), sign=-1))
        close += truth - Fraction(b * b + x * x) > Fraction(18, 10) * Fraction(1, 2**53)
    assert close > 0


SMALL_SQUARE = 0.9 * 2.0**-53  # added to 1 one by one, such numbers are lost


def test_the_distance_counts_the_error_of_the_gram_matrix() -> None:
    b = np.full((1, 512), np.sqrt(SMALL_SQUARE))
    b[0, 0] = 1.0
    k = gram.gram(b)
    root = np.sqrt(k.lower)
    truth = sum((Fraction(x) ** 2 for x in b.ravel().tolist()), Fraction(0)) - Fraction(float(root[0, 0])) ** 2
    assert abs(truth) > 6 * Fraction(1, 2**53), "the sum was computed too well to show anything"
    with ctx.workprec(200):
        assert abs(truth) <= upper(gram.distance(k, 0.0, root))


def test_the_distance_counts_the_error_of_the_product_of_the_factor() -> None:
    size = 512
    b, root = np.zeros((size, 1)), np.zeros((size, size))
    b[-1] = 1.0
    root[-1] = np.sqrt(SMALL_SQUARE)
    root[-1, 0] = 1.0
    truth = sum((Fraction(x) ** 2 for x in root[-1].tolist()), Fraction(0)) - 1
    assert truth - abs(Fraction(float((root @ root.T)[-1, -1])) - 1) > 6 * Fraction(1, 2**53), "too well computed"
    with ctx.workprec(200):
        assert truth <= upper(gram.distance(gram.gram(b), 0.0, root))


def test_no_factor_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram, "smallest_eigenvalue_estimate", lambda _: 0.5)
    for lie in (np.zeros((3, 3)), np.eye(3), np.full((3, 3), np.nan)):
        monkeypatch.setattr(gram, "factor", lambda *_, lie=lie, **__: np.tril(lie))
        for kept in (False, True):
            assert certify_full_row_rank(Enclosure(np.ones((3, 4)), 1e-9), witness=kept).verdict is Verdict.UNDECIDED


def test_a_witness_is_judged_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor that lost its digits on the way to integers must not prove what the honest factor would have."""
    honest = gram.quantized
    monkeypatch.setattr(
        gram, "quantized", lambda root, bits: (np.rint(honest(root, bits)[0] * 0.9), honest(root, bits)[1])
    )
    x = conditioned(10, 15, 1e3)
    proof = certify_full_row_rank(x, witness=True)
    assert proof.method != "gram"


def test_a_singular_matrix_has_no_factor_and_no_estimate() -> None:
    k = gram.gram(np.ones((3, 4)))
    assert gram.factor(k, 1.0) is None
    assert gram.smallest_eigenvalue_estimate(gram.gram(np.zeros((2, 2)))) == 0.0
    assert gram.factor(k, 14.0, sign=-1) is not None


def test_the_estimate_is_near_the_smallest_eigenvalue() -> None:
    b = np.random.default_rng(3).standard_normal((40, 70))
    truth = np.linalg.eigvalsh(b @ b.T)[0]
    assert truth * (1 - 1e-9) <= gram.smallest_eigenvalue_estimate(gram.gram(b)) <= 2 * truth


@pytest.mark.parametrize("bits", [31, 53])
def test_quantized_factors_are_integers_in_range_and_near(bits: int) -> None:
    rng = np.random.default_rng(bits)
    root = rng.standard_normal((6, 6)) * 2.0 ** rng.integers(-40, 40, (6, 1))
    root[2, 3] = 2.0**50
    root[4] = 0.0
    mantissas, exponents = gram.quantized(root, bits)
    assert (mantissas == np.rint(mantissas)).all() and np.abs(mantissas).max() < 2.0**bits
    back = np.ldexp(mantissas, exponents[:, None])
    assert (np.abs(back - root) <= np.abs(root).max(axis=1, keepdims=True) * 2.0 ** (1 - bits)).all()


def factor_of(witness: GramWitness) -> np.ndarray:
    powers = np.array([Fraction(2) ** int(e) for e in witness.mantissa_exponents], dtype=object)
    return exactly(witness.mantissas) * powers[:, None]


@pytest.mark.parametrize("condition", [10.0, 1e4, 1e5])
def test_the_gram_witness_proves_the_rank_by_integers_alone(condition: float) -> None:
    x = conditioned(12, 20, condition) * 2.0 ** np.arange(-6, 6)[:, None]
    proof = certify_full_row_rank(x, witness=True)
    witness = proof.witness
    assert isinstance(witness, GramWitness)
    powers = np.array([Fraction(2) ** int(e) for e in witness.row_exponents], dtype=object)
    b, root = exactly(x) * powers[:, None], factor_of(witness)
    difference = b @ b.T - Fraction(witness.shift) * exactly(np.eye(12)) - root @ root.T
    norm = max(sum(row) for row in np.abs(difference))
    assert norm < Fraction(witness.shift)
    assert np.array_equal(witness.mantissas, np.tril(witness.mantissas))
    claimed = Fraction(proof.smallest_singular_value) * Fraction(2) ** int(witness.row_exponents.max())
    assert claimed**2 <= Fraction(witness.shift)


def test_a_factor_of_31_bits_is_kept_where_it_suffices() -> None:
    coarse = certify_full_row_rank(conditioned(20, 30, 1e2), witness=True).witness
    fine = certify_full_row_rank(conditioned(20, 30, 2e5), witness=True).witness
    assert isinstance(coarse, GramWitness) and coarse.mantissas.dtype == np.int32
    assert isinstance(fine, GramWitness) and fine.mantissas.dtype == np.int64
    assert set(coarse.arrays()) == {"row_exponents", "shift", "mantissas", "mantissa_exponents"}


def test_the_inverse_witness_proves_the_rank_by_integers_alone() -> None:
    x = conditioned(9, 14, 1e9) * 2.0 ** np.arange(-4, 5)[:, None]
    witness = certify_full_row_rank(x, witness=True).witness
    assert isinstance(witness, InverseWitness)
    assert set(witness.arrays()) == {"row_exponents", "column_exponents", "mantissas", "mantissa_exponents", "weights"}
    assert (witness.weights == 1).all()
    rows, columns, shifts = (
        np.array([Fraction(2) ** int(e) for e in exponents], dtype=object)
        for exponents in (witness.row_exponents, witness.column_exponents, witness.mantissa_exponents)
    )
    b = exactly(x) * rows[:, None] * columns
    w = (exactly(witness.mantissas) * shifts[:, None]).T
    difference = b @ w - exactly(np.eye(9))
    assert sum((difference * difference).ravel()) < 1


def test_an_inverse_that_needs_weights_is_kept_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A residual beyond 1 in every norm without weights, whose spectral radius is below it."""
    lie = np.eye(3) + 0.125
    lie[0, 1] += 1.5
    monkeypatch.setattr(gram, "smallest_eigenvalue_estimate", lambda _: 0.0)
    monkeypatch.setattr(row_rank, "right_inverse", lambda b: lie / b[0, 0])
    proof = certify_full_row_rank(np.eye(3), witness=True)
    witness = proof.witness
    assert proof.verdict is Verdict.PROVED and isinstance(witness, InverseWitness)
    powers = np.array([Fraction(2) ** int(e) for e in witness.mantissa_exponents], dtype=object)
    scale = Fraction(2) ** int(witness.row_exponents[0] + witness.column_exponents[0])
    error = abs((exactly(witness.mantissas) * powers[:, None]).T * scale - exactly(np.eye(3)))
    assert sum((error * error).ravel()) > 1 and error.sum(axis=1).max() > 1
    weights = witness.weights.astype(object)
    assert witness.weights.dtype == np.int64 and 1 <= min(weights) and max(weights) <= 2**40
    assert (error @ weights < weights).all()
    assert 0.0 < proof.smallest_singular_value <= 1.0


def test_only_the_cheap_methods_are_tried_where_only_they_are_wanted() -> None:
    singular = given_matrix(np.ones((2, 3)))
    assert prove_by_floats(singular, witness=False) is None
    regular = prove_by_floats(given_matrix(np.eye(2, 3)), witness=False)
    assert regular is not None and regular.method == "gram"


def test_the_callers_precision_does_not_matter() -> None:
    x = conditioned(5, 8, 10.0)
    with ctx.workprec(3):
        proof = certify_full_row_rank(x)
    assert proof.smallest_singular_value == certify_full_row_rank(x).smallest_singular_value > 0.05


def test_integer_products_agree_with_the_float_products_of_a_witness() -> None:
    """The witness is what was proved, to the last bit."""
    x = np.random.default_rng(5).integers(-50, 50, (7, 11)).astype(np.float64)
    proof = certify_full_row_rank(x, witness=True)
    witness = proof.witness
    assert isinstance(witness, GramWitness)
    mantissas = fmpz_mat(7, 7, witness.mantissas.ravel().tolist())
    squares = mantissas * mantissas.transpose()
    scale = np.ldexp(1.0, witness.mantissa_exponents.astype(int))
    product = np.array([float(int(n)) for n in squares.entries()]).reshape(7, 7) * scale[:, None] * scale
    scaled = np.ldexp(x, witness.row_exponents.astype(int)[:, None])
    residual = scaled @ scaled.T - witness.shift * np.eye(7) - product
    assert np.linalg.norm(residual, 2) < 1e-6 * witness.shift
