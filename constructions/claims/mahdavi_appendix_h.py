"""Appendix H of Mahdavi et al.: on most examples most heads look at one token, and some head does not.

Page: docs/claims/saturated_heads.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="mahdavi.appendix-h",
    title="Most heads are saturated on most examples",
    source="Mahdavi, Liao, Thrampoulidis (2024), Appendix H and Figure 3",
    printed=(
        "In trained layers with a shared context a significant number of heads are saturated (some attention weight "
        "reaches 0.99) for most examples, and almost all examples have a head that is not."
    ),
    judgement="measured",
    truth=(
        "Of the weights that are built here it is proved: more than half of the pairs of head and example are "
        "saturated, and every example has a head that is not. About trained weights it is a measurement of the source, "
        "which nothing here proves or repeats."
    ),
    page="docs/claims/saturated_heads.md",
)
