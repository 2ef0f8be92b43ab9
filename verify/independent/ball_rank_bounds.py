r"""Bounds of the rank of features: from below by determinants of balls, from above by ranks of integer matrices.

Page: docs/rigour/certificate.md
"""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

from flint import arb_mat, fmpz_mat

from verify.arithmetic.integers import Integers, product, split
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask

_LARGEST_EXACT = 2**24  # rows * columns * rank of an integer matrix that is eliminated
LARGEST_DETERMINANT = 2**10  # rows: a minute
_TRIES = 2

Rows = set[tuple[int, ...]]


def has_rank(matrix: arb_mat, rank: int) -> bool:
    r"""Whether every real matrix in these balls is proved to have at least this rank.

    For any $P$ and $Q$ the rank of $A$ is at least that of $P A Q$, and a determinant whose ball does not hold 0 is not
    0. $P$ and $Q$ have pseudo-random entries of a few bits, or are the identity where `rank` is a side of the matrix;
    they prove what they prove whatever they are. At the precision of the context.

    Args:
        matrix: Balls, `[rows, columns]`.
        rank: What is to be proved.

    Example:
        >>> has_rank(arb_mat([[1, 2, 3], [2, 4, 6], [1, 0, 1]]), 2), has_rank(arb_mat([[1, 2], [2, 4]]), 2)
        (True, False)
    """
    rows, columns = matrix.nrows(), matrix.ncols()
    if rank == 0:
        return True
    if rank > min(rows, columns, LARGEST_DETERMINANT):
        return False
    for attempt in range(_TRIES):
        squeezed = matrix if rank == columns else matrix * _drawn(columns, rank, f"right {attempt}")
        squeezed = squeezed if rank == rows else _drawn(rank, rows, f"left {attempt}") * squeezed
        determinant = squeezed.det()
        if determinant.is_finite() and determinant != 0:
            return True
        if rank == rows == columns:
            break
    return False


def _drawn(rows: int, columns: int, name: str) -> arb_mat:
    """Integers from -128 to 127, drawn by a name."""
    data = hashlib.shake_128(f"{name} {rows} {columns}".encode()).digest(rows * columns)
    return arb_mat(rows, columns, [byte - 128 for byte in data])


