"""Proofs that every matrix of a set has full row rank, fast enough for the features of thousands of contexts.

Page: docs/rigour/linear_algebra.md
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from constructions.numeric.arrays import Int32Array, Int64Array
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra import balls, gram
from verify.linear_algebra.approximate_inverse import (
    exact_residual,
    float_residual,
    right_inverse,
    smallest_singular_value,
)
from verify.linear_algebra.balancing import balanced
from verify.linear_algebra.given_matrix import GivenMatrix, given_matrix
from verify.linear_algebra.gram import GramWitness
from verify.linear_algebra.norms import float_below, radius_norm
from verify.linear_algebra.rank import kernel_or_minor
from verify.verdict import Verdict

_SCALAR_BITS = 64
_LARGEST_EXACT_PRODUCT = 2**33  # rows * rows * columns


@dataclass(frozen=True, eq=False)
class InverseWitness:
    r"""An approximate right inverse that proves full row rank by one integer product.

    With $B = \mathrm{diag}(2^r) A\, \mathrm{diag}(2^c)$, $X_{ij} = m_{ij} 2^{f_i}$ and $E = B X^T - I$, every matrix
    $A$ of a set with $\|E\|_F < 1$, or with $|E| v < v$ entry by entry, has full row rank. One of the two was proved:
    the first if all weights $v$ are 1, the second (the largest weighted row sum of absolute values is below 1) if not.

    Args:
        row_exponents: $r$, int32 `[T]`.
        column_exponents: $c$, int32 `[P]`.
        mantissas: $m$, int64 `[T, P]`, below $2^{53}$ in absolute value.
        mantissa_exponents: $f$, int32 `[T]`.
        weights: $v$, int64 `[T]`, from 1 to $2^{40}$.
    """

    row_exponents: Int32Array
    column_exponents: Int32Array
    mantissas: Int64Array
    mantissa_exponents: Int32Array
    weights: Int64Array

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, ready for a file."""
        return {
            "row_exponents": self.row_exponents,
            "column_exponents": self.column_exponents,
            "mantissas": self.mantissas,
            "mantissa_exponents": self.mantissa_exponents,
            "weights": self.weights,
        }


@dataclass(frozen=True, eq=False)
class RankCertificate:
    """The proved properties of the row rank of a set of matrices.

    Args:
        verdict: PROVED: every matrix of the set has rank equal to its number of rows. REFUTED: none has (there are more
            rows than columns, or the one given matrix has dependent rows).
        smallest_singular_value: If PROVED, a lower bound of the smallest singular value of every matrix of the set, in
            the unit of the entries; 0.0 if the deciding method gives none, infinite where there are no rows.
        method: What decided: "empty", "shape", "gram", "inverse", "exact product", "prime field",
            "exact rational", "balls of ... bits", or "none".
        witness: If asked for, and proved by "gram", "inverse" or "exact product": what another program needs to prove
            it again by integer products alone.
    """

    verdict: Verdict
    smallest_singular_value: float
    method: str
    witness: GramWitness | InverseWitness | None = None


