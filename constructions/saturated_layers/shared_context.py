"""Build heads for one shared context, from one direction in which the queries differ.

Page: docs/claims/context_rank.md
"""

import numpy as np

from constructions.errors import HypothesisError, InputError
from constructions.numeric.arrays import Int64Array
from constructions.saturated_layers.generic_contexts import IntegerLayer

_DRAWS = 200


def positive_direction(queries: Int64Array, *, seed: int = 0) -> Int64Array:
    r"""Return integers w with numbers $\langle w, e_t \rangle$ that are positive and pairwise distinct.

    Args:
        queries: Integers, `[T, d]`.
        seed: Seed of the draws.

    Returns:
        w, `[d]`: the first of the unit vectors and of random small integers that will do.

    Raises:
        InputError: No integers `[T, d]`.
        HypothesisError: None of them will do; there may be none, as with the queries e and -e.

    Source: Theorem Q2.

    Example:
        >>> positive_direction(np.array([[1, 5], [2, 5], [3, 5]])).tolist()
        [1, 0]
    """
    array = np.asarray(queries)
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape:
        raise InputError("queries", f"is {array.dtype} of shape {array.shape}", "integers [T, d]")
    d_model = array.shape[1]
    draws = np.random.default_rng([seed, 9]).integers(-9, 10, (_DRAWS, d_model))
    for direction in np.concatenate([np.eye(d_model, dtype=np.int64), -np.eye(d_model, dtype=np.int64), draws]):
        heights = array @ direction
        if heights.min() > 0 and len(np.unique(heights)) == len(heights):
            return direction
    raise HypothesisError(
        "Theorem Q2",
        "a direction in which all queries are positive and distinct",
        f"none found for {len(array)} queries",
    )


def one_direction_layer(context: Int64Array, queries: Int64Array, *, n_heads: int, seed: int = 0) -> IntegerLayer:
    r"""Return heads of width one for a shared context: a common query map w and random key directions.

    For almost all key directions $Z$ has rank $\min(T, H (n - 1) + 1)$ (Theorem Q2), the most that any weights reach.
    No query has to be independent of any other.

    Args:
        context: Integer keys, `[n, d]`, of rank n.
        queries: Integer queries, `[T, d]`.
        n_heads: H.
        seed: Seed of the directions.

    Returns:
        The examples and the maps.

    Raises:
        InputError: No integers of such shapes, or no head.
        HypothesisError: No direction in which all queries are positive and distinct.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Remark 1, as reconstructed.

    Example:
        >>> layer = one_direction_layer(np.eye(3, dtype=np.int64), np.array([[1, 0, 0], [2, 0, 0]]), n_heads=4)
        >>> layer.W_Q[2].ravel().tolist(), layer.contexts.shape
        ([1, 0, 0], (1, 3, 3))
    """
    keys = np.asarray(context)
    if keys.ndim != 2 or keys.dtype.kind not in "iu" or n_heads < 1 or keys.shape[1] != np.shape(queries)[-1]:
        raise InputError("context", f"is {keys.dtype} of shape {keys.shape}, n_heads = {n_heads}: they do not fit")
    direction = positive_direction(queries, seed=seed)
    rng = np.random.default_rng([seed, 10])
    W_K = rng.integers(-9999, 10000, (n_heads, keys.shape[1], 1))
    return IntegerLayer(keys[None], np.asarray(queries), np.tile(direction[:, None], (n_heads, 1, 1)), W_K)


def line_queries(count: int, d_model: int) -> Int64Array:
    """Return the queries e, 2e, 3e, ... with e = (1, ..., 1), which are pairwise dependent.

    Args:
        count: T.
        d_model: d.

    Returns:
        `[T, d]`.

    Example:
        >>> line_queries(3, 2).tolist()
        [[1, 1], [2, 2], [3, 3]]
    """
    return np.arange(1, count + 1, dtype=np.int64)[:, None] * np.ones(d_model, dtype=np.int64)


def confined_queries(count: int, d_model: int, kruskal: int) -> Int64Array:
    r"""Return queries of Kruskal rank exactly k: $(1, t, \dots, t^{k-1}, 0, \dots, 0)$ for t = 1, 2, ..

    Any k of them are independent, by Vandermonde's determinant, and they span k dimensions only.

    Args:
        count: T, more than k.
        d_model: d, at least k.
        kruskal: k, at least 1.

    Returns:
        `[T, d]`.

    Raises:
        InputError: A number out of range, or powers of 2^63 and more.

    Example:
        >>> confined_queries(3, 4, 2).tolist()
        [[1, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 0]]
    """
    if not 1 <= kruskal <= d_model or count <= kruskal:
        raise InputError("kruskal", f"= {kruskal}, d_model = {d_model}, count = {count}", "1 <= k <= d and k < T")
    if count ** (kruskal - 1) >= 2**63:
        raise InputError("count", f"= {count}, kruskal = {kruskal}", "powers T^(k-1) below 2^63")
    powers = np.arange(1, count + 1, dtype=np.int64)[:, None] ** np.arange(kruskal)
    return np.concatenate([powers, np.zeros((count, d_model - kruskal), dtype=np.int64)], axis=1)
