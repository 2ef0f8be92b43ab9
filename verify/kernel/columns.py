"""Compute exact integer columns: one coordinate of the stream at one position, in all contexts of a chunk.

A column holds its *nominal* numbers: what the weights give in exact arithmetic if each head reads the average of the
rows with the largest score and nothing of the others. These numbers are dyadic, so they are integers over a power of
two. An *account* (`accounts.py`) bounds how far something else is from them: real arithmetic, where the other rows
weigh a little, or a run of a number format, which rounds. Columns that no logit depends on are known by their
ends alone.

Page: docs/rigour/kernel.md
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import repeat
from operator import add, or_, sub

RADIUS = 4096  # distances are integers over 2 to this power, rounded up
NO_UNIT = -(2**40)  # the exponent of the unit of what is a multiple of no known power of two
ZERO = 2**40  # that of a column of zeros, which is a multiple of every one


def divided_up(number: int, power: int) -> int:
    """Return $number / 2^{power}$ rounded up, of any sign: a shift rounds down, so it is done to the negative."""
    return -(-number >> power)


def distance(number: int, scale: int) -> int:
    """Return $number / 2^{scale}$ in units of $2^{-RADIUS}$, rounded up."""
    return divided_up(number << RADIUS, scale)


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers $n / 2^{scale}$, one per context of the chunk, or a single one if all are equal.

    Args:
        numbers: The integers n, or none where only the ends are known.
        scale: Scale of the numbers and the ends.
        low: The least of them, or no more than that.
        high: The largest, or no less.
        off: For each account how far its numbers are from the nominal ones at most, in units of $2^{-RADIUS}$; where
            only the ends are known, how far outside of these they are.
    """

    numbers: list[int] | None
    scale: int
    low: int
    high: int
    off: tuple[int, ...]

    @property
    def size(self) -> int:
        """The largest absolute value of a nominal number."""
        return max(self.high, -self.low)

    @property
    def is_constant(self) -> bool:
        """Whether all contexts of the chunk have the same number."""
        return self.numbers is not None and len(self.numbers) == 1

    @cached_property
    def unit(self) -> int:
        """The largest u such that $2^u$ divides all integers."""
        if self.numbers is None:
            return NO_UNIT
        bits = reduce(or_, self.numbers)
        return (bits & -bits).bit_length() - 1 if bits else ZERO

    @cached_property
    def has_zero(self) -> bool:
        """Whether some nominal number is, or may be, 0."""
        return self.low <= 0 <= self.high and (self.numbers is None or 0 in self.numbers)

    def rectified(self) -> "Column":
        """Return max(0, x), which increases no distance; it is exactly 0 where all numbers are proved to be at most
        0.
        """
        furthest = self.high << RADIUS
        off = tuple([0 if furthest + (r << self.scale) <= 0 else r for r in self.off])
        if self.high <= 0:
            return Column([0], self.scale, 0, 0, off)
        if self.low >= 0:
            return Column(self.numbers, self.scale, self.low, self.high, off)
        numbers = None if self.numbers is None else [n if n > 0 else 0 for n in self.numbers]
        return Column(numbers, self.scale, 0, self.high, off)


def column_of(numbers: list[int], scale: int, off: tuple[int, ...]) -> Column:
    """Return a column with these numbers, stored as a single one if all are equal."""
    low, high = min(numbers), max(numbers)
    return Column(numbers[:1] if low == high else numbers, scale, low, high, off)


@dataclass(frozen=True)
class Term:
    """A summand: a column times a number, or several such products already added up.

    Args:
        times: The factor of the integers.
        numbers: As of a column.
        scale: Of what comes out.
        low: The least that comes out.
        high: The largest.
        total: The sum of the absolute values of its products is at most so much in every context.
        unit: A function that gives u such that all products are multiples of $2^u$.
        count: How many products there are.
        drift: How far the sum of the products is off, for each account, in units of $2^{-RADIUS}$.
    """

    times: int
    numbers: list[int] | None
    scale: int
    low: int
    high: int
    total: int
    unit: Callable[[], int]
    count: int
    drift: tuple[int, ...]


def product(weight: int, scale: int, column: Column) -> Term:
    r"""Return a column times the weight $weight / 2^{scale}$."""
    ends = weight * column.low, weight * column.high
    size = abs(weight)
    drift = tuple([divided_up(size * r, scale) if r else 0 for r in column.off])
    power = (weight & -weight).bit_length() - 1
    total = size * column.size
    return Term(
        weight, column.numbers, scale + column.scale, min(ends), max(ends), total, lambda: power + column.unit, 1, drift
    )


