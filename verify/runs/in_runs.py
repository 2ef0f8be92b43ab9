"""Follow every run in a number format as long as no sum is rounded.

Each number is kept as a float64 and a bound of how far a run may be from it: 0 where Theorem R12 says that all runs
have this very number.

Page: docs/rigour/runs.md, Theorem R12.
"""

import math
from dataclasses import dataclass
from functools import cached_property

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
    ScoreTerms,
    Terms,
    average,
    finite,
    furthest,
    gamma,
    in_units,
    largest,
    low,
    units,
)


class InRuns:
    """Follow every run in a format, in any order of summation, with or without fused multiply-add.

    Args:
        number_format: The format; its significand has p bits.

    By Theorem R12.
    """

    def __init__(self, number_format: FloatFormat) -> None:
        self.format = number_format
        self.unit = number_format.unit_roundoff
        self.smallest = number_format.smallest_normal
        self.largest = number_format.largest / 8.0  # (i) asks for sums of sizes of at most an eighth
        self.most = min(1.0 / self.unit, LARGEST_EXACT)  # units of a sum: 2^p, as far as float64 counts them
        self.need = 1.0  # the largest number of units that an exact sum needed
        self.stopped = ""

    @property
    def bits(self) -> float:
        """Return the bits that the largest of the exact sums needed."""
        return math.log2(self.need)

    def stop(self, why: str) -> None:
        """Record the first reason why something is not exact."""
        self.stopped = self.stopped or why

    def exact(self, x: Floats, y: Floats) -> Rows:
        """Return the entrywise sums of two given arrays."""
        value = np.asfortranarray(x + y)
        unit = np.minimum(units(x), units(y))
        size = largest(x) + largest(y)
        need = largest(value) / finite(unit)  # by (ii) the sum alone has to fit
        exact = self._fits(x) & self._fits(y) & (need <= self.most) & self._in_range(unit, size)
        self._note(need[exact])
        rounded = self._rounded(size, np.full(len(size), 2))
        return Rows(value, np.where(exact, 0.0, rounded)[None])

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
            where: Place of the sum, for the reason.

        Returns:
            `[P, m]`.
        """
        moved = (matrix != 0.0).any(axis=0)
        if shift is not None:
            moved |= shift != 0.0
        if skip is not None and not moved.all() and np.isfinite(x.off).all():  # adding zeros changes nothing
            some = np.flatnonzero(moved)
            shifts = None if shift is None else shift[some]
            part = self._linear(_Sums.of(x, matrix[:, some], shifts, skip.columns(some)), fires, where)
            value = skip.value.copy(order="F")
            value[:, some] = part.value
            off = np.broadcast_to(skip.off, (max(len(skip.off), len(part.off)), len(moved))).copy()
            off[:, some] = part.off
            result = Rows(value, off)
        else:
            result = self._linear(_Sums.of(x, matrix, shift, skip), fires, where)
        if fires:
            np.maximum(result.value, 0.0, out=result.value)
        return result

    def _linear(self, sums: "_Sums", fires: bool, where: str) -> Rows:
        """Return sums, by the common properties of each column or else row by row."""
        value, terms = sums.value, sums.terms
        drift, count = self._drift(sums), sums.count
        fits = self._fits(sums.matrix) & (terms.unit >= self.smallest)
        if sums.shift is not None:
            fits &= self._fits(sums.shift[None])
        unit = finite(terms.unit)
        need = terms.total / unit
        two = np.maximum(terms.factors, largest(value) / unit)  # by (ii) each product and the value have to fit
        need = np.where((terms.count <= 2) & (need > self.most), two, need)
        good = fits & (need <= self.most) & (terms.total <= self.largest)
        self._note(need[good])
        exact = good & self._absorbs(unit, drift, count)
        total = terms.total[None]
        by_row = np.flatnonzero(fits & ~good)
        if len(by_row):
            exact = np.broadcast_to(exact, value.shape).copy()
            total = np.broadcast_to(total, value.shape).copy()
        for j in by_row.tolist():
            total[:, j] = sums.sizes(j)
            own = self._units_by_row(sums, j, total[:, j], drift[:, j], fires)
            fit = (own <= self.most) & (total[:, j] <= self.largest)
            self._note(own[fit])
            exact[:, j] = fit & self._absorbs(unit[j], drift[:, j], count[j])
        if exact.all() and not drift.any():
            return Rows(value, np.zeros((1, len(unit))))
        if (~exact & fits & (drift == 0.0)).any():
            self.stop(f"{where}: a sum needs more than {math.log2(1.0 / self.unit):.0f} bits")
        return Rows(value, self._off(value, exact, drift, total, count) * SLACK)

    def _drift(self, sums: "_Sums") -> Floats:
        """Return the total error of the terms of each sum: D of Theorem R12, and weights that are treated as 0."""
        size = np.abs(sums.matrix)
        drift = sums.x.off @ size
        if sums.skip is not None:
            drift = drift + sums.skip.off
        drift = drift * SLACK
        # H1 (DAZ): a weight below the least normal number may be read as 0, which loses less than 2 lambda |x|.
        tiny = (size > 0.0) & (size < self.smallest)
        return drift + 2.0 * self.smallest * (sums.x.size() @ tiny) if tiny.any() else drift

    def _units_by_row(self, sums: "_Sums", j: int, sizes: Floats, drift: Floats, fires: bool) -> Floats:
        """Return how many units the sums of column j need, by row; a surely silent neuron needs one."""
        value = sums.value[:, j]
        need = _need(sizes, value, finite(sums.terms.unit)[j])
        left = np.flatnonzero(need > self.most)
        if fires and len(left):
            silent = left[self._is_silent(sums, j, left, sizes, drift)]
            value[silent] = -1.0
            need[silent] = 1.0
            left = np.setdiff1d(left, silent, assume_unique=True)
        if len(left):
            need[left] = sums.needs(j, left)
        return need

    def _is_silent(self, sums: "_Sums", j: int, rows: Int64Array, sizes: Floats, drift: Floats) -> BoolArray:
        """Tell for each of some rows whether ReLU gives 0 in every run, by (iii) of Theorem R12.

        y is computed here in float64: its rounding is within the second half of 4 gamma.
        """
        away = drift if len(drift) == 1 else drift[rows]
        count = sums.count[j]
        rounded = 4.0 * gamma(self.unit, count + 2) * (sizes[rows] + away)
        underflown = 8.0 * (count + 1) * self.smallest
        return sums.value[rows, j] + (rounded + 2.0 * away + underflown) <= 0.0

    def _off(self, value: Floats, exact: BoolArray, drift: Floats, total: Floats, count: Int64Array) -> Floats:
        """Bound the error of sums: by dust next to a 0 where they are exact, elsewhere by their rounding."""
        is_zero = (value == 0.0).any(axis=0) if len(exact) == 1 else value == 0.0
        dust = np.where(is_zero, self._dust(drift, count), 0.0)
        return np.where(exact, dust, drift + self._rounded(total + drift, count))

    def weighted_mean(self, x: Rows, reads: Int64Array, dust: Floats, length: int) -> Rows:
        """Return the averages of rows, `[Q, d]`.

        Args:
            x: `[P, d]`.
            reads: Indices of the rows that are averaged, `[Q, k]`.
            dust: What the rows that are not read add at most, `[d]`.
            length: How many rows there are with them.
        """
        count = reads.shape[1]
        value = average(x, reads)
        drift = (furthest(x, reads) + dust) * SLACK
        top = largest(x.value)
        unit = units(x.value) / count
        terms = np.full(len(top), length + 3)  # of each row a product, and the quotient by the sum of the numerators
        exact = self._absorbs(unit, drift, terms) & self._in_range(unit, top)
        if count > 1:  # (v) of Theorem R12; one row alone is passed on as it is, by (iv)
            need = top / finite(unit)
            exact &= need <= self.most
            self._note(need)
        return Rows(value, self._off(value, exact, drift, top, terms))

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
            unit = np.minimum(unit, low(shift))
            total += np.abs(shift)
            fits &= self._fits(shift[None])
        need = total / finite(unit)
        if not (fits & self._in_range(unit, total) & (need <= self.most)).all():
            return None
        self._note(need)
        return Rows(value.T, np.zeros((1, width)))

    def score_error(self, query: Rows, key: Rows, score_root: int) -> tuple[float, bool]:
        """Bound the errors of the scores of these queries and keys, and tell whether all are exact.

        They are divided before or after, or both factors by the fourth root. Scores that are 0 stay 0.
        """
        if ((query.size() == 0.0) | (key.size() == 0.0)).all():  # what is not known has no size and is not 0
            return 0.0, True
        terms = ScoreTerms.of(query, key)
        root = math.sqrt(score_root)
        exact = _is_fourth_power_of_two(score_root) and terms.doubt == 0.0 and terms.need <= self.most
        if exact and self._in_range(terms.unit / root, np.array(terms.total)):
            return 0.0, True
        error = terms.doubt + float(self._rounded(np.array(terms.total), np.array(query.value.shape[1])))
        if score_root != 1:
            # At most five roundings for the scale (Lemma R10, Scores), and the root and the quotient of float64.
            error = (error + 8.0 * (self.unit + 2.0 * UNIT) * terms.total) / root * 1.01
            # What is divided may be flushed: the score, or each factor, by 2 lambda (H1) times the other one.
            error += 4.0 * self.smallest * (terms.factors + 1.0)
        return error, False

    def decides(self, gap: Floats, error: float, exact: bool, count: Int64Array, length: int) -> BoolArray:
        """Decide which heads' outputs are known: `count` top scores lead by `gap`, all off by at most `error`."""
        lead = (gap - 2.0 * error) * (1.0 - 4.0 * self.unit) >= GAP
        lead &= (count == length) | (4.0 * length * self._tau() <= self.format.finest / 4.0)  # (iv) of Theorem R12
        is_power_of_two = count & (count - 1) == 0
        return lead & ((count == 1) | (exact & is_power_of_two))

    def weight_of_others(self, gap: float, error: float, count: Int64Array, length: int) -> float:
        """Bound the total weight of all rows below the top ones, for queries with this many top rows."""
        del gap, error
        return 0.0 if (count == length).all() else 4.0 * length * self._tau()

    def _tau(self) -> float:
        """Return tau of H5 (c): a row whose score is at least 120 below the top weighs at most twice as much."""
        return max(2.0**-173, 2.0 * self.unit * self.smallest)  # e^-120 < 2^-173, and the least subnormal number

    def _fits(self, matrix: Floats) -> BoolArray:
        """Tell for each column whether the format represents all of its entries, `[m]`."""
        size, lows = np.abs(matrix), low(matrix)
        most = self.most / 8.0 if self.unit <= UNIT else self.most  # of float64 itself with room for what is added here
        inside = size <= most * lows
        inside &= (size <= self.largest) & (lows >= self.smallest)
        return ((matrix == 0.0) | inside).all(axis=0)

    def _in_range(self, unit: Floats, total: Floats) -> BoolArray:
        """Tell whether no partial sum overflows, or is small enough to be flushed."""
        return (unit >= self.smallest) & (total <= self.largest)

    def _absorbs(self, unit: Floats, drift: Floats, count: Int64Array) -> BoolArray:
        """Tell whether sums of multiples of a unit absorb the errors of their terms, in finer formats too.

        (i) of Theorem R12: 16 (n + 1) lambda u <= 2^e v, (n + 2) u < 1/4 and D < 2^(e - 3) v, with v = `finest`.
        """
        unit, finest = finite(unit), self.format.finest
        least = 16.0 * (count + 1) * self.smallest * (self.unit / finest)
        enough = (unit >= least) & ((count + 2) * self.unit < 0.25)
        return (drift == 0.0) | (enough & (drift < finest / 8.0 * unit))

    def _dust(self, drift: Floats, count: Int64Array) -> Floats:
        """Bound the computed value where the exact one is 0 and the terms are off by `drift` in total.

        (i) of Theorem R12: (1 + gamma_(n+2)) D + 2 (n + 1) u lambda.
        """
        rounded = drift * (1.0 + gamma(self.unit, count + 2))
        underflown = (count + 1) * (2.0 * self.unit * self.smallest)
        return np.where(drift > 0.0, rounded + underflown, 0.0) * SLACK

    def _rounded(self, sizes: Floats, count: Int64Array) -> Floats:
        """Bound the distance of two evaluations of sums, one in the format and one in float64.

        As Lemma T1 with u + 2^-53: a term is converted, multiplied, and passes at most n + 1 sums. What underflows is
        2 lambda at each of these 2 (n + 1) operations (H1), with a factor below 2 after it, in either evaluation.
        """
        error = gamma(self.unit + UNIT, count + 3) * sizes + 16.0 * (count + 1) * self.smallest
        return np.where(sizes <= self.largest, error, np.inf) * SLACK

    def _note(self, need: Floats) -> None:
        self.need = max(self.need, float(need.max(initial=1.0)))


