"""The two shapes of the papers: their sizes, hashes and files, and what is refused."""

import hashlib

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given

from constructions.errors import FileFormatError, InputError
from constructions.formats.files import canonical_json
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors, mahdavi_layer, mahdavi_tensors
from constructions.tasks.vectors import VectorTask
from tests.layers import changed_layer, layers_and_tasks, random_layer
from tests.memories import changed

SHAPES = {
    "W_E": (5, 4),
    "W_pos": (3, 4),
    "W_Q": (2, 4, 1),
    "W_K": (2, 4, 1),
    "W_V": (2, 4, 3),
    "W_O": (2, 3, 4),
    "W_U": (4, 6),
}
LAYER_TENSORS = ("W_Q", "W_K", "W_V", "W_O", "W_D")


def random_tensors(seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}


def test_sizes_and_parameters_of_a_network_are_those_of_the_tensors():
    network = dana_network(**random_tensors())
    sizes = (network.d_vocab, network.n_ctx, network.d_model, network.n_heads, network.d_qk, network.d_head)
    assert sizes == (5, 3, 4, 2, 1, 3) and network.d_vocab_out == 6
    assert network.parameters == sum(int(np.prod(shape)) for shape in SHAPES.values())


def test_equal_weights_give_equal_bytes_and_survive_the_disk(tmp_path):
    dana_network(**random_tensors()).save(tmp_path / "a.safetensors")
    dana_network(**random_tensors()).save(tmp_path / "b.safetensors")
    again = Model.load(tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert again.sha256() == dana_network(**random_tensors()).sha256()
    assert list(safetensors.numpy.load_file(tmp_path / "a.safetensors")) == sorted(again.tensors())


@pytest.mark.parametrize("name", SHAPES)
def test_every_tensor_enters_the_hash(name):
    network = dana_network(**random_tensors())
    tensor = np.array(dana_tensors(network)[name])
    tensor.flat[-1] = np.nextafter(tensor.flat[-1], np.inf)
    assert changed(network, **{name: tensor}).sha256() != network.sha256()


def test_the_record_is_a_copy_that_cannot_be_written():
    tensors = random_tensors()
    network = dana_network(**tensors)
    tensors["W_E"][0, 0] = 7.0
    assert network.W_E[0, 0] != 7.0
    with pytest.raises(ValueError, match="read-only"):
        network.W_E[0, 0] = 7.0


def test_fortran_order_and_strides_do_not_change_the_weights():
    tensors = random_tensors()
    strided = {name: np.asfortranarray(tensor) for name, tensor in tensors.items()}
    assert dana_network(**strided).sha256() == dana_network(**tensors).sha256()


def test_a_network_without_heads_is_a_network(tmp_path):
    tensors = random_tensors() | {
        "W_Q": np.zeros((0, 4, 1)),
        "W_K": np.zeros((0, 4, 1)),
        "W_V": np.zeros((0, 4, 3)),
        "W_O": np.zeros((0, 3, 4)),
    }
    network = dana_network(**tensors)
    network.save(tmp_path / "model.safetensors")
    assert Model.load(tmp_path / "model.safetensors").n_heads == network.n_heads == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("W_E", np.zeros((5, 3))),
        ("W_pos", np.zeros((3, 5))),
        ("W_Q", np.zeros((3, 4, 1))),
        ("W_K", np.zeros((2, 4, 2))),
        ("W_V", np.zeros((2, 4, 5))),
        ("W_O", np.zeros((2, 4, 3))),
        ("W_U", np.zeros((3, 6))),
        ("W_U", np.zeros((4, 0))),
        ("W_E", np.zeros((5, 4), dtype=np.float32)),
        ("W_E", np.zeros(4)),
        ("W_O", np.full((2, 3, 4), np.nan)),
        ("W_pos", np.full((3, 4), -np.inf)),
    ],
)
def test_a_bad_tensor_is_named(name, value):
    with pytest.raises(InputError, match="W_"):
        dana_network(**(random_tensors() | {name: value}))


@pytest.mark.parametrize("damage", ["truncated", "nan", "float32", "missing", "extra", "metadata", "text", "absent"])
def test_a_file_that_is_no_model_is_refused(tmp_path, damage):
    path = tmp_path / "model.safetensors"
    network = dana_network(**random_tensors())
    network.save(path)
    tensors = {name: tensor.copy() for name, tensor in network.tensors().items()}
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-8])
    elif damage == "nan":
        tensors["blocks.0.attn.W_O"][0, 0, 0] = np.nan
        safetensors.numpy.save_file(tensors, path, metadata=_metadata(path))
    elif damage == "float32":
        safetensors.numpy.save_file(
            {n: t.astype(np.float32) for n, t in tensors.items()}, path, metadata=_metadata(path)
        )
    elif damage == "missing":
        safetensors.numpy.save_file(
            {n: t for n, t in tensors.items() if n != "unembed.W_U"}, path, metadata=_metadata(path)
        )
    elif damage == "extra":
        safetensors.numpy.save_file(tensors | {"blocks.0.attn.b_X": np.zeros((2, 3))}, path, metadata=_metadata(path))
    elif damage == "metadata":
        safetensors.numpy.save_file(tensors, path, metadata={"byheart": "{}"})
    elif damage == "text":
        path.write_text("not a model")
    else:
        path.unlink()
    with pytest.raises(FileFormatError, match="model"):
        Model.load(path)


