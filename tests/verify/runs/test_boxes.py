"""The boxes of all rows hold every run, and stay small where steps take multiples away."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from tests.verify.runs.hostile_runs import ORDERS, hostile_run
from tests.verify.runs.integer_models import random_models, residue
from verify.runs.boxes import Boxes
from verify.runs.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64


@given(random_models(), st.sampled_from([FLOAT32, FLOAT64]), st.sampled_from(ORDERS))
def test_what_heads_mix_is_in_its_box_in_every_run(pair, number_format, order):
    model, contexts = pair
    boxes = Boxes.of(model, contexts.shape[1], number_format)
    dtype = {"float32": np.float32, "float64": np.float64}[number_format.name]
    for place, largest in boxes.values.items():
        block = model.blocks[place]
        assert isinstance(block, Attention)
        shift = None if block.b_V is None else block.b_V[0]
        values = Model(blocks=model.blocks[:place], W_U=block.W_V[0], b_U=shift, W_E=model.W_E, W_pos=model.W_pos)
        run = hostile_run(values, contexts, dtype, order)
        assert (np.abs(run).max(axis=0) <= largest[0]).all()


def test_rounding_and_neurons_of_a_direction_of_their_own_are_in_the_box():
    one = np.ones((1, 1, 1))
    head = Attention(W_Q=0.0 * one, W_K=0.0 * one, W_V=one, W_O=one, skip=False)
    for weight, width in ((0.1, 1), (0.1, 2)):
        block = FeedForward(np.ones((width, 1)), np.full((1, 1), weight), skip=False)
        model = Model(blocks=(block, head), W_U=one[0], W_E=np.ones((1, width)), W_pos=np.zeros((1, width)))
        [largest] = Boxes.of(model, 1, FLOAT32).values.values()
        run = hostile_run(model, np.array([[0]]), np.float32, ORDERS[0])
        assert width * weight * (1.0 + 2.0**-28) < run[0, 0] <= largest[0, 0]


def test_many_roundings_in_one_sum_are_in_the_box():
    one, above = np.ones((1, 1, 1)), 0.0
    head = Attention(W_Q=0.0 * one, W_K=0.0 * one, W_V=one, W_O=one, skip=False)
    for weight in (0.1, 0.3, 0.7):
        block = FeedForward(np.ones((1, 300)), np.full((300, 1), weight), skip=False)
        model = Model(blocks=(block, head), W_U=one[0], W_E=one[0], W_pos=0.0 * one[0])
        [largest] = Boxes.of(model, 1, FLOAT32).values.values()
        run = hostile_run(model, np.array([[0]]), np.float32, ORDERS[0])[0, 0]
        above = max(above, run / (300 * weight) - 1.0)
        assert run <= largest[0, 0]
    assert above > 30 * 2.0**-24


@pytest.mark.parametrize("weight, grown", [(2.0**-600, 2.0**900), (2.0**-140, 2.0**60)])
def test_what_underflows_is_in_the_box(weight: float, grown: float):
    # The product 2^-1200 is 0 in float64, and 2^-140 may be taken for 0 in float32: neither is lost sight of.
    one, zero = np.ones((1, 1, 1)), np.zeros((1, 1))
    head = Attention(W_Q=0.0 * one, W_K=0.0 * one, W_V=one, W_O=one, skip=False)
    layers = [FeedForward(one[0], np.full((1, 1), x), skip=False) for x in (weight, grown)]
    if weight < 2.0**-200:
        token, exact, number_format = weight, 2.0**-300, None
    else:
        token, exact, number_format = 2.0**100, 2.0**20, FLOAT32
        layers.append(FeedForward(-one[0], one[0], b_in=np.full(1, exact), skip=False))
    model = Model(blocks=(*layers, head), W_U=one[0], W_E=np.full((1, 1), token), W_pos=zero)
    [largest] = Boxes.of(model, 1, number_format).values.values()
    assert exact <= largest[0, 0] < np.inf


def test_steps_keep_a_box_small():
    one = np.ones((1, 1, 1))
    head = Attention(W_Q=0.0 * one, W_K=0.0 * one, W_V=one, W_O=one, skip=False)
    blocks = [block for _ in range(8) for block in residue(1000, 2)]
    model = Model(blocks=(*blocks, head), W_U=np.ones((1, 1)), W_E=np.arange(1500.0)[:, None], W_pos=np.zeros((2, 1)))
    [largest] = Boxes.of(model, 2, FLOAT32).values.values()
    assert 499.0 <= largest[0, 0] <= 1500.0


def test_the_block_in_which_a_number_may_overflow_is_named():
    one = np.ones((1, 1))
    head = Attention(one[None], one[None], 300.0 * one[None], one[None], skip=False)
    model = Model(blocks=(head, head), W_U=one, W_E=one, W_pos=0.0 * one)
    assert [Boxes.of(model, 1, f).first_overflow for f in (FLOAT16, FLOAT32, None)] == [1, 3, 3]


def test_what_is_no_number_may_overflow_and_long_sums_of_short_types_need_not():
    """Of 2^17 terms of eight bits nothing is known; times a weight that is 0 that is not a number."""
    zero, both = np.zeros((1, 2, 1)), np.array([[[1.0, 0.0]]])
    head = Attention(W_Q=zero, W_K=zero, W_V=both.reshape(1, 2, 1), W_O=both, skip=False)
    model = Model(blocks=(head, head), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    assert Boxes.of(model, 2**17, BFLOAT16).first_overflow == 0
    assert Boxes.of(model, 200, BFLOAT16).first_overflow == 3
