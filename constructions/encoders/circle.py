"""Place labels on a circle: two dimensions separate any number of them, and floating point a known number.

Page: docs/claims/lookup_in_two_dimensions.md
"""

import math

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array

_UPWARDS = 1.0 + 2.0**-40  # outweighs the roundings below


def circle(count: int) -> Float64Array:
    r"""Return the vectors $u_k = (\cos, \sin)(2 \pi k / N)$ of Proposition 3, `[N, 2]`.

    Cosine and sine are taken of angles up to $\pi / 4$ only, so that the eight octants are mirror images bit by bit,
    and 0, 1 and -1 are exact.

    Args:
        count: N, at least 1 and at most 2^28.

    Returns:
        The vectors, in float64.

    Raises:
        InputError: N out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> circle(4).tolist()
        [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    """
    if not 1 <= count <= 2**28:
        raise InputError("count", f"= {count}", "1 .. 2^28")
    return arc(count, count)


def arc(count: int, points: int) -> Float64Array:
    r"""Return the first vectors of the circle of N, as `circle` gives them, `[points, 2]`.

    Args:
        count: N.
        points: How many, at most N.

    Returns:
        The vectors.

    Example:
        >>> arc(6, 1).tolist()
        [[1.0, 0.0]]
    """
    octant, rest = np.divmod(8 * np.arange(points), count)  # the angle is (octant + rest / N) pi / 4
    backwards = octant % 2 == 1
    share = np.where(backwards, count - rest, rest)
    angle = np.pi * share / (4 * count)
    cosine = np.cos(angle)
    sine = np.where(share == count, cosine, np.sin(angle))  # the diagonal is its own mirror image
    sine = np.where(backwards, -sine, sine)
    quarter = (octant + 1) // 2 % 4
    x = np.choose(quarter, [cosine, -sine, -cosine, sine])
    y = np.choose(quarter, [sine, cosine, -sine, -cosine])
    return np.stack([x, y], axis=1) + 0.0  # no -0


def gap(count: int) -> float:
    r"""Return the margin $m = 1 - \cos(2 \pi / N) = 2 \sin^2(\pi / N)$ between neighbours, in floating point; 2 for N =
    2.

    Example:
        >>> gap(4)
        1.0
    """
    return 2.0 * math.sin(math.pi / count) ** 2 if count != 4 else 1.0


def strength(count: int, divergence: float) -> float:
    r"""Return a factor $\lambda$ for which the circle has a divergence of at most $\eta$ nats, whatever the label.

    $\lambda = \log(1 + 2 / \eta) / m$ with $m = 1 - \cos(2 \pi / N)$: then $x = e^{-\lambda m}$ has
    $2x / (1 - x) = \eta$.
    It is about $N^2 \log(2 / \eta) / (2 \pi^2)$. For N = 2, $\log(1 + x) \le \eta$ needs half of it at most.

    Args:
        count: N, at least 1.
        divergence: $\eta > 0$, in nats.

    Returns:
        The factor, rounded up; 0 for N = 1.

    Raises:
        InputError: N below 1, or a divergence that is not positive.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> round(strength(200, 1e-12), 2)
        57401.49
    """
    if count < 1 or not 0.0 < divergence < math.inf:
        raise InputError("count", f"= {count} and divergence = {divergence}", "N >= 1 and a positive number")
    if count == 1:
        return 0.0
    return _UPWARDS * math.log1p(2.0 / divergence) / gap(count)