def certify_full_row_rank(a: Enclosure | ArrayLike, *, witness: bool = False) -> RankCertificate:
    r"""Prove that every matrix of a set has full row rank.

    The rows are scaled by powers of two, $B = \mathrm{diag}(2^r) A$. Then the methods, in turn, until one decides:

    1. "gram": with $K = B B^T$ and a Cholesky factor $L$ of $K - cI$,
       $\sigma_{\min}(B)^2 \ge c - \|K - cI - LL^T\|_2$, and the radii $\Delta$ cost $\|\Delta\|_F$ (Weyl). This takes
       the time of about four solutions of a $T \times T$ system, and settles condition numbers up to about $10^5$.
    2. "inverse": with an approximate right inverse $W$, $\|BW - I\|_2 < 1$; up to about $10^{11}$.
    3. "exact product": the same $W$, the product in integers; up to about $10^{14}$. Small matrices only.
    4. For an exactly given matrix, "prime field" or "exact rational"; for small sets, "balls of ... bits".

    Why it is rigorous: $L$, $c$ and $W$ are not trusted, whatever they are, and every rounding is bounded.

    Args:
        a: `[T, P]`: an `Enclosure`, or an exactly given matrix as in `certify_nonsingular`.
        witness: Whether to return $L$ and $c$, or $W$, as integers. The proof is then carried out with those.

    Returns:
        Verdict, bound and method.

    Raises:
        InputError: Not a matrix of finite real numbers. An `Enclosure` may hold entries without information; then the
            verdict is UNDECIDED.
        BlasError: The BLAS of this machine fails its probes.

    Source: Weyl's inequality; Rump (2010), Verification methods, Section 10.

    Example:
        >>> proof = certify_full_row_rank(Enclosure([[1.0, 2.0, 0.0], [2.0, 1.0, 1.0]], 2.0**-20))
        >>> proof.verdict, proof.method, 1.0 < proof.smallest_singular_value < 1.2
        (<Verdict.PROVED: 'PROVED'>, 'gram', True)
    """
    matrices = given_matrix(a, name="a")
    size, width = matrices.shape
    if size == 0:
        return RankCertificate(Verdict.PROVED, np.inf, "empty")
    if size > width:
        return RankCertificate(Verdict.REFUTED, 0.0, "shape")
    blas.probe()
    with ctx.workprec(_SCALAR_BITS):
        return (
            prove_by_floats(matrices, witness=witness)
            or _exactly(matrices)
            or RankCertificate(Verdict.UNDECIDED, 0.0, "none")
        )


def prove_by_floats(given: GivenMatrix, *, witness: bool) -> RankCertificate | None:
    """Try the methods that start from a floating-point witness; return `None` if they prove nothing."""
    with ctx.workprec(_SCALAR_BITS):
        return _by_gram(given, witness) or _by_an_inverse(given, witness)


def _by_gram(given: GivenMatrix, witness: bool) -> RankCertificate | None:
    scaled = balanced(given.enclosure, columns=False)
    bound, gram_witness = gram.smallest_singular_value(scaled.scaled.midpoint, scaled.row_exponents, witness=witness)
    bound -= radius_norm(scaled.scaled)
    if not bound > 0:
        return None
    return RankCertificate(Verdict.PROVED, float_below(bound * arb(2) ** -scaled.growth), "gram", gram_witness)


def _by_an_inverse(given: GivenMatrix, witness: bool) -> RankCertificate | None:
    scaled = balanced(given.enclosure)
    inverse = right_inverse(scaled.scaled.midpoint)
    if inverse is None:
        return None
    mantissas, exponents = gram.quantized(inverse.T, 53)
    inverse = np.ldexp(mantissas.T, exponents)
    method, residual = "inverse", float_residual(scaled.scaled, inverse)
    if not residual.proves_rank:
        products = given.shape[0] ** 2 * given.shape[1]
        if not residual.fails_by_rounding or products > _LARGEST_EXACT_PRODUCT:
            return None
        method, exact = "exact product", exact_residual(scaled.scaled, inverse)
        if exact is None or not exact.proves_rank:
            return None
        residual = exact
    bound = smallest_singular_value(residual, scaled)
    rows, columns, shifts = (e.astype(np.int32) for e in (scaled.row_exponents, scaled.column_exponents, exponents))
    if not witness:
        return RankCertificate(Verdict.PROVED, bound, method)
    integers, weights = mantissas.astype(np.int64), residual.weights.astype(np.int64)
    return RankCertificate(Verdict.PROVED, bound, method, InverseWitness(rows, columns, integers, shifts, weights))


def _exactly(given: GivenMatrix) -> RankCertificate | None:
    """Try the exact methods, and balls, the only method for sets and for a bound."""
    decided = kernel_or_minor(given.integers.transpose()) if given.exact else None
    if isinstance(decided, tuple):
        return RankCertificate(Verdict.REFUTED, 0.0, "exact rational")
    full = decided is not None
    bound = balls.smallest_singular_value(given)
    if bound is not None:
        return RankCertificate(Verdict.PROVED, bound[0], f"balls of {bound[1]} bits")
    return RankCertificate(Verdict.PROVED, 0.0, "prime field") if full else None
