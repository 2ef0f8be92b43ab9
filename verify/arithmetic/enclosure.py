r"""Rounding-rigorous arithmetic on float64 arrays: midpoints with radii that are proved, not observed.

Only operations whose error IEEE 754 bounds are used: ``+ - * /``, square root, exact scalings by powers of two, and
matrix products of a BLAS that has been probed. Each call of NumPy is one operation whose result is stored as float64,
so no compiler can contract a product and a sum of different calls into one.

Notation: $u = 2^{-53}$ is the unit roundoff, $\gamma_n = nu / (1 - nu)$.
Page: docs/rigour/arithmetic.md proves every bound used here; the comments name its lemmas.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError
from constructions.numeric.products import multiply
from verify.arithmetic import blas
from verify.arithmetic.exact_inputs import as_float64
from verify.arithmetic.products import inner_dimension, product_of_norms, raised_product
from verify.arithmetic.rounding import RAISE, TINY, UNIT, Floats, down, gamma, quiet, raised, up


@dataclass(frozen=True, eq=False, init=False)
class Enclosure:
    r"""The set of all real arrays $x$ with $|x - m| \le r$ entry by entry: midpoint $m$, radius $r$.

    A radius of infinity means "no information": the entry may be any real number. A midpoint that is not finite (an
    overflow, a NaN) becomes 0 with radius infinity, a radius that is NaN becomes infinity, so that no operation below
    ever meets a midpoint that is not finite. Operators accept enclosures and arrays; an array counts as exact.

    Why it is rigorous: each operator returns a set that holds the exact result for every choice of real arrays in the
    sets of its operands (Lemmas A3 to A6).

    Args:
        midpoint: Array of any shape, of a type that float64 holds exactly; kept without a copy where it is float64, so
            it must not be written to afterwards.
        radius: Array >= 0 that broadcasts to the shape of `midpoint`; a scalar or a column saves memory.

    Raises:
        InputError: An argument cannot be held exactly or is a masked array, or the radius is negative or does not
            broadcast.
        BlasError: The thread's arithmetic is not IEEE 754's default.

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

    @quiet
    def __init__(self, midpoint: ArrayLike, radius: ArrayLike = 0.0) -> None:
        blas.require_ieee()
        m, r = as_float64(midpoint, "midpoint"), as_float64(radius, "radius")
        if r.shape not in ((), m.shape) and not _broadcasts(r.shape, m.shape):
            raise InputError("radius", f"has shape {r.shape}", f"one that broadcasts to midpoint's {m.shape}")
        # Without this a set would hold nothing, and every statement would be true of it.
        if r.size and r.min() < 0.0:
            raise InputError("radius", f"has the entry {r.min()}", "entries >= 0")
        # A sum that is finite has finite terms only; where it is not, the entries are looked at one by one.
        if r.size and not r.max() < np.inf:
            r = np.where(r >= 0.0, r, np.inf)
        if not isfinite(m.sum()):
            known = np.isfinite(m)
            if not known.all():
                m, r = np.where(known, m, 0.0), np.where(known, r, np.inf)
        self._keep(m, r)

    def _keep(self, midpoint: Floats, radius: Floats) -> None:
        object.__setattr__(self, "midpoint", _read_only(midpoint))
        object.__setattr__(self, "radius", _read_only(radius))

    @classmethod
    def of_finite(cls, midpoint: Floats, radius: Floats) -> "Enclosure":
        """Return the set of finite midpoints and nonnegative radii of one shape; nothing is checked.

        Example:
            >>> Enclosure.of_finite(np.array([1.0]), np.array([np.inf])).upper()
            array([inf])
        """
        blas.require_ieee()
        known = object.__new__(cls)
        known._keep(midpoint, radius)
        return known

    @classmethod
    def exact(cls, x: ArrayLike) -> "Enclosure":
        """Return the set that contains only `x`.

        Example:
            >>> Enclosure.exact([1, 2]).radius
            array(0.)
        """
        return cls(x)

    @classmethod
    @quiet
    def between(cls, lower: ArrayLike, upper: ArrayLike) -> "Enclosure":
        r"""Return a set that contains every $x$ with `lower` $\le x \le$ `upper`; unbounded where an end is infinite or
        NaN.

        Why it is rigorous: whatever the midpoint, the radius is the larger distance to the ends, rounded up (Lemma A3).

        Raises:
            InputError: Some entry of `lower` is above that of `upper`.

        Example:
            >>> x = Enclosure.between(1.0, 3.0)
            >>> float(x.midpoint), bool(x.upper() >= 3.0)
            (2.0, True)
        """
        low, high = np.broadcast_arrays(as_float64(lower, "lower"), as_float64(upper, "upper"))
        if (low > high).any():
            raise InputError("lower", f"has an entry {low[low > high][0]} above upper's {high[low > high][0]}")
        single = low == high
        # Halves of subnormals are rounded: a set of one number is that number, not the sum of its halves.
        m = np.where(single, low, 0.5 * low + 0.5 * high)
        # Without `up` an end is outside where the larger difference was rounded down.
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
        return Enclosure(self.midpoint.T, aligned(self.radius, self.ndim).T)

    def is_exact(self) -> bool:
        """Tell whether the set contains a single array."""
        return not self.radius.any()

    @quiet
    def lower(self) -> Floats:
        r"""Return the largest floats known to lie below every $x$ of the set (Lemma A3); the midpoint itself where
        exact.
        """
        if is_zero(self.radius):
            return self.midpoint
        # Without `down` the end is above the least number of the set where the difference was rounded up.
        return np.where(self.radius == 0.0, self.midpoint, down(self.midpoint - self.radius))

    @quiet
    def upper(self) -> Floats:
        r"""Return the smallest floats known to lie above every $x$ of the set (Lemma A3); the midpoint itself where
        exact.
        """
        if is_zero(self.radius):
            return self.midpoint
        # Without `up` the end is below the largest number of the set where the sum was rounded down.
        return np.where(self.radius == 0.0, self.midpoint, up(self.midpoint + self.radius))

    def magnitude(self) -> Floats:
        """Return floats that lie above every $|x|$ (Lemma A3)."""
        return abs(self).upper()

    def reshape(self, *shape: int) -> "Enclosure":
        """Return the set of the reshaped arrays."""
        r = self.radius
        r = r.reshape(()) if r.size == 1 else np.broadcast_to(r, self.shape).reshape(*shape)
        return Enclosure(self.midpoint.reshape(*shape), r)

    def __len__(self) -> int:
        return len(self.midpoint)

    def __getitem__(self, key: Any) -> "Enclosure":
        r = aligned(self.radius, self.ndim)
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
    """Return `x` if it is an enclosure, and the exact enclosure of an array otherwise.

    Example:
        >>> enclosure(2.0).is_exact()
        True
    """
    return x if isinstance(x, Enclosure) else Enclosure(x)


