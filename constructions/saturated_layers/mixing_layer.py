r"""One layer of uniform attention with a skip connection, after which queries that were equal are independent.

Page: docs/claims/mixing_layer.md
"""

from dataclasses import dataclass

import numpy as np

from constructions.errors import HypothesisError, InputError
from constructions.model.exact_network import as_rationals
from constructions.numeric.arrays import Int64Array


@dataclass(frozen=True, eq=False)
class MixingLayer:
    r"""The value and output maps of a self-attention layer with $W_Q = W_K = 0$.

    Args:
        W_V: Value maps, `[H, d, d_v]`.
        W_O: Output maps, `[H, d_v, d]`; $\sum_h W_V^h W_O^h = I$.
    """

    W_V: Int64Array
    W_O: Int64Array


def mixing_layer(*, d_model: int, n_heads: int, d_value: int) -> MixingLayer:
    """Return maps whose H products through $d_v$ dimensions add up to the identity: head h covers $d_v$ coordinates.

    Args:
        d_model: d.
        n_heads: H.
        d_value: d_v.

    Returns:
        The maps.

    Raises:
        InputError: A number below 1.
        HypothesisError: H d_v < d: the sum has rank H d_v at most.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Proposition 4, as reconstructed.

    Example:
        >>> layer = mixing_layer(d_model=3, n_heads=2, d_value=2)
        >>> sum(v @ o for v, o in zip(layer.W_V, layer.W_O)).tolist()
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    if min(d_model, n_heads, d_value) < 1:
        raise InputError("d_model", f"= {d_model}, n_heads = {n_heads}, d_value = {d_value}", "at least 1")
    if n_heads * d_value < d_model:
        raise HypothesisError("The mixing layer", "H d_v >= d", f"H = {n_heads}, d_v = {d_value}, d = {d_model}")
    columns = np.eye(d_model, n_heads * d_value, dtype=np.int64)
    W_V = np.moveaxis(columns.reshape(d_model, n_heads, d_value), 1, 0)
    return MixingLayer(np.ascontiguousarray(W_V), np.ascontiguousarray(np.moveaxis(W_V, 1, 2)))


def equal_queries(*, examples: int, n_ctx: int, d_model: int, seed: int = 0) -> Int64Array:
    """Draw random integer contexts of rank n whose first token, the query, is the same: the worst case for
    Assumption 1.

    Args:
        examples: T.
        n_ctx: n, at least 2.
        d_model: d, at least n.
        seed: Seed of the draws.

    Returns:
        `[T, n, d]`.

    Raises:
        InputError: A number out of range.

    Example:
        >>> equal_queries(examples=3, n_ctx=2, d_model=2)[:, 0].tolist()
        [[1, 1], [1, 1], [1, 1]]
    """
    if examples < 1 or not 2 <= n_ctx <= d_model:
        raise InputError("examples", f"= {examples}, n_ctx = {n_ctx}, d_model = {d_model}", "T >= 1, 2 <= n <= d")
    rng = np.random.default_rng([seed, 11])
    contexts = np.ones((examples, n_ctx, d_model), dtype=np.int64)
    for context in contexts:
        while as_rationals(context).rank() < n_ctx:
            context[1:] = rng.integers(-9, 10, (n_ctx - 1, d_model))
    return contexts


def equal_means() -> Int64Array:
    """Return contexts that satisfy Assumptions 1 and 2 but not 3: in both, query plus mean is the same vector.

    n = 2, d = 3: the queries are the first two unit vectors e, and the second tokens $-3 e + (0, 0, 1)$.

    Returns:
        `[2, 2, 3]`; the first token of each is the query.

    Example:
        >>> contexts = equal_means()
        >>> (2 * contexts[:, 0] + contexts.sum(axis=1)).tolist()  # 2 (e + mean)
        [[0, 0, 1], [0, 0, 1]]
    """
    e = np.eye(3, dtype=np.int64)
    return np.array([[e[0], e[2] - 3 * e[0]], [e[1], e[2] - 3 * e[1]]])
