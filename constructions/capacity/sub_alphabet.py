r"""Certified upper bounds of the rank that attention features can reach, from contexts over few tokens.

Page: docs/claims/capacity.md
"""

from dataclasses import astuple, dataclass

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from constructions.capacity.generic_rank import PRIME, check_sizes, checked_contexts
from constructions.errors import InputError

Int64Array = NDArray[np.int64]

LEAST = "least"
"""The name of the smallest of the bounds $|U|$, U1, U2, and without the skip connection $H d_h$ and U1'."""

_MOST_STEPS = 256  # sub-alphabets looked at; of larger vocabularies several tokens are removed at a time
_LARGEST_INDICATORS = 2**22  # entries of an indicator matrix whose rank is worth its time


@dataclass(frozen=True)
class Dimensions:
    r"""What limits the features of a set $U$ of contexts, counted in dimensions, for all weights at once.

    Args:
        contexts: $|U|$.
        last_tokens: $j(U)$, the number of distinct last tokens: dimensions of the skip connection's $x_S$.
        inputs: $q(U)$, dimensions of the span of the inputs $x_s$ that occur, for embeddings in general position.
        differences: $\ell(U)$, dimensions of the span of the differences $x_s - x_S$, likewise.
        variations: $\kappa(U) = \sum_c \kappa(U_c)$ over the last tokens c that occur, dimensions in which the
            attention outputs of contexts with the same last token can differ.

    Page: docs/claims/capacity.md
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

        Source: sharpens Dana, Pydi, Chevaleyre (2024), Lemma 2. Page: docs/claims/capacity.md

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

    Page: docs/claims/capacity.md
    """

    contexts: Int64Array
    lifetime: Int64Array
    table: Int64Array

    def rank_bound(self, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True) -> int:
        r"""The smallest of the bounds $|T \setminus U| + \operatorname{bound}(U)$ over the sub-alphabets."""
        return int(self._bounds(d_model, d_head, n_heads, with_skip).min(initial=len(self.contexts)))

    def rank_bounds(self, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True) -> Int64Array:
        """`rank_bound` for 0 .. `n_heads` heads, `[n_heads + 1]`."""
        sizes = {"d_model": d_model, "d_head": d_head, "with_skip": with_skip}
        return np.array([self.rank_bound(n_heads=heads, **sizes) for heads in range(n_heads + 1)], dtype=np.int64)

    def upper_bound(
        self, *, d_model: int, d_head: int, n_heads: int, with_skip: bool = True, name: str = LEAST
    ) -> "UpperBound":
        """`rank_bound` with the contexts that prove it; with a name, the smallest of the bounds of that name."""
        bounds = self._bounds(d_model, d_head, n_heads, with_skip, name)
        best = int(bounds.argmin())
        rows = np.flatnonzero(self.lifetime >= best) if bounds[best] < len(self.contexts) else np.zeros(0, np.int64)
        sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
        return upper_bound(self.contexts, rows, **sizes, with_skip=with_skip, name=name)

    def fewest_heads(self, *, d_model: int, d_head: int, with_skip: bool = True) -> int | None:
        """The smallest number of heads that these bounds leave open for full rank, or `None` if they leave none."""

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
        dimensions: What limits the features of $U$.
        d_model: Width of the residual stream.
        d_head: Width of a head.
        n_heads: Number of heads.
        with_skip: Whether the skip connection belongs to the features.
        name: Which bound of $U$ it is: ``"U1"``, ``"U1'"``, ``"U2"``, or ``"least"`` for the smallest of all.

    Page: docs/claims/capacity.md
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

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Lemma 2. Page: docs/claims/capacity.md

    Example:
        >>> dimensions(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]))
        Dimensions(contexts=4, last_tokens=1, inputs=4, differences=3, variations=2)
    """
    if len(contexts) == 0:
        return Dimensions(0, 0, 0, 0, 0)
    used, tokens = np.unique(contexts, return_inverse=True)
    tokens = tokens.reshape(contexts.shape)
    length = contexts.shape[1]
    pairs = np.unique(tokens + len(used) * np.arange(length))
    inputs = len(used) + length - _components(pairs % len(used), len(used) + pairs // len(used), len(used) + length)
    return Dimensions(
        contexts=len(contexts),
        last_tokens=len(np.unique(tokens[:, -1])),
        inputs=inputs,
        differences=_differences(tokens, len(used)),
        variations=_variations(tokens, len(used), exact=exact),
    )


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

    Page: docs/claims/capacity.md

    Example:
        >>> peel(np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])).table[:, 0]
        array([5, 4, 1])
    """
    contexts = checked_contexts(contexts)
    used, tokens = np.unique(contexts, return_inverse=True)
    tokens = tokens.reshape(contexts.shape)
    at_a_time = -(-len(used) // _MOST_STEPS)
    lifetime = np.zeros(len(contexts), dtype=np.int64)
    alive = np.arange(len(contexts))
    occurrences = _contexts_with(tokens, len(used))
    table = []
    while len(alive):
        table.append(astuple(dimensions(tokens[alive], exact=False)))
        lifetime[alive] = len(table) - 1
        for _ in range(at_a_time):
            if not len(alive):
                break
            fewest = occurrences[occurrences > 0].min()
            rarest = int(np.flatnonzero(occurrences == fewest)[-1])
            gone = (tokens[alive] == rarest).any(axis=1)
            occurrences -= _contexts_with(tokens[alive[gone]], len(used))
            alive = alive[~gone]
    return Peeling(contexts=contexts, lifetime=lifetime, table=np.array(table, dtype=np.int64))


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
    r"""Bound the rank of the features of all contexts by way of the set $U$ of the given rows.

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

    Page: docs/claims/capacity.md

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
    """Prove an upper bound again, from the contexts and the row numbers of its witness alone.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        bound: The bound; its stored numbers are not trusted.

    Returns:
        Whether the rows are a set of contexts, have the dimensions that are stored, and prove the rank that is stored.

    Raises:
        InputError: Contexts that are not distinct rows of tokens.

    Page: docs/claims/capacity.md

    Example:
        >>> from dataclasses import replace
        >>> loops = np.array([[n, n] for n in range(9)])
        >>> bound = peel(loops).upper_bound(d_model=3, d_head=3, n_heads=3, with_skip=False)
        >>> bound.rank, verify_upper_bound(loops, bound), verify_upper_bound(loops, replace(bound, rank=4))
        (5, True, False)
    """
    contexts = checked_contexts(contexts)
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
    table: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool, name: str
) -> Int64Array:
    contexts, last_tokens, inputs, differences, variations = table.T
    # No bound is above |U|, so that larger sizes change none; their products could wrap around.
    most = int(contexts.max(initial=1))
    d_model, d_head, n_heads = min(d_model, most), min(d_head, most), min(n_heads, most)
    per_head = np.minimum(d_head, differences)
    bounds = {"U1": np.minimum(d_model, last_tokens) + n_heads * per_head, "U2": last_tokens + n_heads * variations}
    if not with_skip:
        bounds["columns"] = np.full_like(contexts, n_heads * d_head)
        if n_heads > 0:
            bounds["U1'"] = (n_heads - 1) * per_head + np.minimum(d_model, inputs)
    if name == LEAST:
        return np.min([contexts, *bounds.values()], axis=0)
    if name not in bounds:
        raise InputError(f"name = {name!r}, expected {LEAST!r} or one of {', '.join(bounds)}")
    return np.minimum(contexts, bounds[name])


def _contexts_with(tokens: Int64Array, n_tokens: int) -> Int64Array:
    """In how many contexts each token occurs."""
    rows = np.arange(len(tokens))[:, None]
    return np.bincount(np.unique(rows * n_tokens + tokens) % n_tokens, minlength=n_tokens)


def _components(left: Int64Array, right: Int64Array, nodes: int) -> int:
    graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(nodes, nodes))
    return int(connected_components(graph, directed=False, return_labels=False))


def _differences(tokens: Int64Array, n_tokens: int) -> int:
    """Rank of e_n - e_c + f_s - f_S over the token n at a position s before the last and the last token c."""
    length = tokens.shape[1]
    last = np.repeat(tokens[:, -1], length - 1)
    position = np.tile(np.arange(length - 1), len(tokens))
    code = np.unique((position * n_tokens + tokens[:, :-1].ravel()) * n_tokens + last)
    position, token, last = code // n_tokens**2, code // n_tokens % n_tokens, code % n_tokens
    steps = np.eye(length - 1, dtype=np.int64)[position]

    # A spanning tree of each component gives every token a potential; what is left of the other vectors are sums
    # around cycles. One more node, joined with one token of each component, makes it one search.
    potential = np.zeros((n_tokens, length - 1), dtype=np.int64)
    edge_between = dict(zip(zip(token.tolist(), last.tolist(), strict=True), steps, strict=True))
    graph = coo_array((np.ones(len(token), dtype=np.int8), (token, last)), shape=(n_tokens, n_tokens))
    _, component = connected_components(graph, directed=False)
    _, roots = np.unique(component, return_index=True)
    left, right = np.append(token, roots), np.append(last, np.full(len(roots), n_tokens))
    joined = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(n_tokens + 1, n_tokens + 1))
    order, parents = breadth_first_order(joined.tocsr(), n_tokens, directed=False)
    below_roots = order[parents[order] != n_tokens][1:]  # without the additional node
    for node, parent in zip(below_roots.tolist(), parents[below_roots].tolist(), strict=True):
        if (node, parent) in edge_between:
            potential[node] = potential[parent] - edge_between[node, parent]
        else:
            potential[node] = potential[parent] + edge_between[parent, node]
    cycles = np.unique(potential[token] - potential[last] + steps, axis=0)
    gains = 0 if cycles.size == 0 else fmpz_mat(cycles.tolist()).rank()
    return n_tokens - len(roots) + gains


def _variations(tokens: Int64Array, n_tokens: int, *, exact: bool) -> int:
    """The sum of kappa over the last tokens."""
    length = tokens.shape[1]
    classes, class_of, sizes = np.unique(tokens[:, -1], return_inverse=True, return_counts=True)
    if length == 1:
        return 0
    # One node for each position and each token of each class, one edge for each pair that occurs.
    nodes_per_class = length - 1 + n_tokens
    position = class_of[:, None] * nodes_per_class + np.arange(length - 1)
    token = class_of[:, None] * nodes_per_class + length - 1 + tokens[:, :-1]
    edges = np.unique(np.stack([position.ravel(), token.ravel()]), axis=1)
    nodes, ends = np.unique(edges, return_inverse=True)
    left, right = ends.reshape(edges.shape)
    graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(len(nodes), len(nodes)))
    count, component = connected_components(graph, directed=False)

    is_position = nodes % nodes_per_class < length - 1
    positions = np.bincount(component[is_position], minlength=count)
    members = np.bincount(component, minlength=count)
    pairs = np.bincount(component[left], minlength=count)
    class_of_component = np.zeros(count, dtype=np.int64)
    class_of_component[component] = nodes // nodes_per_class
    kappa = np.zeros(len(classes), dtype=np.int64)
    np.add.at(kappa, class_of_component, np.minimum(members - 2, pairs - positions))
    kappa = np.minimum(sizes - 1, kappa)
    if exact:
        # Two different contexts have independent indicators, so that only larger kappa can shrink.
        for c in np.flatnonzero(kappa >= 2).tolist():
            kappa[c] = min(int(kappa[c]), _indicator_rank(tokens[class_of == c, :-1], enough=int(kappa[c]) + 1) - 1)
    return int(kappa.sum())


def _indicator_rank(tokens: Int64Array, *, enough: int) -> int:
    """Rank of the indicator vectors of the pairs (position, token) in each row, or `enough` if it is no smaller."""
    span = int(tokens.max()) + 1
    pairs, columns = np.unique(tokens + span * np.arange(tokens.shape[1]), return_inverse=True)
    if len(tokens) * len(pairs) > _LARGEST_INDICATORS:
        return enough
    indicators = np.zeros((len(tokens), len(pairs)), dtype=np.int64)
    indicators[np.arange(len(tokens))[:, None], columns.reshape(tokens.shape)] = 1
    entries = indicators.tolist()
    # The rank modulo a prime is quicker, and no larger.
    return enough if nmod_mat(entries, PRIME).rank() >= enough else fmpz_mat(entries).rank()
