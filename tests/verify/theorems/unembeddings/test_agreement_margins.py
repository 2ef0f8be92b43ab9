"""Margins by counting agreements, against all inner products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verify.theorems.unembeddings.agreement_margins
from constructions.unembeddings.reed_solomon import reed_solomon
from verify.theorems.unembeddings.agreement_margins import agreement_margins
from verify.theorems.unembeddings.margins import gram_margins


def indicators(words, letters):
    vectors = np.zeros((len(words), words.shape[1] * letters), dtype=np.int8)
    places = np.arange(words.shape[1]) * letters
    vectors[np.arange(len(words))[:, None], places + words] = 1
    return vectors


@pytest.mark.parametrize("table", [0, 2**24])
@given(count=st.integers(2, 12), places=st.integers(1, 5), letters=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_the_margins_of_any_words_are_their_extremes(table, count, places, letters, seed):
    words = np.random.default_rng(seed).integers(0, letters, (count, places))
    vectors = indicators(words, letters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify.theorems.unembeddings.agreement_margins, "_TABLE", table)
        found = agreement_margins(vectors)
    exact = gram_margins(vectors)
    assert found is not None
    assert found.least == exact.least and found.largest >= exact.largest
    assert found.largest_product == exact.largest_product and found.least_product <= exact.least_product
    assert found.coherence_squared == exact.coherence_squared
    assert not found.attained or found.largest == exact.largest


@pytest.mark.parametrize(("size", "points", "degree", "count"), [(7, 8, 2, 343), (16, 16, 2, 2000), (11, 11, 3, 5000)])
def test_graphs_of_polynomials_are_certified(size, points, degree, count):
    built = reed_solomon(size, points, degree, count=count, d_model=size * points + 1)
    found = agreement_margins(built.vectors)
    assert found is not None and found.attained and found.kappa == built.kappa
    assert found.coherence_squared == built.coherence**2


def test_a_letter_that_is_changed_is_noticed():
    built = reed_solomon(7, 7, 1, count=49, d_model=49)
    spoiled = built.vectors.copy()
    spoiled[10] = spoiled[20]
    spoiled[10, :7] = np.roll(spoiled[10, :7], 1)  # agrees with another word in all places but one
    found = agreement_margins(spoiled)
    assert found is not None and found.least == 1 < built.least


@pytest.mark.parametrize(
    "vectors",
    [
        [[1, 1, 0], [0, 1, 1]],  # ranges overlap
        [[1, 0, 1, 0], [1, 0, 0, 0]],  # too few ones
        [[2, 0, 1, 0], [1, 0, 0, 1]],
        [[-1, 0, 1, 0], [1, 0, 0, 1]],
        [[0, 0], [0, 0]],
    ],
)
def test_rows_that_are_no_words_are_left_to_other_certificates(vectors):
    assert agreement_margins(np.array(vectors)) is None


def test_too_much_work_is_left_to_other_certificates(monkeypatch):
    vectors = reed_solomon(5, 5, 1, count=25, d_model=25).vectors
    monkeypatch.setattr(verify.theorems.unembeddings.agreement_margins, "_WORK", 240)
    assert agreement_margins(vectors) is None
    monkeypatch.setattr(verify.theorems.unembeddings.agreement_margins, "_WORK", 250)
    assert agreement_margins(vectors) is not None


def test_words_that_int64_cannot_number_are_left_to_other_certificates():
    words = np.array([[0] * 9, [254] * 8 + [0], [254] * 8 + [0]])
    assert agreement_margins(indicators(words, 255)) is None
