r"""What the heads of a layer mix when scores are integers times $\log 2$: exact rationals, and ranks that are proofs.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, nmod_mat

from constructions.arrays import Int64Array
from constructions.errors import HypothesisError, InputError, ResourceError
from verify.arithmetic.given_numbers import is_masked
from verify.forward.rationals import PRIME, ExactRank

_MOST_BITS = 2**20  # of an attention weight that is written out


def exact_mixed_inputs(contexts: Int64Array, queries: Int64Array, W_Q: Int64Array, W_K: Int64Array) -> fmpq_mat:
    r"""The matrix $Z$ in rationals, for the maps $W_Q$ and $\log 2 \cdot W_K$ with integers $W_Q$, $W_K$.

    The scores are $k_i \log 2$ with integers $k = E W_K W_Q^\top e$, and the attention weights
    $2^{k_i} / \sum_j 2^{k_j}$.

    Args:
        contexts: Integer keys, `[T, n, d]`, or `[1, n, d]` if all examples share them.
        queries: Integer queries, `[T, d]`.
        W_Q: Integers, `[H, d, d_h]`.
        W_K: Integers, `[H, d, d_h]`; the key maps in units of log 2.

    Returns:
        `[T, H * d]`.

    Raises:
        InputError: Arrays that are no integers, or shapes that do not fit.
        ResourceError: Scores of one example that differ by more than 2^20 log 2.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> one = np.ones((1, 1, 1), dtype=np.int64)
        >>> exact_mixed_inputs(np.array([[[0], [1]]]), np.array([[0], [1], [3]]), one, one).entries()
        [1/2, 2/3, 8/9]
    """
    rows = []
    for exponents, context in _examples(contexts, queries, W_Q, W_K):
        row: list[fmpq] = []
        for head in exponents:
            if max(head) > _MOST_BITS:
                raise ResourceError(f"scores that differ by {max(head)} log 2 give rationals too long to compute with")
            powers = [1 << k for k in head]
            weights = fmpq_mat(1, len(powers), [fmpq(power, sum(powers)) for power in powers])
            row += (weights * fmpq_mat(context)).entries()
        rows.append(row)
    return fmpq_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def exact_mixed_rank(
    contexts: Int64Array, queries: Int64Array, W_Q: Int64Array, W_K: Int64Array, *, prime: int = PRIME
) -> ExactRank:
    r"""Prove a lower bound of the rank of $Z$, for the maps $W_Q$ and $\log 2 \cdot W_K$: the rank over GF(prime).

    The row of an example, times the denominators $\sum_j 2^{k_j}$ of its heads, is a row of integers. Reduction modulo
    the prime maps minors to minors, so one that does not vanish there does not vanish; and where the prime divides no
    denominator, rows are scaled by units.

    Args:
        contexts: Integer keys, `[T, n, d]`, or `[1, n, d]` if all examples share them.
        queries: Integer queries, `[T, d]`.
        W_Q: Integers, `[H, d, d_h]`.
        W_K: Integers, `[H, d, d_h]`; the key maps in units of log 2.
        prime: The prime, below $2^{63}$.

    Returns:
        The bound.

    Raises:
        InputError: Arrays that are no integers, shapes that do not fit, or a modulus that is no prime.
        HypothesisError: The prime divides a denominator.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.

    Example:
        >>> one = np.ones((1, 1, 1), dtype=np.int64)
        >>> exact_mixed_rank(np.array([[[1], [2]]]), np.array([[0], [1], [3]]), one, one).lower
        1
    """
    # FLINT ends the whole process where it has to divide by what a modulus that is no prime leaves without inverse.
    if not 2 <= prime < 2**63 or not fmpz(prime).is_prime():
        raise InputError(f"prime = {prime}, expected a prime number below 2^63")
    rows = []
    for exponents, context in _examples(contexts, queries, W_Q, W_K):
        keys, row = nmod_mat(context, prime), []
        for head in exponents:
            powers = [pow(2, k, prime) for k in head]
            total = sum(powers) % prime
            if not total:
                raise HypothesisError("the rank over a prime field", "a prime that divides no denominator", str(prime))
            inverse = pow(total, -1, prime)
            weights = nmod_mat(1, len(powers), [power * inverse % prime for power in powers], prime)
            row += [int(entry) for entry in (weights * keys).entries()]
        rows.append(row)
    matrix = nmod_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row], prime)
    return ExactRank(lower=matrix.rank(), rows=len(rows), prime=prime)


def _examples(
    contexts: Int64Array, queries: Int64Array, W_Q: Int64Array, W_K: Int64Array
) -> Iterator[tuple[list[list[int]], fmpz_mat]]:
    """The scores of every head in units of log 2, less the smallest, and the keys: one example after the other."""
    named = {"contexts": contexts, "queries": queries, "W_Q": W_Q, "W_K": W_K}
    for (name, array), dimensions in zip(named.items(), (3, 2, 3, 3), strict=True):
        if not isinstance(array, np.ndarray) or is_masked(array) or array.dtype.kind not in "iu":
            raise InputError(f"{name} is no array of integers")
        if array.ndim != dimensions or 0 in array.shape:
            raise InputError(f"{name} has shape {array.shape}, expected {dimensions} dimensions of at least 1")
    width = queries.shape[1]
    if len(contexts) not in (1, len(queries)) or W_Q.shape != W_K.shape or {contexts.shape[2], W_Q.shape[1]} != {width}:
        raise InputError(f"shapes {[array.shape for array in named.values()]} do not fit each other")
    maps = [
        fmpz_mat(k.tolist()) * fmpz_mat(q.tolist()).transpose() for q, k in zip(W_Q, W_K, strict=True)
    ]  # E W_K W_Q^T e
    keys = [fmpz_mat(context.tolist()) for context in contexts]
    for t, query in enumerate(queries.tolist()):
        context = keys[0 if len(keys) == 1 else t]
        column = fmpz_mat(width, 1, query)
        scores = [[int(score) for score in (context * (bilinear * column)).entries()] for bilinear in maps]
        yield [[score - min(head) for score in head] for head in scores], context
