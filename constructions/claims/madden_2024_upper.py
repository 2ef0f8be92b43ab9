"""The upper bound of Madden et al.: k parameters reach arbitrary laws on about k / (N - 1) contexts at most.

Page: docs/claims/knots.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="madden-2024.upper",
    title="How many arbitrary laws so many parameters reach at most",
    source="Madden, Fox, Thrampoulidis (2024), upper bounds",
    printed=(
        "A model with k parameters interpolates arbitrary next-token laws on k / (N - 1) contexts at most, up to a "
        "constant factor, in a vocabulary of N tokens."
    ),
    judgement="holds",
    truth=(
        "With the factor 1, for exact laws: a model with k entries whose logits depend on them in a locally Lipschitz "
        "way reaches all laws on [[most: floor(k / (N - 1))]] contexts at most, and almost no laws on more. ReLU "
        "neurons lose one number each: m of them on R^d reach no more than [[neurons: m (d + 1) + 1]] log-odds of two "
        "tokens, of their [[numbers: m (d + 2) + 1]] parameters. About labels it says nothing."
    ),
    reconstructed="the constants: the paper was at hand in its abstract only",
    page="docs/claims/knots.md",
)
