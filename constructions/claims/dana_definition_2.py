"""Definition 2 of Dana et al.: the laws that encoders approximate at a polynomial rate.

Page: docs/claims/logit_range.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.definition-2",
    title="Polynomially approximable laws",
    source="Dana, Pydi, Chevaleyre (2024), Definition 2 and the question below Lemma 4",
    printed=(
        "M(N, S, d) are the laws for which some encoders f_delta have c delta^alpha <= |log(pi / softmax f_delta)| <= "
        "delta wherever pi > 0, with c > 0 and alpha >= 1. Whether any distribution which is the limit of a sequence "
        "encoder is in the closure of M is an open question."
    ),
    judgement="redundant",
    truth=(
        "For N >= 2 and d >= 1: d_KL(pi, M) = d_KL(pi, L) for every pi, and the closure of M is that of softmax(L), "
        "so the answer is yes. If no logit of an encoder equals the mean of the logits under its law, the laws of the "
        "encoder are in M with alpha = 1 and c = [[constant: g / (4R)]], g being the least distance from that mean "
        "and R the range: (16) holds for [[factor: 1 + delta / (2R)]] times the encoder. For N = 1 or d = 0, M is "
        "empty."
    ),
    page="docs/claims/logit_range.md",
)
