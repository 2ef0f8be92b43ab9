"""Memorize as many random labels as there are features: $d + H d_h$ contexts, d of them by the skip connection.

Page: docs/claims/skip_connection.md
"""

import numpy as np
from flint import fmpq

from constructions.attention.exact_skip_connection import ExactSkipConnection, exact_change_of_basis
from constructions.attention.integer_front_end import integer_front_end, label_targets
from constructions.errors import CapacityError, HypothesisError
from constructions.model.construction import Construction
from constructions.model.exact_network import rounded
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task

_ATTEMPTS = 64  # random front ends of too small a rank, or contexts, before giving up
_CANDIDATES = 4  # of those that work, the one with the smallest output is taken


def full_capacity_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, seed: int
) -> Construction[Task]:
    r"""Memorize random labels of $d + H d_h$ random contexts, more than the heads without skip connection, by a change
    of basis.

    Integer weights are drawn until the features $[X, Y]$ have full rank, then the exact change of basis makes the skip
    connection carry d of the contexts; of a few such weights those with the smallest outputs are kept.

    Args:
        d_vocab: N, at least d.
        n_ctx: S.
        d_model: d.
        d_head: $d_h \le d$.
        n_heads: H, with $d + H d_h \le N^S$.
        seed: Of contexts, labels and weights.

    Returns:
        The weights, rounded to float64, and the labels that they hold.

    Raises:
        CapacityError: No draw has features of full rank.

    Source: Dana, Pydi, Chevaleyre (2024), Section 4.1: the skip connection as one more head.

    Example:
        >>> full_capacity_memory(d_vocab=3, n_ctx=2, d_model=3, d_head=2, n_heads=2, seed=0).summary
        '7 contexts with 2 heads of width 2, which alone reach rank 4: the skip connection carries 3'
    """
    facts = d_model + n_heads * d_head
    everything = all_contexts(d_vocab, n_ctx)
    best: tuple[fmpq, ExactSkipConnection, Int64Array, Int64Array] | None = None
    draws_solved = 0
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng((seed, attempt))
        contexts = everything[np.sort(rng.permutation(len(everything))[:facts])]
        labels = rng.integers(0, d_vocab, facts)
        front_end = integer_front_end(
            d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=(seed, attempt, 1)
        )
        try:
            change_of_basis = exact_change_of_basis(front_end, contexts, *label_targets(labels, d_vocab))
        except HypothesisError:
            continue
        if change_of_basis.condition.with_skip < facts:
            continue
        size = np.abs(change_of_basis.model.W_O).max()
        if best is None or size < best[0]:
            best = size, change_of_basis, contexts, labels
        draws_solved += 1
        if draws_solved == _CANDIDATES:
            break
    if best is None:
        raise CapacityError(
            "The skip connection at full capacity",
            f"contexts and integer weights with features [X, Y] of rank d + H d_h = {facts}",
            f"{_ATTEMPTS} random choices have a smaller rank; try another seed",
        )
    _, change_of_basis, contexts, labels = best
    task = array_task(contexts, next_tokens=labels, vocabulary=d_vocab, target="labels")
    return Construction(
        task,
        rounded(change_of_basis.model),
        f"{facts} contexts with {n_heads} heads of width {d_head}, which alone reach rank {n_heads * d_head}: the "
        f"skip connection carries {d_model}",
    )
