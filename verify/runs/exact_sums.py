r"""Sums of products that no rounding touches: what every run computes, and what real arithmetic computes.

A number that every run of a number format shares is kept as a float64 and a bound of how far a run may be from it: 0
where Theorem R12 says that all runs have this very number. The same records hold what is true in real arithmetic, there
with the distance to the exact number.

Page: docs/rigour/runs.md, Theorem R12.
"""

import math
from dataclasses import dataclass

import numpy as np

from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.elementary import exp
from verify.arithmetic.rounding import UNIT, Floats
from verify.runs.formats import FloatFormat

_SLACK = 1.0 + 2.0**-30  # outweighs the roundings of a bound, sums of fewer than 2^20 numbers that are not negative
_FLOOR = 2.0**-1000  # outweighs their underflow; of multiples of it no product or quotient of few bits is lost
_FEW = 16  # neurons whose patterns of firing are told apart, instead of rows
_NEAR = 2.0**-10  # up to which all rows may share the largest distance of any of them
GAP = 120.0  # by which a top score leads, so that the others weigh nothing
LARGEST_EXACT = 2.0**53 - 1.0  # units up to which a sum that was computed as so much is so much


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of numbers, and how far others may be from them; the numbers of a column lie together in the memory.

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
        """Upper bounds of the absolute values of each column, `[d]`."""
        return (np.abs(self.value).max(axis=0, initial=0.0) + self.off.max(axis=0, initial=0.0)) * _SLACK


@dataclass(frozen=True, eq=False)
class Group:
    """Neurons that read columns of their own.

    Args:
        rows: The distinct rows of these columns, `[P, n]`.
        which: Which of them each row of the stream is.
        layer: The neurons, without a last shift and without a skip connection.
    """

    rows: Rows
    which: Int64Array
    layer: "Layer"


@dataclass(frozen=True, eq=False)
class Layer:
    """Rectified neurons between some columns of the stream.

    Args:
        W_in: `[n, h]`.
        b_in: `[h]`, or none.
        W_out: `[h, m]`.
        b_out: `[m]`, or none.
        skip: Which columns of the rows that are read are added, `[m]`; none without a skip connection.
    """

    W_in: Floats
    b_in: Floats | None
    W_out: Floats
    b_out: Floats | None
    skip: Int64Array | None


