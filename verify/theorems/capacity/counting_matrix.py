"""Bound the rank of the matrix that the proof of Lemma 2 multiplies with the embeddings of a context.

Page: docs/claims/lemma_2_steps.md
"""

from math import factorial, prod

from flint import fmpz_mat

from constructions.errors import InputError


def counting_matrix(*, n_ctx: int, d_model: int, largest: int) -> fmpz_mat:
    r"""Return how many sequences begin with each index, `[d, S]`; row n is divided by the common factor of its entries.

    Let $M = \sum_{k \ne m} n^k$. There are $(M - 1)! n^i / \prod_k (n^k)!$ sequences that begin with $i \ne m$ and hold
    $n^k - [i = k]$ times every other index k, and $M! / \prod_k (n^k)!$ that begin with m. They are in the
    proportion of $n^i$ to M, and M is the sum of the $n^i$: the column of m is the sum of the others. For S >= 2 the
    others are powers of distinct positive numbers, with the rank min(d, S - 1). (In (11) of the source the sequences
    that begin with m have the opposite sign, which changes no rank.)

    Args:
        n_ctx: S, at least 1.
        d_model: d, at least 1; n = 2, .., d + 1.
        largest: m, in 1 .. S: the index of the largest first coordinate.

    Returns:
        Integers.

    Raises:
        InputError: A size out of range.

    Source: Dana, Pydi, Chevaleyre (2024), appendix A.1.

    Example:
        >>> counting_matrix(n_ctx=3, d_model=2, largest=1)
        [12, 4,  8]
        [36, 9, 27]
    """
    if n_ctx < 1 or d_model < 1 or not 1 <= largest <= n_ctx:
        raise InputError("n_ctx", f"= {n_ctx}, d_model = {d_model}, largest = {largest}", "1 <= largest <= n_ctx")
    rows = []
    for n in range(2, d_model + 2):
        others = [k for k in range(1, n_ctx + 1) if k != largest]
        total = sum(n**k for k in others)
        row = [n**k for k in range(1, n_ctx + 1)]
        row[largest - 1] = total if others else 1
        rows.append(row)
    return fmpz_mat(rows)


def counted_sequences(n: int, *, n_ctx: int, largest: int, first: int) -> int:
    r"""Return the entry of the source: how many sequences begin with i and contain each $k \ne m$ exactly $n^k - [k =
    i]$ times.

    Args:
        n: The base, at least 1.
        n_ctx: S.
        largest: m.
        first: i, the index at the first place.

    Returns:
        The number of sequences.

    Example:
        >>> counted_sequences(2, n_ctx=2, largest=2, first=1), counted_sequences(2, n_ctx=2, largest=2, first=2)
        (1, 1)
    """
    rest = [n**k - (k == first) for k in range(1, n_ctx + 1) if k != largest]
    return factorial(sum(rest)) // prod(map(factorial, rest))


def counting_rank(*, n_ctx: int, d_model: int, largest: int) -> int:
    r"""Return the rank of $\mathcal{N}$, an upper bound of the rank of $\mathcal{N} X(t)$ for all embeddings.

    Example:
        >>> counting_rank(n_ctx=2, d_model=3, largest=1)
        1
    """
    return int(counting_matrix(n_ctx=n_ctx, d_model=d_model, largest=largest).rank())