@quiet
def _add(a: Enclosure, b: Enclosure) -> Enclosure:
    """Add enclosures (Lemma A5)."""
    # Without a radius its set counts as one number; without `raised` their sum may have been rounded down.
    m = a.midpoint + b.midpoint
    r = np.abs(m)
    r *= UNIT * RAISE
    return Enclosure(m, r + raised(a.radius + b.radius))


@quiet
def _multiply(a: Enclosure, b: Enclosure) -> Enclosure:
    """Multiply enclosures (Lemma A5)."""
    m = a.midpoint * b.midpoint
    r = np.abs(m)
    r *= UNIT
    if not is_zero(b.radius):
        r = r + np.abs(a.midpoint) * b.radius
    if not is_zero(a.radius):
        # Without r_a |b| the factor a counts as one number; without r_a r_b the product of two far ends is outside.
        r = r + a.radius * (np.abs(b.midpoint) + b.radius)
    return Enclosure(m, raised(r))


@quiet
def _divide(a: Enclosure, b: Enclosure) -> Enclosure:
    """Divide enclosures (Lemma A5)."""
    m = a.midpoint / b.midpoint
    size = np.abs(m)
    r = size * UNIT
    if not (is_zero(a.radius) and is_zero(b.radius)):
        least = abs(b).lower()
        # Without the radius of b the quotients by its ends are outside.
        share = raised(a.radius + (size + TINY) * b.radius) / least
        r = r + np.where(least > 0.0, share, np.inf)
    return Enclosure(m, raised(r))


