"""Find equal rows, so that each is processed once.

Page: docs/rigour/runs.md ("Shared work")
"""

import numpy as np

from constructions.numeric.arrays import Int64Array
from verify.runs.terms import Rows

_NEAR = 2.0**-10  # what is further off is taken for unknown where equal rows are looked for


def distinct(*keys: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return an index of each distinct tuple of keys, and the number of the tuple at each place; all keys have one
    shape.
    """
    code = keys[0].ravel()
    for key in keys[1:]:
        digits, span = key.ravel(), int(key.max(initial=0)) + 1
        if int(code.max(initial=0)) >= 2**62 // span:
            # Ranks are below the number of tuples, so their products stay below 2^62.
            code = np.unique(code, return_inverse=True)[1]
            digits = np.unique(digits, return_inverse=True)[1]
            span = len(digits)
        code = code * span + digits
    span = int(code.max(initial=0)) + 1
    if span <= 8 * len(code):
        place = np.full(span, -1)
        place[code] = np.arange(len(code))
        there = np.flatnonzero(place >= 0)
        first, place[there] = place[there], np.arange(len(there))
        return first, place[code].reshape(keys[0].shape)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse.reshape(keys[0].shape)


def distinct_rows(table: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return an index of each distinct row of a table, and the number of each row among them."""
    if table.strides[0] == 0 or (table == table[:1]).all():
        return np.zeros(1, dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, table.shape[1]) | 1
    _, first, inverse = np.unique(table @ weights, return_index=True, return_inverse=True)
    if not np.array_equal(table[first][inverse], table):
        _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, inverse.ravel()


def merged(rows: Rows, cells: Int64Array) -> tuple[Rows, Int64Array]:
    """Return the rows after processing those with equal values once."""
    if not rows.value.shape[1]:
        return rows[:1], np.broadcast_to(np.zeros(1, dtype=np.int64), cells.shape)
    # -0.0 is 0.0 in all that is read of a row; one that is far off is not to spoil others.
    far = ~(rows.off < _NEAR).all(axis=1)
    bits = np.column_stack([(rows.value + 0.0).view(np.int64), np.broadcast_to(far, len(rows.value)).astype(np.int64)])
    first, inverse = distinct_rows(bits)
    if len(first) == len(rows.value):
        return rows, cells
    off = rows.off
    if len(off) > 1:
        off = np.zeros((len(first), rows.value.shape[1]))
        np.maximum.at(off, inverse, rows.off)
    alike = cells.strides[0] == 0
    cells = np.broadcast_to(inverse[cells[0]], cells.shape) if alike else inverse[cells]
    return Rows(rows.value.T[:, first].T, off), cells
