r"""Certified upper bounds of the rank that attention features can reach, from contexts over few tokens.

Page: docs/claims/capacity.md
"""

import heapq
from dataclasses import astuple, dataclass, replace
from functools import lru_cache, reduce

import numpy as np
from flint import fmpz_mat, nmod_mat

from constructions.attention.capacity.gain_forest import GainForest
from constructions.attention.capacity.generic_rank import PRIME, check_sizes
from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

LEAST = "least"
"""The name of the smallest of the bounds $|U|$, U1, U2, and without the skip connection $H d_h$ and U1'."""

_MOST_STEPS = 256  # sub-alphabets looked at; of larger vocabularies several tokens are removed at a time
_LARGEST_INDICATORS = 2**22  # entries of an indicator matrix whose rank is worth its time


@dataclass(frozen=True)
class Dimensions:
    r"""Upper bounds of the dimension of the features of a set $U$ of contexts, for all weights at once.

    Args:
        contexts: $|U|$.
        last_tokens: $j(U)$, the number of distinct last tokens: dimensions of the skip connection's $x_S$.
        inputs: $q(U)$, dimensions of the span of the inputs $x_s$ that occur, for embeddings in general position.
        differences: $\ell(U)$, dimensions of the span of the differences $x_s - x_S$, likewise.
        variations: $\kappa(U) = \sum_c \kappa(U_c)$ over the last tokens c that occur, dimensions in which the
            attention outputs of contexts with the same last token can differ.
    """

    contexts: int
    last_tokens: int
    inputs: int
    differences: int
    variations: int

    def rank_bound(self, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True, name: str = LEAST) -> int:
        r"""Bound the rank of the features of $U$ from above, for every choice of the weights.

        $$ \operatorname{rank} G_U \le \min\bigl(|U|,\; \min(d, j) + H \min(d_h, \ell),\; j + H \kappa\bigr); $$

        without the skip connection also $\le H d_h$ and, for $H \ge 1$,
        $\le (H - 1) \min(d_h, \ell) + \min(d, q)$. Of these the bounds U1 and U2 are the second and the third, U1' is
        the last.

        Args:
            d_model: Width of the residual stream, $d$.
            d_head: Width of a head, $d_h \le d$.
            n_heads: Number of heads, $H$.
            with_skip: Whether the skip connection's $x_S$ belongs to the features.
            name: ``"U1"``, ``"U1'"`` or ``"U2"`` for one of the bounds, together with $|U|$, or ``"least"``.

        Returns:
            The bound.

        Raises:
            InputError: Sizes that fit no model, or the name of no bound of these features.

        Source: sharpens Dana, Pydi, Chevaleyre (2024), Lemma 2.

        Example:
            >>> dimensions(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])).rank_bound(
            ...     d_model=64, d_head=64, n_heads=1)
            3
        """
        check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
        table = np.array([astuple(self)], dtype=np.int64)
        sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
        return int(_rank_bounds(table, **sizes, with_skip=with_skip, name=name)[0])


