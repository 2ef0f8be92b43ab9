"""Margins of integer unembeddings: the record, and the certificate that reads every inner product.

Pages: docs/claims/unembeddings.md, docs/rigour/arithmetic.md
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array, IntegerArray
from constructions.numeric.products import multiply
from verify.arithmetic.blas import probe
from verify.verdict import Verdict

_BLOCK = 2048  # rows of a block of the Gram matrix
_EXACT = 2**52  # integers up to here, and differences of two of them, are exact in float64


@dataclass(frozen=True)
class Margins:
    r"""Certified bounds of the leads $\langle w_g - w_j, e_g \rangle$, $g \ne j$, of integer vectors and encoders.

    Args:
        rows: N, the number of vectors.
        least: Lower bound of all leads.
        largest: Upper bound of all leads.
        least_product: Lower bound of all $\langle w_j, e_g \rangle$, $g \ne j$.
        largest_product: Upper bound of them.
        coherence_squared: Upper bound of $\cos^2$ of the angle between two different vectors; `None` where a vector
            is zero, or where the encoders are not the vectors.
        attained: Whether `least` and `largest` are leads that occur, so that they are the exact minimum and maximum.
        method: How they were certified.
    """

    rows: int
    least: int
    largest: int
    least_product: int
    largest_product: int
    coherence_squared: Fraction | None
    attained: bool
    method: str

    @property
    def kappa(self) -> Fraction | None:
        r"""Upper bound of $\kappa$, the largest lead over the least; `None` unless all leads are certified positive."""
        return Fraction(self.largest, self.least) if self.least > 0 else None

    def verdict(self, kappa: Fraction) -> Verdict:
        """PROVED if all margins are positive and none exceeds `kappa` times another.

        Example:
            >>> found = gram_margins(np.array([[1, 1], [1, -1], [1, 0]]))
            >>> found.least, found.largest, found.verdict(Fraction(2)).value
            (0, 2, 'REFUTED')
        """
        if self.least > 0 and self.largest <= kappa * self.least:
            return Verdict.PROVED
        return Verdict.REFUTED if self.attained else Verdict.UNDECIDED


def gram_margins(vectors: IntegerArray, encoders: IntegerArray | None = None) -> Margins:
    r"""Return the exact least and largest lead of any integer vectors, from all $N^2$ inner products.

    The products are formed in float64, block by block; all partial sums are integers below $2^{52}$, which float64
    holds exactly, in whatever order they are added (the BLAS is probed first). It takes $N^2 d$ multiplications, half
    of it where the encoders are the vectors, and memory for a few blocks of 2048 rows.

    Args:
        vectors: $w_j$ as the rows, `[N, d]`, N >= 2.
        encoders: $e_g$ as the rows, `[N, d]`; by default the vectors.

    Returns:
        The extremes, attained. The squared coherence is exact if all norms are equal, otherwise rounded up by less than
        one part in $2^{49}$.

    Raises:
        InputError: Not two integer matrices of one shape with N >= 2, or entries too large to be multiplied exactly.
        BlasError: The BLAS fails its probe.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1.

    Example:
        >>> found = gram_margins(np.array([[1, 1], [1, -1], [-1, 1]]))
        >>> found.least, found.largest, found.coherence_squared
        (2, 4, Fraction(1, 1))
    """
    symmetric = encoders is None or encoders is vectors
    e = vectors if encoders is None else encoders
    require_exact(vectors, e)
    probe()
    count = len(vectors)
    own = np.concatenate([(_float(vectors, start) * _float(e, start)).sum(axis=1) for start in range(0, count, _BLOCK)])
    extremes, equal_norms = _Extremes(), symmetric and bool((own == own[0]).all())
    starts = range(0, count, _BLOCK)
    blocks = [(i, j) for i in starts for j in starts if j >= i or not symmetric]
    cosine = 0.0
    for i, j in blocks:
        product = multiply(_float(e, i), _float(vectors, j).T)
        highest = lowest = product
        if i == j:
            highest = product.copy()
            np.fill_diagonal(highest, -np.inf)
            np.fill_diagonal(lowest, np.inf)
        extremes = extremes.with_rows(own[i : i + _BLOCK], lowest.min(axis=1), highest.max(axis=1))
        if symmetric and i != j:
            extremes = extremes.with_rows(own[j : j + _BLOCK], lowest.min(axis=0), highest.max(axis=0))
        if symmetric and not equal_norms and own.all():
            if i == j:
                np.fill_diagonal(product, 0.0)
            squares = product * product / (own[i : i + _BLOCK, None] * own[None, j : j + _BLOCK])
            cosine = max(cosine, float(squares.max()))
    lo, hi = int(extremes.least_product), int(extremes.largest_product)
    coherence_squared = None
    if symmetric and own.all():
        # Three roundings of 2^-53 each.
        rounded_up = Fraction(cosine) * (1 + Fraction(1, 2**50))
        coherence_squared = Fraction(max(lo * lo, hi * hi), int(own[0]) ** 2) if equal_norms else rounded_up
    least, largest = int(extremes.least), int(extremes.largest)
    return Margins(count, least, largest, lo, hi, coherence_squared, True, "all inner products, in integers")


@dataclass(frozen=True)
class _Extremes:
    """The extreme margins and products so far; all are integers in float64."""

    least: float = np.inf
    largest: float = -np.inf
    least_product: float = np.inf
    largest_product: float = -np.inf

    def with_rows(self, own: Float64Array, lowest: Float64Array, highest: Float64Array) -> "_Extremes":
        """Include tokens with given products with themselves, and least and largest products with another token."""
        return _Extremes(
            min(self.least, float((own - highest).min())),
            max(self.largest, float((own - lowest).max())),
            min(self.least_product, float(lowest.min())),
            max(self.largest_product, float(highest.max())),
        )


def require_exact(vectors: IntegerArray, encoders: IntegerArray) -> None:
    """Refuse anything but two integer matrices `[N, d]`, N >= 2, with all sums of products below 2^52."""
    for name, array in (("vectors", vectors), ("encoders", encoders)):
        if array.ndim != 2 or len(array) < 2 or array.shape[1] < 1 or not np.issubdtype(array.dtype, np.integer):
            raise InputError(
                name, f"are {array.dtype} {list(array.shape)}", "an integer matrix [N, d] with N >= 2, d >= 1"
            )
    if vectors.shape != encoders.shape:
        raise InputError("encoders", f"are {list(encoders.shape)}", f"the shape of vectors, {list(vectors.shape)}")
    # Python integers: the absolute value of the least int8 is none.
    sizes = [max(int(array.max()), -int(array.min())) for array in (vectors, encoders)]
    if max(sizes[0], 1) * max(sizes[1], 1) * vectors.shape[1] >= _EXACT:
        raise InputError("entries", f"reach {max(sizes)} with d = {vectors.shape[1]}", "inner products below 2^52")


def _float(array: IntegerArray, start: int) -> Float64Array:
    return array[start : start + _BLOCK].astype(np.float64)
