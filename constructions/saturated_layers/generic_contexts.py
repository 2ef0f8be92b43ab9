"""Draw contexts and heads without structure, for which the mixed matrix has the largest rank its shape allows.

Page: docs/claims/context_rank.md
"""

from dataclasses import dataclass

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array


@dataclass(frozen=True, eq=False)
class IntegerLayer:
    r"""Integer examples, and integer maps of heads whose scores are meant in units of $\log 2$.

    The query maps are `W_Q` and the key maps $\log 2$ times `W_K`: attention weights are then rational, $2^{k_i}$ over
    the sum of these.

    Args:
        contexts: Keys, `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        W_Q: Query maps, `[H, d, d_h]`.
        W_K: Key maps, `[H, d, d_h]`, in units of log 2.
    """

    contexts: Int64Array
    queries: Int64Array
    W_Q: Int64Array
    W_K: Int64Array


def integer_heads(*, n_heads: int, d_model: int, d_head: int = 1, seed: int = 0) -> tuple[Int64Array, Int64Array]:
    """Query and key maps of random integers: almost all weights would do, and with these attention is rational.

    The entries of the query maps are positive, so that no query of positive entries is mapped to 0.

    Args:
        n_heads: H, at least 0.
        d_model: d.
        d_head: d_h.
        seed: Seed of the draws.

    Returns:
        `W_Q` and `W_K`, `[H, d, d_h]`, the key maps in units of log 2.

    Raises:
        InputError: A number below 1, or a negative number of heads.

    Example:
        >>> W_Q, W_K = integer_heads(n_heads=2, d_model=3)
        >>> W_Q.shape, W_K.shape
        ((2, 3, 1), (2, 3, 1))
    """
    if n_heads < 0 or d_model < 1 or d_head < 1:
        raise InputError("n_heads", f"= {n_heads}, d_model = {d_model}, d_head = {d_head}", "positive numbers")
    rng = np.random.default_rng([seed, 6])
    shape = (n_heads, d_model, d_head)
    return rng.integers(1, 4, shape), rng.integers(-9999, 10000, shape)


def generic_layer(
    *, examples: int, n_ctx: int, d_model: int, n_heads: int, d_head: int = 1, same_query: bool = True, seed: int = 0
) -> IntegerLayer:
    r"""Draw random integer contexts, with or without a common query: $Z$ has rank $\min(T, H d)$ (Theorem Q5).

    Args:
        examples: T.
        n_ctx: n; with one token the rank is at most d.
        d_model: d.
        n_heads: H.
        d_head: d_h.
        same_query: Whether all examples have one query, (1, .., 1).
        seed: Seed of the draws.

    Returns:
        Examples and maps.

    Raises:
        InputError: A number below 1.

    Source: answers Mahdavi, Liao, Thrampoulidis (2024), Appendix I.

    Example:
        >>> layer = generic_layer(examples=12, n_ctx=2, d_model=3, n_heads=4)
        >>> layer.contexts.shape, layer.queries[3].tolist()
        ((12, 2, 3), [1, 1, 1])
    """
    if min(examples, n_ctx, d_model) < 1:
        raise InputError("examples", f"= {examples}, n_ctx = {n_ctx}, d_model = {d_model}", "at least 1")
    rng = np.random.default_rng([seed, 7])
    W_Q, W_K = integer_heads(n_heads=n_heads, d_model=d_model, d_head=d_head, seed=seed)
    queries = np.ones((examples, d_model), dtype=np.int64)
    if not same_query:
        queries = rng.integers(1, 5, (examples, d_model))
    return IntegerLayer(rng.integers(-99, 100, (examples, n_ctx, d_model)), queries, W_Q, W_K)
