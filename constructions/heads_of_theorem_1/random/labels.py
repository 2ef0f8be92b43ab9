"""Memorize random labels of all $N^S$ contexts with the heads of Theorem 1', given only sizes and a seed.

Pages: docs/claims/closed_forms.md, docs/claims/corollary_2.md, docs/claims/association_memory.md
"""

from fractions import Fraction

import numpy as np

from constructions.attention.capacity.expected_accuracy import expected_accuracy, partial_task, solvable_contexts
from constructions.attention.capacity.windows import all_contexts_heads
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.model.construction import Construction
from constructions.tasks.arrays import all_contexts, enumerated_task
from constructions.tasks.task import Task


def fewest_heads_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int = 0, seed: int = 0
) -> Construction[Task]:
    r"""Return weights that memorize random labels of all $N^S$ contexts with as few heads as Theorem S5 allows.

    Args:
        d_vocab: N.
        n_ctx: S, at least 2.
        d_model: d.
        d_head: $d_h \le \min(d, N)$.
        n_heads: H; 0 for the fewest.
        seed: Seed of the labels and the weights.

    Returns:
        The weights, and the labels that they hold.

    Raises:
        CapacityError: Fewer heads than needed.
        HypothesisError: S = 1, $d_h > N$, or d = 1 with three or more labels.
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, where it holds.

    Example:
        >>> fewest_heads_memory(d_vocab=3, n_ctx=2, d_model=3, d_head=2).summary
        'labels of all 9 contexts of 2 tokens, N = 3, with d = 3, d_h = 2 and H = 3, the fewest heads'
    """
    fewest = all_contexts_heads(d_vocab, n_ctx, d_model=d_model, d_head=d_head)
    count = n_heads or fewest
    task = enumerated_task(d_vocab, n_ctx, seed=seed)
    built = build_memory(task, d_model=d_model, d_head=d_head, n_heads=count, seed=seed, fewest_heads=fewest)
    summary = (
        f"labels of all {task.n_contexts} contexts of {n_ctx} tokens, N = {d_vocab}, with d = {d_model}, "
        f"d_h = {d_head} and H = {count}{', the fewest heads' if count == fewest else ''}"
    )
    return Construction(task=task, model=built.model, summary=summary)


def partial_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, seed: int
) -> Construction[Task]:
    """Memorize random labels of as many contexts as the heads provably allow; the other contexts are ignored.

    Args:
        d_vocab: Size of the vocabulary N.
        n_ctx: Length of the contexts S.
        d_model: Width d, at least 2.
        d_head: Width of a head.
        n_heads: Number of heads H, at least 1.
        seed: Seed of the labels and of the weights.

    Returns:
        The network; its task memorizes K contexts and has the others for its tail.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Corollary 2.

    Example:
        >>> partial_memory(d_vocab=2, n_ctx=2, d_model=2, d_head=1, n_heads=1, seed=0).summary
        '3 of 4 contexts in 1 heads of dimension 1, d = 2: accuracy 7/8 on average over the labels of the others'
    """
    contexts = all_contexts(d_vocab, n_ctx)
    labels = np.random.default_rng(seed).integers(0, d_vocab, len(contexts))
    solved = solvable_contexts(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    task = partial_task(contexts, labels, solved, d_vocab=d_vocab)
    network = build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed).model
    accuracy = expected_accuracy(d_vocab, Fraction(len(solved), len(contexts)))
    summary = (
        f"{len(solved)} of {len(contexts)} contexts in {n_heads} heads of dimension {d_head}, d = {d_model}: "
        f"accuracy {accuracy} on average over the labels of the others"
    )
    return Construction(task, network, summary)


def planar_memory(*, d_vocab: int, n_ctx: int, n_heads: int, d_head: int, seed: int) -> Construction[Task]:
    """Return a memory of one random label per context in two dimensions, on the circle if there are more than four
    labels.

    Args:
        d_vocab: Size of the vocabulary N.
        n_ctx: Length of the contexts S; all $N^S$ are memorized.
        n_heads: Number of heads H.
        d_head: Width of a head, 1 or 2.
        seed: Seed of the labels and of the weights.

    Returns:
        The network, d = 2, and its task.

    Raises:
        CapacityError: Too few heads.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> planar_memory(d_vocab=3, n_ctx=2, n_heads=5, d_head=2, seed=0).summary
        '9 labels in d = 2: N = 3, S = 2, H = 5, d_h = 2'
    """
    task = enumerated_task(d_vocab, n_ctx, seed=seed)
    network = build_memory(task, d_model=2, d_head=d_head, n_heads=n_heads, seed=seed).model
    summary = f"{task.n_contexts} labels in d = 2: N = {d_vocab}, S = {n_ctx}, H = {n_heads}, d_h = {d_head}"
    return Construction(task, network, summary)
