r"""Rounding-rigorous arithmetic on float64 arrays: midpoints with radii that are proved, not observed.

Only operations whose error IEEE 754 bounds are used: ``+ - * /``, square root, exact scalings by powers of two, and
matrix products of a BLAS that has been probed. Each call of NumPy is one operation whose result is stored as float64,
so no compiler can contract a product and a sum of different calls into one. NumPy's ``exp`` and ``log`` are not used.

Notation: $u = 2^{-53}$ is the unit roundoff, $\eta = 2^{-1074}$ the smallest subnormal, $\gamma_n = nu / (1 - nu)$.
Page: docs/rigour/arithmetic.md proves every bound used here; the comments name its lemmas.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from constructions.errors import InputError
from verify.arithmetic import blas

Floats: TypeAlias = NDArray[np.float64]

UNIT = 2.0**-53
TINY = 2.0**-1022  # the smallest normal number, far above what an underflow can lose
_RAISE = 1.0 + 16.0 * UNIT  # Lemma 2: outweighs fourteen roundings
# An overflow is no error here: it becomes "no information".
_quiet = np.errstate(all="ignore")


@dataclass(frozen=True, eq=False, init=False)
class Enclosure:
    r"""The set of all real arrays $x$ with $|x - m| \le r$ entry by entry: midpoint $m$, radius $r$.

    A radius of infinity means "no information": the entry may be any real number. A midpoint that is not finite (an
    overflow, a NaN) becomes 0 with radius infinity, a radius that is NaN becomes infinity, so that no operation below
    ever meets a midpoint that is not finite. Operators accept enclosures and arrays; an array counts as exact.

    Why it is rigorous: each operator returns a set that holds the exact result for every choice of real arrays in the
    sets of its operands (Lemmas 3 to 6).

    Args:
        midpoint: Array of any shape, of a type that float64 holds exactly; kept without a copy where it is float64, so
            it must not be written to afterwards.
        radius: Array >= 0 that broadcasts to the shape of `midpoint`; a scalar or a column saves memory.

    Raises:
        InputError: An argument cannot be held exactly or is a masked array, or the radius is negative or does not
            broadcast.
        BlasError: The thread's arithmetic is not IEEE 754's default.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> x = Enclosure([1.0, 2.0], 0.5)
        >>> y = x * x - 3.0
        >>> bool(np.all(y.lower() <= [-2.75, -0.75]) and np.all(y.upper() >= [-0.75, 3.25]))
        True
    """

    midpoint: Floats
    radius: Floats

    # Without this, ndarray + Enclosure would loop over the entries and never ask Enclosure.__radd__.
    __array_ufunc__ = None

    @_quiet
    def __init__(self, midpoint: ArrayLike, radius: ArrayLike = 0.0) -> None:
        blas.require_ieee()
        m, r = as_float64(midpoint, "midpoint"), as_float64(radius, "radius")
        if not _broadcasts(r.shape, m.shape):
            raise InputError(f"radius has shape {r.shape}, expected one that broadcasts to midpoint's {m.shape}")
        if r.size and r.min() < 0.0:
            raise InputError(f"radius has the entry {r.min()}, expected entries >= 0")
        # A sum that is finite has finite terms only; where it is not, the entries are looked at one by one.
        if not np.isfinite(r.sum()):
            r = np.where(r >= 0.0, r, np.inf)
        if not np.isfinite(m.sum()):
            known = np.isfinite(m)
            if not known.all():
                m, r = np.where(known, m, 0.0), np.where(known, r, np.inf)
        object.__setattr__(self, "midpoint", _read_only(m))
        object.__setattr__(self, "radius", _read_only(r))

    @classmethod
    def exact(cls, x: ArrayLike) -> "Enclosure":
        """The set that holds `x` alone.

        Page: docs/rigour/arithmetic.md

        Example:
            >>> Enclosure.exact([1, 2]).radius
            array(0.)
        """
        return cls(x)

    @classmethod
    @_quiet
    def between(cls, lower: ArrayLike, upper: ArrayLike) -> "Enclosure":
        r"""A set that holds every $x$ with `lower` $\le x \le$ `upper`; an infinite or NaN end is no information.

        Why it is rigorous: whatever the midpoint, the radius is the larger distance to the ends, rounded up (Lemma 3).

        Raises:
            InputError: Some entry of `lower` is above that of `upper`.

        Page: docs/rigour/arithmetic.md

        Example:
            >>> x = Enclosure.between(1.0, 3.0)
            >>> float(x.midpoint), bool(x.upper() >= 3.0)
            (2.0, True)
        """
        low, high = np.broadcast_arrays(as_float64(lower, "lower"), as_float64(upper, "upper"))
        if (low > high).any():
            raise InputError(f"lower has an entry {low[low > high][0]} above upper's {high[low > high][0]}")
        single = low == high
        # Halves of subnormals are rounded: a set of one number is that number, not the sum of its halves.
        m = np.where(single, low, 0.5 * low + 0.5 * high)
        return cls(m, np.where(single, 0.0, up(np.maximum(high - m, m - low))))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the midpoint."""
        return self.midpoint.shape

    @property
    def ndim(self) -> int:
        """Number of axes of the midpoint."""
        return self.midpoint.ndim

    @property
    def size(self) -> int:
        """Number of entries of the midpoint."""
        return self.midpoint.size

    @property
    def T(self) -> "Enclosure":
        """The set of the transposed arrays, without a copy."""
        return Enclosure(self.midpoint.T, _aligned(self.radius, self.ndim).T)

    def is_exact(self) -> bool:
        """Whether the set holds one array only."""
        return not self.radius.any()

    @_quiet
    def lower(self) -> Floats:
        r"""The largest floats known to lie below every $x$ of the set (Lemma 3); the midpoint itself where exact."""
        if _is_zero(self.radius):
            return self.midpoint
        return np.where(self.radius == 0.0, self.midpoint, down(self.midpoint - self.radius))

    @_quiet
    def upper(self) -> Floats:
        r"""The smallest floats known to lie above every $x$ of the set (Lemma 3); the midpoint itself where exact."""
        if _is_zero(self.radius):
            return self.midpoint
        return np.where(self.radius == 0.0, self.midpoint, up(self.midpoint + self.radius))

    def magnitude(self) -> Floats:
        r"""Floats that lie above every $|x|$ (Lemma 3)."""
        return abs(self).upper()

    def reshape(self, *shape: int) -> "Enclosure":
        """The set of the reshaped arrays."""
        r = self.radius
        r = r.reshape(()) if r.size == 1 else np.broadcast_to(r, self.shape).reshape(*shape)
        return Enclosure(self.midpoint.reshape(*shape), r)

    def __len__(self) -> int:
        return len(self.midpoint)

    def __getitem__(self, key: Any) -> "Enclosure":
        r = _aligned(self.radius, self.ndim)
        if self.radius.size == 1:
            r = r.reshape(())
        elif isinstance(key, int | np.integer | slice) or (not isinstance(key, tuple) and np.ndim(key) == 1):
            # Rows only: axes along which the radius is constant stay of length 1.
            r = _without_repeats(np.broadcast_to(r, self.shape[:1] + r.shape[1:])[key])
        else:
            r = _without_repeats(np.broadcast_to(r, self.shape)[key])
        return Enclosure(self.midpoint[key], r)

    def __neg__(self) -> "Enclosure":
        return Enclosure(-self.midpoint, self.radius)

    def __abs__(self) -> "Enclosure":
        return Enclosure(np.abs(self.midpoint), self.radius)

    def __add__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _add(self, enclosure(other))

    def __radd__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _add(enclosure(other), self)

    def __sub__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _add(self, -enclosure(other))

    def __rsub__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _add(enclosure(other), -self)

    def __mul__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _multiply(self, enclosure(other))

    def __rmul__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _multiply(enclosure(other), self)

    def __truediv__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _divide(self, enclosure(other))

    def __rtruediv__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return _divide(enclosure(other), self)

    def __matmul__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return matmul(self, other)

    def __rmatmul__(self, other: "Enclosure | ArrayLike") -> "Enclosure":
        return matmul(other, self)


