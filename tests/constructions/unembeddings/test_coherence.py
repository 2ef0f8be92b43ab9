"""The record of an unembedding, and the bounds below which no coherence goes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.unembeddings.coherence import (
    Unembedding,
    kappa_bound,
    kappa_of_coherence,
    levenshtein_bound,
    root_above,
    root_below,
)
from constructions.unembeddings.unembedding import best


@given(st.fractions(0, 10**9))
def test_roots_are_bracketed_tightly(square):
    low, high = root_below(square), root_above(square)
    assert 0 <= low**2 <= square <= high**2
    assert high - low <= Fraction(1, 2**128)


@given(st.fractions(0, 10**4))
def test_rational_roots_are_exact(root):
    assert root_below(root * root) == root == root_above(root * root)


@given(st.integers(2, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_no_unit_vectors_are_below_the_bound_of_levenshtein(count, d_model, seed):
    vectors = np.random.default_rng(seed).standard_normal((count + d_model, d_model))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    products = np.abs(vectors @ vectors.T) - np.eye(len(vectors))
    assert products.max() >= levenshtein_bound(len(vectors), d_model) - 1e-12


@given(st.integers(1, 4), st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_no_vectors_and_encoders_are_below_the_bound_of_kappa(d_model, count, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, d_model))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    products = vectors @ vectors.T
    leads = (np.diag(products)[:, None] - products)[~np.eye(count, dtype=bool)]
    if leads.min() > 1e-9:
        assert leads.max() / leads.min() >= kappa_bound(count, d_model) - 1e-9


@pytest.mark.parametrize("d_model", [2, 3, 7, 8])
def test_the_bounds_are_attained_where_they_are_known_to_be(d_model):
    assert kappa_bound(d_model + 1, d_model) == 1
    if d_model == 2:  # three lines in the plane
        assert levenshtein_bound(3, 2) == Fraction(1, 2)
    if d_model == 7:  # 28 lines of equal angles
        assert levenshtein_bound(28, 7) == Fraction(1, 3)
    if d_model == 8:  # 120 lines of the root system E8
        assert levenshtein_bound(120, 8) == Fraction(1, 2)


def test_few_vectors_need_no_coherence():
    assert levenshtein_bound(5, 5) == levenshtein_bound(5, 6) == 0
    assert kappa_bound(3, 5) == 1


@pytest.mark.parametrize("bound", [levenshtein_bound, kappa_bound])
@pytest.mark.parametrize(("count", "d_model"), [(1, 3), (0, 3), (4, 0)])
def test_sizes_without_pairs_or_coordinates_are_refused(bound, count, d_model):
    with pytest.raises(InputError, match=r"^(count|d_model) = \d, expected at least \d$"):
        bound(count, d_model)


def test_a_coherence_of_one_promises_nothing():
    assert kappa_of_coherence(Fraction(1)) is None
    assert kappa_of_coherence(Fraction(0)) == 1


def test_the_matrices_are_exact_and_the_arrays_read_only():
    found = best(2112, 64)
    assert np.array_equal(found.matrix(), found.vectors.T) and found.matrix().dtype == np.float64
    unit = found.unit_matrix()
    assert np.array_equal(8 * unit, found.vectors.T)  # the norms are 8
    assert np.abs(unit.T[:50] @ unit - np.eye(50, 2112)).max() == found.coherence == Fraction(1, 8)
    with pytest.raises(ValueError, match="read-only"):
        found.vectors[0, 0] = 3


def test_a_zero_vector_stays_zero():
    assert np.array_equal(best(3, 2).unit_matrix(), [[1, 0, 0], [0, 1, 0]])


def test_records_that_contradict_themselves_are_refused():
    one = np.eye(2, dtype=np.int8)
    with pytest.raises(InputError, match="vectors"):
        Unembedding("none", one, one[:1], 1, 1, Fraction(0))
    for least, largest in [(0, 1), (2, 1)]:
        with pytest.raises(InputError, match="0 < least <= largest"):
            Unembedding("none", one, one, least, largest, Fraction(0))
