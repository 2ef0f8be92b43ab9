r"""Section 4.2 of Mahdavi et al.: a shared context of one token.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.one-token",
    title="A context of one token",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4.2",
    printed=(
        "If all examples share a context of n = 1 token, attention gives the same for all of them: the capacity is "
        "exactly [[capacity: 1]], however large H and d are."
    ),
    judgement="holds",
    truth=(
        "It holds. If the contexts of one token are not shared, the heads copy the tokens, and the rank of Z is that "
        "of the tokens: [[tokens: min(T, d)]] for almost all of them, however many heads there are."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)