@dataclass(frozen=True)
class Sizes:
    r"""The facts about a sum that an account needs.

    Args:
        total: The sum of the absolute values of its terms is at most $total / 2^{scale}$ in every context.
        tight: A function that bounds all partial sums: no sum of some of the terms is larger than that of the positive
            ones, or of the negative ones, context by context where these are known.
        scale: Scale of the total.
        unit: A function that gives u such that all terms are multiples of $2^{u - scale}$.
        loose: A function of p that gives the sums, at this scale, of the contexts in which the positive terms, or the
            negative ones, add up to more than $2^p$ times the largest power of two that divides all terms of that
            context; or one number that is no less, for all contexts, where these are not known.
        count: How many terms there are.
        has_zero: A function that says whether the sum is or may be 0 in some context.
    """

    total: int
    tight: Callable[[], int]
    scale: int
    unit: Callable[[], int]
    loose: Callable[[int], Iterator[int]]
    count: int
    has_zero: Callable[[], bool]


def added(terms: Sequence[Term], shift: int, shift_scale: int) -> tuple[Column, Sizes]:
    """Return the sum of terms and an integer over 2^shift_scale, nothing off yet, and what accounts have to know of it.

    Its numbers are known where those of all terms are, and otherwise its ends.
    """
    scale = max([shift_scale, *(term.scale for term in terms)])
    shift <<= scale - shift_scale
    ups = [scale - term.scale for term in terms]
    low = shift + sum([term.low << up for term, up in zip(terms, ups, strict=True)])
    high = shift + sum([term.high << up for term, up in zip(terms, ups, strict=True)])
    total = abs(shift) + sum([term.total << up for term, up in zip(terms, ups, strict=True)])
    known = all(term.numbers is not None for term in terms)
    multiplied = [(term.times << up, term.numbers or []) for term, up in zip(terms, ups, strict=True)]
    if known and shift == 0 and [times for times, _ in multiplied] == [1]:
        column = Column(terms[0].numbers, scale, low, high, ())
    elif known:
        column = column_of(_weighted_sum(multiplied, shift), scale, ())
    else:
        column = Column(None, scale, low, high, ())

    def unit() -> int:
        of_shift = (shift & -shift).bit_length() - 1 if shift else ZERO
        return min([of_shift, *(term.unit() + up for term, up in zip(terms, ups, strict=True) if term.total)])

    def tight() -> int:
        if not known:
            return total
        alone = [term.count == 1 for term in terms]
        sizes = [
            (abs(times), list(map(abs, numbers)))
            for (times, numbers), one in zip(multiplied, alone, strict=True)
            if one
        ]
        rest = sum([term.total << up for term, up, one in zip(terms, ups, alone, strict=True) if not one])
        sums, terms_here = _weighted_sum(sizes, abs(shift) + rest), column.numbers or []
        longest = max(len(sums), len(terms_here))
        sums, terms_here = (values * longest if len(values) < longest else values for values in (sums, terms_here))
        return max([size + abs(n) for size, n in zip(sums, terms_here, strict=True)]) // 2

    def loose(bits: int) -> Iterator[int]:
        if not known or any(term.count != 1 for term in terms):
            yield high
            return
        contexts = max((len(numbers) for _, numbers in multiplied), default=1)
        lines = [
            map(times.__mul__, numbers if len(numbers) == contexts else repeat(numbers[0], contexts))
            for times, numbers in multiplied
        ]
        for parts in zip(*lines, strict=True) if lines else [()]:
            divided = reduce(or_, parts, shift)
            own = sum(parts, shift)
            larger = (sum(map(abs, parts), abs(shift)) + abs(own)) // 2  # of what is positive and what is negative
            if larger > (divided & -divided) << bits:
                yield own

    count = sum(term.count for term in terms) + (shift != 0)
    return column, Sizes(total, tight, scale, unit, loose, count, lambda: column.has_zero)


def _weighted_sum(terms: list[tuple[int, list[int]]], shift: int) -> list[int]:
    """Return the sum of multiples of columns and a number, context by context."""
    constant = shift + sum(times * numbers[0] for times, numbers in terms if len(numbers) == 1)
    terms = [(times, numbers) for times, numbers in terms if len(numbers) > 1]
    if not terms:
        return [constant]
    times, numbers = terms[0]
    sums = [times * n + constant for n in numbers]
    for times, numbers in terms[1:]:
        if times == 1:
            sums = list(map(add, sums, numbers))
        elif times == -1:
            sums = list(map(sub, sums, numbers))
        else:
            sums = [n + times * more for n, more in zip(sums, numbers, strict=True)]
    return sums


@dataclass(frozen=True)
class Integers:
    r"""A tensor as integers over the least power of two, matrix by matrix."""

    rows: list[list[int]]
    scale: int

    @classmethod
    def of(cls, values: Sequence[float], width: int) -> "Integers":
        """Convert rows of floats to integers exactly."""
        ratios = [x.as_integer_ratio() for x in values]
        scale = max([denominator.bit_length() - 1 for _, denominator in ratios], default=0)
        whole = [n << scale + 1 - denominator.bit_length() for n, denominator in ratios]
        return cls([whole[i : i + width] for i in range(0, len(whole), max(1, width))], scale)
