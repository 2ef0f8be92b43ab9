"""The relation of formal/float32/semantics.v in rational numbers: all results that it allows a small sum or softmax.

Each function has the name of its definition there. A set of results is a tuple of closed intervals, apart and in order;
no digit is lost, so that a number is a result of a run or it is not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

Results = tuple[tuple[Fraction, Fraction], ...]
"""All numbers that some run returns."""

Exponential = Callable[[Fraction], Results]
"""What a machine's exponential may return."""


@dataclass(frozen=True)
class Format:
    """A binary format: integers below 2^precision times 2^e with e >= least; below 2^safe nothing overflows."""

    precision: int
    least: int
    safe: int

    @property
    def normal(self) -> int:
        """The exponent of the smallest normal number."""
        return self.least + self.precision - 1

    def down(self, x: Fraction) -> Fraction:
        """The largest number of the format that is not above x.

        Example:
            >>> float32.down(Fraction(1, 3)) == Fraction(11184810, 2**25)
            True
        """
        if x == 0:
            return x
        exponent = x.numerator.bit_length() - x.denominator.bit_length()  # of abs(x), or one more
        exponent -= abs(x) < Fraction(2) ** exponent
        unit = Fraction(2) ** max(exponent + 1 - self.precision, self.least)
        return x // unit * unit

    def up(self, x: Fraction) -> Fraction:
        """The smallest number of the format that is not below x."""
        return -self.down(-x)


float32 = Format(24, -149, 127)
bfloat16 = Format(8, -133, 127)
float16 = Format(11, -24, 15)
float64 = Format(53, -1074, 1023)


def exactly(*numbers: float) -> Results:
    """Return these numbers as results."""
    return _joined((Fraction(number), Fraction(number)) for number in numbers)


def allows(results: Results, number: float) -> bool:
    """Return whether a number is one of the results; an infinity and NaN are none."""
    if number != number or number in (float("inf"), float("-inf")):
        return False
    return any(low <= Fraction(number) <= high for low, high in results)


def rounds(f: Format, exact: Results) -> Results:
    """Return what an operation may return whose exact result is one of these."""
    found = []
    for low, high in exact:
        if max(abs(low), abs(high)) >= Fraction(2) ** f.safe:
            raise OverflowError(f"{float(low)} to {float(high)} may overflow, and anything may follow")
        found.append((f.down(low), f.up(high)))
        if low < Fraction(2) ** f.normal and high > -(Fraction(2) ** f.normal):
            found.append((Fraction(0), Fraction(0)))
    return _joined(found)


def add(f: Format, x: Results, y: Results) -> Results:
    """Return the rounded sums."""
    return rounds(f, _sums(x, y))


def sub(f: Format, x: Results, y: Results) -> Results:
    """Return the rounded differences."""
    return rounds(f, _sums(x, _products(y, exactly(-1))))


def mul(f: Format, x: Results, y: Results) -> Results:
    """Return the rounded products."""
    return rounds(f, _products(x, y))


def fma(f: Format, x: Results, y: Results, c: Results) -> Results:
    """Return the products to which a number was added before they were rounded."""
    return rounds(f, _sums(_products(x, y), c))


def div(f: Format, x: Results, y: Results) -> Results:
    """Return the rounded quotients by positive numbers."""
    return rounds(f, _products(x, _reciprocals(y)))


def quotient(f: Format, x: Results, y: Results) -> Results:
    """Return the quotients, and the products with the rounded reciprocals."""
    return _joined([*div(f, x, y), *mul(f, x, div(f, exactly(1), y))])


def relu(x: Results) -> Results:
    """Return the larger one of each number and 0."""
    return _joined((max(low, Fraction(0)), max(high, Fraction(0))) for low, high in x)


def sum_run(f: Format, terms: Sequence[tuple[Results, Results]]) -> Results:
    """Return the sums of products, over every tree of every order, fused or not.

    Terms that are 0 are left out: to add 0 rounds once more to a neighbour, which is already among the results.
    """
    terms = [term for term in terms if _products(*term) != exactly(0)]
    everything = frozenset(range(len(terms)))
    runs = {frozenset(): exactly(0)}
    for count in range(1, len(terms) + 1):
        for part in map(frozenset, combinations(everything, count)):
            found: list[tuple[Fraction, Fraction]] = []
            for one in part:
                found += fma(f, *terms[one], runs[part - {one}])
            for half in _halves(part):
                found += add(f, runs[half], runs[part - half])
            runs[part] = _joined(found)
    return runs[everything]


