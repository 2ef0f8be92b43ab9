"""Read the model to certify, and the host that can confirm it.

Page: docs/hosts.md
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from byheart.hosts.handshake import require_plain_parameters
from byheart.hosts.number_types import DTYPES
from byheart.hosts.reading import configuration_of, model_of, read_weights, require_exact_in, stored_as_linear
from constructions.errors import InputError
from constructions.model.model import Model


class Given(NamedTuple):
    """A model to certify.

    Args:
        model: The model that was read from it.
        asked: What can be asked whether it is that: a file, a module, or tensors by the names of its library.
        config: With which configuration it is asked, where that is not next to it.
        options: The configuration.
        said: A sentence on tensors whose names were read otherwise than they are stored; empty if there are none.
    """

    model: Model
    asked: Any
    config: Any
    options: Mapping[str, Any]
    said: str = ""


def read_given(
    source: Any,
    config: Any,
    names: Mapping[str, str] | None,
    key: str | None,
    ignored: Sequence[str],
    handshake: bool,
) -> Given:
    """Return the model, the host that can confirm it, and its configuration.

    Args:
        source: A file, a folder, a `Model`, a `torch.nn.Module`, or tensors by name.
        config: What the tensors compute, where nothing next to them says so.
        names: The name of each tensor in a module.
        key: Where the tensors are in a file of torch that holds a dictionary.
        ignored: Fields of the configuration that are passed over.
        handshake: Whether the library that runs the model is asked.

    Raises:
        InputError: A model of another kind; says what is missing.
        FileFormatError: A file is missing or damaged.
    """
    if ignored and not handshake:
        raise InputError(
            "ignore_field", f"= {ignored[0]!r} is given, but without a handshake its effect is not checked"
        )
    if key is not None and not isinstance(source, Path | str):
        raise InputError("key", f"= {key!r} is given, but no file")
    if isinstance(source, Model):
        return Given(source, source, config, {})
    if isinstance(source, Path | str):
        if names is not None:
            raise InputError("names", f"are given, but {source} is a file, whose configuration names its tensors")
        read, options = read_weights(source, config=config, ignored=ignored, key=key), configuration_of(source, config)
        if read.tensors is not None:
            return Given(read.model, read.tensors, options, options, read.said)
        _require_loaded_exactly(Path(source), options)
        return Given(read.model, source, config, options)
    of_module = hasattr(source, "named_modules")
    if of_module:
        require_plain_parameters(source)
    tensors = source.state_dict() if hasattr(source, "state_dict") else source
    own = getattr(source, "config", getattr(source, "cfg", None)) if config is None else config
    config = own.to_dict() if own is not None and hasattr(own, "to_dict") else config
    if not isinstance(tensors, Mapping):
        raise InputError("source", f"is {type(source).__name__}", "a path, a Model, a module or tensors by name")
    if not isinstance(config, Mapping):
        raise InputError("config", "is missing", "what the tensors compute (docs/hosts.md)")
    if names is not None:
        if missing := sorted(set(names.values()) - set(tensors)):
            raise InputError("names", f"has {missing[0]!r}, which is not a tensor of the {len(tensors)} that are given")
        parameters = {name for name, _ in source.named_parameters()} if of_module else tensors
        if left := sorted(set(parameters) - set(names.values())):
            raise InputError("names", f"leaves out the tensors {', '.join(left[:4])} ({len(left)} in all)")
        buffers = [name for name, buffer in source.named_buffers() if buffer.is_floating_point()] if of_module else []
        if not handshake and (left := sorted(set(buffers) - set(names.values()))):
            raise InputError(
                "names", f"leaves out the buffer {left[0]}, and without a handshake its effect is not checked"
            )
        linear = _linear_maps(source) if of_module else set()
        tensors = {
            ours: tensors[theirs].T if theirs in linear and not stored_as_linear(config, ours) else tensors[theirs]
            for ours, theirs in names.items()
        }
    return Given(model_of(tensors, config, ignored=ignored), source if of_module else tensors, config, config)


def _require_loaded_exactly(path: Path, options: Mapping[str, Any]) -> None:
    """Refuse a configuration that names a shorter type than that of the stored weights."""
    for name in ("dtype", "torch_dtype"):
        if options.get(name) is not None:
            dtype = str(options[name]).removeprefix("torch.")
            if dtype not in DTYPES:
                raise InputError(f"{name} of the configuration", f"is {options[name]!r}", f"one of {', '.join(DTYPES)}")
            require_exact_in(
                path, dtype, f"{name} of the configuration",
                expected="weights of that type, or a configuration with the type of the file (--config FILE): the "
                "library rounds the weights when it loads them",
            )  # fmt: skip
            return


def _linear_maps(module: Any) -> set[str]:
    """Return the weights of linear maps, which torch stores as [out, in]."""
    from torch.nn import Linear

    return {f"{place}.weight".lstrip(".") for place, part in module.named_modules() if isinstance(part, Linear)}