def joined(parts: list[Rows]) -> Rows:
    """Return the rows of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    offs = [part.off for part in parts]
    if all(len(off) == 1 for off in offs):
        off = np.max(offs, axis=0)
    else:
        off = np.concatenate([np.broadcast_to(part.off, part.value.shape) for part in parts])
    return Rows(np.concatenate([part.value.T for part in parts], axis=1).T, off)


def low(x: Floats) -> Floats:
    """Return the largest power of two of which each entry is a multiple; infinity for 0."""
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    return np.where(whole > 0, np.ldexp((whole & -whole).astype(np.float64), exponent - 53), np.inf)


def units(x: Floats) -> Floats:
    """Of each column the largest power of two that divides all its entries; infinity where all are 0, `[d]`."""
    if not x.size:
        return np.full(x.shape[1], np.inf)
    if np.abs(x).max() < 2.0**62:
        whole = x.astype(np.int64)
        if np.array_equal(whole, x):
            together = np.bitwise_or.reduce(whole, axis=0)
            return np.where(together != 0, (together & -together).astype(np.float64), np.inf)
    return low(x).min(axis=0)


@dataclass(frozen=True, eq=False)
class _Terms:
    """The terms of sums, column by column over all rows.

    Args:
        unit: A power of two of which all terms are multiples, `[m]`; infinity where all are 0.
        total: Upper bound of the sum of the sizes of the terms, `[m]`.
        count: At most so many terms are not 0, `[m]`.
        factors: The largest of the products in units of their own, `[m]`.
    """

    unit: Floats
    total: Floats
    count: Int64Array
    factors: Floats

    @classmethod
    def of(cls, x: Floats, matrix: Floats, shift: Floats | None, skip: Floats | None) -> "_Terms":
        own, top, size, lows = units(x), np.abs(x).max(axis=0, initial=0.0), np.abs(matrix), low(matrix)
        unit = (own[:, None] * lows).min(axis=0, initial=np.inf)
        total, count = top @ size, ((matrix != 0.0) & (top > 0.0)[:, None]).sum(axis=0)
        share = np.where(top > 0.0, top / np.where(top > 0.0, own, 1.0), 0.0)
        factors = (share[:, None] * np.where(size > 0.0, size / np.where(size > 0.0, lows, 1.0), 0.0)).max(
            axis=0, initial=0.0
        )
        for more in (shift, skip):
            if more is not None:
                more = np.atleast_2d(more)
                largest = np.abs(more).max(axis=0, initial=0.0)
                unit, total, count = np.minimum(unit, units(more)), total + largest, count + (largest > 0.0)
        return cls(unit, total, count, factors)


class EveryRun:
    r"""What every run in a number format computes, in any order of summation, with or without fused multiply-add.

    Args:
        number_format: The format; its significand has p bits.

    By Theorem R12.
    """

    def __init__(self, number_format: FloatFormat) -> None:
        self.format = number_format
        self.unit = number_format.unit_roundoff
        self.most = min(1.0 / self.unit, LARGEST_EXACT)
        self.need = 1.0  # the largest number of units that an exact sum needed
        self.stopped = ""

    @property
    def bits(self) -> float:
        """The bits that the largest of the exact sums needed."""
        return math.log2(self.need)

    def stop(self, why: str) -> None:
        """Remember the first reason for which something is not exact."""
        self.stopped = self.stopped or why

    def exact(self, x: Floats, y: Floats) -> Rows:
        """Return the sums of two given numbers, entry by entry."""
        unit, value = np.minimum(units(x), units(y)), np.asfortranarray(x + y)
        size = np.abs(x).max(axis=0, initial=0.0) + np.abs(y).max(axis=0, initial=0.0)
        need = np.abs(value).max(axis=0, initial=0.0) / _finite(unit)
        exact = self._fits(x) & self._fits(y) & (need <= self.most) & self._in_range(unit, size)
        self._note(need[exact])
        return Rows(value, np.where(exact, 0.0, self._rounded(size, np.full(len(size), 2)))[None])

    def unembed(self, x: Rows, matrix: Floats, shift: Floats | None) -> Rows:
        """Return the product of the rows with a matrix, plus a shift."""
        result = self.linear(x, matrix, shift, where="the readout")
        if result.off.any():
            self.stop("the readout is rounded")
        return result

    def linear(
        self,
        x: Rows,
        matrix: Floats,
        shift: Floats | None,
        *,
        skip: Rows | None = None,
        fires: bool = False,
        where: str = "",
    ) -> Rows:
        """Return the product of the rows with a matrix, plus a shift and the skip rows.

        Args:
            x: `[P, n]`.
            matrix: `[n, m]`.
            shift: `[m]`, or none.
            skip: `[P, m]`, or none.
            fires: Whether only what is above 0 is read of the result, which is 0 elsewhere.
            where: Of the sum, for the reason.

        Returns:
            `[P, m]`.
        """
        moved = (matrix != 0.0).any(axis=0)
        moved |= False if shift is None else shift != 0.0
        if skip is not None and not moved.all() and np.isfinite(x.off).all():  # adding zeros changes nothing
            some = np.flatnonzero(moved)
            part = self._mapped(
                x, matrix[:, some], None if shift is None else shift[some], skip.columns(some), fires, where
            )
            value, off = (
                skip.value.copy(order="F"),
                np.broadcast_to(skip.off, (max(len(skip.off), len(part.off)), len(moved))),
            )
            value[:, some] = part.value
            off = off.copy()
            off[:, some] = part.off
            result = Rows(value, off)
        else:
            result = self._mapped(x, matrix, shift, skip, fires, where)
        if fires:
            np.maximum(result.value, 0.0, out=result.value)
        return result

    def _mapped(
        self, x: Rows, matrix: Floats, shift: Floats | None, skip: Rows | None, fires: bool, where: str
    ) -> Rows:
        value, size = (matrix.T @ x.value.T).T, np.abs(matrix)
        value += 0.0 if shift is None else shift
        value += 0.0 if skip is None else skip.value
        drift = (x.off @ size + (0.0 if skip is None else skip.off)) * _SLACK
        if (tiny := (size > 0.0) & (size < self.format.smallest_normal)).any():  # weights that may be taken for 0
            drift = drift + 2.0 * self.format.smallest_normal * (x.size() @ tiny)
        terms = _Terms.of(x.value, matrix, shift, None if skip is None else skip.value)
        count = terms.count + np.count_nonzero(matrix[_dusty(x)], axis=0)  # what is off is rounded, also beside 0
        count += 0 if skip is None else _dusty(skip)
        fits = self._fits(matrix) & (terms.unit >= self.format.smallest_normal)
        fits &= True if shift is None else self._fits(shift[None])
        unit, most = _finite(terms.unit), self.format.largest / 8.0
        need = terms.total / unit
        two = np.maximum(terms.factors, np.abs(value).max(axis=0, initial=0.0) / unit)
        need = np.where((terms.count <= 2) & (need > self.most), two, need)
        good = fits & (need <= self.most) & (terms.total <= most)
        self._note(need[good])
        exact = good & self._absorbs(unit, drift, count)
        total = terms.total[None]
        for j in np.flatnonzero(fits & ~good):
            # Row by row, with the units of each row, and for neurons whether they are silent.
            if len(exact) == 1:
                exact = np.broadcast_to(exact, value.shape).copy()
            sizes = np.abs(x.value) @ size[:, j] + (0.0 if shift is None else abs(shift[j]))
            sizes += 0.0 if skip is None else np.abs(skip.value[:, j])
            if len(total) == 1:
                total = np.broadcast_to(total, value.shape).copy()
            total[:, j] = sizes
            own = _need(sizes, value[:, j], unit[j])
            open_ = np.flatnonzero(own > self.most)
            if fires and len(open_):
                away = drift[:, j] if len(drift) == 1 else drift[open_, j]
                error = 4.0 * _gamma(self.unit, count[j] + 2) * (sizes[open_] + away) + 2.0 * away
                error += 8.0 * (count[j] + 1) * self.format.smallest_normal
                silent = open_[value[open_, j] + error <= 0.0]
                value[silent, j] = -1.0
                own[silent] = 1.0
                open_ = np.setdiff1d(open_, silent, assume_unique=True)
            if len(open_):
                more = [np.full((len(open_), 1), 0.0 if shift is None else shift[j])]
                more += [] if skip is None else [skip.value[open_, j : j + 1]]
                own[open_] = _needs(x.value[open_], matrix[:, j], np.hstack(more), value[open_, j])
            fit = (own <= self.most) & (sizes <= most)
            self._note(own[fit])
            exact[:, j] = fit & self._absorbs(unit[j], drift[:, j], count[j])
        if exact.all() and not drift.any():
            return Rows(value, np.zeros((1, len(unit))))
        if (~exact & fits & (drift == 0.0)).any():
            self.stop(f"{where}: a sum needs more than {math.log2(1.0 / self.unit):.0f} bits")
        if len(exact) == 1:
            zero = (value == 0.0).any(axis=0)
        else:
            zero = value == 0.0
        dust = np.where(zero, self._dust(drift, count), 0.0)
        return Rows(value, np.where(exact, dust, drift + self._rounded(total + drift, count)) * _SLACK)

    def weighted_mean(self, x: Rows, reads: Int64Array, dust: Floats, length: int) -> Rows:
        """Return the averages of rows, `[Q, d]`.

        Args:
            x: `[P, d]`.
            reads: Which rows are averaged, `[Q, k]`.
            dust: What the rows that are not read add at most, `[d]`.
            length: How many rows there are with them.
        """
        count = reads.shape[1]
        value = x.value.T[:, reads[:, 0]].T if count == 1 else (x.value.T[:, reads].sum(axis=2) / count).T
        drift = x.off if len(x.off) == 1 else x.off[reads].max(axis=1)
        drift, top = (drift + dust) * _SLACK, np.abs(x.value).max(axis=0, initial=0.0)
        unit = units(x.value) / count
        need, terms = top / _finite(unit), np.full(len(top), length + 3)
        exact = self._absorbs(unit, drift, terms) & self._in_range(unit, top)
        if count > 1:
            exact &= need <= self.most
            self._note(need)
        zero = (value == 0.0).any(axis=0) if len(exact) == 1 else value == 0.0
        exact_off = np.where(zero, self._dust(drift, terms), 0.0)
        return Rows(value, np.where(exact, exact_off, drift + self._rounded(top + drift, terms)))

    def neurons(self, x: Rows, layer: Layer, where: str) -> Rows:
        """Return the rows after a layer of rectified neurons."""
        hidden = self.linear(x, layer.W_in, layer.b_in, fires=True, where=where)
        skip = None if layer.skip is None else x.columns(layer.skip)
        return self.linear(hidden, layer.W_out, layer.b_out, skip=skip, where=where)

    def grouped(self, groups: list[Group], shift: Floats | None, where: str) -> Rows | None:
        """Return the rows after neurons that are evaluated group by group; none unless all sums are exact.

        No sum of the terms of a row is larger than the largest ones of all groups together.
        """
        width = groups[0].layer.W_out.shape[1]
        value = np.zeros((width, len(groups[0].which)))
        unit, total, fits = np.full(width, np.inf), np.zeros(width), np.ones(width, dtype=bool)
        for group in groups:
            matrix = group.layer.W_out
            hidden = self.linear(group.rows, group.layer.W_in, group.layer.b_in, fires=True, where=where)
            if hidden.off.any():
                return None
            fits &= self._fits(matrix)
            unit = np.minimum(unit, _Terms.of(hidden.value, matrix, None, None).unit)
            total += (np.abs(matrix).T @ hidden.value.T).max(axis=1, initial=0.0)
            value += (matrix.T @ hidden.value.T)[:, group.which]
        if shift is not None:
            value += shift[:, None]
            unit, total, fits = np.minimum(unit, low(shift)), total + np.abs(shift), fits & self._fits(shift[None])
        need = total / _finite(unit)
        if not (fits & self._in_range(unit, total) & (need <= self.most)).all():
            return None
        self._note(need)
        return Rows(value.T, np.zeros((1, width)))

    def score_error(self, query: Rows, key: Rows, score_root: int) -> tuple[float, bool]:
        """How far a score of these queries and keys may be off, and whether all are exact.

        They are divided before or after, or both factors by the fourth root. Scores that are 0 stay 0.
        """
        if ((query.size() == 0.0) | (key.size() == 0.0)).all():  # what is not known has no size and is not 0
            return 0.0, True
        doubt, total, factors, need, least = _score_terms(query, key)
        root = math.sqrt(score_root)
        exact = _is_fourth_power_of_two(score_root) and doubt == 0.0 and need <= self.most
        if exact and self._in_range(least / root, np.array(total)):
            return 0.0, True
        error = doubt + float(self._rounded(np.array(total), np.array(query.value.shape[1])))
        if score_root != 1:  # what is divided, a score or a factor, may be flushed
            error = (error + 8.0 * (self.unit + 2.0 * UNIT) * total) / root * 1.01
            error += 4.0 * self.format.smallest_normal * (factors + 1.0)
        return error, False

    def decides(self, gap: Floats, error: float, exact: bool, count: Int64Array, length: int) -> BoolArray:
        """Which heads' outputs are known whose `count` top scores lead by `gap` and are off by at most `error`."""
        lead = (gap - 2.0 * error) * (1.0 - 4.0 * self.unit) >= GAP
        lead &= (count == length) | (4.0 * length * self._least() <= self.format.finest / 4.0)
        return lead & ((count == 1) | (exact & (count & (count - 1) == 0)))

    def weight_of_others(self, gap: float, error: float, count: Int64Array, length: int) -> float:
        """How much all rows below the top ones may weigh together, where queries have so many top ones."""
        del gap, error
        return 0.0 if (count == length).all() else 4.0 * length * self._least()

    def _least(self) -> float:
        return max(2.0**-173, 2.0 * self.unit * self.format.smallest_normal)  # 2^-173 > e^-120

    def _fits(self, matrix: Floats) -> BoolArray:
        """Of which columns the entries are numbers of the format, `[m]`."""
        size, lows = np.abs(matrix), low(matrix)
        inside = (size <= self.most / 8.0 * lows) if self.unit <= UNIT else (size <= self.most * lows)
        inside &= (size <= self.format.largest / 8.0) & (lows >= self.format.smallest_normal)
        return ((matrix == 0.0) | inside).all(axis=0)

    def _in_range(self, unit: Floats, total: Floats) -> BoolArray:
        """Whether no partial sum overflows, or is so small that it may be flushed."""
        return (unit >= self.format.smallest_normal) & (total <= self.format.largest / 8.0)

    def _absorbs(self, unit: Floats, drift: Floats, count: Int64Array) -> BoolArray:
        """Whether sums of so many multiples of the unit absorb what their terms may be off by, in finer formats too."""
        unit, finest = _finite(unit), self.format.finest
        least = 16.0 * (count + 1) * self.format.smallest_normal * (self.unit / finest)
        enough = (unit >= least) & ((count + 2) * self.unit < 0.25)
        return (drift == 0.0) | (enough & (drift < finest / 8.0 * unit))

    def _dust(self, drift: Floats, count: Int64Array) -> Floats:
        """Return what is computed at most where the exact value is 0 and the terms are off by `drift` together."""
        least = 2.0 * self.unit * self.format.smallest_normal
        return np.where(drift > 0.0, drift * (1.0 + _gamma(self.unit, count + 2)) + (count + 1) * least, 0.0) * _SLACK

    def _rounded(self, sizes: Floats, count: Int64Array) -> Floats:
        """How far two evaluations of sums may be apart, one in the format and one in float64."""
        error = _gamma(self.unit + UNIT, count + 3) * sizes + 16.0 * (count + 1) * self.format.smallest_normal
        return np.where(sizes <= self.format.largest / 8.0, error, np.inf) * _SLACK

    def _note(self, need: Floats) -> None:
        self.need = max(self.need, float(need.max(initial=1.0)))


