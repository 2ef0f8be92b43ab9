r"""Remarks 1 of Dana et al.: the open question how large the constant C of Theorem 1 is.

Page: docs/claims/theorem_1_tail.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.constant-of-the-tail",
    title="How large the constant of Theorem 1 is",
    source="Dana, Pydi, Chevaleyre (2024), Remarks 1",
    printed=(
        "It is an open challenge to provide better bounds with the properties of attention, especially to upper bound "
        "C."
    ),
    judgement="open",
    truth=(
        "Open for the best choice of attention. No bound by the sizes alone holds for every choice: with N = S = 2, "
        "d = d_h = 1 and two heads whose scores are k and k + 1 times log 2, the coefficients z of the context that is "
        "left out have |z|^2 > [[growth: 16^k]], and C^2 >= 2 + |z|^2."
    ),
    page="docs/claims/theorem_1_tail.md",
)
