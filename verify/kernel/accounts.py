r"""Bound how far real arithmetic, and every run of a number format, may be from the nominal numbers of `columns.py`.

Both accounts answer the same two questions: what a sum adds to the distance, and what a head adds. Distances are
integers over $2^{4096}$ (`RADIUS`), always rounded up. The letters: a format has p bits, the unit roundoff
$u = 2^{-p}$, the least normal number $\lambda$ and a largest number $\Omega$; hypotheses H1, H2, H5 are those of
docs/rigour/runs.md.

Page: docs/rigour/kernel.md
"""

import math
from dataclasses import dataclass
from typing import Protocol

from verify.kernel.columns import RADIUS, Column, Sizes, distance, divided_up

_LOG2_E = 14_426_950_408, 10**10  # a little less than the binary logarithm of e
_LEAD = 120  # by which the top score has to lead in a run (H5 c)
_TAU = 173  # e^-120 < 2^-173
FINEST = 64  # bits of the longest format in which a run may keep what its own rounds
_LARGEST_UNIT = 64  # units up to 2^64 are told apart


@dataclass(frozen=True)
class Looked:
    """The nominal rows that a head reads from one position.

    Args:
        gap: All other scores lie lower than the largest by $gap / 2^{scale}$ at least; none if there are no others.
        scale: Scale of the gap.
        ties: Whether more than one row may have the largest score.
        is_average: Whether these rows are as many as a power of two in every context, so that their average is nominal.
        length: At most this many rows are read.
        root: Scores are divided by the square root of this number.
        query: The columns of the query.
        keys: For each of them a column with the ends, and the distances, of the keys of all rows.
        key_unit: A power of two of which all keys are multiples, by column, as of `Column.unit`.
    """

    gap: int | None
    scale: int
    ties: bool
    is_average: bool
    length: int
    root: int
    query: list[Column]
    keys: list[Column]
    key_unit: list[int]


class Account(Protocol):
    """Who computes, and how far from the nominal numbers."""

    def added(self, sizes: Sizes, drift: int, *, fits: bool, fires: bool = False) -> int:
        """Bound the error of a sum whose terms are off by `drift` in total and whose weights are exact.

        With `fires` only its positive part is asked for.
        """
        ...

    def weighs(self, looked: Looked, account: int) -> int | None:
        """Bound how far the weights of a head are from the average over its top rows, as a sum of absolute differences.

        `account` is the place of this account among the distances of columns.

        In units of $2^{-RADIUS}$; none if that is not known.
        """
        ...

    def mixed(self, sizes: Sizes, drift: int, looked: Looked, reach: int) -> int:
        """Bound the error of an average over top rows whose terms, including the other rows, are off by `drift` in
        total.

        `reach` bounds all values of all rows, at the scale of `sizes`.
        """
        ...

    def anything(self, reach: int, scale: int, length: int) -> int:
        """Bound how far a head with arbitrary weights may be outside of the hull of its values, if all values are at
        most this large.
        """
        ...

    def fits(self, values: list[float]) -> bool:
        """Tell whether weights are represented exactly."""
        ...


