"""Kim et al., for labels: one head and deep ReLU blocks hold T sequences with about sqrt(T) parameters.

Page: docs/claims/bits.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="kim-2023.labels",
    title="Transformers that hold sequences with the square root of their number",
    source="Kim, Kim, Mozafari (2023), abstract, for one label of each sequence",
    printed=(
        "Transformers memorize N sequence-to-sequence mappings of length n and dimension d with a number of parameters "
        "of the order of d + n + sqrt(n N) up to logarithms; for one label of each of T sequences, S + N + sqrt(T log "
        "T)."
    ),
    judgement="holds",
    truth=(
        "For one label of each of T distinct contexts of S tokens out of N, and K labels: one head by position, then "
        "ReLU blocks, [[entries: 2 N + S + K + 2]] nonzero entries and those of the blocks, of which there are "
        "less than [[root: 2 sqrt(6 T (8 (r + c) + 21)) + 8 (r + c) + 21]], with codes of r and labels of c bits. "
        "Words of [[words: m (r + c)]] bits are what it costs. Sequences as answers are not built."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bits.md",
)
