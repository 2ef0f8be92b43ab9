"""Count the contexts that the features of attention heads can tell apart, next to the paper's count.

Page: docs/claims/capacity.md
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from constructions.attention.capacity.closed_forms import ClosedForm, closed_forms, universal_rank
from constructions.attention.capacity.generic_rank import (
    PRIME,
    check_sizes,
    dependent_contexts,
    generic_ranks,
    generic_ranks_of_both,
)
from constructions.attention.capacity.sub_alphabet import Peeling, UpperBound, peel, upper_bound
from constructions.counted import counted
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

Progress = Callable[[str], None]

_MOST_CLOSED = 1024  # contexts up to which the theorems that need an elimination or a search of their own are applied


@dataclass(frozen=True, eq=False)
class HeadCount:
    """The number of heads that make the features of all contexts linearly independent.

    Args:
        necessary: No weights do with fewer heads; `None` if no number of heads does.
        sufficient: Almost all weights do with this many heads; `None` if no such number was found.
        ranks: Certified lower bounds of the rank with 0, 1, ... heads.
        witness: The upper bound below $T$ with `necessary` - 1 heads (with any number of heads if `necessary` is
            `None`); `None` if `necessary` is 0.
    """

    necessary: int | None
    sufficient: int | None
    ranks: Int64Array
    witness: UpperBound | None


@dataclass(frozen=True, eq=False)
class Capacity:
    r"""The number of contexts that a number of heads can memorize: the paper's count and the certified number.

    The rank is the largest number of linearly independent rows of $[x_S \mid Y]$ that any weights reach. If it is $T$,
    a linear solve meets almost every target of d coordinates exactly, and all of them if $Y$ alone has rank $T$.

    Args:
        n_contexts: Number of contexts, $T$.
        n_ctx: Tokens in a context, $S$.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h$.
        n_heads: The number of heads, $H$, that the ranks are about.
        paper_rank: The paper's count $\min(T, H d_h + d)$.
        rank_lower: Certified: almost all weights reach this rank.
        rank_upper: Certified: no weights exceed this rank.
        lower_method: The proof of `rank_lower`, in words.
        upper_witness: The proof of `rank_upper`.
        paper_heads: The paper's number of heads for rank $T$, $\lceil (T - d) / d_h \rceil$ or 0.
        heads: The number of heads for rank $T$.
        heads_alone: The same without the skip connection's $x_S$ among the features: what a construction needs that
            leaves the skip connection as it is.
        ranks_upper: Certified upper bounds of the rank with 0, 1, ... heads, as long as `heads.ranks`.
        closed_forms: What the theorems of docs/claims/closed_forms.md say of the rank, where their hypotheses hold.
        upper_bounds: The smallest bounds found of each kind, with the sets that prove them: ``"U1"``, ``"U2"``,
            ``"peeling"`` (the smallest of all over sub-alphabets), and for $H \ge 1$ ``"U1'"``, which is about
            heads alone.
        seconds: Time taken.
    """

    n_contexts: int
    n_ctx: int
    d_model: int
    d_head: int
    n_heads: int
    paper_rank: int
    rank_lower: int
    rank_upper: int
    lower_method: str
    upper_witness: UpperBound
    paper_heads: int
    heads: HeadCount
    heads_alone: HeadCount
    ranks_upper: Int64Array
    closed_forms: tuple[ClosedForm, ...]
    upper_bounds: Mapping[str, UpperBound]
    seconds: float

    @property
    def fewest_heads(self) -> int | None:
        """The smallest number of heads known to reach rank T."""
        return self.heads.sufficient

    @property
    def necessary_heads(self) -> int | None:
        """Heads below which no weights reach rank T."""
        return self.heads.necessary

    @property
    def fewest_heads_alone(self) -> int | None:
        """The smallest number of heads known to reach rank T without the skip connection."""
        return self.heads_alone.sufficient

    @property
    def upper_method(self) -> str:
        """The argument that proves `rank_upper`, in words."""
        if self.rank_upper == min(self.n_contexts, self.n_heads * self.d_head + self.d_model):
            return "the number of contexts or of columns"
        named = [name for name in ("U1", "U2") if self.upper_bounds[name].rank == self.rank_upper]
        bound = f"bound {named[0]} of Theorem G3" if named else "Theorem G3"
        return f"{bound} on {len(self.upper_witness.rows)} of the contexts, for all weights"

    @property
    def explanation(self) -> str:
        """One sentence on the number of heads, for a reader."""
        if self.heads.necessary is None:
            return (
                f"no number of heads makes the {self.n_contexts} contexts independent: with one token in a context "
                f"attention sees nothing but that token, and the rank stays at {self.rank_upper}"
            )
        if self.heads.sufficient is None:
            return f"no weights do with fewer than {self.heads.necessary} heads; how many suffice was not looked for"
        if self.heads.sufficient == 0:
            return "the skip connection suffices, without any head"
        heads = f"{counted(self.heads.sufficient, 'head')} suffice{'s' * (self.heads.sufficient == 1)}"
        if self.heads.sufficient == self.heads.necessary:
            return f"{heads}, and no weights do with fewer"
        return f"{heads}, and no fewer than {self.heads.necessary} can"


def capacity(
    contexts: Int64Array,
    *,
    d_model: int,
    d_head: int,
    n_heads: int | None = None,
    eliminate: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Capacity:
    r"""Bracket the rank that attention features reach on these contexts, and the heads they need for rank $T$.

    The paper counts $\min(T, H d_h + d)$ for any $T$ contexts. The truth is bracketed: from above by the best bound
    $|T \setminus U| + \operatorname{bound}(U)$ over sub-alphabets $U$ and, where those leave a gap, over the contexts
    that take part in linear relations; from below by the generic rank over a prime field. Both are proofs; no
    floating-point number takes part.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: The number of heads to bracket the rank for; the paper's `paper_heads` by default.
        eliminate: Whether to eliminate over the prime field, which takes about $T^2 (d + H d_h)$ operations. Without
            it the lower bounds are the universal $\min(T, \min(d, j) + H)$, and no sufficient number of heads is
            found. Heads of width 1, contexts of one token, and of two with one last token need none.
        seed: Seed of the random points.
        progress: Called with a sentence before each part of the work.

    Returns:
        The paper's counts and the certified ones.

    Raises:
        InputError: Sizes that fit no model (such as $d_h > d$), or contexts that are not distinct rows of tokens.
        ResourceError: The elimination would not fit into memory.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2 and Theorem 1, corrected.

    Example:
        The paper's count promises four independent contexts with one head of width 4; there are three (XOR).

        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> result = capacity(xor, d_model=4, d_head=4, n_heads=1)
        >>> result.paper_rank, result.rank_lower, result.rank_upper
        (4, 3, 3)
        >>> result.paper_heads, result.fewest_heads, result.explanation
        (0, 2, '2 heads suffice, and no weights do with fewer')
    """
    start = time.perf_counter()
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads or 0)
    paper_heads = max(0, -(-(len(contexts) - d_model) // d_head))
    n_heads = paper_heads if n_heads is None else n_heads
    report = progress or _silent

    report(f"peeling sub-alphabets of {len(contexts)} contexts")
    peeling = peel(contexts)
    known = bounds_are_met(contexts, d_head)
    eliminated: dict[bool, Int64Array] = {}
    if eliminate and not known:
        eliminated = _ranks_of_both_up_to_full(peeling, d_model, d_head, seed=seed, report=report)
    count = {
        with_skip: _head_count(
            peeling,
            d_model,
            d_head,
            with_skip=with_skip,
            eliminate=eliminate,
            seed=seed,
            report=report,
            eliminated=eliminated.get(with_skip),
        )
        for with_skip in (True, False)
    }
    ranks = count[True].ranks
    # With more heads the rank is no smaller, so the last lower bound holds beyond the last number of heads too.
    rank_lower = int(ranks[min(n_heads, len(ranks) - 1)])
    if not eliminate and not known:
        rank_lower = _without_elimination(contexts, d_model, d_head, n_heads)
    sizes: dict[str, Any] = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    peeled = peeling.upper_bound(**sizes)
    witness = peeled
    if eliminate and rank_lower < witness.rank:
        witness = sharpened(contexts, witness, seed=seed, report=report)
    search = eliminate and len(contexts) <= _MOST_CLOSED
    if search:
        report(f"closed forms of {len(contexts)} contexts with {n_heads} heads")
    theorems = closed_forms(contexts, **sizes, search=search, seed=seed)
    return Capacity(
        n_contexts=contexts.shape[0],
        n_ctx=contexts.shape[1],
        d_model=d_model,
        d_head=d_head,
        n_heads=n_heads,
        paper_rank=min(len(contexts), n_heads * d_head + d_model),
        rank_lower=rank_lower,
        rank_upper=witness.rank,
        lower_method=_lower_method(contexts, d_head, eliminate=eliminate),
        upper_witness=witness,
        paper_heads=paper_heads,
        heads=count[True],
        heads_alone=count[False],
        ranks_upper=peeling.rank_bounds(d_model=d_model, d_head=d_head, n_heads=len(ranks) - 1),
        closed_forms=theorems,
        upper_bounds={"peeling": peeled, **_by_name(peeling, witness.rows, **sizes)},
        seconds=time.perf_counter() - start,
    )


def fewest_heads(
    contexts: Int64Array,
    *,
    d_model: int,
    d_head: int,
    with_skip: bool = True,
    eliminate: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> HeadCount:
    r"""Find the number of heads at which the features of all contexts become linearly independent.

    The upper bounds of `constructions.attention.capacity.sub_alphabet` say below which number no weights do; that
    number is
    tried, and more only if the generic rank falls short there. The rank grows by less and less from head to head, so
    the next try follows from the last growth.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.
        eliminate: Whether to look for a sufficient number, by eliminations over a prime field.
        seed: Seed of the random points.
        progress: Called with a sentence before each part of the work.

    Returns:
        The necessary and the sufficient number, with their proofs.

    Raises:
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.
        ResourceError: The elimination would not fit into memory.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, corrected.

    Example:
        >>> bigrams = np.array([[n, m] for n in range(4) for m in range(4)])
        >>> count = fewest_heads(bigrams, d_model=4, d_head=3)
        >>> count.necessary, count.sufficient, count.ranks
        (4, 4, array([ 4,  7, 10, 13, 16]))
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=0)
    report = progress or _silent
    return _head_count(
        peel(contexts), d_model, d_head, with_skip=with_skip, eliminate=eliminate, seed=seed, report=report
    )


