"""The weighted least-squares bound of the slides.

Page: docs/claims/least_squares.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="slides.weighted-least-squares",
    title="The cost of the weighted least-squares solution",
    source="Dana, slides of 13 June 2024, Almost rank d",
    printed=(
        "For the minimizer f_wls of |I_sqrt(pi) (W - L)|_2 of rank d, d_KL(pi, f_wls) <= [[printed: p sigma^2 + (p / "
        "q)^(3/2) sigma^3]], p = |pi|_inf, q = |pi|_-inf, sigma = sigma_(d+1)."
    ),
    judgement="false",
    truth=(
        "False with the singular values of sqrt(prior) L, in every reading of the norms and for every encoder of rank "
        "d. Sharp: d_KL <= [[sharp: s / 4]], s the sum over i > d of sigma_i^2. With entries weighted one by one and "
        "the singular values of L it is false for joint probabilities; for conditional ones it is open."
    ),
    page="docs/claims/least_squares.md",
)
