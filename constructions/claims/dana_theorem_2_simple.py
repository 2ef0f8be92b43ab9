r"""The simpler bound below Theorem 2 of Dana et al., with the expectations inside of the logarithm.

Page: docs/claims/theorem_2.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.theorem-2-simple",
    title="The bound of Theorem 2 with its expectations inside",
    source="Dana, Pydi, Chevaleyre (2024), the second bound of Theorem 2",
    printed=(
        "d_KL(pi, L(N, S, d)) <= [[printed: (1 + 4C)/(1 - 2C)]] E[1 - p_g] log((N - 1)/(e^E[H] - 1)), from the bound "
        "of Theorem 2 by simplifying the expectation."
    ),
    judgement="hypothesis",
    truth=(
        "True of the infimum for C < 1/2, with [[smaller: (1 + 2C)/(1 - 2C)]], by an encoder with one strength for "
        "all contexts. False of the encoder of Theorem 2, whose strengths solve equation (6), so that it does not "
        "follow from that theorem."
    ),
    page="docs/claims/theorem_2.md",
)
