"""The enclosures of a layer hold what it computes, and are not absurdly wide."""

import dataclasses

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.models.shapes import mahdavi_layer, mahdavi_tensors
from constructions.tasks.vectors import VectorTask
from tests.layers import BITS, changed_layer, layers_and_tasks, random_layer, random_layer_task, truth
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.forward import vector_attention
from verify.forward.vector_attention import enclose_layer, enclose_mixed_inputs, enclose_outputs, enclose_theta


def holds(enclosure, exact):
    """Whether every number in many digits is in its interval; an infinite radius holds all."""
    radius = np.broadcast_to(enclosure.radius, enclosure.shape).ravel()
    with mpmath.workprec(BITS):
        own_error = mpmath.mpf(2) ** (64 - BITS)
        return all(
            abs(x - mpmath.mpf(float(m))) <= mpmath.mpf(float(r)) + own_error * (1 + abs(x))
            for x, m, r in zip(exact, enclosure.midpoint.ravel(), radius, strict=True)
        )


def flat(rows):
    return [x for row in rows for x in row]


@pytest.mark.parametrize("precision", [None, 30, 200])
@given(case=layers_and_tasks())
def test_every_enclosure_holds_the_exact_numbers(precision, case):
    layer, task = case
    exact = truth(layer, task)
    theta = enclose_theta(layer, task, precision=precision)
    assert theta.shape == (task.n_examples, layer.n_heads, task.n_tokens)
    assert holds(theta, flat(flat(exact.theta)))
    mixed = enclose_mixed_inputs(layer, task, precision=precision)
    assert mixed.shape == (task.n_examples, layer.n_heads * layer.d_model)
    assert holds(mixed, flat(exact.mixed))
    outputs = enclose_outputs(layer, task, precision=precision)
    assert outputs.shape == task.labels.shape
    assert holds(outputs, flat(exact.outputs))
    top = enclose_layer(layer, task).top
    assert holds(top, [max(pattern) for patterns in exact.theta for pattern in patterns])


@given(layers_and_tasks(), st.integers(1, 3))
def test_blocks_change_nothing_but_the_memory(case, rows):
    layer, task = case
    whole = enclose_layer(layer, task)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_attention, "_BLOCK_ENTRIES", rows)
        patch.setattr(vector_attention, "_OUTPUT_ROWS", rows)
        parts = enclose_layer(layer, task)
        outputs = enclose_outputs(layer, task, mixed=parts.mixed)
    assert parts.mixed.shape == whole.mixed.shape
    exact = truth(layer, task)
    assert holds(parts.mixed, flat(exact.mixed)) and holds(outputs, flat(exact.outputs))


@pytest.mark.parametrize("shared", [True, False])
def test_the_radius_of_a_mixed_input_is_that_of_its_product(shared):
    layer, task = random_layer(heads=1), random_layer_task(shared=shared)
    theta, found = enclose_theta(layer, task)[:, 0], enclose_layer(layer, task)
    for t in range(task.n_examples):
        product = matmul(theta[t : t + 1], task.context(t))
        assert np.allclose(found.mixed.radius[t], product.radius[0], rtol=1e-9, atol=0.0)
    assert (found.top.radius[:, 0] == np.broadcast_to(theta.radius, theta.shape).max(axis=1)).all()


def test_radii_are_a_few_roundings_where_scores_are_moderate():
    layer, task = random_layer(d_model=8, heads=3), random_layer_task(d_model=8)
    assert enclose_theta(layer, task).radius.max() < 1e-13
    assert enclose_mixed_inputs(layer, task).radius.max() < 1e-13
    assert enclose_outputs(layer, task).radius.max() < 1e-11
    assert enclose_outputs(layer, task, precision=300).radius.max() < 1e-13


