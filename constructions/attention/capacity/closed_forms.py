r"""Apply the theorems on generic ranks to a set of contexts, each where its hypotheses hold.

Pages: docs/claims/closed_forms.md, docs/claims/long_contexts.md
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from constructions.attention.capacity.bigram_rank import bigram_rank
from constructions.attention.capacity.generic_rank import check_sizes
from constructions.attention.capacity.partition import partition
from constructions.attention.capacity.sub_alphabet import dimensions
from constructions.attention.capacity.windows import all_contexts_rank
from constructions.errors import HypothesisError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

_LARGEST_SEARCH = 256  # contexts up to which a partition is searched for by exchanges


@dataclass(frozen=True)
class ClosedForm:
    r"""The bounds that one theorem gives for the generic rank $R^*$ of a set of contexts.

    Args:
        theorem: Its name on the page, e.g. ``"Theorem S2"``.
        hypothesis: Its hypothesis, which holds.
        lower: $R^*$ is at least this: almost all weights reach it.
        upper: $R^*$ is at most this: no weights exceed it.
    """

    theorem: str
    hypothesis: str
    lower: int
    upper: int

    @property
    def exact(self) -> bool:
        """Whether the theorem gives the rank itself."""
        return self.lower == self.upper


def closed_forms(
    contexts: Int64Array,
    *,
    d_model: int,
    d_head: int,
    n_heads: int,
    with_skip: bool = True,
    search: bool = True,
    seed: int = 0,
) -> tuple[ClosedForm, ...]:
    r"""Apply every theorem whose hypotheses hold: S1 or G2, S4, S5, S2 and S3.

    Theorems G2, S4 and S3 bound the rank from below; their upper bounds are those of U1 and U2 for all contexts
    together.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features; P and D need it.
        search: Whether to apply the theorems that need an elimination (S2) or, up to 256 contexts, a search (S3).
        seed: Seed of the random points of both.

    Returns:
        What each theorem says.

    Raises:
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.
        ResourceError: The elimination would not fit into memory.

    Example:
        >>> bigrams = np.array([[n, c] for n in range(3) for c in range(3)])
        >>> for found in closed_forms(bigrams, d_model=2, d_head=2, n_heads=3):
        ...     print(found.theorem, found.lower, found.upper)
        Theorem G2 5 8
        Theorem S5 8 8
        Theorem S2 8 8
        Theorem S3 8 8
    """
    contexts = checked_contexts(contexts, distinct=True)
    sizes: dict[str, Any] = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    check_sizes(**sizes)
    n_contexts, n_ctx = contexts.shape
    if n_ctx == 1:
        rank = min(d_model, n_contexts) if with_skip else min(d_model, n_contexts, n_heads * d_head)
        return (ClosedForm("Theorem S1", "S = 1", rank, rank),)
    d_vocab = len(np.unique(contexts))
    upper = dimensions(contexts, exact=False).rank_bound(**sizes, with_skip=with_skip)

    def bracket(theorem: str, hypothesis: str, lower: int) -> ClosedForm:
        return ClosedForm(theorem, hypothesis, lower, upper)

    forms = [bracket("Theorem G2", "S >= 2", universal_rank(contexts, **sizes, with_skip=with_skip))]
    if with_skip and n_ctx > d_head:
        forms.append(bracket("Theorem S4", "S - 1 >= d_h", long_contexts_rank(contexts, **sizes)))
    if n_contexts == d_vocab**n_ctx and (n_ctx == 2 or (with_skip and d_head <= d_vocab)):
        rank = all_contexts_rank(d_vocab, n_ctx, **sizes, with_skip=with_skip)
        forms.append(ClosedForm("Theorem S5", "all N^S contexts, d_h <= N or S = 2", rank, rank))
    if search and n_ctx == 2:
        rank = bigram_rank(contexts, **sizes, with_skip=with_skip, seed=seed).rank
        forms.append(ClosedForm("Theorem S2", "S = 2", rank, rank))
    if search and with_skip and n_contexts <= _LARGEST_SEARCH:
        forms.append(bracket("Theorem S3", "S >= 2", partition(contexts, **sizes, seed=seed).size))
    return tuple(forms)


def universal_rank(contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True) -> int:
    r"""Return the rank that every set of contexts reaches: the dimensions of the skip connection plus one per head.

    $R^* \ge \min(T, \min(d, j) + H)$ with $j$ the number of distinct last tokens, and $R^* \ge \min(T, H)$ for heads
    alone. For $d_h = 1$ the first is an equality, whatever the contexts.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`, $S \ge 2$.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.

    Returns:
        The lower bound.

    Raises:
        HypothesisError: Contexts of one token, to which heads add nothing.
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.

    Source: what the proof of Dana, Pydi, Chevaleyre (2024), Lemma 2, gives.

    Example:
        >>> universal_rank(np.array([[0, 0], [1, 0], [2, 0]]), d_model=4, d_head=1, n_heads=1)
        2
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    if contexts.shape[1] < 2:
        raise HypothesisError("Theorem G2", "contexts of S >= 2 tokens", "S = 1")
    of_skip = min(d_model, len(np.unique(contexts[:, -1]))) if with_skip else 0
    return min(len(contexts), of_skip + n_heads)


def long_contexts_rank(contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int) -> int:
    r"""Return the rank reached by contexts longer than the heads are wide; it depends only on the multiplicities of
    their last tokens.

    With $m_1 \ge m_2 \ge \dots \ge m_J$ the numbers of contexts with the same last token,

    $$ R^* \ge \min_{0 \le j \le J} \; \min(d, j) + H \min(d_h, j) + m_{j+1} + \dots + m_J . $$

    In particular the rank is full if $m_1 + \dots + m_j \le \min(d, j) + H \min(d_h, j)$ for every $j$.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`, $S \ge d_h + 1$.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.

    Returns:
        The lower bound.

    Raises:
        HypothesisError: Contexts of $d_h$ tokens or fewer.
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> contexts = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]])
        >>> long_contexts_rank(contexts, d_model=2, d_head=2, n_heads=1)
        4
        >>> long_contexts_rank(contexts, d_model=2, d_head=2, n_heads=2)
        5
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    if contexts.shape[1] <= d_head:
        raise HypothesisError("Theorem S4", "S - 1 >= d_h", f"S = {contexts.shape[1]}, d_h = {d_head}")
    multiplicities = np.sort(np.unique(contexts[:, -1], return_counts=True)[1])[::-1]
    n_heads = min(n_heads, len(contexts))  # more change nothing, and the product could wrap around
    j = np.arange(len(multiplicities) + 1)
    remaining = len(contexts) - np.concatenate([[0], np.cumsum(multiplicities)])
    return int((np.minimum(d_model, j) + n_heads * np.minimum(d_head, j) + remaining).min())
