"""Build tokens whose entries have a constant sum: in general position, but one dimension short for every head except
one.

Page: docs/claims/context_rank.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.saturated_layers.generic_contexts import IntegerLayer, integer_heads


def constant_sum_layer(
    *, examples: int, n_ctx: int, d_model: int, n_heads: int, total: int, seed: int = 0
) -> IntegerLayer:
    r"""Draw integer tokens with $\langle 1, x \rangle = c$, queries, and heads.

    For all weights the rank of $Z$ is at most $H (d - 1) + 1$, at most $H (d - 1)$ if c = 0; generic contexts and
    weights reach it.

    Args:
        examples: T.
        n_ctx: n.
        d_model: d, at least 2.
        n_heads: H.
        total: c.
        seed: Seed of the draws.

    Returns:
        Examples and maps.

    Raises:
        InputError: A number out of range.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Proposition 5.

    Example:
        >>> layer = constant_sum_layer(examples=7, n_ctx=3, d_model=4, n_heads=2, total=5)
        >>> set(layer.contexts.sum(axis=2).ravel().tolist())
        {5}
    """
    if min(examples, n_ctx) < 1 or d_model < 2:
        raise InputError("examples", f"= {examples}, n_ctx = {n_ctx}, d_model = {d_model}", "1, 1 and 2 at least")
    rng = np.random.default_rng([seed, 8])
    free = rng.integers(-99, 100, (examples, n_ctx, d_model - 1))
    contexts = np.concatenate([free, total - free.sum(axis=2, keepdims=True)], axis=2)
    W_Q, W_K = integer_heads(n_heads=n_heads, d_model=d_model, seed=seed)
    return IntegerLayer(contexts, rng.integers(1, 5, (examples, d_model)), W_Q, W_K)
