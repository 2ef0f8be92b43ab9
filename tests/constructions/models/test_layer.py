"""Layers and their tasks: shapes, hashes, and files that hold nothing else."""

import dataclasses
import hashlib
import io

import numpy as np
import pytest
from hypothesis import given

from constructions.errors import FileFormatError, InputError
from constructions.models.layer import LAYER_TENSOR_NAMES, Layer, LayerConstruction, LayerTask
from tests.layers import changed_layer, layers_and_tasks, random_layer, random_layer_task


def test_sizes_and_parameters_are_those_of_the_tensors():
    layer = random_layer(heads=2, d_model=5, d_head=3, d_value=4, d_inner=6, d_out=7)
    sizes = (layer.n_heads, layer.d_model, layer.d_head, layer.d_value, layer.d_inner, layer.d_out)
    assert sizes == (2, 5, 3, 4, 6, 7)
    assert layer.parameters == 2 * 5 * (2 * 3 + 4) + 2 * 4 * 6 + 6 * 7


@pytest.mark.parametrize("name", LAYER_TENSOR_NAMES)
def test_tensors_of_other_shapes_types_and_values_are_refused(name):
    layer = random_layer()
    tensor = getattr(layer, name)
    for bad in (tensor[..., :0], tensor[None], tensor.astype(np.float32), np.full_like(tensor, np.nan)):
        with pytest.raises(InputError, match=name):
            changed_layer(layer, **{name: bad})


def test_maps_that_do_not_fit_each_other_are_refused():
    layer = random_layer(heads=2, d_value=2, d_inner=3)
    for name in ("W_K", "W_V", "W_O", "W_D"):
        tensor = getattr(layer, name)
        with pytest.raises(InputError, match=name):
            changed_layer(layer, **{name: np.concatenate([tensor, tensor])})


