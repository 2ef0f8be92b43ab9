r"""What no weights of a shape can do: ceilings of the contexts that are held, floors of the divergence.

Page: docs/experiments.md
"""

import numpy as np

from byheart.experiments.points import Point
from constructions.tasks.arrays import all_contexts
from verify.capacity.parity import parity_errors
from verify.encoders.encoder_floor import encoder_floor


def ceiling(point: Point) -> int | None:
    r"""The most contexts that any weights of the shape of a point can hold, where that is known.

    Without heads the logits depend on the last token c alone, so at most $\max_i \#\{t : g(t) = i\}$ of the contexts
    that end in c are held. H heads alone are wrong about the parity of n bits at least $E(n, H)$ times
    (`verify.capacity.parity.parity_errors`).

    Args:
        point: The settings.

    Example:
        >>> ceiling(Point(tokens=2, length=3, d_model=9, d_head=9, heads=1, targets="parity"))
        3
    """
    if point.targets == "parity" and not point.neurons and point.layers == 1:
        bits = point.length - 1
        return 2**bits - parity_errors(bits, point.heads)
    if point.targets == "labels" and not point.heads:
        last = all_contexts(point.tokens, point.length)[:, -1]
        table = np.zeros((point.tokens, point.tokens), dtype=np.int64)
        np.add.at(table, (last, point.labels()), 1)
        return int(table.max(axis=1).sum())
    return None


def floor(point: Point) -> float | None:
    """The least mean divergence of any weights of the shape of a point, nats, bounded from below, where that is known.

    The logits are rows of dimension d times W_U, an encoder of rank d, whatever makes the rows.

    Args:
        point: The settings.
    """
    if point.targets != "laws" or point.d_model >= point.tokens - 1:
        return None
    return encoder_floor(point.laws(), point.d_model).lower