def _head_count(
    peeling: Peeling,
    d_model: int,
    d_head: int,
    *,
    with_skip: bool,
    eliminate: bool,
    seed: int,
    report: Progress,
    eliminated: Int64Array | None = None,
) -> HeadCount:
    contexts = peeling.contexts
    name = "heads beside the skip connection" if with_skip else "heads alone"
    necessary = peeling.fewest_heads(d_model=d_model, d_head=d_head, with_skip=with_skip)
    # Without a number of heads that suffices, as many as there are contexts reach what can be reached.
    n_heads = len(contexts) if necessary is None else necessary
    if bounds_are_met(contexts, d_head):
        ranks = peeling.rank_bounds(d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip)
    elif eliminated is not None:
        ranks = eliminated
    elif eliminate:

        def ranks_with(heads: int) -> tuple[Int64Array]:
            report(f"rank of {len(contexts)} contexts with {heads} {name}")
            sizes: dict[str, Any] = {"d_model": d_model, "d_head": d_head, "n_heads": heads, "with_skip": with_skip}
            return (generic_ranks(contexts, **sizes, seed=seed, limits=peeling.rank_bounds(**sizes)),)

        [ranks] = _up_to_full(ranks_with, len(contexts), d_head, n_heads)
    else:
        without_heads = _without_elimination(contexts, d_model, d_head, 0) if with_skip else 0
        ranks = np.minimum(len(contexts), without_heads + np.arange(n_heads + 1))  # Theorem G2
    full = np.flatnonzero(ranks == len(contexts))
    sufficient = int(full[0]) if len(full) else None

    def bound(heads: int) -> UpperBound:
        return peeling.upper_bound(d_model=d_model, d_head=d_head, n_heads=heads, with_skip=with_skip)

    witness = None
    if necessary is None:
        witness = bound(len(contexts))
    elif sufficient is not None and sufficient > necessary:
        sharper = sharpened(contexts, bound(sufficient - 1), seed=seed, report=report)
        if sharper.rank < len(contexts):
            necessary, witness = sufficient, sharper
    if witness is None and necessary:
        witness = bound(necessary - 1)
    return HeadCount(necessary=necessary, sufficient=sufficient, ranks=ranks, witness=witness)


