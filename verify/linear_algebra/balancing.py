"""Scaling of rows and columns by powers of two: exact, and the difference between a certificate and none."""

from dataclasses import dataclass

import numpy as np

from constructions.numeric.arrays import Int64Array
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats, up
from verify.linear_algebra.norms import exponents

_SMALLEST = 2.0**-1073  # above every error of a product that underflows
_COLUMN_LIMIT = 500
_EVEN = 4


@dataclass(frozen=True, eq=False)
class Balanced:
    r"""A set of matrices $B = \mathrm{diag}(2^r)\, A\, \mathrm{diag}(2^c)$ with entries near 1 in each row and column.

    Rank does not change, and with at most as many rows as columns every $A$ has
    $\sigma_{\min}(A) \ge \sigma_{\min}(B)\, 2^{-\max r - \max c}$ (Lemma M5).

    Args:
        scaled: The set of the $B$, `[rows, columns]`; it holds every scaled matrix of the given set.
        row_exponents: $r$, `[rows]`.
        column_exponents: $c$, `[columns]`.
    """

    scaled: Enclosure
    row_exponents: Int64Array
    column_exponents: Int64Array

    @property
    def growth(self) -> int:
        r"""$\max r + \max c$."""
        return int(self.row_exponents.max()) + int(self.column_exponents.max())


def balanced(a: Enclosure, *, columns: bool = True) -> Balanced:
    """Scale the rows, then the columns, by powers of two so that the largest midpoint of each lies in [1/2, 1).

    Exponents that differ by at most 4 are made equal to the least of them. Multiplying by a power of two is exact
    unless it underflows; that error is added to the radius.

    Args:
        a: A set of matrices, `[rows, columns]`, not empty.
        columns: Whether to scale the columns too.

    Returns:
        The scaled set and the exponents.
    """
    with np.errstate(all="ignore"):
        rows = _evened(-exponents(_largest(a.midpoint, 1)))
        midpoint = a.midpoint * _powers(rows)[:, None]
        radius: Floats = a.radius
        if radius.any():
            radius = np.reshape(radius, (1,) * (2 - radius.ndim) + radius.shape) * _powers(rows)[:, None]
        column_exponents = np.zeros(a.shape[1], dtype=np.int64)
        if columns:
            column_exponents = _evened(np.minimum(-exponents(_largest(midpoint, 0)), _COLUMN_LIMIT))
            midpoint *= _powers(column_exponents)
            if radius.any():
                radius = radius * _powers(column_exponents)
        # What underflow lost in the first product is multiplied by at most 2^500 in the second.
        radius = up(radius + _SMALLEST * (2.0 ** (_COLUMN_LIMIT + 1) if columns else 1.0))
    return Balanced(Enclosure(midpoint, radius), rows, column_exponents)


def _largest(x: Floats, axis: int) -> Floats:
    """Return the largest absolute value along an axis."""
    return np.maximum(x.max(axis=axis, initial=0.0), -x.min(axis=axis, initial=0.0))


def _evened(exponent: Int64Array) -> Int64Array:
    """Make nearly equal exponents equal, because scaling by different ones gains little and costs accuracy in
    Lemma M5.
    """
    return np.full_like(exponent, exponent.min()) if np.ptp(exponent) <= _EVEN else exponent


def _powers(exponent: Int64Array) -> Floats:
    return np.ldexp(1.0, exponent)
