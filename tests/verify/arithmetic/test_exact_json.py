"""Exact numbers as text, and bounds with slack."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, InputError
from verify.arithmetic.exact_json import (
    BOUND_BITS,
    decode_number,
    encode_number,
    expect,
    expect_fields,
    lowered,
    parse_object,
    raised,
    require_sha256,
    require_text,
)

NUMBERS = st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False), st.fractions())


@given(NUMBERS)
def test_a_number_comes_back_with_its_type(number):
    again = decode_number("x", encode_number(number))
    assert again == number and type(again) is type(number)


@pytest.mark.parametrize("text", ["0.5", "inf", "nan", "1/0", "0x1p99999", "1/-2", "", None, 0.5, True, [1]])
def test_other_texts_are_refused(text):
    with pytest.raises(FileFormatError, match="bound"):
        decode_number("bound", text)


@given(st.floats(1e-300, 1e300), st.sampled_from([2.0**-10, 2.0**-2]))
def test_stored_bounds_give_the_slack_away_and_no_more(bound, slack):
    assert bound * (1 + slack / 2) <= raised(bound, slack) <= bound * (1 + slack) * (1 + 2.0**-10)
    assert bound * (1 - slack) * (1 - 2.0**-10) <= lowered(bound, slack) <= bound * (1 - slack / 2)
    for stored in (raised(bound, slack), lowered(bound, slack)):
        mantissa, _ = math.frexp(stored)
        assert (mantissa * 2**BOUND_BITS).is_integer()


def test_zero_stays_zero():
    assert raised(0.0, 0.25) == lowered(0.0, 0.25) == 0.0


@pytest.mark.parametrize("text", ["[1]", '{"a": 1.5}', '{"a": NaN}', "{", "", "[" * 100_000])
def test_texts_that_are_no_objects_of_exact_numbers_are_refused(text):
    with pytest.raises(FileFormatError, match="the file"):
        parse_object("the file", text)


def test_fields_and_types_are_those_expected():
    assert expect("x", 1, int) == 1
    with pytest.raises(FileFormatError, match="x is a bool"):
        expect("x", True, int)
    expect_fields("x", {"a": 1}, {"a"})
    for value in ({}, {"a": 1, "b": 2}, []):
        with pytest.raises(FileFormatError, match="x"):
            expect_fields("x", value, {"a"})


def test_hashes_and_texts_are_what_they_should_be():
    require_sha256("h", "0" * 64)
    require_text("t", "a")
    for bad in ("0" * 63, "G" * 64, None):
        with pytest.raises(InputError, match="h"):
            require_sha256("h", bad)
    for bad in ("a" * 5000, 1):
        with pytest.raises(InputError, match="t"):
            require_text("t", bad)
