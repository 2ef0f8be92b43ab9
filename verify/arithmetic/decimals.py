"""Numbers for a reader, in a few digits and rounded in the direction that keeps the sentence true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from flint import arb

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimal_below(value: int | float | Fraction | arb, digits: int = 4) -> str:
    """Round down to a few significant digits, for printing a lower bound; a ball is replaced by its lower end.

    Example:
        >>> decimal_below(0.123456), decimal_below(Fraction(2, 3))
        ('0.1234', '0.6666')
    """
    return _decimal(_end(value.lower(), -math.inf) if isinstance(value, arb) else value, ROUND_FLOOR, digits)


def decimal_above(value: int | float | Fraction | arb, digits: int = 4) -> str:
    """Round up to a few significant digits, for printing an upper bound; a ball is replaced by its upper end.

    Example:
        >>> decimal_above(0.123456), decimal_above(1e-14)
        ('0.1235', '1e-14')
    """
    return _decimal(_end(value.upper(), math.inf) if isinstance(value, arb) else value, ROUND_CEILING, digits)


def _end(exact: arb, unknown: float) -> float | Fraction:
    """Return an end of a ball as the dyadic number it is."""
    if not exact.is_finite():
        return unknown
    mantissa, exponent = map(int, exact.man_exp())
    return mantissa * Fraction(2) ** exponent


def _decimal(value: int | float | Fraction, rounding: str, digits: int) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    exact = Fraction(value)
    quotient = Context(prec=digits, rounding=rounding).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{quotient.normalize():e}" if abs(quotient.adjusted()) > 4 else f"{quotient:f}"


def power_of_ten(exponent: int) -> str:
    """Return the power of ten as a reader writes it.

    Example:
        >>> power_of_ten(-12), power_of_ten(0)
        ('10⁻¹²', '1')
    """
    return "1" if exponent == 0 else "10" if exponent == 1 else "10" + str(exponent).translate(_SUPERSCRIPTS)


def number(value: float, *, digits: int = 3, bound: str = "") -> str:
    """Return a number for a reader, rounded in the direction that keeps it true.

    Args:
        value: The number.
        digits: Significant digits.
        bound: ``"upper"`` rounds up, ``"lower"`` rounds down, otherwise to nearest.

    Returns:
        The text.

    Example:
        >>> number(1.2341e-13, bound="upper"), number(0.99999, bound="lower"), number(1234567), number(0.0)
        ('1.24 × 10⁻¹³', '0.999', '1.23 × 10⁶', '0')
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    exact = Decimal(value)
    rounding = {"upper": ROUND_CEILING, "lower": ROUND_FLOOR}.get(bound, ROUND_HALF_EVEN)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding)
    exponent = rounded.adjusted()
    if -3 <= exponent < 6 and (exponent < digits or rounded == rounded.to_integral_value() == exact):
        text = f"{rounded.normalize():f}"
    else:
        text = f"{rounded.scaleb(-exponent).normalize():f} × {power_of_ten(exponent)}"
    return text.replace("-", "−")
