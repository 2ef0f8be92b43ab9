"""Sums of products, in columns: rows of numbers, layers of neurons, and the terms that a kernel adds up.

A number is kept as a float64 and a bound of how far a run of a number format, or real arithmetic, may be from it.

Page: docs/rigour/runs.md, Theorem R12.
"""

from dataclasses import dataclass

import numpy as np

from constructions.numeric.arrays import Int64Array
from verify.arithmetic.rounding import Floats

SLACK = 1.0 + 2.0**-30  # outweighs the roundings of a bound, sums of fewer than 2^20 numbers that are not negative
FLOOR = 2.0**-1000  # outweighs their underflow; of multiples of it no product or quotient of few bits is lost
GAP = 120.0  # by which a top score leads, so that the others weigh nothing
LARGEST_EXACT = 2.0**53 - 1.0  # units up to which a sum that was computed as so much is so much


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of numbers, and bounds of their errors; the numbers of a column are contiguous in memory.

    Args:
        value: `[P, d]`.
        off: At most so far is a run, or real arithmetic, from the value, `[1, d]` for all rows or `[P, d]`.
    """

    value: Floats
    off: Floats

    def take(self, rows: Int64Array) -> "Rows":
        """Return these rows, in this order."""
        return Rows(self.value.T[:, rows].T, self.off if len(self.off) == 1 else self.off[rows])

    def __getitem__(self, part: slice) -> "Rows":
        return Rows(self.value[part], self.off if len(self.off) == 1 else self.off[part])

    def columns(self, chosen: Int64Array) -> "Rows":
        """Return these columns, in this order."""
        return Rows(self.value.T[chosen].T, self.off[:, chosen])

    def size(self) -> Floats:
        """Return upper bounds of the absolute values in each column, `[d]`."""
        return (largest(self.value) + self.off.max(axis=0, initial=0.0)) * SLACK


@dataclass(frozen=True, eq=False)
class Layer:
    """Rectified neurons between some columns of the stream.

    Args:
        W_in: `[n, h]`.
        b_in: `[h]`, or none.
        W_out: `[h, m]`.
        b_out: `[m]`, or none.
        skip: Columns of the rows read that are added, `[m]`; none without a skip connection.
    """

    W_in: Floats
    b_in: Floats | None
    W_out: Floats
    b_out: Floats | None
    skip: Int64Array | None


@dataclass(frozen=True, eq=False)
class Group:
    """Neurons that do not share input columns.

    Args:
        rows: The distinct rows of these columns, `[P, n]`.
        which: Index, among them, of each row of the stream.
        layer: The neurons, without a last shift and without a skip connection.
    """

    rows: Rows
    which: Int64Array
    layer: Layer


def joined(parts: list[Rows]) -> Rows:
    """Concatenate the rows of all parts."""
    if len(parts) == 1:
        return parts[0]
    offs = [part.off for part in parts]
    if all(len(off) == 1 for off in offs):
        off = np.max(offs, axis=0)
    else:
        off = np.concatenate([np.broadcast_to(part.off, part.value.shape) for part in parts])
    return Rows(np.concatenate([part.value.T for part in parts], axis=1).T, off)


def low(x: Floats) -> Floats:
    """Return the largest power of two of which every entry is a multiple; infinity for 0."""
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    return np.where(whole > 0, np.ldexp((whole & -whole).astype(np.float64), exponent - 53), np.inf)


def units(x: Floats) -> Floats:
    """Return the largest power of two that divides all entries of a column; infinity where all are 0, `[d]`."""
    if not x.size:
        return np.full(x.shape[1], np.inf)
    if np.abs(x).max() < 2.0**62:
        whole = x.astype(np.int64)
        if np.array_equal(whole, x):
            together = np.bitwise_or.reduce(whole, axis=0)
            return np.where(together != 0, (together & -together).astype(np.float64), np.inf)
    return low(x).min(axis=0)


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of sums, column by column over all rows.

    Args:
        unit: A power of two of which all terms are multiples, `[m]`; infinity where all are 0.
        total: Upper bound of the sum of the sizes of the terms, `[m]`.
        count: At most this many terms are not 0, `[m]`.
        factors: The largest of the products in units of their own, `[m]`.
    """

    unit: Floats
    total: Floats
    count: Int64Array
    factors: Floats

    @classmethod
    def of(cls, x: Floats, matrix: Floats, shift: Floats | None, skip: Floats | None) -> "Terms":
        """Return the terms of rows times a matrix, plus a shift and the skip rows."""
        own, top, lows = units(x), largest(x), low(matrix)
        unit = (own[:, None] * lows).min(axis=0, initial=np.inf)
        total = top @ np.abs(matrix)
        count = ((matrix != 0.0) & (top > 0.0)[:, None]).sum(axis=0)
        factors = (in_units(top, own)[:, None] * in_units(matrix, lows)).max(axis=0, initial=0.0)
        for more in (shift, skip):
            if more is not None:
                more = np.atleast_2d(more)
                size = largest(more)
                unit, total, count = np.minimum(unit, units(more)), total + size, count + (size > 0.0)
        return cls(unit, total, count, factors)


