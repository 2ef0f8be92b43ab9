r"""Which rows an attention reads: the pairs of a query and of the rows that it attends to, each once.

Contexts share rows. The first attention of a model that reads tokens sees one row for each pair of a position and a
token; what a causal attention writes depends on the beginning of a context alone. So a stream is kept as its distinct
rows and, for each context, the cells that say which row is at which position. No number is looked at here: every exact
or enclosing arithmetic evaluates the same looks.

Page: docs/rigour/forward.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from constructions.arrays import Int64Array
from constructions.models.blocks import Attention

Cells = list[tuple[int, ...]]
"""Which distinct row each context has at each position, `[T][S]`."""


@dataclass(frozen=True)
class Looks:
    """What an attention looks at.

    Args:
        queries: Of each look, which row asks; with queries of the task, which example's.
        groups: The looks by the rows that they read.
        cells: Which look each context has at each position that is computed.
    """

    queries: list[int]
    groups: dict[tuple[int, ...], list[int]]
    cells: Cells


def looks_of(block: Attention, cells: Cells, *, only_last: bool) -> Looks:
    """The looks of an attention over contexts.

    Args:
        block: The attention.
        cells: The stream that it reads.
        only_last: Whether nothing later reads any position but the last.

    Returns:
        The looks, in the order in which contexts and positions first have them.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> causal = looks_of(Attention(one, one, one, one, attends="causal"), [(0, 1), (0, 2)], only_last=False)
        >>> causal.queries, causal.groups, causal.cells
        ([0, 1, 2], {(0,): [0], (0, 1): [1], (0, 2): [2]}, [(0, 1), (0, 2)])
    """
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    groups: dict[tuple[int, ...], list[int]] = {}
    seen: Cells = []
    for context, cell in enumerate(cells):
        if block.queries == "task":
            pairs = [(context, cell)]
        elif only_last or block.attends == "last":
            pairs = [(cell[-1], cell)]
        elif block.attends == "causal":
            pairs = [(row, cell[: position + 1]) for position, row in enumerate(cell)]
        else:
            pairs = [(row, cell) for row in cell]
        for query, read in pairs:
            if (query, read) not in numbers:
                groups.setdefault(read, []).append(len(numbers))
                numbers[query, read] = len(numbers)
        seen.append(tuple(numbers[pair] for pair in pairs))
    return Looks([query for query, _ in numbers], groups, seen)


def only_last_is_read(blocks: Sequence[object], place: int) -> bool:
    """Whether no attention comes after the block at `place`, so that of its stream only the last row counts.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> twice = [Attention(one, one, one, one, attends="all")] * 2
        >>> only_last_is_read(twice, 0), only_last_is_read(twice, 1)
        (False, True)
    """
    return not any(isinstance(later, Attention) for later in blocks[place + 1 :])


def distinct_pairs(contexts: Int64Array) -> tuple[Int64Array, Int64Array, Cells]:
    """The pairs of a position and a token that occur, each once, and which of them each context has where.

    Args:
        contexts: Tokens, `[T, S]`.

    Returns:
        Positions and tokens of the pairs, `[P]` each, and the cells.

    Example:
        >>> distinct_pairs(np.array([[7, 7], [7, 8]]))
        (array([0, 1, 1]), array([7, 7, 8]), [(0, 1), (0, 2)])
    """
    index: dict[tuple[int, int], int] = {}
    cells = [tuple(index.setdefault(pair, len(index)) for pair in enumerate(row)) for row in contexts.tolist()]
    positions, tokens = np.array(list(index), dtype=np.int64).reshape(-1, 2).T
    return positions, tokens, cells
