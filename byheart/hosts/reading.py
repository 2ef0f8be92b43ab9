"""Models of other people, read from their files into ours: every number exactly, every option from a configuration.

Nothing about a model is guessed: which function the tensors make (the scale of the scores, the activation, the epsilon
of a normalization) has to be said by a configuration, and a tensor that belongs to no block is refused.

Page: docs/hosts.md
"""

import json
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byheart.hosts.boxes import PICKLED, of_archive, of_graph, shortened, unpickled, without_wrappers
from byheart.hosts.exported import huggingface, transformer_lens
from byheart.hosts.exported.safetensors_file import METADATA
from byheart.hosts.families import FAMILIES, gpt2, is_of_transformer_lens
from byheart.hosts.families.checkpoint import BUFFERS
from byheart.hosts.families.known_options import UnknownFieldError, require_known_options
from byheart.hosts.gguf_file import SUFFIX as GGUF
from byheart.hosts.gguf_file import GGUFFile
from byheart.hosts.host import CONFIG_FILE, INDEX_FILE, WEIGHTS_FILE
from byheart.hosts.number_types import read_tensors, rounded_to
from constructions.errors import FileFormatError, InputError
from constructions.formats.files import canonical_json, json_object
from constructions.model.model import FORMAT, VERSION, Model, assembled
from constructions.numeric.arrays import Float64Array

_ARCHIVE, _GRAPH = ".npz", ".onnx"
_PICKLED_FILE, _PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
_INDEX = ".index.json"
_UNREAD = (".h5", ".msgpack", ".safetensors", _INDEX)
_ADAPTER = "adapter_config.json"


class Weights(NamedTuple):
    """A model that was read from a file.

    Args:
        model: The model.
        tensors: By the names of the configuration, where the file has others or holds more; none elsewhere.
        said: A sentence on names that were read otherwise than they are stored; empty if there are none.
    """

    model: Model
    tensors: Mapping[str, Any] | None
    said: str


def read_model(
    path: Path | str,
    *,
    config: Mapping[str, Any] | Path | str | None = None,
    ignored: Collection[str] = (),
    key: str | None = None,
) -> Model:
    """Read a model from a file or a folder of somebody else's, or of ours.

    - a folder with ``config.json`` and ``model.safetensors`` or ``pytorch_model.bin``, or its parts with their index:
      of Hugging Face's GPT-2 or another family of `FAMILIES`, of TransformerLens (its configuration as JSON), or one
      that `export` wrote for Hugging Face, TransformerLens or as safetensors;
    - a file of safetensors, an ``.npz`` of NumPy, the initializers of a graph of ONNX (needs onnx), or a state
      dictionary (``.pt``, ``.pth``, ``.bin``, ``.ckpt``; needs torch), with a ``config.json`` next to it or `config`;
    - a file of GGUF, which has its configuration in it (`byheart.hosts.gguf_file`).

    Args:
        path: The file or folder.
        config: The configuration, or its file, if it is not next to the weights.
        ignored: As for `model_of`.
        key: Under which key of the dictionary in a file the tensors are; by default they are that dictionary.

    Returns:
        The model, whose float64 tensors hold the numbers of the file exactly, whatever their type.

    Raises:
        FileFormatError: A file is missing, damaged, or holds types of tensors that are not read.
        InputError: No configuration, one of another kind of model, or tensors that it does not name.
    """
    return read_weights(path, config=config, ignored=ignored, key=key).model


def read_weights(
    path: Path | str,
    *,
    config: Mapping[str, Any] | Path | str | None = None,
    ignored: Collection[str] = (),
    key: str | None = None,
) -> Weights:
    """Return the same, with what was done to the names of the tensors: a prefix that all have may be one of a
    wrapper.
    """
    weights, tensors, texts = _stored(Path(path), key)
    if config is None and METADATA in texts and not ignored:
        record, beside = _record(weights, texts), weights.with_name(CONFIG_FILE)
        if beside.is_file() and canonical_json(_configuration(weights, None)) != canonical_json(record):
            raise InputError(f"the header of {weights} and {beside}", "differ", "one of them, or config")
        return Weights(_of_record(weights, record, tensors), None, "")
    options = _configuration(weights, config)
    plain, wrapper_note = without_wrappers({name: tensor for name, tensor in tensors.items() if not _is_buffer(name)})
    kept = plain if wrapper_note or key is not None else None
    try:
        return Weights(model_of(plain, options, ignored=ignored), kept, wrapper_note)
    except InputError as error:
        for prefix in shortened(plain):
            cut = {name.removeprefix(prefix): tensor for name, tensor in plain.items()}
            try:
                model = model_of(cut, options, ignored=ignored)
            except InputError:
                continue
            word = f"names without {prefix!r}, with which all of them begin"
            return Weights(model, cut, f"{wrapper_note}; {word}" if wrapper_note else word)
        if is_gguf(weights) and error.argument != "ignore_field":  # configuration and tensors are both of this file
            raise InputError(f"{weights}: {error.argument}", error.value, error.expected) from error
        raise


