"""Encode labels as points of a grid: the stream names the label if each number is within 1/2 of its coordinate.

Page: docs/claims/knots.md
"""

from typing import NamedTuple

import numpy as np

from constructions.errors import InputError
from constructions.memories.codes.scalar_label_code import scalar_label_code
from constructions.numeric.arrays import Float64Array


class GridCode(NamedTuple):
    r"""K labels as points of a grid in D dimensions.

    Args:
        points: The point $c_k$ of each label, `[K, D]`.
        columns: Its unembedding, $c_k$, `[D, K]`.
        shifts: Its shift, $-|c_k|^2 / 2$, `[K]`.
    """

    points: Float64Array
    columns: Float64Array
    shifts: Float64Array


def mixed_radix_code(count: int, digits: int) -> GridCode:
    r"""Name K labels by their D digits in the least base that suffices, centred at 0.

    With the logits $\langle c_k, y \rangle - |c_k|^2 / 2 = (|y|^2 - |y - c_k|^2) / 2$ the label of the nearest point
    wins. If each coordinate of y is within $\eta \le 1/2$ of that of the label's point, it does so by at least
    $1/2 - \eta$: a label whose digits differ by $\delta_r$ is behind by at least
    $\sum_r |\delta_r| (|\delta_r| / 2 - \eta)$, of which every term with $\delta_r \ne 0$ is at least $1/2 - \eta$.

    Args:
        count: K, at least 1.
        digits: D, at least 1; the base $\lceil K^{1/D} \rceil$ may be 2^12 at most.

    Returns:
        The points, the columns and the shifts, float32 numbers for D up to 4.

    Raises:
        InputError: K or D out of range.

    Source: generalizes Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> code = mixed_radix_code(4, 2)
        >>> code.points.tolist(), code.shifts.tolist()
        ([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]], [-0.25, -0.25, -0.25, -0.25])
    """
    if count < 1 or digits < 1:
        raise InputError("count", f"= {count} and digits = {digits}", "at least 1")
    base = 1
    while base**digits < count:
        base += 1
    line = scalar_label_code(base)
    number = np.arange(count)
    which = np.stack([number // base ** (digits - 1 - r) % base for r in range(digits)], axis=1)
    points = line.points[which]
    return GridCode(points, np.ascontiguousarray(points.T), line.columns[0][which].sum(axis=1))