@dataclass(frozen=True, eq=False)
class Peeling:
    """The sub-alphabets left by removing, again and again, the token that occurs in the fewest contexts.

    Args:
        contexts: The contexts, `[T, S]`.
        lifetime: Up to which step each context lives, `[T]`: it belongs to the sub-alphabets 0 .. `lifetime`.
        table: `Dimensions` of the contexts over each sub-alphabet, `[steps, 5]`; the first row is that of all.
    """

    contexts: Int64Array
    lifetime: Int64Array
    table: Int64Array

    def rank_bound(self, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True) -> int:
        r"""Return the smallest of the bounds $|T \setminus U| + \operatorname{bound}(U)$ over the sub-alphabets."""
        return int(self._bounds(d_model, d_head, n_heads, with_skip).min(initial=len(self.contexts)))

    def rank_bounds(self, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True) -> Int64Array:
        """Return `rank_bound` for 0 .. `n_heads` heads, `[n_heads + 1]`."""
        check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
        heads = np.arange(n_heads + 1)[:, None]
        inside = _rank_bounds(
            self.table, d_model=d_model, d_head=d_head, n_heads=heads, with_skip=with_skip, name=LEAST
        )
        outside = len(self.contexts) - self.table[:, 0]
        return (outside + inside).min(axis=1, initial=len(self.contexts))

    def upper_bound(
        self, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True, name: str = LEAST
    ) -> "UpperBound":
        """Return `rank_bound` with the contexts that prove it; with a name, the smallest of the bounds with that
        name.
        """
        bounds = self._bounds(d_model, d_head, n_heads, with_skip, name)
        best = int(bounds.argmin())
        rows = np.flatnonzero(self.lifetime >= best) if bounds[best] < len(self.contexts) else np.zeros(0, np.int64)
        sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
        return upper_bound(self.contexts, rows, **sizes, with_skip=with_skip, name=name)

    def fewest_heads(self, *, d_model: int, d_head: int, with_skip: bool = True) -> int | None:
        """Return the smallest number of heads that these bounds leave open for full rank, or `None` if they
        leave none.
        """

        def enough(n_heads: int) -> bool:
            bound = self.rank_bound(d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip)
            return bound == len(self.contexts)

        # Where a head can add something it adds at least one, so that more than T heads never help.
        low, high = 0, len(self.contexts)
        if not enough(high):
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle + 1, high)
        return low

    def _bounds(self, d_model: int, d_head: int, n_heads: int, with_skip: bool, name: str = LEAST) -> Int64Array:
        sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
        check_sizes(**sizes)
        inside = _rank_bounds(self.table, **sizes, with_skip=with_skip, name=name)
        return len(self.contexts) - self.table[:, 0] + inside


@dataclass(frozen=True, eq=False)
class UpperBound:
    r"""A bound $\operatorname{rank} G \le |T \setminus U| + \operatorname{bound}(U)$ and the set $U$ that proves it.

    Args:
        rank: The bound.
        rows: The contexts of $U$, as increasing row numbers; empty for the trivial bound $T$.
        dimensions: The dimensions that bound the rank of the features of $U$.
        d_model: Width of the residual stream.
        d_head: Width of a head.
        n_heads: Number of heads.
        with_skip: Whether the skip connection belongs to the features.
        name: Which bound of $U$ it is: ``"U1"``, ``"U1'"``, ``"U2"``, or ``"least"`` for the smallest of all.
    """

    rank: int
    rows: Int64Array
    dimensions: Dimensions
    d_model: int
    d_head: int
    n_heads: int
    with_skip: bool
    name: str = LEAST


def dimensions(contexts: Int64Array, *, exact: bool = True) -> Dimensions:
    r"""Count the dimensions that limit the features of these contexts.

    With formal basis vectors $e_n$ for the tokens and $f_s$ for the positions, $q$ is the rank of the vectors
    $e_{t_s} + f_s$, that is tokens plus positions minus the components of the graph that joins them; and $\ell$ the
    rank of the vectors $e_{t_s} - e_{t_S} + f_s - f_S$, that is tokens minus the components of the graph with the edges
    $t_s t_S$, plus the rank of the sums of $f_s - f_S$ around its cycles. Every choice of embeddings is a linear image
    of this one. For the contexts $U_c$ with the last token $c$, whose tokens and positions before the last form the
    components $i$ with $a_i$ tokens, $b_i$ positions and $m_i$ pairs of both,

    $$ \kappa(U_c) = \min\Bigl(|U_c| - 1,\; \rho - 1,\; \sum_i \min(a_i + b_i - 2,\; m_i - b_i)\Bigr), $$

    where $\rho$ is the rank of the indicator vectors of the pairs $(s, t_s)$ in each context. All ranks are exact: they
    are counts of components and ranks of integer matrices.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`; may be empty.
        exact: Whether to look at $\rho$, which takes time and is seldom the smallest. Without it, and for classes
            whose indicators would fill more than 2**22 entries, `variations` may be larger.

    Returns:
        The dimensions.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> dimensions(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]))
        Dimensions(contexts=4, last_tokens=1, inputs=4, differences=3, variations=2)
    """
    contexts = np.ascontiguousarray(contexts, dtype=np.int64)
    return _dimensions(contexts.shape, contexts.tobytes(), exact)


