"""Numbers below $2^{m c}$ whose digits of c bits name objects, decoded by folds: one neuron with a skip connection per
bit.

Page: docs/claims/object_words.md
"""

from typing import NamedTuple

import numpy as np

from constructions.model.blocks import FeedForward
from constructions.numeric.arrays import Float64Array, Int64Array


class Digits(NamedTuple):
    """The encoding of objects as digits of a word, and its decoding.

    Args:
        objects: K, how many there are.
        bits: c of a digit; $B = 2^c$.
        places: m, digits of a word.
    """

    objects: int
    bits: int
    places: int

    @property
    def base(self) -> int:
        """B."""
        return 2**self.bits

    @property
    def top(self) -> float:
        r"""$M = B^m$, above every word."""
        return float(2 ** (self.bits * self.places))

    @property
    def spare(self) -> int:
        r"""$a = \lfloor (B - K) / 2 \rfloor$: the objects are the digits a .. a + K - 1."""
        return (self.base - self.objects) // 2

    @property
    def first(self) -> float:
        """Midpoint of the cell of the first object. With one digit it is an integer. With several it is a digit plus a
        fraction in [a / B, 1 - a / B], or a digit without fraction at the lowest place.
        """
        return self.spare + (0.5 - self.spare / (2.0 * self.base) if self.places > 1 else 0.0)

    def fit(self, precision: int) -> bool:
        """Tell whether the objects and the words fit into a number of bits: Theorem OW1."""
        return self.spare >= min(1, self.places - 1) and self.bits * self.places <= precision

    def words(self, objects: Int64Array) -> Float64Array:
        """Return the words of these digits, lowest place first; a digit below an odd one is reflected.

        A fold at $B^{i + 1}$ reflects what is below it exactly where the digit above is odd.

        Args:
            objects: Numbers below K, or -1 for none, `[rows, m]`.

        Returns:
            Positive integers below $M (1 - a / B)$, `[rows]`.

        Example:
            >>> Digits(objects=6, bits=3, places=2).words(np.array([[0, 5], [0, 4], [-1, -1]]))
            array([49., 47., 36.])
        """
        word, above = np.zeros(len(objects)), np.zeros(len(objects), dtype=np.int64)
        for place in reversed(range(self.places)):
            digit = np.where(objects[:, place] < 0, self.base // 2, objects[:, place] + self.spare)
            about = self.base - min(place, 1)  # nothing is below the lowest digit
            above = np.where(above % 2 == 0, digit, about - digit)
            word += above * float(self.base) ** place
        return word

    def folds(self, shift: Float64Array | None) -> list[FeedForward]:
        r"""Return $v - 2 (v - 2^k)_+$ for the bits k of all digits but the lowest, the highest first.

        Args:
            shift: What the last one adds, `[1]`, or none.
        """
        one, lowest = np.ones((1, 1)), self.bits
        bits = reversed(range(lowest, self.bits * self.places))
        return [FeedForward(one, -2.0 * one, np.array([-(2.0**bit)]), shift if bit == lowest else None) for bit in bits]

    @property
    def fold_entries(self) -> int:
        """Entries of the folds."""
        return 3 * self.bits * (self.places - 1)


def digit_bits(objects: int, places: int) -> int:
    r"""Return the fewest bits c of a digit: two values of several digits stay free.

    Example:
        >>> digit_bits(60, 3), digit_bits(63, 3), digit_bits(64, 1)
        (6, 7, 6)
    """
    return max(1, (objects - 1).bit_length()) if places == 1 else max(2, (objects + 1).bit_length())
