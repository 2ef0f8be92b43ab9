"""Ranks in integers."""

import math
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.independent import integer_rank
from verify.independent.integer_rank import _ScaledRows, recheck_nonsingular
from verify.independent.plain.plain_arrays import PlainArray
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


@pytest.mark.parametrize("size", [1, 2, 5, 7])
@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_a_factor_proves_the_same_in_blocks_of_any_size_and_only_what_it_may(size, block, monkeypatch):
    """Lemma C4 by one product of whole matrices; L is off by up to 3, so that neither norm of D is 0."""
    monkeypatch.setattr(integer_rank, "_SYMMETRIC", block)
    rng = np.random.default_rng(size)
    rows = rng.integers(-50, 51, (size, size + 2)) + 1000 * np.eye(size, size + 2, dtype=int)
    shift = 400_000
    factor = np.linalg.cholesky((rows @ rows.T - shift * np.eye(size)).astype(float)).astype(int)
    factor += np.tril(rng.integers(-3, 4, (size, size)))
    scaled = _ScaledRows(rows.tolist(), [[1] * (size + 2)] * size, 0, [0] * size, [0] * (size + 2))
    witness = {
        "shift": PlainArray((), array("d", [shift])),
        "mantissas": PlainArray((size * (size + 1) // 2,), array("q", factor[np.tril_indices(size)].tolist())),
        "mantissa_exponents": PlainArray((size,), array("i", [0] * size)),
    }
    difference = rows @ rows.T - factor @ factor.T - shift * np.eye(size, dtype=int)
    norm = min(int(abs(difference).sum(axis=1).max()), math.isqrt(int((difference**2).sum())) + 1)
    found = integer_rank._smallest_by_gram(scaled, witness)
    assert found == math.isqrt(shift - norm) - math.isqrt(size * (size + 2)) - 1
    assert found is not None and 0 < found <= np.linalg.svd(rows)[1].min() - np.sqrt(size * (size + 2)) + 1e-6
    witness["mantissas"] = PlainArray(witness["mantissas"].shape, array("q", [0] * (size * (size + 1) // 2)))
    assert integer_rank._smallest_by_gram(scaled, witness) is None
