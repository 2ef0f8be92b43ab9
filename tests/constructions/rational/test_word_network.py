"""Labels of points by deep ReLU blocks that read words of bits, in rationals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.memories.keyed_words import rounded_integers, word_blocks
from constructions.rational.word_network import word_network
from verify.theorems.claims.vardi_2022_sqrt import drawn
from verify.theorems.evidence.words import judge_words


@given(st.sets(st.integers(-40, 40), min_size=1, max_size=7), st.integers(1, 4), st.data())
def test_any_labels_of_any_codes_are_memorized_by_words_of_any_length(codes, items, data):
    points = np.array(sorted(codes))[:, None]
    labels = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(points), max_size=len(points))))
    found = judge_words(word_network(points, labels, items=items), np.arange(len(points))[:, None], labels)
    assert found.memorized == found.count == len(points)


def test_rounding_to_float64_changes_long_words_and_no_short_ones():
    points, labels = drawn(64, 3, 50)
    for items, same in ((2, True), (4, False)):
        model = word_network(points, labels, items=items)
        looked_up = model.blocks[1].W_out, rounded_integers(model, 53).blocks[1].W_out
        assert bool((looked_up[0] == looked_up[1]).all()) is same


def test_codes_that_are_equal_and_numbers_that_do_not_fit_are_refused():
    with pytest.raises(HypothesisError, match="distinct codes"):
        word_blocks([3, 3], [0, 1], items=1)
    with pytest.raises(HypothesisError, match="distinct points"):
        word_network(np.array([[1], [1]]), np.array([0, 1]))
    for codes, labels, items in (([], [], 1), ([1], [0, 1], 1), ([-1], [0], 1), ([1], [0], 0)):
        with pytest.raises(InputError, match="expected T >= 1 of each"):
            word_blocks(codes, labels, items=items)
    with pytest.raises(InputError, match=r"expected \[n, d\]"):
        word_network(np.array([[1.0]]), np.array([0]))