class InReals:
    r"""What real arithmetic computes: the integers that every run has, and a bound of the distance for each entry.

    Sums are evaluated in float64, without an error where all terms are multiples of a unit of which $2^{53}$ hold them.

    By Lemma R14.
    """

    unit = 0.0
    bits = 0.0
    format = None

    def __init__(self) -> None:
        self.stopped = ""

    def stop(self, why: str) -> None:
        """Remember the first reason for which nothing is known of a row."""
        self.stopped = self.stopped or why

    def exact(self, x: Floats, y: Floats) -> Rows:
        """Return the sums of two given numbers, entry by entry."""
        terms = _Terms.of(x, np.eye(x.shape[1]), None, y)
        return Rows(np.asfortranarray(x + y), self._rounded(terms)[None])

    def linear(
        self, x: Rows, matrix: Floats, shift: Floats | None, *, skip: Rows | None = None, where: str = ""
    ) -> Rows:
        """Return the product of the rows `[P, n]` with a matrix `[n, m]`, plus a shift and the skip rows, `[P, m]`."""
        del where
        value = (matrix.T @ x.value.T).T
        value += 0.0 if shift is None else shift
        value += 0.0 if skip is None else skip.value
        terms = _Terms.of(x.value, matrix, shift, None if skip is None else skip.value)
        off = x.off @ np.abs(matrix) + (0.0 if skip is None else skip.off) + self._rounded(terms)
        return Rows(value, off * _SLACK + (_FLOOR if x.off.any() else 0.0))

    unembed = linear

    def weighted_mean(self, x: Rows, reads: Int64Array, dust: Floats, length: int) -> Rows:
        """Return the averages of rows, as `EveryRun.weighted_mean`."""
        count = reads.shape[1]
        value = x.value.T[:, reads[:, 0]].T if count == 1 else (x.value.T[:, reads].sum(axis=2) / count).T
        off = x.off if len(x.off) == 1 else x.off[reads].max(axis=1)
        top = np.abs(x.value).max(axis=0, initial=0.0)
        whole = (count == 1) | (top * count <= LARGEST_EXACT * units(x.value))  # `linear` left room for underflow
        off = off + dust + np.where(whole, 0.0, 2.0 * UNIT * (count + length) * top)
        return Rows(value, off * _SLACK)

    def score_error(self, query: Rows, key: Rows, score_root: int) -> tuple[float, bool]:
        """How far a score of these queries and keys may be off, and whether all are exact."""
        doubt, total, _, need, _ = _score_terms(query, key)
        exact = need <= LARGEST_EXACT
        error = doubt + (0.0 if exact else float(_gamma(UNIT, query.value.shape[1] + 3)) * total + _FLOOR)
        if score_root != 1:
            error = (error + 16.0 * UNIT * total + _FLOOR) / math.sqrt(score_root) * 1.01
        return error, exact and score_root == 1

    def decides(self, gap: Floats, error: float, exact: bool, count: Int64Array, length: int) -> BoolArray:
        """Which heads' outputs are known whose `count` top scores lead by `gap` and are off by at most `error`."""
        del exact, length
        return (gap - 2.0 * error >= GAP) & ((count == 1) | ((error <= 0.125) & (count & (count - 1) == 0)))

    def weight_of_others(self, gap: float, error: float, count: Int64Array, length: int) -> float:
        """By how much an average moves, in units of the largest value, where queries have so many top rows."""
        gap = (gap - 2.0 * error) * (1.0 - 2.0**-40)
        tail = 0.0 if (count == length).all() else float(exp(np.array(-min(gap, 700.0))).upper())
        # Equal scores that differ by 2 error weigh e^(2 error) times as much as another.
        return (2.0 * length * tail + (5.0 * error if (count > 1).any() else 0.0)) * _SLACK

    def neurons(self, x: Rows, layer: Layer, where: str) -> Rows:
        """Return the rows after a layer of rectified neurons: distances pass those that surely fire, with their
        signs.
        """
        hidden = self.linear(x, layer.W_in, layer.b_in)
        before, away = hidden.value.copy(order="F"), hidden.off
        np.maximum(hidden.value, 0.0, out=hidden.value)
        known = Rows(hidden.value, np.zeros((1, hidden.value.shape[1])))
        skip = None if layer.skip is None else x.columns(layer.skip)
        still = None if skip is None else Rows(skip.value, np.zeros((1, skip.value.shape[1])))
        result = self.linear(known, layer.W_out, layer.b_out, skip=still, where=where)
        if not x.off.any() and not away.any():
            return result
        fires, size = before > away, np.abs(layer.W_out)
        off, rounded = result.off, self._rounded(_Terms.of(x.value, layer.W_in, layer.b_in, None))
        kink = ~(np.abs(before) > away)  # also where nothing is known
        if len(x.off) == 1 and (layer.W_in != 0.0).sum(axis=1).max(initial=0) <= _FEW:
            together = off + self._passed_by_any(x.off, fires, layer) + rounded @ size
            if (on := kink.any(axis=1)).any():
                together = together + (np.where(kink[on], away, 0.0) @ size).max(axis=0)
            if together.max(initial=0.0) < _NEAR:
                return Rows(result.value, together * _SLACK + _FLOOR)
        if (kink & (away > 0.0)).any():
            off = off + np.where(kink, away, 0.0) @ size
        return Rows(result.value, (off + self._passed(x.off, fires, layer, rounded)) * _SLACK + _FLOOR)

    def _passed(self, x_off: Floats, fires: BoolArray, layer: Layer, rounded: Floats) -> Floats:
        """How far the neurons that fire move what they write, and the skip connection with them, row by row."""
        size = np.abs(layer.W_out)
        off = (rounded * fires) @ size if rounded.any() else np.zeros((1, size.shape[1]))
        for i in map(int, np.flatnonzero(x_off.any(axis=0))):
            off = off + x_off[:, i : i + 1] * self._slope(i, fires, layer, np.arange(len(size)))
        return off

    def _passed_by_any(self, x_off: Floats, fires: BoolArray, layer: Layer) -> Floats:
        """Return the same of the rows in which each column moves most, without what the neurons round, `[1, m]`.

        What a column moves depends on which of the neurons fire that read it: one row of each pattern is looked at.
        """
        off = np.zeros((1, layer.W_out.shape[1]))
        for i in map(int, np.flatnonzero(x_off[0])):
            own = np.flatnonzero(layer.W_in[i])
            seen = np.zeros(1 << len(own), dtype=bool)
            seen[fires[:, own] @ (1 << np.arange(len(own)))] = True
            patterns = (np.flatnonzero(seen)[:, None] >> np.arange(len(own)) & 1).astype(bool)
            off += x_off[0, i] * self._slope(i, patterns, layer, own).max(axis=0)
        return off

    def _slope(self, i: int, fires: BoolArray, layer: Layer, own: Int64Array) -> Floats:
        """Upper bounds of how much column i moves what is written where some of its own neurons fire."""
        slope = np.zeros((1, layer.W_out.shape[1]))
        if layer.skip is not None:
            slope[0, layer.skip == i] = 1.0
        if layer.W_in[i].any():
            into, out = layer.W_in[i, own], layer.W_out[own]
            slope = np.abs(slope + (fires * into) @ out)
            each = _Terms.of(np.abs(into[None]), np.abs(out), None, None)
            error = (_gamma(UNIT, len(own)) + UNIT) * (each.total + 1.0)
            slope += np.where(each.total < LARGEST_EXACT * np.minimum(each.unit, 1.0), 0.0, error)
        return slope

    def grouped(self, groups: list[Group], shift: Floats | None, where: str) -> Rows | None:
        """Return the rows after neurons that are evaluated group by group."""
        value, off = np.zeros((groups[0].layer.W_out.shape[1], len(groups[0].which))), np.zeros((1, 1))
        unit, total = np.full(len(value), np.inf), np.zeros(len(value))
        if shift is not None:
            value += shift[:, None]
            unit, total = low(shift), np.abs(shift)
        for group in groups:
            part = self.neurons(group.rows, group.layer, where)
            together = part.off.max(axis=0, keepdims=True)
            off = off + (
                together if together.max(initial=0.0) < _NEAR else Rows(part.value, part.off).take(group.which).off
            )
            unit, total = np.minimum(unit, units(part.value)), total + np.abs(part.value).max(axis=0, initial=0.0)
            value += part.value.T[:, group.which]
        exact = total <= LARGEST_EXACT * unit
        rounded = np.where(exact, 0.0, _gamma(UNIT, len(groups) + 3) * total + _FLOOR)
        return Rows(value.T, (off + rounded) * _SLACK)

    def _rounded(self, terms: _Terms) -> Floats:
        exact = (terms.total <= LARGEST_EXACT * terms.unit) & (terms.unit >= _FLOOR)
        return np.where(exact, 0.0, _gamma(UNIT, terms.count + 2) * terms.total + _FLOOR)


