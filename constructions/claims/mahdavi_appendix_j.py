r"""Appendix J of Mahdavi et al.: what Remark 1 makes of the Kruskal ranks that were measured for BERT.

Page: docs/claims/context_rank.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.appendix-j",
    title="Remark 1 for the queries of BERT",
    source="Mahdavi, Liao, Thrampoulidis (2024), appendix J",
    printed=(
        "The queries of BERT have Kruskal ranks of [[trained: 291]] with trained and [[random: 349]] with random "
        "weights, below n = 512. The result of Remark 1 still yields an acceptable lower bound."
    ),
    judgement="holds",
    truth=(
        "Nothing at all is lost: Remark 1 promises rank Z >= [[remark: H (min(k, d_h) - 1) + 1]], and the d_h = 64 of "
        "BERT is below both numbers, so the H = 16 heads of a layer have the promise [[promise: 1009]] with k = 291, "
        "349 and 512 alike. The two ranks are the source's: no weights of BERT are looked at here."
    ),
    reconstructed="the formula of Remark 1, from a copy without it",
    page="docs/claims/context_rank.md",
)
