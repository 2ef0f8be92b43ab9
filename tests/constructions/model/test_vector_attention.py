"""The float64 forward pass of a layer against many digits."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from constructions.errors import InputError
from constructions.model.vector_attention import mixed_inputs, mixed_matrix, outputs, theta
from tests.layers import layers_and_tasks, random_layer, random_layer_task, truth


@given(layers_and_tasks())
def test_everything_is_close_to_its_definition(case):
    layer, task = case
    exact = truth(layer, task)
    given = (task.contexts, task.queries, layer.W_Q, layer.W_K)
    expected = np.array(exact.theta, dtype=float)
    assert np.allclose(theta(*given), expected, rtol=1e-9, atol=1e-9)
    assert np.allclose(mixed_matrix(*given), np.array(exact.mixed, dtype=float), rtol=1e-9, atol=1e-9)
    assert np.allclose(outputs(layer, task), np.array(exact.outputs, dtype=float), rtol=1e-8, atol=1e-8)
    shape = (task.n_examples, layer.n_heads, layer.d_model)
    assert mixed_inputs(*given).shape == shape


def test_a_shared_context_is_one_context_for_each():
    layer, task = random_layer(), random_layer_task()
    own = dataclasses.replace(task, contexts=np.repeat(task.contexts, task.n_examples, axis=0))
    assert np.allclose(outputs(layer, task), outputs(layer, own), atol=1e-13)


def test_shapes_that_do_not_fit_are_refused():
    layer, task = random_layer(), random_layer_task()
    for contexts, queries, W_Q, W_K in (
        (task.contexts[0], task.queries, layer.W_Q, layer.W_K),
        (np.ones((2, 3, 3)), task.queries, layer.W_Q, layer.W_K),
        (task.contexts, task.queries[:, :2], layer.W_Q, layer.W_K),
        (task.contexts, task.queries, layer.W_Q[:1], layer.W_K),
        (task.contexts, task.queries, layer.W_Q[0], layer.W_K[0]),
    ):
        with pytest.raises(InputError):
            theta(contexts, queries, W_Q, W_K)
    with pytest.raises(InputError):
        outputs(layer, random_layer_task(d_model=4))
