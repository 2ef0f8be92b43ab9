"""Compute the information-theoretic limit for weights that can memorize every labelling.

Page: docs/memories.md
"""

import numpy as np

from constructions.tasks.task import Task


def information_limit(task: Task, bits: int) -> int:
    r"""Return the number of entries, of a given number of bits, needed to memorize every labelling of these contexts.

    P entries tell at most $2^{P b}$ labellings apart, and there are $K^T$ of the K labels that occur.

    Args:
        task: Contexts with labels.
        bits: b.

    Returns:
        The least P with $P b \ge T \log_2 K$.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> information_limit(enumerated_task(16, 2), 32)
        32
    """
    kinds = len(np.unique(task.labels))
    # In integers: 2^(P b) >= K^T.
    return -(-(kinds**task.n_contexts - 1).bit_length() // bits)
