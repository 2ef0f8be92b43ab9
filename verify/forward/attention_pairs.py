r"""Which rows an attention reads: the pairs of a query and of the rows that it attends to, each once.

Contexts share rows. The first attention of a model that reads tokens sees one row for each pair of a position and a
token; what a causal attention writes depends on the beginning of a context alone. So a stream is kept as its distinct
rows and, for each context, the cells that say which row is at which position. No number is looked at here: every exact
or enclosing arithmetic evaluates the same pairs.

Page: docs/rigour/forward.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from constructions.model.blocks import Attention
from constructions.numeric.arrays import BoolArray, Int64Array


@dataclass(frozen=True)
class AttentionPairs:
    """The pairs of an attention: for each distinct context the rows that ask and those that are read.

    Args:
        asking: Which rows ask, `[C, i]`; with queries of the task, which example's.
        read: Which rows the context has, `[C, S]`.
        allowed: Which position reads which, `[i, S]`.
        kept: The pairs, each once: places in `asking` laid flat, `[L]`.
        cells: Which pair each context has at each position that is computed, `[T, i]`; -1 behind its end.
    """

    asking: Int64Array
    read: Int64Array
    allowed: BoolArray
    kept: Int64Array
    cells: Int64Array

    @property
    def asked(self) -> Int64Array:
        """Which row asks in each pair, `[L]`."""
        return self.asking.reshape(-1)[self.kept]


def pairs_of(block: Attention, cells: Int64Array, *, only_last: bool, first: int = 0) -> AttentionPairs:
    """Return the pairs of an attention over contexts.

    Args:
        block: The attention.
        cells: Which row each context has at each position, `[T, S]`; of contexts of several lengths, which a causal
            attention may read, -1 behind the end of each.
        only_last: Whether nothing later reads any position but the last.
        first: Which example the first context is, where the task brings queries.

    Returns:
        The pairs; those of the first position first.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> block = Attention(one, one, one, one, attends="causal")
        >>> causal = pairs_of(block, np.array([[0, 1], [0, 2]]), only_last=False)
        >>> causal.asked.tolist(), causal.cells.tolist()
        ([0, 1, 2], [[0, 1], [0, 2]])
        >>> pairs_of(block, np.array([[0, 1], [0, -1]]), only_last=False).cells.tolist()
        [[0, 1], [0, -1]]
    """
    count, length = cells.shape
    everything = np.ones((1, length), dtype=bool)
    if block.queries == "task":
        every = np.arange(count)
        return AttentionPairs(first + every[:, None], cells, everything, every, every[:, None])
    prefixes = _prefixes(cells)
    _, contexts, context_of = np.unique(prefixes[:, -1], return_index=True, return_inverse=True)
    read = cells[contexts]
    if only_last or block.attends == "last":
        return AttentionPairs(read[:, -1:], read, everything, np.arange(len(read)), context_of.reshape(-1, 1))
    keys, allowed = prefixes[contexts], np.tri(length, dtype=bool)
    if block.attends == "all":
        keys = np.arange(len(read))[:, None] * (int(cells.max(initial=0)) + 1) + read
        allowed = np.ones((length, length), dtype=bool)
    kept: list[Int64Array] = []
    pairs, found = np.full_like(read, -1), 0
    for position in range(length):
        there = np.flatnonzero(read[:, position] >= 0)
        # Equal keys of different positions do not meet: the rows of different positions are different.
        _, places, pair = np.unique(keys[there, position], return_index=True, return_inverse=True)
        kept.append(there[places] * length + position)
        pairs[there, position] = pair.reshape(-1) + found
        found += len(places)
    return AttentionPairs(read, read, allowed, np.concatenate(kept), pairs[context_of.reshape(-1)])


def _prefixes(cells: Int64Array) -> Int64Array:
    """Numbers that are equal where contexts begin alike, for each position, `[T, S]`."""
    width = int(cells.max(initial=0)) + 2
    numbers = np.empty_like(cells)
    numbers[:, 0] = cells[:, 0]
    for position in range(1, cells.shape[1]):
        before = np.unique(numbers[:, position - 1], return_inverse=True)[1].reshape(-1)
        numbers[:, position] = before * width + cells[:, position]  # from -1 to width - 2
    return numbers


def only_last_is_read(blocks: Sequence[object], place: int) -> bool:
    """Whether no attention comes after the block at `place`, so that of its stream only the last row counts.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> twice = [Attention(one, one, one, one, attends="all")] * 2
        >>> only_last_is_read(twice, 0), only_last_is_read(twice, 1)
        (False, True)
    """
    return not any(isinstance(later, Attention) for later in blocks[place + 1 :])


def distinct_pairs(contexts: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the pairs of a position and a token that occur, each once, and which of them each context has where.

    Args:
        contexts: Tokens, `[T, S]`; -1 behind the end of a context.

    Returns:
        Positions and tokens of the pairs, `[P]` each, and the cells, `[T, S]`, -1 where there is no token.

    Example:
        >>> positions, tokens, cells = distinct_pairs(np.array([[7, 7], [7, 8]]))
        >>> positions.tolist(), tokens.tolist(), cells.tolist()
        ([0, 1, 1], [7, 7, 8], [[0, 1], [0, 2]])
    """
    length = contexts.shape[1]
    width = int(contexts.max(initial=0)) + 1
    there = contexts >= 0
    pairs, places = np.unique((contexts + width * np.arange(length))[there], return_inverse=True)
    cells = np.full(contexts.shape, -1)
    cells[there] = places.reshape(-1)
    return pairs // width, pairs % width, cells