def _metadata(path):
    with safetensors.safe_open(path, framework="np") as file:
        return file.metadata()


def test_sizes_and_parameters_of_a_layer_are_those_of_the_tensors():
    layer = random_layer(n_heads=2, d_model=5, d_head=3, d_value=4, d_inner=6, d_out=7)
    sizes = (layer.n_heads, layer.d_model, layer.d_qk, layer.d_head, layer.attention.d_out, layer.d_vocab_out)
    assert sizes == (2, 5, 3, 4, 6, 7)
    assert layer.parameters == 2 * 5 * (2 * 3 + 4) + 2 * 4 * 6 + 6 * 7


@pytest.mark.parametrize("name", LAYER_TENSORS)
def test_tensors_of_other_shapes_types_and_values_are_refused(name):
    layer = random_layer()
    tensor = mahdavi_tensors(layer)[name]
    for bad in (tensor[..., :0], tensor[None], tensor.astype(np.float32), np.full_like(tensor, np.nan)):
        with pytest.raises(InputError, match="W_"):
            changed_layer(layer, **{name: bad})


def test_maps_that_do_not_fit_each_other_are_refused():
    layer = random_layer(n_heads=2, d_value=2, d_inner=3)
    for name in ("W_K", "W_V", "W_O", "W_D"):
        tensor = mahdavi_tensors(layer)[name]
        with pytest.raises(InputError, match="W_"):
            changed_layer(layer, **{name: np.concatenate([tensor, tensor])})


def test_tensors_are_copied_and_read_only():
    tensor = np.ones((1, 2, 1))
    layer = mahdavi_layer(W_Q=tensor, W_K=tensor, W_V=tensor, W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
    tensor[0, 0, 0] = 5.0
    assert layer.W_Q[0, 0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        layer.W_Q[0, 0, 0] = 2.0


@given(layers_and_tasks())
def test_what_is_saved_comes_back_with_its_hash(tmp_path_factory, case):
    layer, task = case
    folder = tmp_path_factory.mktemp("layer")
    layer.save(folder / "layer.safetensors")
    task.save(folder / "layer_task.safetensors")
    again, task_again = Model.load(folder / "layer.safetensors"), VectorTask.load(folder / "layer_task.safetensors")
    assert (again.sha256(), task_again.sha256()) == (layer.sha256(), task.sha256())
    assert all((mahdavi_tensors(again)[name] == tensor).all() for name, tensor in mahdavi_tensors(layer).items())
    assert (task_again.kind, task_again.shared) == (task.kind, task.shared)
    assert (task_again.contexts == task.contexts).all() and (task_again.labels == task.labels).all()
    data = (folder / "layer_task.safetensors").read_bytes()
    task_again.save(folder / "layer_task.safetensors")
    assert (folder / "layer_task.safetensors").read_bytes() == data


def test_the_hash_is_the_one_that_is_documented():
    layer = random_layer()
    text = b"".join(
        f"{name}:{','.join(map(str, tensor.shape))};".encode() + tensor.astype("<f8").tobytes()
        for name, tensor in layer.tensors().items()
    )
    options = canonical_json(layer.options()).encode("ascii")
    assert layer.sha256() == hashlib.sha256(options + text).hexdigest()


@pytest.mark.parametrize("name", LAYER_TENSORS)
def test_every_tensor_counts_for_the_hash(name):
    layer = random_layer()
    tensor = mahdavi_tensors(layer)[name].copy()
    tensor.flat[0] = np.nextafter(tensor.flat[0], np.inf)
    assert changed_layer(layer, **{name: tensor}).sha256() != layer.sha256()


def test_layers_in_other_files_are_refused(tmp_path):
    path = tmp_path / "layer.safetensors"
    random_layer().save(path)
    data = path.read_bytes()
    for bad in (b"", data[:-1], data + b"\0", data.replace(b"attention", b"attentive")):
        path.write_bytes(bad)
        with pytest.raises(FileFormatError):
            Model.load(path)
    nothing = data[:-8] + np.array([np.nan]).tobytes()
    path.write_bytes(nothing)
    with pytest.raises(FileFormatError, match="finite"):
        Model.load(path)
