"""Read a task file whose contexts are vectors: rows that are read, a query per context, values or classes.

Page: docs/rigour/kernel.md
"""

from typing import Any

from verify.kernel.files import Tensor, require_fields, sha256_of
from verify.kernel.task import FILE, Task, Vectors
from verify.kernel.verdicts import BadInputError

TASK = "vectors"
_ARRAYS = {"contexts": 3, "queries": 2, "labels": 2}  # in the order of the hash, with the number of axes


def read(words: dict[str, Any], arrays: dict[str, Tensor]) -> Task:
    """Return the task with these metadata and arrays; a class is labelled by the index of its row's largest entry.

    Raises:
        BadInputError: They are not a task of vectors in its one form.
    """
    require_fields(FILE, "metadata", words, ["task", "kind"])
    if words["kind"] not in ("regression", "classification"):
        raise BadInputError(FILE, "kind", f"is {str(words['kind'])[:40]!r}, which no task of vectors has")
    require_fields(FILE, "arrays", arrays, _ARRAYS)
    for name, axes in _ARRAYS.items():
        if arrays[name].values.typecode != "d" or len(arrays[name].shape) != axes or 0 in arrays[name].shape:
            raise BadInputError(FILE, name, f"is of another type, empty, or has not {axes} axes")
    contexts, queries, values = (arrays[name] for name in _ARRAYS)
    count, width = queries.shape
    if contexts.shape[0] not in (1, count) or contexts.shape[2] != width or values.shape[0] != count:
        raise BadInputError(FILE, "contexts, queries or labels", "have shapes that do not fit each other")
    labels = [_only_largest(values.row(i)) for i in range(count)] if words["kind"] == "classification" else []
    length, written = contexts.shape[1], contexts.shape[0] * contexts.shape[1]
    rows = [contexts.values[n * width : (n + 1) * width] for n in range(written)]
    vectors = Vectors([*rows, *(queries.row(i) for i in range(count))], values)
    first = [0] * count if contexts.shape[0] == 1 else range(0, written, length)
    numbers = [(*range(start, start + length), written + i) for i, start in enumerate(first)]
    target, digest = "labels" if labels else "values", sha256_of(words, {name: arrays[name] for name in _ARRAYS})
    return Task(target, "own", values.shape[1], numbers, labels, None, [], [], digest, None, vectors)


def _only_largest(row: Any) -> int:
    """Return the index of the largest number, which must be unique, among at least two."""
    if len(row) < 2 or row.count(max(row)) != 1:
        raise BadInputError(FILE, "labels", "have a row without one class")
    return row.index(max(row))