def given(x: Results) -> tuple[Results, Results]:
    """Return a number that is a term by itself as a product with 1."""
    return x, exactly(1)


def linear_run(f: Format, x: Sequence[Results], reads: Sequence[float], also: Sequence[Results] = ()) -> Results:
    """Return what a neuron returns; `also` are its shift and the entry of a skip row."""
    products = [(entry, exactly(weight)) for entry, weight in zip(x, reads, strict=True)]
    return sum_run(f, [*products, *map(given, also)])


Part = tuple[Fraction, tuple[Results, ...]]
"""A part of the positions: the largest score, and the sums of the exponentials times the entries of the rows."""


def part_run(f: Format, exponential: Exponential, positions: Sequence[Part]) -> Iterator[Part]:
    """Yield a part of all positions for each tree of merges; parts are merged any number at once."""
    if len(positions) == 1:
        yield positions[0]
        return
    for blocks in _partitions(list(positions)):
        if len(blocks) == 1:
            continue
        for parts in _choices([list(part_run(f, exponential, block)) for block in blocks]):
            largest = max(score for score, _ in parts)
            differences = [sub(f, exactly_of(score), exactly_of(largest)) for score, _ in parts]
            powers = [_joined(pair for x in _points(d) for pair in exponential(x)) for d in differences]
            columns = zip(*(sums for _, sums in parts), strict=True)
            yield largest, tuple(sum_run(f, list(zip(powers, column, strict=True))) for column in columns)


def softmax_run(f: Format, exponential: Exponential, scores: Sequence[Fraction], values: Sequence[Results]) -> Results:
    """Return the averages of one column, divided at the end, or by exponentials that are divided.

    In the second case each exponential is divided by a sum of its own, so a few results may be too many.
    """
    positions = [(score, (exactly(1), value)) for score, value in zip(scores, values, strict=True)]
    found: list[tuple[Fraction, Fraction]] = []
    for largest, (z, t) in part_run(f, exponential, positions):
        found += quotient(f, t, z)
        weights = []
        for score in scores:
            [(x, _)] = sub(f, exactly_of(score), exactly_of(largest))
            weights.append(quotient(f, exponential(x), z))
        found += sum_run(f, list(zip(weights, values, strict=True)))
    return _joined(found)


def exactly_of(number: Fraction) -> Results:
    """Return one rational number as the only result."""
    return ((number, number),)


def _points(results: Results) -> list[Fraction]:
    """The numbers of a set that has no more than a few."""
    if any(low != high for low, high in results):
        raise ValueError("differences of scores that round have too many exponentials to list them")
    return [low for low, _ in results]


def _sums(x: Results, y: Results) -> Results:
    return _joined((a + c, b + d) for a, b in x for c, d in y)


def _products(x: Results, y: Results) -> Results:
    found = []
    for a, b in x:
        for c, d in y:
            ends = (a * c, a * d, b * c, b * d)
            found.append((min(ends), max(ends)))
    return _joined(found)


def _reciprocals(x: Results) -> Results:
    if any(low <= 0 for low, _ in x):
        raise ZeroDivisionError("a divisor may be 0, and anything may follow")
    return _joined((1 / high, 1 / low) for low, high in x)


def _joined(intervals: Iterator[tuple[Fraction, Fraction]] | Sequence[tuple[Fraction, Fraction]]) -> Results:
    """The same numbers in intervals that are apart."""
    found: list[tuple[Fraction, Fraction]] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def _halves(part: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield one half of each way to split a set into two that are not empty."""
    first, *others = sorted(part)
    for count in range(len(others)):
        for more in combinations(others, count):
            yield frozenset({first, *more})


def _partitions(items: list[Part]) -> Iterator[list[list[Part]]]:
    """Yield each way to put items into groups."""
    if not items:
        yield []
        return
    first, *others = items
    for groups in _partitions(others):
        yield [[first], *groups]
        for number, group in enumerate(groups):
            yield [*groups[:number], [first, *group], *groups[number + 1 :]]


def _choices(lists: list[list[Part]]) -> Iterator[list[Part]]:
    """Yield each way to take one element from each list."""
    if not lists:
        yield []
        return
    for first in lists[0]:
        for others in _choices(lists[1:]):
            yield [first, *others]
