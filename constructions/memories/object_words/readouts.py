"""Decode the number left by the folds, a + o and perhaps a fraction, into the object o: parabolas $2 x z - x^2$.

Of many objects the sums of one parabola need more bits than a run has, or round by more than the lead. Then neurons
split the number in two of half as many bits, and there are two parabolas.

Page: docs/claims/object_words.md
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from constructions.memories.object_words.digits import Digits
from constructions.model.blocks import Block, FeedForward
from constructions.numeric.arrays import Float64Array, Int64Array


@dataclass(frozen=True)
class Readout(ABC):
    """The blocks and the unembedding after the folds.

    Args:
        digits: The digits of the objects.
    """

    digits: Digits

    @property
    @abstractmethod
    def columns(self) -> int:
        """Number of columns of the stream that are read."""

    @property
    def shift(self) -> Float64Array | None:
        """Shift that the last preceding block adds."""
        return None

    @property
    @abstractmethod
    def entries(self) -> int:
        """Entries that it adds to the blocks."""

    @abstractmethod
    def fit(self, precision: int) -> bool:
        """Tell whether every run with this many bits names the object: Theorem OW1."""

    @abstractmethod
    def blocks(self) -> list[Block]:
        """Return the blocks from the one column left by the folds to the columns that are read."""

    @abstractmethod
    def centres(self) -> Float64Array:
        """Return x for each object, `[K, columns]`."""

    @property
    @abstractmethod
    def lift(self) -> float:
        """Constant added to all logits, which keeps sums of either sign small."""

    @property
    @abstractmethod
    def shifted(self) -> float:
        """Offset of the columns above z."""

    def unembedding(self, answers: Int64Array, outputs: int) -> tuple[Float64Array, Float64Array]:
        """Return W_U and b_U: the parabolas of the objects; all other outputs are 1 below their least value.

        Args:
            answers: Which output each object is, `[K]`.
            outputs: How many there are.
        """
        x = self.centres()
        W_U, b_U = np.zeros((self.columns, outputs)), np.full(outputs, self.lift - 1.0)
        W_U[:, answers] = 2.0 * x.T
        b_U[answers] = self.lift - (x**2).sum(axis=1) - 2.0 * self.shifted * x.sum(axis=1)
        return W_U, b_U


@dataclass(frozen=True)
class OneColumn(Readout):
    """One parabola.

    Args:
        digits: The digits of the objects.
        centred: Whether the last block takes B / 2 away, one entry, so that logits round less.
    """

    centred: bool

    @property
    def columns(self) -> int:
        return 1

    @property
    def shift(self) -> Float64Array | None:
        return np.array([-self.digits.base / 2.0]) if self.centred else None

    @property
    def entries(self) -> int:
        return int(self.centred)

    @property
    def lift(self) -> float:
        return float(((self.digits.objects + 1) // 2) ** 2) if self.centred else 0.0

    @property
    def shifted(self) -> float:
        return 0.0 if self.centred else self.digits.base / 2.0

    def fit(self, precision: int) -> bool:
        """Tell whether the margin exceeds the rounding of two logits.

        With one digit all numbers are integers, and sums of terms of one sign at most $L^2 / 2$, or $B L$. With more,
        the margin is $a / B$, and two logits round by five times $2^{-p}$ of a product and a shift, $L^2 / 2 + L^2 / 4$
        or $B L + 3 B L / 4$, and the shift as it is stored.
        """
        B, a, L = self.digits.base, self.digits.spare, self.digits.objects + 1  # |x| and |z| are at most L / 2
        if self.digits.places == 1:
            return (L**2 / 2.0 if self.centred else B * L) <= 2**precision
        rounded = 8 * L**2 if self.centred else 20 * B * L
        return 2 * self.digits.bits + 2 <= precision and a * 2**precision > rounded * B

    def blocks(self) -> list[Block]:
        return []

    def centres(self) -> Float64Array:
        first = self.digits.first - self.digits.base / 2.0
        return np.arange(self.digits.objects, dtype=np.float64)[:, None] + first


@dataclass(frozen=True)
class TwoColumns(Readout):
    r"""Two parabolas, for the bits of a one-digit number above $\ell$ and for those below.

    Two blocks a bit: $t = (2^k - v)_+$ is 0 if the integer v has it, else 1 at least, so that $(1 - t)_+$ is that bit.
    It is taken from v and added to the bits above. No term is larger than the numbers are.

    Args:
        digits: How the objects are written, in one digit.
        high: How many bits are above.
    """

    high: int

    @property
    def low(self) -> int:
        r"""$\ell$."""
        return self.digits.bits - self.high

    @property
    def columns(self) -> int:
        return 2

    @property
    def entries(self) -> int:
        return 30 + 21 * (self.high - 1)

    @property
    def middles(self) -> Float64Array:
        """Midpoints of the two columns, `[2]`."""
        return np.array([2.0 ** (self.low - 1), 2.0 ** (self.high - 1)])

    @property
    def lift(self) -> float:
        return float((self.middles**2).sum())

    @property
    def shifted(self) -> float:
        return 0.0

    def fit(self, precision: int) -> bool:
        """Tell whether sums of terms of one sign fit into the bits: two products, and a nonnegative shift."""
        return self.digits.places == 1 and 2.0 * self.lift <= 2.0**precision

    def blocks(self) -> list[Block]:
        blocks = []
        for bit in reversed(range(self.low, self.digits.bits)):
            first, last = bit == self.digits.bits - 1, bit == self.low
            blocks += [self._missing(bit, first=first), self._moved(bit, last=last)]
        return blocks

    def _missing(self, bit: int, *, first: bool) -> FeedForward:
        """Return $t$ next to v and the bits above; the first column holds v only."""
        shift = np.array([2.0**bit])
        if not first:
            return FeedForward(-np.eye(3, 1), np.eye(3)[[2]], shift)
        return FeedForward(np.array([[1.0, -1.0]]), np.eye(3)[[0, 2]], np.append(0.0, shift), skip=False)

    def _moved(self, bit: int, *, last: bool) -> FeedForward:
        """Return v without the bit, the bits above with it, and no t; `last` both centred."""
        taken, eye = [-(2.0**bit), 2.0 ** (bit - self.low)], np.eye(3)
        if not last:
            clear = np.array([[*taken, 0.0], [0.0, 0.0, -1.0]])
            return FeedForward(eye[:, [2, 2]] * [-1.0, 1.0], clear, np.array([1.0, 0.0]))
        return FeedForward(eye * [1.0, 1.0, -1.0], np.array([*np.eye(2), taken]), eye[2], -self.middles, skip=False)

    def centres(self) -> Float64Array:
        number = np.arange(self.digits.objects) + self.digits.spare
        split = np.stack([number % 2**self.low, number // 2**self.low], axis=1).astype(np.float64)
        return split - self.middles
