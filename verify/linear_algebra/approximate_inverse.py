r"""Prove nonsingularity by an approximate inverse, whoever computed it.

Let $B$ range over a set of $T \times P$ matrices and let $W$ be any $P \times T$ matrix. If every $E = BW - I$ is small
enough that $I + E$ is nonsingular, every $B$ has rank $T$, and $\sigma_{\min}(B) \ge \sigma_{\min}(I + E) / \|W\|_2$.
So the proof is one product and a bound of its error; how $W$ came about is of no concern.

Source: Rump (2010), Verification methods: Rigorous results using floating-point arithmetic, Section 10.
Page: docs/rigour/linear_algebra.md
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from flint import arb

from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.fixed_point import LIMB, fixed_point, integer_matrix
from verify.arithmetic.rounding import TINY, UNIT, Floats, up
from verify.linear_algebra.balancing import Balanced
from verify.linear_algebra.norms import (
    contraction,
    float_below,
    frobenius,
    product,
    product_error,
    radius_norm,
    roundings,
    times_positive,
)

_LIMBS = 2  # 96 fractional bits of the balanced midpoints in the exact product


@dataclass(frozen=True, eq=False)
class Residual:
    r"""Bounds of the distance of $B W$ from the identity, for every $B$ of a set.

    $$ |B W - I| \le (1 + u) |C| + (\gamma |B_{mid}| + \Delta) |W| + \text{underflow} $$

    Args:
        b: The set, midpoint and radius $\Delta$, `[T, P]`.
        w: The approximate right inverse $W$, `[P, T]`.
        computed: $C$, the product minus the identity as it was computed, `[T, T]`.
        exact: Whether the product is exact and only rounded at the end ($\gamma = 0$; Lemma M8) or float64 (Lemma M6).
    """

    b: Enclosure
    w: Floats
    computed: Floats
    exact: bool

    @property
    def _factor(self) -> float:
        return 0.0 if self.exact else roundings(self.b.shape[1])

    @cached_property
    def w_norm(self) -> arb:
        r"""Upper bound of $\|W\|_F$, hence of $\|W\|_2$."""
        return frobenius(self.w)

    @cached_property
    def computed_norm(self) -> arb:
        r"""Upper bound of $(1 + u) \|C\|_F$."""
        return frobenius(self.computed) * (1 + arb(UNIT))

    @cached_property
    def norm(self) -> arb:
        r"""Upper bound of $\|B W - I\|_2$ over the set; Lemma M6, Lemma M8."""
        size, inner = self.b.shape
        spread = radius_norm(self.b) * self.w_norm
        if self.exact:
            return self.computed_norm + spread
        product_norms = frobenius(self.b.midpoint) * self.w_norm
        return self.computed_norm + spread + product_error(product_norms, (size, size), inner)

    def applied(self, v: Floats) -> Floats:
        r"""Return an upper bound of $|B W - I| v$ over the set, for $v \ge 0$; Lemma M7."""
        inner = self.b.shape[1]
        images = times_positive(np.abs(self.w), v)
        with np.errstate(all="ignore"):
            weights = np.abs(self.b.midpoint) * self._factor
            weights += self.b.radius
            total = times_positive(np.abs(self.computed), v) + times_positive(weights, images)
            return total + inner * 2.0**-1010 * (1.0 + v.sum() + images.sum())

    @cached_property
    def contraction(self) -> tuple[arb, Floats]:
        r"""$\alpha$ and weights $v > 0$ with $|B W - I| v \le \alpha v$ over the set; Lemma M4."""
        return contraction(self.applied, len(self.computed))

    @cached_property
    def weights(self) -> Floats:
        """Weights of the proof: all 1 if the spectral norm is enough, otherwise those of Lemma M4."""
        return np.ones(len(self.computed)) if self.norm < 1 else self.contraction[1]

    @cached_property
    def smallest_singular_value(self) -> arb:
        r"""Lower bound of $\sigma_{\min}(B)$ over the set, a proof only if it is positive; Lemma M9."""
        nearly_one = 1 - self.norm
        if not nearly_one > 0:
            alpha, weights = self.contraction
            imbalance = arb(float(weights.max())) / float(weights.min()) * arb(len(weights)).sqrt()
            nearly_one = (1 - alpha) / imbalance
        return nearly_one / self.w_norm

    @property
    def fails_by_rounding(self) -> bool:
        """Whether the bound would be below 1 if the product had been exact."""
        return bool(self.computed_norm + radius_norm(self.b) * self.w_norm < 1)

    @property
    def proves_rank(self) -> bool:
        """Whether every matrix of the set is proved to have rank `T`."""
        return bool(self.smallest_singular_value > 0)


def smallest_singular_value(residual: Residual, scaled: Balanced) -> float:
    r"""Return a lower bound of $\sigma_{\min}(A)$ over the set that was scaled to the $B$ of `residual`; Lemma M5,
    Lemma M10.
    """
    balanced_bound = residual.smallest_singular_value * arb(2) ** -scaled.growth
    if not (np.ptp(scaled.row_exponents) or np.ptp(scaled.column_exponents)):
        return float_below(balanced_bound)  # the other bound would be the same
    skewed = residual.norm * arb(2) ** int(np.ptp(scaled.row_exponents))
    inverse = unscaled(residual.w, scaled)
    w_norm = frobenius(inverse) + arb(inverse.size).sqrt() * TINY  # an entry may have underflowed
    return max(float_below(balanced_bound), float_below((1 - skewed) / w_norm))


def unscaled(w: Floats, scaled: Balanced) -> Floats:
    """Return the right inverse of the given matrix that corresponds to the right inverse `w` of the scaled one."""
    with np.errstate(all="ignore"):
        return np.ldexp(w, scaled.column_exponents[:, None] + scaled.row_exponents)


def float_residual(b: Enclosure, w: Floats) -> Residual:
    """Bound $C$ by one float64 matrix product; Lemma M6."""
    computed = product(b.midpoint, w)
    computed.flat[:: len(computed) + 1] -= 1.0
    return Residual(b, w, computed, exact=False)


def exact_residual(b: Enclosure, w: Floats) -> Residual | None:
    """Bound $C$ by an exact integer product of the same witness, or return `None` if its entries are out of range;
    Lemma M8.

    The midpoints are rounded to 96 fractional bits and the columns of $W$ to 53 bits each; what the midpoints lose is
    added to their radius, and $W$ is what it was rounded to, a witness like any other.
    """
    with np.errstate(all="ignore"):
        largest = np.abs(w).max(axis=0, initial=0.0)
        exponents = np.frexp(largest)[1].astype(np.int64)
        if not (np.isfinite(largest).all() and (np.abs(exponents) <= 100).all() and np.abs(b.midpoint).max() <= 2.0):
            return None
        mantissas = np.rint(np.ldexp(w, 53 - exponents))
        rounded = Enclosure(b.midpoint, up(b.radius + 2.0 ** (-_LIMBS * LIMB - 1)))
    integers, bits, _ = fixed_point(b.midpoint, _LIMBS)
    rows = [list(map(int, row)) for row in (integers * integer_matrix(mantissas)).tolist()]
    shifts = (bits + 53 - exponents).tolist()
    computed = np.empty((len(rows), len(rows)))
    for i, row in enumerate(rows):
        row[i] -= 1 << shifts[i]
        computed[i] = row
    return Residual(rounded, np.ldexp(mantissas, exponents - 53), np.ldexp(computed, np.negative(shifts)), exact=True)


def right_inverse(b: Floats) -> Floats | None:
    r"""Return an approximate right inverse of `b`, `[T, P]` with $T \le P$, or `None` where LAPACK finds none;
    untrusted.
    """
    size, width = b.shape
    with np.errstate(all="ignore"):
        if size == width:
            # A C-ordered B is to LAPACK B^T; the inverse of that, read again in C order, is the inverse of B.
            copy = np.array(b.T, order="F")
            getrf, getri, getri_lwork = scipy.linalg.get_lapack_funcs(("getrf", "getri", "getri_lwork"), (copy,))
            factors, pivots, singular = getrf(copy, overwrite_a=True)
            if singular:
                return None
            inverse, singular = getri(factors, pivots, lwork=int(getri_lwork(size)[0]), overwrite_lu=True)
            return None if singular else np.ascontiguousarray(inverse.T)
        try:
            basis, triangle = np.linalg.qr(b.T)
            solved = scipy.linalg.solve_triangular(triangle, basis.T, check_finite=False)
            return np.ascontiguousarray(solved.T)
        except scipy.linalg.LinAlgError:
            return None
