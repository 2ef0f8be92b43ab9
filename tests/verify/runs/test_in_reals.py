"""Tests of verify/runs/in_reals.py: distances to real arithmetic."""

import numpy as np
import pytest

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from tests.verify.runs.integer_models import changed, judged
from verify.forward.in_balls import logits_in_balls, rounded_outwards
from verify.runs.in_reals import InReals
from verify.runs.terms import Layer, Rows


@pytest.mark.parametrize(("slope", "skips", "factor"), [(2.0, True, 3.0), (2.0, False, 2.0), (-2.0, True, 1.0)])
def test_distances_pass_a_neuron_that_fires_and_the_skip_connection_with_their_signs(slope, skips, factor):
    one, skip = np.ones((1, 1)), np.array([0]) if skips else None
    x = Rows(3.0 * one, 1e-3 * one)
    layer = Layer(W_in=one, b_in=None, W_out=slope * one, b_out=None, skip=skip)
    [[off]] = InReals().neurons(x, layer, "").off
    assert factor * 1e-3 <= off <= factor * 1.001e-3
    silent = Layer(W_in=-one, b_in=None, W_out=slope * one, b_out=None, skip=skip)
    [[off]] = InReals().neurons(x, silent, "").off
    assert skips * 1e-3 <= off <= skips * 1.001e-3 + 2.0**-999  # for underflow


def test_equal_scores_that_may_differ_move_an_average():
    # Of two rows whose scores differ by 2e-3 one weighs 5e-4 more than a half, and the other as much less.
    assert InReals().weight_of_others(np.inf, 1e-3, np.array([1, 2]), 2) >= 1e-3
    assert InReals().weight_of_others(np.inf, 1e-3, np.array([1]), 1) == 0.0


def test_a_kink_multiplies_distances_by_its_slopes():
    # x = 1 + e in real arithmetic lies on the kink of a step of height 1000, which a small e moves by 1000 e.
    hard = np.zeros((1, 1, 1))
    head = Attention(W_Q=hard, b_Q=np.array([[130.0]]), W_K=hard + 1, W_V=hard + 1, W_O=hard + 1, skip=False)
    step = FeedForward(np.ones((1, 2)), np.array([[1000.0], [-1000.0]]), b_in=np.array([-1.0, -2.0]), skip=False)
    one = np.ones((1, 1))
    model = Model(blocks=(head, step), W_U=one, W_E=np.array([[0.0], [1.0]]), W_pos=np.zeros((2, 1)))
    flat = changed(model, 1, b_in=np.array([-3.0, -2.0]))
    contexts = np.array([[0, 1]])
    on_the_kink, off = judged(model, contexts, InReals()), judged(flat, contexts, InReals())
    exact = rounded_outwards(logits_in_balls(model, contexts, 512))
    assert np.abs(exact.midpoint - on_the_kink.midpoint) <= on_the_kink.radius + exact.radius
    assert off.radius[0, 0] < 2.0**-990 < on_the_kink.radius[0, 0]


def test_what_a_column_moves_is_what_it_moves_in_the_row_where_that_is_most():
    layer = Layer(np.ones((1, 1)), None, np.full((1, 1), 8.0), None, None)
    found = InReals().neurons(Rows(np.array([[5.0], [-5.0]]), np.array([[2.0**-20]])), layer, "")
    assert found.off.shape == (1, 1) and found.off[0, 0] >= 2.0**-17
