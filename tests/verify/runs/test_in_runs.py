"""Sums that no rounding touches: which are claimed, and that no order of summation leaves what is claimed."""

import itertools

import numpy as np
import pytest

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from tests.verify.runs.hostile_runs import ORDERS, hostile_run, sequential
from tests.verify.runs.integer_models import judged, known
from verify.runs.formats import FLOAT16, FLOAT32, FLOAT64
from verify.runs.in_reals import InReals
from verify.runs.in_runs import InRuns
from verify.runs.terms import Group, Layer, Rows


def test_what_a_row_is_off_by_is_absorbed_by_any_number_but_0():
    arithmetic, one = InRuns(FLOAT32), np.ones((1, 1))
    near = Rows(np.array([[0.0], [3.0]]), np.full((1, 1), 2.0**-70))
    assert arithmetic.linear(near, one, None).off[0, 0] >= 2.0**-70
    assert arithmetic.linear(near, one, np.array([1.0])).off[0, 0] == 0.0
    far = Rows(np.array([[0.0], [3.0]]), np.full((1, 1), 2.0**-60))  # what a number of 64 bits does not absorb
    assert (arithmetic.linear(far, one, np.array([1.0])).off >= 2.0**-60).all()


def test_what_is_off_beside_0_is_rounded_in_each_term_too():
    # 2^-24 is the least number of float16: each product, of half of it and a little, is rounded up to it.
    least, half = np.array(2.0**-24, np.float16), np.array(0.5 + 2.0**-11, np.float16)
    run = sequential([(least, half)] * 100, np.float16, np.random.default_rng(0))
    off = np.full((1, 100), float(least))
    matrix, skipped = np.full((100, 1), float(half)), Rows(np.zeros((1, 1)), off[:, :1])
    each = InRuns(FLOAT16).linear(Rows(np.zeros((1, 100)), off), matrix, None)
    beside = InRuns(FLOAT16).linear(Rows(np.zeros((1, 100)), off), matrix, None, skip=skipped)
    assert each.value == beside.value == 0.0 and float(run) == 100.0 * least <= each.off < beside.off - 1.5 * least


def test_what_overflows_in_no_row_is_exact_whatever_all_columns_have_together():
    weights = np.full((8, 1), 2.0**11)  # the largest number of float16 is 65504
    each, together = (Rows(x, np.zeros((1, 8))) for x in (np.eye(8), np.ones((1, 8))))
    assert (InRuns(FLOAT16).linear(each, weights, None).off == 0.0).all()
    assert np.isinf(InRuns(FLOAT16).linear(together, weights, None).off).all()


def test_a_neuron_that_is_surely_silent_needs_no_bits():
    # 2^26 x + 1 - 2^27 needs 27 bits, and is far below 0 where x is 1.
    x = Rows(np.array([[1.0, 1.0], [3.0, 1.0]]), np.zeros((1, 2)))
    arithmetic = InRuns(FLOAT32)
    fired = arithmetic.linear(x, np.array([[2.0**26], [1.0]]), np.array([-(2.0**27)]), fires=True)
    assert (fired.value[0, 0], fired.off[0, 0]) == (0.0, 0.0) and fired.off[1, 0] > 0.0
    plain = arithmetic.linear(x, np.array([[2.0**26], [1.0]]), np.array([-(2.0**27)]))
    assert (plain.off > 0.0).all()
    # 2^26 + 5 - 2^26 - 6 is -1, and 2 when it is summed from the left.
    four = Rows(np.ones((1, 4)), np.zeros((1, 4)))
    near = arithmetic.linear(four, np.array([[2.0**26], [5.0], [-(2.0**26)], [-6.0]]), None, fires=True)
    assert near.value[0, 0] == 0.0 and near.off[0, 0] >= 2.0


def test_an_average_is_of_numbers_whose_sum_fits():
    rows = Rows(np.array([[2.0**23 - 1.0], [2.0**23]]), np.zeros((1, 1)))
    both, one = np.array([[0, 1]]), np.array([[0], [1]])
    assert InRuns(FLOAT32).weighted_mean(rows, both, np.zeros(1), 2).off[0, 0] == 0.0
    longer = Rows(rows.value + 2.0**23, rows.off)
    assert InRuns(FLOAT32).weighted_mean(longer, both, np.zeros(1), 2).off[0, 0] > 0.0
    assert InRuns(FLOAT32).weighted_mean(longer, one, np.zeros(1), 2).off[0, 0] == 0.0
    half = Rows(np.array([[1.0], [2.0]]), np.zeros((1, 1)))  # 1.5 is a multiple of 1/2 alone
    for dust, absorbed in ((2.0**-69, True), (2.0**-67.5, False)):
        assert (InRuns(FLOAT32).weighted_mean(half, both, np.array([dust]), 3).off[0, 0] == 0.0) == absorbed
    tenths = Rows(np.array([[0.1], [0.7]]), np.zeros((1, 1)))
    assert InReals().weighted_mean(tenths, both, np.zeros(1), 2).off[0, 0] > 0.0
    assert InReals().weighted_mean(half, both, np.zeros(1), 2).off[0, 0] == 0.0
    assert InRuns(FLOAT32).weighted_mean(rows, one, np.zeros(1), 2).value.tolist() == rows.value.tolist()


