"""Proofs that every matrix of a set is nonsingular, or that an exactly given one is singular.

Page: docs/rigour/linear_algebra.md
"""

from dataclasses import dataclass

import numpy as np
from flint import ctx
from numpy.typing import ArrayLike

from constructions.errors import InputError
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra import balls
from verify.linear_algebra.approximate_inverse import (
    exact_residual,
    float_residual,
    right_inverse,
    smallest_singular_value,
    unscaled,
)
from verify.linear_algebra.balancing import balanced
from verify.linear_algebra.given_matrix import GivenMatrix, given_matrix
from verify.linear_algebra.prime_field import Minor
from verify.linear_algebra.rank import kernel_or_minor
from verify.verdict import Verdict

LARGEST_EXACT_PRODUCT = 2048
SCALAR_BITS = 64


@dataclass(frozen=True, eq=False)
class NonsingularCertificate:
    """The proved properties of a set of square matrices.

    Args:
        verdict: PROVED: every matrix of the set is nonsingular. REFUTED: the one given matrix is singular.
        smallest_singular_value: If PROVED, a lower bound of the smallest singular value of every matrix of the set, in
            the unit of the entries; 0.0 if the deciding method gives none, infinite for the empty matrix.
        method: What decided: "empty", "float64", "exact product", "balls of ... bits", "prime field", "exact rational",
            or "none".
        kernel: If REFUTED, integers, not all zero, with `matrix @ kernel == 0` exactly.
        witness: If asked for and PROVED in float64 or by the exact product: an approximate inverse, `[n, n]`.
    """

    verdict: Verdict
    smallest_singular_value: float
    method: str
    kernel: tuple[int, ...] | None = None
    witness: Floats | None = None


def certify_nonsingular(
    midpoint: Enclosure | ArrayLike, radius: ArrayLike = 0.0, *, witness: bool = False
) -> NonsingularCertificate:
    r"""Prove that every matrix within `radius` of `midpoint`, entry by entry, is nonsingular.

    The rows and columns are first scaled by powers of two. Then, with an approximate inverse $W$ and
    $E = B W - I$, where $B$ is any matrix of the scaled set,

    $$ \|E\|_2 \le \|\mathrm{fl}(B_{mid} W - I)\|_F + (\gamma \|B_{mid}\|_F + \|\Delta\|_F) \|W\|_F < 1
       \quad\Rightarrow\quad B \text{ nonsingular},\ \sigma_{\min}(B) \ge \frac{1 - \|E\|_2}{\|W\|_F}; $$

    where that fails, a weighted maximum norm is tried. The methods, in turn, until one decides:

    1. "float64": one matrix product with an a-priori bound of its error.
    2. "exact product": the same $W$, the product in integers ($n \le 2048$).
    3. For an exactly given matrix, "prime field": a determinant that is not zero modulo a prime; or
       "exact rational": a kernel vector, found modulo a prime and checked in integers.
    4. "balls of ... bits": an enclosure of the inverse at rising precision ($n \le 512$). Where method 3 has proved
       nonsingularity this one supplies the bound of the smallest singular value.

    Why it is rigorous: no method trusts how $W$, a prime or a vector was found, and every rounding is bounded. Matrices
    that overflow somewhere give NaN or infinity, which satisfies no inequality.

    Args:
        midpoint: `[n, n]`: floats, integers of any size, `Fraction` or `flint.fmpq` in an object array, nested lists,
            or an `Enclosure`. Integers beyond $2^{53}$ and fractions are taken exactly.
        radius: Bound of the distance of each entry; broadcast to `[n, n]`.
        witness: Whether to return the approximate inverse.

    Returns:
        Verdict, bound and the method that decided. The 0 x 0 matrix is nonsingular.

    Raises:
        InputError: Not a square matrix of finite real numbers, or a radius that is negative, NaN or infinite.
        BlasError: The BLAS of this machine fails its probes.

    Source: Rump (2010), Verification methods, Section 10.

    Example:
        >>> proof = certify_nonsingular([[2.0, 1.0], [1.0, 1.0]], 0.125)
        >>> proof.verdict, proof.method, 0 < proof.smallest_singular_value < 0.382
        (<Verdict.PROVED: 'PROVED'>, 'float64', True)
        >>> certify_nonsingular([[2**60, 2**61], [1, 2]]).kernel
        (-2, 1)
        >>> certify_nonsingular([[2.0, 1.0], [1.0, 1.0]], 0.5).verdict
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """
    matrices = given_matrix(midpoint, radius, name="midpoint")
    if matrices.shape[0] != matrices.shape[1]:
        raise InputError("midpoint", f"has the shape {matrices.shape}", "a square matrix")
    if matrices.shape[0] == 0:
        return NonsingularCertificate(Verdict.PROVED, np.inf, "empty")
    blas.probe()
    with ctx.workprec(SCALAR_BITS):
        return _by_an_inverse(matrices, witness) or _exactly(matrices) or _by_balls(matrices)


def _by_an_inverse(given: GivenMatrix, witness: bool) -> NonsingularCertificate | None:
    scaled = balanced(given.enclosure)
    inverse = right_inverse(scaled.scaled.midpoint)
    if inverse is None:
        return None
    method, residual = "float64", float_residual(scaled.scaled, inverse)
    if not residual.proves_rank:
        if not residual.fails_by_rounding or given.shape[0] > LARGEST_EXACT_PRODUCT:
            return None
        method, exact = "exact product", exact_residual(scaled.scaled, inverse)
        if exact is None or not exact.proves_rank:
            return None
        residual = exact
    proved_inverse = unscaled(residual.w, scaled) if witness else None
    return NonsingularCertificate(
        Verdict.PROVED, smallest_singular_value(residual, scaled), method, witness=proved_inverse
    )


def _exactly(given: GivenMatrix) -> NonsingularCertificate | None:
    if not given.exact:
        return None
    decided = kernel_or_minor(given.integers)
    if decided is None:
        return None
    if not isinstance(decided, Minor):
        return NonsingularCertificate(Verdict.REFUTED, 0.0, "exact rational", kernel=decided)
    bound = balls.smallest_singular_value(given)
    if bound is None:
        return NonsingularCertificate(Verdict.PROVED, 0.0, "prime field")
    return NonsingularCertificate(Verdict.PROVED, bound[0], f"balls of {bound[1]} bits")


def _by_balls(given: GivenMatrix) -> NonsingularCertificate:
    bound = balls.smallest_singular_value(given)
    if bound is None:
        return NonsingularCertificate(Verdict.UNDECIDED, 0.0, "none")
    return NonsingularCertificate(Verdict.PROVED, bound[0], f"balls of {bound[1]} bits")