def test_tensors_are_copied_and_read_only():
    tensor = np.ones((1, 2, 1))
    layer = Layer(W_Q=tensor, W_K=tensor, W_V=tensor, W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
    tensor[0, 0, 0] = 5.0
    assert layer.W_Q[0, 0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        layer.W_Q[0, 0, 0] = 2.0


@given(layers_and_tasks())
def test_what_is_saved_comes_back_with_its_hash(tmp_path_factory, case):
    layer, task = case
    folder = tmp_path_factory.mktemp("layer")
    layer.save(folder / "layer.safetensors")
    task.save(folder / "layer_task.npz")
    again, task_again = Layer.load(folder / "layer.safetensors"), LayerTask.load(folder / "layer_task.npz")
    assert (again.sha256(), task_again.sha256()) == (layer.sha256(), task.sha256())
    assert all((again.tensors()[name] == tensor).all() for name, tensor in layer.tensors().items())
    assert (task_again.kind, task_again.shared) == (task.kind, task.shared)
    assert (task_again.contexts == task.contexts).all() and (task_again.labels == task.labels).all()
    data = (folder / "layer_task.npz").read_bytes()
    task_again.save(folder / "layer_task.npz")
    assert (folder / "layer_task.npz").read_bytes() == data


def test_the_hash_is_the_one_that_is_documented():
    layer = random_layer()
    text = b"".join(
        f"{name}:{','.join(map(str, tensor.shape))};".encode() + tensor.astype("<f8").tobytes()
        for name, tensor in layer.tensors().items()
    )
    assert layer.sha256() == hashlib.sha256(text).hexdigest()
    task = random_layer_task()
    text = b'["regression"]' + b"".join(
        f"{name}:{','.join(map(str, getattr(task, name).shape))};".encode() + getattr(task, name).tobytes()
        for name in ("contexts", "queries", "labels")
    )
    assert task.sha256() == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("name", LAYER_TENSOR_NAMES)
def test_every_tensor_counts_for_the_hash(name):
    layer = random_layer()
    tensor = getattr(layer, name).copy()
    tensor.flat[0] = np.nextafter(tensor.flat[0], np.inf)
    assert changed_layer(layer, **{name: tensor}).sha256() != layer.sha256()


def test_the_kind_and_every_array_count_for_the_hash_of_a_task():
    task = random_layer_task()
    hashes = {task.sha256(), dataclasses.replace(task, kind="classification").sha256()}
    for name in ("contexts", "queries", "labels"):
        array = getattr(task, name).copy()
        array.flat[0] += 1.0
        hashes.add(dataclasses.replace(task, **{name: array}).sha256())
    assert len(hashes) == 5


def test_tasks_that_make_no_sense_are_refused():
    task = random_layer_task(examples=4)
    bad = {
        "contexts": [task.contexts[0], np.ones((2, 3, 3)), np.ones((1, 3, 2)), np.ones((1, 0, 3))],
        "queries": [task.queries[:0], np.ones((4, 2)), np.full((4, 3), np.inf), np.ones((4, 3), dtype=int)],
        "labels": [task.labels[:3], task.labels[:, :0], task.labels[:, 0]],
        "kind": ["ranking", 1],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(InputError):
                dataclasses.replace(task, **{name: value})


def test_a_class_must_be_unique_and_one_of_several():
    task = random_layer_task()
    tied = np.zeros_like(task.labels)
    with pytest.raises(InputError, match="row 0 is not unique"):
        dataclasses.replace(task, kind="classification", labels=tied)
    with pytest.raises(InputError, match="2 classes"):
        dataclasses.replace(task, kind="classification", labels=task.labels[:, :1])


def test_contexts_are_shared_or_each_examples_own():
    shared, own = random_layer_task(), random_layer_task(shared=False)
    assert shared.shared and not own.shared
    assert (shared.context(3) == shared.contexts[0]).all() and (own.context(3) == own.contexts[3]).all()
    for t in (-1, 4):
        with pytest.raises(InputError, match="t = "):
            own.context(t)


def saved(path, arrays):
    np.savez(path, **arrays)
    return path


def test_tasks_in_other_files_are_refused(tmp_path):
    task, path = random_layer_task(), tmp_path / "layer_task.npz"
    arrays = task.arrays()
    variants = [
        {name: array for name, array in arrays.items() if name != "labels"},
        {**arrays, "more": np.ones(1)},
        {**arrays, "kind": np.array(["regression"])},
        {**arrays, "kind": np.array("ranking")},
        {**arrays, "labels": arrays["labels"].astype(np.float32)},
        {**arrays, "queries": np.full_like(arrays["queries"], np.nan)},
    ]
    for variant in variants:
        with pytest.raises(FileFormatError):
            LayerTask.load(saved(path, variant))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    path.write_bytes(buffer.getvalue())
    with pytest.raises(FileFormatError, match="compressed"):
        LayerTask.load(path)


def test_layers_in_other_files_are_refused(tmp_path):
    path = tmp_path / "layer.safetensors"
    random_layer().save(path)
    data = path.read_bytes()
    for bad in (b"", data[:-1], data + b"\0", data.replace(b"attention layer", b"attention lawyer")):
        path.write_bytes(bad)
        with pytest.raises(FileFormatError):
            Layer.load(path)
    nothing = data[:-8] + np.array([np.nan]).tobytes()
    path.write_bytes(nothing)
    with pytest.raises(FileFormatError, match="finite"):
        Layer.load(path)


def test_a_construction_refuses_a_layer_that_does_not_fit_its_task():
    with pytest.raises(InputError, match="dimension 3"):
        LayerConstruction(random_layer_task(d_model=3), random_layer(d_model=4), "")
    with pytest.raises(InputError, match="2 labels"):
        LayerConstruction(random_layer_task(d_out=2), random_layer(d_out=3), "")


def test_masked_arrays_are_refused():
    masked = np.ma.array(np.ones((1, 2, 3)), mask=np.arange(6).reshape(1, 2, 3) == 1)
    with pytest.raises(InputError, match="masked"):
        LayerTask(contexts=masked, queries=np.ones((1, 3)), labels=np.ones((1, 1)))
