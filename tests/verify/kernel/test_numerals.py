"""Numbers have one form, and decimals are rounded so that the sentence stays true."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.arithmetic import decimals
from verify.arithmetic.exact_json import encode_number
from verify.kernel.numerals import counted, decimal_above, decimal_below, read_count, read_number
from verify.kernel.verdicts import BadInputError

NUMBERS = (
    st.integers(0, 2**63)
    | st.floats(0, allow_infinity=False, allow_nan=False)
    | st.fractions(0).filter(lambda x: x.denominator > 1)
)


@given(NUMBERS)
def test_a_number_is_read_as_it_was_written(number: int | float | Fraction) -> None:
    assert read_number("a", "b", encode_number(number)) == number


@given(NUMBERS, st.integers(1, 9))
def test_decimals_are_on_the_side_that_is_true(number: int | float | Fraction, digits: int) -> None:
    assert Fraction(decimal_below(number, digits)) <= number <= Fraction(decimal_above(number, digits))
    assert decimal_below(number, digits) == decimals.decimal_below(number, digits)
    assert decimal_above(number, digits) == decimals.decimal_above(number, digits)


LONG_FLOAT, LONG_RATIONAL = "0x1.0000000000000p+9999", f"{2**4097}/3"
FORMS = (-1, True, 1.5, None, [], "1", "0x1p0", "0x1.8p+0", "-0x1.8000000000000p+0", LONG_FLOAT, LONG_RATIONAL)
RATIONALS = ("2/4", "1/0", "1/01", "-1/2", "nan", "inf", "1e3", "٣/٤")


@pytest.mark.parametrize("value", [*FORMS, *RATIONALS])
def test_other_forms_are_refused(value: object) -> None:
    with pytest.raises(BadInputError, match="a: b"):
        read_number("a", "b", value)


def test_counts_are_integers_up_to_a_limit() -> None:
    assert read_count("a", "b", 3, 3) == 3
    for value in (4, -1, True, "3", 3.0):
        with pytest.raises(BadInputError):
            read_count("a", "b", value, 3)
    assert [counted(1, "text"), counted(2, "text")] == ["1 text", "2 texts"]