@quiet
def sqrt(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $\sqrt x$ entry by entry; unbounded where $x$ may be negative.

    Why it is rigorous: IEEE 754 rounds the root correctly, and
    $|\sqrt x - \sqrt m| \le r / (\sqrt m + \sqrt{m - r})$ (Lemma A5).

    Example:
        >>> bool(abs(sqrt(4.0).midpoint - 2.0) == 0.0)
        True
    """
    x = enclosure(x)
    m = np.sqrt(x.midpoint)
    r = np.abs(m) * UNIT
    if not is_zero(x.radius):
        # The root of a negative end is NaN, which becomes no information.
        r = r + np.where(x.radius > 0.0, x.radius / (m + np.sqrt(x.lower())), 0.0)
    return Enclosure(m, raised(r))


@quiet
def rsqrt(x: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $1/\sqrt x$ entry by entry; unbounded where $x$ may be 0 or negative.

    Why it is rigorous: a root and a quotient are two roundings, and
    $|1/\sqrt x - 1/\sqrt m| \le r / (\sqrt\ell\sqrt m(\sqrt\ell + \sqrt m))$ for $x \ge \ell > 0$ (Lemma A5).

    Args:
        x: Positive numbers, any shape.

    Returns:
        Enclosure of the shape of `x`.

    Example:
        >>> y = rsqrt([4.0, 0.0])
        >>> float(y.midpoint[0]), bool(y.radius[0] < 2e-16), float(y.radius[1])
        (0.5, True, inf)
    """
    x = enclosure(x)
    root = np.sqrt(x.midpoint)
    y = 1.0 / root
    r = y * (3.0 * UNIT)
    if not is_zero(x.radius):
        least = np.sqrt(x.lower())
        # Raised before it is divided by roots that may be small: an underflow is not magnified.
        share = raised(x.radius / least) / root / (least + root)
        r = r + np.where(least > 0.0, np.where(x.radius > 0.0, share, 0.0), np.inf)
    return Enclosure(y, raised(r))


def maximum(a: Enclosure | ArrayLike, b: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $\max(a, b)$ entry by entry.

    Why it is rigorous: the maximum moves by at most the larger of the moves of its arguments, and taking it rounds
    nothing.

    Example:
        >>> maximum([1.0, 5.0], 3.0).midpoint
        array([3., 5.])
    """
    x, y = enclosure(a), enclosure(b)
    # The smaller radius holds not the set of the other one, where that is the larger number.
    return Enclosure(np.maximum(x.midpoint, y.midpoint), np.maximum(x.radius, y.radius))


def largest(x: Enclosure | ArrayLike, axis: int) -> Enclosure:
    """Enclose the largest entry along an axis, like `maximum`.

    Example:
        >>> largest([[1.0, 5.0], [4.0, 3.0]], axis=1).midpoint
        array([5., 4.])
    """
    x = enclosure(x)
    axis = checked_axis(axis, x.ndim)
    # The least radius holds not the set of an entry that is known less well.
    return Enclosure(x.midpoint.max(axis=axis), aligned(x.radius, x.ndim).max(axis=axis))


@quiet
def matmul(a: Enclosure | ArrayLike, b: Enclosure | ArrayLike, *, tight: bool = True) -> Enclosure:
    r"""Enclose the matrix product, plain or batched.

    The radius is an upper bound of
    $$|A|\,(\gamma_n |B| + r_B) + r_A\,(|B| + r_B) + n\,2^{-1018}$$
    for midpoints $A$, $B$ and inner dimension $n$. Exact operands cost one more product than a plain one, a radius of
    $A$ that is constant along the inner dimension costs nothing, any other a third product.

    Why it is rigorous: each entry is an inner product summed in some order, with or without fused multiply-add, by a
    BLAS that was probed; the radius is itself computed in floating point and then raised above its own rounding errors
    (Lemma A7).

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

    Example:
        >>> x = matmul([[1.0, 2.0]], [[3.0], [4.0]])
        >>> float(x.midpoint[0, 0]), bool(x.radius[0, 0] < 1e-14)
        (11.0, True)
    """
    x, y = enclosure(a), enclosure(b)
    n = inner_dimension(x.shape, y.shape)
    blas.probe()
    product = multiply if tight else product_of_norms
    # Without the look at the radius of B, |A| r_B is forgotten.
    if not tight and is_zero(y.radius):
        # Nothing of the size of B is formed.
        r = product_of_norms(x.midpoint, y.midpoint, gamma(n))
    else:
        weight = np.abs(y.midpoint)
        weight *= gamma(n)
        # Without r_B, |A| r_B is forgotten.
        weight += y.radius + TINY
        r = product(np.abs(x.midpoint), weight)
        del weight
    if not is_zero(x.radius):
        rx = aligned(x.radius, x.ndim)
        size = np.abs(y.midpoint)
        size += y.radius
        r += rx * size.sum(axis=-2, keepdims=True) if rx.shape[-1] == 1 else product(rx, size)
    return Enclosure(multiply(x.midpoint, y.midpoint), raised_product(r, n))


def is_zero(radius: Floats) -> bool:
    return radius.size == 1 and not radius.any()


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    padded = (1,) * (len(target) - len(shape)) + shape
    return len(padded) == len(target) and all(n in (1, m) for n, m in zip(padded, target, strict=True))


def aligned(radius: Floats, ndim: int) -> Floats:
    return radius.reshape((1,) * (ndim - radius.ndim) + radius.shape)


def checked_axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise InputError("axis", f"is {axis}", f"one of the {ndim} axes of x")
    return axis % ndim


def _without_repeats(radius: Floats) -> Floats:
    """Cut axes along which a view only repeats itself down to length 1."""
    radius = np.asarray(radius)
    return radius[tuple(slice(0, 1) if step == 0 else slice(None) for step in radius.strides)]


def _read_only(x: Floats) -> Floats:
    view = x.view()
    view.flags.writeable = False
    return view
