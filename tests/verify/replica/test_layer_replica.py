"""The torch module computes the layer, in every shape and type, and does not leave settings behind."""

import numpy as np
import pytest
import torch
from hypothesis import given

from constructions.errors import InputError
from tests.layers import layers_and_tasks, random_layer, random_layer_task, truth
from verify.replica.layer_replica import LayerReplica


def computed(layer, task, dtype=torch.float64):
    replica = LayerReplica.from_layer(layer, dtype=dtype)
    with torch.inference_mode():
        return replica(torch.tensor(task.contexts).to(dtype), torch.tensor(task.queries).to(dtype))


@given(layers_and_tasks())
def test_the_outputs_are_those_of_the_definition(case):
    layer, task = case
    exact = np.array(truth(layer, task).outputs, dtype=float)
    assert np.allclose(computed(layer, task).numpy(), exact, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_outputs_have_the_type_of_the_parameters(dtype):
    layer, task = random_layer(), random_layer_task(shared=False)
    outputs = computed(layer, task, dtype)
    assert outputs.dtype == dtype
    assert torch.allclose(outputs.double(), computed(layer, task), atol=0.3)


def test_autocasting_and_other_settings_do_not_reach_the_module():
    layer, task = random_layer(), random_layer_task()
    expected = computed(layer, task, torch.float32)
    before = torch.get_float32_matmul_precision()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        again = computed(layer, task, torch.float32)
    assert torch.equal(again, expected) and torch.get_float32_matmul_precision() == before


def test_a_state_dict_of_another_layer_fits():
    layer, other, task = random_layer(), random_layer(seed=1), random_layer_task()
    replica = LayerReplica.from_layer(layer, dtype=torch.float64)
    replica.load_state_dict(LayerReplica.from_layer(other, dtype=torch.float64).state_dict())
    outputs = replica(torch.tensor(task.contexts), torch.tensor(task.queries))
    assert torch.equal(outputs, computed(other, task))


def test_other_types_and_shapes_are_refused():
    replica = LayerReplica.from_layer(random_layer())
    contexts, queries = torch.ones(4, 3, 3), torch.ones(4, 3)
    for bad in (
        (contexts.double(), queries),
        (contexts, queries.double()),
        (contexts[:2], queries),
        (contexts[:, :0], queries),
        (contexts[..., :2], queries),
        (contexts[0], queries),
        (contexts, queries[:, :2]),
        (contexts, queries[0]),
    ):
        with pytest.raises(InputError):
            replica(*bad)
    with pytest.raises(InputError, match="dtype"):
        LayerReplica.from_layer(random_layer(), dtype=torch.int64)