def enclosure(x: Enclosure | ArrayLike) -> Enclosure:
    """`x` itself if it is an enclosure, and the exact enclosure of an array otherwise.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> enclosure(2.0).is_exact()
        True
    """
    return x if isinstance(x, Enclosure) else Enclosure(x)


@_quiet
def up(x: ArrayLike) -> Floats:
    """Floats above every real number that rounds to the entries of `x`: the next float64, but 2^-1022 above tiny ones.

    Why it is rigorous: Lemma 3. Three operations take a tenth of the time of ``numpy.nextafter``.

    Source: Rump, Zimmermann, Boldo and Melquiond, Computing predecessor and successor in rounding to nearest (2009).
    Page: docs/rigour/arithmetic.md

    Example:
        >>> bool(up(1.0) == 1.0 + 2.0**-52)
        True
    """
    x = np.asarray(x, dtype=np.float64)
    return x + _step(x)


@_quiet
def down(x: ArrayLike) -> Floats:
    """Floats below every real number that rounds to the entries of `x`: minus `up` of minus `x`.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> bool(down(1.0) == 1.0 - 2.0**-53)
        True
    """
    x = np.asarray(x, dtype=np.float64)
    return x - _step(x)


def _step(x: Floats) -> Floats:
    """Lemma 3: more than half the distance of x to its neighbours, less than three halves where x is not tiny."""
    blas.require_ieee()
    step = np.abs(x)
    step *= UNIT * _RAISE
    step += TINY
    return step


