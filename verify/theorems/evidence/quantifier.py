"""Define the scope of a piece of evidence: these weights, or all weights.

Page: docs/audit.md
"""

import enum


class Quantifier(enum.Enum):
    """The scope of a piece of evidence."""

    THESE = "these weights"
    """The very instances that are named: weights, distributions, vectors or numbers."""
    SAMPLED = "sampled"
    """Instances that were drawn, of a statement about more."""
    EVERY = "every case"
    """A finite number of cases, all of which were looked at."""
    ALL_WEIGHTS = "all weights of the shape"
    """All transformers of the named shape, attention-only ones where no neurons are named: by a theorem."""
    ALL_ENCODERS = "all encoders"
    """All sequence encoders of the named rank: by a theorem."""


UNIVERSAL = frozenset({Quantifier.ALL_WEIGHTS, Quantifier.ALL_ENCODERS})
"""What only a theorem can say."""
