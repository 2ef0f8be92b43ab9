"""Ends of balls as float64 numbers on the safe side, and exact numbers as balls.

Page: docs/rigour/certificate.md
"""

import math
import sys
from fractions import Fraction

from flint import arb

from verify.arithmetic.exact_json import Number
from verify.arithmetic.integers import power_of_two

_LARGEST_EXPONENT = 1100  # beyond it float64 has no number


def ball(value: Number) -> arb:
    """A ball that holds the number."""
    exact = Fraction(value)
    return arb(exact.numerator) / arb(exact.denominator)


def outward(value: Fraction | arb, direction: int) -> float:
    """A float64, or an infinity, at or beyond `value` (an exact ball or a fraction) in the direction -1 or 1."""
    if isinstance(value, arb):
        mantissa, exponent = map(int, value.man_exp())
        size = mantissa.bit_length() + exponent
        if mantissa and abs(size) > _LARGEST_EXPONENT:  # its power of two might not fit into memory
            beyond = (mantissa > 0) == (direction > 0)
            magnitude = (math.inf if beyond else sys.float_info.max) if size > 0 else (5e-324 if beyond else 0.0)
            return magnitude if mantissa > 0 else -magnitude
        value = mantissa * power_of_two(exponent)
    try:
        nearest = float(value)
    except OverflowError:
        nearest = sys.float_info.max if value > 0 else -sys.float_info.max
    return nearest if (Fraction(nearest) - value) * direction >= 0 else math.nextafter(nearest, direction * math.inf)
