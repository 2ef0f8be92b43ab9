r"""Tables whose relations have objects of several kinds, as cities, currencies, continents: digits of their own bits.

A kind is numbered by itself, so a relation's digit needs the bits of its kind alone. Relations of which no subject has
two share a digit.

Page: docs/claims/object_words.md
"""

import math
from typing import NamedTuple

import numpy as np

from constructions.memories.object_words.digits import digit_bits
from constructions.numeric.arrays import Float64Array, Int64Array


class Kinds(NamedTuple):
    """The finest partition of objects of which each relation's lie in one part, and how a part is written.

    Args:
        of_relation: Which kind, `[R]`.
        of_object: Which kind, `[K]`.
        number: Number of each object in its kind, `[K]`.
        sizes: How many objects a kind has, `[q]`.
        bits: Bits of a digit of each kind, `[q]`.
    """

    of_relation: Int64Array
    of_object: Int64Array
    number: Int64Array
    sizes: Int64Array
    bits: Int64Array

    @classmethod
    def of(cls, table: Int64Array, objects: int) -> "Kinds":
        """Return those of a table, -1 for a hole, `[S, R]`, with the fewest bits."""
        least = np.arange(objects)  # an object of the same kind, in the end the first one
        found = [np.unique(column[column >= 0]) for column in table.T]
        changed = True
        while changed:
            before = least.copy()
            for own in found:
                least[own] = least[own].min()
            least = least[least]
            changed = bool((before != least).any())
        first, of_object = np.unique(least, return_inverse=True)
        sizes = np.bincount(of_object, minlength=len(first))
        order = np.argsort(of_object, kind="stable")
        number = np.empty(objects, dtype=np.int64)
        number[order] = np.arange(objects) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        of_relation = np.array([of_object[own[0]] for own in found])
        return cls(of_relation, of_object, number, sizes, np.array([digit_bits(int(size), 2) for size in sizes]))

    @property
    def cell(self) -> Float64Array:
        r"""$\delta = 2^{C - c}$, how far apart objects of a kind are behind the folds, `[q]`."""
        return 2.0 ** (self.bits.max() - self.bits)

    @property
    def spare(self) -> Int64Array:
        r"""$a = \lfloor (2^c - K) / 2 \rfloor$, `[q]`: the objects are the digits a .. a + K - 1."""
        return (2**self.bits - self.sizes) // 2

    @property
    def lead(self) -> float:
        r"""$\varepsilon$, the least $a / 2^c$."""
        return float((self.spare / 2.0**self.bits).min())

    def middles(self, kind: int) -> Float64Array:
        r"""Return the middles of the cells of a kind behind the folds, $\delta (a + o + (1 - \varepsilon) / 2)$."""
        return self.cell[kind] * (self.spare[kind] + np.arange(self.sizes[kind]) + (1.0 - self.lead) / 2.0)


class Slots(NamedTuple):
    """Where the digits of relations are in a row of words.

    Args:
        of_relation: Which slot, `[R]`.
        bits: Bits of a slot's digit, `[slots]`.
        word: Which word has it, `[slots]`.
        place: Which digit of the word, the lowest first, `[slots]`.
        below: Bits of the word below it, `[slots]`.
    """

    of_relation: Int64Array
    bits: Int64Array
    word: Int64Array
    place: Int64Array
    below: Int64Array

    @classmethod
    def of(cls, bits: Int64Array, digit: Int64Array, room: int) -> "Slots":
        """Put digits into the first words that have room, the longest first.

        Args:
            bits: Bits of each digit, `[digits]`.
            digit: The digit of each relation, `[R]`.
            room: Bits of a word, at least those of the longest digit.
        """
        word, place, below = np.zeros((3, len(bits)), dtype=np.int64)
        used: list[int] = []  # bits of the words
        digits: list[int] = []
        for slot in np.argsort(-bits, kind="stable"):
            own = next((g for g, full in enumerate(used) if full + bits[slot] <= room), len(used))
            if own == len(used):
                used.append(0)
                digits.append(0)
            word[slot], place[slot], below[slot] = own, digits[own], used[own]
            used[own] += int(bits[slot])
            digits[own] += 1
        return cls(digit, bits, word, place, below)

    @property
    def words(self) -> int:
        """G."""
        return int(self.word.max()) + 1

    @property
    def places(self) -> int:
        """m, the most digits of a word."""
        return int(self.place.max()) + 1

    @property
    def top(self) -> int:
        """Bits of the longest word."""
        return int((self.below + self.bits).max())

    @property
    def above(self) -> int:
        """The most bits that a word has above a digit: so many folds there are."""
        full = np.zeros(self.words, dtype=np.int64)
        np.maximum.at(full, self.word, self.below + self.bits)
        return int((full[self.word] - self.below - self.bits).max())


def shared_digits(table: Int64Array, bits: Int64Array) -> Int64Array:
    """Return a digit for each relation; one is shared by relations of as many bits of which no subject has two, `[R]`.

    Each relation takes the first digit that is free of its subjects.

    Args:
        table: Objects, -1 for a hole, `[S, R]`.
        bits: Bits of each relation, `[R]`.
    """
    has = table >= 0
    digit = np.zeros(len(bits), dtype=np.int64)
    taken: list[tuple[int, np.ndarray]] = []  # bits, and the subjects that have it
    for relation in np.argsort(-has.sum(axis=0), kind="stable"):
        own = has[:, relation]
        free = (i for i, (c, by) in enumerate(taken) if c == bits[relation] and not (by & own).any())
        digit[relation] = place = next(free, len(taken))
        if place == len(taken):
            taken.append((int(bits[relation]), np.zeros(len(table), dtype=bool)))
        taken[place][1][own] = True
    return digit


def on_a_line(kinds: Kinds) -> Float64Array:
    r"""Return what is added to the numbers of each kind, so that their cells lie one behind the other, `[q]`.

    Integers of 0 at least; middles of two kinds are as far apart as the wider cells.
    """
    shift, end, last = np.zeros(len(kinds.sizes)), 0.0, 0.0
    for kind in np.argsort(kinds.cell, kind="stable"):
        middles, cell = kinds.middles(int(kind)), float(kinds.cell[kind])
        if last:
            shift[kind] = math.ceil(end + max(cell, last) - middles[0])
        end, last = middles[-1] + shift[kind], cell
    return shift - shift.min()
