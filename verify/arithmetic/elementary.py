r"""Enclosures of the exponential and the logarithm.

NumPy's ``exp`` and ``log``, whose errors nobody bounds, are not used: each is a polynomial after an exact reduction.
Page: docs/rigour/arithmetic.md, Lemmas A8 and A9.
"""

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
# 1, 1 and the polynomial through (e^r - 1 - r) / r^2 at the ten Chebyshev nodes of [-0.34658, 0.34658].
_EXP = tuple(
    map(
        float.fromhex,
        """0x1p+0 0x1p+0 0x1.0000000000001p-1 0x1.5555555555556p-3 0x1.5555555553d67p-5 0x1.11111111109b4p-7
        0x1.6c16c1788a49bp-10 0x1.a01a01a7c327ap-13 0x1.a019b9133a48ap-16 0x1.71de0db21e27fp-19 0x1.28917e2c43a66p-22
        0x1.af38a0d2d9620p-26""".split(),
    )
)
EXP_LOWEST = -708.0  # above it exp is a normal number
_EXP_HIGHEST = 710.0  # from it on exp overflows
EXP_ERROR = 4.0 * UNIT  # Lemma A8 proves 3 u; one more for the rounding of the radius


def exp_floats(x: Floats, *, radii: bool = False) -> Floats:
    """Return exp(x) within a relative 3 u for -708 <= x (Lemma A8); exp(-708) below; not finite above the range.

    With `radii`, [2, ...]: the values, and after them EXP_ERROR times these, from the same blocks.
    """
    flat = np.ascontiguousarray(x).reshape(-1)
    result = np.empty((1 + radii, flat.size))
    workspace = np.empty((2, min(flat.size, _CHUNK)))
    for start in range(0, flat.size, _CHUNK):
        y = result[0, start : start + _CHUNK]
        r, power = workspace[:, : y.size]
        chunk = flat[start : start + _CHUNK]
        # Without either end the power of 2 that is put into the exponent leaves its bits.
        if not (chunk.min() >= EXP_LOWEST and chunk.max() <= _EXP_HIGHEST):
            chunk = np.clip(chunk, EXP_LOWEST, _EXP_HIGHEST)
        k = np.multiply(chunk, _LN2_INVERSE, out=y)
        k += _SHIFT
        exponent = np.left_shift(k.view(np.int64), 52, out=power.view(np.int64))
        k -= _SHIFT
        np.multiply(k, _LN2_HIGH, out=r)
        np.subtract(chunk, r, out=r)
        k *= _LN2_LOW
        r -= k
        np.multiply(r, _EXP[-1], out=y)
        # All coefficients: `EXP_ERROR` is the error of this polynomial and of no shorter one.
        for coefficient in _EXP[-2:0:-1]:
            y += coefficient
            y *= r
        y += _EXP[0]
        # Times 2^k: k is added to the exponent bits. What overflows gets the bits of an infinity or a NaN.
        bits = y.view(np.int64)
        bits += exponent
        if radii:
            np.multiply(y, EXP_ERROR, out=result[1, start : start + _CHUNK])
    return result.reshape((2, *x.shape) if radii else x.shape)


