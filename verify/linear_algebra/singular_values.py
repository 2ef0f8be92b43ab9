"""Enclosures of singular values and spectral norms.

Page: docs/rigour/linear_algebra.md
"""

import numpy as np
import scipy.linalg
from flint import arb, ctx
from numpy.typing import ArrayLike

from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import TINY, UNIT, Floats, up
from verify.linear_algebra import gram
from verify.linear_algebra.given_matrix import given_matrix
from verify.linear_algebra.norms import (
    exponents,
    float_above,
    float_below,
    frobenius,
    frobenius_below,
    product,
    product_error,
    radius_norm,
)

_SCALAR_BITS = 64
_SHIFTS = (2.0**-40, 2.0**-32, 2.0**-24, 2.0**-16, 2.0**-8, 1.0)


def enclose_singular_values(a: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose all singular values of every matrix of a set, largest first, in the unit of the entries.

    With a singular value decomposition $U S V^T$ of the midpoint from LAPACK,
    $e = \|A - U S V^T\|_2$, $\alpha = \|U^T U - I\|_2$ and $\beta = \|V^T V - I\|_2$,

    $$ \sqrt{(1 - \alpha)(1 - \beta)}\, s_i - e \le \sigma_i(A) \le \sqrt{(1 + \alpha)(1 + \beta)}\, s_i + e. $$

    Why it is rigorous: the decomposition is not trusted; the three norms are bounded from products with bounded errors.

    Args:
        a: `[m, n]`: an `Enclosure`, or an exactly given matrix as in `certify_nonsingular`.

    Returns:
        `[min(m, n)]`; with infinite radii where nothing could be proved.

    Raises:
        InputError: Not a matrix of finite real numbers.
        BlasError: The BLAS of this machine fails its probes.

    Source: Ostrowski (1959) for the products, Weyl's inequality for the sum; Rump (2011), Verified bounds for singular
    values.

    Example:
        >>> values = enclose_singular_values([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
        >>> bool((values.lower() <= [4, 3]).all() and (values.upper() >= [4, 3]).all() and values.radius.max() < 1e-13)
        True
    """
    matrices = given_matrix(a, name="a")
    count = min(matrices.shape)
    if count == 0:
        return Enclosure(np.zeros(0))
    blas.probe()
    unknown = Enclosure(np.zeros(count), np.full(count, np.inf))
    scaled, exponent = _scaled(matrices.enclosure)
    with ctx.workprec(_SCALAR_BITS), np.errstate(all="ignore"):
        try:
            left, values, right = np.linalg.svd(scaled.midpoint, full_matrices=False)
        except np.linalg.LinAlgError:
            return unknown
        values = np.sort(np.abs(values))[::-1]
        alpha, beta = _departure(left.T), _departure(right)
        distance = _distance(scaled, left, values, right)
        shrink, grow = ((1 - alpha) * (1 - beta)).sqrt(), ((1 + alpha) * (1 + beta)).sqrt()
        if not (alpha < 1 and beta < 1 and distance.is_finite()):
            return unknown
        unit = arb(2) ** exponent
        lower = [float_below(unit * (shrink * arb(s) - distance)) for s in values.tolist()]
        upper = [float_above(unit * (grow * arb(s) + distance)) for s in values.tolist()]
    return Enclosure.between(lower, upper)


def enclose_spectral_norm(a: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose the largest singular value of every matrix of a set, in the unit of the entries; a scalar.

    From above, for any $c$ and any $L$: $\|A\|_2^2 \le c + \|cI - A A^T - L L^T\|_2$, with a Cholesky factor for $L$;
    from below, $\|A^T x\|_2 / \|x\|_2$ for an approximate singular vector $x$. Cheaper than all singular values.

    Why it is rigorous: $L L^T$ is positive semidefinite whatever $L$ is, and every rounding is bounded.

    Args:
        a: `[m, n]`: an `Enclosure`, or an exactly given matrix as in `certify_nonsingular`.

    Returns:
        A scalar; of infinite radius where nothing could be proved. 0 for a matrix without entries.

    Raises:
        InputError: Not a matrix of finite real numbers.
        BlasError: The BLAS of this machine fails its probes.

    Source: Weyl's inequality.

    Example:
        >>> norm = enclose_spectral_norm([[3.0, 4.0]])
        >>> bool(norm.lower() <= 5 <= norm.upper() and norm.radius < 1e-9)
        True
    """
    matrices = given_matrix(a, name="a")
    if matrices.enclosure.size == 0:
        return Enclosure(0.0)
    blas.probe()
    scaled, exponent = _scaled(matrices.enclosure)
    midpoint = np.ascontiguousarray(scaled.midpoint if matrices.shape[0] <= matrices.shape[1] else scaled.midpoint.T)
    with ctx.workprec(_SCALAR_BITS), np.errstate(all="ignore"):
        radius, unit = radius_norm(scaled), arb(2) ** exponent
        if len(midpoint) == 1:  # the Euclidean norm of a vector
            lower, upper = frobenius_below(midpoint) - radius, frobenius(midpoint) + radius
            return Enclosure.between(float_below(unit * lower), float_above(unit * upper))
        k = gram.gram(midpoint)
        square, vector = _largest_eigenpair(k)
        row = vector[None, :]
        image = product(row, midpoint)
        error = product_error(frobenius(row) * frobenius(midpoint), image.shape, len(vector))
        lower = (frobenius_below(image) - error) / frobenius(vector) - radius
        upper = frobenius(midpoint)
        for shift in _SHIFTS:
            root = gram.factor(k, square * (1.0 + shift), sign=-1)
            if root is not None:
                bound = (arb(square * (1.0 + shift)) + gram.distance(k, square * (1.0 + shift), root, sign=-1)).sqrt()
                upper = bound if bound < upper else upper
                break
        return Enclosure.between(float_below(unit * lower), float_above(unit * (upper + radius)))


def _scaled(a: Enclosure) -> tuple[Enclosure, int]:
    """Return the set times a power of two that brings the largest midpoint to [1/2, 1), and an exponent that bounds the
    loss.
    """
    exponent = int(exponents(np.abs(a.midpoint).max()))
    with np.errstate(all="ignore"):
        # A product that underflows is off by less than 2^-1074.
        radius = up(np.ldexp(a.radius, -exponent) + 2.0**-1073)
        return Enclosure(np.ldexp(a.midpoint, -exponent), radius), exponent


def _departure(rows: Floats) -> arb:
    r"""Return an upper bound of $\|X X^T - I\|_2$; Lemma M16."""
    computed = product(rows, rows.T)
    computed.flat[:: len(rows) + 1] -= 1.0
    error = product_error(frobenius(rows) ** 2, computed.shape, rows.shape[1])
    return frobenius(computed) * (1 + arb(UNIT)) + error


def _distance(a: Enclosure, left: Floats, values: Floats, right: Floats) -> arb:
    r"""Return an upper bound of $\|A - U S V^T\|_2$ over the set; Lemma M16."""
    weighted = left * values
    computed = a.midpoint - product(weighted, right)
    norms = frobenius(weighted) * frobenius(right)
    # Weighting rounds each entry once.
    rounding = arb(UNIT) * norms + arb(weighted.size).sqrt() * TINY * frobenius(right)
    error = product_error(norms, computed.shape, len(right))
    return frobenius(computed) * (1 + arb(UNIT)) + error + rounding + radius_norm(a)


def _largest_eigenpair(k: gram.Gram) -> tuple[float, Floats]:
    """Return the largest eigenvalue and its eigenvector of a computed Gram matrix; untrusted."""
    last = len(k.lower) - 1
    try:
        values, vectors = scipy.linalg.eigh(k.lower, lower=True, subset_by_index=(last, last), check_finite=False)
        if not len(values):  # LAPACK may miss the one that is asked for where the matrix falls into blocks
            values, vectors = scipy.linalg.eigh(k.lower, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return np.nan, np.ones(last + 1)
    return float(values[-1]), vectors[:, -1]
