"""Runs of a layer: what computes it stays within bound, what computes something else leaves it."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given

from constructions.errors import InputError
from tests.layers import changed_layer, layers_and_tasks, memory_layer, random_layer, random_layer_task
from verify.arithmetic.enclosure import Enclosure
from verify.forward.layer_forward import enclose_outputs
from verify.replica import layer_run
from verify.replica.layer_replica import LayerReplica
from verify.replica.layer_run import run_layer, run_layer_in_all


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@given(layers_and_tasks())
def test_a_faithful_replica_never_leaves_the_bound(dtype, case):
    layer, task = case
    result = run_layer(layer, task, dtype=dtype)
    assert result.within_bound is not False
    assert (result.accuracy is None) == (task.kind == "regression")
    assert (result.max_label_error is None) == (task.kind == "classification")
    json.dumps(result.summary(), allow_nan=False)


def test_a_memory_has_its_labels_and_its_classes():
    task = random_layer_task(examples=5, tokens=4, d_model=4)
    result = run_layer(memory_layer(task, heads=3), task, dtype="float64")
    assert result.within_bound is True and result.max_label_error < 1e-9 and result.note == ""
    task = random_layer_task(examples=5, tokens=4, d_model=4, kind="classification")
    result = run_layer(memory_layer(task, heads=3), task)
    assert result.within_bound is True and result.accuracy == 1.0
    wrong = changed_layer(memory_layer(task, heads=3), W_D=-np.eye(2))
    assert run_layer(wrong, task).accuracy == 0.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fault", ["weights", "scaled scores", "negated keys"])
def test_a_replica_of_something_else_leaves_the_bound(monkeypatch, dtype, fault):
    task = random_layer_task(examples=5, tokens=4, d_model=4, shared=False)
    layer = memory_layer(task, heads=3)
    faulty = {
        "weights": changed_layer(layer, W_D=layer.W_U * (1 + 2.0**-8)),
        "scaled scores": changed_layer(layer, W_Q=layer.W_Q / np.sqrt(layer.d_qk)),
        "negated keys": changed_layer(layer, W_K=-layer.W_K),
    }[fault]
    replica = LayerReplica.from_layer(faulty, dtype=getattr(torch, dtype))
    monkeypatch.setattr(layer_run.LayerReplica, "from_layer", lambda *_, **__: replica)
    assert run_layer(layer, task, dtype=dtype).within_bound is False


def test_bfloat16_is_reported_and_not_judged():
    result = run_layer(random_layer(), random_layer_task(), dtype="bfloat16")
    assert result.within_bound is None and "not judged" in result.note and result.largest_bound is None


def test_nothing_is_judged_where_no_bound_is_finite():
    layer = changed_layer(random_layer(), W_Q=np.full((2, 3, 2), 1e37))
    result = run_layer(layer, random_layer_task())
    assert result.within_bound is None and "not judged" in result.note


def test_outputs_that_are_not_finite_are_infinite_errors():
    layer = random_layer()
    tall = changed_layer(layer, W_D=layer.W_U * 1e39)
    result = run_layer(tall, random_layer_task())
    assert result.max_label_error == np.inf and result.summary()["max_label_error"] is None


def test_batches_change_nothing(monkeypatch):
    layer, task = random_layer(), random_layer_task(shared=False)
    whole = run_layer(layer, task, dtype="float64")
    monkeypatch.setattr(layer_run, "_BATCH_ENTRIES", 1)
    assert run_layer(layer, task, dtype="float64").max_output_error <= whole.max_output_error + 1e-12


def test_all_types_are_run_with_one_enclosure(monkeypatch):
    layer, task = random_layer(), random_layer_task()
    calls = []
    monkeypatch.setattr(layer_run, "enclose_outputs", lambda *given: calls.append(1) or enclose_outputs(*given))
    assert set(run_layer_in_all(layer, task)) == {"float64", "float32", "bfloat16"} and len(calls) == 1


def test_what_cannot_be_run_is_refused():
    layer, task = random_layer(), random_layer_task()
    with pytest.raises(InputError, match="dtype"):
        run_layer(layer, task, dtype="float16")
    with pytest.raises(InputError, match="device"):
        run_layer(layer, task, device="abacus")
    with pytest.raises(InputError, match="outputs has shape"):
        run_layer(layer, task, outputs=Enclosure(np.zeros((4, 3))))
    with pytest.raises(InputError, match="dimension"):
        run_layer(layer, random_layer_task(d_model=4))


@pytest.mark.gpu
def test_a_memory_is_within_bound_on_a_gpu():
    task = random_layer_task(examples=50, tokens=8, d_model=16, shared=False)
    for dtype in ("float64", "float32"):
        assert run_layer(memory_layer(task, heads=5), task, device="cuda", dtype=dtype).within_bound is True
