r"""The normal distribution function in float64 and in double-double: a Taylor polynomial at the next multiple of 1/8.

$$ \Phi(c + h) = \sum_{n \le N} \frac{\Phi^{(n)}(c)}{n!} h^n + \ldots, \qquad |h| \le \tfrac1{16}, $$

with $\Phi^{(n)}(c) = (-1)^{n-1} \mathrm{He}_{n-1}(c)\, \varphi(c)$. The coefficients are rounded from balls.

Page: docs/rigour/forward.md (Lemma T4).
"""

import functools

import numpy as np
from flint import arb, ctx

from verify.arithmetic.rounding import Floats

PIECES = 8  # in an interval of length 1
_BITS = 256
_DEGREE = 10
_END = 9


@functools.cache
def coefficients(end: int, degree: int) -> tuple[Floats, Floats]:
    r"""Return the Taylor coefficients of $\Phi$ at all multiples of 1/8 from -end to end, as sums of two float64
    numbers.

    Args:
        end: The last point is this integer.
        degree: Degree of the polynomials.

    Returns:
        The numbers next to the coefficients, and next to what they leave, `[degree + 1, 16 end + 1]`.

    Example:
        >>> float(coefficients(1, 1)[0][0, 8])
        0.5
    """
    shape = (degree + 1, 2 * PIECES * end + 1)
    high, low = np.empty(shape), np.empty(shape)
    with ctx.workprec(_BITS):
        for j in range(shape[1]):
            c = arb(j - PIECES * end) / PIECES
            density = (-c * c / 2).exp() / (2 * arb.pi()).sqrt()
            exact = [(1 + (c / arb(2).sqrt()).erf()) / 2]
            before, hermite = arb(0), arb(1)
            factorial = arb(1)
            for n in range(1, degree + 1):
                factorial *= n
                exact.append((-1) ** (n - 1) * hermite * density / factorial)
                before, hermite = hermite, c * hermite - (n - 1) * before
            for n, x in enumerate(exact):
                high[n, j] = float(x.mid())
                low[n, j] = float((x - arb(high[n, j])).mid())
    return high, low


def pieces(x: Floats, end: int) -> tuple[np.ndarray, Floats]:
    """Return the index of the multiple of 1/8 nearest to each number of [-end, end], and the exact distance from it."""
    nearest = np.rint(x * float(PIECES))
    # A NaN has no place; its distance is NaN, and spoils the polynomial.
    place = np.where(np.isfinite(nearest), nearest, 0.0).astype(np.int64) + PIECES * end
    return place, x - nearest / float(PIECES)


def normal_distribution(x: Floats) -> Floats:
    r"""Return $\Phi(x)$ within an absolute $4u$; NaN where x is NaN.

    Example:
        >>> normal_distribution(np.array([0.0, 40.0])).tolist()
        [0.5, 1.0]
    """
    table, _ = coefficients(_END, _DEGREE)
    place, h = pieces(np.clip(x, -float(_END), float(_END)), _END)
    y = table[_DEGREE][place]
    for n in range(_DEGREE - 1, -1, -1):
        y *= h
        y += table[n][place]
    return y
