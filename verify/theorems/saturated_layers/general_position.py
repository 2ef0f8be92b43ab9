r"""Queries shifted by the mean of their contexts, without rounding, and whether they are in general position.

Page: docs/claims/assumptions.md
"""

import math

import numpy as np
from flint import fmpz_mat

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.exact_inputs import as_float64
from verify.theorems.saturated_layers.kruskal_rank import SubsetCertificate, certify_subsets


def shifted_queries(contexts: Float64Array, queries: Float64Array) -> fmpz_mat:
    r"""Return the vectors $e^{(t)} + \frac1n \sum_i E^{(t)}_i$ times one positive number that makes them integer.

    No sum is rounded: $n\, e^{(t)} + \sum_i E^{(t)}_i$ is added up in integers.

    Args:
        contexts: $E^{(t)}$, `[T, n, d]` or `[1, n, d]`, finite floats.
        queries: $e^{(t)}$, `[T, d]`.

    Returns:
        Integers, `[T, d]`.

    Raises:
        InputError: Arrays that do not fit each other, or numbers that are not finite.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Assumption 3.

    Example:
        >>> shifted_queries(np.array([[[1.0, 0.0], [0.0, 0.5]]]), np.array([[1.0, 1.0], [0.0, 0.0]])).tolist()
        [[6, 5], [2, 1]]
    """
    keys, query_floats = as_float64(contexts, "contexts"), as_float64(queries, "queries")
    fits = (
        keys.ndim == 3
        and query_floats.ndim == 2
        and len(keys) in (1, len(query_floats))
        and keys.shape[2] == query_floats.shape[1]
    )
    if not fits or 0 in keys.shape or not len(query_floats):
        raise InputError(
            f"contexts {keys.shape} and queries {query_floats.shape}", "do not fit", "[T or 1, n, d], [T, d]"
        )
    if not (np.isfinite(keys).all() and np.isfinite(query_floats).all()):
        raise InputError("contexts and queries", "have entries that are not finite")
    tokens = keys.shape[1]
    sums = [_exact_sum(context) for context in keys] * (1 if len(keys) > 1 else len(query_floats))
    own = [_exact_sum(query[None]) for query in query_floats]
    unit = min(exponent for _, exponent in [*sums, *own])
    rows = [
        [(x << e - unit) + tokens * (y << f - unit) for x, y in zip(total, query, strict=True)]
        for (total, e), (query, f) in zip(sums, own, strict=True)
    ]
    entries = [entry for row in rows for entry in row]
    common = math.gcd(*entries) or 1
    return fmpz_mat(len(query_floats), query_floats.shape[1], [entry // common for entry in entries])


def certify_shifted(contexts: Float64Array, queries: Float64Array, size: int) -> SubsetCertificate:
    r"""Decide where feasible whether every `size` of $e^{(t)} + \frac1n \sum_i E^{(t)}_i$ are linearly independent.

    With `size` = n this is Assumption 3.

    Args:
        contexts: `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        size: How many at a time, from 1 to T.

    Returns:
        The certificate.

    Raises:
        InputError: Arrays that do not fit, or a size out of range.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Assumption 3.

    Example:
        >>> contexts = np.array([[[1.0, 0, 0], [-3, 0, 1]], [[0, 1, 0], [0, -3, 1]]])
        >>> certify_shifted(contexts, np.array([[1.0, 0, 0], [0, 1, 0]]), 2).relation
        Relation(rows=(0, 1), coefficients=(1, -1))
    """
    return certify_subsets(shifted_queries(contexts, queries), size)


def _exact_sum(rows: Float64Array) -> tuple[list[int], int]:
    """Return the sum of the rows as integers times a power of two: the exponent.

    The rows are cut at a power of two such that the upper parts are integers whose sum fits in int64; the rest, which
    is exact, is summed in the same way.
    """
    totals, unit, rest = [0] * rows.shape[1], 0, rows
    first = True
    while (largest := float(np.abs(rest).max())) > 0.0:
        grid = int(np.frexp(largest)[1]) + len(rows).bit_length() - 62
        upper = np.rint(np.ldexp(rest, -grid))
        if first:
            unit, first = grid, False
        totals = [(total << unit - grid) + part for total, part in zip(totals, _summed(upper), strict=True)]
        unit, rest = grid, rest - np.ldexp(upper, grid)
    return totals, unit


def _summed(integers: Float64Array) -> list[int]:
    return integers.astype(np.int64).sum(axis=0).tolist()
