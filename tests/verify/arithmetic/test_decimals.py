"""Numbers for a reader are on the side that keeps the sentence true."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from verify.arithmetic.decimals import decimal_above, decimal_below, number, power_of_ten

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def read_back(text: str) -> Decimal:
    """The number that a reader reads."""
    plain = text.replace("−", "-").replace(" × 10", "E").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return Decimal(plain + "1" if plain.endswith("E") else plain)


@given(value=FLOATS, digits=st.integers(1, 6))
def test_an_upper_bound_is_written_no_smaller_and_a_lower_bound_no_larger(value: float, digits: int) -> None:
    assert read_back(number(value, digits=digits, bound="lower")) <= Decimal(value)
    assert Decimal(value) <= read_back(number(value, digits=digits, bound="upper"))


@given(value=FLOATS, digits=st.integers(1, 6), bound=st.sampled_from(["", "upper", "lower"]))
def test_a_written_number_is_close_to_the_number(value: float, digits: int, bound: str) -> None:
    assert abs(read_back(number(value, digits=digits, bound=bound)) - Decimal(value)) <= Decimal(10) ** (
        1 - digits
    ) * abs(Decimal(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-2.5, "−2.5"),
        (0.00123456, "0.00123"),
        (0.000123456, "1.23 × 10⁻⁴"),
        (123.456, "123"),
        (713.0, "713"),
        (1000.0, "1000"),
        (64000.0, "64000"),
        (12345.0, "1.23 × 10⁴"),
        (9.999e-9, "1 × 10⁻⁸"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "not a number"),
    ],
)
def test_numbers_are_written_as_a_reader_writes_them(value: float, text: str) -> None:
    assert number(value) == text


def test_powers_of_ten_are_superscript() -> None:
    assert [power_of_ten(e) for e in (-120, -1, 0, 1, 2)] == ["10⁻¹²⁰", "10⁻¹", "1", "10", "10²"]


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_printed_decimals_are_on_the_side_that_keeps_them_true(number):
    assert Fraction(decimal_below(number)) <= number <= Fraction(decimal_above(number))
    assert Fraction(decimal_above(number)) <= number * Fraction(1011, 1000)


@given(FLOATS, st.floats(min_value=0, max_value=1e300), st.integers(1, 12))
def test_decimals_of_a_ball_are_beyond_its_ends(middle: float, radius: float, digits: int) -> None:
    ball = arb(middle, radius)
    below, above = Fraction(decimal_below(ball, digits)), Fraction(decimal_above(ball, digits))
    assert below <= Fraction(middle) - Fraction(radius) and Fraction(middle) + Fraction(radius) <= above


def test_an_exact_ball_is_printed_as_the_number_it_is_and_an_unknown_one_as_no_bound() -> None:
    assert (decimal_below(arb(0.25)), decimal_above(arb(-0.375))) == ("0.25", "-0.375")
    assert (decimal_below(arb("nan")), decimal_above(arb("nan"))) == ("-infinity", "infinity")


def test_numbers_beyond_float64_are_printed_too() -> None:
    assert (decimal_below(10**400), decimal_above(Fraction(10**400, 3))) == ("1e+400", "3.334e+399")