def _score_terms(query: Rows, key: Rows) -> tuple[float, float, float, float, Floats]:
    """Return what distances change a score by, and of its terms the largest sum, that of the sizes of all factors, ...

    ... how many units the largest sum needs, and a power of two of which all terms and all factors are multiples.
    """
    asks, asked = query.size(), key.size()
    total, factors = float(asks @ asked) * _SLACK, float((asks + asked).sum()) * _SLACK
    doubt = float(query.off.max(axis=0, initial=0.0) @ asked + asks @ key.off.max(axis=0, initial=0.0)) * _SLACK
    doubt += _FLOOR if query.off.any() or key.off.any() else 0.0
    top = float(np.abs(query.value).max(axis=0, initial=0.0) @ np.abs(key.value).max(axis=0, initial=0.0))
    own, others = units(query.value), units(key.value)
    unit = (own * others).min(initial=np.inf)
    need, least = top / float(unit) if unit > 0.0 else np.inf, np.minimum(own, others).min(initial=unit)
    return doubt, total, factors, need, least


def _is_fourth_power_of_two(x: int) -> bool:
    """Whether the fourth root of a positive integer is a power of two."""
    return x & (x - 1) == 0 and x.bit_length() % 4 == 1


def _dusty(x: Rows) -> BoolArray:
    """Which columns are 0 in all rows, and off in some run."""
    return (x.off > 0.0).any(axis=0) & (x.value == 0.0).all(axis=0)


