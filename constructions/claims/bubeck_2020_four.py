r"""Bubeck et al.: four ReLU neurons for d points in general position; slabs take half as many.

Page: docs/claims/four_neurons.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="bubeck-2020.four",
    title="Four ReLU neurons for d points",
    source="Bubeck, Eldan, Lee, Mikulincer (2020), abstract",
    printed=(
        "Baum (1988): ceil(n / d) threshold neurons memorize binary labels of n points in general position in R^d. "
        "ReLU networks fit real labels with four times as many, [[printed: 4 ceil(n / d)]]."
    ),
    judgement="holds",
    truth=(
        "It holds, and about half as many are enough: an affine function on each slab between parallel hyperplanes "
        "takes [[slabs: 2 ceil(n / (d + 1)) - 1]] neurons at most and fits any real labels exactly. No network fits "
        "all labels of n points with m (d + 1) + 1 < n, so [[least: (n - 1) / (d + 1)]] neurons are necessary. "
        "Sums of two embeddings are not in general position: the four points of XOR lie in one plane. The "
        "approximate networks of the source, and the size of their weights, are not judged."
    ),
    reconstructed="the construction: the paper was at hand in its abstract only",
    page="docs/claims/four_neurons.md",
)
