"""Runs that come near what exact sums allow for: with half of it, or without one of its terms, they are outside."""

import numpy as np
import pytest
from flint import arb, ctx

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from tests.verify.runs.hostile_runs import hostile_run, sequential
from verify.runs.boxes import Boxes
from verify.runs.formats import FLOAT16, FLOAT32, FLOAT64
from verify.runs.in_reals import InReals
from verify.runs.in_runs import InRuns
from verify.runs.terms import Rows


@pytest.mark.parametrize("arithmetic", [InRuns(FLOAT32), InRuns(FLOAT64), InRuns(FLOAT16), InReals()])
@pytest.mark.parametrize("error", [0.0, 0.25, 4.0, 40.0])
def test_a_score_that_is_off_towards_another_one_that_is_off_too_weighs_no_more_than_is_said(arithmetic, error):
    """The top score falls by the error and the other one rises: then their gap is less by twice of it."""
    one, decided = np.array([1]), []
    for gap in 120.0 * (1.0 + 8.0 * arithmetic.unit) + error * np.linspace(-0.5, 3.0, 15) + 1e-3:
        if decides := bool(arithmetic.decides(np.array([gap]), error, error == 0.0, one, 2)[0]):
            with ctx.workprec(200):
                weight = 1 / (1 + arb(gap - 2.0 * error).exp())
                assert weight <= arb(float(arithmetic.weight_of_others(gap, error, one, 2)))
        decided.append(decides)
    assert decided[-1] and decided[0] is (error == 0.0)


def test_two_equal_scores_that_are_off_move_an_average_by_no_more_than_is_said():
    for error in (1e-6, 1e-3, 0.1):
        said = float(InReals().weight_of_others(np.inf, error, np.array([2]), 2))
        with ctx.workprec(200):
            # One value is 1 and the other -1: their average is 0 where the scores are equal.
            run = arb(error).exp() / (arb(error).exp() + (-arb(error)).exp()) * 2 - 1
            assert run <= arb(said) <= 6 * run


@pytest.mark.parametrize("length", [2, 20])
def test_all_rows_below_the_top_one_move_an_average_by_no_more_than_is_said(length):
    """The top row is 1 and all others are -1."""
    for gap in (120.0, 200.0):
        said = float(InReals().weight_of_others(gap, 0.0, np.array([1]), length))
        with ctx.workprec(800):
            others = (length - 1) * (-arb(gap)).exp()
            moved = 1 - (1 - others) / (1 + others)
            assert moved <= arb(said) < 2.01 * moved


def test_rows_that_are_not_read_round_an_average_too():
    """Each adds a little more than half of a unit of the sum, which is rounded up to a whole one."""
    length = 40
    each = np.float32(2.0**-24 * (1.0 + 2.0**-8))
    total = np.float32(1.0)
    for _ in range(length - 1):
        total = total + each
    off = float(total) - 1.0
    assert off > 1.9 * (length - 1) * float(each)
    rows = Rows(np.ones((1, 1)), np.zeros((1, 1)))
    dust = np.array([(length - 1) * float(each)])
    [[said]] = InRuns(FLOAT32).weighted_mean(rows, np.array([[0]]), dust, length).off
    assert off <= said < 1.5 * off


def test_what_the_sums_of_two_neurons_round_by_is_in_the_box():
    """Both read one direction, so that their values are looked at along it; each is a sum of many terms."""
    above, one = 0.0, np.ones((1, 1, 1))
    head = Attention(0.0 * one, 0.0 * one, one, one, skip=False)
    for weight in (0.1, 0.3, 0.7):
        block = FeedForward(np.full((300, 2), weight), np.full((2, 1), 0.5), skip=False)
        model = Model(blocks=(block, head), W_U=one[0], W_E=np.ones((1, 300)), W_pos=np.zeros((1, 300)))
        [largest] = Boxes.of(model, 1, FLOAT32).values.values()
        run = hostile_run(model, np.array([[0]]), np.float32, sequential)[0, 0]
        above = max(above, run / (300 * weight) - 1.0)
        assert run <= largest[0, 0]
    assert above > 30 * FLOAT32.unit_roundoff
