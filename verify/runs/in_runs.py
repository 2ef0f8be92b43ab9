r"""What every run in a number format computes, where no rounding touches a sum.

Each number is kept as a float64 and a bound of how far a run may be from it: 0 where Theorem R12 says that all runs
have this very number.

Page: docs/rigour/runs.md, Theorem R12.
"""

import math

import numpy as np

from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.rounding import UNIT, Floats
from verify.runs.formats import FloatFormat
from verify.runs.terms import (
    GAP,
    LARGEST_EXACT,
    SLACK,
    Group,
    Layer,
    Rows,
    Terms,
    finite,
    gamma,
    low,
    score_terms,
    units,
)


class InRuns:
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
        need = np.abs(value).max(axis=0, initial=0.0) / finite(unit)
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
        drift = (x.off @ size + (0.0 if skip is None else skip.off)) * SLACK
        if (tiny := (size > 0.0) & (size < self.format.smallest_normal)).any():  # weights that may be taken for 0
            drift = drift + 2.0 * self.format.smallest_normal * (x.size() @ tiny)
        terms = Terms.of(x.value, matrix, shift, None if skip is None else skip.value)
        count = terms.count + np.count_nonzero(matrix[_dusty(x)], axis=0)  # what is off is rounded, also beside 0
        count += 0 if skip is None else _dusty(skip)
        fits = self._fits(matrix) & (terms.unit >= self.format.smallest_normal)
        fits &= True if shift is None else self._fits(shift[None])
        unit, most = finite(terms.unit), self.format.largest / 8.0
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
                error = 4.0 * gamma(self.unit, count[j] + 2) * (sizes[open_] + away) + 2.0 * away
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
        return Rows(value, np.where(exact, dust, drift + self._rounded(total + drift, count)) * SLACK)

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
        drift, top = (drift + dust) * SLACK, np.abs(x.value).max(axis=0, initial=0.0)
        unit = units(x.value) / count
        need, terms = top / finite(unit), np.full(len(top), length + 3)
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
            unit = np.minimum(unit, Terms.of(hidden.value, matrix, None, None).unit)
            total += (np.abs(matrix).T @ hidden.value.T).max(axis=1, initial=0.0)
            value += (matrix.T @ hidden.value.T)[:, group.which]
        if shift is not None:
            value += shift[:, None]
            unit, total, fits = np.minimum(unit, low(shift)), total + np.abs(shift), fits & self._fits(shift[None])
        need = total / finite(unit)
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
        doubt, total, factors, need, least = score_terms(query, key)
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
        unit, finest = finite(unit), self.format.finest
        least = 16.0 * (count + 1) * self.format.smallest_normal * (self.unit / finest)
        enough = (unit >= least) & ((count + 2) * self.unit < 0.25)
        return (drift == 0.0) | (enough & (drift < finest / 8.0 * unit))

    def _dust(self, drift: Floats, count: Int64Array) -> Floats:
        """Return what is computed at most where the exact value is 0 and the terms are off by `drift` together."""
        least = 2.0 * self.unit * self.format.smallest_normal
        return np.where(drift > 0.0, drift * (1.0 + gamma(self.unit, count + 2)) + (count + 1) * least, 0.0) * SLACK

    def _rounded(self, sizes: Floats, count: Int64Array) -> Floats:
        """How far two evaluations of sums may be apart, one in the format and one in float64."""
        error = gamma(self.unit + UNIT, count + 3) * sizes + 16.0 * (count + 1) * self.format.smallest_normal
        return np.where(sizes <= self.format.largest / 8.0, error, np.inf) * SLACK

    def _note(self, need: Floats) -> None:
        self.need = max(self.need, float(need.max(initial=1.0)))


def _is_fourth_power_of_two(x: int) -> bool:
    """Whether the fourth root of a positive integer is a power of two."""
    return x & (x - 1) == 0 and x.bit_length() % 4 == 1


def _dusty(x: Rows) -> BoolArray:
    """Which columns are 0 in all rows, and off in some run."""
    return (x.off > 0.0).any(axis=0) & (x.value == 0.0).all(axis=0)


def _needs(x: Floats, column: Floats, more: Floats, value: Floats) -> Floats:
    """How many units the sum of a row needs, in units of that row."""
    own, chosen = low(x), np.flatnonzero(column)
    weight, x, own = column[chosen], x[:, chosen], own[:, chosen]
    terms = np.hstack([np.abs(x * weight), np.abs(more)])
    unit = finite(np.hstack([own * low(weight), low(more)]).min(axis=1, initial=np.inf))
    share = np.where(x != 0.0, np.abs(x) / np.where(x != 0.0, own, 1.0), 0.0) * (np.abs(weight) / low(weight))
    two = np.maximum(share.max(axis=1, initial=0.0), np.abs(value) / unit)
    return np.where((terms != 0.0).sum(axis=1) <= 2, two, _need(terms.sum(axis=1), value, unit))


def _need(sizes: Floats, value: Floats, unit: Floats) -> Floats:
    """How many units all positive terms have, or all negative ones, given the sum of all sizes and that of all terms.

    Where so many units are exact in float64 it is half of both together; no partial sum is larger.
    """
    units = sizes / unit
    return np.where(units <= LARGEST_EXACT, (sizes + np.abs(value)) / (2.0 * unit), units)
