"""Memorize as many examples with heads of width one as with wide ones, because the query-key width does not matter.

Page: docs/claims/saturated_heads.md
"""

import math

import numpy as np

from constructions.errors import HypothesisError, require_at_least
from constructions.model.attention import softmax
from constructions.numeric.arrays import Float64Array
from constructions.saturated_layers.query_blocks import query_blocks, require_examples
from constructions.saturated_layers.saturated_heads import Fit, SaturatedHeads, farthest, grow_heads

TEMPERATURES = np.concatenate([sign * np.geomspace(0.3, 30.0, 60) for sign in (1.0, -1.0)])
"""What the temperature of an example is chosen from, in units of one over half the range of the scores."""

_DRAWS = 400


def single_direction_heads(
    contexts: Float64Array,
    queries: Float64Array,
    *,
    n_heads: int,
    d_head: int = 1,
    margin: float = 0.5,
    largest_strength: float = math.inf,
    seed: int = 0,
) -> SaturatedHeads:
    r"""Return heads with $d_h = 1$ for which $Z$ has linearly independent rows, for every $T \le H (n - 1) + 1$:
    Theorem Z1.

    All heads have the same key direction k. Head h has the query direction $\kappa w + w_1$ with w orthogonal to its
    block and $\langle w_1, e_t \rangle = \tau_t$ on it, so that the attention of a new example is
    $\mathrm{softmax}(\tau_t E k)$ whatever $\kappa$ is. Those points, over all $\tau_t$, span the whole row space, and
    that is all that is needed of them.

    The rank is a theorem; the condition number is not. On a shared context it grows exponentially with n: float64 ends
    at about n = 20.

    Args:
        contexts: Keys, `[T, n, d]` or `[1, n, d]`, each of rank n.
        queries: `[T, d]`.
        n_heads: H.
        d_head: $d_h$; further columns are 0.
        margin: Share of the separation that freezing may cost, in (0, 1).
        largest_strength: Cap of $\kappa$.
        seed: Seed of the directions.

    Returns:
        The maps of all heads, `[H, d, d_h]`.

    Raises:
        InputError: An argument out of range.
        CapacityError: T > H (n - 1) + 1.
        HypothesisError: Contexts of rank below n, or queries that violate the block condition.

    Source: Theorem Z1, beside Mahdavi, Liao, Thrampoulidis (2024), Proposition 1, as reconstructed.

    Example:
        >>> from constructions.model.vector_attention import mixed_inputs
        >>> rng = np.random.default_rng(0)
        >>> E, e = rng.uniform(size=(1, 3, 5)), rng.uniform(size=(9, 5))
        >>> heads = single_direction_heads(E, e, n_heads=4)
        >>> heads.W_K.shape, int(np.linalg.matrix_rank(mixed_inputs(E, e, heads.W_Q, heads.W_K).reshape(9, -1)))
        ((4, 5, 1), 9)
    """
    require_at_least(1, d_head=d_head)
    require_examples(contexts, queries)
    rng = np.random.default_rng([seed, 2])
    blocks = query_blocks(len(queries), n_heads, contexts.shape[1])
    key = separating_direction(contexts, rng=rng)

    def fit(block: range, combined: Float64Array) -> Fit:
        keys = contexts[[0] * len(block) if len(contexts) == 1 else list(block)]
        scores = keys @ key
        half_range = np.ptp(scores, axis=1) / 2.0
        half_range[half_range == 0.0] = 1.0  # one token
        powers = (
            TEMPERATURES[None, :, None] * ((scores - scores.mean(axis=1, keepdims=True)) / half_range[:, None])[:, None]
        )
        curve = softmax(powers, axis=2) @ keys  # [b, temperatures, d]
        chosen = farthest(curve - combined[:, None])
        rows = curve[np.arange(len(block)), chosen] - combined
        wanted = TEMPERATURES[chosen] / half_range
        return Fit((np.linalg.pinv(queries[list(block)]) @ wanted)[:, None], key[:, None], rows)

    return grow_heads(
        contexts,
        queries,
        blocks,
        d_head=d_head,
        fit=fit,
        margin=margin,
        largest_strength=largest_strength,
        rng=rng,
        key_direction=key,
    )


def separating_direction(contexts: Float64Array, *, rng: np.random.Generator) -> Float64Array:
    """Return a direction k that separates the tokens of every context; equally spaced if there is one context.

    Args:
        contexts: `[C, n, d]`.
        rng: Generator of the draws, of which the one with the largest smallest gap is kept.

    Returns:
        `[d]`.

    Raises:
        HypothesisError: No draw separates all tokens: some context has two equal ones.

    Example:
        >>> separating_direction(np.eye(3)[None], rng=np.random.default_rng(0)).round(12).tolist()
        [-1.0, 0.0, 1.0]
    """
    n_ctx = contexts.shape[1]
    if len(contexts) == 1:
        return np.linalg.lstsq(contexts[0], np.linspace(-1.0, 1.0, n_ctx), rcond=None)[0]
    draws = rng.standard_normal((contexts.shape[2], _DRAWS))
    gaps = np.diff(np.sort(contexts @ draws, axis=1), axis=1).min(axis=(0, 1), initial=math.inf)
    if not gaps.max() > 0:
        raise HypothesisError("Theorem Z1", "distinct tokens in every context", "no direction separates them")
    return draws[:, int(gaps.argmax())]
