"""Tensors by name in the boxes that people keep them in: dictionaries in dictionaries, parts, prefixes of wrappers.

Page: docs/hosts.md
"""

import pickle
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from byheart.hosts.host import said_by
from constructions.errors import FileFormatError, InputError

T = TypeVar("T")

PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
"""How files end that torch reads as pickles, of which nothing is run."""

_PREFIXES = {"_orig_mod.": "torch.compile", "module.": "DataParallel"}


def unpickled(path: Path, key: str | None = None) -> dict[str, Any]:
    """Read a state dictionary from a torch file without running code in it.

    Args:
        path: The file.
        key: Under which key of the dictionary in the file the tensors are; by default they are that dictionary.

    Raises:
        InputError: There is no torch, no such key, or a key is needed; names those that hold tensors.
        FileFormatError: The file is damaged, or holds what is not a number or text.
    """
    try:
        import torch
    except ImportError:
        raise InputError(path, "needs torch to be read; `pip install 'byheart[torch]'` brings it") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about how the file is pickled
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        named = re.search(r"GLOBAL ([\w.]+)", str(error))
        what = f", {named[1]}" if named else ""
        raise FileFormatError(
            f"{path} holds more than numbers and containers{what}, and nothing in it is run: load it in the program "
            "that it is of, and save the state_dict() of the module"
        ) from error
    except Exception as error:  # torch has no common class for what it raises on damaged files
        said = said_by(error).split(". ")[0]
        raise FileFormatError(f"{path} is not a readable state dictionary: {said}") from error
    if key is not None:
        if (box := _opened(content, key)) is None:
            raise InputError("key", f"= {key!r} holds no tensors by name; {path} holds {_contents(content)}")
        return dict(box)
    if not _is_state(content):
        raise FileFormatError(
            f"{path} holds {_contents(content)}, expected a dictionary of tensors, as state_dict() gives"
        )
    return dict(content)


def of_archive(path: Path) -> dict[str, Any]:
    """Return the arrays of a NumPy archive by name, without running code in it.

    Raises:
        FileFormatError: It is none, or holds objects.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"{path} is not a readable archive of numbers: {said_by(error)}") from error


def of_graph(path: Path) -> dict[str, Any]:
    """Return the floating-point initializers of an ONNX graph by name, including those in external files.

    What the graph computes with them is not looked at: the configuration says what the tensors make.

    Raises:
        InputError: There is no onnx.
        FileFormatError: The file is damaged, or a name occurs twice.
    """
    try:
        import onnx  # pyright: ignore[reportMissingImports]
        from onnx import numpy_helper  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError(path, "needs onnx to be read; `pip install 'byheart[onnx]'` brings it") from None
    floating = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    tensors: dict[str, Any] = {}
    try:
        for initializer in onnx.load(path).graph.initializer:
            if initializer.data_type not in floating:
                continue  # shapes and places
            if initializer.name in tensors:
                raise FileFormatError(f"{path} has the initializer {initializer.name!r} twice")
            array = numpy_helper.to_array(initializer)
            is_short = initializer.data_type == onnx.TensorProto.BFLOAT16
            tensors[initializer.name] = array.astype(np.float32) if is_short else array
    except FileFormatError:
        raise
    except Exception as error:  # onnx and protobuf have no common class for what they raise on damaged files
        raise FileFormatError(f"{path} is not a readable graph of ONNX: {said_by(error)}") from error
    if not tensors:
        raise FileFormatError(f"{path} has no initializers of a floating-point type, expected the weights of a model")
    return tensors


def _is_state(found: Any) -> bool:
    return isinstance(found, dict) and bool(found) and all(hasattr(tensor, "detach") for tensor in found.values())


def _opened(found: Any, key: str) -> dict[str, Any] | None:
    """Return the tensors under a key, or under keys of boxes in boxes with dots between; none if there are none."""
    if not isinstance(found, dict):
        return None
    if _is_state(found.get(key)):
        return found[key]
    first, _, rest = key.partition(".")
    return _opened(found.get(first), rest) if rest else None


def _boxes(found: dict[Any, Any], depth: int = 3) -> list[str]:
    """Return the keys under which `_opened` finds tensors, of boxes in boxes."""
    keys: list[str] = []
    for key, value in found.items():
        if isinstance(key, str) and _is_state(value):
            keys.append(key)
        elif isinstance(key, str) and isinstance(value, dict) and depth > 1:
            keys += [f"{key}.{inner}" for inner in _boxes(value, depth - 1)]
    return keys


def _contents(found: Any) -> str:
    """Describe a file that does not hold named tensors: its content, and the place of the tensors in it."""
    if not isinstance(found, dict):
        return type(found).__name__
    keys = ", ".join(map(repr, list(found)[:6])) + (", ..." if len(found) > 6 else "")
    if not (boxes := _boxes(found)):
        strange = next((key for key, value in found.items() if not hasattr(value, "detach")), None)
        rest = "" if strange is None else f", of which {strange!r} is {type(found[strange]).__name__}"
        return f"a dictionary with the keys {keys or 'of nothing'}{rest}"
    hold = "holds" if len(boxes) == 1 else "hold"
    return (
        f"a dictionary with the keys {keys}, of which {' and '.join(map(repr, boxes))} {hold} tensors by name "
        f"(--key {boxes[0]})"
    )


def without_wrappers(tensors: Mapping[str, T]) -> tuple[dict[str, T], str]:
    """Return the tensors without the name prefixes that wrappers add, and a note about them.

    Args:
        tensors: By name.

    Example:
        >>> without_wrappers({"module._orig_mod.a": 1, "module._orig_mod.b": 2})
        ({'a': 1, 'b': 2}, "names without 'module._orig_mod.', as DataParallel and torch.compile put there")
    """
    left, cut, who = dict(tensors), "", list[str]()
    while prefix_found := next(
        (prefix for prefix in _PREFIXES if left and all(x.startswith(prefix) for x in left)), None
    ):
        left = {name.removeprefix(prefix_found): value for name, value in left.items()}
        cut += prefix_found
        who.append(_PREFIXES[prefix_found])
    return left, f"names without {cut!r}, as {' and '.join(who)} put there" if cut else ""


def shortened(names: Collection[str]) -> Iterator[str]:
    """Yield the prefixes, up to a dot, that all names have, the shortest first.

    Example:
        >>> list(shortened(["net.model.a.w", "net.model.b"]))
        ['net.', 'net.model.']
    """
    parts = min(names, key=lambda name: name.count("."), default="").split(".")[:-1]
    for count in range(1, len(parts) + 1):
        prefix = ".".join(parts[:count]) + "."
        if not all(name.startswith(prefix) for name in names):
            return
        yield prefix
