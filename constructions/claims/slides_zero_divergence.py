r"""Slides of Dana: when the divergence 0 is reached.

Page: docs/claims/distribution_memory.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="slides.zero-divergence",
    title="Divergence 0 by the rank of the logarithms",
    source="Dana (2024), slides, Optimal Linear Mapping",
    printed=("Divergence 0 is achieved if L = log pi has rank d. If d >= [[printed: N - 1]] this is always the case."),
    judgement="slip",
    truth=(
        "L can have rank [[largest: N]], so with d = N - 1 this is not always the case. But constants in a row of L "
        "cancel in the softmax: divergence 0 is achieved if and only if L without the mean of each row has rank at "
        "most d, and that rank is [[centred: N - 1]] at most. So the conclusion for d >= N - 1 is right."
    ),
    page="docs/claims/distribution_memory.md",
)