def gamma(n: int) -> float:
    r"""An upper bound of $\gamma_n = nu/(1 - nu)$, the relative error of a term that went through $n$ roundings.

    Why it is rigorous: $nu$ and $1 - nu$ are floats, so that one division is rounded, and the next float is above it
    (Lemma 4).

    Args:
        n: Number of roundings, 0 to 2^40.

    Raises:
        InputError: `n` is out of range.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Lemma 3.1.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> gamma(0), gamma(1) > 2.0**-53
        (0.0, True)
    """
    if not 0 <= n <= 2**40:
        raise InputError(f"n is {n}, expected an integer from 0 to 2**40")
    return math.nextafter(n * UNIT / (1.0 - n * UNIT), math.inf) if n else 0.0


@_quiet
def _add(a: Enclosure, b: Enclosure) -> Enclosure:
    """Lemma 5."""
    m = a.midpoint + b.midpoint
    r = np.abs(m)
    r *= UNIT * _RAISE
    return Enclosure(m, r + _raised(a.radius + b.radius))


@_quiet
def _multiply(a: Enclosure, b: Enclosure) -> Enclosure:
    """Lemma 5."""
    m = a.midpoint * b.midpoint
    r = np.abs(m)
    r *= UNIT
    if not _is_zero(b.radius):
        r = r + np.abs(a.midpoint) * b.radius
    if not _is_zero(a.radius):
        r = r + a.radius * (np.abs(b.midpoint) + b.radius)
    return Enclosure(m, _raised(r))


@_quiet
def _divide(a: Enclosure, b: Enclosure) -> Enclosure:
    """Lemma 5."""
    m = a.midpoint / b.midpoint
    size = np.abs(m)
    r = size * UNIT
    if not (_is_zero(a.radius) and _is_zero(b.radius)):
        least = abs(b).lower()
        share = _raised(a.radius + (size + TINY) * b.radius) / least
        r = r + np.where(least > 0.0, share, np.inf)
    return Enclosure(m, _raised(r))


