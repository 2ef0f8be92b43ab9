"""Read files with size limits, each in the only form that byheart writes, so that a file has one meaning.

A JSON text is read only if it is the canonical text of what it says. A tensor takes exactly the bytes that its shape
asks for, so that no file makes its reader take more memory than a small multiple of its own size.

Page: docs/rigour/kernel.md
"""

import hashlib
import json
import math
import os
import stat
import sys
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from verify.kernel.verdicts import BadInputError

LARGEST_CERTIFICATE = 2**24  # bytes
_LARGEST_FILE = 2**34  # bytes
_LARGEST_HEADER = 2**26  # bytes
_LARGEST_BESIDE_0 = 2**10  # a size that a tensor without numbers may have in a file of few numbers
_DEEPEST = 32  # braces and brackets within each other
_METADATA = "byheart"
_TYPES = {"F64": "d", "I64": "q"}


@dataclass(frozen=True)
class Tensor:
    """Numbers of a file in C order: floats, all finite, or integers of 64 bits."""

    shape: tuple[int, ...]
    values: array

    def row(self, i: int) -> array:
        """Return row `i` of a matrix; leading axes are flattened."""
        width = math.prod(self.shape[1:])
        return self.values[i * width : (i + 1) * width]


def read_bytes(folder: Path, name: str, most: int = _LARGEST_FILE) -> bytes:
    """Return the bytes of a regular file of the folder: no pipe or device, which might never end."""
    path = folder / name
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise BadInputError(name, "the file", "is not a regular one")
        if status.st_size > most:
            raise BadInputError(name, "the file", f"has {status.st_size} bytes, at most {most} are read")
        with path.open("rb") as file:
            data = file.read(status.st_size + 1)
    except OSError as error:
        raise BadInputError(name, "the file", f"cannot be read: {error.strerror}") from error
    if len(data) != status.st_size:
        raise BadInputError(name, "the file", "changes while it is read")
    return data


def parse_json(file: str, field: str, text: str) -> Any:
    """Parse JSON with integers and texts, no repeated name in an object, and nesting of at most 32."""

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise ValueError("a name stands twice in an object")
        return fields

    def refuse(number: str) -> Any:
        raise ValueError(f"the number {number[:40]} is not an integer")

    def integer_of(digits: str) -> int:
        return refuse(digits) if digits == "-0" else int(digits)  # the same number as 0 in another form

    try:
        hooks = {"parse_int": integer_of, "parse_float": refuse, "parse_constant": refuse}
        value = json.loads(text, object_pairs_hook=object_of, **hooks)
    except (ValueError, RecursionError) as error:
        raise BadInputError(file, field, f"cannot be read as JSON: {error}") from error
    if _depth(value) > _DEEPEST:
        raise BadInputError(file, field, f"is nested more than {_DEEPEST} deep")
    return value


def _depth(value: Any) -> int:
    """Return how deep objects and lists are nested, examining one layer after another."""
    depth, layer = 0, [value]
    while layer and depth <= _DEEPEST:
        depth, inner = depth + 1, []
        for item in layer:
            inner.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        layer = inner
    return depth


def canonical(value: Any) -> str:
    """Return the canonical JSON text of a value: names sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def require_fields(file: str, field: str, value: Any, needed: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Require that `value` is an object with all the needed names and no others except the optional ones."""
    if not isinstance(value, dict):
        raise BadInputError(file, field, f"is {str(value)[:60]!r}, expected an object")
    missing, unknown = set(needed) - set(value), set(value) - set(needed) - set(optional)
    if missing or unknown:
        which = f"has no {min(missing)!r}" if missing else f"has the unknown name {min(unknown)[:60]!r}"
        raise BadInputError(file, field, which)


def read_tensors(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read a safetensors file: its header words, which are canonical JSON, and its tensors, which cover all of its
    bytes.
    """
    data = read_bytes(folder, name)
    start = 8 + int.from_bytes(data[:8], "little")
    if len(data) < 8 or not start <= min(len(data), 8 + _LARGEST_HEADER):
        raise BadInputError(name, "the header", "is longer than the file, or than what is read")
    try:
        text = data[8:start].decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInputError(name, "the header", "is not UTF-8") from error
    header = parse_json(name, "the header", text)
    if not text.startswith("{"):
        raise BadInputError(name, "the header", "does not begin with a brace")
    words = _words(name, header.pop("__metadata__", None))
    body = memoryview(data)[start:]
    tensors = {tensor_name: _tensor(name, tensor_name, entry, body) for tensor_name, entry in header.items()}
    spans = sorted(entry["data_offsets"] for entry in header.values())
    ends = [0, *(stop for _, stop in spans)]
    if [list(tensor_name) for tensor_name in pairwise(ends)] != spans or ends[-1] != len(body):
        raise BadInputError(name, "data_offsets", "leave gaps, overlap, or do not end with the file")
    return words, tensors


def _words(name: str, metadata: Any) -> dict[str, Any]:
    """Return the object whose canonical text is in the header."""
    require_fields(name, "__metadata__", metadata, [_METADATA])
    text = metadata[_METADATA]
    if not isinstance(text, str):
        raise BadInputError(name, f"__metadata__.{_METADATA}", "is not a text")
    words = parse_json(name, f"__metadata__.{_METADATA}", text)
    if not isinstance(words, dict) or canonical(words) != text:
        raise BadInputError(name, f"__metadata__.{_METADATA}", "is not the canonical text of an object")
    return words


def _tensor(file: str, name: str, entry: Any, body: memoryview) -> Tensor:
    require_fields(file, name[:60], entry, ["dtype", "shape", "data_offsets"])
    shape, offsets, dtype = entry["shape"], entry["data_offsets"], entry["dtype"]
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise BadInputError(file, f"{name[:60]}.dtype", f"is {str(dtype)[:20]!r}, expected one of {list(_TYPES)}")
    most = max(_LARGEST_BESIDE_0, len(body) // 8)  # of a size beside one of 0 too, where nothing else bounds it
    if not _are_sizes(shape, most) or len(shape) > 3:
        expected = f"expected at most three sizes up to {most}"
        raise BadInputError(file, f"{name[:60]}.shape", f"is {str(shape)[:60]}, {expected}")
    if not _are_sizes(offsets, len(body)) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise BadInputError(file, f"{name[:60]}.data_offsets", f"are {str(offsets)[:60]}, expected a part of the file")
    if offsets[1] - offsets[0] != 8 * math.prod(shape):
        raise BadInputError(file, f"{name[:60]}.shape", f"is {shape}, for {offsets[1] - offsets[0]} bytes")
    values = array(_TYPES[dtype])
    values.frombytes(body[offsets[0] : offsets[1]])
    if sys.byteorder == "big":
        values.byteswap()
    if dtype == "F64" and not all(map(math.isfinite, values)):
        raise BadInputError(file, name[:60], "holds a NaN or an infinity")
    return Tensor(tuple(shape), values)


def _are_sizes(values: Any, most: int) -> bool:
    return isinstance(values, list) and all(type(n) is int and 0 <= n <= most for n in values)


def sha256_of(words: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Return the hash of words and tensors, in this order, as used in certificates."""
    digest = hashlib.sha256(canonical(words).encode("ascii"))
    for name, tensor in tensors.items():
        values = tensor.values
        if sys.byteorder == "big":
            values = array(values.typecode, values)
            values.byteswap()
        digest.update(f"{name}:{','.join(map(str, tensor.shape))};".encode("ascii") + values.tobytes())
    return digest.hexdigest()
