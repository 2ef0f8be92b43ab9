r"""Remark 1 of Mahdavi et al.: what is left when the queries have a Kruskal rank below n.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.remark-1",
    title="Queries of a Kruskal rank below n",
    source="Mahdavi, Liao, Thrampoulidis (2024), Remark 1",
    printed=(
        "If the queries have Kruskal rank k < n only, there are weights with rank Z >= min(T, [[printed: H (min(k, "
        "d_h) - 1) + 1]])."
    ),
    judgement="holds",
    truth=(
        "It holds. On a shared context it is far from sharp: if some direction tells all queries apart, with one "
        "sign, rank Z = min(T, [[shared: H (n - 1) + 1]]) for almost all weights, for k = 1 too and every d_h >= 1. "
        "For n = 2 the largest rank is min(H + 1, rank G), with one row (1, +-1 at the class of +-e) of G for a "
        "query e: one pair e, -e is harmless, two are not."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)
