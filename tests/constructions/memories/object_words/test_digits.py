"""Words and folds against arithmetic on integers and fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.object_words.digits import Digits, digit_bits


@st.composite
def words(draw: st.DrawFn) -> tuple[Digits, list[int]]:
    objects, places = draw(st.integers(1, 60)), draw(st.integers(1, 6))
    digits = Digits(objects, digit_bits(objects, places) + draw(st.integers(0, 1)), places)
    return digits, draw(st.lists(st.integers(-1, objects - 1), min_size=places, max_size=places))


def folded(v: Fraction, digits: Digits) -> Fraction:
    for fold in digits.folds(None):
        assert fold.b_in is not None and fold.skip
        v += Fraction(float(fold.W_out[0, 0])) * max(Fraction(0), v + Fraction(float(fold.b_in[0])))
    return v


@given(words())
def test_folds_leave_the_digit_and_a_fraction_that_stays_away_from_both_ends(given_words: tuple) -> None:
    digits, objects = given_words
    word = int(digits.words(np.array([objects]))[0])
    room = Fraction(digits.spare, digits.base)
    assert 0 <= word < digits.top * (1 - room) or digits.places == 1
    for place, number in enumerate(objects):
        left = folded(Fraction(word, digits.base**place), digits) - (number + digits.spare)
        if number < 0:
            continue  # a hole, which may be anything
        assert left == 0 if place == 0 else room <= left <= 1 - room


@pytest.mark.parametrize(
    "objects, places, bits", [(1, 1, 1), (64, 1, 6), (65, 1, 7), (2, 2, 2), (62, 3, 6), (63, 3, 7)]
)
def test_digits_have_as_many_bits_as_they_need(objects: int, places: int, bits: int) -> None:
    assert digit_bits(objects, places) == bits
    assert Digits(objects, bits, places).spare >= (1 if places > 1 else 0)
    assert Digits(objects, bits - 1, places).spare < (1 if places > 1 else 0) or bits in (1, 2)


@pytest.mark.parametrize(
    "digits, precision, fit",
    [
        (Digits(60, 6, 4), 24, True),
        (Digits(60, 6, 5), 24, False),  # 30 bits
        (Digits(60, 6, 8), 53, True),
        (Digits(64, 6, 3), 24, False),  # no digit is free
        (Digits(64, 6, 1), 8, True),
        (Digits(65, 6, 1), 8, False),
    ],
)
def test_what_fits_a_format(digits: Digits, precision: int, fit: bool) -> None:
    assert digits.fit(precision) == fit
