"""What a word of the command line may be: a count, a bound, a share, a path, a parameter."""

import argparse
from fractions import Fraction
from pathlib import Path

LARGEST_COUNT = 10**9


def count(text: str) -> int:
    """Return an integer of at most `LARGEST_COUNT` in absolute value."""
    try:
        number = int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from error
    if abs(number) > LARGEST_COUNT:
        raise argparse.ArgumentTypeError(f"{text} is too large, expected at most {LARGEST_COUNT}")
    return number


def bound(text: str) -> float:
    """Return a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a bound, expected a number above 0")
    return number


def path(text: str) -> Path:
    """Return a path that is not empty."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty, expected a file or a folder")
    return Path(text)


def parameter(text: str) -> tuple[str, int | Fraction]:
    """NAME=VALUE, an integer, or the exact fraction of a decimal or a quotient."""
    name, separator, value = text.partition("=")
    try:
        if not name or not separator:
            raise ValueError
        try:
            return name, count(value)
        except argparse.ArgumentTypeError:
            if set(value) - set("0123456789./-+") or len(value) > 40 or value.lstrip("+-").isdigit():
                raise ValueError from None
            return name, Fraction(value)
    except (ValueError, ZeroDivisionError) as error:
        expected = f"NAME=NUMBER: an integer of at most {LARGEST_COUNT}, a decimal or a quotient, without an exponent"
        raise argparse.ArgumentTypeError(f"{text!r} is not a parameter, expected {expected}") from error


def share(text: str) -> Fraction:
    """Return an exact fraction, of a decimal or of a quotient."""
    try:
        if len(text) > 40 or "e" in text.lower():  # a decimal exponent makes a fraction that fills the memory
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, expected a share in (0, 1]") from error
