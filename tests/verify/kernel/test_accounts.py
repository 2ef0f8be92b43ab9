"""What accounts say of sums and heads, at the limits where it changes."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.kernel.accounts import Looked, Reals, Runs
from verify.kernel.columns import RADIUS, ZERO, Column, Sizes, added, column_of, product

FLOAT32 = 24, -126, 127


def sizes(total: int, *, scale: int = 0, unit: int = 0, count: int = 2, zero: bool = False) -> Sizes:
    return Sizes(total, lambda: total, scale, lambda: unit, lambda _: iter((total,)), count, lambda: zero)


def constant(n: int, off: int = 0) -> Column:
    return Column([n], 0, n, n, (off,))


def looked(gap: int | None, *, ties: bool = False, off: int = 0, root: int = 1, length: int = 2) -> Looked:
    return Looked(gap, 0, ties, True, length, root, [constant(1)], [constant(500, off)], [0])


def test_sums_are_exact_up_to_the_units_that_a_format_has() -> None:
    run = Runs(*FLOAT32)
    assert run.added(sizes(2**24), 0, fits=True) == 0
    assert run.added(sizes(2**24 + 1), 0, fits=True) > 0
    assert run.added(sizes(2**25, unit=1), 0, fits=True) == 0
    assert run.added(sizes(2**24), 0, fits=False) > 0
    assert run.added(sizes(0, unit=ZERO), 0, fits=True) == 0
    assert not run.overflow


def test_each_context_may_have_units_of_its_own() -> None:
    """2^30 - 2^29 in one context and 2^-9 in another: all contexts together have 39 bits."""
    mixed = column_of([1 << 39, 1], 9, (0,)), column_of([1 << 38, 0], 9, (0,))
    _, whole = added([product(1, 0, mixed[0]), product(-1, 0, mixed[1])], 0, 0)
    assert whole.total > 1 << 24 and Runs(*FLOAT32).added(whole, 0, fits=True) == 0
    longer = column_of([(1 << 39) + 1, 1], 9, (0,))
    _, whole = added([product(1, 0, longer), product(-1, 0, mixed[1])], 0, 0)
    assert Runs(*FLOAT32).added(whole, 0, fits=True) > 0


UNIT, LEAST = Fraction(1, 2**24), Fraction(1, 2**126)


def test_a_neuron_that_stays_silent_may_round() -> None:
    """2^25 + 1 is rounded, but far below 0; what fires is exact."""
    down = column_of([-(1 << 25) - 1, 7], 0, (0,))
    _, whole = added([product(1, 0, down)], 0, 0)
    run = Runs(*FLOAT32)
    assert run.added(whole, 0, fits=True) > 0 and run.added(whole, 0, fits=True, fires=True) == 0
    assert run.added(whole, 0, fits=False, fires=True) > 0
    # One context of several in which it is rounded and fires is enough.
    for numbers in ([-(1 << 25) - 1, (1 << 25) + 1], [(1 << 25) + 1, -(1 << 25) - 1]):
        _, whole = added([product(1, 0, column_of(numbers, 0, (0,)))], 0, 0)
        assert run.added(whole, 0, fits=True, fires=True) > 0
    # Of eighths a sum of -59 / 8 may be off by 26, and of -2^10 / 8 too, which stays below 0.
    for less, fires in ((60, True), (1 << 10, False)):
        near, off = column_of([(1 << 28) + 1, 7], 3, (0,)), column_of([-(1 << 28) - less, 0], 3, (0,))
        _, whole = added([product(1, 0, near), product(1, 0, off)], 0, 0)
        assert (run.added(whole, 0, fits=True, fires=True) > 0) == fires
    # A neuron that may fire although it should not: by at most 40 of 2^28 + 1, rounded, it is above 0.
    near, off = column_of([(1 << 28) + 1, 7], 0, (0,)), column_of([-(1 << 28) - 2, 0], 0, (0,))
    _, whole = added([product(1, 0, near), product(1, 0, off)], 0, 0)
    assert run.added(whole, 0, fits=True, fires=True) > 0


def test_sums_below_the_normal_numbers_are_not_exact() -> None:
    run = Runs(*FLOAT32)
    assert run.added(sizes(1, scale=126), 0, fits=True) == 0
    assert run.added(sizes(1, scale=127), 0, fits=True) > 0


@pytest.mark.parametrize("numbers, finest", [(FLOAT32, 64), ((11, -14, 15, 11), 11), ((8, -126, 127), 64)])
def test_a_sum_absorbs_less_than_a_quarter_of_half_a_unit_of_the_finest_format(
    numbers: tuple[int, ...], finest: int
) -> None:
    large = 1 << 20  # so that nothing is flushed
    run, unit = Runs(*numbers[:1], -126, 127, *numbers[3:]), large << RADIUS - finest
    assert run.added(sizes(3 * large, unit=20), unit // 8 - 1, fits=True) == 0
    assert run.added(sizes(3 * large, unit=20), unit // 8, fits=True) > unit // 8
    # Where the sum is 0 what terms are off by is left over.
    left = run.added(sizes(3 * large, unit=20, zero=True), unit // 8 - 1, fits=True)
    assert unit // 8 - 1 < left < unit
    # Of nothing but zeros too, and that takes no power of two as large as a column of zeros has.
    assert 1 <= run.added(sizes(0, unit=ZERO, zero=True), 1, fits=True) < unit


@pytest.mark.parametrize("count", [1, 2, 50])
def test_what_is_left_where_a_sum_is_0_is_what_its_terms_are_off_twice_and_what_is_flushed(count: int) -> None:
    drift = 1 << RADIUS - 100
    found = Runs(*FLOAT32).added(sizes(3 << 20, unit=20, count=count, zero=True), drift, fits=True)
    assert Fraction(found, 1 << RADIUS) == Fraction(2, 2**100) + 8 * (count + 1) * UNIT * LEAST


def test_a_sum_absorbs_nothing_that_is_lost_below_the_normal_numbers() -> None:
    # Units of 128 and of 64 least normal numbers, times 2^(64 - 24) or none; 32 (n + 1) is 96.
    for finest, scale, absorbs in ((24, 119, True), (24, 120, False), (64, 79, True), (64, 80, False)):
        run = Runs(*FLOAT32, finest)
        assert (run.added(sizes(1, scale=scale), 1, fits=True) == 0) == absorbs
    run, short = Runs(*FLOAT32), Runs(8, -126, 127)
    assert run.added(sizes(1, count=61), 1, fits=True) == short.added(sizes(1, count=61), 1, fits=True) == 0
    short.added(sizes(1, count=62), 1, fits=True)
    assert short.overflow == "a sum has 62 terms, too many for the format"


@given(st.integers(0, 2**40), st.integers(0, 30), st.integers(1, 90), st.integers(0, 2**30))
def test_a_sum_that_rounds_is_off_by_its_theorem_and_hardly_more(
    total: int, scale: int, count: int, drift: int
) -> None:
    found = Runs(*FLOAT32).added(sizes(total, scale=scale, count=count), drift << RADIUS - 40, fits=False)
    off, size, before = Fraction(found, 1 << RADIUS), Fraction(total, 1 << scale), Fraction(drift, 1 << 40)
    gamma = (count + 3) * UNIT / (1 - (count + 3) * UNIT)
    least = before + gamma * (size + before) + 16 * (count + 1) * LEAST if total or drift else 0
    assert least <= off <= before + Fraction(4, 3) * gamma * (size + before) + 17 * (count + 1) * LEAST


@given(st.integers(1, 2**40), st.integers(0, 30), st.integers(1, 90))
def test_a_head_of_any_weights_is_outside_of_its_values_by_what_its_roundings_say(
    reach: int, scale: int, length: int
) -> None:
    off = Fraction(Runs(*FLOAT32).anything(reach, scale, length), 1 << RADIUS)
    size, roundings, dust = Fraction(reach, 1 << scale), 4 * length + 12, 16 * (4 * length + 13) * LEAST
    gamma = roundings * UNIT / (1 - roundings * UNIT)
    assert gamma * size + dust <= off <= Fraction(4, 3) * (roundings + 3) * UNIT * size + dust + Fraction(1, 2**99)


def test_terms_that_are_large_in_different_contexts_do_not_overflow_together() -> None:
    for first, second, overflows in (([2**124, 0], [0, 2**124], False), ([2**124, 0], [2**124, 0], True)):
        run = Runs(*FLOAT32)
        terms = [product(1, 0, column_of(numbers, 0, (0,))) for numbers in (first, second)]
        run.added(added(terms, 0, 0)[1], 0, fits=True)
        assert bool(run.overflow) == overflows


def test_a_sum_that_may_overflow_is_noticed() -> None:
    run = Runs(*FLOAT32)
    run.added(sizes(2**124, unit=124), 0, fits=True)
    assert not run.overflow
    run.added(sizes(2**124 + 2**101, unit=101), 0, fits=True)
    assert run.overflow
    for power, overflows in ((123, False), (124, True)):
        run = Runs(*FLOAT32)
        run.added(sizes(2**123, unit=123), 1 << RADIUS + power, fits=True)
        assert bool(run.overflow) == overflows


@pytest.mark.parametrize(
    "value, exact",
    [(1.5, True), (0.1, False), (0.0, True), (2.0**24 + 1, False), (-(2.0**-126), True), (2.0**124, True)],
)
def test_weights_that_a_format_has(value: float, exact: bool) -> None:
    run = Runs(*FLOAT32)
    assert run.fits([value]) == exact and not run.overflow


@pytest.mark.parametrize("value", [2.0**-127, 5e-324, 2.0**125, 1.7e308])
def test_weights_that_may_be_0_or_infinite(value: float) -> None:
    run = Runs(*FLOAT32)
    run.fits([value])
    assert run.overflow


def test_a_head_of_a_run_leads_by_120() -> None:
    run = Runs(*FLOAT32)
    assert run.weighs(looked(121), 0) == 8 << RADIUS - 149
    assert run.weighs(looked(120), 0) is None  # the difference rounds
    assert run.weighs(looked(121, off=1 << RADIUS), 0) is None
    assert run.weighs(looked(122, off=1 << RADIUS), 0) is None  # the scores of both rows are off
    assert run.weighs(looked(124, off=1 << RADIUS), 0) is not None
    assert run.weighs(looked(None), 0) == 0
    assert run.weighs(looked(121, ties=True), 0) is not None
    assert run.weighs(looked(121, ties=True, off=1), 0) is None  # then equal scores may differ
    assert run.weighs(looked(121, ties=True, root=2), 0) is None
    assert run.weighs(looked(4 * 121, ties=True, root=16), 0) is not None
    assert run.weighs(looked(4 * 120, root=16), 0) is None
    assert Runs(8, -126, 127).weighs(looked(10**6, length=2**6), 0) is not None
    # A format of 8 bits counts to 256: a sum of more ones stays there.
    assert Runs(8, -126, 127).weighs(looked(None, ties=True, length=2**10), 0) is None
    assert Runs(11, -14, 15).weighs(looked(2000, length=2**10), 0) is None  # what flushes may add up


def test_the_lead_of_a_head_of_a_run_may_round() -> None:
    """(g - 2 delta) (1 - 4 u) is 120 or more."""
    least = math.ceil(120 / (1 - 4 * UNIT) * 2**60)
    for gap, known in ((least, True), (least - 1, False)):
        read = Looked(gap, 60, False, True, 2, 1, [constant(1)], [constant(500)], [0])
        assert (Runs(*FLOAT32).weighs(read, 0) is not None) == known


def tied(*pairs: tuple[Column, Column], root: int = 1, numbers: tuple[int, ...] = FLOAT32) -> bool:
    """Whether rows whose scores are these sums of products are known to weigh the same in every run."""
    query, keys = map(list, zip(*pairs, strict=True))
    run = Runs(*numbers)
    weight = run.weighs(Looked(None, 0, True, True, 2, root, query, keys, [key.unit for key in keys]), 0)
    assert not run.overflow
    return weight is not None


def over(n: int, scale: int) -> Column:
    """The number n / 2^scale in all contexts."""
    return Column([n], scale, n, n, (0,))


def test_equal_scores_are_equal_in_runs_if_all_sums_of_their_products_are_numbers_of_the_format() -> None:
    one = constant(1)
    assert tied((constant(2**24 - 1), one), (one, one))
    assert not tied((constant(2**24), one), (one, one))
    assert tied((constant(2**25 - 2), one), (constant(2), one))
    # A factor with a finer unit: the product has it, whichever factor it is.
    for power, exact in ((13, True), (14, False)):
        large = constant(2**power)
        assert tied((large, one), (one, over(1, 10))) == exact
        assert tied((large, one), (over(1, 10), one)) == exact
        assert tied((large, one), (over(1, 5), over(1, 5))) == exact
    # Neither factors nor products may be flushed, not even those that are divided by a root of 16 or its root.
    for scale, exact in ((126, True), (127, False)):
        assert tied((over(1, scale), constant(2**60))) == exact
        assert tied((constant(2**60), over(1, scale))) == exact
        assert tied((over(1, scale - 63), over(1, 63))) == exact
    for scale, exact in ((124, True), (125, False)):
        assert tied((over(1, scale), constant(2**60)), root=16) == exact
    assert tied((one, one), root=256) and not tied((one, one), root=4) and not tied((one, one), root=48)
    # A factor of nominally 0 may be another number, which the other factor shows or not.
    off, nothing = constant(0, off=1), constant(0)
    assert not tied((one, one), root=17)  # whose root is none
    assert not tied((off, one)) and not tied((one, off)) and not tied((off, off))
    assert tied((nothing, one)) and tied((off, nothing)) and tied((nothing, off))


def test_factors_of_scores_may_be_flushed() -> None:
    # k = 2^-119 and the root of 4: k / 2 or its root may lose 2^-126, which 2^120 multiplies, 2 (n + 1) times or more.
    for power, flushed in ((110, False), (120, True)):
        large, small = constant(1 << power), Column([1], 119, 1, 1, (0,))
        weight = Runs(*FLOAT32).weighs(Looked(241, 0, False, True, 2, 4, [large], [small], [0]), 0)
        assert (weight is None) == flushed


def test_a_score_that_may_overflow_is_noticed() -> None:
    for power, overflows in ((62, False), (63, True)):
        run, large = Runs(*FLOAT32), constant(1 << power)
        run.weighs(Looked(200, 0, False, True, 2, 1, [large], [large], [power]), 0)
        assert run.overflow == ("a score may overflow" if overflows else "")


def test_a_head_of_reals_is_off_by_e_to_minus_the_gap() -> None:
    weight = Reals().weighs(looked(128), 0)
    assert weight is not None
    # The other of two rows weighs about e^-128, which is between 2^-185 and 2^-184, twice; S e^(1-g) is stated.
    assert Fraction(1, 2**185) < Fraction(weight, 1 << RADIUS) < Fraction(1, 2**179)
    further = Reals().weighs(looked(128, root=4), 0)
    assert further is not None and further > weight << 80
    assert Reals().weighs(looked(128, off=1 << RADIUS), 0) is None
    assert Reals().weighs(looked(None, ties=True, off=5), 0) == 20
    for off, known in ((1 << RADIUS - 1, True), ((1 << RADIUS - 1) + 1, False)):  # 4 delta bounds e^(2 delta) - 1
        assert (Reals().weighs(looked(None, ties=True, off=off), 0) is not None) == known


SMALL = st.tuples(*[st.integers(0, 2**20), st.integers(0, 12), st.integers(0, 2**20)] * 2)


@given(st.lists(SMALL, min_size=1, max_size=3))
def test_scores_are_off_by_what_queries_and_keys_are_off_and_both_together(entries: list[tuple[int, ...]]) -> None:
    query, keys, exact = [], [], Fraction(0)
    for size, scale, off, key_size, key_scale, key_off in entries:
        query.append(Column([size], scale, size, size, (off << RADIUS - 60,)))
        keys.append(Column([key_size], key_scale, key_size, key_size, (key_off << RADIUS - 60,)))
        q, dq = Fraction(size, 1 << scale), Fraction(off, 1 << 60)
        k, dk = Fraction(key_size, 1 << key_scale), Fraction(key_off, 1 << 60)
        exact += (q + dq) * (k + dk) - q * k
    found = Reals().weighs(Looked(None, 0, True, True, 2, 1, query, keys, [0] * len(keys)), 0)
    assert found is not None
    assert 4 * exact <= Fraction(found, 1 << RADIUS) <= 4 * exact + Fraction(1, 1 << RADIUS - 9)


@pytest.mark.parametrize("scale", [0, 3])
@pytest.mark.parametrize("larger", [0, 1])
def test_the_sum_of_a_softmax_may_overflow(scale: int, larger: int) -> None:
    reach, said = (1 << scale + 122) + larger, "the sum of a softmax may overflow" if larger else ""
    mixing, anything = Runs(*FLOAT32), Runs(*FLOAT32)
    mixing.mixed(sizes(1 << scale, scale=scale), 0, looked(121, length=4), reach)
    anything.anything(reach, scale, 4)
    assert mixing.overflow == anything.overflow == said


def test_what_overflows_first_is_named() -> None:
    run = Runs(*FLOAT32)
    run.added(sizes(2**126), 0, fits=True)
    run.fits([2.0**126])
    run.mixed(sizes(1), 0, looked(121, length=4), 2**126)
    run.anything(2**126, 0, 4)
    run.weighs(Looked(200, 0, False, True, 2, 1, [constant(1 << 63)], [constant(1 << 63)], [63]), 0)
    assert run.overflow == "a sum may overflow"