def _finite(unit: Floats) -> Floats:
    """Return the units, with 1 for columns of zeros."""
    return np.where(np.isfinite(unit), unit, 1.0)


def _gamma(unit: float, count: int | Int64Array) -> Floats:
    """Return an upper bound of count * unit / (1 - count * unit); infinite from a quarter on."""
    share = np.asarray(count, dtype=np.float64) * unit
    return np.where(share < 0.25, share / (1.0 - np.minimum(share, 0.25)) * _SLACK, np.inf)


def _needs(x: Floats, column: Floats, more: Floats, value: Floats) -> Floats:
    """How many units the sum of a row needs, in units of that row."""
    own, chosen = low(x), np.flatnonzero(column)
    weight, x, own = column[chosen], x[:, chosen], own[:, chosen]
    terms = np.hstack([np.abs(x * weight), np.abs(more)])
    unit = _finite(np.hstack([own * low(weight), low(more)]).min(axis=1, initial=np.inf))
    share = np.where(x != 0.0, np.abs(x) / np.where(x != 0.0, own, 1.0), 0.0) * (np.abs(weight) / low(weight))
    two = np.maximum(share.max(axis=1, initial=0.0), np.abs(value) / unit)
    return np.where((terms != 0.0).sum(axis=1) <= 2, two, _need(terms.sum(axis=1), value, unit))


def _need(sizes: Floats, value: Floats, unit: Floats) -> Floats:
    """How many units all positive terms have, or all negative ones, given the sum of all sizes and that of all terms.

    Where so many units are exact in float64 it is half of both together; no partial sum is larger.
    """
    units = sizes / unit
    return np.where(units <= LARGEST_EXACT, (sizes + np.abs(value)) / (2.0 * unit), units)
