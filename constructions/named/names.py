"""List the names of the constructions with a one-line description each; import no numerical code.

Page: docs/constructions.md
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Name:
    """The name and the description of a construction.

    Args:
        name: For the command line.
        line: What it builds, in a line.
        data: The option for a file of one's own.
        statements: The claims whose statement it is, which lead to it.
        beside: A claim that builds weights of its own, without data of one's own.
    """

    name: str
    line: str
    data: str
    statements: tuple[str, ...] = ()
    beside: str = ""


FULL_RANK_ATTENTION = Name(
    name="full-rank-attention",
    line="heads whose outputs have the largest rank that any weights give your contexts",
    data="contexts",
    statements=("dana.lemma-2",),
)
SKIP_CONNECTION_HEAD = Name(
    name="skip-connection-head",
    line="a model without a skip connection, whose extra head does what the skip connection does",
    data="contexts",
    statements=("dana.skip-head",),
)
JOHNSON_LINDENSTRAUSS_UNEMBEDDING = Name(
    name="johnson-lindenstrauss-unembedding",
    line="random signs as an unembedding, with certified coherence, for your distributions",
    data="distributions",
    statements=("dana.theorem-2",),
)
GAUSSIAN_UNEMBEDDING = Name(
    name="gaussian-unembedding",
    line="Gaussian vectors as an unembedding, with certified coherence, for your distributions",
    data="distributions",
)
SATURATED_HEADS = Name(
    name="saturated-heads",
    line="heads that are saturated on all but a few examples each, for your vectors",
    data="vectors",
    statements=("mahdavi.proposition-1",),
    beside="mahdavi.theorem-1",
)
THEOREM_1 = Name(
    name="theorem-1",
    line="one layer of attention that holds a label for each of your contexts",
    data="contexts",
    beside="dana.theorem-1",
)

NAMES = (
    FULL_RANK_ATTENTION,
    SKIP_CONNECTION_HEAD,
    JOHNSON_LINDENSTRAUSS_UNEMBEDDING,
    GAUSSIAN_UNEMBEDDING,
    SATURATED_HEADS,
    THEOREM_1,
)
"""All of them, in the order of the papers' statements."""


def leading_from(id: str) -> Name | None:
    """Return the construction that a claim id refers to, or None.

    Example:
        >>> leading_from("dana.lemma-2").name, leading_from("dana.lemma-3")
        ('full-rank-attention', None)
    """
    return next((name for name in NAMES if id in name.statements), None)
