"""Images of sets under increasing functions: by their slope where the sets are narrow, by their ends where not."""

from collections.abc import Callable

import numpy as np

from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats, down, raised, up


def increasing(
    x: Enclosure,
    value: Floats,
    error: Floats,
    change: Floats,
    at: Callable[[Floats], tuple[Floats, Floats]],
    least: float,
) -> Enclosure:
    r"""Enclosure of the image of a set under an increasing function with values between `least` and 1 (Lemma 13).

    Args:
        x: The set.
        value: The function at the midpoints.
        error: Bounds of the errors of `value`.
        change: Bounds of the change of the function over the set; infinite where the set is too wide for them.
        at: The function at any floats, infinities included, and bounds of the errors.
        least: Its infimum.
    """
    radius = raised(error + change)
    wide = np.broadcast_to(np.isinf(radius) & (x.radius < np.inf), x.shape)
    if wide.any():
        radius, value = np.array(np.broadcast_to(radius, x.shape)), np.array(value)
        (low, below), (high, above) = at(x.lower()[wide]), at(x.upper()[wide])
        hull = Enclosure.between(np.maximum(down(low - below), least), np.minimum(up(high + above), 1.0))
        value[wide], radius[wide] = hull.midpoint, hull.radius
    return Enclosure(value, radius)
