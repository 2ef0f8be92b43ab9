r"""Numbers below $2^{m c}$ whose digits of c bits name objects, read by folds: one neuron with a skip connection a bit.

Page: docs/claims/object_words.md
"""

from typing import NamedTuple

import numpy as np

from constructions.model.blocks import FeedForward
from constructions.numeric.arrays import Float64Array, Int64Array


class Digits(NamedTuple):
    r"""How objects are written as digits of a word, and read again.

    Args:
        objects: K, how many there are.
        bits: c of a digit; $B = 2^c$.
        places: m, digits of a word.
        centred: Whether the last block takes B / 2 away, one entry, so that logits round less.
    """

    objects: int
    bits: int
    places: int
    centred: bool

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

    def fit(self, precision: int) -> bool:
        r"""Whether folds and readout name the object in every run with so many bits: Theorem OW1.

        With one digit z and x are integers; products and shifts are exact, and so is the largest logit, its own:
        sums that are rounded stay below it. With more, the margin $a / B$ is above what two logits round: five
        times $2^{-p}$ of a product and a shift, $L^2 / 2 + L^2 / 4$ or $B L + 3 B L / 4$, and the shift as stored.
        """
        B, a, L = self.base, self.spare, self.objects + 1  # |x| and |z| are at most L / 2
        if self.places == 1:
            return a >= 0 and (L**2 <= 2 ** (precision + 2) if self.centred else B * L <= 2**precision)
        rounded = 8 * L**2 if self.centred else 20 * B * L
        words = max(self.bits * self.places, 2 * self.bits + 2) <= precision
        return a >= 1 and words and a * 2**precision > rounded * B

    def words(self, objects: Int64Array) -> Float64Array:
        r"""Return the words that these are written in, lowest place first; a digit below an odd one is reflected.

        A fold at $B^{i + 1}$ reflects what is below it exactly where the digit above is odd.

        Args:
            objects: Numbers below K, or -1 for none, `[rows, m]`.

        Returns:
            Positive integers below $M (1 - a / B)$, `[rows]`.

        Example:
            >>> Digits(objects=6, bits=3, places=2, centred=False).words(np.array([[0, 5], [0, 4], [-1, -1]]))
            array([49., 47., 36.])
        """
        word, above = np.zeros(len(objects)), np.zeros(len(objects), dtype=np.int64)
        for place in reversed(range(self.places)):
            digit = np.where(objects[:, place] < 0, self.base // 2, objects[:, place] + self.spare)
            about = self.base - min(place, 1)  # nothing is below the lowest digit
            above = np.where(above % 2 == 0, digit, about - digit)
            word += above * float(self.base) ** place
        return word

    def folds(self) -> list[FeedForward]:
        r"""$v - 2 (v - 2^k)_+$ for the bits k of all digits but the lowest, the highest first; the last one centres."""
        one = np.ones((1, 1))
        bits = reversed(range(self.bits + 1, self.bits * self.places))
        above = [FeedForward(one, -2.0 * one, np.array([-(2.0**bit)])) for bit in bits]
        return [*above, FeedForward(one, -2.0 * one, np.array([-float(self.base)]), self.middle)]

    @property
    def fold_entries(self) -> int:
        """Entries of the folds."""
        return 3 * self.bits * (self.places - 1) + self.centred

    @property
    def middle(self) -> Float64Array | None:
        """What the last block before the readout adds."""
        return np.array([-self.base / 2.0]) if self.centred else None

    def readout(self, answers: Int64Array, outputs: int) -> tuple[Float64Array, Float64Array]:
        r"""Return the parabola $2 x z - x^2$ with x the centre of the cell of an object less B / 2: W_U and b_U.

        The cell of one digit is that integer; of several a digit and a fraction of $a / B$ to $1 - a / B$ below it, or,
        of the lowest place, none.

        Args:
            answers: Which output each object is, `[K]`.
            outputs: How many there are; the others have logits below all of these.
        """
        cell = 0.5 - self.spare / (2.0 * self.base) if self.places > 1 else 0.0
        x = np.arange(self.objects) + (self.spare - self.base // 2 + cell)
        W_U, b_U = np.zeros((1, outputs)), np.full(outputs, -float(self.base))
        W_U[0, answers] = 2.0 * x
        b_U[answers] = -(x**2) - (0.0 if self.centred else self.base * x)
        return W_U, b_U


def digit_bits(objects: int, places: int) -> int:
    r"""Return the fewest bits c of a digit: two values of several digits stay free.

    Example:
        >>> digit_bits(60, 3), digit_bits(63, 3), digit_bits(64, 1)
        (6, 7, 6)
    """
    return max(1, (objects - 1).bit_length()) if places == 1 else max(2, (objects + 1).bit_length())
