"""Minimum-norm solutions against exact rationals, and where their limits are."""

import flint
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.numeric.minimum_norm import right_inverse

UNIT = 2.0**-53


def matrix_of_condition(rows, columns, condition, seed):
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, rows)))[0]
    return (left * np.geomspace(1, 1 / condition, rows)) @ right.T


@given(st.integers(1, 6), st.integers(0, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_solutions_are_the_exact_rational_ones_up_to_rounding(rows, more, width, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-9, 10, (rows, rows + more))
    right = rng.integers(-9, 10, (rows, width))
    exact = flint.fmpq_mat(flint.fmpz_mat(matrix.tolist()))
    gram = exact * exact.transpose()
    if gram.det() == 0:
        with pytest.raises(HypothesisError, match=f"{rows} independent rows"):
            right_inverse(matrix.astype(float))
        return
    wanted = exact.transpose() * gram.solve(flint.fmpq_mat(flint.fmpz_mat(right.tolist())))
    wanted = np.array([[float(int(x.p)) / float(int(x.q)) for x in row] for row in wanted.tolist()])
    inverse = right_inverse(matrix.astype(float))
    found = inverse.solve(right.astype(float))
    assert np.abs(found - wanted).max() <= 1e3 * UNIT * inverse.condition * (1 + np.abs(wanted).max())
    assert inverse.residual_level(found, right.astype(float)) <= 16 * UNIT


@pytest.mark.parametrize(
    ("condition", "method"), [(1e0, "cholesky"), (1e4, "cholesky"), (1e6, "cholesky"), (1e9, "qr"), (1e13, "qr")]
)
@pytest.mark.parametrize("rows", [40, 600])
def test_the_residual_is_at_rounding_level_whatever_the_condition(rows, condition, method):
    matrix = matrix_of_condition(rows, rows + 30, condition, 0)
    right = np.random.default_rng(1).standard_normal((rows, 3))
    inverse = right_inverse(matrix)
    found = inverse.solve(right)
    assert inverse.method == method
    assert np.abs(matrix @ found - right).max() <= 64 * UNIT * np.linalg.norm(found, axis=0).max()
    assert inverse.residual_level(found, right) <= 16 * UNIT
    if condition <= 1e9:
        values = np.linalg.svd(matrix, compute_uv=False)
        assert inverse.condition == pytest.approx(values[0] / values[-1], rel=2e-2)


def test_refinement_is_what_reaches_rounding_level():
    matrix = matrix_of_condition(40, 60, 1e6, 0)
    right = np.random.default_rng(1).standard_normal((40, 3))
    inverse = right_inverse(matrix)
    unrefined = inverse.apply(right)
    assert inverse.residual_level(unrefined, right) > 100 * inverse.residual_level(inverse.solve(right), right)


@pytest.mark.parametrize("condition", [1e2, 1e9])
def test_solutions_have_the_smallest_norm(condition):
    matrix = matrix_of_condition(30, 50, condition, 3)
    right = np.random.default_rng(1).standard_normal((30, 4))
    inverse = right_inverse(matrix)
    found = inverse.solve(right)
    null = np.linalg.svd(matrix)[2][30:]
    assert np.abs(null @ found).max() <= 64 * UNIT * condition * np.abs(found).max()


@pytest.mark.parametrize("condition", [1e2, 1e9])
def test_the_projection_keeps_exactly_what_the_matrix_does_not_see(condition):
    matrix = matrix_of_condition(30, 50, condition, 4)
    inverse = right_inverse(matrix)
    null = np.linalg.svd(matrix)[2][30:].T
    some = np.random.default_rng(0).standard_normal((50, 2))
    assert np.allclose(inverse.project(some), null @ (null.T @ some), atol=1e-6)
    assert np.abs(matrix @ inverse.project(some)).max() < 1e-12
    assert np.allclose(inverse.project(null), null, atol=1e-12)


def test_a_start_keeps_its_part_in_the_null_space():
    matrix = matrix_of_condition(30, 50, 1e3, 4)
    inverse = right_inverse(matrix)
    right = np.random.default_rng(1).standard_normal((30, 2))
    start = 5 * np.random.default_rng(2).standard_normal((50, 2))
    found = inverse.solve(right, start=start)
    assert np.allclose(inverse.project(found), inverse.project(start), atol=1e-10)
    assert inverse.residual_level(found, right) <= 16 * UNIT
    exact = inverse.solve(right)
    assert np.abs(inverse.solve(right, start=exact) - exact).max() <= 1e-12


def test_a_right_hand_side_of_zeros_has_the_solution_zero():
    inverse = right_inverse(matrix_of_condition(5, 9, 10, 0))
    assert not inverse.solve(np.zeros((5, 2))).any()
    assert inverse.solve(np.zeros((5, 0))).shape == (9, 0)


@given(st.integers(2, 8), st.integers(0, 2**32))
@example(rows=5, seed=2390)  # the rounding of the dependent row makes it independent by a few units in the last place
def test_dependent_rows_are_refused_or_have_a_condition_at_rounding_level(rows, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((rows, rows + 3))
    chosen = rng.integers(rows)
    matrix[chosen] = rng.standard_normal(rows) * (np.arange(rows) != chosen) @ matrix
    try:
        assert right_inverse(matrix).condition > 1e12
    except HypothesisError as error:
        assert "1 of them are combinations of the others" in str(error)


def test_rows_that_depend_exactly_are_refused():
    with pytest.raises(HypothesisError, match="1 of them are combinations of the others"):
        right_inverse(np.array([[1.0, 0.0, 2.0], [3.0, 1.0, 0.0], [4.0, 1.0, 2.0]]))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 2)), r"shape \(3, 2\)"),
        (np.ones((0, 2)), r"shape \(0, 2\)"),
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.array([[1.0, np.inf]]), "NaN, an infinity"),
        (np.array([[1.0, 1e200]]), "too large to be squared"),
    ],
)
def test_matrices_that_cannot_be_inverted_are_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        right_inverse(matrix)


def test_a_row_of_zeros_is_refused():
    with pytest.raises(HypothesisError, match="1 of them"):
        right_inverse(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
