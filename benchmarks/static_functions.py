"""Ways to keep a number for each of some keys in a string of bits: the rivals of weights that hold a table.

A key is a number below `keys`, a value a number below `2^bits`. Each structure says how many bits it takes, without its
few sizes and its seed, and answers any key.
"""

import hashlib
import struct
from dataclasses import dataclass
from itertools import count as naturals

_WIDTH = 64
"""Bits of a row of a ribbon."""

_IN_A_BUCKET = 4
"""Keys that share a number of the perfect hash, on average."""


def hashed(key: int, seed: int) -> tuple[int, int]:
    """Return two words of 64 bits.

    Example:
        >>> hashed(1, 0) == hashed(1, 0), hashed(1, 0) == hashed(1, 1)
        (True, False)
    """
    digest = hashlib.blake2b(struct.pack("<QQ", key, seed), digest_size=16).digest()
    return struct.unpack("<QQ", digest)


@dataclass(frozen=True)
class DirectTable:
    """One cell for each key that there can be.

    Args:
        cells: The value of each key; none where it has none, which is one more value.
        value_bits: Of a value.
    """

    cells: list[int | None]
    value_bits: int

    @classmethod
    def of(cls, values: dict[int, int], *, keys: int, bits: int) -> "DirectTable":
        """Store values by their keys."""
        return cls([values.get(key) for key in range(keys)], bits)

    @property
    def bits(self) -> int:
        """All cells; a flag beside each where some are empty."""
        return len(self.cells) * (self.value_bits + (None in self.cells))

    def __getitem__(self, key: int) -> int | None:
        return self.cells[key]


@dataclass(frozen=True)
class HashTable:
    """Keys and values in the first free cell behind a place that the key has, four of five cells in use.

    Args:
        cells: A key and its value, or nothing.
        cell_bits: Of a key and a value; a key that there is none of says that a cell is empty.
    """

    cells: list[tuple[int, int] | None]
    cell_bits: int

    @classmethod
    def of(cls, values: dict[int, int], *, keys: int, bits: int) -> "HashTable":
        """Store values by their keys."""
        cells: list[tuple[int, int] | None] = [None] * (-(-5 * len(values) // 4) + 1)
        for key, value in values.items():
            place = hashed(key, 0)[0] % len(cells)
            while cells[place] is not None:
                place = (place + 1) % len(cells)
            cells[place] = key, value
        return cls(cells, keys.bit_length() + bits)

    @property
    def bits(self) -> int:
        """All cells."""
        return len(self.cells) * self.cell_bits

    def __getitem__(self, key: int) -> int | None:
        place = hashed(key, 0)[0] % len(self.cells)
        while (cell := self.cells[place]) is not None:
            if cell[0] == key:
                return cell[1]
            place = (place + 1) % len(self.cells)
        return None


@dataclass(frozen=True)
class PerfectHash:
    """As many cells as keys: each bucket of keys has the number of a hash that sends them where nothing else is.

    The largest buckets choose first, as in CHD (Belazzougui, Botelho, Dietzfelbinger, 2009).

    Args:
        pilots: The number of each bucket.
        cells: The values.
        value_bits: Of a value.
    """

    pilots: list[int]
    cells: list[int]
    value_bits: int

    @classmethod
    def of(cls, values: dict[int, int], *, keys: int, bits: int) -> "PerfectHash":
        """Store values by their keys."""
        del keys
        buckets: list[list[int]] = [[] for _ in range(-(-len(values) // _IN_A_BUCKET))]
        for key in values:
            buckets[hashed(key, 0)[0] % len(buckets)].append(key)
        cells: list[int | None] = [None] * len(values)
        pilots = [0] * len(buckets)
        for place in sorted(range(len(buckets)), key=lambda each: -len(buckets[each])):
            pilots[place] = next(pilot for pilot in naturals() if _finds_room(buckets[place], pilot, cells))
            for key in buckets[place]:
                cells[hashed(key, pilots[place])[1] % len(cells)] = values[key]
        return cls(pilots, [cell for cell in cells if cell is not None], bits)

    @property
    def bits(self) -> int:
        """Numbers of buckets, of as many bits as the largest, and values."""
        return len(self.pilots) * max(self.pilots).bit_length() + len(self.cells) * self.value_bits

    def __getitem__(self, key: int) -> int:
        pilot = self.pilots[hashed(key, 0)[0] % len(self.pilots)]
        return self.cells[hashed(key, pilot)[1] % len(self.cells)]


@dataclass(frozen=True)
class Ribbon:
    """The value of a key is the exclusive or of some of 64 neighbouring rows (Dillinger, Walzer, 2021).

    Args:
        rows: Numbers of as many bits as a value.
        seed: Of the hash that says which rows.
        value_bits: Of a value.
    """

    rows: list[int]
    seed: int
    value_bits: int

    @classmethod
    def of(cls, values: dict[int, int], *, keys: int, bits: int) -> "Ribbon":
        """Store values by their keys, in rows that grow by a hundredth until the equations have a solution."""
        del keys
        rows, seed = None, -1
        while rows is None:
            seed += 1
            rows = _solved(values, len(values) + len(values) * seed // 100 + _WIDTH, seed)
        return cls(rows, seed, bits)

    @property
    def bits(self) -> int:
        """All rows."""
        return len(self.rows) * self.value_bits

    def __getitem__(self, key: int) -> int:
        start, mask = _equation(key, len(self.rows), self.seed)
        found = 0
        for place, row in enumerate(self.rows[start : start + _WIDTH]):
            if mask >> place & 1:
                found ^= row
        return found


def _finds_room(bucket: list[int], pilot: int, cells: list[int | None]) -> bool:
    """Whether the keys of a bucket get cells of their own that are empty."""
    slots = {hashed(key, pilot)[1] % len(cells) for key in bucket}
    return len(slots) == len(bucket) and all(cells[slot] is None for slot in slots)


def _equation(key: int, rows: int, seed: int) -> tuple[int, int]:
    """Return the first row that a key reads, and which of the 64 from there on; the first always."""
    place, mask = hashed(key, seed)
    return place % (rows - _WIDTH + 1), mask | 1


def _solved(values: dict[int, int], size: int, seed: int) -> list[int] | None:
    """Return rows that give each key its value, by elimination; none if two equations contradict each other."""
    masks, wanted = [0] * size, [0] * size
    for key, value in values.items():
        start, mask = _equation(key, size, seed)
        while mask and masks[start]:
            mask, value = mask ^ masks[start], value ^ wanted[start]
            if mask:
                shift = (mask & -mask).bit_length() - 1
                start, mask = start + shift, mask >> shift
        if mask:
            masks[start], wanted[start] = mask, value
        elif value:
            return None
    rows = [0] * size
    for start in reversed(range(size)):
        found = wanted[start]
        for place in range(1, masks[start].bit_length()):
            if masks[start] >> place & 1:
                found ^= rows[start + place]
        rows[start] = found
    return rows
