r"""Bound the eigenvalues of the Gram matrix $K = B B^T$ by a triangular factor, whoever computed it.

For any real matrix $L$, $L L^T$ is positive semidefinite. Hence, whatever $L$ and $c$ are (Weyl),

$$ \lambda_{\min}(K) \ge c - \| K - cI - L L^T \|_2, \qquad \lambda_{\max}(K) \le c + \| cI - K - L L^T \|_2. $$

A Cholesky factor makes the norms tiny; nothing about it is believed. The work is done in blocks of rows, on the lower
triangle alone.

Source: Weyl's inequality (Horn and Johnson, Matrix Analysis, Theorem 4.3.1); the use of an approximate Cholesky
factor follows Rump (2006), Verification of positive definiteness. Page: docs/rigour/linear_algebra.md
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from flint import arb
from numpy.typing import NDArray

from constructions.numeric.arrays import Int32Array, Int64Array
from constructions.numeric.cholesky import cholesky
from verify.arithmetic.rounding import UNIT, Floats
from verify.linear_algebra.norms import float_below, frobenius, product, product_error

_BLOCK = 512
_INVERSE_ITERATIONS = 10
_SHARE = 0.75  # of the estimated smallest eigenvalue, which is never too small
_SHIFTS = 4


@dataclass(frozen=True, eq=False)
class GramWitness:
    r"""A factor and a shift that prove full row rank by integer products.

    With $B = \mathrm{diag}(2^{r}) A$ and $L_{ij} = m_{ij} 2^{f_i}$ (zero above the diagonal), every matrix $A$ of a set
    with $\| B B^T - c I - L L^T \|_2 < c$ has full row rank, and

    $$ \sigma_{\min}(A)^2 \ge 4^{-\max r} \bigl( c - \| B B^T - c I - L L^T \|_2 \bigr). $$

    Any bound of the norm will do (the largest row sum of absolute values, or Frobenius); for a set with radii $\Delta$
    take the midpoint and subtract $\| \mathrm{diag}(2^r) \Delta \|_F$ from the square root. A checker needs no trust in
    any of these numbers.

    Args:
        row_exponents: $r$, int32 `[T]`.
        shift: $c > 0$, an exact dyadic number.
        mantissas: $m$, int32 or int64 `[T, T]`, lower triangular, below $2^{31}$ or $2^{53}$ in absolute value.
        mantissa_exponents: $f$, int32 `[T]`.
    """

    row_exponents: Int32Array
    shift: float
    mantissas: NDArray[np.signedinteger]
    mantissa_exponents: Int32Array

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, ready for a file."""
        return {
            "row_exponents": self.row_exponents,
            "shift": np.array(self.shift),
            "mantissas": self.mantissas,
            "mantissa_exponents": self.mantissa_exponents,
        }


@dataclass(frozen=True, eq=False)
class Gram:
    r"""The lower triangle of a computed Gram matrix, and how far it is from the exact $B B^T$.

    Args:
        lower: `[T, T]`; the blocks above the block diagonal are not used.
        error: Upper bound of $\| \mathrm{computed} - B B^T \|_2$.
        block: Rows and columns of a block.
    """

    lower: Floats
    error: arb
    block: int


def gram(b: Floats) -> Gram:
    r"""Return $B B^T$ by blocks. No second product bounds its error, since $\| |B| |B|^T \|_F \le \|B\|_F^2$;
    Lemma M11.
    """
    size, inner = b.shape
    block = _BLOCK
    lower = np.empty((size, size))
    for top in range(0, size, block):
        rows = b[top : top + block]
        for left in range(0, top + 1, block):
            lower[top : top + block, left : left + block] = product(rows, b[left : left + block].T)
    return Gram(lower, product_error(frobenius(b) ** 2, (size, size), inner), block)


