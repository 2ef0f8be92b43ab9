r"""Examples that meet some of the assumptions of Mahdavi et al. and not the others.

Page: docs/claims/assumptions.md
"""

import numpy as np

from constructions.errors import HypothesisError
from constructions.numeric.arrays import Float64Array

_SOURCE = "Mahdavi, Liao, Thrampoulidis (2024), Assumptions 1 to 3 and Section 5.1"


def coinciding_means(*, examples: int, n_ctx: int, d_model: int, seed: int = 0) -> tuple[Float64Array, Float64Array]:
    r"""Return examples whose vectors $e^{(t)} + \frac1n \sum_i E^{(t)}_i$ are all equal to one vector c.

    Random integers; the last token of context t is $n (c - e^{(t)})$ less the sum of the others. For $d \ge n$ they
    satisfy Assumptions 1 and 2 unless a polynomial vanishes by accident, and Assumption 3 for no n, T >= 2.

    Args:
        examples: T.
        n_ctx: n.
        d_model: d.
        seed: Seed of the integers.

    Returns:
        Contexts `[T, n, d]` and queries `[T, d]`.

    Raises:
        HypothesisError: n < 2, T < 2 or d < n.

    Example:
        >>> contexts, queries = coinciding_means(examples=3, n_ctx=2, d_model=3)
        >>> np.unique(queries + contexts.sum(axis=1) / 2, axis=0).shape
        (1, 3)
    """
    if not 2 <= n_ctx <= d_model or examples < 2:
        raise HypothesisError(_SOURCE, "2 <= n <= d and T >= 2", f"n = {n_ctx}, d = {d_model}, T = {examples}")
    rng = np.random.default_rng([seed, 11])
    queries = rng.integers(-9, 10, (examples, d_model)).astype(np.float64)
    contexts = rng.integers(-9, 10, (examples, n_ctx, d_model)).astype(np.float64)
    common = rng.integers(-9, 10, d_model).astype(np.float64)
    contexts[:, -1] = n_ctx * (common - queries) - contexts[:, :-1].sum(axis=1)
    return contexts, queries


def hidden_relation(*, examples: int, size: int, d_model: int, seed: int = 0) -> tuple[Float64Array, tuple[int, ...]]:
    r"""Draw integer queries, the last of which is the sum of `size` - 1 others.

    One dependent subset among $\binom{T}{n}$: random subsets hardly ever meet it.

    Args:
        examples: T.
        size: n.
        d_model: d.
        seed: Seed of the integers.

    Returns:
        Queries `[T, d]`, and the n numbers of those that are dependent.

    Raises:
        HypothesisError: n < 2 or T < n.

    Example:
        >>> queries, rows = hidden_relation(examples=6, size=3, d_model=4)
        >>> queries.shape, len(rows), rows[-1]
        ((6, 4), 3, 5)
    """
    if not 2 <= size <= examples:
        raise HypothesisError(_SOURCE, "2 <= n <= T", f"n = {size}, T = {examples}")
    rng = np.random.default_rng([seed, 12])
    queries = rng.integers(-99, 100, (examples, d_model)).astype(np.float64)
    chosen = rng.choice(examples - 1, size - 1, replace=False)
    queries[-1] = queries[chosen].sum(axis=0)
    return queries, (*sorted(chosen.tolist()), examples - 1)


def dominant_direction(*, examples: int, d_model: int, share: float) -> Float64Array:
    """Return dyadic vectors close to a common direction: a narrow spectrum.

    Args:
        examples: T.
        d_model: d.
        share: How far the vectors are from it.

    Returns:
        Vectors `[T, d]`.

    Example:
        >>> dominant_direction(examples=3, d_model=5, share=2**-20).shape
        (3, 5)
    """
    rng = np.random.default_rng([0, 13])
    return 1.0 + share * rng.integers(-8, 9, (examples, d_model)).astype(np.float64)


def absorbing_mean(*, examples: int, n_ctx: int, d_model: int, seed: int = 0) -> tuple[Float64Array, Float64Array]:
    """Return one shared context with minus its mean in the affine hull of n queries: the exact obstacle to
    Assumption 3.

    Args:
        examples: T.
        n_ctx: n.
        d_model: d.
        seed: Seed of the integers.

    Returns:
        Contexts `[1, n, d]` and queries `[T, d]`.

    Raises:
        HypothesisError: n < 2, d < n or T < n.

    Example:
        >>> contexts, queries = absorbing_mean(examples=4, n_ctx=2, d_model=3)
        >>> bool((contexts[0].mean(axis=0) == -(2 * queries[0] - queries[1])).all())
        True
    """
    if not 2 <= n_ctx <= min(d_model, examples):
        raise HypothesisError(_SOURCE, "2 <= n <= d, T", f"n = {n_ctx}, d = {d_model}, T = {examples}")
    rng = np.random.default_rng([seed, 14])
    queries = rng.integers(-9, 10, (examples, d_model)).astype(np.float64)
    context = rng.integers(-9, 10, (n_ctx, d_model)).astype(np.float64)
    affine = queries[0] + (queries[: n_ctx - 1] - queries[1:n_ctx]).sum(axis=0)
    context[-1] = -n_ctx * affine - context[:-1].sum(axis=0)
    return context[None], queries
