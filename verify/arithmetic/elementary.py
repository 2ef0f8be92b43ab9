r"""Enclosures of the exponential and the logarithm.

NumPy's ``exp`` and ``log``, whose errors nobody bounds, are not used: each is a polynomial after an exact reduction.
Page: docs/rigour/arithmetic.md, Lemmas A8 and A9.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from verify.arithmetic.enclosure import Enclosure, enclosure, is_zero
from verify.arithmetic.rounding import TINY, UNIT, Floats, down, quiet, raised

# exp and log work on blocks that stay in the cache; a block is large enough to hide the cost of a call.
_CHUNK = 16384

# ln 2 = _LN2_HIGH + _LN2_LOW up to 2^-102; the high part is a multiple of 2^-42, so that k times it is exact.
_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
_LN2_INVERSE = float.fromhex("0x1.71547652b82fep+0")
_SHIFT = 1.5 * 2.0**52  # adding it rounds to an integer, which the low bits of the sum then hold
_TAYLOR = tuple(1.0 / math.factorial(j) for j in range(14))
_EXP_LOWEST = -708.0  # above it exp is a normal number
_EXP_HIGHEST = 710.0  # from it on exp overflows
_EXP_ERROR = 4.0 * UNIT  # Lemma A8 proves 3 u; one more for the rounding of the radius


def exp_floats(x: Floats) -> Floats:
    """Lemma A8: within 3 u of exp(x), relatively, for -708 <= x; exp(-708) below; not finite above the range."""
    flat = np.ascontiguousarray(x).reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _CHUNK):
        y = result[start : start + _CHUNK]
        r = np.clip(flat[start : start + _CHUNK], _EXP_LOWEST, _EXP_HIGHEST)
        k = r * _LN2_INVERSE
        k += _SHIFT
        exponent = k.view(np.int64) << 52
        k -= _SHIFT
        np.multiply(k, _LN2_HIGH, out=y)
        r -= y
        k *= _LN2_LOW
        r -= k
        np.multiply(r, _TAYLOR[13], out=y)
        for coefficient in _TAYLOR[12:0:-1]:
            y += coefficient
            y *= r
        y += _TAYLOR[0]
        # Times 2^k: k is added to the exponent bits. What overflows gets the bits of an infinity or a NaN.
        bits = y.view(np.int64)
        bits += exponent
    return result.reshape(x.shape)


@quiet
def exp(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $e^x$ entry by entry.

    With $x = k \ln 2 + r$, $|r| \le 0.3466$ and $k$ an integer, $e^x = 2^k e^r$, and $e^r$ is its Taylor polynomial of
    degree 13 up to $10^{-17}$. For $|x - m| \le \rho$ the change is at most $e^m(e^\rho - 1)$ with
    $e^\rho - 1 \le \rho/(1 - \rho/2)$ for $\rho \le 1/2$; wider sets are enclosed by their ends.

    Why it is rigorous: only IEEE operations are used; the reduction is exact up to $0.35u$ and the whole error at most
    $3u$ relatively (Lemma A8). Results below $2^{-1021}$ are enclosed as $[0, 2^{-1020}]$, overflow is no information.

    Args:
        x: Exponents, any shape.

    Returns:
        Enclosure of the shape of `x`.

    Source: Cody and Waite, Software Manual for the Elementary Functions, 1980, for the reduction.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = exp([0.0, 1.0])
        >>> bool(y.lower()[1] < 2.718281828459045 < y.upper()[1])
        True
    """
    x = enclosure(x)
    y = exp_floats(x.midpoint)
    relative = np.full((), _EXP_ERROR)
    if not is_zero(x.radius):
        rho = np.minimum(x.radius, 0.5)
        relative = relative + raised(rho / (1.0 - 0.5 * rho))
    if x.size and x.midpoint.min() < _EXP_LOWEST:
        relative = relative + (x.midpoint < _EXP_LOWEST)
    r = y * raised(relative)
    wide = x.radius > 0.5
    if wide.any():
        wide = np.broadcast_to(wide, x.shape)
        low, high = x.lower()[wide], x.upper()[wide]
        least = np.where(low < _EXP_LOWEST, 0.0, exp_floats(low) * (1.0 - 8.0 * UNIT))
        hull = Enclosure.between(least, exp_floats(high) * (1.0 + 8.0 * UNIT))
        r = np.asarray(r)
        y[wide], r[wide] = hull.midpoint, hull.radius
    return Enclosure(y, r)


_ROOT_HALF_BITS = int(np.float64(float.fromhex("0x1.6a09e667f3bcdp-1")).view(np.int64))
_ATANH = tuple(2.0 / (2 * j + 1) for j in range(10))
_LOG_ERROR = 5.0 * UNIT  # Lemma A9 proves 4 u; one more for the rounding of the radius
_LOG1P_ERROR = 8.0 * UNIT  # Lemma A9 proves 7 u


