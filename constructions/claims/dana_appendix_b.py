r"""Appendix B of Dana et al.: what Corollary 2 says of twenty heads that are wider than the stream.

Page: docs/claims/corollary_2.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.appendix-b",
    title="Twenty heads of width 5 in two dimensions",
    source="Dana, Pydi, Chevaleyre (2024), appendix B",
    printed=(
        "With N = 10, S = 2, d = 2, d_h = 5 and H = 20, Corollary 2, with [[printed: H d_h + d]] associations for the "
        "100 contexts, says that the accuracy is exactly 1."
    ),
    judgement="slip",
    truth=(
        "Heads wider than the stream count as heads of width d: the rank of the features is "
        "[[columns: H min(d_h, d) + d]] = 42 at most, and this is reached. Read with this number Corollary 2 says "
        "[[accuracy: 1/N + (1 - 1/N) (H min(d_h, d) + d) / T_0]]."
    ),
    page="docs/claims/corollary_2.md",
)
