r"""Section 6 of Dana et al.: the comparison with the capacity of Mahdavi et al., and with other counts of parameters.

Page: docs/claims/conclusions.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.comparisons",
    title="Comparisons with other memories",
    source="Dana, Pydi, Chevaleyre (2024), section 6",
    printed=(
        "The capacity [[columns: H d_h + d]] is a strict improvement on [[previous: H (d_h - 1) + 1]] of Mahdavi et "
        "al., for language models. Corollary 1 takes as many as [[parameters: 2 S + 4 N + 8 T_0]] numbers. A matrix W "
        "of d^2 numbers between given embeddings memorizes d associations."
    ),
    judgement="false",
    truth=(
        "For contexts of one's choice neither number is a capacity of language models: XOR after 3 tokens is T = 4 "
        "contexts that one head with d = d_h = 4 gives rank 3, while both numbers are 4 or more. (A repeated query has "
        "Kruskal rank 1, so the assumptions of Mahdavi et al. fail there.) Where all contexts are to be held and "
        "d <= N, H d_h + d is reached: [[gain: H + d - 1]] more. The count of numbers is right, 16 fewer. A matrix "
        "of d^2 numbers stores more than d associations: any number N of labels for d = 2, W the identity."
    ),
    page="docs/claims/conclusions.md",
)
