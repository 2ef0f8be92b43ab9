"""Products of matrices are the products, however their sums are cut, and are computed where the block says."""

import numpy as np
import pytest

from constructions.products import multiplied_by, multiplier, multiply


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


class Elsewhere:
    name, least, side = "elsewhere", 100, 3

    def __call__(self, a, b, terms=None, /):
        return np.full((len(a), b.shape[1]), 7.0)


def test_large_products_of_two_matrices_are_computed_elsewhere_within_the_block() -> None:
    a, b = np.ones((7, 4)), np.ones((4, 5))
    with multiplied_by(Elsewhere()):
        assert multiplier() is not None
        assert (multiply(a, b) == 7.0).all()
        assert (multiply(a[:4], b) == 4.0).all()  # 80 multiplications
        assert (multiply(np.stack([a, a]), b) == 4.0).all()
        assert (multiply(a, np.stack([b, b])) == 4.0).all()
    assert multiplier() is None and (multiply(a, b) == 4.0).all()
