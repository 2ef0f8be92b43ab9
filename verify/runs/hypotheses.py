"""Name the hypotheses of the proofs about runs as on the page; no numbers.

Page: docs/rigour/runs.md
"""

OF_EXACT_SUMS = "H1 H2 H5"
"""Of sums that no run rounds: Theorem R12 and Lemma R13."""

OF_BOUNDS = "H1 H2 H3 H4"
"""Of bounds of what runs round: Lemmas R10, R11 and R15."""

ALL = "H1 H2 H3 H4 H5"
"""Where some contexts are proved by the one and others by the other."""

HYPOTHESES = (OF_EXACT_SUMS, OF_BOUNDS, ALL)
"""What a statement about runs may rest on."""
