"""Read a user's contexts and queries strictly from a file.

Page: docs/claims/assumptions.md
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from constructions.errors import FileFormatError, InputError
from constructions.numeric.arrays import Float64Array
from constructions.tasks.arrays import named_arrays
from constructions.tasks.text import decode, read_bytes


def read_contexts(path: str | Path) -> tuple[Float64Array, Float64Array]:
    """Read contexts and queries; keep each number exactly.

    Args:
        path: An ``.npz`` file with the arrays `contexts`, `[T, n, d]`, or `[n, d]` if all examples share one, and
            `queries`, `[T, d]`: float64, float32, float16 or integers up to 2^53. Or a ``.json`` file of an object
            with lists of these names, whose decimals are read as the nearest float64.

    Returns:
        Contexts, `[T, n, d]` or `[1, n, d]`, and queries, `[T, d]`, as float64 of the same values.

    Raises:
        FileFormatError: The file is missing, truncated, no such archive, or holds arrays of other names.
        InputError: Arrays of wrong types or shapes, or a number that is not finite; names it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "data.npz"
        ...     np.savez(path, contexts=np.eye(2, 3), queries=np.ones((5, 3)))
        ...     contexts, queries = read_contexts(path)
        >>> contexts.shape, queries.shape
        ((1, 2, 3), (5, 3))
    """
    arrays = _json_arrays(Path(path)) if Path(path).suffix.lower() == ".json" else named_arrays(path)
    if set(arrays) != {"contexts", "queries"}:
        raise FileFormatError(f"{path} holds the arrays {sorted(arrays)}, expected contexts and queries")
    contexts, queries = (_numbers(name, arrays[name]) for name in ("contexts", "queries"))
    if contexts.ndim == 2:
        contexts = contexts[None]
    if queries.ndim != 2 or 0 in queries.shape:
        raise InputError("queries", f"has shape {queries.shape}", "[T, d] with T and d at least 1")
    size, width = queries.shape
    if contexts.ndim != 3 or len(contexts) not in (1, size) or contexts.shape[2] != width or 0 in contexts.shape:
        raise InputError(
            "contexts",
            f"has shape {arrays['contexts'].shape}",
            f"[{size}, n, {width}] beside queries {queries.shape}, or [n, {width}] if all examples share one",
        )
    return contexts, queries


def _json_arrays(path: Path) -> dict[str, Any]:
    """Return the lists of a JSON object as arrays."""
    try:
        content = json.loads(decode(read_bytes(path), str(path)))
        if not isinstance(content, dict):
            raise FileFormatError(f"{path} is not a JSON object, expected one with contexts and queries")
        for name, value in content.items():
            _require_one_shape(name, value)
        return {name: np.array(value) for name, value in content.items()}
    except (ValueError, RecursionError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise FileFormatError(f"{path} is not readable JSON of arrays: {error}") from None


def _require_one_shape(name: str, value: Any) -> None:
    """Raise `InputError` unless all lists of one depth have one length; name the first that differs."""
    level: list[tuple[str, Any]] = [(name, value)]
    while any(isinstance(part, list) for _, part in level):
        first, expected = level[0]
        for place, part in level:
            if _length(part) != _length(expected):
                raise InputError(place, f"is {_length(part)}", f"{_length(expected)}, as {first} is")
        level = [(f"{place}[{at}]", entry) for place, part in level for at, entry in enumerate(part)]


def _length(value: Any) -> str:
    return f"a list of length {len(value)}" if isinstance(value, list) else "not a list"


def _numbers(name: str, array: Any) -> Float64Array:
    if array.dtype.kind in "iu":
        if array.size and max(int(array.max()), -int(array.min())) > 2**53:
            raise InputError(name, "has an integer beyond 2**53 in size, which float64 does not hold")
    elif array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(name, f"has dtype {array.dtype}", "float64, float32, float16 or integers")
    numbers = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        place = bad[0].tolist()
        raise InputError(name, f"has the entry {numbers[tuple(place)]} at {place}", "finite numbers")
    return numbers
