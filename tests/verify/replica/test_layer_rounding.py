"""The a-priori bound of a layer holds for torch and for coarse formats, and is not absurd."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.models.shapes import mahdavi_layer, mahdavi_tensors
from constructions.tasks.vectors import VectorTask
from tests.layers import changed_layer, layers_and_tasks, random_layer, random_layer_task, truth
from verify.replica import layer_rounding
from verify.replica.layer_replica import LayerReplica
from verify.replica.layer_rounding import layer_rounding_bound
from verify.replica.rounding import FLOAT32, FLOAT64, FloatFormat

FORMATS = {"float32": FLOAT32, "float64": FLOAT64}


def errors(layer, task, name):
    """|outputs of torch - exact outputs|, the largest of each example."""
    dtype = getattr(torch, name)
    replica = LayerReplica.from_layer(layer, dtype=dtype)
    with torch.inference_mode():
        outputs = replica(torch.tensor(task.contexts).to(dtype), torch.tensor(task.queries).to(dtype)).double().numpy()
    exact = truth(layer, task).outputs
    return [max(abs(x - float(y)) for x, y in zip(exact[t], row, strict=True)) for t, row in enumerate(outputs)]


@pytest.mark.parametrize("name", FORMATS)
@given(layers_and_tasks())
def test_torch_stays_within_the_bound(name, case):
    layer, task = case
    bound = layer_rounding_bound(layer, task, number_format=FORMATS[name])
    assert bound.shape == (task.n_examples,)
    for error, limit in zip(errors(layer, task, name), bound, strict=True):
        assert error <= limit


@pytest.mark.parametrize("name", FORMATS)
def test_the_bound_is_some_hundred_roundings_where_scores_are_moderate(name):
    layer, task = random_layer(d_model=6, scale=0.3), random_layer_task(d_model=6)
    bound = layer_rounding_bound(layer, task, number_format=FORMATS[name])
    assert (bound < 3e4 * FORMATS[name].unit_roundoff).all() and (bound > FORMATS[name].unit_roundoff).all()


def rounded(x, bits):
    """Each number rounded to so many significant bits: an adversary that rounds as coarsely as a format allows."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent)


def coarse_outputs(layer, task, bits):
    """The forward pass with every operand and result rounded to so many bits."""
    cut = lambda x: rounded(x, bits)  # noqa: E731
    contexts, queries = cut(task.contexts), cut(task.queries)
    contexts = np.broadcast_to(contexts, (task.n_examples, *contexts.shape[1:]))
    values = []
    for h in range(layer.n_heads):
        asked = cut(queries @ cut(layer.W_Q[h]))
        keys = cut(contexts @ cut(layer.W_K[h]))
        scores = cut(np.einsum("te,tne->tn", asked, keys))
        powers = cut(np.exp(cut(scores - scores.max(axis=1, keepdims=True))))
        theta = cut(powers / cut(powers.sum(axis=1, keepdims=True)))
        values.append(cut(cut(np.einsum("tn,tnd->td", theta, contexts)) @ cut(layer.W_V[h])))
    return cut(cut(np.hstack(values) @ cut(mahdavi_tensors(layer)["W_O"])) @ cut(layer.W_U))


@given(layers_and_tasks(), st.sampled_from([11, 15, 20]))
def test_coarse_arithmetic_stays_within_the_bound_of_its_format(case, bits):
    layer, task = case
    coarse = FloatFormat("coarse", 2.0**-bits, 2.0**-1000, 2.0**1000)
    bound = layer_rounding_bound(layer, task, number_format=coarse)
    exact = np.array(truth(layer, task).outputs, dtype=float)
    error = np.abs(coarse_outputs(layer, task, bits) - exact).max(axis=1)
    assert (error <= bound).all()


def test_every_rounding_has_its_share_in_the_bound():
    rng = np.random.default_rng(0)
    u, left, right = FLOAT32.unit_roundoff, rng.standard_normal((4, 5)), rng.standard_normal((5, 3))
    assert (layer_rounding._converted(left, FLOAT32).error >= u * np.abs(left)).all()
    given = layer_rounding._Rounded(left, np.zeros((4, 5))), layer_rounding._Rounded(right.T[None], np.zeros((1, 3, 5)))
    assert (layer_rounding._scores(*given, FLOAT32).error >= 5 * u * (np.abs(left) @ np.abs(right))).all()
    size, error = layer_rounding._read(np.abs(left), np.zeros((4, 5)), right, FLOAT32)
    assert (error >= 6 * u * (np.abs(left) @ np.abs(right))).all() and (size >= np.abs(left @ right) + error).all()
    _, carried = layer_rounding._read(np.abs(left), np.ones((4, 5)), right, FLOAT32)
    assert (carried >= np.abs(right).sum(axis=0)).all()


def test_the_softmax_has_its_share_in_the_bound():
    one = np.ones((1, 1))
    layer = mahdavi_layer(W_Q=0 * one[None], W_K=one[None], W_V=one[None], W_O=one, W_D=one)
    task = VectorTask(np.ones((1, 3, 1)), one, one)
    # 4 units in the last place of two exponentials are 16 u; the conversions and the four products have 8 u.
    assert layer_rounding_bound(layer, task, number_format=FLOAT32)[0] >= 16 * FLOAT32.unit_roundoff


def test_blocks_do_not_change_the_bound(monkeypatch):
    layer, task = random_layer(), random_layer_task(shared=False)
    whole = layer_rounding_bound(layer, task, number_format=FLOAT32)
    monkeypatch.setattr("verify.replica.layer_rounding._BLOCK_ENTRIES", 1)
    assert np.allclose(layer_rounding_bound(layer, task, number_format=FLOAT32), whole, rtol=1e-3)


@pytest.mark.parametrize("name", ["W_Q", "W_V", "W_O", "W_D"])
def test_where_an_overflow_is_possible_nothing_is_claimed(name):
    layer, task = random_layer(), random_layer_task()
    tall = changed_layer(layer, **{name: mahdavi_tensors(layer)[name] * 1e37})
    assert np.isinf(layer_rounding_bound(tall, task, number_format=FLOAT32)).all()
    assert np.isfinite(layer_rounding_bound(layer, task, number_format=FLOAT32)).all()


def test_a_hopeless_format_claims_nothing():
    layer, task = random_layer(), random_layer_task()
    hopeless = FloatFormat("hopeless", 0.5, 2.0**-100, 2.0**100)
    assert np.isinf(layer_rounding_bound(layer, task, number_format=hopeless)).all()


def test_what_is_no_format_accuracy_or_task_is_refused():
    layer, task = random_layer(), random_layer_task()
    for ulps in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="exp_ulps"):
            layer_rounding_bound(layer, task, number_format=FLOAT32, exp_ulps=ulps)
    with pytest.raises(InputError, match="finer"):
        layer_rounding_bound(layer, task, number_format=FloatFormat("fine", 2.0**-60, 2.0**-1000, 2.0**1000))
    with pytest.raises(InputError, match="dimension"):
        layer_rounding_bound(layer, random_layer_task(d_model=4), number_format=FLOAT32)
