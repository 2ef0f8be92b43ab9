r"""Kim et al., for labels: one head and deep ReLU blocks hold T sequences with about sqrt(T) parameters.

Page: docs/claims/bit_extraction.md
"""

import numpy as np
from numpy.typing import NDArray

from constructions.claims.claim import Claim
from constructions.claims.madden_2024_lower import positional_attention
from constructions.claims.vardi_2022_sqrt import REGISTERS, read_out, word_blocks
from constructions.errors import InputError
from constructions.models.model import Model

Int64Array = NDArray[np.int64]


def sequence_network(
    contexts: Int64Array, labels: Int64Array, *, tokens: int, items: int | None = None, seed: int = 0
) -> Model:
    r"""A rational model of one head, which numbers the contexts, and of ReLU blocks that unpack their labels.

    Args:
        contexts: Distinct contexts, `[T, S]`.
        labels: Integers, at least 0, `[T]`.
        tokens: N.
        items: How many items a word has; by default the best number.
        seed: Of the codes.

    Returns:
        The model; the label of each context has the largest logit.

    Raises:
        InputError: Labels that do not fit.
        CapacityError: No code of 52 bits was found.

    Source: Kim, Kim, Mozafari (2023); Kajitsuka, Sato (2025). Page: docs/claims/bit_extraction.md

    Example:
        >>> model = sequence_network(np.array([[0, 1], [1, 0], [1, 1]]), np.array([2, 0, 1]), tokens=2)
        >>> model.n_ctx, model.d_vocab_out
        (2, 3)
    """
    if len(labels) != len(contexts) or not len(labels):
        raise InputError(f"{len(labels)} labels of {len(contexts)} contexts, expected one for each")
    W_E, W_pos, head, codes = positional_attention(contexts, tokens, width=REGISTERS, seed=seed)
    blocks = (head, *word_blocks(codes, [int(label) for label in labels], items=items))
    W_U, b_U = read_out(int(max(labels)) + 1)
    return Model(blocks, W_U=W_U, b_U=b_U, W_E=W_E, W_pos=W_pos)


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
        "ReLU blocks, [[entries: N + S + 4 + 2 (K - 1)]] nonzero entries and those of the blocks, of which there are "
        "less than [[root: 2 sqrt(6 T (8 (r + c) + 21)) + 8 (r + c) + 21]], with codes of r and labels of c bits. "
        "Words of [[words: m (r + c)]] bits are what it costs. Sequences as answers are not built."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bit_extraction.md",
)
