r"""Examples drawn uniformly, with random labels.

Page: docs/claims/saturated_heads.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from constructions.tasks.vectors import VectorTask


def uniform_examples(
    *, examples: int, n_ctx: int, d_model: int, shared: bool, seed: int
) -> tuple[Float64Array, Float64Array]:
    """Draw contexts and queries with independent entries, uniform in [0, 1]: the synthetic data of the paper.

    Args:
        examples: T.
        n_ctx: n.
        d_model: d.
        shared: Whether all examples have one context.
        seed: Seed of the draws.

    Returns:
        Contexts `[T, n, d]` or `[1, n, d]`, and queries `[T, d]`.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 5.2.

    Example:
        >>> contexts, queries = uniform_examples(examples=5, n_ctx=2, d_model=3, shared=True, seed=0)
        >>> contexts.shape, queries.shape
        ((1, 2, 3), (5, 3))
    """
    rng = np.random.default_rng([seed, 4])
    return rng.uniform(size=(1 if shared else examples, n_ctx, d_model)), rng.uniform(size=(examples, d_model))


def labelled(
    contexts: Float64Array, queries: Float64Array, *, outputs: int = 1, classes: int = 0, seed: int = 0
) -> VectorTask:
    """Draw labels for given examples: numbers uniform in [0, 1], or classes.

    Args:
        contexts: `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        outputs: Numbers per example.
        classes: Number of classes; 0 for numbers.
        seed: Seed of the labels.

    Returns:
        The task.

    Raises:
        InputError: An argument out of range.

    Example:
        >>> labelled(np.eye(2)[None], np.eye(2), classes=3).labels.sum(axis=1).tolist()
        [1.0, 1.0]
    """
    if outputs < 1 or classes < 0 or classes == 1:
        raise InputError("outputs", f"= {outputs} and classes = {classes}", "outputs >= 1 and classes 0 or >= 2")
    rng = np.random.default_rng([seed, 5])
    if classes:
        return VectorTask(
            contexts, queries, np.eye(classes)[rng.integers(classes, size=len(queries))], "classification"
        )
    return VectorTask(contexts, queries, rng.uniform(size=(len(queries), outputs)))
