r"""Rows of floats and an ellipsoid about each: another run to first order, and a bound of all that is beyond.

A ball forgets in which direction a row is off, so that each block pays for its most sensitive one. Here the row of the
other run is $z + sG + r$: the value $z$, generators $G$ with symbols $s$, each block of `width` of them of norm at most
1, and $|r|$ at most `rest`. A step multiplies $G$ by its derivative at $z$; what the step rounds, and what its
derivative leaves out over all rows that are held, is added to the rest. Behind each residual connection one ellipsoid
takes the place of all.

Page: docs/rigour/runs.md (Lemma R15 names each bound)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from constructions.model.blocks import Activation, Attention, Normalization
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.activations import ACTIVATION_UNITS, SLOPES
from verify.arithmetic.rounding import UNIT, Floats
from verify.forward.arithmetic import LOWEST_SCORE, Elsewhere, Numbers, growth
from verify.forward.attention_pairs import AttentionPairs
from verify.forward.map_norms import Norms, raised, row_norms
from verify.forward.matrices import norm_parts
from verify.forward.rows.ellipsoids import Ellipsoids, frobenius_norms, in_blocks_of, spectral_norms
from verify.forward.rows.row_balls import HeadBalls, InRowBalls, RowBalls, Sum, not_counted, rescalings, score_roundings

# Lemma R15 (c): the secant over x +- 2^-25 is within (2^-25 + u') sup |g''| of the slope (mean value theorem).
_STEP = 2.0**-25
_FINE = 2.0**-40  # above what float64 rounds in up to 2^12 operations, relatively to their norms: 2^12 2^-53 < 2^-40
_PAIRS = 2**22  # entries of the generators of logits that are worked on together


@dataclass(frozen=True)
class Spread:
    """Evaluated rows, or rows of each head, and what another run may have in their place.

    Args:
        value: `[P, d]`, or `[P, H, n]`.
        linear: The generators, `[P, symbols, d]` or `[P, symbols, H, n]`.
        rest: The size of what is beyond them, `[P]`, or `[P, H]`.
        own: Whose symbols the first generators have, `[P]`.
        age: Rows of one age and with one owner share those symbols; -1 where none are shared.
        width: Symbols of a block.
        each: The size of each entry of what is beyond, `[P, d]`, where more is known than the rest.
        sum: The sum that each entry is elsewhere, if more terms may belong to it.
        ellipsoids: About what is beyond, where more is known than the rest.
    """

    value: Floats
    linear: Floats
    rest: Floats
    own: Int64Array
    age: int
    width: int
    each: Floats | None = None
    sum: Sum | None = None
    ellipsoids: Ellipsoids | None = None

    def made(self, value: Floats, linear: Floats, rest: Floats, each: Floats | None = None) -> "Spread":
        """Return what an operation makes of the rows, with their symbols."""
        return Spread(value, linear, rest, self.own, self.age, self.width, each)

    def gather(self, chosen: Int64Array | slice) -> "Spread":
        """Return some of the rows."""
        value, linear, rest = (x[chosen] for x in (self.value, self.linear, self.rest))
        each = None if self.each is None else self.each[chosen]
        sums = None if self.sum is None else self.sum.gather(chosen)
        ellipsoids = None if self.ellipsoids is None else self.ellipsoids.taken(chosen)
        return Spread(value, linear, rest, self.own[chosen], self.age, self.width, each, sums, ellipsoids)

    def reach(self) -> Floats:
        """How far each entry of the rows may be off, `[P, d]`."""
        return raised(frobenius_norms(self.linear[..., None], self.width) + self.beyond())

    def beyond(self) -> Floats:
        """How large each entry of what is beyond the generators may be, `[P, d]`."""
        return np.broadcast_to(self.rest[:, None], self.value.shape) if self.each is None else self.each

    def about(self) -> Ellipsoids:
        """Return an ellipsoid about what is beyond."""
        return Ellipsoids.of_balls(self.rest, self.value.shape[1]) if self.ellipsoids is None else self.ellipsoids

    def whole(self) -> Floats:
        """How far the rows may be off, of the shape of the rest."""
        return raised(frobenius_norms(self.linear, self.width) + self.rest)

    def least_whole(self) -> Floats:
        """As `whole`, often less, in more time."""
        return raised(spectral_norms(self.linear, self.width) + self.rest)


class Leads(NamedTuple):
    """Outputs, bounds of how far each is off, and of how far its distance to the largest one of the row is.

    Args:
        value: `[P, outputs]`.
        radius: `[P, outputs]`.
        apart: `[P, outputs]`.
    """

    value: Floats
    radius: Floats
    apart: Floats


class InRowEllipsoids:
    """The arithmetic of rows of floats with an ellipsoid about each.

    Args:
        norms: The norms of the maps of the model.
        numbers: The format of the other run.
        directed: Whether what is beyond the generators keeps its directions, which takes a few times as long.
    """

    def __init__(self, norms: Norms, numbers: Numbers, *, directed: bool = True) -> None:
        assert numbers.elsewhere is not None
        self.balls, self.norms, self.numbers = InRowBalls(norms, numbers), norms, numbers
        self.elsewhere: Elsewhere = numbers.elsewhere
        self.directed, self._age = directed, 0

    @property
    def fits(self) -> bool:
        """Whether nothing that was worked on can overflow elsewhere."""
        return self.balls.fits

    def _raised(self, rest: Floats) -> Floats:
        return raised(rest + self.elsewhere.floor)

    def _whole(self, x: Spread) -> Floats:
        """How far rows may be off, where this counts more than once."""
        return x.least_whole() if self.directed else x.whole()

    def _require_small(self, *sizes: Floats) -> None:
        for each in sizes:
            self.balls._require_small(each)

    # -----------------------------------------------------------------------------------------------------------------
    # Rows.

    def exact(self, x: Floats) -> Spread:
        return _bare(self.balls.exact(x))

    def embed(self, a: Floats, b: Floats) -> Spread:
        return _bare(self.balls.embed(a, b))

    def gather(self, rows: Spread, chosen: Int64Array) -> Spread:
        return rows.gather(chosen)

    def concat(self, parts: Sequence[Spread]) -> Spread:
        joined = _bare(self.balls.concat([_ball(part) for part in parts]))
        return replace(joined, sum=Sum.concat([part.sum for part in parts]))

    def subtract(self, rows: Spread, others: Spread) -> Spread:
        rest = None if rows.sum is None or others.sum is None else rows.sum.subtract(others.sum)
        return replace(_bare(self.balls.subtract(_ball(rows), _ball(others))), sum=rest)

    def mean(self, rows: Spread, read: Int64Array) -> Spread:
        sums = None if rows.sum is None else rows.sum.mean(read)
        return replace(_bare(self.balls.mean(_ball(rows), read)), sum=sums)

    def materialize(self, rows: Spread) -> Spread:
        return replace(rows, sum=None)

    def nonzero(self, rows: Spread) -> BoolArray:
        return np.ones(rows.value.shape, dtype=bool)

    def add(self, rows: Spread, others: Spread) -> Spread:
        """Return the sums, in one ellipsoid each; what both have of the same symbols is added before."""
        total, own = rows.value + others.value, rows.linear.shape[1]
        width = max(rows.width, others.width)
        if rows.age == others.age >= 0 and np.array_equal(rows.own, others.own):
            linear = others.linear.copy()
            linear[:, :own] += rows.linear
        else:  # neurons in parallel may have read a narrower stream
            linear = np.concatenate([in_blocks_of(width, x.linear, x.width) for x in (rows, others)], axis=1)
        whole = rows.whole() + others.whole()
        parts = rows.sum or self._one(rows), others.sum or self._one(others)
        sums, off = self._together(*parts, total, whole)
        rounded = row_norms(off) + _FINE * whole
        rest = self._raised(rows.rest + others.rest + rounded)
        beyond = None
        if others.ellipsoids is not None:
            rounded = Ellipsoids.of_balls(self._raised(rows.rest + rounded), total.shape[1])
            beyond = Ellipsoids.sums([others.ellipsoids, rounded])
        return replace(self._renewed(Spread(total, linear, rest, rows.own, -1, width, ellipsoids=beyond)), sum=sums)

    def _one(self, rows: Spread) -> Sum:
        """Entries that a sum takes as one number each: nothing of them is converted or multiplied any more."""
        sizes = np.abs(rows.value) + rows.whole()[:, None]
        return Sum(1, sizes, self._rounding(1, sizes, np.inf))

    def _together(self, sums: Sum, others: Sum, total: Floats, whole: Floats) -> tuple[Sum, Floats]:
        """One sum of all terms, in any order, and how far it rounds beyond what is counted already (Lemma R15 (a))."""
        both = sums.beside(others)
        self._require_small(both.sizes)
        off = self._raised(self._rounding(both.terms, both.sizes, np.abs(total) + whole[:, None]))
        return Sum(both.terms, both.sizes, off), not_counted(off, both.rounded)

    def _rounding(self, terms: int, sizes: Floats, total: Floats | float) -> Floats:
        """How far a sum rounds in any order, given the sum of the sizes of its terms and the size of their sum."""
        unit = self.numbers.unit
        nodes = (terms - 1.0) * 0.5 * (sizes + total) if terms > 1 else 0.0
        return growth(unit, 1) * (1.0 + 2.0 * growth(unit, terms + 8)) * (nodes + 3.0 * sizes)

    def _renewed(self, x: Spread) -> Spread:
        """Return the same rows in one ellipsoid each, with symbols of their own (Lemma R15 (e))."""
        (count, width), symbols = x.value.shape, x.linear.shape[1]
        if symbols or x.ellipsoids is not None:
            every = Ellipsoids.sums([Ellipsoids.of_generators(x.linear, x.width), x.about()])
            linear, rest = every.generators()
        else:
            known = np.isfinite(x.rest)
            linear, rest = np.eye(width) * np.where(known, x.rest, 0.0)[:, None, None], np.where(known, 0.0, np.inf)
        self._age += 1
        return Spread(x.value, linear, rest, np.arange(count), self._age, width)

    def _product(self, x: Spread, W: Floats, b: Floats | None) -> tuple[Floats, Sum]:
        """Return the values of x W + b, and the sums that they are, with all their rounding in any order (Lemma R15
        (a)).
        """
        terms, columns = len(W), row_norms(W.T) + self.elsewhere.floor
        y = self.numbers.linear(x.value, W, b)
        moved = x.whole()[:, None] * columns
        sizes = (np.abs(x.value) @ np.abs(W)) * (1.0 + 2.0 * growth(UNIT, terms + 8)) + moved
        sizes = sizes + self.elsewhere.floor * row_norms(x.value)[:, None]  # what the conversion of W underflows
        if b is not None:
            sizes, terms = sizes + np.abs(b), terms + 1
        self._require_small(sizes, (1.0 + row_norms(x.value) + x.whole()).max(initial=0.0) * columns)
        return y, Sum(terms, sizes, self._raised(self._rounding(terms, sizes, np.abs(y) + moved)))

    def linear(self, rows: Spread, W: Floats, b: Floats | None) -> Spread:
        y, sums = self._product(rows, W, b)
        off = sums.rounded
        norms = self.norms.of(W[None])
        fine = _fine(len(W)) * rows.whole() * norms.frobenius[0]
        rest = rows.rest * norms.plain[0] + row_norms(off) + fine
        each = rows.rest[:, None] * row_norms(W.T) + off + _fine(len(W)) * rows.whole()[:, None] * row_norms(W.T)
        images = replace(rows.made(y, rows.linear @ W, self._raised(rest), self._raised(each)), sum=sums)
        if not self.directed or rows.each is None:
            return images
        rounded = Ellipsoids.of_balls(self._raised(row_norms(off) + fine), W.shape[1])
        return replace(images, ellipsoids=Ellipsoids.sums([Ellipsoids.of_segments(rows.each, W), rounded]))

    def normalize(self, rows: Spread, norm: Normalization) -> Spread:
        """Lemma R15 (b); what is beyond has generators too, as all that reads the rows shares them."""
        y = self._normalized(rows, norm)
        if not self.directed or (rows.linear.shape[1] and rows.width != norm.width):
            return y
        linear, lost = y.about().generators()
        rest = self._raised(np.fmin(lost, y.rest))
        return Spread(y.value, np.concatenate([y.linear, linear], axis=1), rest, y.own, y.age, norm.width)

    def _normalized(self, rows: Spread, norm: Normalization) -> Spread:
        """Lemma R15 (b); the ball of Lemma T2 where the row is too near to 0."""
        value, whole, unit, width = rows.value, self._whole(rows), self.numbers.unit, norm.width
        ball = self.balls.normalize(RowBalls(value, whole), norm).whole()
        z, y, root = self.numbers.normalize(value, norm)
        reach, layer = np.sqrt(float(width)) * (1.0 + 2.0**-50), norm.kind == "layer"
        centring = np.zeros(len(value))
        if layer:
            # Sums of the sizes of the entries, and of the entries.
            both = np.abs(value).sum(axis=1) + reach * whole, np.abs(value.sum(axis=1)) + reach * whole
            centring = 0.5 * (both[0] + both[1]) * reach + 4.0 * both[1] / reach + row_norms(value) + whole
            centring = self._raised(growth(unit, 1) * (1.0 + 2.0 * growth(unit, width + 8)) * centring)
        relative = growth(unit, 0.5 * width + 5.0) + width * self.elsewhere.square / norm.epsilon
        # A square that underflows loses less than 2^-1060, and the squared root is at least epsilon (Lemma T2).
        fine = _fine(width) + width * 2.0**-1060 / norm.epsilon
        fine_off = fine * rows.whole()  # of the generators
        # Lemma R15 (b), of float64's own roundings: 1, 1, 4 and 1 times `fine` are what they add up to at most, in the
        # root, along the row, in the generators behind the derivative, and in the row; 4, 4, 32 and 4 times are taken.
        least = root * (1.0 - 4.0 * fine)
        turn = raised((whole + centring) / (reach * least))
        known = np.isfinite(root) & (turn < 0.25) & (fine < 2.0**-30) & (relative < 0.125)
        linear = rows.linear - rows.linear.mean(axis=2, keepdims=True) if layer else rows.linear
        along = np.einsum("psi,pi->ps", linear, y) / width
        linear = (linear - along[:, :, None] * y[:, None]) / root[:, None, None] * norm.w
        # How far the row moves along itself, and how far its root is off elsewhere, relatively.
        pulled = frobenius_norms(along[:, :, None, None], rows.width)[:, 0] / least
        pulled = np.minimum(raised(pulled + (rows.rest + centring + 4.0 * fine_off) / (reach * least)), turn)
        relative, moved = relative * (1.0 + 2.0 * relative), centring / (reach * least)
        root_off = relative + (1.0 + relative) * moved / ((1.0 - turn) * (1.0 - relative) - moved)
        # Beyond the derivative: along the row itself, and in directions that are not known.
        itself = 0.5 * turn * turn / ((1.0 - pulled) * (1.0 - pulled)) + root_off
        slipped = (rows.rest + centring + 32.0 * fine_off) / least
        slipped = slipped + reach * turn * (pulled + 0.5 * turn * turn) / (1.0 - pulled)
        length = np.minimum(reach, row_norms(y) + 2.0 * reach * turn) * (1.0 + root_off)
        slipped = slipped + 2.0 * reach * turn * root_off + growth(unit, 5) * length + 4.0 * fine * reach
        largest, seen = float(np.abs(norm.w).max()), row_norms(y * norm.w)
        gained = seen + largest * (slipped + reach * itself + 2.0 * reach * turn)
        rounded = growth(unit, 4) * gained
        if norm.b is not None:
            rounded = rounded + 2.0 * growth(unit, 4) * row_norms(norm.b)
        rest = np.where(known, self._raised(seen * itself + largest * slipped + rounded), ball)
        parts = [
            Ellipsoids.of_segments(itself[:, None], (y * norm.w)[:, None]),
            Ellipsoids.of_images(slipped, np.diag(norm.w)),
            Ellipsoids.of_balls(self._raised(rounded), width),
        ]
        beyond = Ellipsoids.sums(parts)
        beyond = Ellipsoids(np.where(known, beyond.size, np.inf), beyond.gram)
        return replace(rows.made(z, np.where(known[:, None, None], linear, 0.0), rest), ellipsoids=beyond)

    def _bent(self, x: Spread, y: Floats, slope: Floats, off: Floats) -> Spread:
        """Return a function of each entry with these slopes; `off` is how far it is from the linear one, rounding
        included.
        """
        steepest, fine = np.abs(slope).max(axis=-1, initial=0.0), _FINE * x.whole()
        entries = np.abs(slope) * (x.beyond() + fine[:, None])
        rest = np.fmin(steepest * (x.rest + fine), row_norms(entries)) + row_norms(off)
        return x.made(y, x.linear * slope[:, None], self._raised(rest), self._raised(entries + off))

    def activate(self, rows: Spread, activation: Activation) -> Spread:
        """Lemma R15 (c)."""
        x, off = rows.value, rows.reach()
        self._require_small(row_norms(x) + row_norms(off))
        y = self.numbers.activate(x, activation)
        if activation == "relu":
            return self._bent(rows, y, *_between(x, off, 0.0, np.inf))
        ends = x - _STEP, x + _STEP
        apart = ends[1] - ends[0]
        slope = (self.numbers.activate(ends[1], activation) - self.numbers.activate(ends[0], activation)) / apart
        near, curved = UNIT * (np.abs(x) + 1.0), _curvature(activation, np.abs(x) - off - 2.0 * _STEP)
        doubt = curved * (_STEP + near) + 4.0 * (ACTIVATION_UNITS[activation] + 2.0) * near / apart
        units = growth(self.numbers.unit, self.numbers.activation_units(activation))
        return self._bent(rows, y, slope, raised(doubt * off + 0.5 * curved * off * off + units * (np.abs(x) + off)))

    def multiply(self, rows: Spread, others: Spread) -> Spread:
        """Lemma R15 (c), of factors with the same symbols."""
        assert rows.age == others.age and rows.linear.shape == others.linear.shape
        (a, b), (near, far) = (rows.value, others.value), (rows.reach(), others.reach())
        y, tall, wide = a * b, np.abs(a).max(axis=1, initial=0.0), np.abs(b).max(axis=1, initial=0.0)
        self._require_small((tall + near.max(axis=1, initial=0.0)) * (wide + far.max(axis=1, initial=0.0)))
        rest = tall * others.rest + wide * rows.rest
        entries = np.abs(a) * others.beyond() + np.abs(b) * rows.beyond()
        sizes = (np.abs(a) + near) * (np.abs(b) + far)
        off = near * far + growth(self.numbers.unit, 2) * sizes
        off = off + _FINE * (np.abs(a) * others.whole()[:, None] + np.abs(b) * rows.whole()[:, None])
        rest = np.fmin(rest, row_norms(entries)) + row_norms(off)
        linear = rows.linear * b[:, None] + others.linear * a[:, None]
        return rows.made(y, linear, self._raised(rest), self._raised(entries + off))

    def add_bias(self, rows: Spread, b: Floats) -> Spread:
        """Add a shift as one more term of the sum, in any place."""
        sums, y = rows.sum or self._one(rows), rows.value + b
        shifts = np.broadcast_to(np.abs(b), y.shape)
        sums, off = self._together(sums, Sum(1, shifts, np.zeros_like(y)), y, rows.whole())
        off = row_norms(off)
        shifted = replace(rows.made(y, rows.linear, self._raised(rows.rest + off)), sum=sums)
        if rows.ellipsoids is None:
            return shifted
        rounded = Ellipsoids.of_balls(self._raised(off), y.shape[1])
        return replace(shifted, ellipsoids=Ellipsoids.sums([rows.ellipsoids, rounded]))

    def unembed(self, rows: Spread, W: Floats, b: Floats | None) -> Leads:
        y, sums = self._product(rows, W, b)
        off = sums.rounded
        fine = _fine(len(W)) * rows.whole()
        step = max(1, _PAIRS // max(1, rows.linear.shape[1] * W.shape[1]))
        radius, apart = np.empty_like(y), np.empty_like(y)
        for start in range(0, len(y), step):
            part = slice(start, start + step)
            top = y[part].argmax(axis=1)
            of_each = rows.linear[part] @ W
            of_top = np.take_along_axis(of_each, top[:, None, None], 2)
            length, rest = row_norms(W.T), rows.rest[part, None]
            radius[part] = frobenius_norms(of_each[..., None], rows.width) + rest * length + off[part]
            apart[part] = frobenius_norms((of_each - of_top)[..., None], rows.width)
            apart[part] += rest * row_norms((W[:, top].T[:, :, None] - W).transpose(0, 2, 1))
            apart[part] += off[part] + np.take_along_axis(off[part], top[:, None], 1)
            radius[part] += fine[part, None] * length
            apart[part] += 2.0 * fine[part, None] * (length + length[top][:, None])
        return Leads(y, self._raised(radius), self._raised(apart))

    def softcap(self, outputs: Leads, divisor: float | None, cap: float | None) -> Leads:
        if divisor is None and cap is None:
            return outputs
        value, radius = self.balls.softcap((outputs.value, outputs.radius), divisor, cap)
        return Leads(value, radius, raised(radius + np.take_along_axis(radius, value.argmax(axis=1)[:, None], 1)))

    # -----------------------------------------------------------------------------------------------------------------
    # Heads.

    def project_heads(self, rows: Spread, maps: Floats, shifts: Floats | None) -> Spread:
        if not len(maps):
            return _bare(self.balls.project_heads(_ball(rows), maps, shifts))
        shape = (*maps.shape[::2],)
        y, sums = self._product(rows, self.norms.side_by_side(maps), None if shifts is None else shifts.reshape(-1))
        norms, linear = self.norms.of(maps), rows.linear @ self.norms.side_by_side(maps)
        y, off, linear = (x.reshape(*x.shape[:-1], *shape) for x in (y, sums.rounded, linear))
        rest = rows.rest[:, None] * norms.plain + row_norms(off)
        rest = self._raised(rest + _fine(maps.shape[1]) * rows.whole()[:, None] * norms.frobenius)
        return rows.made(y, linear, rest)

    def select_heads(self, x: Spread, heads: Sequence[int]) -> Spread:
        which = np.asarray(heads, dtype=np.int64)
        return x.made(x.value[:, which], x.linear[:, :, which], x.rest[:, which])

    def repeat_heads(self, rows: Spread, heads: int) -> Spread:
        return _bare(self.balls.repeat_heads(_ball(rows), heads))

    def uniform_attention(self, value: Spread, length: int) -> Spread:
        return _bare(
            self.balls.uniform_attention(HeadBalls(value.value, row_norms(value.value), value.whole()), length)
        )

    def clip(self, heads: Spread, c: float) -> Spread:
        """Lemma R15 (c): a function with two kinks, which the other run may have a little elsewhere."""
        value, off = _side_by_side(heads), _side_by_side(heads).reach()
        slope, doubt = _between(value.value, off, -c, c)
        doubt = raised(doubt + 2.0 * self.elsewhere.conversion * c)
        return _by_head(self._bent(value, self.numbers.clip(value.value, c), slope, doubt), heads)

    def normalize_heads(self, heads: Spread, norm: Normalization, together: bool) -> Spread:
        if together:
            return _by_head(self._normalized(_side_by_side(heads), norm), heads)
        count, width = heads.value.shape[1:]
        parts = [norm] * count if norm.width == width else norm_parts(norm, width)
        rows = [
            self._normalized(heads.made(heads.value[:, h], heads.linear[:, :, h], rest), part)
            for h, (part, rest) in enumerate(zip(parts, heads.rest.T, strict=True))
        ]
        value, rest = np.stack([row.value for row in rows], axis=1), np.stack([row.rest for row in rows], axis=1)
        return heads.made(value, np.stack([row.linear for row in rows], axis=2), rest)

    def rope(self, heads: Spread, block: Attention, positions: Int64Array) -> Spread:
        """Lemma T9; the generators are turned alike."""
        symbols, sizes = heads.linear.shape[1], row_norms(heads.value) + heads.whole()
        self._require_small(2.0 * sizes)
        flat = heads.linear.reshape(-1, *heads.value.shape[1:])
        linear = self.numbers.rope(flat, block, np.repeat(positions, symbols)).reshape(heads.linear.shape)
        rest = heads.rest + self.balls.turn_rounding() * sizes + _FINE * heads.whole()
        value = self.numbers.rope(heads.value, block, positions)
        return heads.made(value, linear, self._raised(rest))

    def attend(self, block: Attention, query: Spread, key: Spread, value: Spread, pairs: AttentionPairs) -> Spread:
        """Lemma R15 (d), of each pair."""
        numbers, unit, length = self.numbers, self.numbers.unit, pairs.read.shape[1]
        if not value.value.shape[1] or not len(pairs.kept):
            none = np.zeros((len(pairs.kept), *value.value.shape[1:]))
            return _bare(HeadBalls(none, row_norms(none), np.zeros(none.shape[:2])))
        asked, read = pairs.asked, pairs.read[pairs.kept // pairs.asking.shape[1]]
        allowed = np.broadcast_to(pairs.allowed[pairs.kept % pairs.asking.shape[1]][:, None], (len(read), 1, length))
        q, k, v = query.gather(asked), self._of_pairs(key, read), self._of_pairs(value, read)
        scores, of_query, of_key, rest = self._scores(block, q, k)
        known = _of_scores(of_query, query.width, of_key, key.width)
        doubt = np.where(allowed, raised(known + rest), 0.0)
        below = numbers.subtract_max(scores[:, :, None], allowed[:, :, None])[:, :, 0]
        powers = np.where(allowed, numbers.exponentials(np.where(allowed, below, 0.0)), 0.0)
        distance = np.where(allowed, np.abs(below), 0.0) + doubt + doubt.max(axis=-1, keepdims=True)
        rescaled = rescalings(length)
        exponentials = growth(unit, (numbers.exponential + 1.0) * (1.0 + rescaled))
        rounded = raised(rest + growth(unit, 4) * distance + exponentials)
        shares = powers / powers.sum(axis=-1, keepdims=True)
        # Of scores less their average, which change the weights as much.
        centred = _of_scores_apart(of_query, query.width, of_key, key.width, shares)
        doubt = np.where(allowed, raised(centred + _FINE * known + rounded), 0.0)

        mean = np.einsum("lhs,lhsn->lhn", shares, v.value)
        sizes, whole = row_norms(v.value), v.whole
        largest = np.where(allowed, sizes + whole, 0.0).max(axis=-1)
        self._require_small(0.25 * length * largest)  # a sum of them, divided at the end
        gaps = v.value - mean[:, :, None]
        apart = row_norms(gaps) + _FINE * largest[..., None]
        # e^D - 1, and e^D - 1 - D.
        small = doubt < 0.5
        first = np.where(small, doubt / (1.0 - 0.5 * doubt) * (1.0 + _FINE), np.inf)
        second = np.where(small, 0.5 * doubt * doubt / (1.0 - doubt / 3.0) * (1.0 + _FINE), np.inf)
        missing = _averaged(shares, second + rounded + _FINE * known)
        linear_holds = missing < 0.5
        quotient = np.where(linear_holds, missing / np.where(linear_holds, 1.0 - missing, 1.0), np.inf)
        # What is beyond: along the gap of each row that is read, and in directions that are not known.
        along = np.where(shares > 0.0, shares * (second + rounded + first * quotient[..., None]), 0.0)
        beyond = _averaged(shares, first * whole + v.rest + (1.0 + first) * whole * quotient[..., None])
        # The generators of scores, not centred, times gaps, whose average is 0 but for what float64 rounds.
        beyond = beyond + 2.0 * _fine(length) * _averaged(shares, known) * largest
        # Numerators may underflow elsewhere; those below the lowest score are e^400 times larger there at most, also
        # where it is the others that fall: e^(-600 + 400) < 2^-288.
        hidden = np.where(below < LOWEST_SCORE, np.where(doubt < 400.0, 2.0**-280, np.inf), 0.0)
        flushed = np.where(allowed, self.elsewhere.floor + hidden, 0.0).sum(axis=-1)
        rounding = (growth(unit, 2 * length + 2 * rescaled + 8) + _fine(length)) * largest
        # Numerators that are off by `flushed` in all move the average by at most 8 times that (Lemma R15 (d)).
        beyond = beyond + 16.0 * flushed * largest
        spread = np.where(linear_holds, np.where(shares > 0.0, along * apart, 0.0).sum(axis=-1) + beyond, np.inf)
        hull = np.where(allowed, apart + whole, 0.0).max(axis=-1)
        linear_holds = spread < hull

        weighted = (shares * linear_holds[..., None])[..., None] * gaps
        own = np.matmul(of_query.transpose(0, 2, 1, 3), weighted).transpose(0, 2, 1, 3)
        shares = shares * linear_holds[..., None]
        others = of_key[..., None] * weighted.transpose(0, 2, 1, 3)[:, :, None]
        others += shares.transpose(0, 2, 1)[:, :, None, :, None] * v.linear
        if query.age == key.age >= 0:
            itself = (read == asked[:, None])[:, :, None, None, None]
            own = own + np.where(itself, others, 0.0).sum(axis=1)
            others = np.where(itself, 0.0, others)
        linear = np.concatenate([own, others.reshape(len(own), -1, *own.shape[2:])], axis=1)
        width = max(query.width, key.width)
        if self.directed and linear.shape[1] and mean.shape[2] <= width:
            segments = Ellipsoids.of_segments(np.where(linear_holds[..., None], along, 0.0), gaps)
            of_gaps, lost = segments.of_each_head(width)
            linear = np.concatenate([linear, of_gaps], axis=1)
            spread = beyond + lost + _FINE * along.sum(axis=-1) * largest  # by which the gaps are off
        rest = self._raised(np.where(linear_holds, spread, hull) + rounding)
        return Spread(mean, linear, rest, q.own, query.age, width)

    def _of_pairs(self, x: Spread, read: Int64Array) -> "_Read":
        rest, whole, frobenius = (part[read].transpose(0, 2, 1) for part in (x.rest, self._whole(x), x.whole()))
        return _Read(x.value[read].transpose(0, 2, 1, 3), x.linear[read], rest, whole, frobenius, x.width)

    def _scores(self, block: Attention, q: Spread, k: "_Read") -> tuple[Floats, Floats, Floats, Floats]:
        """Return the scores `[L, H, S]`, their generators of what asks `[L, g, H, S]` and of each row that is read
        `[L, S, g, H]`, and what is beyond these, but for the exponential.
        """
        unit, root = self.numbers.unit, np.sqrt(float(block.score_root))
        asks, has = row_norms(q.value)[..., None], row_norms(k.value)
        q_whole, q_rest = self._whole(q)[..., None], q.rest[..., None]
        sizes = (asks + q_whole) * (has + k.whole)
        self._require_small(sizes)
        fine = _fine(block.d_qk) * (asks + q.whole()[..., None]) * (has + k.frobenius)
        rest = asks * k.rest + q_rest * has + q_whole * k.whole
        rest = (rest + growth(unit, score_roundings(block.d_qk)) * sizes + fine) / root
        scores = np.einsum("lhe,lhse->lhs", q.value, k.value) / root
        keys = k.value.transpose(0, 1, 3, 2)
        of_query = np.matmul(q.linear.transpose(0, 2, 1, 3), keys).transpose(0, 2, 1, 3) / root
        of_key = np.einsum("lsghe,lhe->lsgh", k.linear, q.value) / root
        if (c := block.score_cap) is not None:
            off = raised(_of_scores(of_query, q.width, of_key, k.width) + rest)
            self._require_small(np.array(c + 1.0 / c))
            scores = self.numbers.softcap(scores, c)
            slope = 1.0 - np.square(scores / c)
            # |c tanh(x / c)''| <= 0.77 / c, half of it below 0.4 / c; the slope is that of the evaluated score.
            rest = rest + 0.4 / c * off * off + self.balls.cap_rounding(c) * (1.0 + 2.0 * off / c)
            of_query = of_query * slope[:, None]
            of_key = of_key * slope.transpose(0, 2, 1)[:, :, None]
        if block.slopes is not None:
            bias = block.slopes[:, None] * np.arange(scores.shape[2], dtype=np.float64)
            scores = scores + bias
            seen = np.abs(scores) + 2.0 * np.abs(bias) + (asks + q_whole) * (has + k.whole) / root
            self._require_small(seen)
            rest = rest + growth(unit, score_roundings(block.d_qk)) * seen  # a score may start with it
        return scores, of_query, of_key, self._raised(rest)

    def project_output(self, mixed: Spread, block: Attention, heads: Sequence[int] | None = None) -> Spread:
        matrix = block.W_O if heads is None else block.W_O[np.asarray(heads, dtype=np.int64)]
        x, flat = _side_by_side(mixed), matrix.reshape(-1, block.d_out)
        y, sums = self._product(x, flat, None)
        off = sums.rounded
        norms = self.norms.of(block.W_O.reshape(1, -1, block.d_out))
        by_head = raised(mixed.rest @ row_norms(matrix.reshape(len(matrix), -1)))
        rounded = row_norms(off) + _fine(len(flat)) * x.whole() * norms.frobenius[0]
        rest = self._raised(np.fmin(x.rest * norms.plain[0], by_head) + rounded)
        written = replace(x.made(y, x.linear @ flat, rest), sum=sums)
        if not self.directed:
            return written
        of_heads = [Ellipsoids.of_images(radius, W) for radius, W in zip(mixed.rest.T, matrix, strict=True)]
        rounded = Ellipsoids.of_balls(self._raised(rounded), block.d_out)
        return replace(written, ellipsoids=Ellipsoids.sums([*of_heads, rounded]))


class _Read(NamedTuple):
    """What is read in each pair: values `[L, H, S, n]`, generators `[L, S, g, H, n]`, rests and two bounds of how far
    it may be off, `[L, H, S]`.
    """

    value: Floats
    linear: Floats
    rest: Floats
    whole: Floats
    frobenius: Floats
    width: int


def _of_scores(of_query: Floats, width: int, of_key: Floats, other: int) -> Floats:
    """How far scores may be off by their generators `[L, g, H, S]` and `[L, S, g, H]`, `[L, H, S]`."""
    count, length, symbols, heads = of_key.shape
    keys = frobenius_norms(of_key.reshape(count * length, symbols, heads, 1), other)
    return frobenius_norms(of_query[..., None], width) + keys.reshape(count, length, heads).transpose(0, 2, 1)


def _of_scores_apart(of_query: Floats, width: int, of_key: Floats, other: int, shares: Floats) -> Floats:
    """As `_of_scores`, for scores less their average with these shares `[L, H, S]`."""
    count, length, symbols, heads = of_key.shape
    of_query = of_query - np.einsum("lghs,lhs->lgh", of_query, shares)[..., None]
    keys = frobenius_norms(of_key.reshape(count * length, symbols, heads, 1), other)
    keys = keys.reshape(count, length, heads).transpose(0, 2, 1)
    # The average has a share of the score itself: the key moves the rest of that, and all others move theirs.
    of_keys = (1.0 + 2.0**-40 - 2.0 * shares) * keys + (shares * keys).sum(axis=-1, keepdims=True)
    return frobenius_norms(of_query[..., None], width) + of_keys


def _fine(terms: int) -> float:
    """Above what float64 rounds in sums of so many products of generators, relatively to the norms."""
    return max(_FINE, growth(UNIT, 4.0 * terms + 64.0))


def _bare(x: RowBalls | HeadBalls) -> Spread:
    """Rows that are off in no known direction."""
    radius, count = x.whole() if isinstance(x, RowBalls) else x.radius, len(x.value)
    return Spread(x.value, np.zeros((count, 0, *x.value.shape[1:])), radius, np.arange(count), -1, 1)


def _ball(x: Spread) -> RowBalls:
    return RowBalls(x.value, x.whole())


def _side_by_side(heads: Spread) -> Spread:
    """Return the rows of all heads as one row."""
    count, symbols, width = len(heads.value), heads.linear.shape[1], heads.value.shape[1] * heads.value.shape[2]
    value, linear = heads.value.reshape(count, width), heads.linear.reshape(count, symbols, width)
    return heads.made(value, linear, row_norms(heads.rest))


def _by_head(rows: Spread, like: Spread) -> Spread:
    """Rows of all heads side by side, taken apart."""
    rest = np.repeat(rows.rest[:, None], like.value.shape[1], axis=1)
    return rows.made(rows.value.reshape(like.value.shape), rows.linear.reshape(like.linear.shape), rest)


def _averaged(shares: Floats, sizes: Floats) -> Floats:
    """Averages in which a share of 0 counts as nothing."""
    return np.where(shares > 0.0, shares * np.where(shares > 0.0, sizes, 0.0), 0.0).sum(axis=-1)


def _curvature(activation: Activation, least: Floats) -> Floats:
    """Above the second derivative of an activation at all numbers of at least these sizes."""
    far = np.clip(least, 6.0, 600.0)
    tail = far * (2.0 + far) ** 4 * np.exp(-far) * (1.0 + 2.0**-20)
    return np.where(least >= 6.0, np.minimum(SLOPES[activation][1], tail), SLOPES[activation][1])


def _between(x: Floats, off: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return slopes of the cut at `low` and `high` over `x` plus or minus `off`, and bounds of the deviation from them.

    Within the cut the slope is 1, outside it 0. Where a kink is in reach the slope is 1/2, half of both sides', and the
    cut deviates from it by at most `off` / 2 (Lemma R15 (c)).
    """
    inside = (x - off > low) & (x + off < high)
    outside = (x + off < low) | (x - off > high)
    return np.where(inside, 1.0, np.where(outside, 0.0, 0.5)), np.where(inside | outside, 0.0, 0.5 * off)
