r"""The lower bound of Madden et al.: some transformer reaches arbitrary laws with parameters of the order of T (N - 1).

Page: docs/claims/knots.md
"""

from typing import Any

import numpy as np
from flint import fmpq

from constructions.arrays import Int64Array
from constructions.claims.claim import Claim
from constructions.claims.zhang_2017_theorem import OF_RANDOM_CONTEXTS, exact, exact_knots, random_contexts
from constructions.encoders.positional_code import positional_code
from constructions.memories.knots import knots_memory
from constructions.models.blocks import Attention, FeedForward
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task


def build(*, tokens: int, length: int, facts: int, seed: int) -> Construction[Task]:
    r"""Hold random laws of random contexts by attention that numbers them and one layer of ReLU neurons.

    Args:
        tokens: N.
        length: S.
        facts: T, of the $N^S$ contexts.
        seed: Of contexts, laws and codes.

    Returns:
        The weights, rounded to float64, and the laws as the task.

    Raises:
        CapacityError: Laws that are too steep, or codes that are too long.
        InputError: More facts than contexts.

    Source: Madden, Fox, Thrampoulidis (2024), with other neurons.

    Example:
        >>> build(tokens=4, length=3, facts=32, seed=0).task.target
        'laws'
    """
    contexts = random_contexts(tokens=tokens, length=length, facts=facts, seed=seed)
    laws = np.random.default_rng([seed, 1]).standard_exponential((facts, tokens)) + 2.0**-8
    laws /= laws.sum(axis=1, keepdims=True)
    return knots_memory(array_task(contexts, laws=laws, vocabulary=tokens), seed=seed)


def positional_attention(contexts: Int64Array, tokens: int, *, width: int, seed: int = 0) -> tuple[Any, ...]:
    r"""A rational head that looks at positions alone and writes the code of the context into coordinate 0.

    Args:
        contexts: Distinct contexts, `[T, S]`.
        tokens: N.
        width: Of the stream after the head.
        seed: Of the codes.

    Returns:
        `W_E`, `W_pos`, the block, and the codes as integers.

    Raises:
        CapacityError: No code of 52 bits was found.

    Example:
        >>> positional_attention(np.array([[0, 1], [1, 0]]), 2, width=1)[3]
        [1, 2]
    """
    code = positional_code(contexts, tokens, binary=True, seed=seed)
    weights = [int(weight) for weight in code.weights]
    exponents = [weight.bit_length() - 1 for weight in weights]
    W_E = exact([[fmpq(int(value)), fmpq(0)] for value in code.values])
    W_pos = exact([[fmpq(0), fmpq(1 + power - exponents[-1])] for power in exponents])
    reads = np.stack([exact([[0], [1]])])
    writes = exact([[sum(weights) if j == 0 else 0 for j in range(width)]])
    head = Attention(reads, reads, np.stack([exact([[1], [0]])]), np.stack([writes]), skip=False, attends="last")
    return W_E, W_pos, head, [int(z) for z in code.codes]


def exact_laws_model(contexts: Int64Array, log_odds: list[list[fmpq]], tokens: int, *, seed: int = 0) -> Model:
    r"""A rational model with exactly the given logits $\log \pi_j - \log \pi_N$, $j < N$, on the given contexts.

    Args:
        contexts: Distinct contexts, `[T, S]`.
        log_odds: `[T, N - 1]`.
        tokens: N.
        seed: Of the codes.

    Raises:
        CapacityError: As `positional_attention`.

    Source: Madden, Fox, Thrampoulidis (2024), with other neurons.

    Example:
        >>> exact_laws_model(np.array([[0], [1]]), [[fmpq(1, 2)], [fmpq(3)]], 2).d_vocab_out
        2
    """
    W_E, W_pos, head, codes = positional_attention(contexts, tokens, width=1, seed=seed)
    places, jumps, first = exact_knots(codes, log_odds, offset=True)
    b_in = exact([-b for b in places])
    neurons = FeedForward(exact([[1] * len(places)]), exact(jumps), b_in, exact(first), skip=False)
    W_U = exact([[int(i == j) for j in range(tokens)] for i in range(tokens - 1)])
    return Model(blocks=(head, neurons), W_U=W_U, W_E=W_E, W_pos=W_pos)


CLAIM = Claim(
    id="madden-2024.lower",
    title="A transformer of one layer that reaches arbitrary laws",
    source="Madden, Fox, Thrampoulidis (2024), lower bounds",
    printed=(
        "One layer of attention with several heads and a network of neurons, with an activation that is real analytic "
        "and no polynomial, reaches arbitrary laws on T contexts with parameters of the order of T (N - 1); "
        "averaging the tokens is enough in place of attention."
    ),
    judgement="holds",
    truth=(
        "With ReLU and one head that looks at positions alone, [[enough: T (N - 1) + T - 1 + N + S]] numbers that "
        "depend on the task are enough, a factor 1 + 1 / (N - 1) and N + S - 1 above the bound T (N - 1): all laws of "
        "full support on any T distinct contexts, in closed form. The neurons of the source have independent values at "
        "T codes, so that some readout has any log-odds. Averages with equal weights know no order: the embeddings "
        "have to make it known."
    ),
    reconstructed="the network and the constants: the paper was at hand in its abstract only",
    page="docs/claims/knots.md",
    hypotheses=OF_RANDOM_CONTEXTS,
    parameters={"tokens": 8, "length": 4, "facts": 64, "seed": 0},
    build=build,
)