def test_a_weight_that_the_format_does_not_hold_is_not_exact():
    one = np.ones((1, 1))
    for weight, exact in ((2.0**24, True), (2.0**24 + 1.0, False)):
        model = Model(blocks=(), W_U=weight * one, W_E=one, W_pos=0.0 * one)
        assert (known(judged(model, np.array([[0]]), InRuns(FLOAT32))) == 1) == exact
        assert known(judged(model, np.array([[0]]), InRuns(FLOAT64))) == 1


def two_products(p: int) -> tuple[Model, np.ndarray]:
    """x -> min(x, p) times p less min(x, p - 1) times p: two products, whose difference is 0 or p."""
    shift = np.array([0.0, -1.0])
    step = FeedForward(np.ones((1, 2)), np.array([[float(p)], [-float(p)]]), b_in=shift, skip=False)
    one = np.ones((1, 1))
    model = Model(blocks=(step,), W_U=one, W_E=np.arange(1.0, p + 1.0)[:, None], W_pos=0.0 * one)
    return model, np.arange(p)[:, None]


def test_products_have_to_fit_and_not_their_difference_alone():
    for p, fits in ((2003, True), (4099, False)):
        model, contexts = two_products(p)
        logits = judged(model, contexts, InRuns(FLOAT32))
        assert (known(logits) == p) == fits
        run = hostile_run(model, contexts, np.float32, sequential)
        assert (run == p).all() == fits
        assert (np.abs(run - logits.midpoint) <= logits.radius).all()


@pytest.mark.parametrize(("terms", "exact"), [
    ([2**24 - 2, 2, -(2**24) + 1, -1], True),
    ([2**24 - 2, 1, 2, -5], False),
    ([-(2**24) + 2, -1, -2, 5], False),
    ([2**23 - 1, 2**23 + 1, -(2**23) - 3], True),
])  # fmt: skip
@pytest.mark.parametrize("apart", [0.0, 2.0**-30])
def test_partial_sums_lie_between_all_negative_and_all_positive_terms(terms, exact, apart):
    matrix = np.array(terms, float)[:, None]
    row = Rows(np.vstack([np.ones(len(terms)), np.zeros(len(terms))]), np.full((1, len(terms)), 0.0))
    if apart:  # beside a row of a smaller unit, so that the row is judged in units of its own
        row = Rows(np.vstack([row.value, np.full(len(terms), apart)]), row.off)
    assert (InRuns(FLOAT32).linear(row, matrix, None).off[0, 0] == 0.0) == exact
    sums = {float(np.add.accumulate(np.array(order, np.float32))[-1]) for order in itertools.permutations(terms)}
    assert len(sums) == 1 or not exact


def test_a_skip_row_is_a_term_like_any_other():
    # x - t relu(x - t + 1) + t relu(x - t): products and result fit, but not what lies between in any order.
    t = 2.0**19
    step = FeedForward(np.ones((1, 2)), np.array([[-t], [t]]), b_in=np.array([1.0 - t, -t]))
    tokens = np.array([[1.0], [t - 1.0], [t], [2.0 * t - 1.0]])
    model = Model(blocks=(step,), W_U=np.ones((1, 1)), W_E=tokens, W_pos=np.zeros((1, 1)))
    contexts = np.arange(4)[:, None]
    found = judged(model, contexts, InRuns(FLOAT32))
    assert known(found) < 4
    runs = [hostile_run(model, contexts, np.float32, order) for order in ORDERS]
    assert any(not np.array_equal(run, runs[0]) for run in runs[1:])
    assert all((np.abs(run - found.midpoint) <= found.radius).all() for run in runs)


@pytest.mark.parametrize(("weight", "token"), [(2.0**-130, 2.0**10), (2.0**130, 2.0**-20)])
def test_a_weight_beyond_the_range_of_the_format_is_not_exact_whatever_it_meets(weight: float, token: float):
    model = Model(blocks=(), W_U=np.array([[weight]]), W_E=np.array([[token]]), W_pos=np.zeros((1, 1)))
    assert known(judged(model, np.array([[0]]), InRuns(FLOAT32))) == 0
    assert known(judged(model, np.array([[0]]), InRuns(FLOAT64))) == 1


def test_an_embedding_that_is_rounded_is_not_exact_because_the_sum_fits():
    one = np.ones((1, 1))
    model = Model(blocks=(), W_U=one, W_E=(2.0**24 + 1.0) * one, W_pos=-one)
    logits = judged(model, np.array([[0]]), InRuns(FLOAT32))
    assert known(logits) == 0
    assert 1.0 <= abs(hostile_run(model, np.array([[0]]), np.float32, sequential) - logits.midpoint) <= logits.radius


