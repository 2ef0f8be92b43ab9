"""Arrays by name in a file that has one meaning to every reader, and their hash.

Page: docs/rigour/certificate.md
"""

import hashlib
import io
import math
import struct
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from constructions.errors import FileFormatError
from constructions.files import canonical_json, read_regular_file, write_atomically

_LOCAL_HEADER = 30  # bytes before the name of a member
_END_RECORD = 22  # bytes of the record that ends an archive
_END_OF_ARCHIVE = b"\0\0"  # the length of a comment that is not there


def arrays_sha256(head: Any, arrays: Mapping[str, NDArray]) -> str:
    """Hash of what canonical JSON holds and of arrays, in hexadecimal.

    First the canonical JSON of `head`; then for each array, in order, the ASCII text ``name:d1,d2,..;`` and its
    little-endian entries.
    """
    digest = hashlib.sha256(canonical_json(head).encode("ascii"))
    for name, array in arrays.items():
        digest.update(f"{name}:{','.join(map(str, array.shape))};".encode("ascii"))
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def save_arrays(path: Path, arrays: Mapping[str, NDArray]) -> None:
    """Write arrays to `path` as an uncompressed ``.npz``, atomically; equal arrays give equal bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically(Path(path), buffer.getvalue())


class Stored(ABC):
    """What is stored as arrays by name, and made of them again."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray]:
        """The arrays by name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, path: Path, arrays: dict[str, NDArray]) -> Self:
        """What the arrays that were read from `path` hold."""

    def save(self, path: Path) -> None:
        """Write the arrays to `path` as an uncompressed ``.npz``, atomically; equal arrays give equal bytes."""
        save_arrays(path, self.arrays())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            FileFormatError: The file is missing, truncated, or holds something else.
        """
        return cls.from_arrays(Path(path), read_stored_arrays(path))


def read_stored_arrays(path: Path) -> dict[str, NDArray]:
    """Read an ``.npz`` of the one form in which numpy stores little-endian arrays uncompressed; nothing is converted.

    Every member is an array in C order, of int64, float64 or text, as long as its shape says, so that a file has one
    meaning to every reader and no archive takes more memory than its size.

    Args:
        path: The file.

    Returns:
        The arrays by name.

    Raises:
        FileFormatError: The file is missing, truncated, or of another form.
    """
    path = Path(path)
    try:
        data = read_regular_file(path)
        if not data.startswith(b"PK\x03\x04"):
            raise FileFormatError(f"{path} is not a readable .npz file: it does not begin with a member")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if len(set(names)) != len(names) or not all(name.endswith(".npy") for name in names):
                raise FileFormatError(f"{path} has the members {names}, expected distinct names that end in .npy")
            if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
                raise FileFormatError(f"{path} is compressed or encrypted; byheart writes neither")
            end = 0
            for member in sorted(members, key=lambda member: member.header_offset):
                if (member.header_offset, member.compress_size) != (end, member.file_size):
                    raise FileFormatError(f"{path} has members that overlap, lie apart or are of another size")
                if member.orig_filename != member.filename:
                    raise FileFormatError(f"{path} has the member {member.orig_filename!r}, expected a name alone")
                name_length, extra_length = struct.unpack("<HH", data[end + 26 : end + 30])
                end += _LOCAL_HEADER + name_length + extra_length + member.file_size
            last = data[-_END_RECORD:]
            if end != archive.start_dir or last[:4] != b"PK\x05\x06" or not last.endswith(_END_OF_ARCHIVE):
                raise FileFormatError(f"{path} has bytes that belong to no member, or goes on after its archive")
            return {name.removesuffix(".npy"): _stored_array(path, name, archive.read(name)) for name in names}
    except FileFormatError:
        raise
    except Exception as error:  # whatever a hostile archive makes the readers of zip and npy raise
        raise FileFormatError(f"{path} is not a readable .npz file: {error}") from error


def _stored_array(path: Path, name: str, data: bytes) -> NDArray:
    buffer = io.BytesIO(data)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise FileFormatError(f"{path}: {name} is not of version 1.0 of the format of numpy")
    shape, fortran, kind = np.lib.format.read_array_header_1_0(buffer)
    if fortran or not (kind.str in ("<i8", "<f8") or (kind.str.startswith("<U") and kind.itemsize)):
        raise FileFormatError(f"{path}: {name} is stored as {kind.str!r}, expected '<i8', '<f8' or '<U..' in C order")
    body = data[buffer.tell() :]
    if kind.itemsize * math.prod(shape) != len(body):
        raise FileFormatError(f"{path}: {name} of shape {list(shape)} does not have the bytes it needs")
    written = io.BytesIO()
    np.lib.format.write_array_header_1_0(written, {"descr": kind.str, "fortran_order": False, "shape": shape})
    if data[: buffer.tell()] != written.getvalue():
        raise FileFormatError(f"{path}: {name} has a header that numpy does not write")
    if kind.kind == "U":
        points = np.frombuffer(body, dtype="<u4")
        if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
            raise FileFormatError(f"{path}: {name} holds code points that are no characters")
    return np.frombuffer(body, dtype=kind).reshape(shape)
