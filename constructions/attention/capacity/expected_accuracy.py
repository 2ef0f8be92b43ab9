"""Lower-bound how many contexts heads memorize, which contexts these are, and the accuracy over random labels.

Pages: docs/claims/corollary_2.md, docs/claims/corollary_1.md
"""

from fractions import Fraction

import numpy as np

from constructions.attention.capacity.generic_rank import check_sizes, generic_rank
from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts
from constructions.tasks.task import Counts, Task


def guaranteed_number(contexts: Int64Array, *, d_model: int, n_heads: int) -> int:
    r"""Return a universal lower bound of the number of contexts that can be memorized, for any contexts and any labels.

    For $S \ge 2$ it is $\max(j, \min(T, H + \min(d, j)))$ with j the number of distinct last tokens; for S = 1 all T.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width d, at least 2 unless there are only two labels.
        n_heads: Number of heads H, of any dimension.

    Returns:
        The bound.

    Raises:
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> guaranteed_number(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]), d_model=2, n_heads=1)
        2
        >>> guaranteed_number(np.array([[n, n] for n in range(9)]), d_model=2, n_heads=0)
        9
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=1, n_heads=n_heads)
    last_tokens = len(np.unique(contexts[:, -1]))
    if contexts.shape[1] == 1:
        return len(contexts)
    return max(last_tokens, min(len(contexts), n_heads + min(d_model, last_tokens)))


def solvable_contexts(contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int) -> Int64Array:
    r"""Return the first contexts, in the given order, that some weights memorize together whatever their labels.

    A context is taken if the features $[x_S \mid Y]$ of it and of those taken before have full generic rank. The
    contexts form a matroid, so with the most likely ones first no other set of independent features is more likely.

    Args:
        contexts: Pairwise distinct contexts, most likely first, `[T, S]`.
        d_model: Width d.
        d_head: Width of a head.
        n_heads: Number of heads H.

    Returns:
        Row numbers, increasing.

    Raises:
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Corollary 2.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> solvable_contexts(xor, d_model=2, d_head=2, n_heads=1)
        array([0, 1, 2])
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    kept: list[int] = []
    for row in range(len(contexts)):
        if len(kept) == d_model + n_heads * d_head:
            break
        rank = generic_rank(contexts[[*kept, row]], d_model=d_model, d_head=d_head, n_heads=n_heads)
        if rank == len(kept) + 1:
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def partial_task(contexts: Int64Array, labels: Int64Array, solved: Int64Array, *, d_vocab: int) -> Task:
    """Return a task of equally likely contexts; some are to be memorized, and the others remain.

    Args:
        contexts: All contexts, `[T, S]`.
        labels: Their labels, `[T]`.
        solved: Rows of those to memorize.
        d_vocab: Size of the vocabulary.

    Returns:
        The task.

    Example:
        >>> task = partial_task(np.array([[0], [1]]), np.array([1, 0]), np.array([1]), d_vocab=2)
        >>> task.contexts.tolist(), task.tail_contexts.tolist(), task.prior.tolist()
        ([[1]], [[0]], [0.5])
    """
    rest = np.setdiff1d(np.arange(len(contexts)), solved)
    counts = [Counts.from_rows([{int(labels[row]): 1} for row in rows]) for rows in (solved, rest)]
    return Task(
        target="labels",
        vocabulary=tuple(map(str, range(d_vocab))),
        contexts=contexts[solved],
        counts=counts[0],
        labels=labels[solved],
        distributions=None,
        prior=np.full(len(solved), 1 / len(contexts)),
        tail_contexts=contexts[rest],
        tail_counts=counts[1],
    )


def expected_accuracy(d_vocab: int, solved: Fraction) -> Fraction:
    r"""Return the mean accuracy over independent uniform labels of the contexts that are not memorized: $\frac1N +
    (1-\frac1N) m$.

    Weights that do not depend on a label predict it with probability $1/N$, so the mean is $m + (1 - m) / N$.

    Args:
        d_vocab: Number of labels N.
        solved: Probability m of the memorized contexts; K / T if all T contexts are equally likely.

    Returns:
        The mean accuracy, exactly.

    Raises:
        InputError: No label, or a probability outside [0, 1].

    Source: repairs Dana, Pydi, Chevaleyre (2024), Corollary 2.

    Example:
        >>> expected_accuracy(2, Fraction(3, 4))
        Fraction(7, 8)
    """
    if d_vocab < 1 or not 0 <= solved <= 1:
        raise InputError("d_vocab", f"= {d_vocab} and solved = {solved}", "N >= 1 and a probability")
    return Fraction(1, d_vocab) + (1 - Fraction(1, d_vocab)) * solved
