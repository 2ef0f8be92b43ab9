"""Encode labels as points of the real line: a number of the stream names the label if it is within 1/2 of its point.

Page: docs/claims/newton_memory.md
"""

from typing import NamedTuple

import numpy as np

from constructions.errors import CapacityError, InputError
from constructions.numeric.arrays import Float64Array, Int64Array

MOST = 2**12
"""The largest number of labels for which the columns, multiples of 1/8 below 2^21, are exact in float32."""


def numbered_labels(labels: Int64Array, claim: str) -> tuple[Int64Array, Int64Array]:
    """Return the labels that occur, and the index of each label among them.

    Raises:
        CapacityError: There are more than one number can name, in the name of a claim.
    """
    answers, numbers = np.unique(labels, return_inverse=True)
    if len(answers) > MOST:
        raise CapacityError(claim, f"at most {MOST} labels", f"there are {len(answers)}")
    return answers, numbers


class LabelCode(NamedTuple):
    r"""K labels as points of the real line.

    Args:
        points: The point of each label, $c_k = k - (K - 1) / 2$, `[K]`.
        columns: The unembedding of each label at the coordinates (1, y) of the stream, $(-c_k^2 / 2, c_k)$, `[2, K]`.
    """

    points: Float64Array
    columns: Float64Array

    def miss(self, labels: Int64Array, number: Float64Array) -> Float64Array:
        r"""Return how far the numbers y are from the points of the labels, on the sides that matter.

        Positive where y is too large, negative where it is too small; 0 beyond the outermost points. Of a label with
        the miss m, $|m| \le 1/2$, the logit is ahead of all others by at least $1/2 - |m|$, and, if $m \ne 0$, of one
        by no more.

        Args:
            labels: Which label each number is to name, `[T]`.
            number: y, `[T]`.

        Returns:
            The misses m, `[T]`.

        Example:
            >>> scalar_label_code(3).miss(np.array([0, 1, 2, 2]), np.array([-5.0, 0.25, 5.0, 0.5]))
            array([ 0.  ,  0.25,  0.  , -0.5 ])
        """
        miss = number - self.points[labels]
        lowest = np.where(labels == 0, 0.0, -np.inf)
        highest = np.where(labels == len(self.points) - 1, 0.0, np.inf)
        return np.clip(miss, lowest, highest)


def scalar_label_code(count: int) -> LabelCode:
    """Name K labels by one real number y of the stream, next to a coordinate that is 1.

    Label k has the point $c_k = k - (K - 1) / 2$ and the logit $c_k y - c_k^2 / 2 = y^2/2 - (y - c_k)^2/2$: the label
    of the nearest point wins.

    Args:
        count: K, 1 to 2^12.

    Returns:
        The points and the columns.

    Raises:
        InputError: K out of range.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> code = scalar_label_code(3)
        >>> code.points.tolist(), (np.array([1.0, 0.75]) @ code.columns).tolist()
        ([-1.0, 0.0, 1.0], [-1.25, 0.0, 0.25])
    """
    if not 1 <= count <= MOST:
        raise InputError("count", f"= {count}", f"1 .. {MOST} labels on one line")
    points = np.arange(count, dtype=np.float64) - (count - 1) / 2.0
    return LabelCode(points, np.stack([0.0 - points * points / 2.0, points]))
