"""A model of a file is read as it was written, and refused where an option or a shape is not what it should be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given

from byheart.testing.strategies import models
from constructions.formats.files import canonical_json
from constructions.formats.tensor_file import load_tensors
from constructions.model.model import Model as Built
from tests.verify.kernel.test_balls import rare_model
from tests.verify.kernel.test_walk import kernel_model
from verify.kernel.model import read_model
from verify.kernel.verdicts import BadInputError


@given(models())
def test_a_model_is_read_as_it_was_written(built: Built) -> None:
    found = kernel_model(built)
    assert (found.sha256, found.parameters, found.outputs) == (built.sha256(), built.parameters, built.d_vocab_out)
    assert found.reads_tokens == built.reads_tokens and len(found.blocks) == len(built.blocks)


@pytest.mark.parametrize("seed", range(2))
def test_a_model_with_rare_options_too(seed: int) -> None:
    built = rare_model(seed)
    found = kernel_model(built)
    assert (found.sha256, found.positions, found.vocabulary) == (built.sha256(), 5, 3)
    assert not any(block.is_plain for block in found.blocks)


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "another version": lambda words, tensors: words.update(version=3),
    "a version that is true": lambda words, tensors: words.update(version=True),
    "no input": lambda words, tensors: words.pop("input"),
    "another input": lambda words, tensors: words.update(input="bytes"),
    "a word more": lambda words, tensors: words.update(more=1),
    "blocks that are no list": lambda words, tensors: words.update(blocks={}),
    "a block that is none": lambda words, tensors: words["blocks"].append(7),
    "a kind that is a list": lambda words, tensors: words["blocks"][0].update(kind=["attention"]),
    "another activation": lambda words, tensors: words["blocks"][1].update(activation="tanh"),
    "an option more": lambda words, tensors: words["blocks"][0].update(mask=True),
    "no option skip": lambda words, tensors: words["blocks"][0].pop("skip"),
    "a skip that is 1": lambda words, tensors: words["blocks"][0].update(skip=1),
    "a root of 0": lambda words, tensors: words["blocks"][0].update(score_root=0),
    "a clip of 0": lambda words, tensors: words["blocks"][2].update(clip="0x0.0p+0"),
    "a cap that is not a float": lambda words, tensors: words.update(logit_cap="much"),
    "an infinite cap": lambda words, tensors: words.update(logit_cap="inf"),
    "a cap in another form": lambda words, tensors: words.update(logit_cap="0x1p0"),
    "norms of norms": lambda words, tensors: words["blocks"][0]["norm"].update(norm=None),
    "no turn": lambda words, tensors: words["blocks"][0].pop("turned"),
    "other key heads": lambda words, tensors: words["blocks"][0].update(key_heads=3),
    "positions of none": lambda words, tensors: words.update(positions=0),
    "no readout": lambda words, tensors: tensors.pop("unembed.W_U"),
    "a tensor more": lambda words, tensors: tensors.update(more=np.ones(1)),
    "a wider tensor": lambda words, tensors: tensors.update({"blocks.0.mlp.b_in": np.ones(6)}),
    "a shift of another width": lambda words, tensors: tensors.update({"unembed.b_U": np.ones(4)}),
    "an axis less": lambda words, tensors: tensors.update({"unembed.W_U": np.ones(4)}),
    "an empty axis": lambda words, tensors: tensors.update({"unembed.W_U": np.ones((4, 0)), "unembed.b_U": np.ones(0)}),
    "integers": lambda words, tensors: tensors.update({"unembed.b_U": np.ones(3, dtype=np.int64)}),
    "frequencies below 0": lambda words, tensors: tensors.update({"blocks.0.attn.frequencies": -np.ones(2)}),
    "a gate's shift without a gate": lambda words, tensors: tensors.pop("blocks.0.mlp.W_gate"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_not_so_is_refused_by_name(change: Callable[[Any, Any], Any], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    rare_model(0).save(path)
    words, tensors = load_tensors(path)
    tensors = {name: np.array(tensor) for name, tensor in tensors.items()}
    tensors["blocks.0.mlp.b_gate"] = np.ones(5)
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"byheart": canonical_json(words)}))
    read_model(tmp_path)
    change(words, tensors)
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"byheart": canonical_json(words)}))
    with pytest.raises(BadInputError, match=r"^model\.safetensors: "):
        read_model(tmp_path)