def _is_fourth_power_of_two(x: int) -> bool:
    """Tell whether the fourth root of a positive integer is a power of two."""
    return x & (x - 1) == 0 and x.bit_length() % 4 == 1


@dataclass(frozen=True, eq=False)
class _Sums:
    """The rows times a matrix, plus a shift and the skip rows: one sum per entry of the result.

    Args:
        x: `[P, n]`.
        matrix: `[n, m]`.
        shift: `[m]`, or none.
        skip: `[P, m]`, or none.
        value: The sums in float64, `[P, m]`.
        terms: What the sums of a column have in common.
    """

    x: Rows
    matrix: Floats
    shift: Floats | None
    skip: Rows | None
    value: Floats
    terms: Terms

    @classmethod
    def of(cls, x: Rows, matrix: Floats, shift: Floats | None, skip: Rows | None) -> "_Sums":
        """Evaluate the sums in float64."""
        value = (matrix.T @ x.value.T).T
        if shift is not None:
            value += shift
        if skip is not None:
            value += skip.value
        terms = Terms.of(x.value, matrix, shift, None if skip is None else skip.value)
        return cls(x, matrix, shift, skip, value, terms)

    @cached_property
    def count(self) -> Int64Array:
        """Upper bound of the nonzero terms of a run, `[m]`, including products of errors next to 0, which are rounded
        too.
        """
        count = self.terms.count + np.count_nonzero(self.matrix[_is_dust(self.x)], axis=0)
        return count if self.skip is None else count + _is_dust(self.skip)

    def sizes(self, j: int) -> Floats:
        """Return the sum of the sizes of the terms in column j, `[P]`."""
        sizes = np.abs(self.x.value) @ np.abs(self.matrix[:, j])
        if self.shift is not None:
            sizes += abs(self.shift[j])
        if self.skip is not None:
            sizes += np.abs(self.skip.value[:, j])
        return sizes

    def needs(self, j: int, rows: Int64Array) -> Floats:
        """Return how many units the sums of some rows need in column j, in units of each row, `[rows]`."""
        chosen = np.flatnonzero(self.matrix[:, j])
        x, weight, value = self.x.value[np.ix_(rows, chosen)], self.matrix[chosen, j], self.value[rows, j]
        added = [np.full((len(rows), 1), 0.0 if self.shift is None else self.shift[j])]
        if self.skip is not None:
            added.append(self.skip.value[rows, j : j + 1])
        terms = np.hstack([x * weight, *added])
        lows, weight_lows = low(x), low(weight)
        unit = np.hstack([lows * weight_lows, *(low(more) for more in added)]).min(axis=1, initial=np.inf)
        unit = finite(unit)
        products = in_units(x, lows) * in_units(weight, weight_lows)
        two = np.maximum(products.max(axis=1, initial=0.0), np.abs(value) / unit)  # (ii) of Theorem R12
        is_two = (terms != 0.0).sum(axis=1) <= 2
        return np.where(is_two, two, _need(np.abs(terms).sum(axis=1), value, unit))


def _is_dust(x: Rows) -> BoolArray:
    """Decide which columns are 0 in all rows, and off in some run."""
    return (x.off > 0.0).any(axis=0) & (x.value == 0.0).all(axis=0)


def _need(sizes: Floats, value: Floats, unit: Floats) -> Floats:
    """Return how many units the positive or the negative terms add up to, given the sums of sizes and of terms.

    Where this many units are exact in float64 it is half of both together; no partial sum is larger.
    """
    count = sizes / unit
    return np.where(count <= LARGEST_EXACT, (sizes + np.abs(value)) / (2.0 * unit), count)