def test_a_query_that_a_large_map_cancels_is_known_near_its_last_bit():
    """The frozen queries of a construction: kappa <w, e> = 0 up to rounding, for kappa = 2^30."""
    query = np.array([[1.0, 1.0, 2.0**-40]])
    w = 2.0**30 * np.array([[[1.0], [-1.0], [1.0]]])
    layer = mahdavi_layer(
        W_Q=w, W_K=np.ones((1, 3, 1)), W_V=np.ones((1, 3, 1)), W_O=np.ones((1, 1)), W_D=np.ones((1, 1))
    )
    task = VectorTask(contexts=np.array([[[1.0, 0, 0], [0, 2.0, 0]]]), queries=query, labels=np.ones((1, 1)))
    theta = enclose_theta(layer, task)
    assert theta.radius.max() < 1e-15
    assert holds(theta, flat(flat(truth(layer, task).theta)))


def test_saturated_heads_have_tiny_radii():
    layer = random_layer(heads=1, scale=1e6)
    task = random_layer_task(examples=1)
    theta = enclose_theta(layer, task)
    assert theta.midpoint.max() == 1.0 and theta.radius.max() < 1e-200


def test_overflows_are_no_information_and_never_an_error():
    layer, task = random_layer(), random_layer_task()
    huge = changed_layer(layer, W_Q=layer.W_Q * 1e200, W_K=layer.W_K * 1e200)
    theta = enclose_theta(huge, task)
    assert (theta.lower() <= 0.0).any() and (theta.upper() >= 1.0).any() and np.isfinite(theta.radius).all()
    tall = changed_layer(layer, W_V=layer.W_V * 1e150, W_O=mahdavi_tensors(layer)["W_O"] * 1e150, W_D=layer.W_U * 1e150)
    assert np.isinf(enclose_outputs(tall, task).radius).all()


def test_one_token_has_all_the_attention():
    layer, task = random_layer(), random_layer_task(tokens=1)
    assert (enclose_theta(layer, task).midpoint == 1.0).all()
    mixed = enclose_mixed_inputs(layer, task).midpoint.reshape(4, 2, 3)
    assert np.allclose(mixed, task.contexts[0], atol=1e-15)


def test_progress_is_told_head_by_head():
    told = []
    layer, task = random_layer(heads=3), random_layer_task()
    enclose_layer(layer, task, progress=lambda stage, share, detail: told.append((stage, share)))
    assert told == [("attention", 1 / 3), ("attention", 2 / 3), ("attention", 1.0)]


def test_what_does_not_fit_is_refused():
    layer, task = random_layer(), random_layer_task(d_model=4)
    for enclose in (enclose_theta, enclose_mixed_inputs, enclose_layer, enclose_outputs):
        with pytest.raises(InputError, match="dimension"):
            enclose(layer, task)
    task = random_layer_task()
    with pytest.raises(InputError, match="mixed has shape"):
        enclose_outputs(layer, task, mixed=Enclosure(np.zeros((4, 5))))
    with pytest.raises(InputError, match="precision"):
        enclose_outputs(layer, task, mixed=enclose_mixed_inputs(layer, task), precision=64)
    with pytest.raises(InputError, match="precision"):
        enclose_theta(layer, task, precision=1)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_the_largest_layer_of_the_benchmarks_is_enclosed_in_bounded_memory(shared):
    layer = random_layer(heads=60, d_model=64, d_head=8, d_value=1, d_inner=1, d_out=1, scale=0.1)
    task = random_layer_task(examples=1861, tokens=32, d_model=64, d_out=1, shared=shared)
    found = enclose_layer(layer, task)
    assert found.mixed.shape == (1861, 3840) and found.mixed.radius.max() < 1e-10
    few = (
        dataclasses.replace(task, contexts=task.contexts[:2], queries=task.queries[:2], labels=task.labels[:2])
        if not shared
        else dataclasses.replace(task, queries=task.queries[:2], labels=task.labels[:2])
    )
    small = enclose_layer(layer, few).mixed
    assert (np.abs(found.mixed.midpoint[:2] - small.midpoint) <= found.mixed.radius[:2] + small.radius).all()