def test_what_may_overflow_is_not_claimed():
    one = np.ones((1, 1))
    model = Model(blocks=(), W_U=one, W_E=np.array([[40000.0]]), W_pos=np.array([[30000.0]]))
    assert np.isinf(judged(model, np.array([[0]]), InRuns(FLOAT16)).radius).all()
    assert known(judged(model, np.array([[0]]), InRuns(FLOAT32))) == 1


@pytest.mark.parametrize("weight", [1e39, 1.0 + 2.0**-30])
def test_a_weight_that_the_format_does_not_hold_is_not_exact_where_it_meets_0(weight):
    nothing = Rows(np.zeros((1, 1)), np.zeros((1, 1)))
    assert InRuns(FLOAT32).linear(nothing, np.array([[weight]]), None).off[0, 0] > 0.0
    assert InRuns(FLOAT32).linear(nothing, np.array([[1.0]]), None).off[0, 0] == 0.0


def test_neurons_in_groups_are_exact_or_nothing_is_said():
    def group(weight: float, off: float = 0.0) -> Group:
        layer = Layer(np.ones((1, 1)), None, np.array([[weight]]), None, None)
        return Group(Rows(np.ones((1, 1)), np.full((1, 1), off)), np.zeros(1, dtype=np.int64), layer)

    found = InRuns(FLOAT32).grouped([group(2.0**23), group(2.0**23)], None, "")
    assert found is not None and found.value[0, 0] == 2.0**24 and not found.off.any()
    assert InRuns(FLOAT32).grouped([group(2.0**24), group(1.0)], None, "") is None
    assert InRuns(FLOAT32).grouped([group(1.0), group(1.0, 2.0**-20)], None, "") is None


@pytest.mark.parametrize("root", [2, 3, 4, 48])
def test_scores_that_are_0_stay_equal_whatever_they_are_divided_by(root: int):
    arithmetic, none = InRuns(FLOAT32), np.zeros((1, 3))
    zeros, ones, last = np.zeros((2, 3)), np.ones((2, 3)), np.diag([0.0, 0.0, 1.0])
    for query, key in ((zeros, ones), (ones, zeros), (zeros, zeros), (last, 1.0 - last[2:])):
        assert arithmetic.score_error(Rows(query, none), Rows(key, none), root) == (0.0, True)
    near = Rows(zeros, 2.0**-60 * last[2:])  # in some run it may be another number
    unknown = Rows(zeros, np.full((1, 3), np.nan))  # as what infinity times a weight of 0 is off by
    for other in (near, unknown):
        for query, key in ((other, Rows(ones, none)), (Rows(ones, none), other)):
            error, exact = arithmetic.score_error(query, key, root)
            assert not error == 0.0 and not exact
    block = Attention(
        np.zeros((1, 1, 2)), np.ones((1, 1, 2)), np.ones((1, 1, 1)), np.ones((1, 1, 1)), skip=False, score_root=root
    )
    model = Model((block,), np.array([[1.0, -1.0]]), W_E=np.array([[1.0], [3.0]]), W_pos=np.zeros((4, 1)))
    contexts = np.array([[0, 1, 1, 1], [0, 0, 1, 0]])
    logits = judged(model, contexts, InRuns(FLOAT32))
    assert not logits.radius.any()
    for early in (False, True):
        for online in (False, True):
            run = hostile_run(model, contexts, np.float32, sequential, early=early, online=online)
            assert (run == logits.midpoint).all()


def test_scores_are_exact_where_no_sum_and_no_division_rounds():
    every, rows = InRuns(FLOAT32), Rows(np.array([[3.0, 5.0], [7.0, -1.0]]), np.zeros((1, 2)))
    for root in (1, 16, 256):
        assert every.score_error(rows, rows, root) == (0.0, True)
    long, moved = Rows(2.0**12 * rows.value + 1.0, rows.off), Rows(rows.value, rows.off + 2.0**-30)
    # At 4, 8 and 64 the fourth root, by which both factors may be multiplied, is no power of two.
    rounded = [(rows, rows, root) for root in (2, 4, 8, 9, 64)]
    for query, key, root in (*rounded, (long, long, 1), (rows, moved, 1), (moved, rows, 1)):
        error, exact = every.score_error(query, key, root)
        assert error > 0.0 and not exact


@pytest.mark.parametrize("swapped", [False, True])
def test_a_factor_that_is_divided_may_be_flushed(swapped):
    # A host may divide queries, or keys, before the product: what is below the normal numbers may become 0.
    small, large = (Rows(np.full((1, 256), x), np.zeros((1, 256))) for x in (15.0 * 2.0**-126, 2.0**124))
    query, key = (large, small) if swapped else (small, large)
    error, exact = InRuns(FLOAT32).score_error(query, key, 256)
    assert not exact and error >= 256 * 15.0 / 4.0 / 16.0
    assert InRuns(FLOAT32).score_error(query, key, 1) == (0.0, True)
