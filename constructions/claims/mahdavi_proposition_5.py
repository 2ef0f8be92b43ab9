r"""Proposition 5 of Mahdavi et al.: tokens that sum to a constant cost every head but one a dimension.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.proposition-5",
    title="Tokens that sum to a constant lose rank",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 5",
    printed=(
        "If the entries of every token sum to one constant c, rank Z <= [[printed: H (d - 1) + 1]] for all weights. "
        "All tokens can be in general position."
    ),
    judgement="holds",
    truth=(
        "It holds, and is reached: for almost all such contexts of n >= 2 tokens and almost all weights, with any "
        "nonzero queries, rank Z = min(T, [[printed: H (d - 1) + 1]]) if c is not 0. If c = 0 tokens span d - 1 "
        "dimensions only, and it is min(T, [[zero: H (d - 1)]])."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)
