"""Weights alone: every tensor as it is, under its name."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from byheart.hosts.conversion import rounded_model
from byheart.hosts.export import export
from byheart.hosts.exported.safetensors_file import HOST, METADATA
from byheart.hosts.number_types import DTYPES, NARROWEST, read_tensors, write_tensors
from constructions.errors import FileFormatError
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.model import assembled
from constructions.tasks.arrays import enumerated_task
from tests.exports import MODELS


def test_each_tensor_is_in_the_narrowest_type_that_holds_it(tmp_path):
    tensors = {"a": np.array([-128.0, 127.0]), "b": np.array([0.0, 65535.0]), "c": np.array([0.1]), "d": np.eye(1) / 3}
    tensors["d"] = tensors["d"].astype(np.float32).astype(np.float64)
    write_tensors(tmp_path / "of-ours", tensors, dtype=NARROWEST, metadata={METADATA: "{}"})
    stored = load_file(tmp_path / "of-ours")
    types = {"a": "int8", "b": "uint16", "c": "float64", "d": "float32"}
    assert {name: str(x.dtype) for name, x in stored.items()} == types
    assert all(np.array_equal(x, tensors[name]) for name, x in read_tensors(tmp_path / "of-ours")[0].items())
    write_tensors(tmp_path / "of-others", tensors, dtype=NARROWEST, metadata={"format": "pt"})
    with pytest.raises(FileFormatError, match=r"(a has the type I8|b has the type U16), expected"):
        read_tensors(tmp_path / "of-others")


def test_a_table_of_integers_runs_in_torch_as_it_is_stored(tmp_path):
    torch, module = pytest.importorskip("torch"), pytest.importorskip("verify.torch.module")
    task = enumerated_task(4, 4)
    model = probe_memory(task, labels_per_word=2).model
    report = export(model, task=task, to="safetensors", dtype=NARROWEST, out=tmp_path / "out")
    stored = pytest.importorskip("safetensors.torch").load_file(tmp_path / "out" / "model.safetensors")
    assert {x.dtype for x in stored.values()} >= {torch.int8, torch.int16}
    assert report["stored_bits"] == sum(8 * x.element_size() * x.numel() for x in stored.values())
    assert report["information_bits"] == task.information_bits > 256
    narrow, contexts = module.Replica(model, stored, dtype=torch.float32), torch.tensor(task.contexts)
    assert torch.equal(narrow(contexts), module.Replica.from_model(model)(contexts))
    assert narrow.get_buffer("blocks.0.attn.W_K").dtype == torch.int8


@pytest.mark.parametrize("dtype", (*DTYPES, NARROWEST))
@pytest.mark.parametrize("name", MODELS)
def test_out_and_in_again_is_equal_bit_by_bit(name, dtype, tmp_path):
    model = rounded_model(MODELS[name], dtype)
    HOST.write(HOST.convert(model), tmp_path, dtype)
    tensors, texts = read_tensors(tmp_path / "model.safetensors")
    assert assembled(json.loads(texts[METADATA]), tensors).sha256() == model.sha256()
    assert all(np.array_equal(tensors[key], tensor) for key, tensor in model.tensors().items())
