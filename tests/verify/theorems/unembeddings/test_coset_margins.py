"""Margins by Walsh transforms, against all inner products."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.unembeddings.unembedding_families import families
from verify.theorems.unembeddings.coset_margins import coset_margins, walsh_transform
from verify.theorems.unembeddings.margins import gram_margins


def family(name, count, d_model):
    return next(f for f in families(count, d_model) if f.name.startswith(name)).build()


@given(st.integers(0, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_transform_is_the_product_with_the_characters(m, functions, seed):
    columns = np.random.default_rng(seed).choice([-1, 1], (2**m, functions)).astype(np.int16)
    index = np.arange(2**m)
    characters = 1 - 2 * (np.bitwise_count(index[:, None] & index) % 2).astype(np.int64)
    assert np.array_equal(walsh_transform(columns.copy()), characters @ columns)


def test_the_largest_transforms_fit():
    ones = np.ones((2**14, 1), dtype=np.int16)
    assert walsh_transform(ones)[0, 0] == 2**14 and walsh_transform(-ones)[0, 0] == -(2**14)


@given(st.integers(1, 4), st.integers(0, 5), st.integers(0, 3), st.integers(1, 3), st.data())
def test_the_bounds_hold_for_any_rows_of_signs(m, axes, extra, scale, data):
    size = 2**m
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rows = data.draw(st.integers(0, 12))
    signs = np.unique(rng.choice([-1, 1], (rows, size)), axis=0)
    place = rng.permutation(size + extra)[: min(axes, size + extra)]
    vectors = np.zeros((len(signs) + len(place), size + extra), dtype=np.int64)
    columns = rng.permutation(size + extra)[:size]
    vectors[: len(signs), columns] = scale * signs
    vectors[np.arange(len(signs), len(vectors)), place] = rng.choice([-1, 1], len(place)) * (scale + 1)
    vectors = rng.permutation(vectors)
    if len(vectors) < 2:
        return
    found, exact = coset_margins(vectors), gram_margins(vectors)
    if found is None:  # two rows are opposite
        assert exact.coherence_squared is not None and float(exact.coherence_squared) > 1 - 1e-12
        return
    assert found.least <= exact.least and exact.largest <= found.largest
    assert found.least_product <= exact.least_product and exact.largest_product <= found.largest_product
    assert found.coherence_squared is not None and exact.coherence_squared is not None
    assert exact.coherence_squared <= found.coherence_squared * (1 + Fraction(1, 2**49))
    if found.attained:
        assert (found.least, found.largest) == (exact.least, exact.largest)


@pytest.mark.parametrize(
    ("name", "count", "d_model", "coherence"),
    [
        ("Kerdock", 12, 4, Fraction(1, 2)),
        ("Kerdock", 144, 16, Fraction(1, 4)),
        ("Kerdock", 2112, 64, Fraction(1, 8)),
        ("Kerdock", 2115, 67, Fraction(1, 8)),
        ("Gold", 72, 8, Fraction(1, 2)),
        ("Gold", 1056, 32, Fraction(1, 4)),
        ("Gold", 1000, 32, Fraction(1, 4)),
        ("Delsarte-Goethals, r = 1", 1040, 16, Fraction(1, 2)),
        ("Gold, D = 16", 256, 16, Fraction(1, 2)),
        ("basis + Hadamard, D = 16", 32, 16, Fraction(1, 4)),
    ],
)
def test_the_coherence_of_whole_families_is_exact(name, count, d_model, coherence):
    built = family(name, count, d_model)
    found, exact = coset_margins(built.vectors), gram_margins(built.vectors)
    assert found is not None and found.attained
    assert (found.least, found.largest) == (exact.least, exact.largest) == (built.least, built.largest)
    assert found.coherence_squared == coherence**2 == built.coherence**2
    assert found.kappa == built.kappa


@pytest.mark.parametrize(
    ("name", "count", "d_model", "coherence"),
    [
        ("Gold", 16_512, 128, Fraction(1, 8)),
        ("Kerdock", 33_024, 256, Fraction(1, 16)),
        ("Delsarte-Goethals, r = 1", 65_600, 64, Fraction(1, 4)),
    ],
)
def test_the_coherence_of_large_families_is_exact(name, count, d_model, coherence):
    built = family(name, count, d_model)
    found = coset_margins(built.vectors)
    assert found is not None and found.attained and found.kappa == built.kappa
    assert found.coherence_squared == coherence**2


@pytest.mark.slow
def test_all_of_gold_512_is_certified():
    built = family("Gold", 512**2 + 512, 512)
    found = coset_margins(built.vectors)
    assert found is not None and found.attained and found.kappa == Fraction(17, 15)
    assert found.coherence_squared == Fraction(1, 256)


@pytest.mark.parametrize("row", [0, 77, 2047])
@pytest.mark.parametrize("column", [0, 5, 63])
def test_a_sign_that_is_flipped_is_noticed(row, column):
    built = family("Kerdock", 2048, 64)
    spoiled = built.vectors.copy()
    spoiled[row, column] *= -1
    found = coset_margins(spoiled)
    assert found is not None and (found.least < built.least or found.largest > built.largest)


def test_a_row_of_another_class_is_noticed():
    spoiled = family("Kerdock", 2048, 64).vectors.copy()
    spoiled[100] = family("Delsarte-Goethals, r = 1", 65_536, 64).vectors[2048 + 64 * 7]
    found = coset_margins(spoiled)
    assert found is not None and found.kappa == Fraction(5, 3)


@pytest.mark.parametrize(
    "vectors",
    [
        [[1, 1, 1], [1, -1, 1]],  # no power of two
        [[1, 1], [1, 1]],  # equal
        [[1, 1], [-1, -1]],  # opposite
        [[1, 2], [2, 1]],  # no signs
        [[1, 1, 0], [0, 1, 1]],  # two supports
        [[1, 0], [-1, 0]],  # opposite axis vectors
        [[1, 0], [0, 2]],  # of two lengths
        [[0, 0], [1, 0]],  # a zero row
    ],
)
def test_rows_of_another_shape_are_left_to_other_certificates(vectors):
    assert coset_margins(np.array(vectors)) is None


def test_entries_that_would_overflow_are_refused():
    with pytest.raises(InputError, match="entries reach"):
        coset_margins(np.array([[2**40, 2**40], [2**40, -(2**40)]]))
