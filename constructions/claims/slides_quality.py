r"""Slides of Dana: whether memorization is limited in quality only.

Page: docs/claims/conclusions.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="slides.quality",
    title="A limit of quality and none of quantity",
    source="Dana (2024), slides, Experimental validation",
    printed="There is no memorization limit in terms of quantity, but in terms of quality.",
    judgement="false",
    truth=(
        "Attention with a given number of heads has a limit of quantity, whatever its widths: some labelling of 2^11 "
        "contexts of 12 tokens is beyond one head. Sequence encoders have none: d = 2 holds any number of labels. "
        "With d < N - 1 they have one of quality: some laws cost a certified divergence, for all encoders."
    ),
    page="docs/claims/conclusions.md",
)
