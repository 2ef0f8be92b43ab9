r"""Heads that are drawn and not built: on contexts that differ they are the better conditioned memory.

Page: docs/claims/saturated_heads.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from constructions.saturated_layers.query_blocks import require_examples


def random_heads(
    contexts: Float64Array,
    queries: Float64Array,
    *,
    n_heads: int,
    d_head: int,
    deviation: float = 10.0,
    seed: int = 0,
) -> tuple[Float64Array, Float64Array]:
    r"""Draw query and key maps such that the scores of every head have a given standard deviation.

    For almost all contexts of $n \ge 2$ tokens and almost all weights, $Z$ has rank $\min(T, H d)$, whatever $d_h$ and
    the queries are, if none is 0; on a context that all examples share, at most $H (n - 1) + 1$. Keys are drawn through
    the pseudo-inverse of a shared context, so that its tokens get independent directions; with $d_h = 2$ these are
    spread around a circle, so that each token has queries that prefer it.

    Args:
        contexts: Keys, `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        n_heads: H.
        d_head: $d_h$.
        deviation: Standard deviation of the scores over examples and tokens, in nats; on a shared context 30 is better
            for $d_h = 2$.
        seed: Seed of the draws.

    Returns:
        `W_Q` and `W_K`, `[H, d, d_h]`.

    Raises:
        InputError: An argument out of range.

    Source: the practical form of Mahdavi, Liao, Thrampoulidis (2024), Theorem 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> W_Q, W_K = random_heads(rng.uniform(size=(9, 3, 5)), rng.uniform(size=(9, 5)), n_heads=2, d_head=1)
        >>> W_Q.shape, W_K.shape
        ((2, 5, 1), (2, 5, 1))
    """
    if n_heads < 1 or d_head < 1 or not 0.0 < deviation < np.inf:
        raise InputError("n_heads", f"= {n_heads}, d_head = {d_head}, deviation = {deviation}", "positive numbers")
    require_examples(contexts, queries)
    rng = np.random.default_rng([seed, 3])
    d_model, n_ctx = queries.shape[1], contexts.shape[1]
    W_Q = rng.standard_normal((n_heads, d_model, d_head))
    W_K = rng.standard_normal((n_heads, d_model, d_head))
    if len(contexts) == 1:
        keys = rng.standard_normal((n_heads, n_ctx, d_head))
        if d_head == 2:
            angles = 2.0 * np.pi * (rng.permuted(np.tile(np.arange(n_ctx), (n_heads, 1)), axis=1) / n_ctx)
            keys = np.stack([np.cos(angles), np.sin(angles)], axis=2)
        W_K = np.linalg.pinv(contexts[0]) @ keys
        if np.ptp(queries, axis=0).any():
            # What all queries have in common would make a head prefer the same token for all examples.
            mean = queries.mean(axis=0) / np.linalg.norm(queries.mean(axis=0))
            W_Q -= mean[:, None] * (mean @ W_Q)[:, None, :]
    for head in range(n_heads):
        projected_queries = queries @ W_Q[head]
        projected_keys = contexts @ W_K[head]
        scores = (
            projected_queries @ projected_keys[0].T
            if len(contexts) == 1
            else (projected_keys @ projected_queries[:, :, None])[:, :, 0]
        )
        spread = float(np.std(scores - scores.mean(axis=1, keepdims=True)))
        if spread > 0.0:
            W_Q[head] *= deviation / spread
    return W_Q, W_K
