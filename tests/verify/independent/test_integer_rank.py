"""Ranks in integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.independent import integer_rank
from verify.independent.integer_rank import recheck_nonsingular
from verify.verdict import Verdict


@pytest.mark.parametrize("seed", range(5))
def test_an_inverse_proves_its_matrix_and_bounds_its_singular_values(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((8, 8)) * 10.0 ** rng.integers(-3, 3, (8, 1))
    check = recheck_nonsingular(matrix.tolist(), 0.0, np.linalg.inv(matrix).tolist())
    assert check.verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("matrix", "radius"),
    [(np.ones((2, 2)), 0.0), (np.eye(2), 1.0), (np.array([[1.0, 2.0], [2.0, 4.0 + 2.0**-50]]), 2.0**-50)],
)
def test_no_witness_proves_a_set_that_holds_a_singular_matrix(matrix, radius):
    rng = np.random.default_rng(1)
    for witness in (np.eye(2), np.zeros((2, 2)), np.linalg.pinv(matrix), rng.standard_normal((2, 2)) * 1e200):
        check = recheck_nonsingular(matrix.tolist(), radius, witness.tolist())
        assert check.verdict is Verdict.UNDECIDED


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=6), st.integers(1, 5000))
def test_a_defect_is_at_least_the_sum_and_is_the_sum_where_it_matters(row, negligible):
    exact = sum(map(abs, row))
    defect = integer_rank._defect(row, negligible)
    assert defect == exact or exact < defect < negligible
