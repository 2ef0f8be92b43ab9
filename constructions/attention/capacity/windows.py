"""List all contexts over a vocabulary so that one head can memorize each run of consecutive contexts.

Pages: docs/claims/closed_forms.md, docs/claims/wide_heads.md
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from constructions.attention.capacity.generic_rank import check_sizes
from constructions.attention.capacity.partition import Partition, Window
from constructions.errors import HypothesisError, require_at_least
from constructions.numeric.arrays import Int64Array


def all_contexts_rank(
    d_vocab: int, n_ctx: int, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True
) -> int:
    r"""Return the largest rank that attention features reach on all $N^S$ contexts.

    $$ R^* = \min\bigl(N^S,\; \min(d, N) + H \min(d_h, N)\bigr) \quad\text{for } S \ge 2 $$

    if $d_h \le N$ or $S = 2$; for heads alone and $S = 2$,
    $\min(N^2, H d_h, (H - 1) \min(d_h, N) + \min(d, N + 1))$. (For $S \ge 3$ and $d_h > N$ the rank is at most
    $\min(N^S, \min(d, N) + H \min(d_h, N + S - 2))$, and is this for one head and for $N^S \le 1024$: Theorem S6.)

    Args:
        d_vocab: Number of tokens, $N$.
        n_ctx: Tokens in a context, $S$.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.

    Returns:
        The rank.

    Raises:
        HypothesisError: Sizes for which the formula is not proved.
        InputError: Sizes that fit no model.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, where it holds.

    Example:
        >>> all_contexts_rank(3, 4, d_model=3, d_head=2, n_heads=10)
        23
    """
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    _require_contexts(d_vocab, n_ctx)
    if not with_skip:
        if n_ctx != 2:
            raise HypothesisError("Theorem S5 without the skip connection", "S = 2", f"S = {n_ctx}")
        inside = (n_heads - 1) * min(d_head, d_vocab) + min(d_model, d_vocab + 1)
        return min(d_vocab**2, n_heads * d_head, inside)
    if n_ctx > 2 and d_head > d_vocab:
        raise HypothesisError("Theorem S5", "d_h <= N or S = 2", f"d_h = {d_head}, N = {d_vocab}, S = {n_ctx}")
    return min(d_vocab**n_ctx, min(d_model, d_vocab) + n_heads * min(d_head, d_vocab))


def all_contexts_heads(d_vocab: int, n_ctx: int, *, d_model: int, d_head: int) -> int:
    r"""Return the fewest heads with which all $N^S$ contexts have full rank, and at least 1.

    By Theorem S5 it is $\lceil (N^S - \min(d, N)) / d_h \rceil$; no weights do with fewer.

    Args:
        d_vocab: Number of tokens, $N$.
        n_ctx: Tokens in a context, $S \ge 2$.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le \min(d, N)$.

    Returns:
        H.

    Raises:
        HypothesisError: Contexts of one token, or a head wider than the vocabulary.
        InputError: Sizes that fit no model.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, where it holds.

    Example:
        >>> all_contexts_heads(4, 3, d_model=4, d_head=4)
        15
    """
    check_sizes(d_model=d_model, d_head=d_head, n_heads=1)
    require_at_least(1, d_vocab=d_vocab)
    if n_ctx < 2 or d_head > d_vocab:
        raise HypothesisError("Theorem S5", "S >= 2 and d_h <= N", f"S = {n_ctx}, d_h = {d_head}, N = {d_vocab}")
    return max(1, -(-(d_vocab**n_ctx - min(d_model, d_vocab)) // d_head))


def all_contexts_windows(
    d_vocab: int, n_ctx: int, *, d_model: int, d_head: int, n_heads: int
) -> tuple[Int64Array, Partition]:
    r"""List contexts over a vocabulary with a partition that proves `all_contexts_rank` for $d_h \le N$.

    The contexts come in blocks, one of each last token $c = 1, \dots, N$. The first block has the constant contexts;
    block $(j, \omega, r)$, $j < S$, $r < N$, $\omega \in [N]^{S-1-j}$, has $(c, \dots, c, f_r(c), \omega, c)$
    with the token $f_r(c)$ at position $j$, where $f_r(c) = r$ for $c \ne r$ and $f_r(r) = N$. If $d < N$, the constant
    contexts $c > d$ change places with the contexts of the last token $c$ of block $(1, \omega_0, c)$, for $c = N$ of
    $(1, \omega_0, 1)$. The first $\min(d, N)$ contexts of the list are for the skip connection, then $d_h$ for each
    head.

    Args:
        d_vocab: Number of tokens, $N$.
        n_ctx: Tokens in a context, $S \ge 2$.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le \min(d, N)$.
        n_heads: Number of heads, $H$.

    Returns:
        The first $\min(N^S, \min(d, N) + H d_h)$ contexts of the list, and their partition.

    Raises:
        HypothesisError: A head wider than the vocabulary.
        InputError: Sizes that fit no model.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, where it holds.

    Example:
        >>> contexts, partition = all_contexts_windows(2, 2, d_model=2, d_head=1, n_heads=2)
        >>> contexts.tolist(), partition.skip, [window.rows for window in partition.windows]
        ([[0, 0], [1, 1], [1, 0], [0, 1]], (0, 1), [(2,), (3,)])
    """
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    _require_contexts(d_vocab, n_ctx)
    if d_head > d_vocab:
        raise HypothesisError("Theorem S5 with windows", "d_h <= N", f"d_h = {d_head}, N = {d_vocab}")
    of_skip = min(d_model, d_vocab)
    most = min(d_vocab**n_ctx, of_skip + n_heads * d_head)
    contexts, positions = [], []
    for (context, position), _ in zip(_listed(d_vocab, n_ctx, of_skip), range(most), strict=False):
        contexts.append(context)
        positions.append(position)
    windows = []
    for head in range(n_heads):
        rows = range(min(most, of_skip + head * d_head), min(most, of_skip + (head + 1) * d_head))
        windows.append(Window(tuple(rows), tuple(positions[row] for row in rows)))
    return np.array(contexts, dtype=np.int64), Partition(skip=tuple(range(min(most, of_skip))), windows=tuple(windows))


def _listed(d_vocab: int, n_ctx: int, of_skip: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Return all contexts in the order of the blocks, with the position of the difference that their window uses."""
    final = d_vocab - 1  # tokens from 0: N of the text is `final`, and d + 1 is `of_skip`

    def in_block(j: int, tail: tuple[int, ...], r: int, c: int) -> tuple[tuple[int, ...], int]:
        return (*[c] * j, final if c == r else r, *tail, c), j

    first = (0,) * (n_ctx - 2)
    for c in range(d_vocab):
        yield ((c,) * n_ctx, 0) if c < of_skip else in_block(0, first, 0 if c == final else c, c)
    for j in range(n_ctx - 1):
        for tail in product(range(d_vocab), repeat=n_ctx - 2 - j):
            for r in range(d_vocab - 1):
                for c in range(d_vocab):
                    displaced = c >= of_skip and (j, tail) == (0, first) and r == (0 if c == final else c)
                    yield ((c,) * n_ctx, 0) if displaced else in_block(j, tail, r, c)


def _require_contexts(d_vocab: int, n_ctx: int) -> None:
    require_at_least(1, d_vocab=d_vocab)
    if n_ctx < 2:
        raise HypothesisError("Theorem S5", "S >= 2", f"S = {n_ctx}")
