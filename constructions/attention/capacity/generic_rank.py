r"""Certified lower bounds of the rank that attention features can reach, by one elimination over a prime field.

Page: docs/claims/capacity.md
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flint import nmod_mat

from constructions.errors import InputError, ResourceError, require_at_least
from constructions.numeric.arrays import Int64Array, UInt64Array
from constructions.tasks.contexts import checked_contexts

PRIME = 2**31 - 1  # a Mersenne prime: products of two residues fit into 64 bits

_LARGEST_MATRIX = 2**27  # entries: 1 GiB a copy, and the elimination holds three


def generic_ranks(
    contexts: Int64Array,
    *,
    d_model: int,
    d_head: int,
    n_heads: int,
    with_skip: bool = True,
    seed: int = 0,
    limits: Int64Array | None = None,
) -> Int64Array:
    r"""Bound from below how many contexts 0, 1, ..., `n_heads` heads can hold linearly independent.

    The features of a context $t$ with last token $c$ are $G_t = [x_S \mid A^1 W_V^1 \mid \dots \mid A^H W_V^H]$ with

    $$ A^h = \frac{\sum_s \psi^h_{c,s} \varphi^h_{c,t_s} \, x_s}{\sum_s \psi^h_{c,s} \varphi^h_{c,t_s}}, \qquad
       x_s = W_E[t_s] + W_{pos}[s], $$

    where $\varphi^h_{c,n} = \exp(x_S W_Q^h W_K^{h\top} W_E[n]^\top)$ and likewise $\psi$. Read as rational functions of
    free variables, they have a rank $R^*$, which is the largest rank that any weights reach (Theorem G1). Here the
    variables are replaced by random residues modulo `PRIME` at which no denominator vanishes. A minor that is nonzero
    there is not the zero function, so every number returned is a lower bound of $R^*$, whatever was drawn; that it
    falls short is unlikely, not impossible. One elimination serves all numbers of heads: the rank of the first columns
    is the number of pivots among them.

    Nothing is lost by three savings: embeddings of more than $N + S - 1$ dimensions carry nothing new; a square $W_V$
    can be the identity, since an invertible one leaves the column space as it is; and where `limits` are given, heads
    are made narrower. Heads in general position add less and less, so the $h$-th adds at most $(r_h - r_0) / h$ to the
    rank $r_0$ without heads, and as many random combinations of its columns add as much as all of them.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: The largest number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.
        seed: Seed of the random point.
        limits: Upper bounds of the ranks with 0 .. `n_heads` heads, `[n_heads + 1]`, to save work. Wrong ones can make
            the result smaller, not false.

    Returns:
        The bounds for 0 .. `n_heads` heads, non-decreasing, `[n_heads + 1]`.

    Raises:
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.
        ResourceError: The matrix would not fit into memory.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        Four contexts of two tokens each, one last token: one head of any width holds only three (XOR).

        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> generic_ranks(xor, d_model=4, d_head=4, n_heads=2)
        array([1, 3, 4])
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    widths = _widths(contexts, d_model, d_head, n_heads, with_skip=with_skip, limits=limits)
    reduced, rank = _features(contexts, d_model, widths, seed=seed).rref()
    return np.searchsorted(_pivots(reduced, rank), np.cumsum(widths)).astype(np.int64)


