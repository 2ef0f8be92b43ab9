"""Draw random contexts and random labels.

Page: docs/claims/knots.md
"""

import random

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task


def random_facts(*, d_vocab: int, n_ctx: int, facts: int, seed: int) -> Task:
    """Draw distinct random contexts with random labels.

    Args:
        d_vocab: N.
        n_ctx: S.
        facts: T, at most the $N^S$ contexts there are, and these at most 2^20.
        seed: Of contexts and labels.

    Returns:
        The task.

    Raises:
        InputError: Other sizes.

    Example:
        >>> random_facts(d_vocab=3, n_ctx=2, facts=9, seed=0).n_contexts
        9
    """
    contexts = random_contexts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=seed)
    labels = np.random.default_rng([seed, 1]).integers(0, d_vocab, facts)
    return array_task(contexts, next_tokens=labels, vocabulary=d_vocab, target="labels")


def random_contexts(*, d_vocab: int, n_ctx: int, facts: int, seed: int) -> Int64Array:
    """Draw distinct random contexts, `[T, S]`.

    Args:
        d_vocab: N.
        n_ctx: S.
        facts: T, at most the $N^S$ contexts there are, and these at most 2^20.
        seed: Seed of the draw.

    Raises:
        InputError: Other sizes.

    Example:
        >>> random_contexts(d_vocab=2, n_ctx=2, facts=4, seed=0).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    count = d_vocab**n_ctx
    if not 1 <= facts <= count <= 2**20:
        raise InputError("facts", f"= {facts}, of {count} contexts", "1 <= T <= N^S <= 2^20")
    chosen = np.random.default_rng([seed, facts]).choice(count, facts, replace=False)
    return all_contexts(d_vocab, n_ctx)[np.sort(chosen)]


def drawn_contexts(d_vocab: int, n_ctx: int, facts: int, seed: int) -> Int64Array:
    """Return all $N^S$ contexts, or some of them drawn at random, in order, `[T, S]`.

    Raises:
        InputError: An argument out of range.

    Example:
        >>> drawn_contexts(2, 1, 0, 0).tolist()
        [[0], [1]]
    """
    if d_vocab < 1 or n_ctx < 1:
        raise InputError("d_vocab", f"= {d_vocab} and n_ctx = {n_ctx}", "at least 1")
    number = d_vocab**n_ctx
    if not 0 <= facts <= number or (facts and number >= 2**62):
        raise InputError("facts", f"= {facts}", f"0 .. {number}, because there are {d_vocab}^{n_ctx} contexts")
    if not facts:
        return all_contexts(d_vocab, n_ctx)
    chosen = np.array(sorted(random.Random(seed).sample(range(number), facts)))
    return chosen[:, None] // d_vocab ** np.arange(n_ctx - 1, -1, -1) % d_vocab
