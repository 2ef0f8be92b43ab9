"""Read a user's contexts without answers: the rows of a file.

Pages: docs/constructions.md, docs/claims/capacity.md
"""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from constructions.counted import counted
from constructions.errors import FileFormatError, InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import named_arrays
from constructions.tasks.table import named_delimiter, read_table, rows_of_contexts
from constructions.tasks.text import decode, read_bytes

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, eq=False)
class ContextRows:
    """Contexts of tokens, in the order of their file.

    Args:
        tokens: `[T, S]`.
        vocabulary: The texts of the N tokens that occur: in the order of the numbers where all are, else of the texts.
    """

    tokens: Int64Array
    vocabulary: tuple[str, ...]


def read_context_rows(path: str | Path, *, delimiter: str | None = None, header: bool = False) -> ContextRows:
    """Read contexts, one a row, all of one length.

    - Text, whatever its name: a context a line, its tokens with commas between them, or with semicolons, bars or tabs;
      where no line has such, with blanks. Tokens are words or numbers. The first line is a context, as the others are.
    - ``.json``: a list of lists of texts or integers; ``.jsonl``: such a list a line.
    - ``.npy``: an array of integers or of texts, `[T, S]`; ``.npz``: the one array `contexts`.

    Args:
        path: The file.
        delimiter: What separates the tokens of a text; found out where it is not said.
        header: Whether its first line names the columns instead.

    Returns:
        The contexts, equal ones included.

    Raises:
        FileFormatError: A file that is missing or is none of these, or rows of several lengths; names the row.
        InputError: A text whose lines have several lengths or empty cells; names the line. A delimiter or a header of
            a file that is not a text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "contexts.csv"
        ...     _ = path.write_text("0 1 1\\n10 0 1\\n")
        ...     rows = read_context_rows(path)
        >>> rows.vocabulary, rows.tokens.tolist()
        (('0', '1', '10'), [[0, 1, 1], [2, 0, 1]])
    """
    path = Path(path)
    read = {".json": _json, ".jsonl": _json_lines, ".npy": _array, ".npz": _array}.get(path.suffix.lower())
    if read is not None:
        if delimiter is not None or header:
            raise InputError(path, "is not a text, whose cells have a delimiter or whose first line names the columns")
        return context_rows(read(path), where=str(path))
    cells = delimiter or named_delimiter(path)
    rows, _ = rows_of_contexts(read_table(path), delimiter=cells, header=header)
    return context_rows([row for _, row in rows], where=str(path))


def context_rows(rows: Sequence[Sequence[Any]], *, where: str = "contexts") -> ContextRows:
    """Number the tokens of contexts given as lists of texts or integers.

    Args:
        rows: The contexts.
        where: What they are called in an error.

    Returns:
        The contexts.

    Raises:
        FileFormatError: No rows, rows of several lengths, or a token that is neither a text nor an integer.

    Example:
        >>> context_rows([["b", "a"], ["b", "b"]]).tokens.tolist()
        [[1, 0], [1, 1]]
    """
    if not isinstance(rows, Sequence | np.ndarray) or isinstance(rows, str) or len(rows) == 0:
        raise FileFormatError(f"{where} holds no contexts, expected one context per row")
    words: list[list[str]] = []
    for place, row in enumerate(rows, 1):
        if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str) or len(row) == 0:
            raise FileFormatError(f"{where}: row {place} is {row!r}, expected the tokens of a context")
        words.append([_text(token, f"{where}: row {place}") for token in row])
        if len(words[-1]) != len(words[0]):
            raise FileFormatError(
                f"{where}: row {place} has {counted(len(words[-1]), 'token')}, expected {len(words[0])} as row 1 has: "
                "the theorems speak of contexts of one length"
            )
    names = sorted({word for row in words for word in row})
    if all(_NUMBER.fullmatch(name) for name in names):
        names.sort(key=int)
    number = {name: place for place, name in enumerate(names)}
    tokens = np.array([[number[word] for word in row] for row in words], dtype=np.int64)
    return ContextRows(tokens, tuple(names))


def _text(token: Any, where: str) -> str:
    if isinstance(token, str) and token.strip():
        return token.strip()
    if isinstance(token, int | np.integer) and not isinstance(token, bool):
        return str(int(token))
    raise FileFormatError(f"{where} has the token {token!r}, expected a word or an integer")


def _json(path: Path) -> Any:
    return _parsed(decode(read_bytes(path), str(path)), str(path))


def _json_lines(path: Path) -> list[Any]:
    lines = decode(read_bytes(path), str(path)).splitlines()
    return [_parsed(line, f"{path}: line {place}") for place, line in enumerate(lines, 1) if line.strip()]


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{where} is not readable JSON: {error}") from None


def _array(path: Path) -> list[list[Any]]:
    if path.suffix.lower() == ".npz":
        arrays = named_arrays(path)
        if set(arrays) != {"contexts"}:
            raise FileFormatError(f"{path} holds the arrays {sorted(arrays)}, expected only contexts")
        array = arrays["contexts"]
    else:
        array = read_array(path)
    if array.ndim != 2 or array.dtype.kind not in "iuU":
        raise FileFormatError(f"{path} is {array.dtype} of shape {array.shape}, expected integers or texts [T, S]")
    return array.tolist()


def read_array(path: Path) -> Any:
    """Return the array of an ``.npy`` file without unpickling.

    Raises:
        FileFormatError: The file is missing, truncated, or none.
    """
    try:
        array = np.load(io.BytesIO(read_bytes(path)), allow_pickle=False)
    except InputError:
        raise
    except (ValueError, EOFError, OSError) as error:
        raise FileFormatError(f"{path} is not a readable .npy file: {error}") from None
    if not isinstance(array, np.ndarray):
        raise FileFormatError(f"{path} is not a single array, expected an .npy file")
    return array
