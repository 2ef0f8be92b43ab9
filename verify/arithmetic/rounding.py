r"""Rounding outward, and radii that outweigh the roundings they were computed with.

Notation: $u = 2^{-53}$ is the unit roundoff, $\eta = 2^{-1074}$ the smallest subnormal, $\gamma_n = nu / (1 - nu)$.
Page: docs/rigour/arithmetic.md proves every bound used here; the comments name its lemmas.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from constructions.errors import InputError
from verify.arithmetic import blas

Floats: TypeAlias = NDArray[np.float64]

UNIT = 2.0**-53  # Lemma A1: one operation is off by at most UNIT times its result, and half an eta
TINY = 2.0**-1022  # the smallest normal number, far above what an underflow can lose
RAISE = 1.0 + 16.0 * UNIT  # Lemma A2: outweighs fourteen roundings
# An overflow is no error here: it becomes "no information".
quiet = np.errstate(all="ignore")


@quiet
def up(x: ArrayLike) -> Floats:
    """Return floats above every real number that rounds to the entries of `x`: the next float64, but 2^-1022 above tiny
    ones.

    Why it is rigorous: Lemma A3. Three operations take a tenth of the time of ``numpy.nextafter``.

    Source: Rump, Zimmermann, Boldo and Melquiond, Computing predecessor and successor in rounding to nearest (2009).

    Example:
        >>> bool(up(1.0) == 1.0 + 2.0**-52)
        True
    """
    x = np.asarray(x, dtype=np.float64)
    return x + _step(x)


@quiet
def down(x: ArrayLike) -> Floats:
    """Return floats below every real number that rounds to the entries of `x`: minus `up` of minus `x`.

    Example:
        >>> bool(down(1.0) == 1.0 - 2.0**-53)
        True
    """
    x = np.asarray(x, dtype=np.float64)
    return x - _step(x)


def _step(x: Floats) -> Floats:
    """Return more than half the distance of x to its neighbours (Lemma A3), and less than 3/2 of it unless x is
    tiny.
    """
    blas.require_ieee()
    step = np.abs(x)
    step *= UNIT * RAISE
    step += TINY
    return step


def gamma(n: int) -> float:
    r"""Return an upper bound of $\gamma_n = nu/(1 - nu)$, the relative error of a term that went through $n$ roundings.

    Why it is rigorous: $nu$ and $1 - nu$ are floats, so that one division is rounded, and the next float is above it
    (Lemma A4).

    Args:
        n: Number of roundings, 0 to 2^40.

    Raises:
        InputError: `n` is out of range.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Lemma 3.1.

    Example:
        >>> gamma(0), gamma(1) > 2.0**-53
        (0.0, True)
    """
    if not 0 <= n <= 2**40:
        raise InputError("n", f"is {n}", "an integer from 0 to 2**40")
    return math.nextafter(n * UNIT / (1.0 - n * UNIT), math.inf) if n else 0.0


def raised(value: Floats) -> Floats:
    """Return a number above every quantity >= 0 that was computed as `value` with at most twelve roundings on any path
    (Lemma A2).
    """
    value = value * RAISE
    value += TINY
    return value


def outweighing(roundings: int) -> float:
    """Return a factor that outweighs this many roundings and twelve more (Lemma A4)."""
    return 1.0 + 2.0 * gamma(roundings + 8)
