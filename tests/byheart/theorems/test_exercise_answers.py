"""Answers are read in the forms in which people write them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.theorems.exercise_answers import agrees, number, numbers
from constructions.errors import InputError


@given(st.floats(0.01, 1000), st.integers(3, 6))
def test_a_decimal_is_right_if_it_is_the_number_rounded(value: float, places: int) -> None:
    text = f"{value:.{places}f}"
    assert agrees(number(text), text, value)
    other = f"{value + 2 * 10**-places:.{places}f}"
    assert not agrees(number(other), other, value)


def test_formulas_are_read_as_they_are_written() -> None:
    assert number("2^10 - 1/2") == Fraction(2047, 2)
    assert number("-log 3") == pytest.approx(-math.log(3))
    assert [value for value, _ in numbers("1 -1; 2 - 1, (3 + 1)/2")] == [1, -1, 1, 2]


def test_vectors_may_have_brackets() -> None:
    assert [value for value, _ in numbers("(1, 2), (-1/2, (3 + 1)/2); 5 6")] == [1, 2, Fraction(-1, 2), 2, 5, 6]


def test_a_number_beyond_float64_is_no_answer() -> None:
    with pytest.raises(InputError):
        number("10^200 * 10^200")
