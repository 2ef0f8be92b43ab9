r"""The open question of Appendix I of Mahdavi et al.: what general position of all tokens makes possible.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.appendix-i",
    title="The rank on generic contexts",
    source="Mahdavi, Liao, Thrampoulidis (2024), Appendix I",
    printed=(
        "Open: whether stronger assumptions than 1 and 2, such as general position of all tokens, give a rank of Z "
        "that grows like H d instead of H n. Conjectured from experiments."
    ),
    judgement="answered",
    truth=(
        "They do: for almost all contexts of n >= 2 tokens and almost all weights, rank Z = "
        "min(T, [[largest: H d]]), for every d >= 1, every d_h >= 1 and any nonzero queries: all of them may be "
        "equal, and be a token of the context. With n = 1 the rank is d at most."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)
