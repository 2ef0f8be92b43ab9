"""An edited model in the format that its host loads: the folder it came from, with more neurons.

Page: docs/claims/editing.md
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byheart.hosts.decoding import DecodedFacts as Decoded
from byheart.hosts.decoding import code_not_run, require_greedy
from byheart.hosts.host import CONFIG_FILE, WEIGHTS_FILE
from byheart.hosts.number_types import rounded_to, write_tensors
from byheart.hosts.reading import model_of, read_model, tensors_of
from constructions.errors import InputError, TamperedError
from constructions.formats.files import canonical_json, write_atomically
from constructions.formats.tensor_file import arrays_sha256
from constructions.model.appended_neurons import Appended, appended, editable
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from verify.edits.certificate import CONTEXTS_FILE, EditRequest


class _Neurons(NamedTuple):
    """Where a family keeps the neurons of a layer, and how it calls their number."""

    reads: str
    writes: str
    width: str
    transposed: bool  # the maps are stored as [out, in]
    factor: str = ""  # the map of what gates multiply


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
_GATED = _Neurons(
    "layers.{}.mlp.gate_proj", "layers.{}.mlp.down_proj", "intermediate_size", True, "layers.{}.mlp.up_proj"
)
_FAMILIES |= dict.fromkeys(("llama", "smollm3"), _GATED)
_AS_LLAMA = ("mistral", "qwen2")  # Llama can say what they are, and has the shifts that their neurons lack
_LLAMA_FIELDS = {
    "architectures", "attention_bias", "attention_dropout", "bos_token_id", "dtype", "eos_token_id", "head_dim",
    "hidden_act", "hidden_size", "initializer_range", "intermediate_size", "max_position_embeddings", "mlp_bias",
    "model_type", "num_attention_heads", "num_hidden_layers", "num_key_value_heads", "pad_token_id", "rms_norm_eps",
    "rope_parameters", "rope_scaling", "rope_theta", "tie_word_embeddings", "torch_dtype", "transformers_version",
    "use_cache", "vocab_size",
}  # fmt: skip
_COMPUTED = (".frequencies", ".slopes")  # what a host computes from its configuration, and no file holds
_COPIED = (".json", ".txt", ".model", ".jinja")  # tokenizers and how to generate; weights are written anew


def has_one_width(config: Mapping[str, Any]) -> bool:
    """Whether the host needs the same number of neurons in all layers, so that layers are padded with zeros."""
    return config.get("model_type") in {*_FAMILIES, *_AS_LLAMA}


def host_config(source: Path) -> dict[str, Any]:
    """Return the configuration beside the weights of a host's folder.

    Raises:
        InputError: There is none, it is of a family that cannot be written back, or the host would load an adapter.
    """
    if (adapter := source / "adapter_config.json").exists():
        raise InputError(adapter, "lies beside the weights, so that hosts load another model", "merged weights alone")
    path = source / CONFIG_FILE
    if not path.is_file():
        raise InputError(source, f"has no {CONFIG_FILE}", "the folder of a host, to be written back to it")
    config = json.loads(path.read_text(encoding="utf-8"))
    if not has_one_width(config):
        known = ", ".join((*_FAMILIES, *_AS_LLAMA))
        raise InputError(path, f"has model_type {config.get('model_type')!r}", f"one that is written back: {known}")
    return config


def read_editable(source: Path, config: Mapping[str, Any] | Path | str | None = None, key: str | None = None) -> Model:
    """Read a model in the form that its edit is stored in: the same function, with the shifts that gates need.

    Args:
        source: The folder of a host.
        config: As for `byheart.hosts.reading.read_model`.
        key: Likewise.

    Raises:
        InputError: As `byheart.hosts.reading.read_model` and `host_config`; or a model whose form with shifts is
            another one.
    """
    if config is not None:
        return read_model(source, config=config, key=key)
    model = read_model(source, key=key)
    options, before = model.options(), _digests(model)
    if not _lacks_shifts(host_config(source)):
        return model
    del model  # a language model is large: not two of them at once
    with_shifts = model_of(*_stored(source, key))
    after = _digests(with_shifts)
    same = with_shifts.options() == options and before.items() <= after.items()
    if not same or any(tensor.any() for name, tensor in with_shifts.tensors().items() if name not in before):
        raise InputError(source, "is not the same model with shifts of zero in its neurons")
    return with_shifts


def _digests(model: Model) -> dict[str, str]:
    """Hash of each tensor, by which two models are compared of which one is in memory."""
    return {name: arrays_sha256(name, {name: tensor}) for name, tensor in model.tensors().items()}


def _lacks_shifts(config: Mapping[str, Any]) -> bool:
    """Whether a host has gates that need shifts which it does not have."""
    kind = config["model_type"]
    return _FAMILIES.get(kind, _GATED) is _GATED and not (kind in _FAMILIES and config.get("mlp_bias"))


def _stored(source: Path, key: str | None = None) -> tuple[dict[str, Float64Array], dict[str, Any]]:
    """Return the tensors and the configuration, of a model of gates with shifts of zero where it has none."""
    config = host_config(source)
    kind, tensors = config["model_type"], tensors_of(source, key)
    if not _lacks_shifts(config):
        return tensors, config
    if kind in _AS_LLAMA:
        if config.get("use_sliding_window", kind == "mistral") and config.get("sliding_window") is not None:
            raise InputError(source, "has a sliding window", "none: Llama, which has shifts, has no windows")
        config = {name: value for name, value in config.items() if name in _LLAMA_FIELDS}
        config |= {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "attention_bias": kind == "qwen2"}
    config["mlp_bias"] = True
    for layer in _layers(tensors, _GATED):
        for place in (_GATED.reads, _GATED.factor, _GATED.writes):
            name = _named(tensors, place.format(layer))
            tensors[f"{name}.bias"] = np.zeros(len(tensors[f"{name}.weight"]))
        if kind == "qwen2":
            name = _named(tensors, f"layers.{layer}.self_attn.o_proj")
            tensors[f"{name}.bias"] = np.zeros(len(tensors[f"{name}.weight"]))
    return tensors, config


def stored_dtype(config: Mapping[str, Any]) -> str:
    """Return the type in which the host loads the weights.

    Example:
        >>> stored_dtype({"torch_dtype": "bfloat16"}), stored_dtype({})
        ('bfloat16', 'float32')
    """
    return str(config.get("dtype") or config.get("torch_dtype") or "float32").removeprefix("torch.")


def rounded_weights(model: Model, dtype: str) -> Model:
    """Return the model with its weights rounded as a host stores them; it computes rotary frequencies itself, in
    float32.

    Where nothing is rounded it is the model itself, and no array is copied: a language model is large.
    """
    changed = dict[str, Float64Array]()
    for name, tensor in model.tensors().items():
        rounded = tensor if name.endswith(_COMPUTED) else rounded_to(name, tensor, dtype)
        if not np.array_equal(rounded, tensor):
            changed[name] = rounded
    return model.with_each(lambda name, tensor: changed.get(name, tensor)) if changed else model


def write_edited(
    source: Path,
    folder: Path,
    edited: Model,
    edits: int,
    dtype: str,
    *,
    layer: int | None = None,
    key: str | None = None,
) -> None:
    """Write the host's folder with the new neurons, and read it back.

    Args:
        source: The folder that the model came from.
        folder: An empty folder.
        edited: The edited model, with neurons of zeros in the other layers.
        edits: How many neurons were added.
        dtype: The type of the weights, which the host is told to load.
        layer: Which layer they are in; the last one by default.
        key: As for `byheart.hosts.reading.read_model`, of the source.

    Raises:
        InputError: The host would not load the edited model.
    """
    written, config = _stored(source, key)
    family, block = _FAMILIES[config["model_type"]], editable(edited, layer).neurons
    own = appended(edited, edits, layer)
    for name, tensor in written.items():
        rounded = rounded_to(name, tensor, dtype)
        if not np.array_equal(rounded, tensor):
            written[name] = rounded
    layers = _layers(written, family)
    ones, nothing = np.ones(edits), Appended(*map(np.zeros_like, (own.weights, own.shifts, own.writes)))
    for each in layers:
        is_here = each == (layers[-1] if layer is None else layer)
        more = own if is_here else nothing
        reads, writes = _named(written, family.reads.format(each)), _named(written, family.writes.format(each))
        _lengthen(written, f"{reads}.weight", more.weights, 1, family)
        _lengthen(written, f"{reads}.bias", more.shifts, 0, family)
        _lengthen(written, f"{writes}.weight", more.writes, 0, family)
        if family.factor:
            factor = _named(written, family.factor.format(each))
            _lengthen(written, f"{factor}.weight", nothing.weights, 1, family)
            _lengthen(written, f"{factor}.bias", ones if is_here else nothing.shifts, 0, family)
    config |= {family.width: block.d_mlp, "dtype": dtype}
    config.pop("torch_dtype", None)
    write_tensors(folder / WEIGHTS_FILE, written, dtype=dtype, metadata={"format": "pt"})
    written.clear()
    write_atomically(folder / CONFIG_FILE, (json.dumps(config, indent=2, sort_keys=True) + "\n").encode())
    for path in sorted(source.iterdir()):
        if path.suffix in _COPIED and path.is_file() and path.name != CONFIG_FILE and "safetensors" not in path.name:
            shutil.copyfile(path, folder / path.name)
    if read_model(folder).sha256() != edited.sha256():
        raise InputError(folder, f"is not read back as the edited model; {canonical_json({'family': family.reads})}")


def _lengthen(tensors: dict[str, Float64Array], name: str, more: Float64Array, axis: int, family: _Neurons) -> None:
    """Put more behind a map or a shift, where there is one."""
    if name in tensors:
        turned = family.transposed and more.ndim == 2
        grown = np.concatenate([tensors[name].T if turned else tensors[name], more], axis=axis)
        tensors[name] = grown.T if turned else grown


def require_proved_weights(folder: Path, edited: str) -> None:
    """Raise `TamperedError` unless a folder holds the model of this hash, and its host loads it in the named type."""
    dtype, stored = stored_dtype(host_config(folder)), read_model(folder)
    for model in (stored, rounded_weights(stored, dtype)):
        if (found := model.sha256()) != edited:
            raise TamperedError(f"{folder} holds another model than the one that is proved: its hash is {found}")


def decoded_by_host(folder: Path, proof: Path) -> str:
    """Return what the first line has to say of how a host decodes what was edited and kept; empty where it takes the
    argmax.

    What the certificate says of that is not a proof, and the files beside the weights may have changed since.

    Args:
        folder: The folder of the host.
        proof: What `byheart edit` wrote into ``proof``.

    Raises:
        FileFormatError: The generation configuration is not readable.
    """
    config, model = host_config(folder), read_model(folder)
    asked = EditRequest.read(proof / CONTEXTS_FILE, d_vocab=model.d_vocab, d_vocab_out=model.d_vocab_out)
    lengths = {len(row) for row in (*asked.contexts, *asked.kept)} | {asked.domain or 1}
    read = {token for row in (*asked.contexts, *asked.kept) for token in row}
    decoded = Decoded([(length, (0,)) for length in lengths], read if asked.domain is None else range(model.d_vocab))
    said = require_greedy(folder, config, decoded, plain_argmax=True), code_not_run(folder, config)
    return "; ".join(filter(None, said))


def _layers(tensors: Mapping[str, Float64Array], family: _Neurons) -> list[int]:
    layers = []
    while any(name.endswith(family.reads.format(len(layers)) + ".weight") for name in tensors):
        layers.append(len(layers))
    return layers


def _named(tensors: Mapping[str, Float64Array], ending: str) -> str:
    """Return the name of a map with whatever the host puts before it."""
    [name] = [name for name in tensors if name.endswith(f"{ending}.weight")]
    return name.removesuffix(".weight")
