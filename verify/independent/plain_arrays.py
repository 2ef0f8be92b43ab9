"""Arrays and tensors as files hold them, read and hashed by the standard library alone.

Only the one form that byheart writes is accepted, so that a file has one meaning to every reader; every array has the
bytes that its shape asks for, so no file can make its reader take more memory than its own size.

Page: docs/rigour/certificate.md
"""

import json
import math
import re
import sys
import zipfile
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from constructions.errors import FileFormatError
from constructions.files import canonical_json, read_regular_file, require_regular_file

_LARGEST_HEADER = 2**20  # bytes
_LARGEST_DIMENSION = 2**31
_METADATA_KEY = "byheart"
_TYPECODES = {"<i4": "i", "<i8": "q", "<f8": "d"}
_NUMBER = rb"(?:0|[1-9][0-9]{0,14})"
_ARRAY_HEADER = re.compile(
    rb"\{'descr': '(<i4|<i8|<f8|<U[1-9][0-9]{0,8})', 'fortran_order': False, "
    rb"'shape': \(((?:N,|N(?:, N)+)?)\), \} *\n".replace(b"N", _NUMBER)
)


@dataclass(frozen=True)
class PlainArray:
    """The entries of an array in C order: floats, integers or texts."""

    shape: tuple[int, ...]
    values: Sequence[Any]

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
    """Whatever a hostile file makes the readers of zip, JSON and text raise, it is the file that is wrong."""
    try:
        yield
    except FileFormatError:
        raise
    except Exception as error:
        raise FileFormatError(f"{path} is not a readable {kind}: {type(error).__name__}: {error}") from error


def read_safetensors(path: Path) -> tuple[Any, dict[str, PlainArray]]:
    """What a safetensors file of float64 says about itself, in the one canonical text, and its tensors by name.

    Raises:
        Exception: Whatever a hostile file makes the readers of JSON and text raise; callers are within `reading`.
    """
    data = read_regular_file(path)
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_LARGEST_HEADER, len(data) - 8):
        raise FileFormatError(f"{path} is not a readable model: its header is cut off")
    text = data[8 : 8 + size].decode("utf-8")
    if not text.startswith("{"):
        raise FileFormatError(f"{path} is not a readable model: its header does not begin with a brace")
    header = json.loads(text, object_pairs_hook=_no_duplicates, parse_int=_natural)
    metadata = _canonical(path, header.pop("__metadata__", None))
    tensors, spans = {}, []
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"} or entry["dtype"] != "F64":
            raise FileFormatError(f"{path}: {name} is not a tensor of float64")
        shape = _integers_of(path, name, entry["shape"], range(1, 4), _LARGEST_DIMENSION)
        start, stop = _integers_of(path, name, entry["data_offsets"], range(2, 3), len(data))
        if stop - start != 8 * math.prod(shape) or 8 + size + stop > len(data):
            raise FileFormatError(f"{path}: {name} of shape {list(shape)} does not have the bytes it needs")
        spans.append((start, stop))
        tensors[name] = PlainArray(shape, _entries(path, name, "d", data[8 + size + start : 8 + size + stop]))
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


def read_npz(path: Path) -> dict[str, PlainArray]:
    """The arrays of an uncompressed ``.npz``, so that no file can ask for more memory than its own size."""
    with reading(path, ".npz file"):
        require_regular_file(path)
        with path.open("rb") as stream, zipfile.ZipFile(stream) as file:
            members = file.infolist()
            if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
                raise FileFormatError(f"{path} is compressed or encrypted; byheart writes neither")
            if len({member.filename for member in members}) != len(members):
                raise FileFormatError(f"{path} has repeated members")
            if not all(member.filename.endswith(".npy") for member in members):
                raise FileFormatError(f"{path} has members that are no arrays")
            _require_nothing_between(path, file, stream)
            return {m.filename.removesuffix(".npy"): _parse_npy(path, m.filename, file.read(m)) for m in members}


def _require_nothing_between(path: Path, file: zipfile.ZipFile, stream: BinaryIO) -> None:
    """The members follow one another from the first byte to the central directory, and no comment ends the file."""
    end = 0
    for member in sorted(file.infolist(), key=lambda member: member.header_offset):
        if member.header_offset != end or member.orig_filename != member.filename:
            raise FileFormatError(f"{path} has members that overlap, or bytes that belong to none")
        if member.compress_size != member.file_size:
            raise FileFormatError(f"{path} states another size for a member that is stored as it is")
        stream.seek(end)
        local = stream.read(30)
        end += 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little") + member.file_size
    stream.seek(-22, 2)
    last = stream.read(22)
    if end != file.start_dir or last[:4] != b"PK\x05\x06" or last[20:] != b"\0\0":
        raise FileFormatError(f"{path} has bytes that belong to no member")


def _parse_npy(path: Path, name: str, data: bytes) -> PlainArray:
    size = int.from_bytes(data[8:10], "little")
    if data[:8] != b"\x93NUMPY\x01\x00" or 10 + size > len(data):
        raise FileFormatError(f"{path}: {name} is not an array of numpy, of version 1.0 of its format")
    header, body = data[10 : 10 + size], data[10 + size :]
    match = _ARRAY_HEADER.fullmatch(header)
    if match is None:
        raise FileFormatError(
            f"{path}: {name} has the header {header[:80]!r}, expected {list(_TYPECODES)} or '<U..' in C order"
        )
    kind = match[1].decode("ascii")
    shape = tuple(int(number) for number in match[2].split(b",") if number)
    if header != _written(kind, shape):
        raise FileFormatError(f"{path}: {name} has a header that numpy does not write")
    item = (4 if kind[1] == "U" else 1) * int(kind[2:])
    if item * math.prod(shape) != len(body):
        raise FileFormatError(f"{path}: {name} of shape {list(shape)} does not have the bytes it needs")
    if kind[:2] == "<U":
        texts = [body[i * item : (i + 1) * item].decode("utf-32-le") for i in range(math.prod(shape))]
        return PlainArray(shape, [text.rstrip("\0") for text in texts])
    return PlainArray(shape, _entries(path, name, _TYPECODES[kind], body))


def _written(kind: str, shape: tuple[int, ...]) -> bytes:
    """The header of an array as numpy writes it: room for the first dimension to grow, and a whole multiple of 64."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (21 - len(str(shape[0])) if shape else 0)
    return (text + " " * (64 - (len(text) + 11) % 64) + "\n").encode("ascii")


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
