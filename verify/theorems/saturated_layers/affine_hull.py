"""Bound the rank of the mixed inputs from the tokens, for all weights at once.

Page: docs/claims/context_rank.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.model.exact_network import as_rationals
from verify.arithmetic.exact_inputs import is_masked


@dataclass(frozen=True)
class TokenHull:
    r"""The affine hull $A$ of all tokens of all contexts.

    Args:
        n_ctx: n, the number of tokens of a context.
        dimension: a, the dimension of $A$.
        span: The dimension of the linear span of $A$: a if 0 is in $A$, else a + 1.
    """

    n_ctx: int
    dimension: int
    span: int

    @property
    def holds_zero(self) -> bool:
        """Whether 0 is in the affine hull."""
        return self.span == self.dimension

    def ceiling(self, n_heads: int, n_examples: int) -> int:
        r"""Return an upper bound of the rank of $Z$, for all weights, widths and queries.

        Attention mixes tokens with weights that sum to 1, so a row of $Z$ is in $A^H$; the linear span of $A^H$ has
        dimension $H a$ if $0 \in A$, and $H a + 1$ otherwise. If n = 1, all heads mix the same vector, and the rows
        are in the diagonal of $A^H$.

        Args:
            n_heads: H, at least 0.
            n_examples: T, at least 0.

        Returns:
            $\min(T, H a + 1)$ or $\min(T, H a)$; for n = 1 the smaller of T and the dimension of the span of $A$.

        Raises:
            InputError: A negative number.

        Source: beside Mahdavi, Liao, Thrampoulidis (2024), Propositions 2 and 5, as reconstructed.

        Example:
            >>> TokenHull(n_ctx=3, dimension=2, span=3).ceiling(4, 100)
            9
        """
        if n_heads < 0 or n_examples < 0:
            raise InputError("n_heads", f"= {n_heads}, n_examples = {n_examples}", "at least 0")
        copies = min(n_heads, 1) if self.n_ctx == 1 else n_heads
        apart = 0 if self.holds_zero or not n_heads else 1
        return min(n_examples, copies * self.dimension + apart)


def token_hull(contexts: NDArray) -> TokenHull:
    r"""Return the affine hull of all tokens, by exact ranks of rational matrices: floats are the rationals that they
    are.

    That contexts are shared, or that their tokens sum to a constant, is not said but found: tokens that occur again add
    nothing, and a linear equation that all of them satisfy takes a dimension.

    Args:
        contexts: Keys, `[T, n, d]`, or `[1, n, d]` if all examples share them; integers or finite floats.

    Returns:
        The hull.

    Raises:
        InputError: Another number of dimensions, an empty or a masked array, or an entry that is not a finite number.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Propositions 2 and 5, as reconstructed.

    Example:
        >>> hull = token_hull(np.array([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 0, 0]]]))  # tokens sum to 1
        >>> hull.dimension, hull.holds_zero, hull.ceiling(5, 100)
        (2, False, 11)
    """
    if is_masked(contexts):
        raise InputError("contexts", "is a masked array", "numbers; fill the masked entries first")
    array = np.asarray(contexts)
    if array.ndim != 3 or 0 in array.shape:
        raise InputError("contexts", f"has shape {array.shape}", "[T, n, d], none of them 0")
    rows = np.unique(array.reshape(-1, array.shape[2]), axis=0)
    tokens = as_rationals(rows)
    return TokenHull(n_ctx=array.shape[1], dimension=_differences(tokens).rank(), span=tokens.rank())


def _differences(tokens: fmpq_mat) -> fmpq_mat:
    first, *others = tokens.tolist()
    return fmpq_mat(len(others), len(first), [a - b for row in others for a, b in zip(row, first, strict=True)])


def mixed_rank_ceiling(contexts: NDArray, *, n_heads: int, n_examples: int) -> int:
    """Return an upper bound of the rank of $Z$ on these contexts, for all weights of a number of heads.

    Args:
        contexts: Keys, as for `token_hull`.
        n_heads: H, at least 0.
        n_examples: T, at least 0.

    Returns:
        The ceiling of the hull of the tokens.

    Raises:
        InputError: As for `token_hull`, or a negative number.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Propositions 2 and 5, as reconstructed.

    Example:
        >>> mixed_rank_ceiling(np.eye(3)[None], n_heads=4, n_examples=100)
        9
    """
    return token_hull(contexts).ceiling(n_heads, n_examples)
