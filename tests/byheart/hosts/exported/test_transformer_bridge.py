"""The layout of TransformerLens 4, without it; what it computes is in tests/contract/test_hosts.py."""

import json

import numpy as np
import pytest

from byheart.hosts.exported.transformer_bridge import HOST
from byheart.hosts.number_types import read_tensors
from constructions.errors import InputError
from tests.exports import MODELS


def written(name, folder):
    model = HOST.convert(MODELS[name])
    HOST.write(model, folder, "float64")
    return model, json.loads((folder / "config.json").read_text()), read_tensors(folder / "model.safetensors")[0]


def test_maps_are_transposed_and_heads_come_one_after_the_other(tmp_path):
    model, config, tensors = written("causal attention with shifts", tmp_path)
    block = model.blocks[0]
    x = np.random.default_rng(0).standard_normal(model.d_model)
    width = config["d_head"]
    for letter in "QKV":
        rows = tensors[f"blocks.0.attn.{letter.lower()}.weight"] @ x + tensors[f"blocks.0.attn.{letter.lower()}.bias"]
        expected = np.einsum("d,hde->he", x, getattr(block, f"W_{letter}")) + getattr(block, f"b_{letter}")
        assert np.allclose(rows.reshape(-1, width), expected, rtol=1e-14)
    z = np.random.default_rng(1).standard_normal((config["n_heads"], width))
    expected = np.einsum("he,hed->d", z, block.W_O)
    assert np.allclose(tensors["blocks.0.attn.o.weight"] @ z.ravel(), expected, rtol=1e-13)
    assert np.array_equal(tensors["unembed.weight"], model.W_U.T)


def test_the_width_of_a_head_undoes_the_scale_exactly(tmp_path):
    model, config, _ = written("network of one attention", tmp_path)
    assert config["d_head"] == 4 and model.blocks[0].score_root == 4
    assert np.array_equal(model.blocks[0].W_Q[:, :, :2], 2 * MODELS["network of one attention"].W_Q)


def test_a_shift_of_the_readout_is_one_coordinate_more(tmp_path):
    model, config, tensors = written("causal attention with shifts", tmp_path)
    assert config["d_model"] == 7 and not tensors["unembed.bias"].any()
    assert np.array_equal(model.W_U[-1], MODELS["causal attention with shifts"].b_U)


def test_names_of_neurons_and_normalizations_are_those_of_the_library(tmp_path):
    _, _, tensors = written("layer normalization as in GPT-2", tmp_path)
    for name in ("mlp.in", "mlp.out", "ln1", "ln2", "attn.o"):
        assert {f"blocks.1.{name}.weight", f"blocks.1.{name}.bias"} <= set(tensors)
    assert tensors["blocks.0.mlp.in.weight"].shape == (8, 6) and "ln_final.weight" in tensors


def test_root_mean_square_normalization_is_refused():
    with pytest.raises(InputError, match="'rms', which transformer-bridge computes in float32"):
        HOST.convert(MODELS["root mean square normalization"])
