r"""Section 4.4 of Mahdavi et al.: whether one random attention layer makes Assumptions 1 and 2 true.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.random-layer",
    title="One random layer before the memory",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4.4",
    printed=(
        "After a single attention layer with a skip connection, even randomly initialized and fixed, Assumptions 1 "
        "and 2 are satisfied."
    ),
    judgement="hypothesis",
    truth=(
        "They are for almost all weights if Assumptions 2 and 3 hold before and H d_v >= d: an analytic function that "
        "is not 0 for the weights of Proposition 4 is 0 for almost none. Without Assumption 3 a layer may not help: "
        "examples of the same tokens have the same query after it, of Kruskal rank 1. With H d_v < d equal queries are "
        "confined to H d_v + 1 dimensions."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)
