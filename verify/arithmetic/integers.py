"""Float64 numbers as integers over powers of two, and exact matrices of them.

An integer n at scale k stands for n / 2^k.
"""

import math
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import ctx, fmpz_mat

SMALL = 60  # integers of fewer bits are multiplied fastest by FLINT


@dataclass(frozen=True)
class Integers:
    """Exact integers over one power of two."""

    values: list[int]
    scale: int

    @classmethod
    def exact(cls, floats: Sequence[float]) -> "Integers":
        ratios = [x.as_integer_ratio() for x in floats]
        scale = max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
        return cls([n << (scale - d.bit_length() + 1) for n, d in ratios], scale)

    def largest(self) -> int:
        return max(map(abs, self.values), default=0)


def truncated(row: Sequence[float], shifts: Iterable[int]) -> list[int]:
    """Return the entries times 2 to the `shifts`, rounded towards zero."""
    return list(map(int, map(math.ldexp, row, shifts)))


def shifted(n: Any, shift: int) -> Any:
    """Return the integer times 2^shift, rounded down."""
    return n << shift if shift >= 0 else n >> -shift


def rescaled(row: Sequence[Any], shift: int) -> list[Any]:
    """Return the integers times 2^shift, rounded down."""
    if shift == 0:
        return list(row)
    return [n << shift for n in row] if shift > 0 else [n >> -shift for n in row]


def compact(row: list[int], bits: int) -> Sequence[int]:
    """Return the same integers in a fifth of the memory, where that many bits are few enough."""
    return array("q", row) if bits <= SMALL else row


def power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def dyadic(n: int, scale: int) -> Fraction:
    return n * power_of_two(-scale)


def split(values: Sequence[int], width: int) -> list[Sequence[int]]:
    return [values[i : i + width] for i in range(0, len(values), width)]


def row_of(values: Sequence[int], i: int, width: int) -> Sequence[int]:
    return values[i * width : (i + 1) * width]


def matrix_of(rows: Sequence[Sequence[int]]) -> fmpz_mat:
    return fmpz_mat(len(rows), len(rows[0]), [n for row in rows for n in row])


def rows_of(matrix: fmpz_mat) -> Iterator[list[Any]]:
    entries, width = matrix.entries(), matrix.ncols()
    for start in range(0, len(entries), width):
        yield entries[start : start + width]


def product(left: fmpz_mat, right: fmpz_mat) -> fmpz_mat:
    """Return the product of two matrices on all cores; FLINT's number of threads is global, and is put back."""
    before = ctx.threads
    ctx.threads = os.cpu_count() or 1
    try:
        return left * right
    finally:
        ctx.threads = before


def split_matrix(matrix: fmpz_mat, width: int) -> list[list[int]]:
    return [list(map(int, row)) for row in rows_of(matrix)] if width else [[] for _ in range(matrix.nrows())]


def largest_column_sum(values: Sequence[int], width: int) -> int:
    return max((sum(map(abs, values[j::width])) for j in range(width)), default=0)
