"""Bound the largest mean of values over the inputs of a cell, without enumerating inputs.

Page: docs/folds.md (Theorem FD1)
"""

import math

import numpy as np

from constructions.numeric.arrays import Int64Array
from verify.arithmetic.rounding import Floats, gamma, up
from verify.folds.paths import Paths

_MOST_STEPS = 40  # of Dinkelbach's iteration, which ends after a few
_MOST_RAISES = 60  # of a level that is not proved yet


def largest_mean(
    paths: Paths, cells: Int64Array, value: Floats, radius: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Int64Array]:
    r"""Return an upper bound of the mean of the values of an input in each cell, weighted by the numerators.

    Why it is rigorous: let $\lambda$ be a number. If $\sum_s e_s (v_s - \lambda) \le 0$ for all inputs of a cell and
    all numerators between their bounds, the mean is at most $\lambda$ for all of them, since $\sum_s e_s > 0$. The
    largest of these sums is that of a longest path, on which each row brings $(v + \rho - \lambda)$ times the upper
    bound where that is positive, and times the lower one elsewhere. How $\lambda$ is found (Dinkelbach's iteration)
    proves nothing; the sum at the $\lambda$ that is returned is bounded, with all of its roundings: n numbers summed
    in any order are off by at most gamma_n times the sum of their sizes, of which the largest is a longest path, too.

    Args:
        paths: The paths.
        cells: `[N, stages]`, each of which holds an input.
        value: Value of each row, `[R]`.
        radius: How far the values may be off, `[R]`.
        lower: Bounds of the numerators, at least 0, `[R]`.
        upper: Likewise.

    Returns:
        The bounds `[N]`, infinite where nothing is proved, and the path of a largest mean, `[N, stages]`.
    """
    value = up(value + radius)

    def lengths(level: Floats) -> Floats:
        above = up(value - level[:, None])
        return np.where(above >= 0.0, up(above * upper), up(above * lower))

    level = np.full(len(cells), float(value[paths.read].min()))
    path = np.zeros(cells.shape, dtype=np.int64)
    for _ in range(_MOST_STEPS):
        sums, path = paths.longest(lengths(level), cells)
        mass = paths.summed(np.where(value >= level[:, None], upper, lower), path)
        better = np.where(mass > 0.0, level + sums / mass, level)
        rising = better > level + 1e-13 * np.abs(level)
        level = np.where(rising, better, level)
        if not rising.any():
            break
    terms = paths.length + 8
    least = float(lower[paths.read].max(initial=0.0)) or 1.0
    spare = 8.0 * gamma(terms) * paths.longest_sums(np.abs(lengths(level)), cells) / least + 2.0**-60 * np.abs(level)
    bound = np.full(len(cells), math.inf)
    for _ in range(_MOST_RAISES):
        raised = level + spare
        moved = lengths(raised)
        rounded = gamma(terms) * (1.0 + 2.0**-20) * paths.longest_sums(np.abs(moved), cells)
        proved = up(paths.longest_sums(moved, cells) + rounded) <= 0.0
        bound = np.where(proved, np.minimum(bound, raised), bound)
        if np.isfinite(bound).all():
            break
        spare = 4.0 * spare + 2.0**-200
    return bound, path
