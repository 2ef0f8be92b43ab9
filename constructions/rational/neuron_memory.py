"""Memorize facts of subjects and relations in one layer of neurons.

Page: docs/claims/factual_recall.md
"""

from typing import Literal

import numpy as np

from constructions.encoders.outer_product_memory import Associations, outer_products
from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array

Activation = Literal["relu", "polynomial"]


def neuron_memory(
    *, d_model: int, neurons: int, count: int, degree: int, activation: Activation, seed: int = 0
) -> tuple[Associations, Int64Array]:
    r"""Store associations in the output matrix of m neurons with random signs as input weights, all in integers.

    Inputs $e_i$, input weights $w_j$ and outputs $u_i$ are random signs, $g = \langle w_j, e_i \rangle$, and the output
    matrix is $\sum_i u_{\pi(i)} h(W e_i)^\top$ for a permutation $\pi$, with $h = g$, $g^2 - d$ or
    $g^3 - (3 d - 2) g$, the Hermite polynomials of sums of signs. The neurons compute $\max(g, 0)$, or h itself.

    Args:
        d_model: d.
        neurons: m.
        count: N.
        degree: k, 1 to 3.
        activation: What the neurons compute.
        seed: Seed of the draw.

    Returns:
        The associations, whose inputs are the values of the neurons, `[N, m]`, and whose matrix is the sum; and the
        inputs of the neurons, `[N, m]`.

    Raises:
        InputError: Sizes or a degree out of range.

    Source: Nichani, Lee, Bietti (2025), recalled.

    Example:
        >>> made, _ = neuron_memory(d_model=8, neurons=16, count=4, degree=2, activation="relu")
        >>> made.memory.shape, int(made.inputs.min())
        ((8, 16), 0)
    """
    if min(d_model, neurons, count) < 1 or degree not in (1, 2, 3) or activation not in ("relu", "polynomial"):
        raise InputError(
            "a size, the degree or the activation",
            f"is out of range: sizes {d_model}, {neurons}, {count}, degree {degree}, activation {activation!r}",
        )
    rng = np.random.default_rng([seed, d_model, neurons, count])
    e, u, w = (2 * rng.integers(0, 2, (rows, d_model)) - 1 for rows in (count, count, neurons))
    g = e @ w.T
    summed = (g, g**2 - d_model, g**3 - (3 * d_model - 2) * g)[degree - 1]
    labels = rng.permutation(count)
    memory = outer_products(u, summed, labels).memory
    values = np.maximum(g, 0) if activation == "relu" else summed
    return Associations(u, values, labels, memory), g
