r"""The rank of a matrix of floats three times: exactly, and with the tolerances of float64 and float32.

Page: docs/claims/assumptions.md
"""

from dataclasses import dataclass

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.exact_inputs import as_float64
from verify.linear_algebra.rank import rank_bracket


@dataclass(frozen=True)
class NumericalRanks:
    r"""Three numbers that are all called a rank.

    Args:
        rows: Number of rows.
        columns: Number of columns.
        exact_lower: Proved lower bound of the rank of exactly these numbers.
        exact_upper: Proved upper bound; equal unless five primes were all unlucky.
        float64: Singular values above $\max(m, n)\, 2^{-52} \sigma_1$, as NumPy counts them; proves nothing.
        float32: The same for the numbers rounded to float32, with $2^{-23}$; proves nothing.
        spread: $\sigma_{\min} / \sigma_1$, measured in float64.
    """

    rows: int
    columns: int
    exact_lower: int
    exact_upper: int
    float64: int
    float32: int
    spread: float


def numerical_ranks(matrix: Float64Array) -> NumericalRanks:
    r"""Tell the exact rank of floats from the ranks that tolerances see.

    The exact rank is proved by a minor modulo a prime from below and by integer relations from above. That of computed
    floats is nearly always full, since their rounding errors are in general position; so the spread of the singular
    values is given too. What a tolerance calls a smaller rank says that singular values are small and nothing about the
    rank.

    Args:
        matrix: `[rows, columns]`, neither of them 0, finite.

    Returns:
        The ranks.

    Raises:
        InputError: Not such a matrix.

    Source: Golub, Van Loan, Matrix Computations, Section 5.4.

    Example:
        >>> ranks = numerical_ranks(np.array([[1.0, 1.0], [1.0, 1.0 + 2**-30]]))
        >>> ranks.exact_lower, ranks.float64, ranks.float32
        (2, 2, 1)
    """
    array = as_float64(matrix, "matrix")
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise InputError("matrix", f"has shape {array.shape}", "finite numbers, at least one row and one column")
    exact = rank_bracket(array)
    values = np.linalg.svd(array, compute_uv=False)
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    return NumericalRanks(
        rows=array.shape[0],
        columns=array.shape[1],
        exact_lower=exact.lower,
        exact_upper=exact.upper,
        float64=int(np.linalg.matrix_rank(array)),
        float32=int(np.linalg.matrix_rank(single)) if np.isfinite(single).all() else 0,
        spread=float(values[-1] / values[0]) if values[0] > 0 else 0.0,
    )
