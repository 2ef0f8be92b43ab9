"""Bound the rank that heads of each width and number reach on given contexts, next to the printed count.

Pages: docs/claims/capacity.md, docs/rank_profile.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from constructions.attention.capacity.generic_rank import check_sizes, generic_ranks_of_both
from constructions.attention.capacity.head_counts import Progress, bounds_are_met, sharpened
from constructions.attention.capacity.sub_alphabet import Peeling, peel
from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

_MOST_SHARPENED = 1024  # contexts up to which relations are looked for where the bounds leave a gap


@dataclass(frozen=True)
class RankCell:
    r"""Proved bounds of $R^*$, the largest rank that any weights of some sizes reach.

    Args:
        d_head: $d_h$.
        n_heads: $H$.
        with_skip: Whether the last embedding is among the features, $[x_S \mid Y]$; otherwise the heads alone, $Y$.
        lower: Almost all weights of these sizes reach this rank.
        upper: No weights of these sizes exceed this rank.
        printed: The count of the paper: $\min(T, H d_h + d)$ with the skip connection, $\min(T, H d_h)$ without.
        proof: The proof of `upper`: a bound of Theorem G3, or the shape of the matrix.
    """

    d_head: int
    n_heads: int
    with_skip: bool
    lower: int
    upper: int
    printed: int
    proof: str

    @property
    def printed_fails(self) -> bool:
        """Whether it is proved that no weights of these sizes reach the printed count."""
        return self.upper < self.printed

    @property
    def words(self) -> str:
        """The rank, or its bounds."""
        return str(self.lower) if self.lower == self.upper else f"{self.lower}-{self.upper}"


@dataclass(frozen=True, eq=False)
class RankProfile:
    """The ranks that some contexts allow, for several widths and numbers of heads, with and without the skip
    connection.

    Args:
        n_contexts: T.
        d_model: $d$.
        cells: One for each width, number of heads, and whether the skip connection is among the features.
    """

    n_contexts: int
    d_model: int
    cells: tuple[RankCell, ...]

    def table(self, *, with_skip: bool) -> list[list[RankCell]]:
        """Return the cells with or without the skip connection: a row per width, a column per number of heads."""
        cells = [cell for cell in self.cells if cell.with_skip == with_skip]
        widths = sorted({cell.d_head for cell in cells})
        return [sorted((c for c in cells if c.d_head == width), key=lambda cell: cell.n_heads) for width in widths]


def rank_profile(
    contexts: Int64Array,
    *,
    d_model: int,
    d_heads: Sequence[int] | None = None,
    n_heads: int = 4,
    eliminate: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> RankProfile:
    r"""Bracket the largest rank of the features of contexts for each width $d_h$ and 0 to `n_heads` heads.

    From below the rank at a random point of a prime field, a lower bound whatever point was drawn (`generic_ranks`);
    one elimination serves all numbers of heads, with the skip connection and without. From above the bounds of Theorem
    G3 over sub-alphabets and, where a gap is left, over the contexts that take part in linear relations. Both are
    proofs, only of integers.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the residual stream, $d$.
        d_heads: Widths of a head; by default the powers of two below $d$, and $d$.
        n_heads: The largest number of heads.
        eliminate: Whether to eliminate; without it the lower bounds are those of Theorem G2, for many contexts.
        seed: Seed of the random points.
        progress: Called with a sentence before each width.

    Returns:
        The profile.

    Raises:
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.
        ResourceError: The elimination would not fit into memory.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2 and Theorem 1, for one's own contexts.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> profile = rank_profile(xor, d_model=4, d_heads=[2, 4], n_heads=2)
        >>> [[(cell.words, cell.printed) for cell in row] for row in profile.table(with_skip=False)]
        [[('0', 0), ('2', 2), ('4', 4)], [('0', 0), ('3', 4), ('4', 4)]]
    """
    contexts = checked_contexts(contexts, distinct=True)
    widths = _default_widths(d_model) if d_heads is None else sorted(set(d_heads))
    if not widths:
        raise InputError("d_heads", "is empty", "widths of a head")
    for width in widths:
        check_sizes(d_model=d_model, d_head=width, n_heads=n_heads)
    peeling, cells, report = peel(contexts), list[RankCell](), progress or _silent
    for width in widths:
        report(f"ranks of {len(contexts)} contexts with heads of width {width}")
        cells += _of_width(peeling, d_model, width, n_heads, eliminate=eliminate, seed=seed, report=report)
    return RankProfile(len(contexts), d_model, tuple(cells))


def _default_widths(d_model: int) -> list[int]:
    check_sizes(d_model=d_model, d_head=1, n_heads=0)
    return sorted({*(1 << k for k in range(d_model.bit_length())), d_model})


def _of_width(
    peeling: Peeling, d_model: int, d_head: int, n_heads: int, *, eliminate: bool, seed: int, report: Progress
) -> Iterator[RankCell]:
    """Yield the cells of one width."""
    contexts = peeling.contexts
    sizes: dict[str, Any] = {"d_model": d_model, "d_head": d_head}
    limits = {skip: peeling.rank_bounds(**sizes, n_heads=n_heads, with_skip=skip) for skip in (True, False)}
    if bounds_are_met(contexts, d_head):
        ranks = limits
    elif eliminate:
        lower_bounds = generic_ranks_of_both(
            contexts, **sizes, n_heads=n_heads, seed=seed, limits=limits[True], limits_alone=limits[False]
        )
        ranks = dict(zip((True, False), lower_bounds, strict=True))
    else:
        last_tokens = min(d_model, len(np.unique(contexts[:, -1])))
        each_adds_one = np.minimum(np.arange(n_heads + 1), len(contexts))  # Theorem G2
        ranks = {True: np.minimum(last_tokens + each_adds_one, len(contexts)), False: each_adds_one}
    for with_skip in (False, True):
        for heads in range(n_heads + 1):
            bound = peeling.upper_bound(**sizes, n_heads=heads, with_skip=with_skip)
            lower, columns = int(ranks[with_skip][heads]), heads * d_head + (d_model if with_skip else 0)
            if lower < bound.rank and eliminate and len(contexts) <= _MOST_SHARPENED:
                bound = sharpened(contexts, bound, seed=seed, report=report)
            shape = min(len(contexts), columns)
            upper = min(bound.rank, shape)
            proof = "the shape" if upper == shape else f"Theorem G3 on {len(bound.rows)} of the contexts"
            yield RankCell(d_head, heads, with_skip, lower, upper, shape, proof)


def _silent(_: str) -> None:
    pass
