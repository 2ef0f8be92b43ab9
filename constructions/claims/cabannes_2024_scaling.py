r"""Cabannes et al.: how the error of an associative memory falls with its width, for inputs with a Zipf law.

Page: docs/claims/outer_product_memory.md
"""

import numpy as np

from constructions.claims.claim import Claim
from constructions.errors import InputError
from constructions.memories.outer_product_memory import Associations, outer_products


def truncated_memory(*, width: int, count: int, outputs: int, stored: int, seed: int = 0) -> Associations:
    r"""The sum of the outer products of the most frequent inputs, with the labels $x \bmod M$ of all.

    Args:
        width: d.
        count: N, inputs in the order of their frequency.
        outputs: M, output tokens.
        stored: P, how many are added up.
        seed: Of the signs.

    Returns:
        All N associations, and the matrix of the first P.

    Raises:
        InputError: Sizes out of range.

    Source: Cabannes, Dohmatob, Bietti (2024), recalled.

    Example:
        >>> truncated_memory(width=4, count=8, outputs=2, stored=3).memory.shape
        (4, 4)
    """
    if min(width, count, outputs) < 1 or not 1 <= stored <= count:
        raise InputError(f"sizes {width}, {count}, {outputs}, stored = {stored}, expected 1 <= P <= N")
    rng = np.random.default_rng([seed, width, count, outputs])
    e, u = (2 * rng.integers(0, 2, (rows, width)) - 1 for rows in (count, outputs))
    labels = np.arange(count) % outputs
    memory = outer_products(u, e[:stored], labels[:stored]).memory
    return Associations(u, e, labels, memory)


CLAIM = Claim(
    id="cabannes-2024.scaling",
    title="The error of an associative memory under a Zipf law",
    source="Cabannes, Dohmatob, Bietti (2024), scaling laws",
    printed=(
        "For inputs of probability proportional to x^-a, a > 1, a matrix that stores the P most frequent has an error "
        "of the order of P^(1 - a); with random embeddings in R^d it falls like d^(1 - a)."
    ),
    judgement="open",
    truth=(
        "The first is the mass of the tail, below [[tail: P^(1 - a) / (a - 1)]] over the sum of all. The second is "
        "not proved here. Of sums of outer products for a = 2 and the best P, counted exactly: from d = 16 to d = 64 "
        "the error falls by less than the printed factor [[factor: 4^(a - 1)]] for 4 output tokens, and by more than "
        "it where each input has its own."
    ),
    reconstructed="the statement, from memory: the paper was at hand in its abstract only",
    page="docs/claims/outer_product_memory.md",
)
