"""Read a user's distributions: rows of decimals or fractions.

Page: docs/constructions.md
"""

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from constructions.counted import counted
from constructions.errors import FileFormatError, HypothesisError
from constructions.named.context_rows import read_array
from constructions.numeric.arrays import Float64Array
from constructions.tasks.text import BYTE_ORDER_MARK, decode, read_bytes

_NUMBER = re.compile(
    r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,3})?|[+-]?\d{1,400}/0*[1-9]\d{0,400}", re.I
)
_FAR_FROM_ONE = Fraction(1, 10**9)

Distributions = list[list[Fraction]]
"""A distribution a row, exact."""


def read_distributions(path: str | Path) -> Distributions:
    r"""Read distributions over N tokens, one per row; keep each number exactly.

    - Text, whatever its name: a distribution a line, with commas between the numbers, or semicolons or tabs; where no
      line has such, blanks. A number is a decimal (`0.25`, `1e-3`) or a fraction (`1/3`).
    - ``.json``: a list of lists of numbers, or of texts as above.
    - ``.npy``: an array of floats, `[T, N]`.

    Args:
        path: The file.

    Returns:
        The distributions.

    Raises:
        FileFormatError: A file that is none of these, an entry that is not a number, or rows of several lengths.
        HypothesisError: A row that is not a distribution: an entry that is negative, or a sum that is not 1.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "distributions.csv"
        ...     _ = path.write_text("0.5, 0.25, 0.25\n1/3, 1/3, 1/3\n")
        ...     read_distributions(path)[1]
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    path = Path(path)
    read = {".json": _json, ".npy": _array}.get(path.suffix.lower(), _lines)
    return distributions(read(path), where=str(path))


def distributions(rows: Sequence[Sequence[Any]], *, where: str = "distributions") -> Distributions:
    """Parse distributions from lists of numbers, or of texts that are decimals or fractions.

    Args:
        rows: One distribution each; a float counts as the number that it is.
        where: What they are called in an error.

    Returns:
        The distributions.

    Raises:
        FileFormatError: No rows, rows of several lengths, or an entry that is not a finite number.
        HypothesisError: A row with a negative entry, or whose exact sum is not 1 within $10^{-9}$.

    Example:
        >>> distributions([[0.5, 0.25]], where="they")
        Traceback (most recent call last):
        ...
        constructions.errors.HypothesisError: A distribution needs a sum of 1, but row 1 of they adds up to 0.75
    """
    if not isinstance(rows, Sequence | np.ndarray) or isinstance(rows, str) or len(rows) == 0:
        raise FileFormatError(f"{where} holds no distributions, expected one per row")
    rows_read: Distributions = []
    for place, row in enumerate(rows, 1):
        if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str) or len(row) == 0:
            raise FileFormatError(f"{where}: row {place} is {row!r}, expected the numbers of a distribution")
        rows_read.append([_number(entry, f"{where}: row {place}") for entry in row])
        if len(rows_read[-1]) != len(rows_read[0]):
            raise FileFormatError(
                f"{where}: row {place} has {counted(len(rows_read[-1]), 'number')}, expected {len(rows_read[0])} "
                "as row 1 has: all distributions are over the same tokens"
            )
        if min(rows_read[-1]) < 0:
            value = f"row {place} of {where} has the entry {float(min(rows_read[-1])):.6g}"
            raise HypothesisError("A distribution", "entries of at least 0", value)
        if abs(sum(rows_read[-1]) - 1) > _FAR_FROM_ONE:
            value = f"row {place} of {where} adds up to {float(sum(rows_read[-1])):.12g}"
            raise HypothesisError("A distribution", "a sum of 1", value)
    return rows_read


def as_distributions(given: Distributions) -> Float64Array:
    """Return the nearest float64 numbers, `[T, N]`; a distribution is such a row divided by its exact sum."""
    return np.array([[float(entry) for entry in row] for row in given])


def _number(entry: Any, where: str) -> Fraction:
    if isinstance(entry, str):
        text = entry.strip()
        if _NUMBER.fullmatch(text):
            return Fraction(text)
    elif isinstance(entry, int | np.integer | Fraction) and not isinstance(entry, bool):
        return Fraction(entry) if isinstance(entry, Fraction) else Fraction(int(entry))
    elif isinstance(entry, float | np.floating) and np.isfinite(entry):
        return Fraction(float(entry))
    raise FileFormatError(f"{where} has the entry {entry!r}, expected a decimal or a fraction such as 1/3")


def _lines(path: Path) -> list[list[str]]:
    lines = decode(read_bytes(path), str(path)).removeprefix(BYTE_ORDER_MARK).splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    between = next((separator for separator in (",", ";", "\t") if any(separator in line for line in lines)), None)
    return [line.split(between) for line in lines]


def _json(path: Path) -> Any:
    text = decode(read_bytes(path), str(path))
    try:
        return json.loads(text, parse_float=str)  # what is written, not the nearest float64
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not readable JSON: {error}") from None


def _array(path: Path) -> list[list[float]]:
    array = read_array(path)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise FileFormatError(f"{path} is {array.dtype} of shape {array.shape}, expected floats [T, N]")
    return array.astype(np.float64).tolist()
