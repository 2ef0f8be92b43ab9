r"""Section 4 of Mahdavi et al.: whether query and key dimensions above n add to the capacity.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.wide-heads",
    title="No gain from wide queries and keys",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4, after Theorem 1",
    printed="There is no gain in memorization capacity from d_h >= n.",
    judgement="holds",
    truth=(
        "There is none from d_h >= 2 either. What Assumptions 1 and 2 guarantee is rank Z >= [[capacity: H (n - 1) + "
        "1]] for every d_h >= 1 (`mahdavi.proposition-1`), and no more for any d_h, by a shared context. On generic "
        "contexts rank Z is [[generic: min(T, H d)]] for d_h = 1 and for every other d_h."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)
