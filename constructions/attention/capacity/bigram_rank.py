r"""The exact rank of attention features on any set of contexts of two tokens.

Page: docs/claims/closed_forms.md
"""

import numpy as np

from constructions.attention.capacity.gain_forest import GainForest
from constructions.attention.capacity.generic_rank import Relations, check_sizes, relations
from constructions.errors import HypothesisError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts


def bigram_rank(
    contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True, seed: int = 0
) -> Relations:
    r"""Return the largest rank that attention features reach on contexts of two tokens.

    $$ R^* = \min_U \; |\Omega \setminus U| + \min(d, j(U)) + H \min(d_h, \ell(U)) , $$

    with $j(U)$ the number of last tokens in $U$ and $\ell$ the rank of the lift matroid, see `lift_rank`; for heads
    alone the last two terms are $\min(H d_h, (H - 1) \min(d_h, \ell) + \min(d, q))$, with $q(U)$ from `input_rank`.

    The formula is evaluated at the set $U$ of the contexts that take part in a linear relation, which attains the
    minimum. Relations are found at a random point of a prime field. The rank there is a lower bound of $R^*$ and the
    formula at any $U$ an upper bound, so the result is proved where the two agree; until they do, another point is
    drawn.

    Args:
        contexts: Pairwise distinct bigrams, `[T, 2]`.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.
        seed: Seed of the random points; the rank does not depend on it.

    Returns:
        $R^*$, which almost all weights reach, and the set $U$, which is empty if the rank is full.

    Raises:
        HypothesisError: Contexts of another length.
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.
        ResourceError: The elimination would not fit into memory.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Lemma 2, for S = 2.

    Example:
        Nine loops with three heads of width 3: all differences are one vector.

        >>> loops = np.array([[n, n] for n in range(9)])
        >>> found = bigram_rank(loops, d_model=3, d_head=3, n_heads=3, with_skip=False)
        >>> found.rank, len(found.rows)
        (5, 9)
    """
    contexts = checked_contexts(contexts, distinct=True)
    sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    check_sizes(**sizes)
    _require_bigrams(contexts)
    while True:
        relation_basis = relations(contexts, **sizes, with_skip=with_skip, seed=seed)
        formula = (
            len(contexts)
            - len(relation_basis.rows)
            + span_bound(contexts[relation_basis.rows], **sizes, with_skip=with_skip)
        )
        if relation_basis.rank == formula:
            return relation_basis
        seed += 1


def span_bound(contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True) -> int:
    r"""Return the dimension of the span of these bigrams' features, for embeddings and values in general position.

    $\min(d, j) + H \min(d_h, \ell)$, and for heads alone $\min(H d_h, (H - 1) \min(d_h, \ell) + \min(d, q))$. Both are
    0 for the empty set.

    Args:
        contexts: Bigrams, `[n, 2]`; may be empty.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.

    Returns:
        The dimension.

    Raises:
        HypothesisError: Contexts of another length.

    Example:
        >>> span_bound(np.array([[0, 0], [1, 1]]), d_model=2, d_head=2, n_heads=3)
        5
    """
    per_head = min(d_head, lift_rank(contexts))
    if with_skip:
        return min(d_model, len(np.unique(contexts[:, -1]))) + n_heads * per_head
    if n_heads == 0:
        return 0
    return min(n_heads * d_head, (n_heads - 1) * per_head + min(d_model, input_rank(contexts)))


def lift_rank(contexts: Int64Array) -> int:
    r"""Return the rank of bigrams in the lift matroid: the dimension of the span of the differences $x_1 - x_2$ in
    general position.

    Each bigram $(n, c)$ is an arc $c \to n$ between tokens. With $|V|$ tokens in $\nu$ components, the rank is
    $|V| - \nu + \beta$, where $\beta = 1$ if some closed walk has unequal numbers of arcs along and against it (a
    loop does), that is if no potential rises by exactly 1 along every arc.

    Args:
        contexts: Bigrams, `[n, 2]`; may be empty.

    Returns:
        $\ell$.

    Raises:
        HypothesisError: Contexts of another length.

    Example:
        A tree, an even cycle walked back and forth, and a directed triangle:

        >>> lift_rank(np.array([[0, 1], [0, 2]])), lift_rank(np.array([[0, 2], [0, 3], [1, 2], [1, 3]]))
        (2, 3)
        >>> lift_rank(np.array([[0, 1], [1, 2], [2, 0]]))
        3
    """
    _require_bigrams(contexts)
    tokens, arcs = np.unique(contexts, return_inverse=True)
    forest = GainForest(len(tokens))
    rank, balanced = 0, True
    for head, tail in arcs.reshape(-1, 2).tolist():
        joined = forest.join(tail, head, 1)
        if isinstance(joined, tuple):
            rank += 1
        else:
            balanced = balanced and joined == 0
    return rank + (not balanced)


def input_rank(contexts: Int64Array) -> int:
    """Return the dimension of the span of the inputs $x_{1,n}, x_{2,c}$ of bigrams $(n, c)$, for embeddings in general
    position.

    Tokens plus positions minus the components of the graph that joins each position with the tokens found there: with
    $V$ the set of the tokens, $|V| + 1$ if some token is found in both positions, and $|V|$ if none is.

    Args:
        contexts: Bigrams, `[n, 2]`; may be empty.

    Returns:
        $q$.

    Raises:
        HypothesisError: Contexts of another length.

    Example:
        >>> input_rank(np.array([[0, 1], [0, 2]])), input_rank(np.array([[0, 1], [1, 2]]))
        (3, 4)
    """
    _require_bigrams(contexts)
    first, last = set(contexts[:, 0].tolist()), set(contexts[:, 1].tolist())
    return len(first | last) + bool(first & last)


def _require_bigrams(contexts: Int64Array) -> None:
    if contexts.ndim != 2 or contexts.shape[1] != 2:
        raise HypothesisError("Theorem S2", "contexts of S = 2 tokens", f"contexts has shape {contexts.shape}")
