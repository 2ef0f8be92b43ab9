"""An edited model in the format that its host loads: the folder it came from, with more neurons.

Page: docs/claims/editing.md
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byheart.hosts.host import CONFIG_FILE, WEIGHTS_FILE
from byheart.hosts.number_types import read_tensors, rounded_to, write_tensors
from byheart.hosts.reading import read_model
from constructions.arrays import Float64Array
from constructions.errors import InputError, TamperedError
from constructions.files import canonical_json, write_atomically
from constructions.models.appended_neurons import editable
from constructions.models.model import Model


class _Neurons(NamedTuple):
    """Where a family keeps the neurons of a layer, and how it calls their number."""

    reads: str
    writes: str
    width: str
    transposed: bool  # the maps are stored as [out, in]


_FAMILIES = {
    "gpt2": _Neurons("h.{}.mlp.c_fc", "h.{}.mlp.c_proj", "n_inner", False),
    "gpt_neo": _Neurons("h.{}.mlp.c_fc", "h.{}.mlp.c_proj", "intermediate_size", True),
    "gptj": _Neurons("h.{}.mlp.fc_in", "h.{}.mlp.fc_out", "n_inner", True),
    "codegen": _Neurons("h.{}.mlp.fc_in", "h.{}.mlp.fc_out", "n_inner", True),
    "gpt_neox": _Neurons("layers.{}.mlp.dense_h_to_4h", "layers.{}.mlp.dense_4h_to_h", "intermediate_size", True),
    "opt": _Neurons("decoder.layers.{}.fc1", "decoder.layers.{}.fc2", "ffn_dim", True),
    "phi": _Neurons("layers.{}.mlp.fc1", "layers.{}.mlp.fc2", "intermediate_size", True),
    "starcoder2": _Neurons("layers.{}.mlp.c_fc", "layers.{}.mlp.c_proj", "intermediate_size", True),
}
_COPIED = (".json", ".txt", ".model", ".jinja")  # tokenizers and how to generate; weights are written anew


def has_one_width(config: Mapping[str, Any]) -> bool:
    """Whether the host has one number of neurons for all layers, so that the others need neurons of zeros."""
    return config.get("model_type") in _FAMILIES


def host_config(source: Path) -> dict[str, Any]:
    """The configuration beside the weights of a host's folder.

    Raises:
        InputError: There is none, or it is of a family that cannot be written back.
    """
    path = source / CONFIG_FILE
    if not path.is_file():
        raise InputError(source, f"has no {CONFIG_FILE}", "the folder of a host, to be written back to it")
    config = json.loads(path.read_text(encoding="utf-8"))
    if config.get("model_type") not in _FAMILIES:
        known = ", ".join(_FAMILIES)
        raise InputError(path, f"has model_type {config.get('model_type')!r}", f"one that is written back: {known}")
    return config


def stored_dtype(config: Mapping[str, Any]) -> str:
    """The type in which the host loads the weights.

    Example:
        >>> stored_dtype({"torch_dtype": "bfloat16"}), stored_dtype({})
        ('bfloat16', 'float32')
    """
    return str(config.get("dtype") or config.get("torch_dtype") or "float32").removeprefix("torch.")


def write_edited(source: Path, folder: Path, edited: Model, edits: int, dtype: str) -> None:
    """Write the host's folder with the new neurons, and read it back.

    Args:
        source: The folder that the model came from.
        folder: An empty folder.
        edited: The edited model, with neurons of zeros in the other layers.
        edits: How many neurons were added.
        dtype: The type of the weights, which the host is told to load.

    Raises:
        InputError: The host would not load the edited model.
    """
    config = host_config(source)
    family = _FAMILIES[config["model_type"]]
    tensors, _ = read_tensors(source / WEIGHTS_FILE)
    block, _ = editable(edited)
    assert block.b_in is not None
    parts = block.W_in[:, -edits:], block.b_in[-edits:], block.W_out[-edits:]
    written = {name: rounded_to(name, tensor, dtype) for name, tensor in tensors.items()}
    layers = _layers(written, family)
    for layer in layers:
        reads, writes = _named(written, family.reads.format(layer)), _named(written, family.writes.format(layer))
        W_in, b_in, W_out = parts if layer == layers[-1] else (np.zeros_like(part) for part in parts)
        for name, more, axis in ((f"{reads}.weight", W_in, 1), (f"{writes}.weight", W_out, 0)):
            grown = np.concatenate([written[name].T if family.transposed else written[name], more], axis=axis)
            written[name] = grown.T if family.transposed else grown
        if f"{reads}.bias" in written:
            written[f"{reads}.bias"] = np.concatenate([written[f"{reads}.bias"], b_in])
    config |= {family.width: block.d_mlp, "dtype": dtype}
    config.pop("torch_dtype", None)
    write_tensors(folder / WEIGHTS_FILE, written, dtype=dtype, metadata={"format": "pt"})
    write_atomically(folder / CONFIG_FILE, (json.dumps(config, indent=2, sort_keys=True) + "\n").encode())
    for path in sorted(source.iterdir()):
        if path.suffix in _COPIED and path.is_file() and path.name != CONFIG_FILE and "safetensors" not in path.name:
            shutil.copyfile(path, folder / path.name)
    if read_model(folder).sha256() != edited.sha256():
        raise InputError(folder, f"is not read back as the edited model; {canonical_json({'family': family.reads})}")


def require_proved_weights(folder: Path, edited: str) -> None:
    """Raise `TamperedError` unless the host of a folder loads the model of this hash, in the type that it names."""
    dtype = stored_dtype(host_config(folder))
    found = read_model(folder).with_each(lambda name, tensor: rounded_to(name, tensor, dtype)).sha256()
    if found != edited:
        raise TamperedError(f"{folder} holds another model than the one that is proved: its hash is {found}")


def _layers(tensors: Mapping[str, Float64Array], family: _Neurons) -> list[int]:
    layers = []
    while any(name.endswith(family.reads.format(len(layers)) + ".weight") for name in tensors):
        layers.append(len(layers))
    return layers


def _named(tensors: Mapping[str, Float64Array], ending: str) -> str:
    """The name of a map with whatever the host puts before it."""
    [name] = [name for name in tensors if name.endswith(f"{ending}.weight")]
    return name.removesuffix(".weight")
