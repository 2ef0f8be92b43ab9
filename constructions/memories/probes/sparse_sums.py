"""Find a table whose sums over a few cells per row are given numbers modulo a power of two.

Page: docs/claims/probes.md
"""

import numpy as np
from numpy.typing import NDArray

from constructions.numeric.arrays import Int64Array, UInt64Array

LARGEST_CORE = 6000
"""Equations that may be left to elimination, which takes cubic time: at 64 bits a word some seconds."""


def table_of_sums(
    cells: Int64Array, wanted: Int64Array, size: int, bits: int, rng: np.random.Generator
) -> Int64Array | None:
    r"""Find W with $\sum_k W[\mathrm{cells}_{t k}] \equiv \mathrm{wanted}_t \pmod{2^{\mathrm{bits}}}$ for all t.

    An equation with a cell that no other has is put aside, and solved by that cell at the end, until none is left to
    put aside. The others are solved modulo 2 by elimination, and lifted: if A has an inverse modulo 2 on the pivots,
    a residual that is divisible by $2^i$ is made divisible by $2^{i + 1}$ by adding $2^i$ times a solution modulo 2.

    Args:
        cells: `[T, k]`, numbers of cells; a row may name one twice.
        wanted: `[T]`.
        size: Number of cells.
        bits: Number of bits of the modulus, at most 30.
        rng: For the cells that no equation fixes.

    Returns:
        W, `[size]`, integers from 0 to $2^{\mathrm{bits}} - 1$, which solves every equation; none where elimination
        finds the equations dependent modulo 2, or where too many are left to it.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> cells, wanted = np.array([[0, 1], [1, 2], [2, 0]]), np.array([5, 6, 7])
        >>> table_of_sums(cells, wanted, 3, 4, rng) is None  # the sum of all three has even coefficients
        True
        >>> W = table_of_sums(cells[:2], wanted[:2], 3, 4, rng)
        >>> ((W[0] + W[1]) % 16, (W[1] + W[2]) % 16)
        (np.int64(5), np.int64(6))
    """
    order, core = _peeled(cells, size)
    if len(core) > LARGEST_CORE:
        return None
    table = rng.integers(0, 1 << bits, size)
    if len(core) and not _eliminated(table, cells[core], wanted[core], bits):
        return None
    values, modulus = table.tolist(), 1 << bits
    rows, goals = cells.tolist(), wanted.tolist()
    for t, cell in reversed(order):
        values[cell] = 0
        values[cell] = (goals[t] - sum(values[c] for c in rows[t])) % modulus
    table = np.array(values)
    if ((table[cells].sum(axis=1) - wanted) % modulus).any():
        raise ArithmeticError("a table that was solved for does not solve its equations")
    return table


def _peeled(cells: Int64Array, size: int) -> tuple[list[tuple[int, int]], Int64Array]:
    """Return equations with the cell that solves each, in the order of elimination, and the remaining equations."""
    degree = np.bincount(cells.reshape(-1), minlength=size)
    owner = np.zeros(size, dtype=np.int64)  # exclusive or of the equations of a cell: of one equation, its number
    for column in cells.T:
        np.bitwise_xor.at(owner, column, np.arange(len(cells)))
    degrees, owners, rows = degree.tolist(), owner.tolist(), cells.tolist()
    alive, order = bytearray(b"\1") * len(cells), []
    free = np.flatnonzero(degree == 1).tolist()
    while free:
        cell = free.pop()
        if degrees[cell] != 1:
            continue
        t = owners[cell]
        alive[t] = 0
        order.append((t, cell))
        for other in rows[t]:
            degrees[other] -= 1
            owners[other] ^= t
            if degrees[other] == 1:
                free.append(other)
    return order, np.flatnonzero(np.frombuffer(alive, dtype=np.uint8))


def _eliminated(table: Int64Array, cells: Int64Array, wanted: Int64Array, bits: int) -> bool:
    """Change the table on the pivots so that it solves these equations; return whether this succeeded."""
    columns, place = np.unique(cells, return_inverse=True)
    place = place.reshape(cells.shape)
    rows = len(cells)
    odd = np.zeros((rows, len(columns)), dtype=np.uint8)
    for column in place.T:
        odd[np.arange(rows), column] ^= 1
    # [A | 1] modulo 2, 64 columns a word: what was done to the rows stands beside them.
    words = np.hstack([_packed(odd), _packed(np.eye(rows, dtype=np.uint8))])
    left = -(-len(columns) // 64)
    pivots = np.zeros(rows, dtype=np.int64)
    for row in range(rows):
        first = np.flatnonzero(words[row, :left])
        if not len(first):
            return False
        word = int(first[0])
        bit = (int(words[row, word]) & -int(words[row, word])).bit_length() - 1
        pivots[row] = 64 * word + bit
        hit = (words[:, word] >> np.uint64(bit) & np.uint64(1)).astype(bool)
        hit[row] = False
        words[hit] ^= words[row]
    inverse = words[:, left:]
    residual = wanted - table[cells].sum(axis=1)
    for i in range(bits):
        half = _packed((residual >> i & 1).astype(np.uint8)[None])
        change = np.bitwise_count(inverse & half).sum(axis=1) & 1
        table[columns[pivots]] += change.astype(np.int64) << i
        residual = wanted - table[cells].sum(axis=1)
    table &= (1 << bits) - 1
    return True


def _packed(bits: NDArray[np.uint8]) -> UInt64Array:
    """Pack rows of bits into 64-bit words, first bit lowest."""
    padded = np.zeros((len(bits), -(-bits.shape[1] // 64) * 64), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
