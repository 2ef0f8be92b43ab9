r"""Proposition 2 of Mahdavi et al.: on a context that all examples share, Proposition 1 cannot be improved in n.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim, Hypothesis
from constructions.claims.mahdavi_theorem_1 import build as memorize
from constructions.models.construction import Construction
from constructions.tasks.vectors import VectorTask


def build(*, heads: int, tokens: int, width: int, head_width: int, seed: int = 0) -> Construction[VectorTask]:
    r"""A layer that reaches the bound: $H (n - 1) + 1$ examples with one context, independent after mixing.

    Args:
        heads: H.
        tokens: n.
        width: d.
        head_width: $d_h$.
        seed: Of examples, labels and heads.

    Returns:
        The weights, and the examples with random labels that they hold.

    Raises:
        InputError: An argument out of range.
        HypothesisError: Mixed inputs that are dependent in floating point.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Proposition 2.

    Example:
        >>> build(heads=4, tokens=4, width=8, head_width=4).task.n_examples
        13
    """
    return memorize(
        heads=heads, tokens=tokens, width=width, head_width=head_width, examples=0, shared=1, outputs=1, seed=seed
    )


CLAIM = Claim(
    id="mahdavi.proposition-2",
    title="A shared context allows no more than H (n - 1) + 1",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 2",
    printed=(
        "If all examples have the same context, rank Z <= [[printed: H (n - 1) + 1]] for all weights: for n <= d_h "
        "the bound of Proposition 1 is tight."
    ),
    judgement="holds",
    truth=(
        "It holds, for all widths and whatever the queries are, and is reached for every d_h >= 1. The n - 1 is the "
        "dimension of the affine hull of the tokens, whether contexts are shared or not. It is tight for the rank, "
        "not for the number of labels: one head on two tokens holds any labels of three examples with independent "
        "queries."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
    hypotheses=(
        Hypothesis(
            "H, n, d_h >= 1",
            lambda heads, tokens, head_width, **_: min(heads, tokens, head_width) >= 1,
        ),
        Hypothesis("n <= d", lambda tokens, width, **_: tokens <= width),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
    ),
    parameters={"heads": 8, "tokens": 8, "width": 16, "head_width": 8, "seed": 0},
    build=build,
)
