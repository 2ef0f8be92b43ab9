r"""What no weights of a shape can do: ceilings of the contexts that are held, floors of the divergence.

Page: docs/experiments.md
"""

from fractions import Fraction
from statistics import pvariance

import numpy as np

from constructions.tasks.arrays import all_contexts
from experiments.layers import AnyPoint, LayerPoint
from verify.arithmetic.rounding import down
from verify.theorems.capacity.parity import parity_errors
from verify.theorems.encoders.encoder_floor import encoder_floor


def ceiling(point: AnyPoint) -> int | None:
    r"""Return the most contexts that any weights of the shape of a point can hold, where that is known.

    Without heads the logits depend on the last token c alone, so at most $\max_i \#\{t : g(t) = i\}$ of the contexts
    that end in c are held. H heads alone are wrong about the parity of n bits at least $E(n, H)$ times
    (`verify.theorems.capacity.parity.parity_errors`). A layer that reads one shared key has one output, whatever the
    query.

    Args:
        point: The settings.

    Example:
        >>> from experiments.points import Point
        >>> ceiling(Point(tokens=2, length=3, d_model=9, d_head=9, heads=1, targets="parity"))
        3
    """
    if isinstance(point, LayerPoint):
        constant = point.context == "shared" and point.n_ctx == 1 and point.targets == "labels"
        return int(np.bincount(point.labels()).max()) if constant else None
    if point.targets == "parity" and not point.neurons and point.layers == 1:
        bits = point.length - 1
        return 2**bits - parity_errors(bits, point.heads)
    if point.targets == "labels" and not point.heads:
        last = all_contexts(point.tokens, point.length)[:, -1]
        table = np.zeros((point.tokens, point.tokens), dtype=np.int64)
        np.add.at(table, (last, point.labels()), 1)
        return int(table.max(axis=1).sum())
    return None


def floor(point: AnyPoint) -> float | None:
    """Return the least loss of any weights of the shape of a point, bounded from below, where that is known.

    Distributions: the logits are rows of dimension d times W_U, an encoder of rank d, whatever makes the rows; nats.
        Numbers
    that one shared key is to say: the output is constant, and no constant is nearer than the mean, in squares.

    Args:
        point: The settings.
    """
    if isinstance(point, LayerPoint):
        constant = point.context == "shared" and point.n_ctx == 1 and point.targets == "numbers"
        return float(down(float(pvariance(map(Fraction, point.numbers().tolist()))))) if constant else None
    if point.targets != "distributions" or point.d_model >= point.tokens - 1:
        return None
    return encoder_floor(point.distributions(), point.d_model).lower
