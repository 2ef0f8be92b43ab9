"""Random vectors and the constants promised of them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.unembeddings.johnson_lindenstrauss import (
    paper_constant,
    paper_kappa,
    random_signs,
    sign_constant,
)


@given(st.integers(2, 10**9), st.integers(1, 10**5))
def test_the_constants_are_upper_bounds_and_tight(count, d_model):
    for constant, square in [
        (paper_constant(count, d_model), 32 * math.log(count + 1) / d_model),
        (sign_constant(count, d_model), 4 * math.log(count) / d_model),
    ]:
        assert isinstance(constant, Fraction)
        assert float(constant) == pytest.approx(math.sqrt(square), rel=1e-14)


def test_the_paper_says_nothing_below_1386_dimensions_for_50257_tokens():
    assert paper_kappa(50_257, 1385) is None
    kappa = paper_kappa(50_257, 1386)
    assert kappa is not None and kappa > 1000


def test_with_869_tokens_the_paper_first_beats_the_simplex():
    kappa = paper_kappa(869, 867)
    assert kappa is not None and round(float(kappa)) == 5478
    assert all(paper_kappa(count, count - 2) is None for count in range(3, 869))


def test_random_signs_keep_their_constant():
    vectors = random_signs(300, 128).astype(np.int64)
    products = vectors @ vectors.T - 128 * np.eye(300, dtype=np.int64)
    assert np.abs(products).max() < 128 * sign_constant(300, 128)
    assert np.array_equal(np.abs(vectors), np.ones_like(vectors))


def test_seeds_decide_the_vectors():
    assert np.array_equal(random_signs(5, 40, seed=1), random_signs(5, 40, seed=1))
    assert not np.array_equal(random_signs(5, 40, seed=1), random_signs(5, 40, seed=2))


@pytest.mark.parametrize("constant", [paper_constant, sign_constant])
@pytest.mark.parametrize(("count", "d_model"), [(1, 5), (5, 0)])
def test_sizes_without_a_constant_are_refused(constant, count, d_model):
    with pytest.raises(InputError, match="expected N >= 2"):
        constant(count, d_model)
