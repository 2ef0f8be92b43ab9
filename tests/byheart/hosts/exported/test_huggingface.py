"""What is written for Hugging Face, without it; what it computes is in tests/contract/test_hosts.py."""

import json

import pytest

from byheart.hosts.export import export
from byheart.hosts.exported.huggingface import HOST
from byheart.hosts.number_types import read_tensors
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.tasks.table import facts_task
from tests.exports import MODELS, installed


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


def test_the_library_sees_one_vocabulary_where_answers_are_never_read(tmp_path):
    installed("huggingface")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    task = facts_task([("Peru", "capital", "Lima"), ("Peru", "river", "Amazon"), ("Amazon", "in", "Peru")])
    model = build_memory(task, d_model=6, d_head=2, n_heads=3).model
    export(model, task=task, to="huggingface", dtype="float16", out=tmp_path / "out")  # GPT-2 has no float16 here
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert task.names() == ("Peru", "capital", "river", "Amazon", "in", "Lima")
    assert (config["vocab_size"], config["answers"]) == (7, [5, 3, 0])
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out", trust_remote_code=True)
    for text, answer in (("Peru, capital", "Lima"), ("Peru, river", "Amazon"), ("Amazon, in", "Peru")):
        asked = tokenizer(text, return_tensors="pt")
        logits = loaded(**asked).logits[0, -1]
        assert tokenizer.decode(logits.argmax()) == answer
        assert torch.isfinite(logits).tolist() == [True, False, False, True, False, True, False]
        assert tokenizer.decode(loaded.generate(**asked)[0, -1]) == answer
