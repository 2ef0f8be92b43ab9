"""Numbers $x = h + l$ of two float64: about 106 bits, IEEE operations only, each with a proved relative error.

Every operation is off by at most one *unit* $2^{-100} = 64 u^2$, relatively (Lemma T6); products of matrices are cut
into slices whose products are exact in any order of summation, except for what is left (Lemma T7). There is no fused
multiply-add: the error of a product comes from Veltkamp's splitting. What overflows becomes a NaN; what underflows
loses less than $2^{-1000}$.

Page: docs/rigour/forward.md
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from constructions.errors import InputError
from constructions.numeric.products import multiply
from verify.arithmetic.rounding import Floats, gamma

UNIT = 2.0**-100
EXPONENTIAL_UNITS = 2.0
SLICES = 5
_SPLITTER = 2.0**27 + 1.0
_CACHED = 2**13  # entries that are worked on while they stay in the cache
_MOST_TERMS = 2**20
_BLOCK_TERMS = 256  # of what is left, that one call of the BLAS adds up
_STEPS = 1024  # between two powers of 2 that are looked up
_PRODUCT_ENTRIES, _FEWEST_ROWS = 2**18, 64  # of a product, that are worked on together


@dataclass(frozen=True, eq=False)
class DoubleDouble:
    r"""An array of numbers $h + l$ with $|l| \le u|h|$ up to one rounding; indexed and reshaped like its parts.

    Args:
        high: The numbers rounded to float64.
        low: What is left.

    Example:
        >>> third = divided(DoubleDouble.exact(np.ones(1)), DoubleDouble.exact(np.full(1, 3.0)))
        >>> from fractions import Fraction
        >>> float(Fraction(third.high[0]) + Fraction(third.low[0]) - Fraction(1, 3)) < 2.0**-104
        True
    """

    high: Floats
    low: Floats

    @classmethod
    def exact(cls, x: Floats) -> "DoubleDouble":
        """Return the float64 numbers themselves."""
        return cls(x, np.zeros_like(x))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parts."""
        return self.high.shape

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, key: Any) -> "DoubleDouble":
        return DoubleDouble(self.high[key], self.low[key])

    def reshape(self, *shape: int) -> "DoubleDouble":
        """Return the numbers in another shape."""
        return DoubleDouble(self.high.reshape(*shape), self.low.reshape(*shape))

    def transpose(self, *axes: int) -> "DoubleDouble":
        """Return the numbers with permuted axes."""
        return DoubleDouble(self.high.transpose(*axes), self.low.transpose(*axes))

    def __neg__(self) -> "DoubleDouble":
        return DoubleDouble(-self.high, -self.low)

    def scaled(self, factor: float) -> "DoubleDouble":
        """Return this times a power of two."""
        return DoubleDouble(self.high * factor, self.low * factor)


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum, and its error, exactly (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _fast_two_sum(a: Floats, b: Floats) -> DoubleDouble:
    """Return the rounded sum and its error for |a| >= |b| (Dekker)."""
    s = a + b
    return DoubleDouble(s, b - (s - a))


def _split(a: Floats) -> tuple[Floats, Floats]:
    t = a * _SPLITTER
    high = t - (t - a)
    return high, a - high


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded product and its error, which is exact unless it underflows (Dekker, Veltkamp)."""
    p = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def added(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """Return the sum, within 3u^2 + 13u^3 (Joldes, Muller, Popescu, Theorem 3.1)."""
    s, e = two_sum(x.high, y.high)
    t, f = two_sum(x.low, y.low)
    first = _fast_two_sum(s, e + t)
    return _fast_two_sum(first.high, f + first.low)


def added_float(x: DoubleDouble, y: Floats) -> DoubleDouble:
    """Return the sum with float64 numbers, within 2u^2 (the same, Theorem 2.1)."""
    s, e = two_sum(x.high, y)
    return _fast_two_sum(s, x.low + e)


def multiplied(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """Return the product, within 7u^2 (the same, Theorem 5.1)."""
    p, e = two_product(x.high, y.high)
    return _fast_two_sum(p, e + (x.high * y.low + x.low * y.high))


def divided(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """Return the quotient, within 32u^2 (Lemma T6)."""
    q = x.high / y.high
    p, e = two_product(q, y.high)
    rest = (((x.high - p) - e) + x.low) - q * y.low
    return _fast_two_sum(q, rest / y.high)


def root(x: DoubleDouble) -> DoubleDouble:
    """Return the square root of positive numbers, within 16u^2 (Lemma T6)."""
    s = np.sqrt(x.high)
    p, e = two_product(s, s)
    return _fast_two_sum(s, (((x.high - p) - e) + x.low) / (2.0 * s))


def total(x: DoubleDouble) -> DoubleDouble:
    """Sum along the last axis by repeated halving: each term is rounded in at most ceil(log2 n) additions."""
    while (length := x.shape[-1]) > 1:
        half = length // 2
        rest = x[..., 2 * half :]
        x = added(x[..., :half], x[..., half : 2 * half])
        if length % 2:
            x = DoubleDouble(np.concatenate([x.high, rest.high], axis=-1), np.concatenate([x.low, rest.low], axis=-1))
    return x[..., 0] if x.shape[-1] else DoubleDouble.exact(np.zeros(x.shape[:-1]))


def _constant(x: arb) -> tuple[float, float]:
    """Return the float64 nearest to a number, and the float64 nearest to the remainder."""
    high = float(x.mid())
    return high, float((x - high).mid())


def _cut(x: arb, bits: int) -> float:
    """Return the multiple of 2^-bits next below a number."""
    return math.ldexp(math.floor(float((x * arb(2) ** bits).mid())), -bits)


with ctx.workprec(300):
    _STEP = arb(2).log() / _STEPS
    _STEP_FIRST = _cut(_STEP, 42)
    _STEP_SECOND = _cut(_STEP - _STEP_FIRST, 74)
    _STEP_THIRD = float((_STEP - _STEP_FIRST - _STEP_SECOND).mid())
    _INVERSE_STEP = float((1 / _STEP).mid())
    _POWERS = np.array([_constant((_STEP * j).exp()) for j in range(_STEPS)]).T
    _SIXTH = _constant(arb(fmpq(1, 6)))
    _TAIL = tuple(float(arb(fmpq(1, math.factorial(n))).mid()) for n in range(8, 3, -1))
    TANH = tuple(_constant(-2 * (2 / arb.pi()).sqrt() * x) for x in (arb(1), arb(fmpq(44715, 10**6))))
    BLOOM_TANH = tuple(_constant(arb(fmpq(-2 * 79788456, 10**8)) * x) for x in (arb(1), arb(fmpq(44715, 10**6))))


def constant(value: tuple[float, float]) -> DoubleDouble:
    """Return a pair that broadcasts with arrays of any shape."""
    return DoubleDouble(np.array(value[0]), np.array(value[1]))


def exponential(x: DoubleDouble) -> DoubleDouble:
    r"""Return the exponential of numbers from -600 to 700, within 2 units (Lemma T8); NaN where x is.

    With $x = k \frac{\ln 2}{1024} + r$ and $k = 1024 m + j$, $e^{x} = 2^m 2^{j/1024} e^r$: the second factor is
    looked up, and of the Taylor polynomial of the third only what is large enough is evaluated in double-double.

    Example:
        >>> float(exponential(DoubleDouble.exact(np.ones(1))).high[0])
        2.718281828459045
    """
    k = np.rint(x.high * _INVERSE_STEP)
    k = np.where(np.abs(k) <= 1100.0 * _STEPS, k, np.nan)
    high, low = two_sum(x.high, -k * _STEP_FIRST)
    r = added_float(_fast_two_sum(high, low), -k * _STEP_SECOND)
    r = added_float(added_float(r, x.low), -k * _STEP_THIRD)
    tail = r.high * _TAIL[0]
    for value in _TAIL[1:]:
        tail += value
        tail *= r.high
    # e^r - 1 = r + r^2 (1/2 + r (1/6 + r (1/24 + ...)))
    y = added_float(multiplied(r, added_float(constant(_SIXTH), tail)), np.array(0.5))
    p = added(r, multiplied(multiplied(r, r), y))
    place = np.where(np.isnan(k), 0.0, k).astype(np.int64)
    power = DoubleDouble(*_POWERS[:, place % _STEPS])
    whole, exponent = added(power, multiplied(power, p)), place // _STEPS
    return DoubleDouble(np.ldexp(whole.high, exponent) + 0.0 * k, np.ldexp(whole.low, exponent))


def blockwise(function: Callable[..., DoubleDouble], *operands: DoubleDouble) -> DoubleDouble:
    """Return a function that applies an entrywise function block by block, so that each block stays in the cache."""
    flat = [
        DoubleDouble(np.ascontiguousarray(x.high).reshape(-1), np.ascontiguousarray(x.low).reshape(-1))
        for x in operands
    ]
    shape, size = operands[0].shape, operands[0].high.size
    high, low = np.empty((2, size))
    for start in range(0, size, _CACHED):
        part = slice(start, start + _CACHED)
        y = function(*(x[part] for x in flat))
        high[part], low[part] = y.high, y.low
    return DoubleDouble(high.reshape(shape), low.reshape(shape))


def inner_error(terms: int, slices: int = SLICES) -> float:
    r"""Return the factor f with $|\mathrm{product}(x, W) - xW| \le f |x|_2 |W_j|_2$ for each entry j of a row (Lemma
    T7).

    Raises:
        InputError: More than 2^20 terms.

    Example:
        >>> inner_error(768) < 2.0**-101, inner_error(768, slices=2) < 2.0**-59
        (True, True)
    """
    if terms > _MOST_TERMS:
        raise InputError("an inner product", f"has {terms} terms", "at most 2**20 in double-double")
    # Lemma T7: the K products with a rest have sizes of at most `rests` |x| |w|, ...
    per_slice = 2.0 ** (-_bits(terms, slices) * (slices - 1))
    rests = 1.2 * (2.0 * math.sqrt(terms) + (slices - 2) * terms) * per_slice
    # ... their float64 sums in blocks, and the additions after them, are off by a relative gamma_k, ...
    roundings = min(terms, _BLOCK_TERMS) + -(-terms // _BLOCK_TERMS) + slices + 8
    # ... and all other steps by 4 K u^2, u = 2^-53.
    return rests * gamma(roundings) + slices * 2.0**-104


def product(x: DoubleDouble, y: DoubleDouble, *, slices: int = SLICES) -> DoubleDouble:
    """Return the product of matrices, plain or in batches, within `inner_error` (Lemma T7).

    Args:
        x: [..., m, n]
        y: [..., n, p]
        slices: Into how many parts each row of x and each column of y is cut, at least 2; the last is a float64.

    Returns:
        [..., m, p].

    Example:
        >>> signs = DoubleDouble(np.array([[1.0], [-1.0]]), np.full((2, 1), 2.0**-60))
        >>> y = product(DoubleDouble.exact(np.full((1, 2), 2.0**60)), signs)
        >>> float(y.high[0, 0])
        2.0
    """
    bits = _bits(x.shape[-1], slices)
    columns = _slices(y, -2, bits, slices)
    step = max(_FEWEST_ROWS, _PRODUCT_ENTRIES // max(y.shape[-1], 1))
    if len(x.shape) > 2 or len(x) <= step:
        return _sliced(_slices(x, -1, bits, slices), columns)
    high, low = np.empty((2, len(x), y.shape[-1]))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        rows = _sliced(_slices(x[part], -1, bits, slices), columns)
        high[part], low[part] = rows.high, rows.low
    return DoubleDouble(high, low)


def _sliced(left: "_Slices", right: "_Slices") -> DoubleDouble:
    """Return the sum of all products of slices, adding exact products of equal weight in one float64, and the
    remainder.
    """
    last, terms = len(left.heads), _BLOCK_TERMS
    rest = multiply(left.rests[last], right.rests[0], terms)
    for i, head in enumerate(left.heads):
        columns, matrix = right.thin_rests[last - i]
        rest[..., columns] += multiply(head, matrix, terms)
    result: DoubleDouble | None = None
    for weight in range(last - 1, -1, -1):
        term = multiply(left.heads[weight], right.heads[0])
        for i in range(weight):
            columns, matrix = right.thin_heads[weight - i]
            term[..., columns] += multiply(left.heads[i], matrix)
        result = DoubleDouble(*two_sum(term, rest)) if result is None else added_float(result, term)
    assert result is not None
    return result


def _bits(terms: int, slices: int) -> int:
    """Return how many bits a slice may have if terms (slices - 1) products of slices add up to at most 2^53
    (Lemma T7).
    """
    return min(24, (53 - max(terms * (slices - 1) - 1, 0).bit_length()) // 2)


@dataclass(frozen=True, eq=False)
class _Slices:
    """The leading slices of an array, and the remainder after each of them, as the nearest float64."""

    heads: list[Floats]
    rests: list[Floats]

    @functools.cached_property
    def thin_heads(self) -> list[tuple[Any, Floats]]:
        """The slices; for nearly empty ones, the indices and values of the nonzero columns."""
        return [_thin(x) for x in self.heads]

    @functools.cached_property
    def thin_rests(self) -> list[tuple[Any, Floats]]:
        """The remainders, in the same form as `thin_heads`."""
        return [_thin(x) for x in self.rests]


def _thin(x: Floats) -> tuple[Any, Floats]:
    columns = np.flatnonzero(x.any(axis=0)) if x.ndim == 2 else np.arange(x.shape[-1])
    return (columns, x[:, columns]) if 4 * len(columns) < x.shape[-1] else (slice(None), x)


def _slices(x: DoubleDouble, axis: int, bits: int, slices: int) -> _Slices:
    """Cut an array into slices along an axis (Lemma A10, in the form that Lemma T7 uses)."""
    rest, low = x.high, x.low
    _, exponent = np.frexp(np.abs(rest).max(axis=axis, keepdims=True, initial=0.0))
    heads: list[Floats] = []
    rests = [rest]
    for i in range(1, slices):
        if i > 2:
            rest, low = two_sum(rest, low)
        anchor = np.ldexp(1.5, exponent + (52 - bits * i))
        head = rest + anchor
        head -= anchor
        heads.append(head)
        rest = rest - head
        rests.append(rest + low)
    return _Slices(heads, rests)
