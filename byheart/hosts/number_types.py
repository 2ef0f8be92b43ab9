"""The floating-point types that files of weights have: rounding to them once, and their bytes.

Page: docs/hosts.md
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from constructions.errors import FileFormatError, InputError, require_one_of
from constructions.formats.files import replaced_atomically, require_regular_file
from constructions.formats.tensor_file import without_repetition
from constructions.model.precision import narrowest
from constructions.numeric.arrays import Float64Array

DTYPES = ("float64", "float32", "bfloat16", "float16")
"""The types that weights are written in, finest first."""

NARROWEST = "narrowest"
"""Each tensor in the type of fewest bits that holds it exactly, integers among them."""

METADATA = "byheart"
"""The text in the header of a file of ours that holds the options of the model, as JSON."""

_NATIVE = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
_NAMES = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16"}
_NAMES |= {"int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16"}
_SIZES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2}
_READ = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_INTEGERS = {"I8": "<i1", "U8": "<u1", "I16": "<i2", "U16": "<u2"}
_BFLOAT16_BITS, _BFLOAT16_LEAST_EXPONENT = 8, -133  # significant bits, and the exponent of the least positive number
_LARGEST_BFLOAT16 = (2.0 - 2.0**-7) * 2.0**127


def rounded_to(name: str, tensor: Float64Array, dtype: str) -> Float64Array:
    """Round every entry to the nearest number of a type, ties to even, as float64.

    Each entry is rounded once: float64 to bfloat16 goes through no other type on its way.

    Args:
        name: Name of the tensor, for the message.
        tensor: Finite numbers.
        dtype: One of `DTYPES`, or `NARROWEST`, which rounds nothing.

    Returns:
        An array of the same shape, whose entries the type holds exactly.

    Raises:
        InputError: An unknown type, or an entry beyond its range.

    Example:
        >>> rounded_to("W_U", np.array([1.0 + 2.0**-8, 1.0 + 2.0**-8 + 2.0**-40, 1e-40]), "bfloat16").tolist()
        [1.0, 1.0078125, 9.183549615799121e-41]
    """
    if dtype == NARROWEST:
        return tensor
    require_dtype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        if dtype == "bfloat16":
            exponent = np.frexp(tensor)[1] - _BFLOAT16_BITS
            unit = np.ldexp(1.0, np.maximum(exponent, _BFLOAT16_LEAST_EXPONENT))
            rounded = np.rint(tensor / unit) * unit
            rounded[np.abs(rounded) > _LARGEST_BFLOAT16] = np.inf
        else:
            rounded = tensor.astype(_NATIVE[dtype]).astype(np.float64)
    if not np.isfinite(rounded).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(rounded))[0])
        raise InputError(name, f"has the entry {tensor[place]} at {place}, beyond the range of {dtype}")
    return rounded


def stored_bytes(tensor: Float64Array, dtype: str) -> bytes:
    """Return the little-endian bytes of numbers that a type represents exactly.

    Args:
        tensor: The tensor that `rounded_to` returned for the same type.
        dtype: One of `DTYPES`, or of `constructions.model.precision.STORED`.

    Example:
        >>> stored_bytes(np.array([1.0, -2.0]), "bfloat16").hex()
        '803f00c0'
    """
    if dtype == "bfloat16":
        upper_half = np.ascontiguousarray(tensor, dtype="<f4").view("<u4") >> 16
        return upper_half.astype("<u2").tobytes()
    return np.ascontiguousarray(tensor, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()


def write_tensors(path: Path, tensors: Mapping[str, Float64Array], *, dtype: str, metadata: Mapping[str, str]) -> None:
    """Write tensors as safetensors, atomically; the library supports bfloat16 only through torch.

    Args:
        path: The file to write.
        tensors: By name; what `rounded_to` returned for the same type.
        dtype: One of `DTYPES`, or `NARROWEST`.
        metadata: Texts by name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_tensors(Path(folder) / "a", {"A": np.eye(2)}, dtype="bfloat16", metadata={"format": "pt"})
        ...     read_tensors(Path(folder) / "a")[0]["A"].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    types = {name: narrowest(tensor) if dtype == NARROWEST else dtype for name, tensor in tensors.items()}
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name, own in types.items():
        start, end = end, end + _SIZES[own] * tensors[name].size
        header[name] = {"dtype": _NAMES[own], "shape": list(tensors[name].shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    with replaced_atomically(Path(path)) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for name, own in types.items():
            file.write(stored_bytes(tensors[name], own))  # one after the other: a language model is large


def read_tensors(
    path: Path, *, but: Callable[[str], bool] = lambda name: False
) -> tuple[dict[str, Float64Array], dict[str, str]]:
    """Read a file of safetensors of any floating-point type, exactly; of a file of ours, of integers too.

    Args:
        path: The file.
        but: Names to omit.

    Returns:
        The tensors by name, in float64, which holds every number of the smaller types; and the texts in the header.

    Raises:
        FileFormatError: The file is missing, truncated, or holds a tensor of a type that is not read here; names it.
    """
    path = Path(path)
    require_regular_file(path)
    try:
        with safetensors.safe_open(path, framework="np"):
            pass  # the library looks at the header, and at the size of the file
        header, start = _header(path)
    except (OSError, safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a readable file of safetensors: {error}") from error
    tensors, texts = dict[str, Float64Array](), header.pop("__metadata__", {})
    known = {**_READ, **_INTEGERS} if METADATA in texts else _READ  # integers of others may be quantized numbers
    with path.open("rb") as file:
        for name, entry in sorted(header.items(), key=lambda each: each[1]["data_offsets"]):
            if but(name):
                continue
            if entry["dtype"] not in known:
                raise FileFormatError(
                    f"{path}: {name} has the type {entry['dtype']}, expected one of {', '.join(known)}"
                )
            first, end = entry["data_offsets"]
            file.seek(start + first)
            stored = np.frombuffer(file.read(end - first), dtype=known[entry["dtype"]]).reshape(entry["shape"])
            if entry["dtype"] == "BF16":
                stored = (stored.astype("<u4") << 16).view("<f4")
            tensors[name] = stored.astype(np.float64)  # one after the other: a language model is large
            tensors[name].setflags(write=False)  # so that a model may keep it as it is
    return tensors, texts


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Return what the header of a file of safetensors says, and where the numbers begin."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length), object_pairs_hook=without_repetition), 8 + length


def require_dtype(dtype: str) -> None:
    """Raise `InputError` unless weights can be written in this type."""
    require_one_of(DTYPES, dtype=dtype)
