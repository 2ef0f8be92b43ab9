"""The padding of `torch.nn.MultiheadAttention`; what it computes is in tests/contract/test_hosts.py."""

import json

import numpy as np
import pytest

import byheart.hosts.exported.attention_layer as module
from byheart.hosts.exported.attention_layer import HOST
from byheart.hosts.number_types import read_tensors
from constructions.errors import InputError, ResourceError
from tests.exports import MODELS, attention, of_tokens


def written(model, folder):
    HOST.write(HOST.convert(model), folder, "float64")
    return json.loads((folder / "config.json").read_text()), read_tensors(folder / "model.safetensors")[0]


def test_heads_share_the_stream_among_them(tmp_path):
    config, tensors = written(MODELS["network of one attention"], tmp_path)
    assert (config["embed_dim"], config["num_heads"]) == (20, 5)  # five heads of width 4, for a stream of 6
    assert tensors["attention.0.in_proj_weight"].shape == (60, 20)
    query = tensors["attention.0.in_proj_weight"][:20].reshape(5, 4, 20)
    assert np.array_equal(query[:, :2, :6], 2 * MODELS["network of one attention"].W_Q.transpose(0, 2, 1))
    assert not query[:, 2:].any() and not query[:, :, 6:].any()


def test_a_stream_that_is_wider_than_its_heads_widens_them(tmp_path):
    config, _ = written(of_tokens(attention(n_heads=1, d_qk=1, d_head=1)), tmp_path)
    assert (config["embed_dim"], config["num_heads"]) == (16, 1)


def test_the_least_padding_is_taken_where_the_exact_one_is_too_large(monkeypatch):
    monkeypatch.setattr(module, "_AFFORDABLE", 4 * 19**2)
    model = HOST.convert(MODELS["network of one attention"])
    assert model.blocks[0].score_root == 3
    monkeypatch.setattr(module, "_LARGEST", 4 * 14**2)
    with pytest.raises(ResourceError, match=r"4 \(H e\)\^2 = 900 entries for H = 5 heads of width e = 3"):
        HOST.convert(MODELS["network of one attention"])


def test_other_blocks_are_refused():
    with pytest.raises(InputError, match=r"the model also has \['feed-forward'\] too"):
        HOST.convert(MODELS["gelu neurons"])
    with pytest.raises(InputError, match="the model also has norms too"):
        HOST.convert(of_tokens(MODELS["root mean square normalization"].blocks[0]))