def configuration_of(path: Path | str, config: Mapping[str, Any] | Path | str | None = None) -> Mapping[str, Any]:
    """Return the configuration of a model from a file or next to its weights; empty if there is none."""
    if isinstance(config, Mapping):
        return config
    if config is None and is_gguf(path):
        return GGUFFile.read(Path(path)).configuration()
    beside = Path(path) if Path(path).is_dir() else Path(path).parent
    config_path = beside / CONFIG_FILE if config is None else Path(config)
    return _configuration(beside / WEIGHTS_FILE, config_path) if config_path.is_file() else {}


def is_gguf(path: Path | str) -> bool:
    """Tell whether a path names a GGUF file."""
    return Path(path).suffix == GGUF and not Path(path).is_dir()


def require_exact_in(path: Path, dtype: str, who: str, *, expected: str) -> None:
    """Refuse weights that are rounded when they are loaded: people run other numbers than those of the file.

    Args:
        path: The folder or file of a model.
        dtype: The type that they are loaded in.
        who: The place that names the type, for the message.
        expected: The expected input, for the message.

    Raises:
        InputError: The type cannot represent a number of the file; names the tensor.
    """
    for name, tensor in tensors_of(path).items():
        try:
            exact = np.array_equal(rounded_to(name, tensor, dtype), tensor)
        except InputError:  # beyond the range of the type
            exact = False
        if not exact:
            raise InputError(who, f"is {dtype}, and the file has numbers in {name} that it rounds", expected)


def tensors_of(source: Mapping[str, Any] | Path | str, key: str | None = None) -> dict[str, Float64Array]:
    """Return the numbers of a file, of a folder's, or of tensors by name, exactly; without masks and constants.

    Args:
        source: As for `read_model` or `model_of`.
        key: As for `read_model`.

    Raises:
        FileFormatError: A file is missing or damaged.
        InputError: A tensor of another type, or a key of what is no dictionary of torch.
    """
    if isinstance(source, Mapping):
        return {name: as_float64(name, tensor) for name, tensor in source.items() if not _is_buffer(name)}
    tensors, exact = _stored(Path(source), key)[1], dict[str, Float64Array]()
    for name in [tensor_name for tensor_name in tensors if not _is_buffer(tensor_name)]:
        exact[name] = as_float64(name, tensors.pop(name))  # one after the other: a language model is large
    return exact


def _stored(path: Path, key: str | None = None) -> tuple[Path, dict[str, Any], dict[str, str]]:
    """Return the weights file, its tensors and its header texts."""
    weights = _file_of(path)
    if key is not None and weights.suffix not in PICKLED:
        raise InputError("key", f"= {key!r} is given, but {weights} holds no dictionary of torch")
    if weights.name.endswith(_INDEX):
        return weights, _of_shards(weights), {}
    if is_gguf(weights):
        return weights, GGUFFile.read(weights).tensors(), {}
    if weights.suffix in PICKLED:
        return weights, unpickled(weights, key), {}
    if weights.suffix == _ARCHIVE:
        return weights, of_archive(weights), {}
    if weights.suffix == _GRAPH:
        return weights, of_graph(weights), {}
    return weights, *read_tensors(weights, but=_is_buffer)


