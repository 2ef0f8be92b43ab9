"""Arrays and tensors as files hold them, read and hashed by the standard library alone.

Only the one form that byheart writes is accepted, so that a file has one meaning to every reader; every array has the
bytes that its shape asks for, so no file can make its reader take more memory than its own size.

Page: docs/rigour/certificate.md
"""

import json
import math
import sys
from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError
from constructions.files import canonical_json, read_regular_file

_LARGEST_HEADER = 2**26  # bytes
_LARGEST_DIMENSION = 2**31
_METADATA_KEY = "byheart"
_TYPECODES = {"I32": "i", "I64": "q", "F64": "d"}


@dataclass(frozen=True)
class PlainArray:
    """The entries of an array in C order, floats or integers."""

    shape: tuple[int, ...]
    values: array

    def row(self, i: int) -> Sequence[Any]:
        width = self.shape[1]
        return self.values[i * width : (i + 1) * width]

    def hashed(self, name: str) -> bytes:
        head = f"{name}:{','.join(map(str, self.shape))};".encode("ascii")
        return head + _little_endian(self.values).tobytes()


def _little_endian(values: Any) -> Any:
    if sys.byteorder == "little":
        return values
    swapped = array(values.typecode, values)
    swapped.byteswap()
    return swapped


def _entries(path: Path, name: str, typecode: str, data: bytes) -> Any:
    values = array(typecode)
    values.frombytes(data)
    values = _little_endian(values)
    if typecode == "d" and not all(map(math.isfinite, values)):
        raise FileFormatError(f"{path}: {name} holds a NaN or an infinity")
    return values


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Whatever a hostile file makes the readers of JSON and text raise, it is the file that is wrong."""
    try:
        yield
    except FileFormatError:
        raise
    except Exception as error:
        raise FileFormatError(f"{path} is not a readable {kind}: {type(error).__name__}: {error}") from error


def read_safetensors(path: Path, dtypes: Collection[str] = ("F64",)) -> tuple[Any, dict[str, PlainArray]]:
    """What a safetensors file of these types says about itself, in the one canonical text, and its tensors by name.

    Raises:
        Exception: Whatever a hostile file makes the readers of JSON and text raise; callers are within `reading`.
    """
    data = read_regular_file(path)
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_LARGEST_HEADER, len(data) - 8):
        raise FileFormatError(f"{path} is not a readable file: its header is cut off")
    text = data[8 : 8 + size].decode("utf-8")
    if not text.startswith("{"):
        raise FileFormatError(f"{path} is not a readable file: its header does not begin with a brace")
    header = json.loads(text, object_pairs_hook=_no_duplicates, parse_int=_natural)
    metadata = _canonical(path, header.pop("__metadata__", None))
    tensors, spans = {}, []
    for name, entry in header.items():
        if (
            not isinstance(entry, dict)
            or set(entry) != {"dtype", "shape", "data_offsets"}
            or entry["dtype"] not in dtypes
        ):
            raise FileFormatError(f"{path}: {name} is not a tensor of the type {' or '.join(dtypes)}")
        shape = _integers_of(path, name, entry["shape"], range(4), _LARGEST_DIMENSION)
        start, stop = _integers_of(path, name, entry["data_offsets"], range(2, 3), len(data))
        typecode = _TYPECODES[entry["dtype"]]
        if stop - start != array(typecode).itemsize * math.prod(shape) or 8 + size + stop > len(data):
            raise FileFormatError(f"{path}: {name} of shape {list(shape)} does not have the bytes it needs")
        spans.append((start, stop))
        tensors[name] = PlainArray(shape, _entries(path, name, typecode, data[8 + size + start : 8 + size + stop]))
    ends = [0, *sorted(stop for _, stop in spans)]
    if sorted(spans) != sorted(pairwise(ends)) or 8 + size + ends[-1] != len(data):
        raise FileFormatError(f"{path}: the tensors overlap or leave gaps")
    return metadata, tensors


def _canonical(path: Path, metadata: Any) -> Any:
    text = metadata.get(_METADATA_KEY) if isinstance(metadata, dict) and set(metadata) == {_METADATA_KEY} else None
    if not isinstance(text, str):
        raise FileFormatError(f"{path} does not have the metadata that byheart writes")
    value = json.loads(text, object_pairs_hook=_no_duplicates)
    if canonical_json(value) != text:
        raise FileFormatError(f"{path} has metadata that are not the one canonical text of what they say")
    return value


def _natural(digits: str) -> int:
    if not digits.isdigit():  # json takes -0 for a zero
        raise ValueError(f"the number {digits[:60]} is negative")
    return int(digits)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice")
    return result


def _integers_of(path: Path, name: str, value: Any, lengths: range, most: int) -> tuple[int, ...]:
    good = isinstance(value, list) and len(value) in lengths and all(type(x) is int and 0 <= x <= most for x in value)
    if not good:
        raise FileFormatError(f"{path}: {name} has the shape or place {str(value)[:60]}, expected small integers")
    return tuple(value)