def generic_ranks_of_both(
    contexts: Int64Array,
    *,
    d_model: int,
    d_head: int,
    n_heads: int,
    seed: int = 0,
    limits: Int64Array | None = None,
    limits_alone: Int64Array | None = None,
) -> tuple[Int64Array, Int64Array]:
    r"""Bound from below how many contexts heads memorize, with and without the skip connection, by one elimination.

    Let $R$ be the reduced row echelon form of $[x_S \mid Y]$ and $c$ the number of its pivots in $x_S$. Invertible
    combinations of rows change no rank of columns, so $Y$ has the rank of the columns of $R$ below it. Those with
    pivots are unit vectors outside of the first $c$ rows; modulo them, each other column is what it has in the first
    $c$ rows, as all else of it lies in rows whose pivots stand to the left. So the first columns of $Y$ have as rank
    the number of their pivots plus the rank of the others in the first $c$ rows.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: The largest number of heads, $H$.
        seed: Seed of the random point.
        limits: As of `generic_ranks` with the skip connection.
        limits_alone: As of `generic_ranks` without it.

    Returns:
        What `generic_ranks` returns with and without the skip connection, at one random point.

    Raises:
        InputError: As `generic_ranks`.
        ResourceError: As `generic_ranks`.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> generic_ranks_of_both(xor, d_model=4, d_head=4, n_heads=2)
        (array([1, 3, 4]), array([0, 3, 4]))
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    widths, alone = (
        _widths(contexts, d_model, d_head, n_heads, with_skip=with_skip, limits=most)
        for with_skip, most in ((True, limits), (False, limits_alone))
    )
    widths = np.maximum(widths, alone)
    return _ranks_of_both(_features(contexts, d_model, widths, seed=seed), widths)


def generic_rank(
    contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True, seed: int = 0
) -> int:
    """Bound from below how many contexts `n_heads` heads can hold linearly independent.

    The last entry of `generic_ranks`, with its arguments.

    Example:
        >>> loops = np.array([[n, n] for n in range(9)])
        >>> generic_rank(loops, d_model=3, d_head=3, n_heads=3, with_skip=False)
        5
    """
    ranks = generic_ranks(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip, seed=seed)
    return int(ranks[-1])


@dataclass(frozen=True, eq=False)
class Relations:
    """The linear relations between the features of contexts at a random point of a prime field.

    Args:
        rank: The rank at that point, a lower bound of the generic rank.
        rows: The contexts that take part in a relation: row numbers, increasing.
    """

    rank: int
    rows: Int64Array


def relations(
    contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True, seed: int = 0
) -> Relations:
    r"""Find the contexts whose features take part in a linear relation, at a random point of the prime field.

    A context outside this set adds one to the rank of any set of contexts that it joins; so if the rank is given by a
    formula of the kind "contexts outside $U$, plus a bound for $U$", then this set is a $U$ that attains it. The set
    proves nothing by itself: it is where to look for an upper bound.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.
        seed: Seed of the random point.

    Returns:
        The rank and the contexts; none of these if the features are linearly independent.

    Raises:
        InputError: As `generic_ranks`.
        ResourceError: As `generic_ranks`.

    Example:
        >>> xor_and_one_more = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
        >>> found = relations(xor_and_one_more, d_model=4, d_head=4, n_heads=1)
        >>> found.rank, found.rows
        (4, array([0, 1, 2, 3]))
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    widths = _widths(contexts, d_model, d_head, n_heads, with_skip=with_skip, limits=None)
    reduced, rank = _features(contexts, d_model, widths, seed=seed).transpose().rref()
    independent = _pivots(reduced, rank)
    dependent = np.setdiff1d(np.arange(len(contexts)), independent)
    # A context that is no pivot is a combination of the pivots at which its column of the reduced matrix is nonzero.
    used = [
        int(context)
        for row, context in enumerate(independent.tolist())
        if any(int(reduced[row, other]) for other in dependent.tolist())
    ]
    return Relations(rank=rank, rows=np.union1d(dependent, np.array(used, dtype=np.int64)).astype(np.int64))


def dependent_contexts(
    contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True, seed: int = 0
) -> Int64Array:
    """Return the contexts that occur in a linear relation: the row numbers of `relations`, which has the same
    arguments.

    Example:
        >>> xor_and_one_more = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
        >>> dependent_contexts(xor_and_one_more, d_model=4, d_head=4, n_heads=1)
        array([0, 1, 2, 3])
    """
    sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    return relations(contexts, **sizes, with_skip=with_skip, seed=seed).rows


def check_sizes(*, d_model: int, d_head: int, n_heads: int) -> None:
    """Refuse sizes that fit no model.

    Raises:
        InputError: A size out of range; names it.
    """
    require_at_least(1, d_model=d_model)
    if not 1 <= d_head <= d_model:
        raise InputError("d_head", f"= {d_head}", f"1 .. d_model = {d_model}")
    require_at_least(0, n_heads=n_heads)


def _usable(contexts: Int64Array, d_model: int) -> int:
    """Return how many dimensions embeddings of these contexts can use."""
    return min(d_model, len(np.unique(contexts)) + contexts.shape[1] - 1)


