"""Products of matrices are the products, however their sums are cut, and are computed where the block says."""

import os
import subprocess
import sys

import numpy as np
import pytest

from constructions.numeric.products import multiply

_LARGE = """
import numpy as np
from constructions.numeric.cholesky import cholesky
from constructions.numeric.products import multiply
signs = np.random.default_rng(0).choice([-1.0, 1.0], (16384, 4096))
product = multiply(signs, signs.T)
assert np.array_equal(product[:, :9], signs @ signs[:9].T) and np.array_equal(product[:9], product[:, :9].T)
product.flat[:: len(product) + 1] += 16384.0
some = product[-9:, -9:].copy()
root = cholesky(product)
assert np.allclose(root[-9:] @ root[-9:].T, some)
"""


@pytest.mark.parametrize("terms", [None, 1, 2, 7, 100])
@pytest.mark.parametrize("shape", [(3, 7, 4), (1, 1, 1), (0, 3, 2), (2, 0, 3), (2200, 9, 2)])
def test_a_product_in_blocks_of_terms_is_the_product(shape: tuple[int, int, int], terms: int | None) -> None:
    rng = np.random.default_rng(15)
    a, b = rng.integers(-9, 10, shape[:2]).astype(float), rng.integers(-9, 10, shape[1:]).astype(float)
    assert np.array_equal(multiply(a, b, terms), a @ b)
    batch = np.stack([a, -a])
    assert np.array_equal(multiply(batch, b, terms), batch @ b)


def test_a_sum_in_blocks_of_terms_goes_through_few_roundings() -> None:
    # Added one after the other, each 1 after the first would be lost.
    a = np.full((1, 2**10), 1.0)
    a[0, 0] = 2.0**53
    assert multiply(a, np.ones((2**10, 1)), 2**9)[0, 0] >= 2.0**53 + 2**9


@pytest.mark.parametrize("terms", [None, 4])
@pytest.mark.parametrize("rows", [10, 11, 23])
def test_the_blas_is_given_no_large_matrix_with_its_own_transpose(rows: int, terms: int | None, monkeypatch) -> None:
    monkeypatch.setattr("constructions.numeric.products.LARGEST_SYMMETRIC", 10)
    monkeypatch.setattr("constructions.numeric.products._ROWS", 5)
    given, matmul = [], np.matmul

    def seen(a, b, **out):
        if a.ctypes.data == b.ctypes.data and a.T.shape == b.shape:
            given.append(len(a))
        return matmul(a, b, **out)

    monkeypatch.setattr(np, "matmul", seen)
    a = np.random.default_rng(rows).integers(-9, 10, (rows, 7)).astype(float)
    for x in (a, a[:, ::2], np.asfortranarray(a), a.T @ a):
        assert np.array_equal(multiply(x, x.T, terms), np.einsum("ij,kj->ik", x, x))
    assert max(given) == 10


@pytest.mark.slow
def test_two_threads_multiply_and_factor_what_crashes_in_one_call_of_the_blas() -> None:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", _LARGE], env=environment, check=True)
