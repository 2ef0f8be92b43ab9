"""Build attention of full rank and use it for labels: as many contexts as their features have rank.

Page: docs/constructions.md
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.linalg

from constructions.attention.full_rank import FullRankAttention, full_rank_attention
from constructions.counted import counted
from constructions.errors import require_at_least, require_one_of
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.model.attention import features, last
from constructions.model.construction import Construction
from constructions.named.context_rows import ContextRows
from constructions.named.labelled_contexts import as_rows, labelled, part_of, require_distinct
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task

LEMMA = "Dana et al. (2024), Lemma 2"

_NEGLIGIBLE = 1e-9  # of the largest pivot
_DRAWS = 4  # at most, where float64 does not see full rank: a draw may be badly conditioned


@dataclass(frozen=True, eq=False, kw_only=True)
class FullRankMemory(Construction[Task]):
    r"""Weights whose features have the largest possible rank and memorize random labels of as many contexts.

    Args:
        heads: What is promised of the rank, and what limits it.
        with_skip: Whether the labels rest on $[x_S \mid Y]$, or on the heads alone, Y.
    """

    heads: FullRankAttention
    with_skip: bool


def full_rank_memory(
    contexts: ContextRows | Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: int = 0, seed: int = 0
) -> FullRankMemory:
    r"""Draw heads of the generic rank for contexts, and read random labels from as many of them.

    r contexts with linearly independent features get their labels, drawn at random, from $W_O$ and $W_U$; the labels
    of the others are drawn too, and come out as they may. So at least r of T labels are memorized, which is what is
    asked; with r = T, all.

    Args:
        contexts: Pairwise distinct contexts, of a file or `[T, S]`.
        d_model: Width of the stream, d.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, H.
        with_skip: 0 to rest on the features of the heads alone, Y; 1 on those with $x_S$ next to them.
        seed: Of all draws.

    Returns:
        A network with a skip connection, whose heads are those of `full_rank_attention`, and the labels.

    Raises:
        HypothesisError: Equal contexts.
        InputError: A size out of range.
        CapacityError: With the skip connection, where no change of basis was found.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, repaired: Theorem G1.

    Example:
        >>> xor = ContextRows(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]), ("0", "1"))
        >>> full_rank_memory(xor, d_model=4, d_head=4, n_heads=1).criterion.describe("labels")
        'at least 3 argmaxes are right'
    """
    require_one_of((0, 1), with_skip=with_skip)
    require_at_least(1, d_model=d_model, d_head=d_head, n_heads=n_heads)
    contexts = as_rows(contexts)
    require_distinct(contexts, theorem=LEMMA)
    sizes: dict[str, Any] = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}

    def drawn(seed: int) -> tuple[FullRankAttention, Float64Array]:
        heads = full_rank_attention(
            np.unique(contexts.tokens, axis=0), d_vocab=len(contexts.vocabulary), seed=seed, **sizes
        )
        matrix = features(heads.front_end, heads.contexts)
        return heads, np.hstack([last(heads.front_end, heads.contexts), matrix]) if with_skip else matrix

    heads, matrix = drawn(seed)
    rows = independent_rows(matrix)
    for other in range(1, _DRAWS):
        if len(rows) == min(matrix.shape):
            break
        candidate, matrix = drawn(seed + other)
        if len(independent := independent_rows(matrix)) > len(rows):
            heads, rows = candidate, independent
    rank, count = len(rows), len(heads.contexts)
    # So many labels that the most frequent one holds fewer contexts than the rank; one dimension tells two apart.
    kinds = 2 if d_model == 1 else max(len(contexts.vocabulary), -(-2 * count // rank))
    task = labelled(contexts, theorem=LEMMA, seed=seed, kinds=kinds)
    built = build_memory(task if rank == count else part_of(task, rows), seed=seed, **sizes)
    of_what = "the heads and the skip connection" if with_skip else "the heads alone"
    summary = (
        f"labels at random on {counted(count, 'context')} of {counted(task.n_ctx, 'token')}, {rank} of them free by "
        f"the rank of {of_what}: N = {task.d_vocab}, d = {d_model}, d_h = {d_head}, H = {n_heads}"
    )
    criterion = Criterion() if rank == count else Criterion.at_least(rank)
    return FullRankMemory(
        task=task, model=built.model, summary=summary, criterion=criterion, heads=heads, with_skip=bool(with_skip)
    )


def independent_rows(matrix: Float64Array) -> Int64Array:
    """Return row numbers of a maximal, well-conditioned set of independent rows, as far as float64 tells.

    The rows that a QR factorization with pivoting takes first: each is the one farthest from the span of the earlier
    ones.

    Example:
        >>> independent_rows(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])).tolist()
        [1, 2]
    """
    _, triangle, order = cast(Any, scipy.linalg.qr(matrix.T, mode="economic", pivoting=True))
    pivots = np.abs(np.diagonal(triangle))
    return np.sort(order[: np.count_nonzero(pivots > _NEGLIGIBLE * pivots.max(initial=0.0))]).astype(np.int64)
