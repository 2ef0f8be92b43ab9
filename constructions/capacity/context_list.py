"""A user's own contexts of tokens without any answers, read strictly from a file.

Page: docs/claims/capacity.md
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from constructions.arrays import Int64Array
from constructions.counted import counted
from constructions.errors import FileFormatError, InputError
from constructions.tasks.arrays import named_arrays
from constructions.tasks.contexts import checked_contexts
from constructions.tasks.table import DELIMITERS, named_delimiter, read_table, rows_of_contexts


@dataclass(frozen=True, eq=False)
class ContextList:
    """Pairwise distinct contexts, and how they were read.

    Args:
        contexts: Tokens by number, `[T, S]`.
        vocabulary: Their texts.
        reading: How the file was read, in a few words.
    """

    contexts: Int64Array
    vocabulary: tuple[str, ...]
    reading: str


def read_context_list(path: str | Path, *, delimiter: str | None = None, header: bool | None = None) -> ContextList:
    """Read contexts: every cell of a row is a token.

    Args:
        path: A table, one context in a row, or lines of tokens with spaces between them; or an ``.npz`` file with the
            array `contexts`, `[T, S]`, of integers.
        delimiter: What separates the cells; found out where it is not said.
        header: Whether the first row names the columns; likewise.

    Returns:
        The contexts in the order of the file.

    Raises:
        FileFormatError: An ``.npz`` file that is damaged or holds other arrays.
        InputError: A file that is missing or is no such table; two equal contexts, whose features no weights make
            independent; names the lines.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "contexts.csv"
        ...     _ = path.write_text("the,old,pond\\nthe,new,pond\\n")
        ...     found = read_context_list(path, header=False)
        >>> found.contexts.tolist(), found.vocabulary
        ([[0, 1, 2], [0, 3, 2]], ('the', 'old', 'pond', 'new'))
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        return _of_arrays(path)
    rows, form = rows_of_contexts(read_table(path), delimiter=delimiter or named_delimiter(path), header=header)
    number = {cell: i for i, cell in enumerate(dict.fromkeys(cell for _, row in rows for cell in row))}
    line_of: dict[tuple[int, ...], int] = {}
    for line, row in rows:
        context = tuple(number[cell] for cell in row)
        if context in line_of:
            raise InputError(
                f"line {line} of the table", f"is the context of line {line_of[context]} again", "distinct contexts"
            )
        line_of[context] = line
    between = "spaces" if form.delimiter == " " else DELIMITERS.get(form.delimiter, repr(form.delimiter))
    first = "the first row names the columns" if form.header else "the first row is a context"
    reading = f"contexts alone, without answers: {counted(len(rows), 'row')}, {between} between the cells; {first}"
    return ContextList(np.array([*line_of], dtype=np.int64), tuple(number), reading)


def _of_arrays(path: Path) -> ContextList:
    arrays = named_arrays(path)
    if set(arrays) != {"contexts"}:
        raise FileFormatError(f"{path} holds the arrays {sorted(arrays)}, expected contexts alone")
    contexts = checked_contexts(arrays["contexts"], distinct=True)
    vocabulary = tuple(map(str, range(int(contexts.max()) + 1)))
    return ContextList(contexts, vocabulary, f"contexts alone, without answers: an array of {len(contexts)} rows")
