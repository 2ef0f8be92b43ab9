"""Write the numbers and fields of a certificate as exact text in one canonical form.

Page: docs/rigour/certificate.md
"""

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from constructions.errors import FileFormatError, InputError

Number = int | float | Fraction

_LARGEST_TEXT = 2**12  # characters
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RATIONAL = re.compile(r"-?[0-9]{1,1300}/[1-9][0-9]{0,1299}")
_HEXADECIMAL_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-][0-9]+")


def encode_number(value: Number) -> int | str:
    """Encode a number as text: integers in decimal, floats in hexadecimal, fractions as ``p/q``.

    Args:
        value: The number, finite.

    Example:
        >>> encode_number(3), encode_number(0.5), encode_number(Fraction(1, 3))
        (3, '0x1.0000000000000p-1', '1/3')
    """
    if isinstance(value, int):
        return value
    return value.hex() if isinstance(value, float) else f"{value.numerator}/{value.denominator}"


def decode_number(name: str, value: object) -> Number:
    """Return the number that `encode_number` wrote.

    Args:
        name: Where it stands, for the message.
        value: What stands there.

    Raises:
        FileFormatError: It is no such text.

    Example:
        >>> decode_number("bound", "0x1.8p+0")
        1.5
    """
    if type(value) is int:
        return value
    if isinstance(value, str) and _HEXADECIMAL_FLOAT.fullmatch(value):
        try:
            return float.fromhex(value)
        except OverflowError:
            raise FileFormatError(f"{name} is {value!r}, beyond the range of float64") from None
    if isinstance(value, str) and _RATIONAL.fullmatch(value):
        return Fraction(value)
    raise FileFormatError(f"{name} is {value!r}, expected an integer, a hexadecimal float or a rational 'p/q'")


def parse_object(name: str, text: str) -> dict[str, Any]:
    """Return a JSON object without floating-point numbers, the decimal form of which need not be exact.

    Args:
        name: What the text is, for the message.
        text: The JSON text.

    Raises:
        FileFormatError: It is not JSON, not an object, or holds such a number.

    Example:
        >>> parse_object("the certificate", '{"a": 1}')
        {'a': 1}
    """

    def refuse(number: str) -> float:
        raise FileFormatError(f"{name} holds the number {number}, expected integers and exact numbers as texts")

    try:
        data = json.loads(text, parse_float=refuse, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{name} is not JSON: {error}") from error
    return expect(name, data, dict)


def expect(name: str, value: Any, kind: type) -> Any:
    """Return `value` if it has exactly that type; otherwise raise.

    Raises:
        FileFormatError: It is not.
    """
    if type(value) is not kind:
        raise FileFormatError(f"{name} is a {type(value).__name__}, expected a {kind.__name__}")
    return value


def expect_fields(name: str, value: Any, fields: set[str]) -> None:
    """Require that `value` is an object with these fields and no other.

    Raises:
        FileFormatError: It is not.
    """
    if set(expect(name, value, dict)) != fields:
        raise FileFormatError(f"{name} has the fields {sorted(value)}, expected {sorted(fields)}")


def require_sha256(name: str, value: object) -> None:
    """Raise `InputError` unless `value` is a hash of 256 bits in lower-case hexadecimal."""
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise InputError(name, f"is {value!r}", "64 hexadecimal digits")


def require_text(name: str, value: object) -> None:
    """Raise `InputError` unless `value` is a text of at most 4096 characters."""
    if not isinstance(value, str) or len(value) > _LARGEST_TEXT:
        raise InputError(name, f"is {str(value)[:40]!r}", f"a text of at most {_LARGEST_TEXT} characters")


BOUND_BITS = 24
"""Significant bits of a bound that is stored."""


def raised(bound: float, slack: float) -> float:
    """Return a float64 of few bits that is at least `bound` by a relative `slack`; for finite bounds >= 0.

    Two machines round differently: what is stored with slack follows from a proof on the other machine, too.

    Example:
        >>> raised(1.0, 0.25)
        1.25
    """
    return _few_bits(bound * (1.0 + slack), math.ceil)


def lowered(bound: float, slack: float) -> float:
    """Return a float64 of few bits that is at most `bound` by a relative `slack`; for finite bounds >= 0.

    Example:
        >>> lowered(1.0, 0.25)
        0.75
    """
    return _few_bits(bound * (1.0 - slack), math.floor)


def _few_bits(bound: float, rounding: Callable[[float], int]) -> float:
    mantissa, exponent = math.frexp(bound)
    return math.ldexp(rounding(math.ldexp(mantissa, BOUND_BITS)), exponent - BOUND_BITS)