def _log_floats(x: Floats, fraction: Floats | None = None) -> Floats:
    """Lemma A9: within 4 u of log(x), relatively, for x > 0; log(1 + fraction) where x is in [sqrt(1/2), sqrt(2))."""
    flat = np.ascontiguousarray(x).reshape(-1)
    given = None if fraction is None else np.ascontiguousarray(fraction).reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _CHUNK):
        y = result[start : start + _CHUNK]
        z = flat[start : start + _CHUNK]
        subnormal = z < TINY
        if subnormal.any():
            z = np.where(subnormal, z * 2.0**54, z)
        # x = 2^k z with z in [sqrt(1/2), sqrt(2)), by its bits.
        exponent = z.view(np.int64) - _ROOT_HALF_BITS
        exponent >>= 52
        k = exponent.astype(np.float64)
        exponent <<= 52
        f = (z.view(np.int64) - exponent).view(np.float64)
        f -= 1.0
        if given is not None:
            f = np.where(k == 0.0, given[start : start + _CHUNK], f)
        if subnormal.any():
            k -= 54.0 * subnormal
        s = 2.0 + f
        np.divide(f, s, out=s)
        w = s * s
        np.multiply(w, _ATANH[9], out=y)
        for coefficient in _ATANH[8:0:-1]:
            y += coefficient
            y *= w
        np.subtract(f, y, out=y)
        y *= s
        np.multiply(k, _LN2_LOW, out=w)
        y -= w
        np.subtract(f, y, out=y)
        k *= _LN2_HIGH
        y += k
    return result.reshape(x.shape)


@quiet
def log(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\log x$, natural, entry by entry; no information where $x$ may be 0 or negative.

    With $x = 2^k (1 + f)$ and $s = f/(2 + f)$, $\log(1 + f) = 2\,\mathrm{artanh}\,s$ is summed to $s^{19}$. For
    $|x - m| \le \rho$ the change is at most $\rho/(m - \rho)$; sets wider than half their midpoint are enclosed by
    their ends.

    Why it is rigorous: only IEEE operations are used, and the whole error is at most $4u$ relatively, also where the
    result is near 0 (Lemma A9).

    Args:
        x: Positive numbers, any shape.

    Returns:
        Enclosure of the shape of `x`.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = log([1.0, 2.0, 0.0])
        >>> bool(y.lower()[1] < 0.6931471805599453 < y.upper()[1]), float(y.radius[2])
        (True, inf)
    """
    x = enclosure(x)
    least = x.lower()
    known = least > 0.0
    y = _log_floats(x.midpoint if known.all() else np.where(known, x.midpoint, 1.0))
    r = np.abs(y)
    r *= _LOG_ERROR
    if not is_zero(x.radius):
        r += x.radius / least
        r = raised(r)
    if not known.all():
        r = np.where(known, r, np.inf)
    wide = known & (x.radius > 0.5 * x.midpoint) if not is_zero(x.radius) else np.False_
    if wide.any():
        greatest = x.upper()[wide]
        low = _log_floats(least[wide])
        high = np.where(greatest < np.inf, _log_floats(greatest), np.inf)
        hull = Enclosure.between(low - np.abs(low) * (8.0 * UNIT), high + np.abs(high) * (8.0 * UNIT))
        r = np.asarray(r)
        y[wide], r[wide] = hull.midpoint, hull.radius
    return Enclosure(y, r)


@quiet
def log1p(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\log(1 + x)$ entry by entry, with a small relative radius also for tiny $x$; see `log`.

    Why it is rigorous: for $|x|$ up to 0.29 the fraction $f = x$ is exact; beyond, $1 + x$ is rounded once, which adds
    $3u$ relatively (Lemma A9).

    Args:
        x: Numbers above -1, any shape.

    Returns:
        Enclosure of the shape of `x`; no information where $x$ may be -1 or below.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> y = log1p(1e-30)
        >>> bool(y.radius < 1e-45)
        True
    """
    x = enclosure(x)
    one_plus = 1.0 + x.midpoint
    least = one_plus if is_zero(x.radius) else down(down(one_plus) - x.radius)
    known = least > 0.0
    if known.all():
        y = _log_floats(one_plus, x.midpoint)
    else:
        y = _log_floats(np.where(known, one_plus, 1.0), np.where(known, x.midpoint, 0.0))
    r = np.abs(y)
    r *= _LOG1P_ERROR
    if not is_zero(x.radius):
        r += x.radius / least
    r = raised(r)
    return Enclosure(y, r if known.all() else np.where(known, r, np.inf))