def _widths(
    contexts: Int64Array, d_model: int, d_head: int, n_heads: int, *, with_skip: bool, limits: Int64Array | None
) -> Int64Array:
    """Return the number of columns of the skip connection and of each head, `[n_heads + 1]`."""
    _check_memory(len(contexts), n_heads)
    usable = _usable(contexts, d_model)
    widths = np.full(n_heads + 1, min(d_head, usable), dtype=np.int64)
    widths[0] = usable if with_skip else 0
    if limits is not None:
        without_heads = min(d_model, len(np.unique(contexts[:, -1]))) if with_skip else 0
        widths[1:] = np.minimum(widths[1:], (limits[1 : n_heads + 1] - without_heads) // np.arange(1, n_heads + 1))
    return widths


def _check_memory(n_contexts: int, columns: int) -> None:
    if n_contexts * columns > _LARGEST_MATRIX:
        raise ResourceError(
            f"the rank of {n_contexts} contexts and {columns} features needs "
            f"{3 * n_contexts * columns * 8 / 2**30:.1f} GiB; take fewer facts, or narrower or fewer heads"
        )


def _features(contexts: Int64Array, d_model: int, widths: Int64Array, *, seed: int) -> nmod_mat:
    """Return the features at a random point modulo `PRIME`: [T, sum of widths]."""
    n_contexts, n_ctx = contexts.shape
    _check_memory(n_contexts, int(widths.sum()))
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> UInt64Array:
        return rng.integers(1, PRIME, shape, dtype=np.uint64)

    used, tokens = np.unique(contexts, return_inverse=True)
    tokens = tokens.reshape(contexts.shape)
    classes, class_of = np.unique(tokens[:, -1], return_inverse=True)
    # E is drawn for the pairs (last token, token) that occur: a full table could be far larger than the contexts.
    pairs, pair_of = np.unique(class_of[:, None] * len(used) + tokens, return_inverse=True)
    pair_of = pair_of.reshape(contexts.shape)

    usable = _usable(contexts, d_model)
    embedding, position = draw(len(used), usable), draw(n_ctx, usable)
    matrix = nmod_mat(n_contexts, int(widths.sum()), PRIME)
    if widths[0]:
        _write(matrix, 0, (embedding[tokens[:, -1]] + position[-1]) % PRIME)
    for column, width in zip(np.cumsum(widths).tolist(), widths[1:].tolist(), strict=False):
        if width == 0:
            continue
        tokens_in_head, positions_in_head = embedding, position
        if width < usable:
            value = draw(usable, width)
            tokens_in_head, positions_in_head = _product(embedding, value), _product(position, value)
        attention = _attention(lambda: draw(len(pairs))[pair_of] * draw(len(classes), n_ctx)[class_of] % PRIME)
        block = np.zeros((n_contexts, width), dtype=np.uint64)
        for s in range(n_ctx):
            inputs = (tokens_in_head[tokens[:, s]] + positions_in_head[s]) % PRIME
            block = (block + attention[:, s, None] * inputs) % PRIME
        _write(matrix, column, block)
    return matrix


def _attention(draw_weights: Callable[[], UInt64Array]) -> UInt64Array:
    """Return random weights divided by their sums modulo `PRIME`, drawn again until no sum vanishes."""
    while True:
        weights = draw_weights()
        sums = weights.sum(axis=1) % PRIME
        if (sums > 0).all():
            return weights * _power(sums, PRIME - 2)[:, None] % PRIME


def _power(base: UInt64Array, exponent: int) -> UInt64Array:
    result = np.ones_like(base)
    while exponent:
        if exponent % 2:
            result = result * base % PRIME
        base = base * base % PRIME
        exponent //= 2
    return result


def _product(left: UInt64Array, right: UInt64Array) -> UInt64Array:
    """Return the matrix product modulo `PRIME`, in halves of 16 bits so that 2^16 terms add up within 64 bits."""
    high, low = left >> np.uint64(16), left & np.uint64(2**16 - 1)
    return (((high @ right % PRIME) << np.uint64(16)) + low @ right) % PRIME


def _write(matrix: nmod_mat, column: int, block: UInt64Array) -> None:
    for i, row in enumerate(block):
        for j, value in enumerate(row.tolist(), start=column):
            matrix[i, j] = value


def _ranks_of_both(matrix: nmod_mat, widths: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the ranks of the first blocks of columns, with and without the first block, by one elimination.

    Without the first block, the reduced rows that have their pivot in it lose it. The other rows keep theirs, in whose
    columns the former rows are 0, so that the rank of what the former rows keep elsewhere is added.
    """
    reduced, rank = matrix.rref()
    pivots, ends = _pivots(reduced, rank), np.cumsum(widths)
    rank_of_first = int(np.searchsorted(pivots, widths[0]))
    other_columns = np.setdiff1d(np.arange(widths[0], ends[-1]), pivots)
    rows_of_first = [int(reduced[row, column]) for row in range(rank_of_first) for column in other_columns.tolist()]
    block = nmod_mat(rank_of_first, len(other_columns), rows_of_first, PRIME)
    further_pivots = other_columns[_pivots(*block.rref())]
    with_first = np.searchsorted(pivots, ends).astype(np.int64)
    further = np.searchsorted(further_pivots, ends).astype(np.int64)
    return with_first, with_first - rank_of_first + further


def _pivots(reduced: nmod_mat, rank: int) -> Int64Array:
    """Return the pivot columns of a matrix in reduced row echelon form."""
    pivots, column = [], 0
    for row in range(rank):
        while not int(reduced[row, column]):
            column += 1
        pivots.append(column)
        column += 1
    return np.array(pivots, dtype=np.int64)
