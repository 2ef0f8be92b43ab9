"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.errors import HypothesisError
from constructions.model.construction import Construction
from constructions.model.shapes import mahdavi_layer, mahdavi_tensors
from constructions.model.vector_attention import outputs
from constructions.saturated_layers.relu_barrier import barrier_task
from constructions.saturated_layers.slabs import slab_network
from constructions.tasks.vectors import VectorTask
from verify.theorems.claims import mahdavi_proposition_3 as audit
from verify.theorems.claims.mahdavi_proposition_3 import CLAIM
from verify.verdict import Verdict


def test_labels_of_a_network_are_not_called_out_of_reach():
    task = barrier_task(d_model=3, neurons=1)
    ramp = np.maximum(task.queries[:, :1] - 3.0, 0.0)
    memorized = VectorTask(task.contexts, task.queries, ramp)
    assert audit._out_of_reach(task, neurons=1).verdict is Verdict.PROVED
    assert audit._out_of_reach(memorized, neurons=1).verdict is Verdict.UNDECIDED
    # Some combination of patterns of many neurons has any labels.
    assert audit._out_of_reach(barrier_task(d_model=2, neurons=1), neurons=2).verdict is not Verdict.PROVED


def test_examples_that_violate_an_assumption_prove_nothing():
    task = barrier_task(d_model=3, neurons=1)
    flat = task.contexts.copy()
    flat[0, 1] = 2.0 * flat[0, 0]
    assert audit._out_of_reach(VectorTask(flat, task.queries, task.labels), neurons=1).verdict is Verdict.UNDECIDED
    halved = VectorTask(task.contexts, task.queries, task.labels / 3.0)
    assert audit._out_of_reach(halved, neurons=1).verdict is Verdict.UNDECIDED


def test_attention_that_misses_a_label_proves_nothing():
    made = CLAIM.construct()
    assert isinstance(made, Construction) and audit._memorized(made, made.task).verdict is Verdict.PROVED
    tensors = mahdavi_tensors(made.model)
    louder = mahdavi_layer(**{**tensors, "W_D": 1.001 * tensors["W_D"]})
    assert audit._memorized(replace(made, model=louder), made.task).verdict is Verdict.UNDECIDED


def test_labels_on_a_line_are_not_too_many_for_one_neuron():
    assert audit._few_neurons(np.array([[0, 0], [1, 1], [2, 2]]), neurons=1).verdict is Verdict.REFUTED


def test_attention_that_holds_other_labels_proves_nothing():
    made = CLAIM.construct()
    assert isinstance(made, Construction)
    assert audit._memorized(made, barrier_task(d_model=3, neurons=1)).verdict is Verdict.PROVED
    assert audit._memorized(made, barrier_task(d_model=3, neurons=1, seed=1)).verdict is Verdict.UNDECIDED


def test_neurons_that_miss_a_label_or_are_too_many_are_not_within_reach():
    points, labels = np.array([[1, 1], [2, 4], [3, 9], [4, 16], [5, 25], [6, 36]]), np.array([5, 1, 4, 1, 5, 9])
    network = slab_network(points, labels)
    assert network.d_mlp == 3
    assert audit._within_reach(points, labels, network).verdict is Verdict.PROVED
    for t in range(6):
        other = labels + (np.arange(6) == t)
        assert audit._within_reach(points, other, network).verdict is Verdict.REFUTED
    wasteful = slab_network(points[:5], labels[:5])
    assert audit._within_reach(points[:5], labels[:5], wasteful).verdict is Verdict.REFUTED
    kept = replace(network, skip=False, activation="silu")
    with pytest.raises(HypothesisError, match="has the activation 'silu'"):
        audit._within_reach(points, labels, kept)


@pytest.mark.parametrize("parameters", [{}, {"d_model": 4, "n_ctx": 3}, {"neurons": 2}])
def test_the_labels_are_memorized_with_heads_of_width_one(parameters: dict[str, int]) -> None:
    made = CLAIM.construct(**parameters)
    assert isinstance(made, Construction)
    layer, task = made.model, made.task
    np.testing.assert_allclose(outputs(layer, task), task.labels, atol=1e-6)
    assert layer.d_qk == 1
    # No head too many.
    assert (layer.n_heads - 1) * (task.n_ctx - 1) + 1 < task.n_examples <= layer.n_heads * (task.n_ctx - 1) + 1
