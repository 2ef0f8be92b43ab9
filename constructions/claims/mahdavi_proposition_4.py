r"""Proposition 4 of Mahdavi et al.: one layer of uniform attention makes equal queries independent.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.proposition-4",
    title="One mixing layer makes Assumption 1 true",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 4",
    printed=(
        ""
        "Under Assumptions 2 and 3 there are weights of one self-attention layer with a skip connection after which "
        "Assumptions 1 and 2 hold. Assumption 3 is a more relaxed one than 2."
    ),
    judgement="hypothesis",
    truth=(
        "True if H d_v >= d, which the identity as a sum of the W_V W_O needs. Queries that are all equal stay in a "
        "space of dimension 1 + H d_v, whatever the weights: for H d_v <= n - 2 no layer makes Assumption 1 true. "
        "Assumption 3 does not follow from 2, nor from 1 and 2."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)
