r"""Enclosures of the activation functions of networks, and of how much they move what they are given.

The functions are those of exact real numbers: the constant of the tanh form of GELU is the real number
$\sqrt{2/\pi}$, and its 0.044715 the decimal $44715/10^6$, not their floats.
Page: docs/rigour/arithmetic.md, Lemmas 12 to 15.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError
from verify.arithmetic.elementary import exp_floats
from verify.arithmetic.enclosure import Enclosure, enclosure, increasing, is_zero
from verify.arithmetic.given_numbers import as_float64
from verify.arithmetic.normal_distribution import FARTHEST, cdf_change, normal_law
from verify.arithmetic.rounding import UNIT, Floats, quiet, raised

# Lemma 15: sup |g'|, and half of sup |g''|.
GELU_SLOPE, _GELU_CURVATURE = 1.13, 0.4
SILU_SLOPE, _SILU_CURVATURE = 1.1, 0.25

_FARTHEST_LOGISTIC = 708.0  # beyond it exp(-a) is no normal number
_FARTHEST_TANH = 20.0  # beyond it tanh is 1 up to u/12
_FARTHEST_GELU = 21.0  # there the exponent of the tanh form is 694
_SERIES_BELOW = 0.35
_EXPM1 = tuple(1.0 / math.factorial(j) for j in range(1, 18))  # (e^z - 1)/z
_GELU_LINEAR = float.fromhex("0x1.9884533d43651p+0")  # 2 sqrt(2/pi)
_GELU_CUBIC = 0.044715
# Lemma 14, in units of u: relative error of a logistic function, and that of the exponent of the tanh form.
_LOGISTIC_ERROR, _GELU_EXPONENT_ERROR = 4.0, 8.0


class _Gate(NamedTuple):
    r"""A factor $s$ between 0 and 1 by which $x$ is multiplied: $\sigma(x)$, $\Phi(x)$ or $\sigma$ of a cubic.

    Attributes:
        value: $s(m)$.
        error: Bound of its error, before it is raised.
        derivative: $s'(m)$.
        by_exponent: The derivative of a logistic function by its exponent, at $m$.
        unit: Bound of the relative errors of the derivatives, and of `value` where $m < 0$.
        farthest: For $m$ below minus this, `value` and `derivative` are those at minus this.
    """

    value: Floats
    error: Floats
    derivative: Floats
    by_exponent: Floats
    unit: Floats
    farthest: float


def _logistic(x: Floats, exponent: Floats, exponent_error: float) -> tuple[Floats, Floats, Floats]:
    """Lemma 14: 1/(1 + e^-v), v = +-exponent with the sign of x, its relative error, and its derivative by v."""
    power = exp_floats(-exponent)
    whole = 1.0 + power
    negative = x < 0.0
    value = np.where(negative, power, 1.0) / whole
    # What a relative error of the power is multiplied by.
    share = np.where(negative, 1.0, power) / whole
    unit = ((exponent_error * exponent + 3.0) * share + _LOGISTIC_ERROR) * UNIT
    return value, unit, power / whole / whole


def _sigmoid_floats(x: Floats) -> _Gate:
    """Lemma 14: the logistic function at floats, infinities included."""
    value, unit, derivative = _logistic(x, np.minimum(np.abs(x), _FARTHEST_LOGISTIC), 0.0)
    error = unit * value
    error += np.where(x < -_FARTHEST_LOGISTIC, value, 0.0)
    return _Gate(value, error, derivative, derivative, unit + 4.0 * UNIT, _FARTHEST_LOGISTIC)


def _sigmoid_change(gate: _Gate, radius: Floats) -> Floats:
    """Lemma 13: bound of the change of the logistic function over a set, infinite if its radius is above 1/2."""
    slope = gate.derivative * (1.0 + 2.0 * gate.unit)
    return np.where(radius <= 0.5, raised(raised(slope * radius) / (1.0 - 0.5 * radius)), np.inf)


@quiet
def sigmoid(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of the logistic function $1/(1 + e^{-x})$ entry by entry.

    For $x < 0$ it is $e^x/(1 + e^x)$, so that nothing cancels or overflows: the radius is at most $8u$ times the
    value, and $2^{-1022}$. Below $-708$ the set is between 0 and twice the value at $-708$.

    Why it is rigorous: Lemma 14. A radius $r \le 1/2$ adds $\sigma'(m) r/(1 - r/2)$; wider sets are enclosed by their
    ends, because the function increases (Lemma 13).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`; no information where `x` has none.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = sigmoid([0.0, -600.0])
        >>> bool(y.lower()[0] <= 0.5 <= y.upper()[0]), bool(y.radius[1] < 1e-15 * y.midpoint[1])
        (True, True)
    """
    x = enclosure(x)
    gate = _sigmoid_floats(x.midpoint)
    if is_zero(x.radius):
        return Enclosure(gate.value, raised(gate.error))

    def at(points: Floats) -> tuple[Floats, Floats]:
        there = _sigmoid_floats(points)
        return there.value, raised(there.error)

    return increasing(x, gate.value, raised(gate.error), _sigmoid_change(gate, x.radius), at, 0.0)


