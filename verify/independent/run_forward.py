r"""What every run of the given weights in a number format computes: exact integers, and how far a run may be from each.

A run rounds each sum and product to p bits, in any order, with or without fused multiply-add. Where Theorem R12 says
that no rounding touches a number, its radius is 0 and every run has it; elsewhere the radius counts each rounding.
Integers, and balls for the exponential: no code is shared with the prover.

Pages: docs/rigour/runs.md, docs/rigour/certificate.md
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import add, mul
from typing import Any

from flint import arb, ctx, fmpz_mat

from verify.arithmetic.integers import Integers
from verify.independent.ball_forward import NoInformationError
from verify.independent.exact_forward import ExactForward
from verify.independent.plain.plain_model import PlainBlock, PlainModel
from verify.runs.formats import FloatFormat

UNIT = 1200
"""Radii are integers over 2 to this power, rounded up; the least number of float64 is 2^-1074."""

_BITS = 256  # of balls, and behind the point of what is no exact number
_LONGEST = 2**14  # bits of an integer
_GAP = 120  # by which a top score leads, so that the others weigh nothing
_OTHERS = 1 << UNIT - 173  # more than e^-120, over 2^UNIT
_BLOCK = 16  # positions of a block of a softmax, at least (H4)

Numbers = list[list[int]]
_Row = tuple[int, ...]
_Output = tuple[int, tuple[int, ...]]  # a row that asks, and the rows that it reads
_Mixed = tuple[list[int], list[int], int]  # integers, their radii, and their scale


@dataclass(frozen=True)
class RunRows:
    """Distinct rows of numbers, and which of them stand at the positions of each context.

    Args:
        values: Integers over `2^scale`, a list for each row.
        scale: See there.
        radii: How far a run may be from each, over `2^UNIT`; 0 where every run has the number itself.
        cells: Of each context the rows at its positions.
    """

    values: Numbers
    scale: int
    radii: Numbers
    cells: list[tuple[int, ...]]

    def distinct(self) -> "RunRows":
        """The same with each row once, over the least power of two."""
        spare = min((_low(n) for row in self.values for n in row if n), default=self.scale)
        spare = min(spare, self.scale)
        found: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        place = [
            found.setdefault((tuple(row), tuple(radius)), len(found))
            for row, radius in zip(self.values, self.radii, strict=True)
        ]
        values = [[n >> spare for n in row] for row, _ in found]
        if any(n.bit_length() > _LONGEST for row in values for n in row):
            raise NoInformationError(f"integers of more than {_LONGEST} bits")
        cells = [tuple([place[r] for r in cell]) for cell in self.cells]
        return RunRows(values, self.scale - spare, [list(radius) for _, radius in found], cells)

    def taken(self, rows: Sequence[int]) -> "RunRows":
        """These rows, in this order, which stand in no context."""
        return RunRows([self.values[r] for r in rows], self.scale, [self.radii[r] for r in rows], [])


class RunForward:
    """The outputs of every run of a model of plain attention and ReLU neurons.

    Args:
        model: The model.
        number_format: Of the runs.
        exact: Whether H5 may be used: sums of few bits are not rounded.
        soft: Whether H3 and H4 may be used: what a softmax computes is known.
        exp_ulps: By how many units in the last place the exponential is off at most.

    Raises:
        NoInformationError: Other blocks, or a weight that may overflow.
    """

    def __init__(
        self, model: PlainModel, number_format: FloatFormat, *, exact: bool, soft: bool, exp_ulps: float
    ) -> None:
        if not ExactForward.fits(model):
            raise NoInformationError("runs are followed through plain attention and ReLU neurons alone")
        self.model, self.exact, self.soft, self.exp_ulps = model, exact, soft, exp_ulps
        self.bits = round(-math.log2(number_format.unit_roundoff))  # p, where u = 2^-p
        self.finest = round(-math.log2(number_format.finest))  # bits of the longest format beside it (H5 b)
        self.least = round(math.log2(number_format.smallest_normal))  # lambda is 2 to this power
        self.tiny = 1 << UNIT + self.least  # lambda, over 2^UNIT
        self.most = int(number_format.largest) // 8
        if any(abs(x) > self.most for tensor in model.tensors.values() for x in tensor.values):
            raise NoInformationError("a weight may overflow")

    def run(self, contexts: Sequence[tuple[int, ...]]) -> "RunOutputs":
        """The outputs for contexts, each of which has one row.

        Raises:
            NoInformationError: Nothing is known of some row, or a number may overflow.
        """
        rows = self._read_in(contexts)
        for block in self.model.blocks:
            rows = (self._attended if block.kind == "attention" else self._fed)(block, rows).distinct()
        ends = [cell[-1] for cell in rows.cells]
        used = {row: place for place, row in enumerate(dict.fromkeys(ends))}
        before, readout = rows.taken(list(used)), self.model.tensors["unembed.W_U"]
        shift = self.model.tensors.get("unembed.b_U")
        shifts = None if shift is None else shift.values
        read = self.mapped(before, Integers.exact(readout.values), readout.shape[1], shifts)
        return RunOutputs(self, before, read, [used[end] for end in ends])

    def _read_in(self, contexts: Sequence[tuple[int, ...]]) -> RunRows:
        """Sums of two given numbers, or the numbers of the tokens alone."""
        pairs = sorted({pair for context in contexts for pair in enumerate(context)})
        place = {pair: i for i, pair in enumerate(pairs)}
        tokens, positions = self.model.tensors["embed.W_E"], self.model.tensors.get("pos_embed.W_pos")
        width = self.model.d_model
        none = [0.0] * width
        given = Integers.exact(
            [x for s, t in pairs for x in (*tokens.row(t), *(none if positions is None else positions.row(s)))]
        )
        values, radii = [], []
        for start in range(0, len(given.values), 2 * width):
            first, second = given.values[start : start + width], given.values[start + width : start + 2 * width]
            values.append([*map(add, first, second)])
            radii.append([self._of_two(a, b, given.scale) for a, b in zip(first, second, strict=True)])
        cells = [tuple([place[pair] for pair in enumerate(context)]) for context in contexts]
        return RunRows(values, given.scale, radii, cells).distinct()

    def _of_two(self, a: int, b: int, scale: int) -> int:
        """The radius of the sum of two given numbers: two conversions and a sum."""
        if self.exact and all(self.fits(n, scale) for n in (a, b, a + b)):
            return 0
        return self.rounding(3, over_unit(abs(a) + abs(b), scale)) + 8 * self.tiny

    def _fed(self, block: PlainBlock, rows: RunRows) -> RunRows:
        """Rows after rectified neurons."""
        b_in, b_out = (block.tensors.get(name) for name in ("b_in", "b_out"))
        into, out = (Integers.exact(block.tensors[name].values) for name in ("W_in", "W_out"))
        hidden = self.mapped(rows, into, block.shape("W_in")[1], None if b_in is None else b_in.values)
        values, radii = [], []
        for row, radius in zip(hidden.values, hidden.radii, strict=True):
            # A maximum is exact, and 1-Lipschitz; what is at most 0 in every run becomes 0 in every run.
            silent = [n <= 0 and (n << UNIT) + (r << hidden.scale) <= 0 for n, r in zip(row, radius, strict=True)]
            values.append([max(0, n) for n in row])
            radii.append([0 if is_silent else r for r, is_silent in zip(radius, silent, strict=True)])
        fired = RunRows(values, hidden.scale, radii, rows.cells)
        skip = rows if block.options["skip"] else None
        return self.mapped(fired, out, block.writes, None if b_out is None else b_out.values, skip)

    def mapped(
        self,
        rows: RunRows,
        weights: Integers,
        width: int,
        shift: Sequence[float] | None,
        skip: RunRows | None = None,
    ) -> RunRows:
        r"""Rows times a matrix of `width` columns, plus a shift and the skip rows: each entry is one sum of terms (H2).

        Let the n terms have the sum Y and sizes that add up to T, and let D be what their factors are off by together.
        Where the terms are multiples of $2^e$ and $(T + |Y|)/2 \le 2^{p + e}$, which bounds all positive terms and all
        negative ones, no partial sum is rounded (Theorem R12 (i)). Elsewhere a term passes n - 1 sums, a product and
        the conversion of its weight: the sum is off by at most $D + \gamma_{n + 1}(T + D)$ and by what underflows, $2
        \lambda$ for each of 2 n operations and of the weights times their factors.
        """
        sums = _Sums.of(rows, weights, width, shift, skip)
        radii = [[0] * width for _ in rows.values]
        for j in range(width):
            column = _Column.of(self, sums, j)
            if not column.is_exact_throughout(self, sums, j):
                for r in range(len(rows.values)):
                    radii[r][j] = column.radius(self, sums, r, j)
        return RunRows(sums.values, sums.scale, radii, rows.cells)

    def rounded_by_readout(self, rows: RunRows) -> Numbers:
        """How far a run's sums of the readout may be from the exact sums of what that run reads."""
        readout, shift = self.model.tensors["unembed.W_U"], self.model.tensors.get("unembed.b_U")
        shifts, width = None if shift is None else shift.values, readout.shape[1]
        sums = _Sums.of(rows, Integers.exact(readout.values), width, shifts, None)
        columns = [_Column.of(self, sums, j) for j in range(width)]
        return [
            [column.rounding(self, sums, r, j) for j, column in enumerate(columns)] for r in range(len(rows.values))
        ]

    def absorbs(self, drift: int, terms: int, low: int) -> bool:
        """Whether sums of so many multiples of 2^low swallow what their terms are off by together."""
        unit = 1 << UNIT + low
        few = 4 * (terms + 2) < 1 << self.bits
        large = 16 * (terms + 1) * self.tiny << self.finest - self.bits <= unit
        return not drift or (few and large and drift << self.finest + 3 < unit)

    def dust(self, drift: int, terms: int) -> int:
        """What is computed at most where the exact sum is 0: gamma is at most 1/3, and 2 u lambda for each rounding."""
        return 2 * drift + (2 * (terms + 1) * self.tiny >> self.bits) + 1 if drift else 0

    def fits(self, n: int, scale: int) -> bool:
        """Whether the format holds a number, and nobody takes it for 0."""
        return n == 0 or (abs(n).bit_length() - _low(n) <= self.bits and _low(n) - scale >= self.least)

    def is_whole(self, size: int, scale: int, low: int) -> bool:
        """Whether p bits hold multiples of 2^low up to a size."""
        room = self.bits + low + scale
        return size <= 1 << room if room >= 0 else size == 0

    def rounding(self, count: int, size: int) -> int:
        """gamma_count times a size over 2^UNIT, rounded up; count u / (1 - count u) is at most 4/3 of count u."""
        if 4 * count >= 1 << self.bits:
            raise NoInformationError(f"{count} roundings are too many for the format")
        return -(-4 * count * size // (3 << self.bits))

    def require_small(self, size: int) -> None:
        """Refuse what may overflow, over 2^UNIT."""
        if size > self.most << UNIT:
            raise NoInformationError("a number may overflow")

    def _attended(self, block: PlainBlock, rows: RunRows) -> RunRows:
        """Rows after an attention, whose heads are mixed side by side and read out in one sum."""
        heads = block.shape("W_V")[0]
        wanted = [_asked(block, cell) for cell in rows.cells]
        outputs = list(dict.fromkeys(chain.from_iterable(wanted)))
        number = {output: i for i, output in enumerate(outputs)}
        cells = [tuple([number[output] for output in each]) for each in wanted]
        parts = []
        for head in range(heads):
            query, key, value = (self._of_head(block, name, head, rows) for name in "QKV")
            parts.append(_Head(self, block.options["score_root"], query, key, value).mixed(outputs))
        scale = max((part.scale for part in parts), default=0)
        values: Numbers = [[] for _ in outputs]
        radii: Numbers = [[] for _ in outputs]
        for part in parts:
            for i in range(len(outputs)):
                values[i] += [n << scale - part.scale for n in part.values[i]]
                radii[i] += part.radii[i]
        skip = rows.taken([query for query, _ in outputs]) if block.options["skip"] else None
        output, b_O = Integers.exact(block.tensors["W_O"].values), block.tensors.get("b_O")
        mixed = RunRows(values, scale, radii, cells)
        return self.mapped(mixed, output, block.writes, None if b_O is None else b_O.values, skip)

    def _of_head(self, block: PlainBlock, name: str, head: int, rows: RunRows) -> RunRows:
        """Queries, keys or values of a head."""
        weights, shift = block.tensors[f"W_{name}"], block.tensors.get(f"b_{name}")
        _, reads, width = weights.shape
        own = weights.values[head * reads * width : (head + 1) * reads * width]
        shifts = None if shift is None else shift.values[head * width : (head + 1) * width]
        return self.mapped(rows, Integers.exact(own), width, shifts)


@dataclass(frozen=True)
class RunOutputs:
    """The outputs of every run.

    Args:
        forward: What computed them.
        before: The distinct rows that are read out.
        rows: The outputs, a row for each of these.
        places: Of each context its row.
    """

    forward: RunForward
    before: RunRows
    rows: RunRows
    places: list[int]

    def leads(self, place: int, label: int) -> bool:
        """Whether the output of the label is the largest one in every run.

        Two outputs of a row read the same numbers, so that these move their difference by the difference of their
        weights alone.
        """
        values, radii = self.rows.values[place], self.rows.radii[place]
        weights = Integers.exact(self.forward.model.tensors["unembed.W_U"].values)
        width, off = len(values), self.before.radii[place]
        rest = self._rests[place]
        own = weights.values[label::width]
        for other in (j for j in range(width) if j != label):
            ahead = -over_unit(values[other] - values[label], self.rows.scale)
            if ahead > radii[label] + radii[other]:
                continue
            pairs = zip(off, own, weights.values[other::width], strict=True)
            moved = sum(r * abs(w - x) for r, w, x in pairs) >> weights.scale
            if not ahead > moved + 1 + rest[label] + rest[other]:
                return False
        return True

    @cached_property
    def _rests(self) -> Numbers:
        """What the sums of the readout round themselves, whatever is off in front of them (H1, H2)."""
        return self.forward.rounded_by_readout(self.before)


@dataclass(frozen=True)
class _Sums:
    """The sums of all rows and columns, exact, with the sizes of their terms over one power of two.

    Args:
        rows: What is read.
        skip: What is added, if anything.
        weights: The matrix, column by column: which entries are read, and by what they are multiplied.
        weight_scale: Of it.
        shifts: What is added to each column.
        shift_scale: Of that.
        values: The sums.
        sizes: The sums of the sizes of the terms.
        drifts: What the factors are off by together, over 2^UNIT; none where no factor is off.
        scale: Of sums and sizes.
        lows: Of each entry of the rows the power of two in it, in the least row.
    """

    rows: RunRows
    skip: RunRows | None
    weights: list[list[tuple[int, int]]]
    weight_scale: int
    shifts: list[int]
    shift_scale: int
    values: Numbers
    sizes: Numbers
    drifts: Numbers | None
    scale: int
    lows: list[int | None]

    @classmethod
    def of(
        cls, rows: RunRows, weights: Integers, width: int, shift: Sequence[float] | None, skip: RunRows | None
    ) -> "_Sums":
        reads = len(rows.values[0])
        shifts = Integers.exact([0.0] * width if shift is None else list(shift))
        scale = max(rows.scale + weights.scale, shifts.scale, 0 if skip is None else skip.scale)
        finer, up = scale - rows.scale - weights.scale, scale - shifts.scale
        moved = [n << up for n in shifts.values]
        added = [[*moved] for _ in rows.values]
        more = [[*map(abs, moved)] for _ in rows.values]
        if skip is not None:
            step = scale - skip.scale
            added = [[a + (n << step) for a, n in zip(moved, row, strict=True)] for row in skip.values]
            more = [[abs(a) + (abs(n) << step) for a, n in zip(moved, row, strict=True)] for row in skip.values]
        sums, sizes = (
            _product([[of(n) for n in row] for row in rows.values], [of(n) << finer for n in weights.values], width)
            for of in (int, abs)
        )
        drifts = None
        is_off = any(map(any, rows.radii)) or (skip is not None and any(map(any, skip.radii)))
        if is_off:
            spread = _product(rows.radii, [abs(n) for n in weights.values], width)
            drifts = [[-(-n >> weights.scale) for n in row] for row in spread]
            if skip is not None:
                drifts = [[*map(add, row, radius)] for row, radius in zip(drifts, skip.radii, strict=True)]
        columns = [[(i, w) for i, w in enumerate(weights.values[j::width]) if w] for j in range(width)]
        lows = [min((_low(row[i]) for row in rows.values if row[i]), default=None) for i in range(reads)]
        return cls(
            rows, skip, columns, weights.scale, shifts.values, shifts.scale,
            [[*map(add, *both)] for both in zip(sums, added, strict=True)],
            [[*map(add, *both)] for both in zip(sizes, more, strict=True)],
            drifts, scale, lows,
        )  # fmt: skip

    def low(self, j: int, r: int | None = None) -> int | None:
        """The largest power of two that divides all terms of a column, in one row or in all; none where all are 0."""
        of_row = self.lows if r is None else [_low(n) if n else None for n in self.rows.values[r]]
        at = self.rows.scale + self.weight_scale
        found = [low + _low(w) - at for i, w in self.weights[j] if (low := of_row[i]) is not None]
        found += [_low(self.shifts[j]) - self.shift_scale] * (self.shifts[j] != 0)
        if self.skip is not None:
            rows = self.skip.values if r is None else [self.skip.values[r]]
            found += [_low(row[j]) - self.skip.scale for row in rows if row[j]]
        return min(found, default=None)

    def parts(self, j: int, r: int) -> list[tuple[int, int]]:
        """The terms of a sum that are not 0, and their scales."""
        row = self.rows.values[r]
        found = [(row[i] * w, self.rows.scale + self.weight_scale) for i, w in self.weights[j] if row[i]]
        found += [(self.shifts[j], self.shift_scale)] * (self.shifts[j] != 0)
        if self.skip is not None and self.skip.values[r][j]:
            found.append((self.skip.values[r][j], self.skip.scale))
        return found


@dataclass(frozen=True)
class _Column:
    """What all sums of a column have in common.

    Args:
        fits: Whether the format holds all weights of it and its shift.
        terms: How many terms a sum has.
        moved: Whether anything is added to the skip row.
    """

    fits: bool
    terms: int
    moved: bool

    @classmethod
    def of(cls, forward: RunForward, sums: _Sums, j: int) -> "_Column":
        own, shift = sums.weights[j], sums.shifts[j]
        fits = all(forward.fits(w, sums.weight_scale) for _, w in own) and forward.fits(shift, sums.shift_scale)
        added = len(own) + (shift != 0)
        return cls(fits, added + (sums.skip is not None), added > 0)

    def is_exact_throughout(self, forward: RunForward, sums: _Sums, j: int) -> bool:
        """Whether no sum of the column is rounded, by what is largest in it."""
        largest = max(row[j] for row in sums.sizes)
        forward.require_small(over_unit(largest, sums.scale))
        if sums.drifts is not None or not (forward.exact and self.fits):
            return False
        low = sums.low(j)
        return low is None or (low >= forward.least and forward.is_whole(largest, sums.scale, low))

    def radius(self, forward: RunForward, sums: _Sums, r: int, j: int) -> int:
        """How far a run may be from one sum."""
        value, size = sums.values[r][j], sums.sizes[r][j]
        drift = 0 if sums.drifts is None else sums.drifts[r][j]
        if not self.moved:  # adding zeros changes nothing
            return drift
        forward.require_small(over_unit(size, sums.scale) + drift)
        if forward.exact and self.fits:
            low = sums.low(j, r)
            if low is None and not drift:
                return 0
            if low is not None and low >= forward.least:
                whole = forward.is_whole(-(-(size + abs(value)) // 2), sums.scale, low)
                if whole and forward.absorbs(drift, self.terms, low):
                    return 0 if value else forward.dust(drift, self.terms)
            if not drift:
                parts = [*sums.parts(j, r), (value, sums.scale)]
                if len(parts) <= 3 and all(forward.fits(n, scale) for n, scale in parts):  # Theorem R12 (ii)
                    return 0
        return drift + self.rounding(forward, sums, r, j)

    def rounding(self, forward: RunForward, sums: _Sums, r: int, j: int) -> int:
        """How far a run's sum may be from the exact sum of the numbers that this run reads."""
        row, radii = sums.rows.values[r], sums.rows.radii[r]
        drift = 0 if sums.drifts is None else sums.drifts[r][j]
        factors = (sum(map(abs, row)) >> sums.rows.scale) + (sum(radii) >> UNIT) + 2
        underflow = 4 * forward.tiny * (factors + 2 * self.terms)
        return forward.rounding(self.terms + 1, over_unit(sums.sizes[r][j], sums.scale) + drift) + underflow


@dataclass(frozen=True)
class _Head:
    """One head: its queries, keys and values, a row for each row of the stream."""

    forward: RunForward
    score_root: int
    query: RunRows
    key: RunRows
    value: RunRows

    def mixed(self, outputs: list[_Output]) -> RunRows:
        """What is mixed for each output; rows that are asked, or mixed, alike are looked at once."""
        forward = self.forward
        longest = max(len(seen) for _, seen in outputs)
        for column in _columns(self.value):  # a softmax may divide its sum at the end
            forward.require_small(longest * column.size)
        asks, answers, reads = ([*map(tuple, rows.values)] for rows in (self.query, self.key, self.value))
        is_exact = self._scores_are_exact()
        tops: dict[tuple[_Row, tuple[_Row, ...]], tuple[int, ...] | None] = {}
        known: dict[object, _Mixed] = {}
        found = []
        for query, seen in outputs:
            kind = asks[query], tuple([answers[r] for r in seen])
            if is_exact and kind not in tops:
                tops[kind] = self._leaders(*kind)
            leaders = tops.get(kind) if is_exact else self._leaders_of_inexact(query, seen)
            if leaders is None:
                key: object = query, seen
                if key not in known:
                    known[key] = self._softly(query, seen)
            else:
                chosen = tuple([seen[place] for place in leaders])
                key = tuple([(reads[r], *self.value.radii[r]) for r in chosen]), len(seen)
                if key not in known:
                    known[key] = self._averaged(chosen, len(seen))
            found.append(known[key])
        finest = max((scale for *_, scale in found), default=0)
        return RunRows(
            [[n << finest - scale for n in row] for row, _, scale in found],
            finest,
            [radii for _, radii, _ in found],
            [],
        )

    def _scores_are_exact(self) -> bool:
        """Whether no run rounds any score: sums as in Theorem R12 (i), and halvings alone in the place of a root."""
        forward = self.forward
        pairs = list(zip(_columns(self.query), _columns(self.key), strict=True))
        if all(not a.size or not b.size for a, b in pairs):
            return True
        total = sum(_times(a.size, b.size) for a, b in pairs)
        forward.require_small(total)
        lows = [low for each in chain.from_iterable(pairs) if (low := each.low) is not None]
        sums = [a.low + b.low for a, b in pairs if a.low is not None and b.low is not None]
        root = math.isqrt(self.score_root)
        halvings = root.bit_length() - 1
        is_power = root * root == self.score_root and root == 1 << halvings and halvings % 2 == 0
        if not (forward.exact and is_power and sums) or any(a.radius or b.radius for a, b in pairs):
            return False
        return min(*lows, *sums) - halvings >= forward.least and forward.is_whole(total, UNIT, min(sums))

    def _score_error(self, query: int, row: int) -> int:
        """How far the score of a run may be from the exact one, over 2^UNIT.

        Query and key are off; a term passes a product and d - 1 sums; and a run multiplies, or divides, each score by
        the root, or each factor by the root of that: at most 8 roundings more, and 2 for a power of 2.
        """
        forward = self.forward
        asks, answers = _sizes(self.query, query), _sizes(self.key, row)
        keys = [over_unit(abs(n), self.key.scale) for n in self.key.values[row]]
        away = sum(_times(a, r) for a, r in zip(asks, self.key.radii[row], strict=True))
        away += sum(_times(r, k) for r, k in zip(self.query.radii[query], keys, strict=True))
        size = sum(map(_times, asks, answers))
        forward.require_small(size)
        count, root = len(asks), math.isqrt(self.score_root)
        factors = (sum(asks) + sum(answers) >> UNIT) + 1
        underflow = 4 * forward.tiny * (factors + 2 * count + 2)
        return (away + forward.rounding(count + 12, size)) // root + underflow + 1

    def _leaders(self, query: _Row, keys: tuple[_Row, ...]) -> tuple[int, ...] | None:
        """The places of the largest score, where no run rounds any and the others weigh nothing; else none."""
        scores = [sum(map(mul, query, key)) for key in keys]
        best = max(scores)
        leaders = tuple([place for place, score in enumerate(scores) if score == best])
        others = [score for score in scores if score != best]
        if len(leaders) & len(leaders) - 1 or (others and not self._is_far(best - max(others), len(keys), 0)):
            return None
        return leaders

    def _leaders_of_inexact(self, query: int, seen: tuple[int, ...]) -> tuple[int, ...] | None:
        """The place of the largest score, where it leads whatever runs round."""
        if not self.forward.exact:
            return None
        scores = self._scores(query, seen)
        best = max(scores)
        if scores.count(best) > 1:
            return None
        if len(scores) > 1:
            error = max(self._score_error(query, row) for row in seen)
            if not self._is_far(best - max(score for score in scores if score != best), len(seen), error):
                return None
        return (scores.index(best),)

    def _scores(self, query: int, seen: tuple[int, ...]) -> list[int]:
        """The exact scores, but for their root."""
        return [sum(map(mul, self.query.values[query], self.key.values[row])) for row in seen]

    def _is_far(self, lead: int, length: int, error: int) -> bool:
        """Theorem R12 (iv) and (v): the top score leads by so much that the others weigh nothing."""
        forward, scale = self.forward, self.query.scale + self.key.scale
        root = math.isqrt(self.score_root)
        root += root * root < self.score_root
        gap = ((lead << UNIT) >> scale) // root - 2 * error
        gap -= (gap >> forward.bits - 2) + 1  # times 1 - 4 u
        return gap >= _GAP << UNIT and self._weight_of_others(length) << forward.finest + 2 <= 1 << UNIT

    def _weight_of_others(self, length: int) -> int:
        return 4 * length * max(_OTHERS, (2 * self.forward.tiny >> self.forward.bits) + 1)

    def _averaged(self, tops: tuple[int, ...], length: int) -> _Mixed:
        """The average of the rows with the largest score, and what the others add."""
        forward, value, count = self.forward, self.value, len(tops)
        halvings = count.bit_length() - 1
        others = 0 if count == length else self._weight_of_others(length)
        row, radii = [], []
        for j, column in enumerate(self._largest):
            parts, away = [value.values[r][j] for r in tops], max(value.radii[r][j] for r in tops)
            drift = away + (_times(others, column + (1 << UNIT)) if others else 0)
            total = sum(parts)
            row.append(total)
            low = min((_low(n) - value.scale for n in parts if n), default=None)
            if low is None:
                radii.append(forward.dust(drift, length + 3))
                continue
            if count == 1:
                whole = not away or forward.fits(parts[0], value.scale)
            else:
                whole = forward.is_whole(sum(map(abs, parts)), value.scale, low)
            low -= halvings
            if whole and low >= forward.least and forward.absorbs(drift, length + 3, low):
                radii.append(0 if total else forward.dust(drift, length + 3))
            else:
                radii.append(drift + self._rounded(length, column + drift))
        return row, radii, value.scale + halvings

    @cached_property
    def _largest(self) -> list[int]:
        """How large the values of a column are in any run, over 2^UNIT."""
        return [column.size for column in _columns(self.value)]

    def _rounded(self, length: int, size: int) -> int:
        """What sums, products, quotients and rescalings of an average of numbers of a size round (Lemma R10)."""
        return self.forward.rounding(4 * length + 12, size) + 16 * (length + 2) * self.forward.tiny

    def _softly(self, query: int, seen: tuple[int, ...]) -> _Mixed:
        r"""The average with the weights of a softmax, whose numerators every run has within factors (H3, H4).

        Let $e_j = e^{s_j - \max s}$ and $o$ the average of the values $v_j$ with these weights. The numerators of a run
        are $e_j f_j + g_j$ with $e^{-\zeta_j} \le f_j \le e^{\zeta_j}$ and all $|g_j|$ together at most $\varphi$, but
        for a factor that all share. Since $\sum e_j (v_j - o) = 0$, its average of the $v_j$ is off by at most

        $$ \frac{\sum e_j (e^{\zeta_j} - 1) |v_j - o| + \varphi \max |v_j - o|}{\sum e_j e^{-\zeta_j} - \varphi}. $$
        """
        forward, value = self.forward, self.value
        if not forward.soft:
            raise NoInformationError("a head is not hard")
        length, scale = len(seen), self.query.scale + self.key.scale
        of_cell, errors = self._scores(query, seen), [self._score_error(query, row) for row in seen]
        with ctx.workprec(2 * _BITS):
            unit, off = arb((1, -forward.bits)), arb((max(errors), -UNIT))
            exponential = 2 * unit * arb(forward.exp_ulps) + 2 * unit
            blocks = 1 + (length - 1) // _BLOCK
            if not exponential < 0.25:
                raise NoInformationError("the exponential is not known well enough")
            root = arb(self.score_root).sqrt()
            scores = [arb((n, -scale)) / root for n in of_cell]
            top = arb((max(of_cell), -scale)) / root
            powers, moves, least = [], [], arb(0)
            for score, error in zip(scores, errors, strict=True):
                # A difference rounds once, and a power of 2 of a scaled score twice; what the largest one is off by,
                # all share. Each exponential of a rescaling is off by a factor, and so is the product with it.
                apart = top - score + abs(score) + 4 * off
                zeta = arb((error, -UNIT)) + 3 * unit * apart + blocks * 2 * exponential
                powers.append((score - top).exp())
                moves.append(powers[-1] * (zeta.exp() - 1))
                least += powers[-1] * (-zeta).exp()
            underflow = arb((16 * blocks * length, forward.least)) * off.exp()
            least -= underflow
            if not least > 0:
                raise NoInformationError("attention weights are not known well enough")
            total = sum(powers, arb(0))
            row: list[int] = []
            radii: list[int] = []
            for j, size in enumerate(self._largest):
                column = [arb((value.values[r][j], -value.scale)) for r in seen]
                mean = sum((p * v for p, v in zip(powers, column, strict=True)), arb(0)) / total
                apart = [abs(v - mean) for v in column]
                moved = sum((m * each for m, each in zip(moves, apart, strict=True)), underflow * _largest(apart))
                near = moved / least + arb((max(value.radii[r][j] for r in seen), -UNIT))
                middle = _floor(mean.mid(), _BITS)
                row.append(middle)
                radii.append(_ceiling(abs(mean - arb((middle, -_BITS))) + near) + self._rounded(length, size))
        return row, radii, _BITS


@dataclass(frozen=True)
class _Sizes:
    """Of a column: the largest size in any run and the largest radius, over 2^UNIT, and the power of two in it."""

    size: int
    radius: int
    low: int | None


def _columns(rows: RunRows) -> list[_Sizes]:
    found = []
    for numbers, radii in zip(zip(*rows.values, strict=True), zip(*rows.radii, strict=True), strict=True):
        radius = max(radii)
        low = min((_low(n) - rows.scale for n in numbers if n), default=None)
        found.append(_Sizes(over_unit(max(map(abs, numbers)), rows.scale) + radius, radius, low))
    return found


def over_unit(size: int, scale: int) -> int:
    """A number over 2^scale as one over 2^UNIT, rounded up."""
    return -((-size << UNIT) >> scale)


def _times(a: int, b: int) -> int:
    """The product of two numbers over 2^UNIT, rounded up."""
    return -((-a * b) >> UNIT)


def _product(rows: Numbers, weights: Sequence[int], width: int) -> Numbers:
    """Rows times a matrix, exact."""
    reads = len(rows[0])
    if not width or not reads:
        return [[0] * width for _ in rows]
    table: Any = fmpz_mat(len(rows), reads, [*chain.from_iterable(rows)]) * fmpz_mat(reads, width, list(weights))
    entries = [*map(int, table.entries())]
    return [entries[start : start + width] for start in range(0, len(entries), width)]


def _sizes(rows: RunRows, row: int) -> list[int]:
    """How large the numbers of a row may be in a run, over 2^UNIT."""
    both = zip(rows.values[row], rows.radii[row], strict=True)
    return [over_unit(abs(n), rows.scale) + radius for n, radius in both]


def _largest(balls: list[arb]) -> arb:
    found = balls[0]
    for each in balls[1:]:
        found = found.max(each)
    return found


def _floor(x: arb, scale: int) -> int:
    """An exact number times 2^scale, rounded down."""
    mantissa, exponent = x.man_exp()
    shift = int(exponent) + scale
    return int(mantissa) << shift if shift >= 0 else int(mantissa) >> -shift


def _ceiling(x: arb) -> int:
    """The upper end of a ball over 2^UNIT, rounded up."""
    if not x.is_finite():
        raise NoInformationError("an average is not known")
    return _floor(x.upper(), UNIT) + 1


def _low(n: int) -> int:
    """The exponent of the power of two in an integer that is not 0."""
    return (n & -n).bit_length() - 1


def _asked(block: PlainBlock, cell: tuple[int, ...]) -> list[_Output]:
    """For each row that is left the one that asks, and those that it may read."""
    attends = block.options["attends"]
    if attends == "last":
        return [(cell[-1], cell)]
    return [(query, cell[: i + 1] if attends == "causal" else cell) for i, query in enumerate(cell)]
