"""Choose contexts whose features have a large determinant, which keeps the constant of the remaining contexts small.

Page: docs/claims/theorem_1_tail.md
"""

import numpy as np
import scipy.linalg

from constructions.errors import HypothesisError, InputError
from constructions.numeric.arrays import Float64Array, Int64Array

_EVERY, _MOST = 100, 100_000  # swaps, until the coefficients are solved for again, and in all


def maximal_volume(features: Float64Array, kept: Int64Array, *, excess: float = 0.05) -> Int64Array:
    r"""Swap kept contexts for others until every remaining row has coefficients of at most $1 + \eta$.

    With $z_t = G_t G_1^{-1}$ a swap of the kept s for the other t multiplies $|\det G_1|$ by $|z_{t,s}|$. So swaps with
    $|z_{t,s}| > 1 + \eta$ come to an end, with $\max |z_{t,s}| \le 1 + \eta$.

    Args:
        features: G, `[T_0, T]`, of rank T.
        kept: Rows to begin with, T of them, linearly independent.
        excess: $\eta > 0$.

    Returns:
        The rows that are kept, `[T]`.

    Raises:
        InputError: Not as many rows as columns, or no positive excess.
        HypothesisError: Rows to begin with that are not independent.

    Example:
        >>> maximal_volume(np.array([[0.1, 0.0], [0.0, 1.0], [3.0, 1.0]]), np.array([0, 1])).tolist()
        [2, 1]
    """
    chosen = np.array(kept, dtype=np.int64)
    if features.ndim != 2 or chosen.shape != features.shape[1:] or not excess > 0:
        raise InputError("kept", f"has {len(chosen)} rows for features {features.shape} and excess = {excess}")
    coefficients = _coefficients(features, chosen)
    for swap in range(_MOST):
        if swap and swap % _EVERY == 0:
            coefficients = _coefficients(features, chosen)
        t, s = np.unravel_index(np.argmax(np.abs(coefficients)), coefficients.shape)
        pivot = coefficients[t, s]
        if abs(pivot) <= 1.0 + excess:
            break
        chosen[s] = t
        row = coefficients[t].copy()
        row[s] -= 1.0
        coefficients -= np.outer(coefficients[:, s] / pivot, row)
    return chosen


def _coefficients(features: Float64Array, kept: Int64Array) -> Float64Array:
    with np.errstate(all="ignore"):
        try:
            coefficients = scipy.linalg.solve(features[kept].T, features.T).T
        except scipy.linalg.LinAlgError:
            coefficients = np.array([np.nan])
    if not np.isfinite(coefficients).all():
        raise HypothesisError("the theorem of the tail", "independent rows to begin with", "they are dependent")
    return coefficients
