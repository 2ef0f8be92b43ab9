"""Cholesky's factor by LAPACK and by products, and that only the lower triangle is read."""

import numpy as np
import pytest
import scipy.linalg

from constructions.numeric.cholesky import cholesky


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_a_factor_by_products_is_the_factor_and_reads_nothing_above_the_diagonal(size: int, monkeypatch) -> None:
    monkeypatch.setattr("constructions.numeric.cholesky._BLOCK", 2)
    root = np.tril(np.random.default_rng(size).integers(1, 5, (size, size))).astype(float)
    matrix = np.where(np.tri(size) > 0, root @ root.T, np.nan)
    with monkeypatch.context() as patched:
        patched.setattr("constructions.numeric.cholesky.LARGEST_SYMMETRIC", 0)
        by_products = cholesky(matrix.copy())
        with pytest.raises(np.linalg.LinAlgError):
            cholesky(-matrix)
    by_lapack = cholesky(matrix.copy())
    for found in (by_products, by_lapack):
        assert np.array_equal(found, np.tril(found)) and np.allclose(found, root, rtol=1e-9, atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(-matrix)


def test_lapack_is_given_no_large_matrix(monkeypatch) -> None:
    monkeypatch.setattr("constructions.numeric.cholesky.LARGEST_SYMMETRIC", 4)
    monkeypatch.setattr("constructions.numeric.cholesky._BLOCK", 4)
    given, lapack = [], scipy.linalg.cholesky
    monkeypatch.setattr(scipy.linalg, "cholesky", lambda a, **options: given.append(len(a)) or lapack(a, **options))
    for size in (4, 5, 11):
        root = np.tril(np.random.default_rng(size).integers(1, 5, (size, size))).astype(float)
        assert np.allclose(cholesky(root @ root.T), root, rtol=1e-9, atol=1e-9)
    assert max(given) == 4