def upper_for_these_weights(model: PlainModel, task: PlainTask | PlainVectorTask, *, with_skip: bool) -> int:
    r"""An upper bound of the rank of the features for these weights (Lemma C7).

    Args:
        model: One attention.
        task: The contexts.
        with_skip: Whether the embedded last token stands beside what the heads read.
    """
    read, lasts, apart = _rows(model, task)
    block, width = model.blocks[0], model.d_model
    heads = block.shape("W_Q")[0]
    identity = fmpz_mat(width, width, [int(i == j) for i in range(width) for j in range(width)])
    maps = [identity] * heads
    if isinstance(task, PlainTask):
        values, entries = block.tensors["W_V"], width * block.shape("W_V")[2]
        numbers = split(Integers.exact(values.values).values, entries) if entries else []
        maps = [fmpz_mat(width, len(numbers[h]) // width, list(numbers[h])) for h in range(heads)]
    apart_of = [_rank(apart, each, width) for each in maps]
    last = _rank(lasts, identity, width) if with_skip else 0
    found = [last + sum(_rank(read, each, width) for each in maps)]
    if with_skip:
        found.append(last + sum(apart_of))
    elif maps:
        all_maps = _beside(maps, width)
        found.append(_rank(lasts, all_maps, width) + sum(apart_of))
        found.append(_rank(read, all_maps, width) + sum(apart_of) - max(apart_of))
    return min(found)


def upper_for_all_weights(model: PlainModel, task: PlainTask | PlainVectorTask, *, with_skip: bool) -> int:
    r"""An upper bound of the rank of the features for all weights of these sizes (Theorem G3; Lemma C7 for vectors)."""
    if isinstance(task, PlainVectorTask):
        return upper_for_these_weights(model, task, with_skip=False)
    heads, width, _ = model.blocks[0].shape("W_Q")
    d_head = model.blocks[0].shape("W_V")[2]
    classes: dict[int, list[tuple[int, ...]]] = {}
    for context in task.contexts:
        classes.setdefault(context[-1], []).append(context)
    pairs = {(s, t) for context in task.contexts for s, t in enumerate(context)}
    last = len(task.contexts[0]) - 1
    ends = {(s, t, context[-1]) for context in task.contexts for s, t in enumerate(context[:-1])}
    apart = [[(("token", t), 1), (("token", end), -1), (s, 1), (last, -1)] for s, t, end in ends]
    per_head = min(width, d_head, _formal_rank(apart))
    members = ([[("all", 1), *((pair, 1) for pair in enumerate(each[:-1]))] for each in of] for of in classes.values())
    free = sum(_formal_rank(vectors) - 1 for vectors in members)
    found = [min(width, len(classes)) + heads * per_head, len(classes) + heads * free]
    if not with_skip and heads:
        found.append((heads - 1) * per_head + min(width, _formal_rank([[(("token", t), 1), (s, 1)] for s, t in pairs])))
    return min(found)


def _rows(model: PlainModel, task: PlainTask | PlainVectorTask) -> tuple[Rows, Rows, Rows]:
    """The different rows that the heads read, those at last positions, and each less the last one of its context."""
    if isinstance(task, PlainVectorTask):
        length, width = task.contexts.shape[1:]
        rows = list(map(tuple, split(Integers.exact(task.contexts.values).values, width)))
        contexts = [rows[i : i + length] for i in range(0, len(rows), length)]
    else:
        tokens, positions = model.tensors["embed.W_E"], model.tensors["pos_embed.W_pos"]
        exact = split(Integers.exact([*tokens.values, *positions.values]).values, model.d_model)
        first = tokens.shape[0]
        stream = {
            (s, t): tuple(a + b for a, b in zip(exact[t], exact[first + s], strict=True))
            for context in task.contexts
            for s, t in enumerate(context)
        }
        contexts = [[stream[pair] for pair in enumerate(context)] for context in task.contexts]
    pairs = {(row, rows[-1]) for rows in contexts for row in rows[:-1]}
    apart = {tuple(a - b for a, b in zip(row, last, strict=True)) for row, last in pairs}
    return {row for rows in contexts for row in rows}, {rows[-1] for rows in contexts}, apart


def _formal_rank(vectors: Sequence[Sequence[tuple[Hashable, int]]]) -> int:
    """The rank of sums of basis vectors, each by its name and its coefficient."""
    places: dict[Hashable, int] = {}
    for name, _ in chain.from_iterable(vectors):
        places.setdefault(name, len(places))
    if not vectors:
        return 0
    matrix = fmpz_mat(len(vectors), len(places))
    for row, vector in enumerate(vectors):
        for name, coefficient in vector:
            matrix[row, places[name]] += coefficient
    return matrix.rank()


def _beside(maps: Sequence[fmpz_mat], rows: int) -> fmpz_mat:
    """The maps in one matrix."""
    tables = [each.tolist() for each in maps]
    entries = [entry for i in range(rows) for table in tables for entry in table[i]]
    return fmpz_mat(rows, len(entries) // rows, entries)


def _rank(rows: Rows, through: fmpz_mat, width: int) -> int:
    """The rank of the rows times a matrix; the smaller side where the product is too large to eliminate."""
    smaller = min(len(rows), width, through.ncols())
    if smaller == 0 or len(rows) * through.ncols() * smaller > _LARGEST_EXACT:
        return smaller
    return product(fmpz_mat(len(rows), width, _entries(rows)), through).rank()


def _entries(rows: Iterable[tuple[int, ...]]) -> list[int]:
    return [entry for row in rows for entry in row]