@lru_cache(maxsize=8)  # the bounds of each kind ask for the same few sets
def _dimensions(shape: tuple[int, ...], entries: bytes, exact: bool) -> Dimensions:
    if shape[0] == 0:
        return Dimensions(0, 0, 0, 0, 0)
    used, tokens = np.unique(np.frombuffer(entries, dtype=np.int64), return_inverse=True)
    tokens = tokens.reshape(shape)
    table, kappa = _table(tokens, len(used), np.zeros(len(tokens), dtype=np.int64))
    counted = Dimensions(*table[0].tolist())
    if not exact or shape[1] == 1:
        return counted
    # Two different contexts have independent indicators, so that only larger kappa can shrink.
    by_class = np.argsort(tokens[:, -1], kind="stable")
    starts = np.searchsorted(tokens[by_class, -1], np.arange(len(used) + 1)).tolist()
    shrunk = 0
    for c, most in enumerate(kappa):
        if most >= 2:
            members = tokens[by_class[starts[c] : starts[c + 1]], :-1]
            shrunk += most - min(most, _indicator_rank(members, enough=most + 1) - 1)
    return replace(counted, variations=counted.variations - shrunk)


def peel(contexts: Int64Array) -> Peeling:
    """Remove the token that occurs in the fewest contexts, with those contexts, until none is left.

    In a real text a few tokens make up most of the frequent contexts; what the others add is one dimension for each
    context at the most, while the contexts over the few tokens share dimensions. Of tokens in equally many contexts
    the largest number goes first. The search is greedy, the bounds it finds are certain.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.

    Returns:
        The sub-alphabets with their dimensions.

    Raises:
        InputError: Contexts that are not distinct rows of tokens.

    Example:
        >>> peel(np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])).table[:, 0]
        array([5, 4, 1])
    """
    contexts = checked_contexts(contexts, distinct=True)
    used, tokens = np.unique(contexts, return_inverse=True)
    tokens = tokens.reshape(contexts.shape)
    lifetime = _lifetimes(tokens, len(used), at_a_time=-(-len(used) // _MOST_STEPS))
    table, _ = _table(tokens, len(used), lifetime)
    return Peeling(contexts=contexts, lifetime=lifetime, table=table)


def upper_bound(
    contexts: Int64Array,
    rows: Int64Array,
    *,
    d_model: int,
    d_head: int,
    n_heads: int,
    with_skip: bool = True,
    name: str = LEAST,
) -> UpperBound:
    r"""Bound the rank of the features of all contexts by means of the set $U$ of the given rows.

    For every choice of the weights, $\operatorname{rank} G \le |T \setminus U| + \operatorname{rank} G_U$, and the
    second term is bounded by `Dimensions.rank_bound`.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        rows: Row numbers of $U$, increasing; may be empty.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        with_skip: Whether the skip connection's $x_S$ belongs to the features.
        name: ``"U1"``, ``"U1'"`` or ``"U2"`` for one of the bounds, together with $|U|$, or ``"least"``.

    Returns:
        The bound with its witness.

    Raises:
        InputError: Sizes that fit no model, or the name of no bound of these features.

    Example:
        >>> contexts = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
        >>> upper_bound(contexts, np.arange(4), d_model=4, d_head=4, n_heads=1).rank
        4
    """
    of_rows = dimensions(contexts[rows])
    inside = of_rows.rank_bound(d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip, name=name)
    return UpperBound(
        rank=len(contexts) - len(rows) + inside,
        rows=rows,
        dimensions=of_rows,
        d_model=d_model,
        d_head=d_head,
        n_heads=n_heads,
        with_skip=with_skip,
        name=name,
    )


def verify_upper_bound(contexts: Int64Array, bound: UpperBound) -> bool:
    """Prove an upper bound again from the contexts and the row numbers of its witness; use nothing else.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        bound: The bound; its stored numbers are not trusted.

    Returns:
        Whether the rows are a set of contexts, have the dimensions that are stored, and prove the rank that is stored.

    Raises:
        InputError: Contexts that are not distinct rows of tokens.

    Example:
        >>> from dataclasses import replace
        >>> loops = np.array([[n, n] for n in range(9)])
        >>> bound = peel(loops).upper_bound(d_model=3, d_head=3, n_heads=3, with_skip=False)
        >>> bound.rank, verify_upper_bound(loops, bound), verify_upper_bound(loops, replace(bound, rank=4))
        (5, True, False)
    """
    contexts = checked_contexts(contexts, distinct=True)
    rows = np.asarray(bound.rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        return False
    if len(rows) and (rows[0] < 0 or rows[-1] >= len(contexts) or (np.diff(rows) <= 0).any()):
        return False
    again = upper_bound(
        contexts,
        rows,
        d_model=bound.d_model,
        d_head=bound.d_head,
        n_heads=bound.n_heads,
        with_skip=bound.with_skip,
        name=bound.name,
    )
    return again.dimensions == bound.dimensions and again.rank == bound.rank


def _rank_bounds(
    table: Int64Array, *, d_model: int, d_head: int, n_heads: int | Int64Array, with_skip: bool, name: str
) -> Int64Array:
    """Return the bound of each row, `[rows]`; for a column of numbers of heads `[heads, rows]`."""
    contexts, last_tokens, inputs, differences, variations = table.T
    # No bound is above |U|, so that larger sizes change none; their products could wrap around.
    most = int(contexts.max(initial=1))
    d_model, d_head = min(d_model, most), min(d_head, most)
    heads = min(n_heads, most) if isinstance(n_heads, int) else np.minimum(n_heads, most)
    per_head = np.minimum(d_head, differences)
    bounds = {"U1": np.minimum(d_model, last_tokens) + heads * per_head, "U2": last_tokens + heads * variations}
    if not with_skip:
        bounds["columns"] = heads * d_head + np.zeros_like(contexts)
        if np.max(heads) > 0:  # without heads it is at least 0, which is what the columns say, since l <= q
            bounds["U1'"] = (heads - 1) * per_head + np.minimum(d_model, inputs)
    if name == LEAST:
        return reduce(np.minimum, bounds.values(), contexts)
    if name not in bounds:
        raise InputError("name", f"= {name!r}", f"{LEAST!r} or one of {', '.join(bounds)}")
    return np.minimum(contexts, bounds[name])


def _lifetimes(tokens: Int64Array, d_vocab: int, *, at_a_time: int) -> Int64Array:
    """Return the step up to which each context survives when the rarest tokens are removed, several at each step."""
    pairs = np.unique(tokens * len(tokens) + np.arange(len(tokens))[:, None])  # each token of a context once
    starts = np.searchsorted(pairs // len(tokens), np.arange(d_vocab + 1)).tolist()
    contexts_with = (pairs % len(tokens)).tolist()
    occurrences = np.diff(starts).tolist()
    rows = [set(row) for row in tokens.tolist()]
    rarest = [(count, -token) for token, count in enumerate(occurrences)]
    heapq.heapify(rarest)
    lifetime, left, step, removed = [-1] * len(tokens), len(tokens), 0, 0
    while left:
        count, token = heapq.heappop(rarest)
        if not 0 < count == occurrences[-token]:
            continue  # it has changed since, or went with the others
        for context in contexts_with[starts[-token] : starts[1 - token]]:
            if lifetime[context] < 0:
                lifetime[context], left = step, left - 1
                for other in rows[context]:
                    occurrences[other] -= 1
                    heapq.heappush(rarest, (occurrences[other], -other))
        removed += 1
        if removed == at_a_time:
            step, removed = step + 1, 0
    return np.array(lifetime, dtype=np.int64)


def _table(tokens: Int64Array, d_vocab: int, lifetime: Int64Array) -> tuple[Int64Array, list[int]]:
    """Return the `Dimensions` of the contexts that survive each step, `[steps, 5]`, and kappa of each last token at
    step 0.

    Contexts are added, those that live longest first: components only merge then, so that all steps together take
    hardly longer than one.
    """
    count, n_ctx = tokens.shape
    order = np.argsort(-lifetime, kind="stable")
    tokens, times = tokens[order], lifetime[order]
    last = tokens[:, -1]
    # What is new in each step; summed up below.
    new = np.zeros((int(times[0]) + 1, 5), dtype=np.int64)
    np.add.at(new[:, 0], times, 1)
    np.add.at(new[:, 1], times[np.unique(last, return_index=True)[1]], 1)

    # Tokens and positions: the rank of a graph is the number of edges that join two of its components.
    graph = GainForest(d_vocab + n_ctx)
    places, first = np.unique(tokens + d_vocab * np.arange(n_ctx), return_index=True)
    for i in np.argsort(first, kind="stable").tolist():
        if isinstance(graph.join(int(places[i]) % d_vocab, d_vocab + int(places[i]) // d_vocab), tuple):
            new[times[first[i] // n_ctx], 2] += 1
    if n_ctx == 1:
        return new[::-1].cumsum(axis=0)[::-1], [0] * d_vocab

    before = tokens[:, :-1] + d_vocab * np.arange(n_ctx - 1)
    first = np.unique(before * d_vocab + last[:, None], return_index=True)[1]
    first.sort()
    differences, new[:, 4], kappa = _Differences(d_vocab, n_ctx), 0, [0] * d_vocab
    variations = _Variations(last, before, d_vocab)
    at = 0
    for row, (time, c) in enumerate(zip(times.tolist(), last.tolist(), strict=True)):
        while at < len(first) and first[at] // (n_ctx - 1) == row:
            position = int(first[at]) % (n_ctx - 1)
            differences.add(int(tokens[row, position]), c, position)
            variations.add(c, int(variations.positions[row, position]), int(variations.tokens[row, position]))
            at += 1
        variations.sizes[c] += 1
        now = min(variations.sizes[c] - 1, variations.free[c])
        new[time, 4] += now - kappa[c]
        kappa[c] = now
        if row + 1 == count or times[row + 1] < time:
            new[time, 3] += differences.grown()
    return new[::-1].cumsum(axis=0)[::-1], kappa


class _Differences:
    """The rank of e_n - e_c + f_s - f_S over the token n at a position s before the last and the last token c.

    Edges n c with gains f_s: the edges that join two components, and the rank of the sums of gains around the cycles.
    A vector of positions is one integer, whose coordinates are far smaller than the base.
    """

    _BITS = 64

    def __init__(self, d_vocab: int, n_ctx: int) -> None:
        self.graph, self.n_ctx = GainForest(d_vocab), n_ctx
        self.joined, self.known = 0, 0
        self.cycles: set[int] = set()
        self.basis: list[list[int]] = []

    def add(self, token: int, last: int, position: int) -> None:
        sum_of_gains = self.graph.join(token, last, 1 << self._BITS * position)
        if isinstance(sum_of_gains, tuple):
            self.joined += 1
        elif len(self.basis) < self.n_ctx - 1:
            self.cycles.add(abs(sum_of_gains))

    def grown(self) -> int:
        """Return how much the rank has grown since the last call."""
        self.cycles.discard(0)
        if self.cycles:
            rows = self.basis + [self._vector(cycle) for cycle in sorted(self.cycles)]
            reduced, _, rank = fmpz_mat(rows).rref()
            self.basis = [[int(entry) for entry in row] for row in reduced.tolist()[:rank]]
            self.cycles = set()
        before, self.known = self.known, self.joined + len(self.basis)
        return self.known - before

    def _vector(self, cycle: int) -> list[int]:
        half, base = 1 << self._BITS - 1, 1 << self._BITS
        entries = []
        for _ in range(self.n_ctx - 1):
            entry = (cycle + half) % base - half
            entries.append(entry)
            cycle = (cycle - entry) // base
        return entries


class _Variations:
    """The sum in kappa(U_c) for each last token c, over the components of its tokens and positions.

    Args:
        last: The last token of each context.
        before: Token plus `d_vocab` times position of all others, `[T, S - 1]`.
        d_vocab: Number of tokens.
    """

    def __init__(self, last: Int64Array, before: Int64Array, d_vocab: int) -> None:
        # One node for each position and each token of each last token.
        n_ctx = before.shape[1]
        position, token = np.broadcast_to(np.arange(n_ctx), before.shape), before % d_vocab
        keys = np.stack([d_vocab + position, token]) + last[:, None] * (d_vocab + n_ctx)
        nodes, ends = np.unique(keys, return_inverse=True)
        self.positions, self.tokens = ends.reshape(keys.shape)
        self.graph = GainForest(len(nodes))
        # Of each component: its nodes, its positions and its edges.
        self.members = [1] * len(nodes)
        self.places = (nodes % (d_vocab + n_ctx) >= d_vocab).astype(int).tolist()
        self.pairs = [0] * len(nodes)
        self.free, self.sizes = [0] * d_vocab, [0] * d_vocab

    def add(self, c: int, position: int, token: int) -> None:
        """Add an edge of the last token c."""
        ends = self.graph.join(position, token)
        lost, kept = ends if isinstance(ends, tuple) else (None, self.graph.root(token)[0])
        before = self._free(kept)
        if lost is not None:
            before += self._free(lost)
            for counted in (self.members, self.places, self.pairs):
                counted[kept] += counted[lost]
        self.pairs[kept] += 1
        self.free[c] += self._free(kept) - before

    def _free(self, root: int) -> int:
        return max(0, min(self.members[root] - 2, self.pairs[root] - self.places[root]))


def _indicator_rank(tokens: Int64Array, *, enough: int) -> int:
    """Return the rank of the indicator vectors of the pairs (position, token) in each row, or `enough` if the rank is
    at least that.

    A row with a pair that no other row has is independent of the others, and goes with it; what is left is eliminated.
    """
    span = int(tokens.max()) + 1
    _, columns = np.unique(tokens + span * np.arange(tokens.shape[1]), return_inverse=True)
    columns, alone = columns.reshape(tokens.shape), 0
    while alone < enough:
        has_private_column = (np.bincount(columns.ravel()) == 1)[columns].any(axis=1)
        if not has_private_column.any():
            break
        alone, columns = alone + int(has_private_column.sum()), columns[~has_private_column]
        if not len(columns):
            break
    if alone >= enough or not len(columns):
        return min(alone, enough)
    pairs, columns = np.unique(columns, return_inverse=True)
    columns = columns.reshape(-1, tokens.shape[1])
    if columns.shape[1] == 2:
        graph = GainForest(len(pairs))
        return min(enough, alone + sum(isinstance(graph.join(*row), tuple) for row in columns.tolist()))
    if columns.shape[0] * len(pairs) > _LARGEST_INDICATORS:
        return enough
    indicators = np.zeros((len(columns), len(pairs)), dtype=np.int64)
    indicators[np.arange(len(columns))[:, None], columns] = 1
    entries = indicators.tolist()
    # The rank modulo a prime is quicker, and no larger.
    return enough if alone + nmod_mat(entries, PRIME).rank() >= enough else alone + fmpz_mat(entries).rank()
