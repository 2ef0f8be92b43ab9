"""The second reader of models agrees with the first about any blocks, and refuses what the first refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError
from constructions.models.blocks import FeedForward, Normalization
from constructions.models.model import Model
from constructions.tensor_file import load_tensors, save_tensors
from tests.layers import random_layer
from tests.memories import memory, random_task
from tests.verify.independent.test_ball_forward import draw_model
from verify.independent.plain.plain_model import PlainModel


@given(seed=st.integers(0, 2**32), tokens=st.booleans())
def test_both_readers_see_the_same_tensors_in_the_same_order(tmp_path_factory, seed, tokens):
    model, d_model = draw_model(np.random.default_rng(seed), tokens=tokens)
    path = tmp_path_factory.mktemp("plain") / "model"
    model.save(path)
    plain = PlainModel.read(path)
    assert plain.sha256 == model.sha256() and list(plain.tensors) == list(model.tensors())
    for name, tensor in model.tensors().items():
        assert (plain.tensors[name].shape, list(plain.tensors[name].values)) == (tensor.shape, tensor.ravel().tolist())
    assert (plain.reads_tokens, plain.d_model, plain.d_vocab_out) == (tokens, d_model, model.d_vocab_out)
    for block, written in zip(plain.blocks, model.blocks, strict=True):
        assert block.options == written.options()
        if isinstance(written, Normalization):
            assert (block.reads, block.writes, block.epsilon) == (written.width, written.width, written.epsilon)
        else:
            assert (block.reads, block.writes) == (written.d_model, written.d_out)


def test_the_two_shapes_of_the_papers_are_told_apart(tmp_path):
    for model, skip, queries in ((memory(random_task()), True, "stream"), (random_layer(), False, "task")):
        model.save(tmp_path / "model")
        plain = PlainModel.read(tmp_path / "model")
        assert plain.is_one_attention(skip=skip, queries=queries)
        assert not plain.is_one_attention(skip=not skip, queries="task" if skip else "stream")
        shifted = Model(model.blocks, model.W_U, np.ones(model.d_vocab_out), model.W_E, model.W_pos)
        shifted.save(tmp_path / "model")
        assert not PlainModel.read(tmp_path / "model").is_one_attention(skip=skip, queries=queries)


def test_a_file_of_another_version_is_refused(tmp_path):
    memory(random_task()).save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes().replace(b'\\"version\\":2', b'\\"version\\":1')
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(FileFormatError, match="format"):
        PlainModel.read(tmp_path / "model")


@pytest.mark.parametrize("name", ["W_gate", "b_gate"])
def test_a_gate_of_another_shape_than_the_map_beside_it_is_refused(name, tmp_path):
    one = np.ones
    gated = FeedForward(one((2, 3)), one((3, 2)), W_gate=one((2, 3)), b_gate=one(3), activation="silu")
    model = Model(blocks=(gated,), W_U=one((2, 2)), W_E=one((2, 2)), W_pos=one((1, 2)))
    model.save(tmp_path / "good")
    assert PlainModel.read(tmp_path / "good").sha256 == model.sha256()
    wrong = {"W_gate": one((2, 4)), "b_gate": one(4)}[name]
    tensors = {key: wrong if key.endswith(name) else tensor for key, tensor in model.tensors().items()}
    metadata, _ = load_tensors(tmp_path / "good")
    save_tensors(tmp_path / "bad", tensors, metadata=metadata)
    with pytest.raises(FileFormatError):
        PlainModel.read(tmp_path / "bad")
