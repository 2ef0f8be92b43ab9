"""A model of a file is read as it was written, and refused where an option or a shape is not what it should be."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given

from byheart.testing.strategies import models
from constructions.errors import ByheartError
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
    "one frequency below 0": lambda words, tensors: tensors.update(
        {"blocks.0.attn.frequencies": np.array([1.0, -1.0])}
    ),
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


SIZES = {
    "embed.W_E": ("tokens", "embedded"),
    "pos_embed.W_pos": ("positions", "placed"),
    "blocks.0.ln1.w": ("normalized",),
    "blocks.0.attn.W_Q": ("heads", "read", "d_qk"),
    "blocks.0.attn.W_K": ("keys", "read", "d_qk"),
    "blocks.0.attn.W_V": ("keys", "read", "d_head"),
    "blocks.0.attn.W_O": ("heads", "d_head", "written"),
    "blocks.0.attn.frequencies": ("turns",),
    "blocks.0.attn.q_norm.w": ("queries",),
    "blocks.0.attn.k_norm.w": ("keyed",),
    "blocks.0.attn.post_norm.w": ("behind",),
    "blocks.0.mlp.W_in": ("neurons_read", "neurons"),
    "blocks.0.mlp.W_gate": ("neurons_read", "neurons"),
    "blocks.0.mlp.W_out": ("neurons", "neurons_write"),
    "unembed.W_U": ("unread", "outputs"),
    "unembed.b_U": ("shifted",),
}
"""The sizes of the tensors of two blocks, each by a name of its own unless its tensor says it."""

NORM = {"kind": "rms", "epsilon": (0.25).hex()}
FOUR = dict.fromkeys((name for names in SIZES.values() for name in names), 4)
SMALL = {**FOUR, "keys": 2, "turns": 2, "outputs": 3, "shifted": 3}
VARIANTS: dict[str, dict[str, Any]] = {
    "key heads, and norms of each": {"sizes": SMALL},
    "as many keys as heads": {"sizes": {**SMALL, "keys": 4}, "key_heads": None},
    "norms of all heads": {"sizes": {**SMALL, "queries": 16, "keyed": 8}, "norms_all": True},
    "no heads": {
        "sizes": {**SMALL, "heads": 0, "keys": 0}, "key_heads": None, "turned": None, "q_norm": None, "k_norm": None,
        "without": ["blocks.0.attn.frequencies", "blocks.0.attn.q_norm.w", "blocks.0.attn.k_norm.w"],
    },
    "no skip connection": {
        "sizes": {**SMALL, "written": 3, "behind": 3, "neurons_read": 3}, "skip": False, "neurons": {"skip": False}
    },
    "a skip connection beside another width": {
        "sizes": {**SMALL, "written": 3, "behind": 3, "neurons_read": 3}, "neurons": {"skip": False}, "fits": False
    },
    "neurons beside the head": {"sizes": SMALL, "neurons": {"parallel": True}},
    "neurons beside no stream": {"sizes": SMALL, "neurons": {"parallel": True, "skip": False}, "fits": False},
    "neurons beside a head without a stream": {
        "sizes": SMALL, "skip": False, "neurons": {"parallel": True}, "fits": False
    },
    "turned by nothing": {"sizes": SMALL, "without": ["blocks.0.attn.frequencies"], "fits": False},
    "frequencies that turn nothing": {"sizes": SMALL, "turned": None, "fits": False},
    "of width 1": {
        "sizes": {**dict.fromkeys(FOUR, 1), "heads": 2, "d_qk": 2, "queries": 2, "keyed": 2},
    },
    "vectors of no width": {
        "sizes": {**SMALL, "read": 0, "normalized": 0}, "skip": False, "input": "vectors", "fits": False,
        "without": ["embed.W_E", "pos_embed.W_pos"],
    },
    "vectors": {"sizes": SMALL, "input": "vectors", "without": ["embed.W_E", "pos_embed.W_pos"]},
}  # fmt: skip


def write_sizes(path: Path, sizes: dict[str, int], variant: dict[str, Any]) -> None:
    """Write a model of one attention and one block of neurons whose tensors have these sizes."""
    options = {"key_heads": sizes["keys"], "turned": "halves", "skip": True, "norms_all": None}
    options |= {"q_norm": NORM, "k_norm": NORM}
    options = {name: variant.get(name, value) for name, value in options.items()}
    attention = {
        "kind": "attention", "attends": "last", "queries": "stream", "score_root": 4, "norm": NORM, "post_norm": NORM,
        **{name: value for name, value in options.items() if value is not None},
    }  # fmt: skip
    neurons = {"kind": "feed-forward", "activation": "silu", "norm": None, "skip": True, **variant.get("neurons", {})}
    words = {
        "format": "byheart-model", "version": 2, "input": variant.get("input", "tokens"), "blocks": [attention, neurons]
    }  # fmt: skip
    names = [name for name in SIZES if name not in variant.get("without", ())]
    tensors = {name: np.full([sizes[size] for size in SIZES[name]], 0.5) for name in names}
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"byheart": canonical_json(words)}))


def is_read(read: Callable[[], Any]) -> bool:
    try:
        read()
    except (BadInputError, ByheartError):
        return False
    return True


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_sizes_that_fit_are_read_and_all_others_are_refused(variant: dict[str, Any], tmp_path: Path) -> None:
    """Each size is changed alone, in all tensors that have it: the reader that builds models decides what fits."""
    path, sizes = tmp_path / "model.safetensors", variant["sizes"]
    write_sizes(path, sizes, variant)
    assert is_read(lambda: read_model(tmp_path)) == variant.get("fits", True)
    for name, size in product(sizes, (0, 1, 3, 8, 16)):
        write_sizes(path, {**sizes, name: size}, variant)
        assert is_read(lambda: read_model(tmp_path)) == is_read(lambda: Built.load(path)), (name, size)


@pytest.mark.parametrize(("reads", "fits"), [("tokens", True), ("vectors", False)])
def test_without_blocks_a_model_reads_tokens(reads: str, fits: bool, tmp_path: Path) -> None:
    words = {"format": "byheart-model", "version": 2, "input": reads, "blocks": []}
    tensors = {"unembed.W_U": np.eye(2)}
    if fits:
        tensors |= {"embed.W_E": np.eye(2), "pos_embed.W_pos": np.zeros((1, 2))}
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"byheart": canonical_json(words)}))
    assert is_read(lambda: read_model(tmp_path)) == is_read(lambda: Built.load(path)) == fits
