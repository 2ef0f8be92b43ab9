"""Nonsingularity and smallest singular values by ball arithmetic of rising precision (Arb)."""

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from verify.arithmetic.rounding import Floats
from verify.linear_algebra.given_matrix import GivenMatrix
from verify.linear_algebra.norms import float_below, frobenius

LARGEST = 512
PRECISIONS = (128, 256, 512, 1024)


def smallest_singular_value(given: GivenMatrix) -> tuple[float, int] | None:
    r"""Return a lower bound of $\sigma_{\min}$ over a set of matrices with full row rank, and the bits that it needed;
    Lemma M13.

    With an approximate basis $Q$ of the row space (the identity for a square matrix), every $C = A Q$ is enclosed and
    its inverse too, after preconditioning; then $A$ has full row rank and
    $\sigma_{\min}(A) \ge 1 / (\|C^{-1}\|_F \|Q\|_F)$.

    Args:
        given: The set, `[T, P]` with `T <= P`.

    Returns:
        The bound and the precision, or `None` if the rank is not proved at any precision, or the matrix is larger than
        balls can afford. The bound may be 0 where float64 cannot hold it; the rank is proved all the same.
    """
    size, width = given.shape
    if max(size, width) > LARGEST:
        return None
    basis = None if size == width else _row_space(given.enclosure.midpoint)
    for bits in PRECISIONS if given.exact else PRECISIONS[:2]:
        with ctx.workprec(bits):
            matrix, norm = matrix_of_balls(given), arb(1)
            if basis is not None:
                matrix, norm = matrix * arb_mat(basis.tolist()), frobenius(basis)
            identity = arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
            try:
                inverse = matrix.solve(identity, algorithm="precond")
            except ZeroDivisionError:
                continue
            squares = arb(0)
            for entry in inverse.entries():
                squares += entry * entry  # a power of a ball that holds 0 is NaN
            if squares.is_finite():
                return float_below(1 / (squares.sqrt() * norm)), bits
    return None


def matrix_of_balls(given: GivenMatrix) -> arb_mat:
    """Return the set as a matrix of balls; fractions are rounded to balls of the working precision."""
    if given.exact and given.entries is not None:
        entries = [arb(fmpq(x.numerator, x.denominator)) for row in given.fractions for x in row]
    else:
        radius = np.broadcast_to(given.enclosure.radius, given.shape)
        pairs = zip(given.enclosure.midpoint.ravel().tolist(), radius.ravel().tolist(), strict=True)
        entries = [arb(middle, distance) for middle, distance in pairs]
    return arb_mat(*given.shape, entries)


def _row_space(midpoint: Floats) -> Floats:
    """Return an approximately orthonormal basis of the row space, `[P, T]`; untrusted."""
    with np.errstate(all="ignore"):
        return np.linalg.qr(midpoint.T)[0]
