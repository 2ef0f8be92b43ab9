"""The second reader of the files of a layer agrees with the first, and refuses what the first refuses."""

import numpy as np
from hypothesis import given

from constructions.errors import FileFormatError
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from tests.layers import layers_and_tasks, random_layer, random_layer_task
from verify.independent.plain_layer_files import PlainLayer, PlainLayerTask


@given(layers_and_tasks())
def test_both_readers_see_the_same(tmp_path_factory, case):
    layer, task = case
    folder = tmp_path_factory.mktemp("plain")
    layer.save(folder / "layer")
    task.save(folder / "task")
    plain, plain_task = PlainLayer.read(folder / "layer"), PlainLayerTask.read(folder / "task")
    assert (plain.sha256, plain_task.sha256, plain_task.kind) == (layer.sha256(), task.sha256(), task.kind)
    assert list(plain.tensors["W_V"].values) == layer.W_V.ravel().tolist()
    assert plain.sizes() == {
        "d_model": layer.d_model,
        "n_heads": layer.n_heads,
        "d_head": layer.d_qk,
        "d_value": layer.d_head,
        "d_inner": layer.attention.d_out,
        "d_out": layer.d_vocab_out,
    }
    assert plain_task.sizes() == {
        "n_examples": task.n_examples,
        "n_contexts": len(task.contexts),
        "n_tokens": task.n_tokens,
        "d_model": task.d_model,
        "d_out": task.d_out,
    }


def refused(reader, path):
    try:
        reader(path)
    except FileFormatError:
        return True
    return False


def test_both_readers_refuse_the_same_changed_layers(tmp_path):
    path = tmp_path / "layer"
    random_layer(heads=1, d_model=2, d_out=1).save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in [*range(0, 120), *rng.integers(0, len(data), 60).tolist()]:
        path.write_bytes(data[:position] + bytes([data[position] ^ int(rng.integers(1, 256))]) + data[position + 1 :])
        assert refused(Model.load, path) == refused(PlainLayer.read, path), position
    for bad in (b"", data[:-8], data + bytes(8)):
        path.write_bytes(bad)
        assert refused(Model.load, path) and refused(PlainLayer.read, path)
    assert refused(PlainLayer.read, tmp_path) and refused(PlainLayer.read, tmp_path / "nothing")


def test_both_readers_refuse_the_same_tasks(tmp_path):
    path = tmp_path / "task.npz"
    task = random_layer_task()
    arrays = task.arrays()
    variants = [
        {**arrays, "more": np.ones(1)},
        {name: array for name, array in arrays.items() if name != "kind"},
        {**arrays, "kind": np.array("ranking")},
        {**arrays, "kind": np.array(["regression"])},
        {**arrays, "kind": np.array(1.0)},
        {**arrays, "labels": np.ones((4, 2), dtype=np.int64)},
        {**arrays, "labels": np.ones((3, 2))},
        {**arrays, "labels": np.ones((4, 0))},
        {**arrays, "contexts": np.ones((2, 3, 3))},
        {**arrays, "contexts": np.ones((1, 3, 2))},
        {**arrays, "queries": np.full((4, 3), np.nan)},
        {**arrays, "kind": np.array("classification"), "labels": np.ones((4, 2))},
        {**arrays, "kind": np.array("classification"), "labels": np.ones((4, 1))},
    ]
    for variant in variants:
        np.savez(path, **variant)
        assert refused(VectorTask.load, path) and refused(PlainLayerTask.read, path), sorted(variant)
