r"""Section 4 of Dana et al.: how many of the likeliest contexts carry all of the probability but epsilon.

Page: docs/claims/theorem_1_tail.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.likeliest-contexts",
    title="The number T_epsilon of the likeliest contexts",
    source="Dana, Pydi, Chevaleyre (2024), section 4",
    printed=(
        "T_epsilon is the smallest number of contexts whose cumulative probability is greater than 1 - epsilon. "
        "T_epsilon <= [[printed: ceil((1 - epsilon) N^S)]], with equality for the uniform distribution; T_0 is the "
        "number of contexts of positive probability."
    ),
    judgement="slip",
    truth=(
        "With 'at least 1 - epsilon' it is so: T_epsilon <= [[attained: ceil((1 - epsilon) N^S)]] for every "
        "distribution, with equality for the uniform one, and T_0 is the number of contexts of positive probability. "
        "With 'greater' T_0 does not exist, and for 0 < epsilon <= 1 the bound, with equality for the uniform "
        "distribution again, is [[strict: floor((1 - epsilon) N^S) + 1]], which is one more where (1 - epsilon) N^S is "
        "an integer."
    ),
    page="docs/claims/theorem_1_tail.md",
)
