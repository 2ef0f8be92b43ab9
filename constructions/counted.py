"""Format counts with their nouns for messages and headlines.

Page: docs/commands.md
"""

from fractions import Fraction


def counted(count: float | Fraction, noun: str) -> str:
    """Return a count and what is counted: one head, two heads.

    Args:
        count: How many there are.
        noun: One of them; more than one have an s.

    Returns:
        Both, with the noun in the singular for 1 only.

    Example:
        >>> counted(1, "head"), counted(2, "pair of heads"), counted(1000, "context")
        ('1 head', '2 pairs of heads', '1,000 contexts')
    """
    number = str(count) if isinstance(count, Fraction) else f"{count:,}"
    return f"{number} {inflected(noun, count)}"


def inflected(noun: str, count: float | Fraction) -> str:
    """Return the noun that goes with a count, as in "3 of 3 contexts"."""
    named, of, rest = noun.partition(" of ")
    return noun if count == 1 else f"{named}s{of}{rest}"
