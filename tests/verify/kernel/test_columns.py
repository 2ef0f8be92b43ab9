"""Columns, and sums of them, against rational numbers."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from verify.kernel.columns import (
    RADIUS,
    ZERO,
    Column,
    Integers,
    Term,
    added,
    column_of,
    distance,
    divided_up,
    product,
)

COLUMNS = st.builds(
    column_of, st.lists(st.integers(-50, 50), min_size=3, max_size=3), st.integers(0, 3), st.tuples(st.integers(0, 9))
)


def value(column: Column, i: int) -> Fraction:
    assert column.numbers is not None
    return Fraction(column.numbers[i if len(column.numbers) > 1 else 0], 1 << column.scale)


@given(st.integers(), st.integers(0, 200))
def test_a_quotient_by_a_power_of_two_is_the_least_integer_above_it(number: int, power: int) -> None:
    quotient = Fraction(number, 1 << power)
    assert quotient <= divided_up(number, power) < quotient + 1


@given(st.integers(-(2**80), 2**80), st.integers(0, 2 * RADIUS))
def test_a_distance_is_the_least_one_that_is_no_smaller(number: int, scale: int) -> None:
    exact = Fraction(number, 1 << scale)
    assert exact <= Fraction(distance(number, scale), 1 << RADIUS) < exact + Fraction(1, 1 << RADIUS)


@given(st.lists(st.tuples(st.integers(-9, 9).filter(bool), st.integers(0, 2), COLUMNS), max_size=4), st.integers(-9, 9))
def test_a_sum_is_what_rationals_give(weighted: list[tuple[int, int, Column]], shift: int) -> None:
    terms = [product(weight, scale, column) for weight, scale, column in weighted]
    column, sizes = added(terms, shift, 1)
    totals, partial, products = [], [], []
    for i in range(3):
        each = [Fraction(w, 1 << s) * value(c, i) for w, s, c in weighted] + [Fraction(shift, 2)]
        assert value(column, i) == sum(each)
        totals.append(sum(map(abs, each)))
        partial.append(max(sum(x for x in each if x > 0), -sum(x for x in each if x < 0)))
        products += each
    assert max(totals) <= Fraction(sizes.total, 1 << sizes.scale)
    assert max(partial) == Fraction(sizes.tight(), 1 << sizes.scale)
    assert sizes.has_zero() == any(value(column, i) == 0 for i in range(3))
    if sizes.unit() < ZERO // 2:
        assert all((x / Fraction(2) ** (sizes.unit() - sizes.scale)).denominator == 1 for x in products)
    drift = sum(abs(w) * c.off[0] for w, _, c in weighted)
    assert sum(term.drift[0] for term in terms) * 4 >= drift


@given(
    st.lists(st.tuples(st.integers(-9, 9).filter(bool), st.integers(0, 2), COLUMNS), max_size=4),
    st.integers(-9, 9),
    st.integers(0, 6),
)
def test_contexts_are_loose_whose_parts_are_too_many_units_of_their_own(
    weighted: list[tuple[int, int, Column]], shift: int, bits: int
) -> None:
    column, sizes = added([product(weight, scale, column) for weight, scale, column in weighted], shift, 1)
    loose = []
    for i in range(3):
        each = [Fraction(w, 1 << s) * value(c, i) for w, s, c in weighted] + [Fraction(shift, 2)]
        larger = max(sum(x for x in each if x > 0), -sum(x for x in each if x < 0))
        unit = next(u for k in range(9, -9, -1) if all((x / (u := Fraction(2) ** k)).denominator == 1 for x in each))
        if larger > unit * 2**bits:
            loose.append(value(column, i) * (1 << sizes.scale))
    # Of columns that are the same in all contexts one context stands for all.
    found = sorted(set(sizes.loose(bits)))
    assert found == sorted(set(loose))


def test_sums_that_were_added_up_before_bound_partial_sums_by_all_that_they_may_have_cancelled() -> None:
    """A sum of two products of absolute values up to 5 that gives 0 or 1, beside halves of 2 and of 6, and a shift."""
    before = Term(1, [0, 1], 0, 0, 1, 5, lambda: 0, 2, (0,))
    after = product(1, 1, column_of([2, 6], 0, (0,)))
    for shift in (0, -3):
        column, sizes = added([before, after], shift, 1)  # in halves
        assert column.numbers == [0 + 2 + shift, 2 + 6 + shift]
        absolute = [2 * 5 + n + abs(shift) for n in (2, 6)]
        assert sizes.tight() == max((each + abs(n)) // 2 for each, n in zip(absolute, column.numbers, strict=True))


def test_partial_sums_are_bounded_where_all_sums_are_the_same() -> None:
    ups, downs = column_of([1, 5], 0, (0,)), column_of([-1, -5], 0, (0,))
    column, sizes = added([product(1, 0, ups), product(1, 0, downs)], 0, 0)
    assert column.numbers == [0] and sizes.tight() == 5


def test_partial_sums_of_what_is_known_by_its_ends_are_bounded_by_all_of_them() -> None:
    _, sizes = added([product(-2, 0, Column(None, 0, -1, 3, (0,))), product(1, 0, column_of([5], 0, (0,)))], 1, 0)
    assert sizes.tight() == 2 * 3 + 5 + 1


def test_a_column_of_one_number_is_the_same_in_all_contexts() -> None:
    assert column_of([5, 5, 5], 2, (1,)).numbers == [5] and column_of([5, 5], 2, ()).is_constant
    column = column_of([3, -7, 2], 2, (1,))
    assert (column.numbers, column.low, column.high, column.size) == ([3, -7, 2], -7, 3, 7)
    assert not column.is_constant and column_of([3, -2], 0, ()).size == 3


def test_a_shift_alone_is_loose_if_it_has_more_bits() -> None:
    assert [list(added([], 3, 0)[1].loose(bits)) for bits in (0, 1, 2)] == [[3], [3], []]


def test_of_sums_that_were_added_up_before_all_contexts_may_be_loose() -> None:
    whole = added([product(1, 0, column_of([1, 2], 0, ()))], 0, 0)[1]
    assert not list(whole.loose(0))
    _, sizes = added([product(1, 0, Column(None, 0, -1, 3, ()))], 0, 0)
    assert list(sizes.loose(60)) == [3]


@given(COLUMNS)
def test_ends_hold_all_numbers_and_a_neuron_fires_above_0(column: Column) -> None:
    fired = column.rectified()
    for i in range(3):
        assert column.low <= value(column, i) * (1 << column.scale) <= column.high
        assert value(fired, i) == max(0, value(column, i))
    assert fired.off[0] <= column.off[0]


def test_what_surely_is_not_above_0_is_0_for_everyone() -> None:
    assert Column([-1], 0, -1, -1, (1 << RADIUS,)).rectified().off == (0,)
    assert Column([-1], 0, -1, -1, ((1 << RADIUS) + 1,)).rectified().off != (0,)
    assert Column([0], 0, 0, 0, (1,)).rectified().off == (1,)


def test_sums_of_ends_are_ends() -> None:
    column, sizes = added([product(-2, 0, Column(None, 0, -1, 3, ())), product(1, 0, column_of([5], 0, ()))], 0, 0)
    assert (column.numbers, column.low, column.high, sizes.total) == (None, -1, 7, 11)
    assert sizes.has_zero() and sizes.unit() < 0


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4))
def test_floats_are_integers_over_a_power_of_two(values: list[float]) -> None:
    whole = Integers.of(values, 2)
    assert [Fraction(n, 1 << whole.scale) for row in whole.rows for n in row] == list(map(Fraction, values))


def test_a_sum_has_as_many_terms_as_products_and_one_more_for_a_shift() -> None:
    column = column_of([1, 2, 3], 0, (0,))
    for count in range(1, 4):
        terms = [product(2, 0, column)] * count
        assert added(terms, 0, 0)[1].count == count and added(terms, 5, 0)[1].count == count + 1