def _ranks_of_both_up_to_full(
    peeling: Peeling, d_model: int, d_head: int, *, seed: int, report: Progress
) -> dict[bool, Int64Array]:
    """Return lower bounds of the rank with 0, 1, ... heads, with and without the skip connection, until both are
    full.
    """
    contexts = peeling.contexts
    sizes: dict[str, Any] = {"d_model": d_model, "d_head": d_head}

    def ranks_with(heads: int) -> tuple[Int64Array, ...]:
        report(f"rank of {len(contexts)} contexts with {heads} heads, beside the skip connection and alone")
        with_skip_ranks, alone = (peeling.rank_bounds(**sizes, n_heads=heads, with_skip=skip) for skip in (True, False))
        return generic_ranks_of_both(
            contexts, **sizes, n_heads=heads, seed=seed, limits=with_skip_ranks, limits_alone=alone
        )

    necessary = [peeling.fewest_heads(**sizes, with_skip=skip) for skip in (True, False)]
    most = max(len(contexts) if skip is None else skip for skip in necessary)
    ranks = _up_to_full(ranks_with, len(contexts), d_head, most)
    return dict(zip((True, False), ranks, strict=True))


def _up_to_full(
    ranks_with: Callable[[int], tuple[Int64Array, ...]], full: int, d_head: int, n_heads: int
) -> tuple[Int64Array, ...]:
    """Extend the ranks until they are full or there is a head per context."""
    while True:
        reached = ranks_with(n_heads)
        ranks = min(reached, key=lambda each: int(each[-1]))
        missing = full - int(ranks[-1])
        if missing == 0 or n_heads >= full:
            return reached
        growth = max(1, int(ranks[-1] - ranks[-2])) if n_heads else d_head
        n_heads = min(full, n_heads - (-missing // growth))


def sharpened(contexts: Int64Array, bound: UpperBound, *, seed: int, report: Progress) -> UpperBound:
    """Return the bound, or a smaller one that follows from the contexts in linear relations."""
    report(f"linear relations between {len(contexts)} contexts with {bound.n_heads} heads")
    sizes = {
        "d_model": bound.d_model,
        "d_head": bound.d_head,
        "n_heads": bound.n_heads,
        "with_skip": bound.with_skip,
    }
    other = upper_bound(contexts, dependent_contexts(contexts, **sizes, seed=seed), **sizes)
    return min(bound, other, key=lambda candidate: candidate.rank)


def _by_name(peeling: Peeling, rows: Int64Array, *, d_model: int, d_head: int, n_heads: int) -> dict[str, UpperBound]:
    """Return the smallest bound of each kind over all sub-alphabets and the given set of contexts."""
    sizes: dict[str, Any] = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    smallest = {}
    for name in ("U1", "U2", "U1'") if n_heads else ("U1", "U2"):
        kind: dict[str, Any] = {**sizes, "with_skip": name != "U1'", "name": name}
        smallest[name] = min(
            peeling.upper_bound(**kind), upper_bound(peeling.contexts, rows, **kind), key=lambda bound: bound.rank
        )
    return smallest


def bounds_are_met(contexts: Int64Array, d_head: int) -> bool:
    """Tell whether the bounds of all contexts together equal the generic rank: by Theorem S1, G2, or S2 for one last
    token.
    """
    n_ctx = contexts.shape[1]
    return n_ctx == 1 or d_head == 1 or (n_ctx == 2 and len(np.unique(contexts[:, -1])) == 1)


def _lower_method(contexts: Int64Array, d_head: int, *, eliminate: bool) -> str:
    """Name the argument that proves the lower bound of the rank."""
    if bounds_are_met(contexts, d_head):
        theorem = "G2" if contexts.shape[1] == 1 else "S1" if d_head == 1 else "S2"
        return f"Theorem {theorem}, by which such contexts reach the upper bound"
    if not eliminate:
        return "Theorem G2, for any contexts: so many contexts are not eliminated"
    return (
        f"the rank at a random point modulo the prime {PRIME}, which is a lower bound whatever point was drawn, and "
        "almost all weights reach it"
    )


def _without_elimination(contexts: Int64Array, d_model: int, d_head: int, n_heads: int) -> int:
    """Return the rank that every set of contexts reaches."""
    if contexts.shape[1] == 1:
        return min(d_model, len(contexts))
    return universal_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)


def _silent(_: str) -> None:
    pass
