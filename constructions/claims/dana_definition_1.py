r"""Definition 1 of Dana et al.: sequence encoders, with the shape of W that makes the product exist.

Page: docs/claims/sequence_encoder.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.definition-1",
    title="What a sequence encoder is",
    source="Dana, Pydi, Chevaleyre (2024), Definition 1",
    printed=(
        "L(N, S, d) is the set of the maps f(t) = W E(t) with W in R^{d,N}, a matrix of [[printed: N]] columns, and E "
        "from [N]^S to R^d."
    ),
    judgement="slip",
    truth=(
        "W is in R^{N,d}, with [[columns: d]] columns: one for each entry of E(t), and one row for each logit. The "
        "logits of T contexts are then the matrices of rank at most d: the largest rank is [[rank: min(N, T, d)]], and "
        "every matrix of so small a rank is W E for some W and E."
    ),
    page="docs/claims/sequence_encoder.md",
)