def _tanh_floats(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Lemma 14: tanh at floats, bounds of the errors, and upper bounds of the derivative."""
    a = np.minimum(np.abs(x), _FARTHEST_TANH)
    z = 2.0 * a
    rest = 2.0 / (exp_floats(z) + 1.0)
    y = 1.0 - rest
    error = 6.0 * UNIT * rest + UNIT * y
    slope = rest * (2.0 - rest)
    small = a <= _SERIES_BELOW
    if small.any():
        w = np.where(small, z, 0.0)
        h = np.full(w.shape, _EXPM1[-1])
        for coefficient in _EXPM1[-2::-1]:
            h *= w
            h += coefficient
        h *= w
        y = np.where(small, h / (h + 2.0), y)
        error = np.where(small, 6.0 * UNIT * y, error)
        slope = np.where(small, 1.0 - y * y, slope)
    return np.copysign(y, x), raised(error), slope * (1.0 + 2.0**-45)


@quiet
def tanh(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of the hyperbolic tangent entry by entry.

    For $|x| \le 0.35$ it is $(e^{2x} - 1)/(e^{2x} + 1)$ with the numerator from its series, beyond it
    $1 - 2/(e^{2x} + 1)$: the radius is at most $14u$ times the value, and $2^{-1022}$.

    Why it is rigorous: Lemma 14. A radius $r \le 1/4$ adds $\tanh'(m) r/(1 - r)$; wider sets are enclosed by their
    ends, because the function increases (Lemma 13).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`; no information where `x` has none.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = tanh([1e-300, -1.0])
        >>> bool(y.lower()[1] < -0.7615941559557649 < y.upper()[1]), bool(y.radius[0] < 1e-307)
        (True, True)
    """
    x = enclosure(x)
    y, error, slope = _tanh_floats(x.midpoint)
    if is_zero(x.radius):
        return Enclosure(y, error)
    change = np.where(x.radius <= 0.25, raised(raised(slope * x.radius) / (1.0 - x.radius)), np.inf)
    return increasing(x, y, error, change, lambda points: _tanh_floats(points)[:2], -1.0)


def _gelu_tanh_gate(x: Floats) -> _Gate:
    """Lemma 14: the logistic function of the cubic of the tanh form."""
    a = np.minimum(np.abs(x), _FARTHEST_GELU)
    cubic = _GELU_CUBIC * (a * a)
    value, unit, derivative = _logistic(x, _GELU_LINEAR * (a * (1.0 + cubic)), _GELU_EXPONENT_ERROR)
    error = unit * value
    error += np.where(x < -_FARTHEST_GELU, value, 0.0)
    slope = derivative * (_GELU_LINEAR * (1.0 + 3.0 * cubic))
    # The derivative has the power as a factor whatever the sign, and six roundings more.
    own = (_GELU_EXPONENT_ERROR * _GELU_LINEAR * (a * (1.0 + cubic)) + 16.0) * UNIT
    return _Gate(value, error, slope, derivative, own, _FARTHEST_GELU)


def _gelu_erf_gate(x: Floats) -> _Gate:
    """Lemma 12: the distribution function of the normal law."""
    law = normal_law(x)
    return _Gate(law.cdf, law.error, law.density, law.density, law.unit, FARTHEST)


def _exponent_change(midpoint: Floats, radius: Floats) -> Floats:
    """Lemma 13: bound of the change of the exponent of the tanh form over a set."""
    size = np.abs(midpoint)
    cubic = _GELU_CUBIC * (3.0 * (size * size) + radius * (3.0 * size + radius))
    return raised(_GELU_LINEAR * (radius * (1.0 + cubic)))


def _gelu_tanh_change(gate: _Gate, midpoint: Floats, radius: Floats) -> Floats:
    """Lemma 13: bound of the change of the factor of the tanh form, infinite if the exponent moves by over 1/2."""
    moved = _exponent_change(midpoint, radius)
    slope = gate.by_exponent * (1.0 + 2.0 * gate.unit)
    return np.where(moved <= 0.5, raised(raised(slope * moved) / (1.0 - 0.5 * moved)), np.inf)


def _slope_at(gate: _Gate, midpoint: Floats) -> Floats:
    """Lemma 15: upper bounds of |g'(m)|, g(x) = x s(x), before they are raised."""
    moving = np.clip(midpoint, -gate.farthest, gate.farthest) * gate.derivative
    whole = gate.value + np.abs(moving)
    return np.abs(gate.value + moving) + 2.0 * (gate.unit * whole + gate.error)


def _chord(slope: Floats, radius: Floats, curvature: float, largest: float) -> Floats:
    """Lemma 15: upper bounds of |g(x) - g(m)|/|x - m|."""
    return np.minimum(raised(slope + curvature * radius), largest)


def _gated(x: Enclosure, gate: _Gate, change: Floats | None, curvature: float, largest: float) -> Enclosure:
    """Lemma 15: x s(x); the bounds of the change of s over the set are needed where the set is not one number."""
    m = np.maximum(x.midpoint, -gate.farthest)
    y = m * gate.value
    error = np.abs(m) * gate.error
    error += np.abs(y) * UNIT
    if change is not None:
        r = x.radius
        chord = raised(r * _chord(_slope_at(gate, x.midpoint), r, curvature, largest))
        # In the tails the factor is smaller than its slope times r: the terms of a product of two sets.
        product = np.abs(x.midpoint) * change + r * (gate.value + (gate.error + change))
        error = error + np.where(change < np.inf, np.minimum(chord, raised(product)), chord)
    return Enclosure(y, raised(error))


@quiet
def silu(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $x\sigma(x) = x/(1 + e^{-x})$ entry by entry (SiLU, or swish).

    The radius is at most $9u$ times the value for $x \ge -708$, and $2^{-1022}$; below, the set is between 0 and twice
    the value at $-708$.

    Why it is rigorous: Lemma 14; a radius $r$ adds at most $r\min(1.1, |g'(m)| + r/4)$, and in the left tail the terms
    of the product of two sets, if they are smaller (Lemma 15).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`.

    Source: Elfwing, Uchibe and Doya, Sigmoid-weighted linear units (2018), for the function.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = silu([0.0, 1.0])
        >>> bool(y.lower()[1] < 0.7310585786300049 < y.upper()[1])
        True
    """
    x = enclosure(x)
    gate = _sigmoid_floats(x.midpoint)
    change = None if is_zero(x.radius) else _sigmoid_change(gate, x.radius)
    return _gated(x, gate, change, _SILU_CURVATURE, SILU_SLOPE)


@quiet
def gelu_tanh(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of the tanh form of GELU entry by entry, without its cancellation.

    $$g(x) = \tfrac12 x\left(1 + \tanh\left(\sqrt{2/\pi} (x + 0.044715 x^3)\right)\right) = \frac{x}{1 + e^{-v}},
    \qquad v = 2\sqrt{2/\pi} (x + 0.044715 x^3),$$

    with the real number $\sqrt{2/\pi}$ and the decimal 0.044715. The radius is at most $10u$ times the value for
    $x \ge 0$, $(8|v| + 9)u$ times the value for $-21 \le x < 0$, and $2^{-1022}$; below, the set is between 0 and twice
    the value at $-21$.

    Why it is rigorous: Lemma 14; a radius $r$ adds at most $r\min(1.13, |g'(m)| + 0.4 r)$, and in the left tail the
    terms of the product of two sets, if they are smaller (Lemma 15).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`.

    Source: Hendrycks and Gimpel, Gaussian error linear units (2016), for the function.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = gelu_tanh([1.0, -1.0])
        >>> bool(y.lower()[0] < 0.8411919906082768 < y.upper()[0]), bool(y.radius[0] < 1e-15)
        (True, True)
    """
    x = enclosure(x)
    gate = _gelu_tanh_gate(x.midpoint)
    change = None if is_zero(x.radius) else _gelu_tanh_change(gate, x.midpoint, x.radius)
    return _gated(x, gate, change, _GELU_CURVATURE, GELU_SLOPE)


@quiet
def gelu_erf(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $x\Phi(x) = \frac x2\left(1 + \mathrm{erf}(x/\sqrt 2)\right)$, the erf form of GELU.

    The radius is at most $24u$ times the value for $x \ge 0$, $(22 + 0.6x^2)u$ times the value for $-37.5 \le x < 0$,
    and $2^{-1022}$; below, the set is between 0 and twice the value at $-37.5$.

    Why it is rigorous: Lemma 12; a radius $r$ adds at most $r\min(1.13, |g'(m)| + 0.4 r)$, and in the left tail the
    terms of the product of two sets, if they are smaller (Lemma 15).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`.

    Source: Hendrycks and Gimpel, Gaussian error linear units (2016), for the function.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = gelu_erf([1.0, -1.0])
        >>> bool(y.lower()[0] < 0.8413447460685429 < y.upper()[0]), bool(y.radius[0] < 2e-15)
        (True, True)
    """
    x = enclosure(x)
    gate = _gelu_erf_gate(x.midpoint)
    law = normal_law(x.midpoint)
    change = None if is_zero(x.radius) else cdf_change(law, x.midpoint, x.radius)
    return _gated(x, gate, change, _GELU_CURVATURE, GELU_SLOPE)


@quiet
def silu_slope_bound(midpoint: ArrayLike, radius: ArrayLike) -> Floats:
    r"""Floats above $|g(x) - g(m)|/|x - m|$ for all $x \ne m$ with $|x - m| \le r$, where $g$ is SiLU.

    They are $\min(1.1, |g'(m)| + r/4)$, rounded upwards (Lemma 15). So a set of radius $r$ becomes one of radius $r$
    times this, besides the error of the midpoint; a Euclidean ball of radius $\varrho$ around a row of midpoints
    becomes one of $\varrho$ times the largest of the row, taken with $r = \varrho$.

    Args:
        midpoint: $m$, any shape.
        radius: $r \ge 0$, broadcast against `midpoint`.

    Returns:
        Floats of the broadcast shape.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> silu_slope_bound([0.0, 50.0], 1e-9).round(6).tolist()
        [0.5, 1.0]
    """
    m, r = _ball(midpoint, radius)
    return _chord(_slope_at(_sigmoid_floats(m), m), r, _SILU_CURVATURE, SILU_SLOPE)


@quiet
def gelu_tanh_slope_bound(midpoint: ArrayLike, radius: ArrayLike) -> Floats:
    r"""Floats above $|g(x) - g(m)|/|x - m|$, $0 < |x - m| \le r$, for the tanh form of GELU; see `silu_slope_bound`.

    They are $\min(1.13, |g'(m)| + 0.4 r)$, rounded upwards (Lemma 15).

    Args:
        midpoint: $m$, any shape.
        radius: $r \ge 0$, broadcast against `midpoint`.

    Returns:
        Floats of the broadcast shape.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> gelu_tanh_slope_bound([0.0, 50.0, 1.0], [1e-9, 1e-9, 9.0]).round(6).tolist()
        [0.5, 1.0, 1.13]
    """
    m, r = _ball(midpoint, radius)
    return _chord(_slope_at(_gelu_tanh_gate(m), m), r, _GELU_CURVATURE, GELU_SLOPE)


@quiet
def gelu_erf_slope_bound(midpoint: ArrayLike, radius: ArrayLike) -> Floats:
    r"""Floats above $|g(x) - g(m)|/|x - m|$, $0 < |x - m| \le r$, for the erf form of GELU; see `silu_slope_bound`.

    They are $\min(1.13, |g'(m)| + 0.4 r)$, rounded upwards (Lemma 15).

    Args:
        midpoint: $m$, any shape.
        radius: $r \ge 0$, broadcast against `midpoint`.

    Returns:
        Floats of the broadcast shape.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> gelu_erf_slope_bound([0.0, 50.0, 1.0], [1e-9, 1e-9, 9.0]).round(6).tolist()
        [0.5, 1.0, 1.13]
    """
    m, r = _ball(midpoint, radius)
    return _chord(_slope_at(_gelu_erf_gate(m), m), r, _GELU_CURVATURE, GELU_SLOPE)


def _ball(midpoint: ArrayLike, radius: ArrayLike) -> tuple[Floats, Floats]:
    """Midpoints and radii of one shape; a NaN is no information, and so is a midpoint that is not finite."""
    m, r = np.broadcast_arrays(as_float64(midpoint, "midpoint"), as_float64(radius, "radius"))
    if (r < 0.0).any():
        raise InputError(f"radius has the entry {r.min()}, expected entries >= 0")
    known = np.isfinite(m) & (r >= 0.0)
    return np.where(known, m, 0.0), np.where(known, r, np.inf)


@quiet
def relu(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\max(x, 0)$ entry by entry: exactly 0 where $x \le 0$ throughout, no wider than $x$ elsewhere.

    Why it is rigorous: $r \le -m$ and $r \le m$ are comparisons of floats, hence exact; a set that holds numbers of
    both signs becomes the set between 0 and its upper end (Lemma 3).

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = relu(Enclosure([-2.0, 2.0, 0.0], [1.0, 1.0, 1.0]))
        >>> y.midpoint.round(9).tolist(), y.radius.round(9).tolist()
        ([0.0, 2.0, 0.5], [0.0, 1.0, 0.5])
    """
    x = enclosure(x)
    m, r = x.midpoint, np.broadcast_to(x.radius, x.shape)
    both = (r > np.abs(m)) & (r < np.inf)
    value, radius = np.maximum(m, 0.0), np.where(r <= -m, 0.0, r)
    if both.any():
        hull = Enclosure.between(0.0, x.upper()[both])
        radius, value = np.array(radius), np.array(value)
        value[both], radius[both] = hull.midpoint, hull.radius
    return Enclosure(value, radius)