@quiet
def exp(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $e^x$ entry by entry.

    With $x = k \ln 2 + r$, $|r| \le 0.3466$ and $k$ an integer, $e^x = 2^k e^r$, and $e^r$ is a polynomial of
    degree 11 up to $2 \cdot 10^{-17}$. For $|x - m| \le \rho$ the change is at most $e^m(e^\rho - 1)$ with
    $e^\rho - 1 \le \rho/(1 - \rho/2)$ for $\rho \le 1/2$; wider sets are enclosed by their ends.

    Why it is rigorous: only IEEE operations are used; the reduction is exact up to $0.35u$ and the whole error at most
    $3u$ relatively (Lemma A8). Results below $2^{-1021}$ are enclosed as $[0, 2^{-1020}]$, overflow is no information.

    Args:
        x: Exponents, any shape.

    Returns:
        Enclosure of the shape of `x`.

    Source: Cody and Waite, Software Manual for the Elementary Functions, 1980, for the reduction.

    Example:
        >>> y = exp([0.0, 1.0])
        >>> bool(y.lower()[1] < 2.718281828459045 < y.upper()[1])
        True
    """
    x = enclosure(x)
    below = x.size > 0 and x.midpoint.min() < EXP_LOWEST
    # Results below the range have no relative error so small: their whole size is their radius, below.
    if is_zero(x.radius) and not below:
        return Enclosure(*exp_floats(x.midpoint, radii=True))
    y = exp_floats(x.midpoint)
    relative = np.full((), EXP_ERROR)
    if not is_zero(x.radius):
        rho = np.minimum(x.radius, 0.5)
        # e^rho - 1 <= rho / (1 - rho / 2): rho alone is below it.
        relative = relative + raised(rho / (1.0 - 0.5 * rho))
    if below:
        relative = relative + (x.midpoint < EXP_LOWEST)
    r = y * raised(relative)
    wide = x.radius > 0.5
    if wide.any():
        wide = np.broadcast_to(wide, x.shape)
        # Both ends: the exponential of the lower one alone bounds nothing from above.
        low, high = x.lower()[wide], x.upper()[wide]
        least = np.where(low < EXP_LOWEST, 0.0, exp_floats(low) * (1.0 - 8.0 * UNIT))
        hull = Enclosure.between(least, exp_floats(high) * (1.0 + 8.0 * UNIT))
        r = np.asarray(r)
        y[wide], r[wide] = hull.midpoint, hull.radius
    return Enclosure(y, r)


_ROOT_HALF_BITS = int(np.float64(float.fromhex("0x1.6a09e667f3bcdp-1")).view(np.int64))
# The polynomial through (2 artanh(s) - 2 s) / s^3 as a function of s^2 at the seven Chebyshev nodes of [0, 0.02945].
_ATANH = tuple(
    map(
        float.fromhex,
        """0x1.5555555555558p-1 0x1.99999999952b2p-2 0x1.2492492df6947p-2 0x1.c71c62debf86bp-3 0x1.7462b69705382p-3
        0x1.39fe208c33457p-3 0x1.2b5b5fb2eac92p-3""".split(),
    )
)
LOG_ERROR = 5.0 * UNIT  # Lemma A9 proves 4 u; one more for the rounding of the radius
_LOG1P_ERROR = 8.0 * UNIT  # Lemma A9 proves 7 u


def log_floats(x: Floats, fraction: Floats | None = None, *, radii: bool = False) -> Floats:
    """Return log(x) within a relative 4 u for x > 0 (Lemma A9); log(1 + fraction) for x in [sqrt(1/2), sqrt(2)).

    Some finite number for every other x. With `radii`, [2, ...]: the values, and after them their sizes times
    LOG_ERROR, or _LOG1P_ERROR with a fraction; infinity where x is 0 or negative.
    """
    flat = np.ascontiguousarray(x).reshape(-1)
    fraction_flat = None if fraction is None else np.ascontiguousarray(fraction).reshape(-1)
    result = np.empty((1 + radii, flat.size))
    workspace = np.empty((4, min(flat.size, _CHUNK)))
    for start in range(0, flat.size, _CHUNK):
        y = result[0, start : start + _CHUNK]
        f, k, s, w = workspace[:, : y.size]
        z = flat[start : start + _CHUNK]
        subnormal = None if z.min() >= TINY else z < TINY  # the least of a block with a NaN is NaN
        if subnormal is not None:
            z = np.where(subnormal, z * 2.0**54, z)
        # x = 2^k z with z in [sqrt(1/2), sqrt(2)), by its bits; here k is kept times 2^52, its place among them.
        exponent = np.subtract(z.view(np.int64), _ROOT_HALF_BITS, out=y.view(np.int64))
        exponent &= -(2**52)
        np.subtract(z.view(np.int64), exponent, out=f.view(np.int64))
        np.copyto(k, exponent)
        f -= 1.0
        if fraction_flat is not None:
            np.copyto(f, fraction_flat[start : start + _CHUNK], where=k == 0.0)
        if subnormal is not None:
            k -= (54.0 * 2.0**52) * subnormal
        np.add(f, 2.0, out=s)
        np.divide(f, s, out=s)
        np.multiply(s, s, out=w)
        np.multiply(w, _ATANH[-1], out=y)
        # All coefficients: `LOG_ERROR` is the error of this polynomial and of no shorter one.
        for coefficient in _ATANH[-2::-1]:
            y += coefficient
            y *= w
        np.subtract(f, y, out=y)
        y *= s
        np.multiply(k, _LN2_LOW * 2.0**-52, out=w)
        y -= w
        np.subtract(f, y, out=y)
        k *= _LN2_HIGH * 2.0**-52
        y += k
        if radii:
            r = np.abs(y, out=result[1, start : start + _CHUNK])
            # 1 + x was rounded where x is given: the error of log alone forgets that.
            r *= LOG_ERROR if fraction_flat is None else _LOG1P_ERROR
            if subnormal is not None:
                r[~(flat[start : start + _CHUNK] > 0.0)] = np.inf
    return result.reshape((2, *x.shape) if radii else x.shape)


@quiet
def log(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $\log x$, natural, entry by entry; the result is unbounded where $x$ may be 0 or negative.

    With $x = 2^k (1 + f)$ and $s = f/(2 + f)$, $\log(1 + f) = 2\,\mathrm{artanh}\,s$ is a polynomial of degree 15
    in $s$ up to $10^{-17}$. For $|x - m| \le \rho$ the change is at most $\rho/(m - \rho)$; sets wider than half their
    midpoint are enclosed by their ends.

    Why it is rigorous: only IEEE operations are used, and the whole error is at most $4u$ relatively, also where the
    result is near 0 (Lemma A9).

    Args:
        x: Positive numbers, any shape.

    Returns:
        Enclosure of the shape of `x`.

    Example:
        >>> y = log([1.0, 2.0, 0.0])
        >>> bool(y.lower()[1] < 0.6931471805599453 < y.upper()[1]), float(y.radius[2])
        (True, inf)
    """
    x = enclosure(x)
    if is_zero(x.radius):
        both = log_floats(x.midpoint, radii=True)
        return Enclosure.of_finite(both[0, ...], both[1, ...])
    least = x.lower()
    known = least > 0.0
    both = log_floats(x.midpoint if known.all() else np.where(known, x.midpoint, 1.0), radii=True)
    y, r = both[0, ...], both[1, ...]
    r += x.radius / least
    r = raised(r)
    if not known.all():
        r = np.where(known, r, np.inf)
    wide = known & (x.radius > 0.5 * x.midpoint)
    if wide.any():
        greatest = x.upper()[wide]
        low = log_floats(least[wide])
        high = np.where(greatest < np.inf, log_floats(greatest), np.inf)
        hull = Enclosure.between(low - np.abs(low) * (8.0 * UNIT), high + np.abs(high) * (8.0 * UNIT))
        r = np.asarray(r)
        y[wide], r[wide] = hull.midpoint, hull.radius
    return Enclosure(y, r)


@quiet
def log1p(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $\log(1 + x)$ entry by entry, with a small relative radius also for tiny $x$; see `log`.

    Why it is rigorous: for $|x|$ up to 0.29 the fraction $f = x$ is exact; beyond, $1 + x$ is rounded once, which adds
    $3u$ relatively (Lemma A9).

    Args:
        x: Numbers above -1, any shape.

    Returns:
        Enclosure of the shape of `x`; no information where $x$ may be -1 or below.

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
        y, r = log_floats(one_plus, x.midpoint, radii=True)
    else:
        y, r = log_floats(np.where(known, one_plus, 1.0), np.where(known, x.midpoint, 0.0), radii=True)
    if not is_zero(x.radius):
        r += x.radius / least
    r = raised(r)
    return Enclosure(y, r if known.all() else np.where(known, r, np.inf))
