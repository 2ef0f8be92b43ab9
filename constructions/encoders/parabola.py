r"""Labels on a parabola: integers whose margins are exact in floating point, for millions of labels in two dimensions.

Page: docs/claims/lookup_in_two_dimensions.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array, Int64Array

MOST = 2**26
"""The largest number of tokens for which every product and sum of the logits is exact in float64."""


def parabola(count: int) -> Float64Array:
    r"""Return the unembedding vectors $w_j = (2 j, -j^2)$, `[N, 2]`.

    With the stream $E = \lambda (g, 1)$ the lead of token g over token j is $\lambda (g - j)^2$.

    Args:
        count: N, 1 to 2^26.

    Returns:
        Integers, in float64.

    Raises:
        InputError: N out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3, in integers.

    Example:
        >>> parabola(3).tolist()
        [[0.0, 0.0], [2.0, -1.0], [4.0, -4.0]]
        >>> (parabola(4) @ stream(np.array([2]), power=0)[0]).tolist()
        [0.0, 3.0, 4.0, 3.0]
    """
    if not 1 <= count <= MOST:
        raise InputError("count", f"= {count}", "1 .. 2^26, for products below 2^53")
    tokens = np.arange(count, dtype=np.float64)
    return np.stack([2.0 * tokens, 0.0 - tokens * tokens], axis=1)


def stream(labels: Int64Array, *, power: int) -> Float64Array:
    r"""Return the residual streams $E = 2^p (g, 1)$ of labels g, `[T, 2]`.

    A power of two scales logits without rounding.

    Args:
        labels: Tokens, `[T]`.
        power: p, -900 to 900.

    Returns:
        The streams.

    Raises:
        InputError: p out of range.

    Example:
        >>> stream(np.array([3]), power=5).tolist()
        [[96.0, 32.0]]
    """
    if not -900 <= power <= 900:
        raise InputError("power", f"= {power}", "-900 .. 900")
    return np.ldexp(np.stack([labels.astype(np.float64), np.ones(len(labels))], axis=1), power)


def power_for(divergence: float) -> int:
    r"""Return the least power p >= 0 for which $\lambda = 2^p$ gives at most $\eta$ nats, for any number of tokens.

    The leads are $\lambda k^2$ on both sides, so the divergence is at most $2 e^{-\lambda} / (1 - e^{-3 \lambda})$.

    Args:
        divergence: $\eta > 0$, in nats.

    Returns:
        The power.

    Raises:
        InputError: A divergence that is not positive.

    Example:
        >>> power_for(1e-12), power_for(1.0)
        (5, 0)
    """
    if not 0.0 < divergence < np.inf:
        raise InputError("divergence", f"= {divergence}", "a positive number")
    power = 0
    while np.log(2.0) - 2.0**power - np.log1p(-np.exp(-3.0 * 2.0**power)) > np.log(divergence) - 1e-9:
        power += 1
    return power
