"""Store named arrays in a file that every reader understands the same way, safetensors with a plain header; hash them.

Page: docs/rigour/certificate.md
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from constructions.errors import FileFormatError, InputError
from constructions.formats.files import canonical_json, replaced_atomically, require_regular_file

_LARGEST_HEADER = 2**26  # bytes
_METADATA_KEY = "byheart"


def arrays_sha256(head: object, arrays: Mapping[str, NDArray]) -> str:
    """Return the hexadecimal hash of arrays and of data that canonical JSON can represent.

    First the canonical JSON of `head`; then for each array, in order, the ASCII text ``name:d1,d2,..;`` and its
    little-endian entries.
    """
    digest = hashlib.sha256(canonical_json(head).encode("ascii"))
    for name, array in arrays.items():
        digest.update(f"{name}:{','.join(map(str, array.shape))};".encode("ascii"))
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def tensor_bytes(tensors: Mapping[str, NDArray], *, metadata: object) -> bytes:
    """Return the safetensors file of some arrays; equal arrays give equal bytes.

    Args:
        tensors: The arrays by name.
        metadata: What the file says about itself, plain JSON data.
    """
    return safetensors.numpy.save(_in_rows(tensors), metadata={_METADATA_KEY: canonical_json(metadata)})


def save_tensors(path: Path, tensors: Mapping[str, NDArray], *, metadata: object) -> None:
    """Write `tensor_bytes` to `path`, atomically, and without another copy of large arrays in memory."""
    said = {_METADATA_KEY: canonical_json(metadata)}
    with replaced_atomically(Path(path)) as temporary:
        try:
            safetensors.numpy.save_file(_in_rows(tensors), temporary, metadata=said)
        except safetensors.SafetensorError as error:  # a full disk, say
            raise OSError(f"{path} cannot be written: {error}") from error


def _in_rows(tensors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    return {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}


def load_tensors(path: Path, *, dtypes: Collection[str] = ("F64",)) -> tuple[Any, dict[str, NDArray]]:
    """Read the tensors that `save_tensors` wrote, and nothing else.

    A header that repeats a name, or that has unknown fields, could mean different tensors to different readers; it is
    refused.

    Args:
        path: The file.
        dtypes: Those that its tensors may have, as safetensors names them.

    Returns:
        What the file says about itself, and the tensors by name.

    Raises:
        FileFormatError: The file is missing, truncated, of another dtype, or its metadata are not one canonical text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "a.safetensors"
        ...     save_tensors(path, {"A": np.eye(2)}, metadata={"version": 1})
        ...     metadata, tensors = load_tensors(path)
        >>> metadata, tensors["A"].tolist()
        ({'version': 1}, [[1.0, 0.0], [0.0, 1.0]])
    """
    path = Path(path)
    require_regular_file(path)
    _require_plain_header(path)
    try:
        with safetensors.safe_open(path, framework="np") as file:
            header = file.metadata() or {}
            kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}
            if set(kinds.values()) - set(dtypes):
                raise FileFormatError(f"{path} holds dtypes {kinds}, expected {' or '.join(dtypes)} throughout")
            tensors = {name: file.get_tensor(name) for name in kinds}
        metadata = (
            json.loads(header[_METADATA_KEY], object_pairs_hook=without_repetition) if _METADATA_KEY in header else None
        )
        canonical = canonical_json(metadata)
    except FileFormatError:
        raise
    except (OSError, safetensors.SafetensorError, ValueError, RecursionError, InputError) as error:
        raise FileFormatError(f"{path} is not a readable file: {error}") from error
    if header != {_METADATA_KEY: canonical}:
        raise FileFormatError(f"{path} has metadata {header}, expected the key {_METADATA_KEY!r} of byheart alone")
    return metadata, tensors


def _require_plain_header(path: Path) -> None:
    """Refuse a header that two readers of safetensors could take for different ones."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            text = file.read(min(length, _LARGEST_HEADER + 1))
        if not text.startswith(b"{") or length > _LARGEST_HEADER:
            raise ValueError(f"its header of {length} bytes is not one that byheart writes")
        header = json.loads(text, object_pairs_hook=without_repetition)
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        plain = all(set(entry) == {"dtype", "shape", "data_offsets"} for entry in entries)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError, MemoryError, OverflowError) as error:
        raise FileFormatError(f"{path} is not a readable file: {error}") from error
    if not plain:
        raise FileFormatError(f"{path} is not a readable file: its header has unknown fields")


def without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of JSON; raise `ValueError` where it names something twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("its header repeats a name")
    return dict(pairs)
