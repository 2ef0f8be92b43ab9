"""The weighted least-squares bound of the slides.

Page: docs/claims/least_squares.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="slides.weighted-least-squares",
    title="The cost of the weighted least-squares solution",
    source="Dana, slides of 13 June 2024, Almost rank d",
    printed=(
        "For the minimizer f_wls of |I_sqrt(pi) (W - L)|_2 of rank d, "
        "d_KL(pi, f_wls) <= |pi|_inf sigma_(d+1)^2 + (|pi|_inf / |pi|_-inf)^(3/2) sigma_(d+1)^3."
    ),
    judgement="false",
    truth=(
        "False with the singular values of sqrt(prior) L, in every reading of the norms and for every encoder of rank "
        "d. Sharp: d_KL <= (1/4) sum over i > d of sigma_i^2. With entries weighted one by one and the singular values "
        "of L it is false for joint probabilities; for conditional ones it is open."
    ),
    page="docs/claims/least_squares.md",
)
