"""Enclose the sinusoidal positions, and bound the length of tokens that keep them independent.

Page: docs/claims/assumptions.md
"""

import math

import numpy as np
from flint import arb, ctx

from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.verdict import Verdict

_BITS = 128


def enclosed_positions(count: int, d_model: int) -> Enclosure:
    r"""Return the real numbers $\sin(s \, 10000^{-2k/d})$, $\cos(s \, 10000^{-2k/d})$, `[n, d]`, from balls of 128
    bits.

    Args:
        count: n, at least 1.
        d_model: d, even and at least 2.

    Returns:
        The enclosure.

    Raises:
        InputError: A size out of range.

    Example:
        >>> enclosed_positions(1, 2).midpoint.tolist()
        [[0.0, 1.0]]
    """
    if count < 1 or d_model < 2 or d_model % 2:
        raise InputError("count", f"= {count}, d_model = {d_model}", "count >= 1 and an even width >= 2")
    midpoint, radius = np.zeros((count, d_model)), np.zeros((count, d_model))
    with ctx.workprec(_BITS):
        for k in range(d_model // 2):
            frequency = arb(10000) ** (arb(-2 * k) / d_model)
            for s in range(count):
                for column, value in ((2 * k, (frequency * s).sin()), (2 * k + 1, (frequency * s).cos())):
                    midpoint[s, column] = float(value.mid())
                    # Above the distance of the ball from its rounded middle, as a float64.
                    radius[s, column] = math.nextafter(
                        float(abs(value - arb(midpoint[s, column])).upper()) * (1.0 + 2.0**-50), math.inf
                    )
    return Enclosure(midpoint, radius)


def room_for_tokens(*, count: int, d_model: int) -> float:
    r"""Return how long token embeddings may be so that each context of n of them plus positions has rank n.

    By Weyl's inequality $\sigma_{\min}(E + P) \ge \sigma_{\min}(P) - \Vert E \Vert$, and n rows shorter than r have the
    norm $\Vert E \Vert < \sqrt n r$. So $r = \sigma_{\min}(P) / \sqrt n$ will do.

    Args:
        count: n.
        d_model: d.

    Returns:
        A lower bound of r; 0 if the positions are not proved to be independent.

    Example:
        >>> 0.8 < room_for_tokens(count=1, d_model=2) <= 1.0
        True
    """
    certificate = certify_full_row_rank(enclosed_positions(count, d_model))
    if certificate.verdict is not Verdict.PROVED or not certificate.smallest_singular_value > 0:
        return 0.0
    with ctx.workprec(_BITS):
        room = arb(float(certificate.smallest_singular_value)) / arb(count).sqrt()
        return max(0.0, math.nextafter(float(room.lower()), 0.0))