@dataclass(frozen=True)
class ScoreTerms:
    """The terms of the scores of some queries and keys, taken together.

    Args:
        doubt: How far a score is off at most because its factors are.
        total: Upper bound of the sum of the sizes of the terms of a score.
        factors: Upper bound of the sum of the sizes of all its factors.
        need: How many units the largest sum needs.
        unit: A power of two of which all terms and all factors are multiples.
    """

    doubt: float
    total: float
    factors: float
    need: float
    unit: Floats

    @classmethod
    def of(cls, query: Rows, key: Rows) -> "ScoreTerms":
        """Return the terms of queries and keys, `[P, d_qk]` each."""
        query_size, key_size = query.size(), key.size()
        total = float(query_size @ key_size) * SLACK
        factors = float((query_size + key_size).sum()) * SLACK
        # |q k - q' k'| <= |q - q'| |k| + |q'| |k - k'|, with sizes that hold both.
        of_queries = query.off.max(axis=0, initial=0.0) @ key_size
        of_keys = query_size @ key.off.max(axis=0, initial=0.0)
        doubt = float(of_queries + of_keys) * SLACK
        if query.off.any() or key.off.any():
            doubt += FLOOR
        own, others = units(query.value), units(key.value)
        unit = (own * others).min(initial=np.inf)
        top = float(largest(query.value) @ largest(key.value))
        need = top / float(unit) if unit > 0.0 else np.inf
        return cls(doubt, total, factors, need, np.minimum(own, others).min(initial=unit))


def average(x: Rows, reads: Int64Array) -> Floats:
    """Return the averages of the rows that are read, `[Q, k]`, in float64, `[Q, d]`."""
    count = reads.shape[1]
    if count == 1:
        return x.value.T[:, reads[:, 0]].T
    return (x.value.T[:, reads].sum(axis=2) / count).T


def furthest(x: Rows, reads: Int64Array) -> Floats:
    """Return how far the rows that are read are off at most, `[1, d]` or `[Q, d]`."""
    return x.off if len(x.off) == 1 else x.off[reads].max(axis=1)


def largest(x: Floats) -> Floats:
    """Return the largest absolute value in each column, `[d]`."""
    return np.abs(x).max(axis=0, initial=0.0)


def in_units(x: Floats, unit: Floats) -> Floats:
    """Return each entry in units; 0 for 0, whose unit is infinite."""
    return np.where(x != 0.0, np.abs(x) / np.where(x != 0.0, unit, 1.0), 0.0)


def finite(unit: Floats) -> Floats:
    """Return the units, with 1 for columns of zeros."""
    return np.where(np.isfinite(unit), unit, 1.0)


def gamma(unit: float, count: int | Int64Array) -> Floats:
    """Return an upper bound of count * unit / (1 - count * unit); infinite from a quarter on."""
    share = np.asarray(count, dtype=np.float64) * unit
    return np.where(share < 0.25, share / (1.0 - np.minimum(share, 0.25)) * SLACK, np.inf)
