"""Compute the largest rank that any weights reach on one context of two tokens: an exact formula in the queries.

Page: docs/claims/two_tokens.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from constructions.errors import HypothesisError, InputError
from constructions.model.exact_network import as_rationals


@dataclass(frozen=True)
class TwoTokenRank:
    r"""The largest rank that queries allow on a context of two independent tokens that all examples share.

    Args:
        examples: T.
        limit: rank G: no number of heads gives more.
        relations: A basis of the vectors c with $c^\top G = 0$, as integers: $c^\top Z = 0$ for all weights.
    """

    examples: int
    limit: int
    relations: tuple[tuple[int, ...], ...]

    def largest(self, n_heads: int) -> int:
        """Return the largest rank of $Z$ over all weights of a number of heads: min(H + 1, rank G)."""
        return min(n_heads + 1, self.limit) if n_heads else 0


def two_token_rank(context: NDArray, queries: NDArray) -> TwoTokenRank:
    r"""Return the rank that weights can reach, and all linear relations that hold for all weights.

    The row of $G$ of example t is $(1, s_t \mathbf e_{c(t)})$, with the class c(t) of $\pm e^{(t)}$ and the sign $s_t$
    in it, and $(1, 0)$ for the query 0. Why it is exact: with $\sigma = 1/2 + \tanh(\cdot/2)/2$, the hyperbolic
    tangents of different classes and the constant 1 are linearly independent functions of the weights.

    Args:
        context: Two tokens, `[2, d]`, linearly independent; integers or floats.
        queries: `[T, d]`, integers or floats.

    Returns:
        The limit and the relations.

    Raises:
        InputError: No finite numbers, or queries of another dimension than the tokens.
        HypothesisError: Not two independent tokens.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Proposition 2, for n = 2, as reconstructed.

    Example:
        >>> found = two_token_rank(np.eye(2), np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]))
        >>> found.limit, found.relations, found.largest(5)
        (3, ((1, 1, -1, -1),), 3)
    """
    tokens = as_rationals(context)
    if tokens.nrows() != 2 or tokens.rank() != 2:
        raise HypothesisError("The rank on two tokens", "two independent tokens", f"a context of rank {tokens.rank()}")
    exact_queries = as_rationals(queries)
    if exact_queries.ncols() != tokens.ncols():
        raise InputError("queries", f"have dimension {exact_queries.ncols()}, the tokens {tokens.ncols()}", "the same")
    rows = [_class(row) for row in exact_queries.tolist()]
    classes = sorted({direction for direction, sign in rows if sign}, key=str)
    G = fmpq_mat(len(rows), 1 + len(classes))
    for t, (direction, sign) in enumerate(rows):
        G[t, 0] = fmpq(1)
        if sign:
            G[t, 1 + classes.index(direction)] = fmpq(sign)
    numerators, _ = G.transpose().numer_denom()
    basis, nullity = numerators.nullspace()
    columns = [[int(basis[t, j]) for t in range(len(rows))] for j in range(nullity)]
    return TwoTokenRank(len(rows), G.rank(), tuple(_primitive(column) for column in columns))


def two_token_ceiling(context: NDArray, queries: NDArray, *, n_heads: int) -> int:
    """Return an upper bound of the rank of $Z$ on one context of two tokens, for all weights of a number of heads.

    Args:
        context: As for `two_token_rank`.
        queries: Likewise.
        n_heads: H, at least 0.

    Returns:
        The largest rank.

    Raises:
        InputError: As for `two_token_rank`.
        HypothesisError: Likewise.

    Example:
        >>> two_token_ceiling(np.eye(2), np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]), n_heads=5)
        3
    """
    return two_token_rank(context, queries).largest(n_heads)


def _class(query: Sequence[fmpq]) -> tuple[tuple[fmpq, ...], int]:
    """Return the vector or its negative, whichever has a positive first nonzero entry, and the sign."""
    leading = next((entry for entry in query if entry != 0), fmpq(0))
    sign = 0 if leading == 0 else 1 if leading > 0 else -1
    return tuple(sign * entry for entry in query), sign


def _primitive(column: list[int]) -> tuple[int, ...]:
    divisor = int(np.gcd.reduce(np.array(column, dtype=object)))
    leading = next(entry for entry in column if entry)
    divisor = divisor if leading > 0 else -divisor
    return tuple(entry // divisor for entry in column)