class Reals:
    """Real arithmetic: sums are exact, and a head's other rows weigh e to the minus gap."""

    def added(self, sizes: Sizes, drift: int, *, fits: bool, fires: bool = False) -> int:
        return drift

    def mixed(self, sizes: Sizes, drift: int, looked: Looked, reach: int) -> int:
        return drift

    def anything(self, reach: int, scale: int, length: int) -> int:
        return 0  # the weights are positive and sum to 1

    def fits(self, values: list[float]) -> bool:
        return True

    def weighs(self, looked: Looked, account: int) -> int | None:
        r"""Return the 1-norm of the difference between the weights and the average over k top rows (Lemma C1).

        Let real scores be within $\delta \le 1/2$ of nominal ones, and the S - k other rows lie lower by g. Their share
        is at most $\rho = (S - k) e^{-g + \delta} / (k e^{-\delta}) \le S e^{1 - g}$; what they take is missing at the
        top, together $2 \rho$. Among the top rows no weight differs from $1/k$ by a factor beyond $e^{\pm 2 \delta}$,
        together $e^{2 \delta} - 1 \le 4 \delta$, and 0 for k = 1.
        """
        if not looked.is_average:
            return None
        delta = -(-_score_distance(looked, account) // math.isqrt(looked.root))
        if 2 * delta > 1 << RADIUS:
            return None
        among = 4 * delta if looked.ties else 0
        if looked.gap is None:
            return among
        lead = looked.gap // (math.isqrt(looked.root - 1) + 1) >> looked.scale  # the root rounded up
        bits = (lead - 1) * _LOG2_E[0] // _LOG2_E[1]
        return among + 2 * looked.length * (1 << max(0, RADIUS - bits)) if bits > 0 else None


def _score_distance(looked: Looked, account: int) -> int:
    """Bound the errors of scores before their division: $|q||dk| + |dq||k| + |dq||dk|$, summed over the columns."""
    total = 0
    for q, k in zip(looked.query, looked.keys, strict=True):
        dq, dk = q.off[account], k.off[account]
        total += divided_up(q.size * dk, q.scale)
        total += divided_up(k.size * dq, k.scale)
        total += divided_up(dq * dk, RADIUS)
    return total


@dataclass
class Runs:
    r"""Every run in a number format: each operation rounds to nearest, and sums are added in any order (H1, H2, H5).

    Args:
        bits: p; $u = 2^{-p}$.
        least: $\lambda = 2^{least}$.
        most: $2^{most} \le \Omega$.
        finest: P; some operations of a run may be in finer formats, which have all numbers of this one, and at most P
            bits. In float16 there is none such: its least number is too large to vanish in a longer one.
        overflow: What may overflow; empty if nothing does. Afterwards nothing is known of runs.
    """

    bits: int
    least: int
    most: int
    finest: int = FINEST
    overflow: str = ""

    def fits(self, values: list[float]) -> bool:
        """Tell whether the format represents these numbers; numbers that it may treat as 0 or infinity raise an
        overflow.
        """
        exact = True
        for x in values:
            n = abs(x.as_integer_ratio()[0])
            exact &= (n // (n & -n) if n else 0).bit_length() <= self.bits
            if n and not 2.0**self.least <= abs(x) <= 2.0 ** (self.most - 3):
                self.overflow = self.overflow or f"the weight {x!r} is too large or too small for the format"
        return exact

    def added(self, sizes: Sizes, drift: int, *, fits: bool, fires: bool = False) -> int:
        r"""Bound the error of a sum in every run.

        *Theorem.* Let the nominal terms $t_i$ be multiples of $g \ge \lambda$, let the positive ones add up to at most
        $2^p g$ and the negative ones to at least $-2^p g$, and let a run have $t_i + d_i$ with $\sum |d_i| \le D$. If
        $D = 0$ every order of summation gives $y = \sum t_i$. It does so too where $y \ne 0$ if $8 D < 2^{-P} g$,
        $32 (n + 1) u \lambda \le 2^{-P} g$ and $(n + 2) u < 1/4$, and then gives at most $2 D + 8 (n + 1) u \lambda$
        where $y = 0$. Each operation may be in a format of its own that has the numbers of this one and at most P bits.

        *Proof.* The nominal part I of a node of the tree of additions is a sum of some $t_i$: a multiple of g of size
        at most $2^p g$, so a number of the format, of all finer ones, and normal or 0. If D = 0 each node adds such
        numbers and has nothing to round. Otherwise, by induction, a node has I where $I \ne 0$, and at most its share
        of D, a factor $1 + u$ and $2 u \lambda$ for each of its at most 2 n roundings where I = 0: at most
        $(1 + u)^{n + 2} D + 1.3 \cdot 2 n \cdot 2 u \lambda \le \frac43 D + 6 (n + 1) u \lambda < 2^{-P} g / 2$. From
        $I \ne 0$ to the numbers next to it, in a format of at most P bits, is at least $2^{-P} |I| \ge 2^{-P} g$, so
        $I$ plus less than half of that rounds to $I$. Products are nodes; a fused one rounds less. []

        A sum that is not so is off by at most $D + \gamma_{n + 3} (\sum |t_i| + D) + 16 (n + 1) \lambda$, with
        $\gamma_m = m u / (1 - m u) \le \frac43 m u$ for $m u \le 1/4$: each term passes at most n - 1 additions, its
        product and the conversion of its weight, and each of these underflows by at most $2 \lambda$ (H1).

        Nothing overflows if in each context the positive terms and D, and the negative ones and D, add up to at most
        $H = 2^{most - 3}$: a partial sum is at most H and what is rounded, $\frac13 \cdot 2 H + 16 (n + 1) \lambda$ as
        $(n + 3) u \le 1/4$, so below $2^{most - 1}$.

        Each context may have a g of its own. With `fires` the contexts in which the theorem does not hold are nothing
        off if their sums, by that, stay at most 0: their positive parts are 0 in every run.
        """
        return self._summed(sizes, drift, fits=fits, may_be_long=False, fires=fires)

    def _summed(self, sizes: Sizes, drift: int, *, fits: bool, may_be_long: bool, fires: bool = False) -> int:
        total = distance(sizes.total, sizes.scale)
        largest = 1 << RADIUS + self.most - 3
        if total + drift > largest and distance(sizes.tight(), sizes.scale) + drift > largest:
            self.overflow = self.overflow or "a sum may overflow"
            return 0
        if sizes.total == 0 and drift == 0:
            return 0
        unit = min(sizes.unit(), sizes.scale + _LARGEST_UNIT)  # a column of zeros is a multiple of everything
        most = 1 << max(0, unit + self.bits)
        if not fits or not self._absorbs(unit - sizes.scale, sizes.count, drift):
            return self._rounded(total, drift, sizes.count)
        if not (may_be_long or sizes.total <= most or sizes.tight() <= most):
            loose = sizes.loose(self.bits)
            if (first := next(loose, None)) is not None:
                rounded = self._rounded(total, drift, sizes.count)
                silent = -divided_up(rounded << sizes.scale, RADIUS)  # sums up to this are at most 0 in every run
                if not fires or first > silent or any(own > silent for own in loose):
                    return rounded
        return self._dust(drift, sizes.count) if drift and sizes.has_zero() else 0

    def mixed(self, sizes: Sizes, drift: int, looked: Looked, reach: int) -> int:
        r"""Treat it as a sum of n = S + 3 terms with exact weights 1 / k, and other weights of at most $2 \tau$ each.

        The softmax may be divided at the end; then S values, one after the other, are added first: $S \max |v|$ must
        not overflow. The sum of the numerators is k, and $y k$ and $y$ have the same bits.
        With k = 1 nothing is added to a value but what the other rows weigh: it need not be short to absorb that.
        """
        if looked.length * reach > 1 << max(0, sizes.scale + self.most - 3):
            self.overflow = self.overflow or "the sum of a softmax may overflow"
            return 0
        return self._summed(sizes, drift, fits=True, may_be_long=not looked.ties)

    def anything(self, reach: int, scale: int, length: int) -> int:
        r"""Allow any nonnegative weights with sum 1 up to $4 S + 12$ roundings: $\gamma_{4 S + 12} V + \dots$."""
        if length * reach > 1 << max(0, scale + self.most - 3):
            self.overflow = self.overflow or "the sum of a softmax may overflow"
            return 0
        return self._rounded(distance(reach, scale), 0, 4 * length + 12)

    def weighs(self, looked: Looked, account: int) -> int | None:
        r"""Bound the weight of all other rows by $4 S \tau$, if they are computed 120 or more below the top (H5 c).

        Then each of them weighs at most $2 \tau$, $\tau = \max(2^{-173}, 2 u \lambda)$, so if
        $4 S \tau \le 2^{-P} / 4$ the sum of the numerators, k of them 1, is k: less than half a unit of it is added,
        and k is no more than the format counts to. One top row needs a computed lead,
        $(g - 2 \delta)(1 - 4 u) \ge 120$ with scores off by $\delta$ and a difference that rounds. Several need scores
        that are exactly equal in every run.
        """
        exact, delta = self._scores(looked, account)
        if not looked.is_average or (looked.ties and not exact) or looked.length > 1 << self.bits - 2:
            return None
        if looked.gap is None:
            return 0
        lead = (looked.gap << RADIUS) // (math.isqrt(looked.root - 1) + 1) >> looked.scale
        if (lead - 2 * delta) * (2**self.bits - 4) < _LEAD << RADIUS + self.bits:
            return None
        tau = 1 << RADIUS - min(_TAU, self.bits - 1 - self.least)
        share = 4 * looked.length * tau
        return share if share << self.finest + 2 <= 1 << RADIUS else None

    def _scores(self, looked: Looked, account: int) -> tuple[bool, int]:
        r"""Tell whether scores are exact in every run; otherwise bound their errors in units of $2^{-RADIUS}$.

        They are sums of products $q_i k_i$, to which the theorem of `added` applies, and exact if they are divided by
        the root of $16^j$: then $4^j$ divides them, or $2^j$ each factor, and nothing is lost as long as factors and
        products remain multiples of $\lambda$. Otherwise a score passes at most 12 more roundings: those of the root,
        of the quotient, and of factors that are divided instead.

        By flushing it loses at most $2 \lambda$ for each of n products, n - 1 sums and 4 more operations, and for each
        of at most 3 of a factor times the other one, all of it at most 4/3 times in what follows:
        $\frac43 2 \lambda (2 n + 3 + 3 \sum (|q_i| + |k_i|)) \le 16 (n + 1) \lambda (1 + \sum (|q_i| + |k_i|))$, where
        already $16 n$ would do for $n \ge 1$, and without factors there is no score.
        """
        count, total, factors, units = len(looked.query), 0, 0, []
        drift = _score_distance(looked, account)
        own = [(q, k, unit) for q, k, unit in zip(looked.query, looked.keys, looked.key_unit, strict=True)]
        for q, k, unit in own:
            total += distance(q.size * k.size, q.scale + k.scale)
            factors += distance(q.size, q.scale) + distance(k.size, k.scale)
            if q.size and k.size:
                units.append((q.unit + unit - q.scale - k.scale, q.unit - q.scale, unit - k.scale))
        if total + drift > 1 << RADIUS + self.most - 3:
            self.overflow = self.overflow or "a score may overflow"
            return False, 0
        if not units and drift == 0:
            return True, 0
        power = looked.root.bit_length() - 1
        if drift == 0 and 1 << power == looked.root and power % 4 == 0:
            least = min(min(column_units) for column_units in units) - power // 2
            unit = min(column_units[0] for column_units in units)
            if least >= self.least and total <= 1 << max(0, RADIUS + unit + self.bits):
                return True, 0
        delta = self._rounded(total + drift, 0, count + 12) + drift
        flushed = 16 * (count + 1) * ((factors >> -self.least) + 1 + (1 << RADIUS + self.least))
        return False, delta // math.isqrt(looked.root) + 1 + flushed

    def _absorbs(self, unit: int, count: int, drift: int) -> bool:
        """Tell whether sums of multiples of 2^unit absorb their errors, and none of them is flushed."""
        if unit < self.least:
            return False
        small = drift << 3 < 1 << max(0, RADIUS + unit - self.finest)
        room = unit - self.least - 5 - (self.finest - self.bits)
        few = room >= 0 and count + 1 <= 1 << room
        return drift == 0 or (small and few and count + 2 < 1 << self.bits - 2)

    def _dust(self, drift: int, count: int) -> int:
        return 2 * drift + (8 * (count + 1) << RADIUS + self.least - self.bits)

    def _rounded(self, total: int, drift: int, count: int) -> int:
        if 4 * (count + 3) > 1 << self.bits:
            self.overflow = self.overflow or f"a sum has {count} terms, too many for the format"
            return 0
        share = divided_up(-(-4 * (count + 3) * (total + drift) // 3), self.bits)
        return drift + share + (16 * (count + 1) << RADIUS + self.least)
