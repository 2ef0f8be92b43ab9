"""The record of the weights."""

import dataclasses

import numpy as np
import pytest
import safetensors.numpy

from constructions.errors import FileFormatError, InputError
from constructions.models.network import TENSOR_NAMES, Network

SHAPES = {
    "W_E": (5, 4),
    "W_pos": (3, 4),
    "W_Q": (2, 4, 1),
    "W_K": (2, 4, 1),
    "W_V": (2, 4, 3),
    "W_O": (2, 3, 4),
    "W_U": (4, 6),
}


def random_tensors(seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}


def test_sizes_and_parameters_are_those_of_the_tensors():
    network = Network(**random_tensors())
    sizes = (network.d_vocab, network.n_ctx, network.d_model, network.n_heads, network.d_qk, network.d_head)
    assert sizes == (5, 3, 4, 2, 1, 3) and network.d_vocab_out == 6
    assert network.parameters == sum(int(np.prod(shape)) for shape in SHAPES.values())


def test_equal_weights_give_equal_bytes_and_survive_the_disk(tmp_path):
    Network(**random_tensors()).save(tmp_path / "a.safetensors")
    Network(**random_tensors()).save(tmp_path / "b.safetensors")
    again = Network.load(tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert again.sha256() == Network(**random_tensors()).sha256()
    assert list(safetensors.numpy.load_file(tmp_path / "a.safetensors")) == sorted(TENSOR_NAMES)


@pytest.mark.parametrize("name", TENSOR_NAMES)
def test_every_tensor_enters_the_hash(name):
    network = Network(**random_tensors())
    changed = np.array(getattr(network, name))
    changed.flat[-1] = np.nextafter(changed.flat[-1], np.inf)
    assert dataclasses.replace(network, **{name: changed}).sha256() != network.sha256()


def test_the_record_is_a_copy_that_cannot_be_written():
    tensors = random_tensors()
    network = Network(**tensors)
    tensors["W_E"][0, 0] = 7.0
    assert network.W_E[0, 0] != 7.0
    with pytest.raises(ValueError, match="read-only"):
        network.W_E[0, 0] = 7.0


def test_fortran_order_and_strides_do_not_change_the_weights():
    tensors = random_tensors()
    strided = {name: np.asfortranarray(tensor) for name, tensor in tensors.items()}
    assert Network(**strided).sha256() == Network(**tensors).sha256()


def test_a_network_without_heads_is_a_network(tmp_path):
    tensors = random_tensors() | {
        "W_Q": np.zeros((0, 4, 1)),
        "W_K": np.zeros((0, 4, 1)),
        "W_V": np.zeros((0, 4, 3)),
        "W_O": np.zeros((0, 3, 4)),
    }
    network = Network(**tensors)
    network.save(tmp_path / "model.safetensors")
    assert Network.load(tmp_path / "model.safetensors").n_heads == network.n_heads == 0


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
        Network(**(random_tensors() | {name: value}))


@pytest.mark.parametrize("damage", ["truncated", "nan", "float32", "missing", "extra", "metadata", "text", "absent"])
def test_a_file_that_is_no_model_is_refused(tmp_path, damage):
    path = tmp_path / "model.safetensors"
    Network(**random_tensors()).save(path)
    tensors = random_tensors()
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-8])
    elif damage == "nan":
        tensors["W_O"][0, 0, 0] = np.nan
        safetensors.numpy.save_file(tensors, path, metadata=_metadata(path))
    elif damage == "float32":
        safetensors.numpy.save_file({n: t.astype(np.float32) for n, t in tensors.items()}, path)
    elif damage == "missing":
        safetensors.numpy.save_file({n: t for n, t in tensors.items() if n != "W_U"}, path)
    elif damage == "extra":
        safetensors.numpy.save_file(tensors | {"b_U": np.zeros(6)}, path)
    elif damage == "metadata":
        safetensors.numpy.save_file(tensors, path, metadata={"byheart": "{}"})
    elif damage == "text":
        path.write_text("not a model")
    else:
        path.unlink()
    with pytest.raises(FileFormatError, match="model"):
        Network.load(path)


def _metadata(path):
    with safetensors.safe_open(path, framework="np") as file:
        return file.metadata()
