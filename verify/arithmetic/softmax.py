"""The softmax of enclosed logits.

Page: docs/rigour/divergence.md
"""

import numpy as np

from constructions.errors import InputError
from verify.arithmetic.elementary import exp
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.sums import total

_SLACK = 1.0 + 2.0**-40  # outweighs 4096 roundings of non-negative numbers (Lemma F1)


def enclose_softmax(logits: Enclosure, *, axis: int = -1) -> Enclosure:
    r"""Enclose the softmax along an axis, as probabilities.

    $$ p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}. $$

    A float64 number, the largest midpoint, is first subtracted from all logits: an exact identity, whatever the number.
    The largest $p_m$ is also enclosed by $1 - \sum_{i \ne m} p_i$, which is the sharper the closer it is to 1, and
    no radius is larger than what $0 \le p_i \le 1$ leaves, even where nothing is known of the logits (Lemma F3).

    Args:
        logits: Logits, in nats; at least one along the axis.
        axis: The axis that is summed over.

    Returns:
        Enclosure of the shape of `logits`.

    Raises:
        InputError: Nothing to sum over.

    Example:
        >>> softmax = enclose_softmax(Enclosure([[0.0, -1000.0]], 1e-3))
        >>> float(softmax.midpoint[0, 0]), bool((softmax.radius < 1e-300).all())
        (1.0, True)
    """
    if logits.ndim == 0 or logits.shape[axis] == 0:
        raise InputError("logits", f"has shape {logits.shape}", f"at least one entry along the axis {axis}")
    with np.errstate(all="ignore"):
        powers = exp(logits - logits.midpoint.max(axis=axis, keepdims=True))
        shares = powers / _kept(total(powers, axis), axis)
        # Lemma F3: p lies in [0, 1], whatever the logits; and p_m - mid_m = -(mid_m - 1) - (sum of the others).
        midpoint = shares.midpoint.copy()
        radius = np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))
        top = np.expand_dims(midpoint.argmax(axis=axis), axis)
        top_midpoint, top_radius = (np.take_along_axis(part, top, axis) for part in (midpoint, radius))
        for part in (midpoint, radius):
            np.put_along_axis(part, top, 0.0, axis)
        others = _kept(total(Enclosure(midpoint, radius), axis), axis)
        complement = (Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()
        np.put_along_axis(midpoint, top, top_midpoint, axis)
        np.put_along_axis(radius, top, np.minimum(top_radius, complement), axis)
        return Enclosure(midpoint, radius)


def _kept(x: Enclosure, axis: int) -> Enclosure:
    """Restore the summed axis of an enclosure."""
    radius = x.radius if x.radius.size == 1 else np.expand_dims(np.broadcast_to(x.radius, x.shape), axis)
    return Enclosure(np.expand_dims(x.midpoint, axis), radius)
