r"""Bound how far real arithmetic is from the numbers that every run shares, entry by entry.

Page: docs/rigour/runs.md, Lemma R14.
"""

import math

import numpy as np

from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.elementary import exp
from verify.arithmetic.rounding import UNIT, Floats
from verify.runs.terms import (
    FLOOR,
    GAP,
    LARGEST_EXACT,
    SLACK,
    Group,
    Layer,
    Rows,
    ScoreTerms,
    Terms,
    average,
    furthest,
    gamma,
    largest,
    low,
    units,
)

_FEW = 16  # neurons whose patterns of firing are told apart, instead of rows
_NEAR = 2.0**-10  # up to which all rows may share the largest distance of any of them


class InReals:
    """Follow real arithmetic: the integers of every run, and a bound of the distance for each entry.

    Sums are evaluated in float64, without an error where all terms are multiples of a unit of which $2^{53}$ hold them.

    By Lemma R14.
    """

    unit = 0.0
    bits = 0.0
    format = None

    def __init__(self) -> None:
        self.stopped = ""

    def stop(self, why: str) -> None:
        """Record the first reason why nothing is known about a row."""
        self.stopped = self.stopped or why

    def exact(self, x: Floats, y: Floats) -> Rows:
        """Return the entrywise sums of two given arrays."""
        terms = Terms.of(x, np.eye(x.shape[1]), None, y)
        return Rows(np.asfortranarray(x + y), self._rounded(terms)[None])

    def linear(
        self, x: Rows, matrix: Floats, shift: Floats | None, *, skip: Rows | None = None, where: str = ""
    ) -> Rows:
        """Return the product of the rows `[P, n]` with a matrix `[n, m]`, plus a shift and the skip rows, `[P, m]`."""
        del where
        value = (matrix.T @ x.value.T).T
        value += 0.0 if shift is None else shift
        value += 0.0 if skip is None else skip.value
        terms = Terms.of(x.value, matrix, shift, None if skip is None else skip.value)
        off = x.off @ np.abs(matrix) + (0.0 if skip is None else skip.off) + self._rounded(terms)
        return Rows(value, off * SLACK + (FLOOR if x.off.any() else 0.0))

    unembed = linear

    def weighted_mean(self, x: Rows, reads: Int64Array, dust: Floats, length: int) -> Rows:
        """Return the averages of rows, with the arguments of `InRuns.weighted_mean`."""
        count, top = reads.shape[1], largest(x.value)
        whole = (count == 1) | (top * count <= LARGEST_EXACT * units(x.value))  # `linear` left room for underflow
        # The k - 1 additions and the quotient round by at most gamma_k of the largest size, which is less.
        rounded = np.where(whole, 0.0, 2.0 * UNIT * (count + length) * top)
        return Rows(average(x, reads), (furthest(x, reads) + dust + rounded) * SLACK)

    def score_error(self, query: Rows, key: Rows, score_root: int) -> tuple[float, bool]:
        """Bound the errors of the scores of these queries and keys, and tell whether all are exact."""
        terms = ScoreTerms.of(query, key)
        exact = terms.need <= LARGEST_EXACT
        error = terms.doubt
        if not exact:
            error += float(gamma(UNIT, query.value.shape[1] + 3)) * terms.total + FLOOR
        if score_root != 1:  # a root and a quotient in float64
            error = (error + 16.0 * UNIT * terms.total + FLOOR) / math.sqrt(score_root) * 1.01
        return error, exact and score_root == 1

    def decides(self, gap: Floats, error: float, exact: bool, count: Int64Array, length: int) -> BoolArray:
        """Decide which heads' outputs are known: `count` top scores lead by `gap`, all off by at most `error`."""
        del exact, length
        return (gap - 2.0 * error >= GAP) & ((count == 1) | ((error <= 0.125) & (count & (count - 1) == 0)))

    def weight_of_others(self, gap: float, error: float, count: Int64Array, length: int) -> float:
        """Bound how far an average moves, in units of the largest value, for queries with this many top rows."""
        gap = (gap - 2.0 * error) * (1.0 - 2.0**-40)
        tail = 0.0 if (count == length).all() else float(exp(np.array(-min(gap, 700.0))).upper())
        moved = 2.0 * length * tail  # Lemma R14 (i)
        if (count > 1).any():  # equal scores that differ by 2 error weigh e^(2 error) times as much as another
            moved += 5.0 * error
        return moved * SLACK

    def neurons(self, x: Rows, layer: Layer, where: str) -> Rows:
        """Return the rows after a layer of rectified neurons; errors pass, with signs, through neurons that surely
        fire.
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
        off, rounded = result.off, self._rounded(Terms.of(x.value, layer.W_in, layer.b_in, None))
        kink = ~(np.abs(before) > away)  # also where nothing is known
        if len(x.off) == 1 and (layer.W_in != 0.0).sum(axis=1).max(initial=0) <= _FEW:
            together = off + self._passed_by_any(x.off, fires, layer) + rounded @ size
            if (on := kink.any(axis=1)).any():
                together = together + (np.where(kink[on], away, 0.0) @ size).max(axis=0)
            if together.max(initial=0.0) < _NEAR:
                return Rows(result.value, together * SLACK + FLOOR)
        if (kink & (away > 0.0)).any():
            off = off + np.where(kink, away, 0.0) @ size
        return Rows(result.value, (off + self._passed(x.off, fires, layer, rounded)) * SLACK + FLOOR)

    def _passed(self, x_off: Floats, fires: BoolArray, layer: Layer, rounded: Floats) -> Floats:
        """Bound how far the firing neurons, with the skip connection, move the output, row by row."""
        size = np.abs(layer.W_out)
        off = (rounded * fires) @ size if rounded.any() else np.zeros((1, size.shape[1]))
        for i in np.flatnonzero(x_off.any(axis=0)).tolist():
            off = off + x_off[:, i : i + 1] * self._slope(i, fires, layer, np.arange(len(size)))
        return off

    def _passed_by_any(self, x_off: Floats, fires: BoolArray, layer: Layer) -> Floats:
        """Bound the result of `_passed` over the rows in which each column moves most, without the neurons' rounding,
        `[1, m]`.

        What a column moves depends on which of the neurons fire that read it: one row of each pattern is looked at.
        """
        off = np.zeros((1, layer.W_out.shape[1]))
        for i in np.flatnonzero(x_off[0]).tolist():
            own = np.flatnonzero(layer.W_in[i])
            bits = np.arange(len(own))
            seen = np.zeros(1 << len(own), dtype=bool)
            seen[fires[:, own] @ (1 << bits)] = True
            patterns = (np.flatnonzero(seen)[:, None] >> bits & 1).astype(bool)
            off += x_off[0, i] * self._slope(i, patterns, layer, own).max(axis=0)
        return off

    def _slope(self, i: int, fires: BoolArray, layer: Layer, own: Int64Array) -> Floats:
        """Bound how much column i moves the output if some of its own neurons fire."""
        slope = np.zeros((1, layer.W_out.shape[1]))
        if layer.skip is not None:
            slope[0, layer.skip == i] = 1.0
        if layer.W_in[i].any():
            into, out = layer.W_in[i, own], layer.W_out[own]
            slope = np.abs(slope + (fires * into) @ out)
            terms = Terms.of(np.abs(into[None]), np.abs(out), None, None)
            error = (gamma(UNIT, len(own)) + UNIT) * (terms.total + 1.0)
            slope += np.where(terms.total < LARGEST_EXACT * np.minimum(terms.unit, 1.0), 0.0, error)
        return slope

    def grouped(self, groups: list[Group], shift: Floats | None, where: str) -> Rows | None:
        """Return the rows after neurons that are evaluated group by group."""
        width = groups[0].layer.W_out.shape[1]
        value, off = np.zeros((width, len(groups[0].which))), np.zeros((1, 1))
        unit, total = np.full(width, np.inf), np.zeros(width)
        if shift is not None:
            value += shift[:, None]
            unit, total = low(shift), np.abs(shift)
        for group in groups:
            part = self.neurons(group.rows, group.layer, where)
            value += part.value.T[:, group.which]
            unit, total = np.minimum(unit, units(part.value)), total + largest(part.value)
            together = part.off.max(axis=0, keepdims=True)
            off = off + (together if together.max(initial=0.0) < _NEAR else part.take(group.which).off)
        exact = total <= LARGEST_EXACT * unit
        rounded = np.where(exact, 0.0, gamma(UNIT, len(groups) + 3) * total + FLOOR)
        return Rows(value.T, (off + rounded) * SLACK)

    def _rounded(self, terms: Terms) -> Floats:
        exact = (terms.total <= LARGEST_EXACT * terms.unit) & (terms.unit >= FLOOR)
        return np.where(exact, 0.0, gamma(UNIT, terms.count + 2) * terms.total + FLOOR)
