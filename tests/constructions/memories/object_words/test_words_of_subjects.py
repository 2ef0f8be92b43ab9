"""Places of relations, and which words fit; that they are read is tested of all words together."""

import numpy as np
import pytest

from constructions.memories.object_words.digits import Digits
from constructions.memories.object_words.words import Columns
from constructions.memories.object_words.words_of_subjects import LongWords, OneDigitWords, Places, ShortWords


def columns(relations: int, *, subject_first: bool = True) -> Columns:
    return Columns(np.arange(5), 5 + np.arange(relations), np.arange(60), subject_first)


@pytest.mark.parametrize("relations, places, groups, fewer", [(5, 3, 2, 3), (6, 4, 2, 3), (8, 4, 2, 4), (3, 9, 1, 3)])
def test_words_have_no_more_places_than_they_need(relations: int, places: int, groups: int, fewer: int) -> None:
    found = Places.of(relations, places)
    assert (found.groups, found.places) == (groups, fewer)
    assert found.group.max() == groups - 1 and found.place.max() < places


def test_short_words_of_one_column_and_digits_that_are_not_used_do_not_fit() -> None:
    digits = Digits(60, 6, 3)
    assert ShortWords(columns(5), digits).fit(24) and not ShortWords(columns(3), digits).fit(24)
    assert LongWords(columns(3), digits).fit(24) and not LongWords(columns(3), digits._replace(places=4)).fit(24)
    assert OneDigitWords(columns(3), digits._replace(places=1)).fit(8)
    assert not OneDigitWords(columns(3), digits).fit(24)


def test_short_words_have_three_bits_less_and_four_where_the_subject_comes_last() -> None:
    for bits, behind, before in ((6, True, True), (7, True, False), (8, False, False)):
        digits = Digits(50, bits, 3)
        assert ShortWords(columns(6), digits).fit(24) == behind
        assert ShortWords(columns(6, subject_first=False), digits).fit(24) == before
        assert LongWords(columns(6), digits).fit(24)
