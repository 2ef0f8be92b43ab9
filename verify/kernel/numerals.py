"""Read exact numbers as certificates write them, and round decimals for sentences so that these stay true.

Page: docs/rigour/kernel.md
"""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from verify.kernel.verdicts import BadInputError

Number = int | float | Fraction

_LARGEST_BITS = 4096
_LARGEST_COUNT = 2**_LARGEST_BITS - 1
_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")
_RATIONAL = re.compile(r"[0-9]{1,1300}/[1-9][0-9]{0,1299}")


def read_number(file: str, field: str, value: Any) -> Number:
    """Read a number >= 0: an integer, a hexadecimal float, or a rational `p/q` in lowest terms."""
    if type(value) is int and 0 <= value < 2**_LARGEST_BITS:
        return value
    if isinstance(value, str) and _FLOAT.fullmatch(value):
        try:
            number = float.fromhex(value)
        except OverflowError:
            number = math.inf
        if 0.0 <= number < math.inf and number.hex() == value:
            return number
    if isinstance(value, str) and _RATIONAL.fullmatch(value):
        number = Fraction(value)
        short = max(number.numerator, number.denominator).bit_length() <= _LARGEST_BITS
        if short and value == f"{number.numerator}/{number.denominator}":
            return number
    raise BadInputError(file, field, f"is {str(value)[:60]!r}, expected an exact number of at least 0 in its one form")


def read_count(file: str, field: str, value: Any, most: int = _LARGEST_COUNT) -> int:
    """Return an integer from 0 to `most`, written as an integer."""
    if type(value) is not int or not 0 <= value <= most:
        largest = most if most < 2**64 else f"2^{most.bit_length()} - 1"
        raise BadInputError(file, field, f"is {str(value)[:60]!r}, expected an integer from 0 to {largest}")
    return value


def decimal_below(value: Number, digits: int = 4) -> str:
    """Return a few significant digits, rounded down."""
    return _decimal(value, ROUND_FLOOR, digits)


def decimal_above(value: Number, digits: int = 4) -> str:
    """Return a few significant digits, rounded up."""
    return _decimal(value, ROUND_CEILING, digits)


def _decimal(value: Number, rounding: str, digits: int) -> str:
    exact = Fraction(value)
    quotient = Context(prec=digits, rounding=rounding).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{quotient.normalize():e}" if abs(quotient.adjusted()) > 4 else f"{quotient:f}"


def counted(count: int, noun: str) -> str:
    """Return a count and what is counted: one context, two contexts."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