def _file_of(path: Path) -> Path:
    """Return the file of weights in a folder, or the file itself."""
    if not path.exists():
        raise InputError(path, "does not exist", "the folder or the file of a model")
    if not path.is_dir():
        return path
    if (path / _ADAPTER).is_file():
        raise InputError(
            path, f"has an adapter ({_ADAPTER}), which changes its weights", "a folder into which it is merged"
        )
    for name in (WEIGHTS_FILE, INDEX_FILE, _PICKLED_FILE, _PICKLED_INDEX):  # in this order its library looks for them
        if (path / name).is_file():
            return path / name
    raise FileFormatError(f"{path} has no {WEIGHTS_FILE}, and no {INDEX_FILE}{_hint(path)}")


def _hint(folder: Path) -> str:
    """Describe the unreadable files in a folder, and what to do."""
    names = sorted(path.name for path in folder.iterdir())
    if pickled := [name for name in names if name.endswith((*PICKLED, _ARCHIVE))]:
        return f"; it has {pickled[0]}: save_pretrained writes the other, or give that file"
    if files := [name for name in names if name.endswith((GGUF, _GRAPH))]:
        return f"; it has {files[0]}: give that file"
    if other := [name for name in names if name.endswith(_UNREAD)]:
        return f"; it has {other[0]}, which is not read: load it in the program it is for, and save_pretrained"
    return ""


