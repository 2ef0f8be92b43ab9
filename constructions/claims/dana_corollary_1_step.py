r"""Section 4 of Dana et al.: the step from laws of full support to labels.

Page: docs/claims/corollary_1.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.corollary-1-step",
    title="From the divergence of Theorem 1 to the labels of Corollary 1",
    source="Dana, Pydi, Chevaleyre (2024), section 4, before Corollary 1",
    printed=(
        "Under Assumption 1, use Theorem 1 for pi_delta = (pi + delta) / (1 + N delta) with delta > 0 small enough "
        "and gamma > 0 small: the transformer has perfect accuracy for pi."
    ),
    judgement="holds",
    truth=(
        "It follows from the conclusion of Theorem 1 (which is false for some contexts), for d >= 2. With a = "
        "[[label: (1 + delta) / (1 + N delta)]], the probability of a label under pi_delta, every encoder whose mean "
        "divergence from pi_delta is below p_min ([[gap: log 2 + a log a + (1 - a) log(1 - a)]]), p_min the least "
        "probability of a context, gives every label more than half of the probability; and the least divergence "
        "with d >= 2 tends to 0 with delta. The gap is the least divergence of a law that gives a label just half."
    ),
    page="docs/claims/corollary_1.md",
)
