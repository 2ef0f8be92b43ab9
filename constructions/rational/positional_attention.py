"""Number the contexts with a head that attends by position only, and read exact distributions with neurons.

Page: docs/claims/knots.md
"""

from typing import Any

import numpy as np
from flint import fmpq

from constructions.memories.codes.positional_code import positional_code
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.rational.interpolating_network import exact, exact_knots


def positional_attention(contexts: Int64Array, d_vocab: int, *, d_model: int, seed: int = 0) -> tuple[Any, ...]:
    """Return a rational head that attends by position only and writes the code of the context into coordinate 0.

    Args:
        contexts: Distinct contexts, `[T, S]`.
        d_vocab: N.
        d_model: Dimension of the stream after the head.
        seed: Seed of the codes.

    Returns:
        `W_E`, `W_pos`, the block, and the codes as integers.

    Raises:
        CapacityError: No code of 52 bits was found.

    Example:
        >>> positional_attention(np.array([[0, 1], [1, 0]]), 2, d_model=1)[3]
        [1, 2]
    """
    code = positional_code(contexts, d_vocab, binary=True, seed=seed)
    weights = [int(weight) for weight in code.weights]
    exponents = [weight.bit_length() - 1 for weight in weights]
    W_E = exact([[fmpq(int(value)), fmpq(0)] for value in code.values])
    W_pos = exact([[fmpq(0), fmpq(1 + power - exponents[-1])] for power in exponents])
    reads = np.stack([exact([[0], [1]])])
    writes = exact([[sum(weights) if j == 0 else 0 for j in range(d_model)]])
    head = Attention(reads, reads, np.stack([exact([[1], [0]])]), np.stack([writes]), skip=False, attends="last")
    return W_E, W_pos, head, [int(z) for z in code.codes]


def exact_distributions_model(contexts: Int64Array, log_odds: list[list[fmpq]], d_vocab: int) -> Model:
    r"""Return a rational model with exactly the given logits $\log \pi_j - \log \pi_N$, $j < N$, on the given contexts.

    Args:
        contexts: Distinct contexts, `[T, S]`.
        log_odds: `[T, N - 1]`.
        d_vocab: N.

    Raises:
        CapacityError: As `positional_attention`.

    Source: Madden, Fox, Thrampoulidis (2024), with other neurons.

    Example:
        >>> exact_distributions_model(np.array([[0], [1]]), [[fmpq(1, 2)], [fmpq(3)]], 2).d_vocab_out
        2
    """
    W_E, W_pos, head, codes = positional_attention(contexts, d_vocab, d_model=1, seed=0)
    places, jumps, first = exact_knots(codes, log_odds, offset=True)
    b_in = exact([-b for b in places])
    neurons = FeedForward(exact([[1] * len(places)]), exact(jumps), b_in, exact(first), skip=False)
    W_U = exact([[int(i == j) for j in range(d_vocab)] for i in range(d_vocab - 1)])
    return Model(blocks=(head, neurons), W_U=W_U, W_E=W_E, W_pos=W_pos)
