"""What is written for Hugging Face, without it; what it computes is in tests/contract/test_hosts.py."""

import json

import pytest

from byheart.hosts.huggingface import HOST
from byheart.hosts.number_types import read_tensors
from tests.exports import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_is_written_as_it_is(name, tmp_path):
    model = HOST.convert(MODELS[name])
    HOST.write(model, tmp_path, "float64")
    config = json.loads((tmp_path / "config.json").read_text())
    tensors = read_tensors(tmp_path / "model.safetensors")[0]
    assert {key: list(tensor.shape) for key, tensor in tensors.items()} == config["shapes"]
    assert all((tensors[key] == tensor).all() for key, tensor in MODELS[name].tensors().items())
    assert config["auto_map"]["AutoModelForCausalLM"] == "modeling_byheart.ByheartForCausalLM"


def test_the_last_attention_becomes_causal_where_that_changes_nothing():
    looks = {name: [b.options().get("attends") for b in HOST.convert(model).blocks] for name, model in MODELS.items()}
    assert looks["network of one attention"] == ["causal"]
    assert looks["stack of attention"] == ["causal"] * 3
    assert looks["layer of values"] == ["last"]
    assert looks["stack that sees everything"] == ["all"] * 2
