"""Build integer unembeddings with exactly known margins, and bounds that no unembedding exceeds.

Page: docs/claims/unembeddings.md
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from constructions.errors import InputError, require_at_least
from constructions.numeric.arrays import Float64Array, Int8Array

_BITS = 128  # of a square root that is not rational


@dataclass(frozen=True, eq=False)
class Unembedding:
    r"""A vector per token and an encoder per token that favours it, in small integers, with promised margins.

    With $w_j$ the vector of token j and $e_g$ the encoder of token g, $\langle w_g - w_j, e_g \rangle$ is the lead of
    g over j. All leads lie between `least` and `largest`, exactly: they are integers. For unit vectors of coherence
    $\mu$ and $e_g = w_g$ they lie between $1 - \mu$ and $1 + \mu$.

    Args:
        family: The name of the family, with its parameters.
        vectors: $w_j$ as the rows, `[N, d]`, read-only.
        encoders: $e_g$ as the rows, `[N, d]`, read-only; the same array as `vectors` for every family but the simplex.
        least: Lower bound of all leads, above 0.
        largest: Upper bound of all leads.
        coherence: Upper bound $\mu$ of $\lvert \langle u_i, u_j \rangle \rvert$, $i \ne j$, for the unit vectors
            $u_j$ of the family: $w_j / \lVert w_j \rVert$, and for the simplex those of a regular simplex around 0.

    Raises:
        InputError: Arrays that do not fit, or bounds in the wrong order.
    """

    family: str
    vectors: Int8Array
    encoders: Int8Array
    least: int
    largest: int
    coherence: Fraction

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.vectors.shape != self.encoders.shape:
            raise InputError(
                f"vectors {list(self.vectors.shape)} and encoders {list(self.encoders.shape)}",
                "differ",
                "two arrays [N, d]",
            )
        if not 0 < self.least <= self.largest:
            raise InputError("least", f"= {self.least}, largest = {self.largest}", "0 < least <= largest")
        for array in (self.vectors, self.encoders):
            array.setflags(write=False)

    @property
    def kappa(self) -> Fraction:
        r"""$\kappa$ = `largest` / `least`, which the bounds of Theorem 2 depend on."""
        return Fraction(self.largest, self.least)

    def matrix(self) -> Float64Array:
        """Return the vectors as the tensor `W_U`, `[d, N]`, exact in float64: $8 d N$ bytes."""
        return self.vectors.T.astype(np.float64)

    def unit_matrix(self) -> Float64Array:
        r"""Return the vectors divided by their norms, as the columns of `[d, N]`; a zero vector stays zero.

        Exact where the squared norm is a power of 4 (Kerdock-type families with d a power of 4), otherwise each entry
        is within 2 ulp: the margins are those of `matrix`, and $\kappa$ holds for this matrix up to that rounding
        only.
        """
        norms = np.sqrt((self.vectors.astype(np.int64) ** 2).sum(axis=1))
        return self.vectors.T / np.where(norms > 0, norms, 1.0)


def kappa_of_coherence(coherence: Fraction) -> Fraction | None:
    r"""Return $(1 + \mu) / (1 - \mu)$, or `None` (no promise) for $\mu \ge 1$.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 2, with the constant of unit vectors.

    Example:
        >>> kappa_of_coherence(Fraction(1, 8)), kappa_of_coherence(Fraction(3, 2))
        (Fraction(9, 7), None)
    """
    return (1 + coherence) / (1 - coherence) if coherence < 1 else None


def root_above(square: Fraction) -> Fraction:
    r"""Return $\sqrt{x}$ for a rational $x \ge 0$: exact if it is rational, otherwise rounded up by less than
    $2^{-128}$.

    Example:
        >>> root_above(Fraction(9, 4)), float(root_above(Fraction(2)))
        (Fraction(3, 2), 1.4142135623730951)
    """
    exact = _rational_root(square)
    return exact if exact is not None else Fraction(_floor_of_root(square) + 1, 1 << _BITS)


def root_below(square: Fraction) -> Fraction:
    r"""Return $\sqrt{x}$ for a rational $x \ge 0$: exact if it is rational, otherwise rounded down by less than
    $2^{-128}$.

    Example:
        >>> root_below(Fraction(1, 4)), root_below(Fraction(2)) < root_above(Fraction(2))
        (Fraction(1, 2), True)
    """
    exact = _rational_root(square)
    return exact if exact is not None else Fraction(_floor_of_root(square), 1 << _BITS)


def levenshtein_bound(count: int, d_model: int) -> Fraction:
    r"""Return a lower bound of the coherence of N unit vectors, $\mu^2 \ge (3 N - d (d + 2)) / ((d + 2) (N - d))$ for N
    > d.

    It is above the bound of Welch, $\mu^2 \ge (N - d) / (d (N - 1))$, as soon as $N > d (d + 1) / 2$.

    Args:
        count: N, at least 2.
        d_model: d.

    Returns:
        A rational number at most the bound, within $2^{-128}$ of it; 0 where it says nothing.

    Raises:
        InputError: N < 2 or d < 1.

    Source: Levenshtein (1982); Delsarte, Goethals, Seidel (1977).

    Example:
        >>> [round(float(levenshtein_bound(N, 64)), 4) for N in (1000, 10_000, 50_257)]
        [0.0, 0.1983, 0.2103]
    """
    _require_sizes(count, d_model)
    gain = 3 * count - d_model * (d_model + 2)
    return (
        root_below(Fraction(gain, (d_model + 2) * (count - d_model))) if count > d_model and gain > 0 else Fraction(0)
    )


def kappa_bound(count: int, d_model: int) -> Fraction:
    r"""Return a lower bound of $\kappa$ for any N vectors in d dimensions, with any encoders that have positive
    margins.

    $(\kappa - 1) / (\kappa + 1) \ge \sqrt{(N - d - 1) / ((d + 1) (N - 1))}$.

    Args:
        count: N, at least 2.
        d_model: d.

    Returns:
        A rational number at most the bound; 1 for $N \le d + 1$.

    Raises:
        InputError: N < 2 or d < 1.

    Example:
        >>> kappa_bound(65, 64), round(float(kappa_bound(50_257, 1024)), 4)
        (Fraction(1, 1), 1.0638)
    """
    _require_sizes(count, d_model)
    ratio = root_below(Fraction(max(0, count - d_model - 1), (d_model + 1) * (count - 1)))
    return (1 + ratio) / (1 - ratio)


def _require_sizes(count: int, d_model: int) -> None:
    require_at_least(2, count=count)
    require_at_least(1, d_model=d_model)


def _rational_root(square: Fraction) -> Fraction | None:
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else None


def _floor_of_root(square: Fraction) -> int:
    """Return the floor of 2^128 sqrt(x)."""
    return isqrt((square.numerator << 2 * _BITS) // square.denominator)
