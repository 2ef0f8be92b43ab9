r"""Upper-bound matrix norms and products for the exact numbers, for any rounding of the computation.

Scalars are balls (`flint.arb`), so every operation on them is rigorous; a bound is the outer end of its ball. Arrays
are float64, and what the roundings of each operation on them cost is a lemma of docs/rigour/linear_algebra.md. A NaN
or an infinity makes a bound NaN or infinite, and no comparison with it ever proves anything.

Notation: $u = 2^{-53}$, $\gamma_n = nu / (1 - nu)$, $\|\cdot\|_F$ the Frobenius norm, $\|\cdot\|_2$ the spectral norm.
"""

import math
from collections.abc import Callable

import numpy as np
from flint import arb

from constructions.numeric.arrays import Int64Array
from constructions.numeric.products import multiply
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import TINY, Floats, gamma, up

_INNER = 512  # terms of an inner product that BLAS sums in an order of its own
_SWEEPS = 12
_SMALL_ENOUGH = 0.5
_LEAST_WEIGHT, _LARGEST_WEIGHT = 2.0**10, 2.0**40


def frobenius(x: Floats) -> arb:
    r"""Return an upper bound of $\|X\|_F$ for the exact entries of `x`; Lemma M2.

    Example:
        >>> 5 <= frobenius(np.array([[3.0, 4.0]])).upper() < 5.001
        True
    """
    flat = np.ravel(x, order="K")
    with np.errstate(all="ignore"):
        squares = float(np.dot(flat, flat))
    return ((arb(squares) + flat.size * _flushed(1)) / (1 - arb(gamma(flat.size)))).sqrt()


def frobenius_below(x: Floats) -> arb:
    r"""Return a lower bound of $\|X\|_F$ for the exact entries of `x`, NaN if everything may be underflow; Lemma M2."""
    flat = np.ravel(x, order="K")
    with np.errstate(all="ignore"):
        squares = float(np.dot(flat, flat))
    return ((arb(squares) - flat.size * _flushed(1)) / (1 + arb(gamma(flat.size)))).sqrt()


def radius_norm(x: Enclosure) -> arb:
    r"""Return an upper bound of $\|\Delta\|_F$ for the radii of `x`, counted as often as they are broadcast;
    Lemma M2.
    """
    repeats = x.size // x.radius.size if x.radius.size else 0
    return frobenius(x.radius) * arb(repeats).sqrt()


def product(a: Floats, b: Floats) -> Floats:
    r"""Return the product `a @ b` in float64, within `product_error` of the exact one; Lemma M1.

    The inner dimension is cut into blocks that are added one after the other, so that a term goes through few
    roundings: $\gamma_{511 + \lceil n/512 \rceil}$ instead of $\gamma_n$ where $n > 512$.
    """
    with np.errstate(all="ignore"):
        return multiply(a, b, _INNER)


def roundings(inner: int) -> float:
    r"""Return the factor $\gamma$ with $|\mathrm{product}(A, B) - AB| \le \gamma |A| |B|$ up to underflow; Lemma M1."""
    return gamma(min(inner, _INNER) + max(inner - 1, 0) // _INNER)


def product_error(norms: arb, shape: tuple[int, int], inner: int) -> arb:
    r"""Return an upper bound of $\|\mathrm{product}(A, B) - AB\|_F$, given `norms` $\ge \|A\|_F \|B\|_F$; Lemma M1."""
    return roundings(inner) * norms + arb(shape[0] * shape[1]).sqrt() * _flushed(inner)


def times_positive(matrix: Floats, vector: Floats) -> Floats:
    """Return an upper bound of $M v$ for `matrix` and `vector` without negative entries, raised by ten roundings;
    Lemma M3.
    """
    inner = matrix.shape[1]
    with np.errstate(all="ignore"):
        return (matrix @ vector + inner * 8.0 * TINY) * (1.0 + 2.0 * gamma(inner + 8))


def contraction(magnitude: Callable[[Floats], Floats], size: int) -> tuple[arb, Floats]:
    r"""Return a number $\alpha$ and weights $v$ with $|E| v \le \alpha v$, $\alpha$ below 1/2 or small; Lemma M4.

    The weights are integers from 1 to $2^{40}$, the largest at most $2^{30}$ times the least.

    `magnitude` maps a vector $v \ge 0$ to an upper bound of $|E| v$. The power method brings $\alpha$ near the
    spectral radius of $|E|$, the least value there is (Collatz and Wielandt); any weights are as rigorous as any.

    Source: Collatz (1942); Horn and Johnson, Matrix Analysis, Corollary 8.1.29.
    """
    weights = np.ones(size)
    best, best_weights = math.inf, weights
    with np.errstate(all="ignore"):
        for _ in range(_SWEEPS):
            image = magnitude(weights)
            alpha = float(up(image / weights).max(initial=0.0))
            if not alpha < best * 0.99:
                break
            best, best_weights = alpha, weights
            if alpha <= _SMALL_ENOUGH:
                break  # even weights are worth more than a still smaller number
            weights = np.maximum(np.rint(image / image.max(initial=TINY) * _LARGEST_WEIGHT), _LEAST_WEIGHT)
    return arb(best), best_weights


def float_below(x: arb) -> float:
    """Return a float64 that is at most `x` and at least 0, close to the largest one; 0 if nothing is known.

    How the ball was converted to a float is not trusted: the float is compared with it.
    """
    below = math.nextafter(float(x.lower()), -math.inf)
    return below if below > 0.0 and arb(below) <= x else 0.0


def float_above(x: arb) -> float:
    """Return a float64 that is at least `x`, infinite if nothing is known; compared with the ball like
    `float_below`.
    """
    above = math.nextafter(float(x.upper()), math.inf)
    return above if arb(above) >= x else math.inf


def exponents(x: Floats) -> Int64Array:
    """Return the integers e with |x| < 2^e, smallest possible but at least -1000, so that 2^-e is a float; 0 for 0."""
    return np.maximum(np.frexp(x)[1], -1000).astype(np.int64)


def _flushed(inner: int) -> arb:
    """Return the largest underflow error of an inner product of `inner` terms, even if results are flushed to zero;
    Lemma M1.
    """
    return arb(4 * inner) * TINY
