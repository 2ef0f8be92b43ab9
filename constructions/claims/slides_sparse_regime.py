r"""Slides of Dana: what is not known of memories with fewer columns than contexts.

Page: docs/claims/conclusions.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="slides.sparse-regime",
    title="The sparse regime",
    source="Dana (2024), slides, Conclusion",
    printed=(
        "We do not know how memorization occurs in the sparse regime d P < N_epsilon, with fewer columns of P parallel "
        "modules than contexts."
    ),
    judgement="open",
    truth=(
        "Open in general: the least divergence, and the largest number of labels, that given d, d_h and H allow. "
        "Known: the number of columns is no limit of labels (one head with [[columns: N + 1]] columns holds every "
        "labelling of all [[contexts: N^2]] bigrams); it is one of the rank, so generic laws are not held; some laws "
        "cost one head at least a certified divergence; and some labelling of long contexts needs many heads."
    ),
    page="docs/claims/conclusions.md",
)