@_quiet
def sqrt(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\sqrt x$ entry by entry; no information where $x$ may be negative.

    Why it is rigorous: IEEE 754 rounds the root correctly, and
    $|\sqrt x - \sqrt m| \le r / (\sqrt m + \sqrt{m - r})$ (Lemma 5).

    Page: docs/rigour/arithmetic.md

    Example:
        >>> bool(abs(sqrt(4.0).midpoint - 2.0) == 0.0)
        True
    """
    x = enclosure(x)
    m = np.sqrt(x.midpoint)
    r = np.abs(m) * UNIT
    if not _is_zero(x.radius):
        # The root of a negative end is NaN, which becomes no information.
        r = r + np.where(x.radius > 0.0, x.radius / (m + np.sqrt(x.lower())), 0.0)
    return Enclosure(m, _raised(r))


def maximum(a: Enclosure | ArrayLike, b: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\max(a, b)$ entry by entry.

    Why it is rigorous: the maximum moves by at most the larger of the moves of its arguments, and taking it rounds
    nothing.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> maximum([1.0, 5.0], 3.0).midpoint
        array([3., 5.])
    """
    x, y = enclosure(a), enclosure(b)
    return Enclosure(np.maximum(x.midpoint, y.midpoint), np.maximum(x.radius, y.radius))


def largest(x: Enclosure | ArrayLike, axis: int) -> Enclosure:
    """Enclosure of the largest entry along an axis, as `maximum`.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> largest([[1.0, 5.0], [4.0, 3.0]], axis=1).midpoint
        array([5., 4.])
    """
    x = enclosure(x)
    axis = _axis(axis, x.ndim)
    return Enclosure(x.midpoint.max(axis=axis), _aligned(x.radius, x.ndim).max(axis=axis))


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
_EXP_ERROR = 4.0 * UNIT  # Lemma 8 proves 3 u; one more for the rounding of the radius


def _exp_floats(x: Floats) -> Floats:
    """Lemma 8: within 3 u of exp(x), relatively, for -708 <= x; exp(-708) below; not finite above the range."""
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


@_quiet
def exp(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $e^x$ entry by entry.

    With $x = k \ln 2 + r$, $|r| \le 0.3466$ and $k$ an integer, $e^x = 2^k e^r$, and $e^r$ is its Taylor polynomial of
    degree 13 up to $10^{-17}$. For $|x - m| \le \rho$ the change is at most $e^m(e^\rho - 1)$ with
    $e^\rho - 1 \le \rho/(1 - \rho/2)$ for $\rho \le 1/2$; wider sets are enclosed by their ends.

    Why it is rigorous: only IEEE operations are used; the reduction is exact up to $0.35u$ and the whole error at most
    $3u$ relatively (Lemma 8). Results below $2^{-1021}$ are enclosed as $[0, 2^{-1020}]$, overflow is no information.

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
    y = _exp_floats(x.midpoint)
    relative = np.full((), _EXP_ERROR)
    if not _is_zero(x.radius):
        rho = np.minimum(x.radius, 0.5)
        relative = relative + _raised(rho / (1.0 - 0.5 * rho))
    if x.size and x.midpoint.min() < _EXP_LOWEST:
        relative = relative + (x.midpoint < _EXP_LOWEST)
    r = y * _raised(relative)
    wide = x.radius > 0.5
    if wide.any():
        wide = np.broadcast_to(wide, x.shape)
        low, high = x.lower()[wide], x.upper()[wide]
        least = np.where(low < _EXP_LOWEST, 0.0, _exp_floats(low) * (1.0 - 8.0 * UNIT))
        hull = Enclosure.between(least, _exp_floats(high) * (1.0 + 8.0 * UNIT))
        r = np.asarray(r)
        y[wide], r[wide] = hull.midpoint, hull.radius
    return Enclosure(y, r)


_ROOT_HALF_BITS = int(np.float64(float.fromhex("0x1.6a09e667f3bcdp-1")).view(np.int64))
_ATANH = tuple(2.0 / (2 * j + 1) for j in range(10))
_LOG_ERROR = 5.0 * UNIT  # Lemma 9 proves 4 u; one more for the rounding of the radius
_LOG1P_ERROR = 8.0 * UNIT  # Lemma 9 proves 7 u


def _log_floats(x: Floats, fraction: Floats | None = None) -> Floats:
    """Lemma 9: within 4 u of log(x), relatively, for x > 0; log(1 + fraction) where x is in [sqrt(1/2), sqrt(2))."""
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


@_quiet
def log(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\log x$, natural, entry by entry; no information where $x$ may be 0 or negative.

    With $x = 2^k (1 + f)$ and $s = f/(2 + f)$, $\log(1 + f) = 2\,\mathrm{artanh}\,s$ is summed to $s^{19}$. For
    $|x - m| \le \rho$ the change is at most $\rho/(m - \rho)$; sets wider than half their midpoint are enclosed by
    their ends.

    Why it is rigorous: only IEEE operations are used, and the whole error is at most $4u$ relatively, also where the
    result is near 0 (Lemma 9).

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
    if not _is_zero(x.radius):
        r += x.radius / least
        r = _raised(r)
    if not known.all():
        r = np.where(known, r, np.inf)
    wide = known & (x.radius > 0.5 * x.midpoint) if not _is_zero(x.radius) else np.False_
    if wide.any():
        greatest = x.upper()[wide]
        low = _log_floats(least[wide])
        high = np.where(greatest < np.inf, _log_floats(greatest), np.inf)
        hull = Enclosure.between(low - np.abs(low) * (8.0 * UNIT), high + np.abs(high) * (8.0 * UNIT))
        r = np.asarray(r)
        y[wide], r[wide] = hull.midpoint, hull.radius
    return Enclosure(y, r)


@_quiet
def log1p(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclosure of $\log(1 + x)$ entry by entry, with a small relative radius also for tiny $x$; see `log`.

    Why it is rigorous: for $|x|$ up to 0.29 the fraction $f = x$ is exact; beyond, $1 + x$ is rounded once, which adds
    $3u$ relatively (Lemma 9).

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
    least = one_plus if _is_zero(x.radius) else down(down(one_plus) - x.radius)
    known = least > 0.0
    if known.all():
        y = _log_floats(one_plus, x.midpoint)
    else:
        y = _log_floats(np.where(known, one_plus, 1.0), np.where(known, x.midpoint, 0.0))
    r = np.abs(y)
    r *= _LOG1P_ERROR
    if not _is_zero(x.radius):
        r += x.radius / least
    r = _raised(r)
    return Enclosure(y, r if known.all() else np.where(known, r, np.inf))


_BLOCK = 64


def _tree_sum(x: Floats, axis: int) -> tuple[Floats, int]:
    """The sum along an axis, and a bound of the number of roundings that any term goes through (Lemma 6)."""
    x = np.moveaxis(x, axis, -1)
    depth = 0
    while (length := x.shape[-1]) > _BLOCK:
        blocks = length // _BLOCK
        sums = x[..., : blocks * _BLOCK].reshape(*x.shape[:-1], blocks, _BLOCK).sum(axis=-1)
        if length % _BLOCK:
            rest = x[..., blocks * _BLOCK :].sum(axis=-1, keepdims=True)
            sums = np.concatenate([sums, rest], axis=-1)
        x = sums
        depth += _BLOCK - 1
    return x.sum(axis=-1), depth + max(x.shape[-1] - 1, 0)


@_quiet
def total(x: Enclosure | ArrayLike, axis: int | None = None) -> Enclosure:
    r"""Enclosure of the sum along an axis, or of all entries.

    The radius is $\sum r + \gamma_h \sum |m|$, where $h$ is the depth of the tree of additions: at most 63 for each
    factor 64 of the length, 138 for 50,000 terms.

    Why it is rigorous: no term goes through more than $h$ roundings, in whatever order the blocks are added (Lemma 6).

    Args:
        x: Terms, any shape.
        axis: The axis to sum along; all entries by default.

    Returns:
        Enclosure of the shape of `x` without that axis.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> x = total([[1.0, 2.0], [3.0, 4.0]], axis=1)
        >>> x.midpoint
        array([3., 7.])
    """
    x = enclosure(x)
    if axis is None:
        x, axis = x.reshape(x.size), 0
    axis = _axis(axis, x.ndim)
    m, depth = _tree_sum(x.midpoint, axis)
    size, _ = _tree_sum(np.abs(x.midpoint), axis)
    radius = _aligned(x.radius, x.ndim)
    share, _ = _tree_sum(radius, axis)
    if radius.shape[axis] == 1:
        share = share * float(x.shape[axis])
    return Enclosure(m, _raised((size * gamma(depth) + share) * _outweighing(depth)))


def upper_sum(x: ArrayLike, axis: int | None = None) -> Floats:
    """Floats above the exact sums of the entries of `x` along an axis, or of all; infinity if an entry is not finite.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> bool(upper_sum([0.1] * 10) > 1.0)
        True
    """
    return total(x, axis).upper()


def lower_sum(x: ArrayLike, axis: int | None = None) -> Floats:
    """Floats below the exact sums of the entries of `x` along an axis, or of all; -infinity if one is not finite.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> bool(lower_sum([0.1] * 10) < 1.0)
        True
    """
    return total(x, axis).lower()


@_quiet
def matmul(a: Enclosure | ArrayLike, b: Enclosure | ArrayLike, *, tight: bool = True) -> Enclosure:
    r"""Enclosure of the matrix product, plain or batched.

    The radius is an upper bound of
    $$|A|\,(\gamma_n |B| + r_B) + r_A\,(|B| + r_B) + n\,2^{-1018}$$
    for midpoints $A$, $B$ and inner dimension $n$. Exact operands cost one more product than a plain one, a radius of
    $A$ that is constant along the inner dimension costs nothing, any other a third product.

    Why it is rigorous: each entry is an inner product summed in some order, with or without fused multiply-add, by a
    BLAS that was probed; the radius is itself computed in floating point and then raised above its own rounding errors
    (Lemma 7).

    Args:
        a: [..., m, n]
        b: [..., n, p]
        tight: If False, each product of the radius is replaced by the product of Euclidean norms (Cauchy and Schwarz):
            one matrix product in all, and a radius larger by about pi/2 on dense data, by more on sparse.

    Returns:
        Enclosure [..., m, p].

    Raises:
        InputError: The shapes do not fit.
        BlasError: The BLAS of this process fails a probe.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> x = matmul([[1.0, 2.0]], [[3.0], [4.0]])
        >>> float(x.midpoint[0, 0]), bool(x.radius[0, 0] < 1e-14)
        (11.0, True)
    """
    x, y = enclosure(a), enclosure(b)
    n = _inner_dimension(x.shape, y.shape)
    blas.probe()
    weight = np.abs(y.midpoint)
    weight *= gamma(n)
    weight += y.radius + TINY
    product = np.matmul if tight else _product_of_norms
    r = product(np.abs(x.midpoint), weight)
    del weight
    if not _is_zero(x.radius):
        rx = _aligned(x.radius, x.ndim)
        size = np.abs(y.midpoint)
        size += y.radius
        r += rx * size.sum(axis=-2, keepdims=True) if rx.shape[-1] == 1 else product(rx, size)
    return Enclosure(np.matmul(x.midpoint, y.midpoint), _raised_product(r, n))


@_quiet
def upper_product(a: ArrayLike, b: ArrayLike) -> Floats:
    r"""Floats above the entries of $|A||B|$, the matrix product of absolute values, plain or batched.

    Why it is rigorous: the product of the probed BLAS, raised above its rounding errors and underflows (Lemma 7).

    Args:
        a: [..., m, n]
        b: [..., n, p]

    Returns:
        Floats [..., m, p]; infinity where an entry is not finite.

    Page: docs/rigour/arithmetic.md

    Example:
        >>> bool(upper_product([[1.0, -2.0]], [[3.0], [4.0]])[0, 0] >= 11.0)
        True
    """
    x, y = as_float64(a, "a"), as_float64(b, "b")
    n = _inner_dimension(x.shape, y.shape)
    blas.require_ieee()
    blas.probe()
    r = _raised_product(np.matmul(np.abs(x), np.abs(y)), n)
    return np.where(r >= 0.0, r, np.inf)


def _inner_dimension(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    if len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2]:
        batches = zip(a[-3::-1], b[-3::-1], strict=False)
        if all(n == m or 1 in (n, m) for n, m in batches):
            return a[-1]
    raise InputError(f"a and b have shapes {a} and {b}, expected [..., m, n] and [..., n, p]")


def _raised_product(r: Floats, n: int) -> Floats:
    """Lemma 7: above any sum of two products with inner dimension n that was computed as r."""
    r *= _outweighing(n)
    r += n * 2.0**-1018
    return r


def _product_of_norms(a: Floats, b: Floats) -> Floats:
    """Lemma 7: |a| |b| <= (norms of the rows of a) (norms of the columns of b), up to rounding."""
    rows = np.sqrt(np.einsum("...mn,...mn->...m", a, a) + a.shape[-1] * TINY)
    columns = np.sqrt(np.einsum("...np,...np->...p", b, b) + b.shape[-2] * TINY)
    return rows[..., :, None] * columns[..., None, :]


@_quiet
def residual(a: Enclosure | ArrayLike, x: ArrayLike, b: Enclosure | ArrayLike, *, parts: int = 2) -> Enclosure:
    r"""Enclosure of $b - ax$ near the last bit, also where nearly everything cancels.

    $a$ and $x$ are cut into `parts` slices of at most 26 bits, relative to the largest entry of the row of $a$ and of
    the column of $x$, so that the products of leading slices are exact in any order of summation; only products with a
    remainder are rounded, and their rounding errors are $2^{-20}$ to $2^{-26}$ times those of a plain product for two
    parts, the square of that for three. The exact pieces are added to $b$ without losing an error term. Two parts cost
    3 matrix products, three cost 6.

    Why it is rigorous: Lemma 10; the rounding of the remainders is bounded by row sums of $|a|$ and by the largest
    entries of the columns of $|x|$.

    Args:
        a: [m, n], exact or with a radius.
        x: [n, p], exact.
        b: [m, p], exact or with a radius.
        parts: Number of slices, at least 2.

    Returns:
        Enclosure [m, p].

    Raises:
        InputError: The shapes do not fit, or there are fewer than 2 parts.

    Source: Rump, Ogita and Oishi, Accurate floating-point summation I (2008), Algorithm 3.2 for the slices; Ozaki,
        Ogita, Oishi and Rump, Error-free transformations of matrix multiplication (2012) for their products.
    Page: docs/rigour/arithmetic.md

    Example:
        >>> third = 1.0 / 3.0
        >>> r = residual([[3.0]], [[third]], [[1.0]])
        >>> bool(r.midpoint[0, 0] == 2.0**-54 and r.radius[0, 0] < 2.0**-70)
        True
    """
    matrix, right = enclosure(a), enclosure(b)
    # Not an enclosure: an entry that is not finite has to spoil its column.
    vectors = as_float64(x, "x")
    n = matrix.shape[-1] if matrix.ndim == 2 else -1
    if vectors.ndim != 2 or len(vectors) != n or right.shape != (len(matrix), vectors.shape[1]):
        shapes = f"{matrix.shape}, {vectors.shape} and {right.shape}"
        raise InputError(f"a, x and b have shapes {shapes}, expected [m, n], [n, p] and [m, p]")
    if parts < 2:
        raise InputError(f"parts is {parts}, expected at least 2")
    blas.probe()
    bits = (53 - max(n - 1, 0).bit_length()) // 2
    rows, row_rests = _slices(matrix.midpoint, 1, bits, parts)
    columns, column_rests = _slices(vectors, 0, bits, parts)
    high, low, slips = right.midpoint, np.zeros(right.shape), np.zeros(right.shape)
    radius = right.radius + np.zeros(right.shape)
    terms = [(rows[i], columns[j], False) for i in range(parts - 1) for j in range(parts - 1 - i)]
    terms += [(rows[i], column_rests[parts - 1 - i], True) for i in range(parts - 1)]
    terms += [(row_rests[parts - 1], vectors, True)]
    for left, top, rounded in terms:
        product = np.matmul(left, top)
        high, slip = _two_sum(high, np.negative(product, out=product))
        low += slip
        slips += np.abs(slip, out=slip)
        if rounded:
            # Cheaper than |left| |top|: row sums times the largest entry of the column.
            size = np.abs(left).sum(axis=1, keepdims=True) * np.abs(top).max(axis=0, keepdims=True, initial=0.0)
            size *= gamma(n)
            radius += size
    m = high + low
    radius += gamma(len(terms)) * slips
    radius += np.abs(m) * UNIT
    if not _is_zero(matrix.radius):
        radius += np.matmul(np.broadcast_to(matrix.radius, matrix.shape), np.abs(vectors))
    return Enclosure(m, _raised_product(radius, max(n, 1) * len(terms)))


def _slices(x: Floats, axis: int, bits: int, parts: int) -> tuple[list[Floats], list[Floats]]:
    """Lemma 10: leading slices of at most `bits` bits along an axis, and what is left before each of them and after."""
    slices, rests = [], [x]
    for _ in range(parts - 1):
        _, exponent = np.frexp(np.abs(rests[-1]).max(axis=axis, keepdims=True, initial=0.0))
        anchor = np.ldexp(1.5, exponent + (52 - bits))
        head = rests[-1] + anchor
        head -= anchor
        slices.append(head)
        rests.append(rests[-1] - head)
    return slices, rests


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Knuth: the rounded sum, and its exact error (Lemma 10)."""
    s = a + b
    t = s - a
    slip = s - t
    np.subtract(a, slip, out=slip)
    np.subtract(b, t, out=t)
    slip += t
    return s, slip


def _raised(value: Floats) -> Floats:
    """Lemma 2: above every quantity >= 0 that was computed as `value` with at most twelve roundings on any path."""
    value = value * _RAISE
    value += TINY
    return value


def _outweighing(roundings: int) -> float:
    """Lemma 4: a factor that outweighs this many roundings and twelve more."""
    return 1.0 + 2.0 * gamma(roundings + 8)


def _is_zero(radius: Floats) -> bool:
    return radius.size == 1 and not radius.any()


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    padded = (1,) * (len(target) - len(shape)) + shape
    return len(padded) == len(target) and all(n in (1, m) for n, m in zip(padded, target, strict=True))


def _aligned(radius: Floats, ndim: int) -> Floats:
    return radius.reshape((1,) * (ndim - radius.ndim) + radius.shape)


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise InputError(f"axis is {axis}, expected one of the {ndim} axes of x")
    return axis % ndim


def _without_repeats(radius: Floats) -> Floats:
    """Axes along which a view only repeats itself, cut down to length 1."""
    radius = np.asarray(radius)
    return radius[tuple(slice(0, 1) if step == 0 else slice(None) for step in radius.strides)]


def _read_only(x: Floats) -> Floats:
    view = x.view()
    view.flags.writeable = False
    return view


def is_masked(values: object) -> bool:
    """Whether a masked array is among `values`, the hidden entries of which NumPy would take for numbers."""
    return np.ma.isMaskedArray(values) or (isinstance(values, list | tuple) and any(map(is_masked, values)))


def as_float64(values: ArrayLike, name: str) -> Floats:
    """`values` as a float64 array, without a copy where they are one; refused where float64 would change a number."""
    if is_masked(values):
        raise InputError(f"{name} is a masked array or holds one; fill the masked entries first")
    x = np.asarray(values)
    if x.dtype.kind in "iu" and x.size and (x.max() > 2**53 or x.min() < -(2**53)):
        raise InputError(f"{name} has integers beyond 2**53, expected numbers that float64 holds exactly")
    if x.dtype.kind not in "biuf" or x.dtype.itemsize > 8:
        raise InputError(f"{name} has dtype {x.dtype}, expected real numbers that float64 holds exactly")
    return x.astype(np.float64, copy=False)
