"""Lemma 4 of Dana et al.: the range of the logits of a sequence that approximates at a polynomial rate.

Page: docs/claims/logit_range.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.lemma-4",
    title="The range of logits that approximate a law",
    source="Dana, Pydi, Chevaleyre (2024), Lemma 4",
    printed=(
        "If encoders f_delta satisfy c delta^alpha <= |log(pi / softmax f_delta)| <= delta wherever pi > 0, then the "
        "range of the logits is O(log(1 / delta)) after every context."
    ),
    judgement="false",
    truth=(
        "The range can be [[wide: exp(1 / delta)]]. For the laws (3/4, 1/4, 0) and (2/5, 2/5, 1/5) and d = 1 such "
        "f_delta exist, and all of them have a range of at least [[least: (log 3 - 2 delta)(log 2 - 2 delta) / (2 "
        "delta)]]. If all probabilities (also those of impossible tokens) are at least c delta^alpha, the range is at "
        "most [[repaired: alpha log(1 / delta) + log(1 / c)]]; with full support it is bounded."
    ),
    page="docs/claims/logit_range.md",
)
