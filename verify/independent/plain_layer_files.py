"""The files of a layer, read and hashed by the standard library alone.

Page: docs/rigour/layer.md
"""

import hashlib
import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from constructions.errors import FileFormatError
from verify.independent.plain_files import PlainArray, metadata_of, read_npz, read_tensors, reading

_OPTIONS = (
    '{"blocks":[{"attends":"last","kind":"attention","norm":null,"queries":"task","score_root":1,"skip":false}],'
    '"input":"vectors"}'
)
_TENSORS = {
    "blocks.0.attn.W_Q": 3,
    "blocks.0.attn.W_K": 3,
    "blocks.0.attn.W_V": 3,
    "blocks.0.attn.W_O": 3,
    "unembed.W_U": 2,
}
_ARRAYS = {"contexts": 3, "queries": 2, "labels": 2}


@dataclass(frozen=True)
class PlainLayer:
    """The five tensors of a layer and their hash."""

    tensors: dict[str, PlainArray]
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "PlainLayer":
        """Read what `constructions.models.model.Model.save` writes.

        Raises:
            FileFormatError: The file is missing or is not such a file.
        """
        with reading(path, "layer"):
            named = read_tensors(path, _TENSORS, metadata_of(_OPTIONS))
            tensors = {name.rpartition(".")[2]: tensor for name, tensor in named.items()}
            tensors["W_D"] = tensors.pop("W_U")
            output = tensors["W_O"]
            tensors["W_O"] = PlainArray((output.shape[0] * output.shape[1], output.shape[2]), output.values)
            heads, d_model, d_head = tensors["W_Q"].shape
            d_value, d_inner = tensors["W_V"].shape[2], tensors["W_O"].shape[1]
            expected = {
                "W_Q": (heads, d_model, d_head),
                "W_K": (heads, d_model, d_head),
                "W_V": (heads, d_model, d_value),
                "W_O": (heads * d_value, d_inner),
                "W_D": (d_inner, tensors["W_D"].shape[1]),
            }
            for name, shape in expected.items():
                if tensors[name].shape != shape or 0 in shape:
                    raise FileFormatError(f"{path}: {name} has shape {tensors[name].shape}, expected {shape}, none 0")
            digest = hashlib.sha256(_OPTIONS.encode("ascii") + b"".join(named[name].hashed(name) for name in _TENSORS))
            return cls(tensors, digest.hexdigest())

    def sizes(self) -> dict[str, int]:
        """The dimensions of the layer by name."""
        heads, d_model, d_head = self.tensors["W_Q"].shape
        return {
            "d_model": d_model,
            "n_heads": heads,
            "d_head": d_head,
            "d_value": self.tensors["W_V"].shape[2],
            "d_inner": self.tensors["W_O"].shape[1],
            "d_out": self.tensors["W_D"].shape[1],
        }


@dataclass(frozen=True)
class PlainLayerTask:
    """The examples of a layer and their hash."""

    kind: str
    contexts: PlainArray
    queries: PlainArray
    labels: PlainArray
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "PlainLayerTask":
        """Read what `constructions.tasks.vectors.VectorTask.save` writes.

        Raises:
            FileFormatError: The file is missing or is not such a file.
        """
        with reading(path, "task of a layer"):
            arrays = read_npz(path)
            if set(arrays) != {"kind", *_ARRAYS}:
                raise FileFormatError(f"{path} is not a task of a layer: it has the arrays {sorted(arrays)}")
            kind = arrays["kind"]
            texts = isinstance(kind.values, list) and kind.shape == ()
            if not texts or kind.values[0] not in ("regression", "classification"):
                raise FileFormatError(f"{path}: kind is not what a task of a layer holds")
            for name, dimensions in _ARRAYS.items():
                found = arrays[name]
                floats = isinstance(found.values, array) and found.values.typecode == "d"
                if not floats or len(found.shape) != dimensions or 0 in found.shape:
                    raise FileFormatError(f"{path}: {name} is not an array of float64 with {dimensions} dimensions")
            contexts, queries, labels = (arrays[name] for name in _ARRAYS)
            size, d_model = queries.shape
            fits = contexts.shape[0] in (1, size) and contexts.shape[2] == d_model and labels.shape[0] == size
            if not fits:
                raise FileFormatError(f"{path}: contexts, queries and labels do not fit each other")
            if kind.values[0] == "classification" and not all(map(_has_one_class, map(labels.row, range(size)))):
                raise FileFormatError(f"{path}: the largest label of an example is not unique")
            text = json.dumps([kind.values[0]], separators=(",", ":"), ensure_ascii=True)
            digest = hashlib.sha256(text.encode("ascii"))
            for name in _ARRAYS:
                digest.update(arrays[name].hashed(name))
            return cls(kind.values[0], contexts, queries, labels, digest.hexdigest())

    def sizes(self) -> dict[str, int]:
        """The dimensions of the task by name."""
        return {
            "n_examples": self.queries.shape[0],
            "n_contexts": self.contexts.shape[0],
            "n_tokens": self.contexts.shape[1],
            "d_model": self.queries.shape[1],
            "d_out": self.labels.shape[1],
        }


def _has_one_class(labels: Sequence[float]) -> bool:
    return len(labels) > 1 and list(labels).count(max(labels)) == 1
