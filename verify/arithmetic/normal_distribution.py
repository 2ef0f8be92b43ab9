r"""Enclosures of the error function and of the distribution function of the normal law.

Everything comes from Mills' ratio $R(a) = (1 - \Phi(a))/\varphi(a)$, which is smooth and of moderate size for all
$a \ge 0$, so that the tails keep their relative accuracy. Page: docs/rigour/arithmetic.md, Lemmas 11 and 12.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from verify.arithmetic.elementary import exp_floats
from verify.arithmetic.enclosure import Enclosure, enclosure, increasing, is_zero
from verify.arithmetic.rounding import UNIT, Floats, quiet, raised

# (1 + 1.25 a) R(a) as a polynomial in q = (a - 3)/(a + 3), interpolated at Chebyshev's points of 0 <= a <= 38. Where
# the coefficients come from is of no consequence: Lemma 11 bounds the error of these very floats, and a test proves it.
_MILLS = (
    1.4468039188729906,
    -0.1731022199603935,
    -0.12870649695812972,
    0.17047134407947465,
    -0.07506179311726907,
    0.0018160800003676027,
    0.010049812889094033,
    -0.0008947857816976508,
    -0.0017106741438306628,
    1.1610618079707596e-05,
    0.00033377594417067434,
    6.425943368647658e-05,
    -5.627218418483492e-05,
    -3.074826565787146e-05,
    3.1777900552077436e-06,
    8.657644816380313e-06,
    2.614942063971269e-06,
    -1.1666664424274895e-06,
    -1.2300699531178649e-06,
    -2.2786372848099613e-07,
    2.418117511889351e-07,
    1.55905738025868e-07,
    2.7365185614811725e-10,
    -2.7810555306507938e-08,
    -7.401222307061468e-09,
)
_INVERSE_ROOT_TWO_PI = float.fromhex("0x1.9884533d43651p-2")
_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_OVER_PI = float.fromhex("0x1.9884533d43651p-1")
_ERF_SERIES = tuple(
    float.fromhex("0x1.20dd750429b6dp+0") * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(12)
)
FARTHEST = 37.5  # beyond it a tail is below 2^-1020 and is bounded, not computed
_FARTHEST_ERF = 26.0
# Lemma 12, in units of u: a constant, and a multiple of the square of the argument.
_TAIL_ERROR, _TAIL_GROWTH = 20.0, 0.6
_ERFC_ERROR, _ERFC_GROWTH = 24.0, 1.2
_ERF_SERIES_ERROR = 7.0


class NormalLaw(NamedTuple):
    r"""$\Phi$ and $\varphi$ at floats (Lemma 12).

    Attributes:
        cdf: $\Phi(x)$.
        error: Bound of its error, before it is raised.
        density: $\varphi(\min(|x|, 37.5))$, up to the relative error of `cdf` at negative arguments.
        unit: That relative error.
    """

    cdf: Floats
    error: Floats
    density: Floats
    unit: Floats


def _mills_ratio(a: Floats) -> Floats:
    """Lemma 11: within 12 u of R(a), relatively, for 0 <= a <= 38."""
    q = (a - 3.0) / (a + 3.0)
    y = np.full(q.shape, _MILLS[-1])
    for coefficient in _MILLS[-2::-1]:
        y *= q
        y += coefficient
    return y / (1.0 + 1.25 * a)


def normal_law(x: Floats) -> NormalLaw:
    """The values at floats, infinities included, with bounds of their errors (Lemma 12)."""
    size = np.abs(x)
    a = np.minimum(size, FARTHEST)
    square = a * a
    density = exp_floats(-0.5 * square) * _INVERSE_ROOT_TWO_PI
    tail = density * _mills_ratio(a)
    unit = (_TAIL_ERROR + _TAIL_GROWTH * square) * UNIT
    error = unit * tail
    # Farther out the tail is anything between 0 and that at the farthest point.
    error += np.where(size > FARTHEST, tail, 0.0)
    cdf = np.where(x < 0.0, tail, 1.0 - tail)
    error += np.where(x < 0.0, 0.0, UNIT)
    return NormalLaw(cdf, error, density, unit)


def cdf_change(law: NormalLaw, midpoint: Floats, radius: Floats) -> Floats:
    r"""Bound of $|\Phi(x) - \Phi(m)|$ for $|x - m| \le r$, infinite where $|m|r$ or $r$ is above 1/2 (Lemma 13)."""
    exponent = raised(np.abs(midpoint) * radius)
    slope = law.density * (1.0 + 2.0 * law.unit)
    return np.where(
        (exponent <= 0.5) & (radius <= 0.5), raised(raised(slope * radius) / (1.0 - 0.5 * exponent)), np.inf
    )


@quiet
def normal_cdf(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\Phi(x) = \frac{1}{\sqrt{2\pi}}\int_{-\infty}^x e^{-t^2/2} dt$ entry by entry.

    For $x < 0$ it is $\varphi(x) R(-x)$, for $x \ge 0$ one minus that; so the radius of the left tail is at most
    $(23 + 0.6x^2)u$ times the value, about what half a unit in the last place of $x$ does, and $2^{-1022}$. Below
    $-37.5$ the set is between 0 and twice the value at $-37.5$.

    Why it is rigorous: Lemmas 11 and 12. A radius $r$ adds $\varphi(m) r/(1 - |m|r/2)$ if $|m|r, r \le 1/2$; wider sets
    are enclosed by their ends, because $\Phi$ increases (Lemma 13).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`; no information where `x` has none.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = normal_cdf([0.0, -10.0])
        >>> bool(y.lower()[0] <= 0.5 <= y.upper()[0]), bool(y.radius[1] < 1e-14 * y.midpoint[1])
        (True, True)
    """
    x = enclosure(x)
    law = normal_law(x.midpoint)
    if is_zero(x.radius):
        return Enclosure(law.cdf, raised(law.error))

    def at(points: Floats) -> tuple[Floats, Floats]:
        value = normal_law(points)
        return value.cdf, raised(value.error)

    return increasing(x, law.cdf, raised(law.error), cdf_change(law, x.midpoint, x.radius), at, 0.0)


