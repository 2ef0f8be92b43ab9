"""Balls around what a layer computes."""

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given

from constructions.errors import InputError
from tests.layers import layers_and_tasks, random_layer, random_layer_task, truth
from verify.forward.layer_balls import mixed_inputs_in_balls, outputs_in_balls, theta_in_balls


def contains(ball, number):
    with mpmath.workprec(300), ctx.workprec(400):
        text = mpmath.nstr(number, 90)
        return bool(abs(ball - arb(text)) <= abs(arb(text)) * arb("1e-85") + arb("1e-300")) or ball.overlaps(arb(text))


@given(layers_and_tasks())
def test_every_ball_holds_its_number_and_is_small(case):
    layer, task = case
    exact = truth(layer, task)
    theta = theta_in_balls(layer, task, 200).table()
    for t, patterns in enumerate(exact.theta):
        for h, pattern in enumerate(patterns):
            row = theta[t * layer.n_heads + h]
            assert all(contains(ball, x) and float(ball.rad()) < 1e-40 for ball, x in zip(row, pattern, strict=True))
    for balls, rows in (
        (mixed_inputs_in_balls(layer, task, 200), exact.mixed),
        (outputs_in_balls(layer, task, 200), exact.outputs),
    ):
        flat = [x for row in rows for x in row]
        assert all(contains(ball, x) for ball, x in zip(balls.entries(), flat, strict=True))


def test_more_bits_give_smaller_balls_and_the_precision_comes_back():
    layer, task = random_layer(), random_layer_task()
    before = ctx.prec
    radii = [max(float(x.rad()) for x in outputs_in_balls(layer, task, bits).entries()) for bits in (60, 120, 240)]
    assert radii[0] > 1e10 * radii[1] > 1e20 * radii[2] > 0 and ctx.prec == before


def test_no_bits_at_all_and_other_sizes_are_refused():
    layer, task = random_layer(), random_layer_task()
    for function in (theta_in_balls, mixed_inputs_in_balls, outputs_in_balls):
        with pytest.raises(InputError, match="precision"):
            function(layer, task, 1)
        with pytest.raises(InputError, match="dimension"):
            function(layer, random_layer_task(d_model=4), 64)


def test_scores_that_nothing_is_known_of_leave_shares_between_0_and_1():
    layer, task = random_layer(scale=1e300), random_layer_task()
    for ball in theta_in_balls(layer, task, 4).entries():
        assert ball.is_finite() and ball <= 1.6 and ball >= -0.6
    assert np.shape(outputs_in_balls(layer, task, 4).entries()) == (8,)