def _of_shards(index: Path) -> dict[str, Any]:
    """Return the tensors of the files that an index names, each in the one that it says, and no others."""
    try:
        files = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        plain = all(isinstance(name, str) and isinstance(file, str) for name, file in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{index} has no weight_map: {error}") from error
    if not plain or any(Path(file).name != file for file in files.values()):
        raise FileFormatError(f"{index} names tensors or files that are not in its folder")
    tensors: dict[str, Any] = {}
    for file in sorted(set(files.values())):
        part = index.with_name(file)
        if not part.is_file():
            raise FileFormatError(f"{index} names {file}, which is not there")
        if part.suffix in PICKLED:
            shard = {name: tensor for name, tensor in unpickled(part).items() if not _is_buffer(name)}
        else:
            shard = read_tensors(part, but=_is_buffer)[0]
        wanted = {name for name, of in files.items() if of == file and not _is_buffer(name)}
        if wrong := sorted(wanted ^ set(shard)):
            where = "is not in" if wrong[0] in wanted else "is only in"
            raise FileFormatError(f"{index}: {wrong[0]} {where} {file}, against its weight_map")
        tensors |= shard
    return tensors


def model_of(tensors: Mapping[str, Any], config: Mapping[str, Any], *, ignored: Collection[str] = ()) -> Model:
    """Return a model of tensors by name, and of the configuration that says what they compute.

    Args:
        tensors: Arrays or torch tensors of a floating-point type, by the names that the configuration implies.
        config: A configuration of a family of Hugging Face, of TransformerLens, or `Model.options`.
        ignored: Fields of it that are not known here, and that somebody else has to say nothing depends on.

    Returns:
        The model.

    Raises:
        InputError: A configuration of another kind of model, a tensor that is missing, or one that it does not name.

    Example:
        >>> one = np.ones((1, 1))
        >>> model = Model(blocks=(), W_U=one, W_E=one, W_pos=one)
        >>> model_of(model.tensors(), model.options()).sha256() == model.sha256()
        True
    """
    exact = tensors_of(tensors)
    if ignored:
        try:
            model_of(exact, config)
        except UnknownFieldError as error:
            unknown = error.fields
        else:
            unknown = ()
        if known := sorted(set(ignored) - set(unknown)):
            raise InputError("ignore_field", f"= {known[0]!r}", f"a field that is not known here: {list(unknown)}")
        config = {name: value for name, value in config.items() if name not in ignored}
    try:
        kind = config.get("model_type")
        if kind is not None and not isinstance(kind, str):
            raise InputError("model_type", f"is {kind!r}", "a name")
        if kind == "gpt2":
            return gpt2.model_of(exact, config)
        if kind in FAMILIES:
            return import_module(f"byheart.hosts.families.{FAMILIES[kind]}").model_of(exact, config)
        if is_of_transformer_lens(config):
            return transformer_lens.model_of(exact, config)
        if "blocks" in config:
            read = huggingface.model_of if config.get("model_type") == "byheart" else _of_options
            model = read(exact, config)
            if unknown := sorted(set(exact) - set(model.tensors())):
                raise InputError(f"the tensors {', '.join(unknown[:4])} ({len(unknown)} in all)", "belong to no block")
            return model
    except InputError:
        raise
    except KeyError as error:
        raise InputError("the model", f"has no {error}, which its configuration asks for") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError("the configuration and the tensors", f"make no model: {error}") from error
    if "model_type" in config:
        raise InputError("model_type", f"is {kind!r}", f"one of {', '.join(['gpt2', *sorted(FAMILIES), 'byheart'])}")
    raise InputError(
        "the configuration",
        f"has the fields {sorted(config)[:8]}",
        "one of TransformerLens (d_head, ...), of Hugging Face (model_type), or of byheart (blocks)",
    )


def stored_as_linear(config: Mapping[str, Any], name: str) -> bool:
    """Tell whether a configuration's library stores a map as [out, in], as torch's own linear maps have it.

    Args:
        config: The configuration.
        name: Name of the tensor.

    Example:
        >>> [stored_as_linear({"model_type": kind}, "lm_head.weight") for kind in ("gpt2", "llama", "byheart")]
        [True, True, False]
        >>> stored_as_linear({"model_type": "gpt2"}, "h.0.mlp.c_fc.weight")
        False
    """
    kind = config.get("model_type")
    return kind in FAMILIES or (kind == "gpt2" and name.endswith("lm_head.weight"))


def as_float64(name: str, tensor: Any) -> Float64Array:
    """Return the numbers of a tensor, exactly.

    Args:
        name: Name of the tensor, for the message.
        tensor: An array or a torch tensor of a floating-point type of at most 64 bits.

    Returns:
        Float64.

    Raises:
        InputError: Another type.

    Example:
        >>> as_float64("A", np.float32([0.1])).tolist()
        [0.10000000149011612]
    """
    if hasattr(tensor, "detach"):
        if not tensor.dtype.is_floating_point:
            raise InputError(name, f"has the type {tensor.dtype}", "a floating-point type")
        if tensor.is_meta or str(tensor.layout) != "torch.strided":
            raise InputError(
                name,
                "has no numbers" if tensor.is_meta else f"is stored as {tensor.layout}",
                "plain numbers (to_dense())",
            )
        return tensor.detach().double().cpu().numpy()
    if np.ma.isMaskedArray(tensor):
        raise InputError(name, "is a masked array", "numbers without a mask: which of them count?")
    array = np.asarray(tensor)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(name, f"has the type {array.dtype}", "a floating-point type of at most 64 bits")
    return array.astype(np.float64, copy=False)  # a model copies what it keeps


def _is_buffer(name: str) -> bool:
    """Tell whether a tensor is a mask or constant that libraries store with the weights but compute themselves."""
    of_lens = (".attn.mask", ".attn.IGNORE", ".attn.rotary_sin", ".attn.rotary_cos")
    return gpt2.is_mask(name) or name.endswith((*BUFFERS, *of_lens))


def _of_options(tensors: dict[str, Float64Array], options: Mapping[str, Any]) -> Model:
    model = assembled(dict(options), tensors)
    expected = {"format": FORMAT, "version": VERSION, **model.options()}
    require_known_options(options, read=expected, unread=(), only={})
    for name in options:
        if canonical_json(options[name]) != canonical_json(expected[name]):  # as texts, for 1 == 1.0 == True
            raise InputError(name, f"is {options[name]}", f"{expected[name]}, the size of the tensors")
    return model


def _record(path: Path, texts: Mapping[str, str]) -> Any:
    try:
        return json.loads(texts[METADATA])
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a readable model: {error}") from error


def _of_record(path: Path, record: Any, tensors: dict[str, Float64Array]) -> Model:
    try:
        return model_of(tensors, record)
    except (ValueError, AttributeError, RecursionError) as error:  # InputError is a ValueError
        raise FileFormatError(f"{path} is not a readable model: {error}") from error


def _configuration(weights: Path, config: Mapping[str, Any] | Path | str | None) -> Mapping[str, Any]:
    if isinstance(config, Mapping):
        return config
    if config is None and is_gguf(weights):
        return GGUFFile.read(weights).configuration()
    path = weights.with_name(CONFIG_FILE) if config is None else Path(config)
    if not path.is_file():
        raise InputError(path, "is not a file", f"the configuration that says what the tensors of {weights} compute")
    return json_object(path, "an object with the options of a model")