def distance(k: Gram, shift: float, factor: Floats, *, sign: int = 1) -> arb:
    r"""Return an upper bound of $\| s (B B^T - c I) - L L^T \|_2$ for $s = \pm 1$ and any block-lower $L$; Lemma M11.

    Args:
        k: The computed Gram matrix.
        shift: $c$.
        factor: $L$, `[T, T]`, any entries; those above the blocks on the diagonal count as zeros.
        sign: $s$.

    Returns:
        The bound, as a ball; NaN or infinite if anything overflowed.
    """
    size, block_rows = len(factor), k.block
    squares = arb(0)
    with np.errstate(all="ignore"):
        for top in range(0, size, block_rows):
            rows = slice(top, min(top + block_rows, size))
            for left in range(0, top + 1, block_rows):
                end = min(left + block_rows, size)
                block = sign * k.lower[rows, left:end]
                if left == top:
                    block.flat[:: end - left + 1] -= sign * shift
                block -= product(factor[rows, :end], factor[left:end, :end].T)
                norm = frobenius(block)
                squares += norm * norm * (1 if left == top else 2)
    norms = frobenius(factor) ** 2
    # On the diagonal K - cI is rounded too, by at most u times what is left plus the entry of L L^T.
    rounding = squares.sqrt() * (1 + 4 * arb(UNIT)) + 2 * arb(UNIT) * norms
    return rounding + k.error + product_error(norms, (size, size), size)


def factor(k: Gram, shift: float, *, sign: int = 1) -> Floats | None:
    """Return the Cholesky factor of the computed `sign * (K - shift I)`, or `None`; untrusted."""
    work = k.lower.copy() if sign == 1 else -k.lower
    work.flat[:: len(work) + 1] -= sign * shift
    try:
        return cholesky(work)
    except np.linalg.LinAlgError:
        return None


def smallest_eigenvalue_estimate(k: Gram) -> float:
    """Return an estimate of the smallest eigenvalue by inverse iteration, 0 if the matrix seems singular; untrusted."""
    root = factor(k, 0.0)
    if root is None:
        return 0.0
    x = np.random.default_rng(0).standard_normal(len(root))
    estimate = np.inf
    with np.errstate(all="ignore"):
        for _ in range(_INVERSE_ITERATIONS):
            x /= np.linalg.norm(x)
            x = scipy.linalg.cho_solve((root.T, False), x, check_finite=False)
            estimate = min(estimate, 1.0 / float(np.linalg.norm(x)))
    return estimate


def quantized(root: Floats, bits: int) -> tuple[Floats, Int64Array]:
    """Return integers below 2^bits, as floats, and an exponent per row that together approximate `root`."""
    with np.errstate(all="ignore"):
        exponents = np.frexp(np.maximum(root.max(axis=1), -root.min(axis=1)))[1].astype(np.int64) - bits
        mantissas = np.ldexp(root, -exponents[:, None])
        np.rint(mantissas, out=mantissas)
        return np.clip(mantissas, 1.0 - 2.0**bits, 2.0**bits - 1.0, out=mantissas), exponents


def smallest_singular_value(b: Floats, row_exponents: Int64Array, *, witness: bool) -> tuple[arb, GramWitness | None]:
    r"""Return a lower bound of $\sigma_{\min}(B)$, positive only if proved, and the witness that proves it; Lemma M12.

    Args:
        b: $B$, `[T, P]`, exact.
        row_exponents: How its rows were scaled; recorded in the witness.
        witness: Whether to round the factor to integers, and prove with those.

    Returns:
        The bound (NaN or not positive if nothing was proved) and the witness, if asked for and found.
    """
    k = gram(b)
    shift = _SHARE * smallest_eigenvalue_estimate(k)
    for _ in range(_SHIFTS):
        if not float_below(k.error) < shift < np.inf:  # the error of the product alone defeats such a shift
            break
        root = factor(k, shift)
        if root is None:
            shift *= 0.5
        elif witness:
            return _proved_with_integers(k, shift, root, row_exponents)
        else:
            return (shift - distance(k, shift, root)).sqrt(), None
    return arb(0), None


def _proved_with_integers(k: Gram, shift: float, root: Floats, row_exponents: Int64Array) -> tuple[arb, GramWitness]:
    """Return the bound proved by a factor of 31 bits, or by one of 53 bits if the former is much weaker."""
    for bits, kind in ((31, np.int32), (53, np.int64)):
        mantissas, exponents = quantized(root, bits)
        with np.errstate(invalid="ignore"):
            kept = mantissas.astype(kind)
        bound = shift - distance(k, shift, np.ldexp(mantissas, exponents[:, None], out=mantissas))
        if bound > 0.25 * shift:
            break
    return bound.sqrt(), GramWitness(row_exponents.astype(np.int32), shift, kept, exponents.astype(np.int32))