def _erf_floats(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Lemma 12: erf at floats, bounds of the errors, and upper bounds of the derivative."""
    a = np.minimum(np.abs(x), _FARTHEST_ERF)
    square = a * a
    gauss = exp_floats(-square)
    complement = gauss * _ROOT_TWO_OVER_PI * _mills_ratio(_ROOT_TWO * a)
    far = 1.0 - complement
    error = (_ERFC_ERROR + _ERFC_GROWTH * square) * UNIT * complement + UNIT * far
    small = a <= 0.5
    if small.any():
        w = np.where(small, square, 0.0)
        y = np.full(w.shape, _ERF_SERIES[-1])
        for coefficient in _ERF_SERIES[-2::-1]:
            y *= w
            y += coefficient
        y *= a
        far = np.where(small, y, far)
        error = np.where(small, _ERF_SERIES_ERROR * UNIT * y, error)
    slope = gauss * (_ERF_SERIES[0] * (1.0 + 2.0**-40))
    return np.copysign(far, x), raised(error), slope


@quiet
def erf(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of the error function $\frac{2}{\sqrt\pi}\int_0^x e^{-t^2} dt$ entry by entry.

    For $|x| \le 1/2$ Maclaurin's series, beyond it $1 - \sqrt{2/\pi} e^{-x^2} R(\sqrt 2 x)$: the radius is at most
    $27u$ times the value, and $2^{-1022}$.

    Why it is rigorous: Lemmas 11 and 12. A radius $r$ adds $\frac{2}{\sqrt\pi}e^{-m^2} r/(1 - |m|r)$ if $|m|r$ and
    $r$ are at most 1/4; wider sets are enclosed by their ends, because the function increases (Lemma 13).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`; no information where `x` has none.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = erf([1e-300, 1.0, 40.0])
        >>> bool(y.lower()[1] < 0.8427007929497149 < y.upper()[1]), bool(y.radius[0] < 1e-307)
        (True, True)
    """
    x = enclosure(x)
    y, error, slope = _erf_floats(x.midpoint)
    if is_zero(x.radius):
        return Enclosure(y, error)
    exponent = raised(np.abs(x.midpoint) * x.radius)
    change = np.where(
        (exponent <= 0.25) & (x.radius <= 0.25), raised(raised(slope * x.radius) / (1.0 - exponent)), np.inf
    )
    return increasing(x, y, error, change, lambda points: _erf_floats(points)[:2], -1.0)
