r"""Proposition 1 of Mahdavi et al.: how many mixed inputs can be linearly independent, and Theorem Z1 for every width.

Page: docs/claims/saturated_heads.md
"""

import numpy as np

from constructions.arrays import Float64Array
from constructions.claims.claim import Claim


def uniform_examples(
    *, examples: int, tokens: int, width: int, shared: bool, seed: int
) -> tuple[Float64Array, Float64Array]:
    r"""Contexts and queries with independent entries, uniform in [0, 1]: the synthetic data of the paper.

    Args:
        examples: T.
        tokens: n.
        width: d.
        shared: Whether all examples have one context.
        seed: Of the draws.

    Returns:
        Contexts `[T, n, d]` or `[1, n, d]`, and queries `[T, d]`.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 5.2.

    Example:
        >>> contexts, queries = uniform_examples(examples=5, tokens=2, width=3, shared=True, seed=0)
        >>> contexts.shape, queries.shape
        ((1, 2, 3), (5, 3))
    """
    rng = np.random.default_rng([seed, 4])
    return rng.uniform(size=(1 if shared else examples, tokens, width)), rng.uniform(size=(examples, width))


CLAIM = Claim(
    id="mahdavi.proposition-1",
    title="H (min(n, d_h) - 1) + 1 independent mixed inputs",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 1",
    printed=(
        "Under Assumptions 1 and 2, with r = min(n, d_h), there are W_Q and W_K for which Z has rank at least min(T, "
        "[[printed: H (r - 1) + 1]])."
    ),
    judgement="holds",
    truth=(
        "It holds, and is not sharp in d_h: for every d_h >= 1 there are weights of rank at least min(T, [[sharper: "
        "H (n - 1) + 1]]), on any examples with the block condition (Theorem Z1); a context that all examples share "
        "allows no more."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
)
