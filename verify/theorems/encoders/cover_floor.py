r"""The least divergence of sequence encoders of a rank, from below to any accuracy: a cover of all directions.

The logits of an encoder of rank d are orthogonal to a space of k = N - 1 - d directions besides the constants, the rows
of a matrix. On a simplicial cone of matrices moves of the distributions, one for each vertex, bound the divergence;
cones are cut until the bound is good everywhere. The cuts are integers, so the cover is exact, and what was found for
each cone is a certificate that is judged without the search.

Page: docs/claims/encoder_covers.md
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.numeric.arrays import Float64Array, Int64Array
from verify.arithmetic.elementary import log
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.sums import total
from verify.theorems.encoders.encoder_ceiling import checked_distributions

_BATCH = 256  # cones that are looked at together
_ENTRIES = 2**20  # of the moved distributions of a batch of leaves
_NEWTON, _FEWER, _INSIDE = 9, 3, 0.9  # steps of Newton, from moves that are near, and how far towards the edge at most
_BACK = 0.95  # of the moves of the cone before, at most towards the edge, that those of its halves begin with
_WEIGHINGS, _ROUNDS, _FLOOR = 4, 80, 1e-6  # how often vertices are weighed, by how many steps, from what at least
_TRIED, _DESCENTS = 300, 4  # spaces of directions, and descents from the best of them
_ROOM = 1.0 - 2.0**-20  # of the longest moves: the moved distributions have to be positive
_LARGEST = 2**52  # of a vertex
_LEAF: tuple[int, ...] = (-1, -1, 0, 0)
_Bracket = tuple[Float64Array, Float64Array, Float64Array]


@dataclass(frozen=True, eq=False)
class EncoderCover:
    r"""Cones that cover all spaces of k directions, and moves of the distributions that bound the divergence on each
    cone.

    Args:
        cuts: In preorder, from each initial cone downwards: for a cone that is cut at $a v_i + b v_j$ the numbers
            (i, j, a, b), for a leaf (-1, -1, 0, 0), `[nodes, 4]`.
        scales: Positive factors of the vertices of each leaf, `[leaves, k d + 1]`.
        moves: $\mu_t$ of each leaf, common to its vertices, `[leaves, T, 1, k]`, or $\mu_{t,i}$, one for each of them,
            `[leaves, T, k d + 1, k]`.
    """

    cuts: Int64Array
    scales: Float64Array
    moves: Float64Array


def encoder_cover(
    distributions: ArrayLike,
    *,
    d_model: int | None = None,
    prior: ArrayLike | None = None,
    relative: float = 0.05,
    reached: float = math.inf,
    most: int = 20_000,
) -> EncoderCover:
    r"""Search for a cover whose bound is near the least divergence of all encoders of rank d, in floating point.

    The cones with the smallest bounds are cut near the middle of the edge whose ends, moved, lose the most entropy
    against their mean. The moves of a cone maximize a weighted mean of the gains at its vertices, and the weights make
    the largest mean small: at the saddle point no moves bound more. For k > 1 every vertex has moves of its own.

    Args:
        distributions: Positive weights, `[T, N]`, $N \ge 3$; the distribution is the row divided by its sum.
        d_model: The rank d, in 1 .. N - 2; by default N - 2. There are `fewest_cones` to begin with: for 1 < d < N - 2
            too many from N = 7 on.
        prior: As in `verify.theorems.encoders.encoder_floor.encoder_floor`.
        relative: How near to the least divergence that is found the bound shall come.
        reached: The divergence of an encoder, where one is known: for peaked distributions descents from here may end
            above.
        most: How many cones to look at.

    Returns:
        The cover; `cover_floor` judges it.

    Raises:
        InputError: Arguments of wrong shapes or ranges.
        HypothesisError: A distribution without full support.

    Example:
        >>> cover = encoder_cover([[6, 3, 1], [6, 1, 3]], relative=0.001)
        >>> 0.05227 < cover_floor([[6, 3, 1], [6, 1, 3]], cover) < 0.05233
        True
    """
    require_at_least(1, most=most)
    weights, shares = _full(distributions, prior)
    rank = _checked_rank(d_model, weights.shape[1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # what is no number bounds nothing
        return _cover(_Search(weights, shares, rank), relative, reached, most)


def _cover(search: "_Search", relative: float, reached: float, most: int) -> EncoderCover:
    """Cut the cones with the smallest bounds until all are close to the least divergence found."""
    reached = min(reached, search.least_found())
    vertices = _initial_cones(search.distributions.shape[1], search.rank)
    cones = search.with_bounds(search.initial_cones(vertices), (1.0 - relative) * reached)
    nodes, owners = [_LEAF] * len(vertices), np.arange(len(vertices))
    while (short := int((cones.bounds < (1.0 - relative) * reached).sum())) and len(nodes) < most:
        worst = np.argsort(cones.bounds, kind="stable")[
            : min(short, max(_BATCH, short // 4), (most - len(nodes) + 1) // 2)
        ]
        halves, middle, cuts = search.halves(cones.part(worst))
        if np.abs(middle).max() > _LARGEST:
            break
        for row, (node, *cut) in enumerate(np.column_stack([owners[worst], cuts]).tolist()):
            nodes[node] = (*cut, len(nodes) + 2 * row)
        reached = min(reached, search.least_at(middle))
        kept = np.delete(np.arange(len(owners)), worst)
        owners = np.append(owners[kept], np.arange(len(nodes), len(nodes) + 2 * len(worst)))
        nodes += [_LEAF] * (2 * len(worst))
        cones = _concatenated([cones.part(kept), search.with_bounds(halves, (1.0 - relative) * reached)])
    order = list(_preorder(nodes, len(vertices)))
    places = np.argsort(owners)[np.searchsorted(np.sort(owners), [node for node in order if nodes[node] == _LEAF])]
    return EncoderCover(
        np.array([nodes[node][:4] for node in order]),
        cones.scales[places],
        search.each(cones.moves[places]),
    )


def cover_floor(
    distributions: ArrayLike, cover: EncoderCover, *, d_model: int | None = None, prior: ArrayLike | None = None
) -> float:
    r"""Bound the mean divergence of every encoder of rank d from below by a cover, in nats.

    Let $M_1, \dots, M_K$ be the vertices of a leaf, times its scales, and
    $q_{t,ij} = \pi_t + \frac12 (\mu_{t,i} M_j + \mu_{t,j} M_i)$ distributions. Every encoder whose logits are
    orthogonal to the rows of a matrix of the cone has the divergence
    $\min_{i \le j} \sum_t \rho_t (H(q_{t,ij}) - H(\pi_t))$ or more; with common moves $i = j$ is enough. The leaves
    cover all spaces of k directions.

    Why it is rigorous: the cones are cut again from the beginning, in integers; scales and moves are any floats, and
    the moved distributions and their entropies are enclosures, which have to be positive.

    Args:
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its exact sum.
        cover: Cuts, scales and moves, whoever found them.
        d_model: The rank d, in 1 .. N - 2; by default N - 2.
        prior: As in `verify.theorems.encoders.encoder_floor.encoder_floor`.

    Returns:
        The bound, rounded down; 0 where a leaf proves nothing.

    Raises:
        InputError: Arguments of wrong shapes or ranges, or cuts that are not cuts of all cones.
        HypothesisError: A distribution without full support.
    """
    weights, shares = _full(distributions, prior)
    leaves = _leaves(_initial_cones(weights.shape[1], _checked_rank(d_model, weights.shape[1])), cover.cuts)
    corners = leaves.shape[1]
    common, own = ((len(leaves), len(weights), moves_per_cone, leaves.shape[2]) for moves_per_cone in (1, corners))
    if cover.scales.shape != leaves.shape[:2] or cover.moves.shape not in (common, own):
        raise InputError(
            "cover", f"has scales {cover.scales.shape} and moves {cover.moves.shape} for {len(leaves)} leaves"
        )
    enclosed_weights = Enclosure(weights)
    exact = enclosed_weights / total(enclosed_weights, 1).reshape(len(weights), 1)
    share = (Enclosure(shares) / total(shares, 0)).reshape(1, len(weights))
    still = total(exact * log(exact), 1).reshape(1, len(weights))
    lower, size = np.inf, max(1, _ENTRIES // (leaves.shape[2] * weights.size))
    for start in range(0, len(leaves), size):
        part = slice(start, start + size)
        if not (cover.scales[part] > 0).all():
            return 0.0
        scaled = Enclosure(leaves[part].astype(np.float64)) * cover.scales[part, :, np.newaxis, np.newaxis]
        moves = np.broadcast_to(cover.moves[part, ..., np.newaxis], (*scaled.shape[:1], *own[1:], 1))
        for i, j in itertools.combinations_with_replacement(range(corners), 2):
            if i != j and cover.moves.shape == common:
                continue  # the mean of the distributions at i and at j
            moved = total(scaled[:, i, np.newaxis] * moves[:, :, j], 2)
            if i != j:
                moved = (moved + total(scaled[:, j, np.newaxis] * moves[:, :, i], 2)) * 0.5
            moved = moved + exact
            if not (moved.lower() > 0).all():
                return 0.0
            gains = total((still - total(moved * log(moved), 2)) * share, 1)
            lower = min(lower, float(gains.lower().min()))
    return lower if 0.0 < lower < np.inf else 0.0


def _full(distributions: ArrayLike, prior: ArrayLike | None) -> tuple[Float64Array, Float64Array]:
    weights, shares = checked_distributions(distributions, prior, 0)
    if weights.shape[1] < 3:
        raise InputError("distributions", f"has {weights.shape[1]} tokens", "at least 3")
    weights, shares = weights[shares > 0.0], shares[shares > 0.0]
    if not (weights > 0.0).all():
        raise HypothesisError(
            "Theorem EC1 of encoders", "distributions of full support", f"one has the entry {weights.min()}"
        )
    return weights, shares


def fewest_cones(tokens: int, rank: int) -> int:
    """Return the least number of cones of a cover, for rank d in 1 .. N - 2, before any is cut.

    Example:
        >>> [fewest_cones(6, rank) for rank in (1, 2, 3, 4)]
        [120, 7200, 7200, 126]
    """
    if rank == tokens - 2:
        return math.comb(2 * tokens - 2, tokens - 1) // 2
    return math.comb(tokens - 1, rank) * math.factorial(rank * (tokens - 1 - rank))


def _checked_rank(d_model: int | None, tokens: int) -> int:
    rank = tokens - 2 if d_model is None else d_model
    if not 1 <= rank <= tokens - 2:
        raise InputError("d_model", f"= {rank}", f"1 .. N - 2 = {tokens - 2}")
    return rank


def _initial_cones(tokens: int, rank: int) -> Int64Array:
    """Return matrices whose rows span the cones that cover all spaces of k directions of sum 0: `[cones, k d + 1, k,
    N]`.
    """
    return _staircases(tokens) if rank == tokens - 2 else _boxes(tokens, rank)


def _staircases(tokens: int) -> Int64Array:
    r"""Return, for k = 1, cones that cover every $\nu$ of sum 0 or its negative, with vertices $e_i - e_j$.

    For every partition $I \sqcup J$ of the tokens, up to exchange, the staircases of $I \times J$.
    """
    staircases = []
    for chosen in range(1, 2 ** (tokens - 1)):  # the last token is in J
        parts = [[j for j in range(tokens) if (chosen >> j & 1) == one] for one in (1, 0)]
        for rights in itertools.combinations(range(tokens - 2), len(parts[0]) - 1):
            place, cone = [0, 0], np.zeros((tokens - 1, 1, tokens), dtype=np.int64)
            for step in range(tokens - 1):
                cone[step, 0, parts[0][place[0]]], cone[step, 0, parts[1][place[1]]] = 1, -1
                place[0 if step in rights else 1] += 1
            staircases.append(cone)
    return np.array(staircases)


def _boxes(tokens: int, rank: int) -> Int64Array:
    r"""Return matrices $[I, X]$ with $|X_{ab}| \le 1$: I in k of the first N - 1 columns, and minus the row sum in the
    last column.

    Of the k columns with the largest determinant all others are such combinations. The box of the X is the union of
    the simplices that go from one corner to the opposite one along its edges, in any order of the entries.
    """
    size = tokens - 1 - rank
    paths = np.array(list(itertools.permutations(range(size * rank))))
    corners = 2 * (paths[:, np.newaxis].argsort(axis=2) < np.arange(size * rank + 1)[:, np.newaxis]) - 1
    boxes = []
    for unit in itertools.combinations(range(tokens - 1), size):
        cones = np.zeros((*corners.shape[:2], size, tokens), dtype=np.int64)
        cones[..., list(unit)] = np.eye(size, dtype=np.int64)
        others = [j for j in range(tokens - 1) if j not in unit]
        cones[..., others] = corners.reshape(*corners.shape[:2], size, rank)
        cones[..., -1] = -cones.sum(axis=3)
        boxes.append(cones)
    return np.concatenate(boxes)


def _leaves(roots: Int64Array, cuts: Int64Array) -> Int64Array:
    """Return the cones of the leaves, in preorder: every cone is halved at its cut, exactly."""
    if cuts.dtype.kind != "i":
        raise InputError("cuts", f"are of the type {cuts.dtype}", "integers")
    left, vertices = list(roots[::-1]), roots.shape[1]
    leaves = []
    for i, j, a, b in cuts.tolist():
        if not left:
            raise InputError("cuts", "has more nodes than its cuts make")
        cone = left.pop()
        if (i, j) == (-1, -1):
            leaves.append(cone)
            continue
        if not (0 <= i < vertices and 0 <= j < vertices and i != j and a > 0 and b > 0):
            raise InputError("cuts", f"has ({i}, {j}, {a}, {b})", f"two of {vertices} vertices and positive factors")
        if a * int(np.abs(cone[i]).max()) + b * int(np.abs(cone[j]).max()) > _LARGEST:
            raise InputError("cuts", "makes vertices beyond 2^52")
        halves = cone.copy(), cone.copy()
        halves[0][i] = halves[1][j] = a * cone[i] + b * cone[j]
        left += halves[::-1]
    if left:
        raise InputError("cuts", f"leaves {len(left)} cones without a leaf")
    return np.array(leaves)


def _preorder(nodes: list[tuple[int, ...]], roots: int) -> Iterator[int]:
    waiting = list(range(roots))[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if nodes[node] != _LEAF:
            waiting += [nodes[node][4] + 1, nodes[node][4]]


class _Cones(NamedTuple):
    """Cones side by side, with scales and weights of their vertices, their moves and their bounds."""

    vertices: Int64Array
    scales: Float64Array  # of a middle, so that it is a mean of the ends: no half is bounded by less than the cone
    weights: Float64Array
    moves: Float64Array
    bounds: Float64Array

    def part(self, rows: Int64Array) -> "_Cones":
        return _Cones(self.vertices[rows], self.scales[rows], self.weights[rows], self.moves[rows], self.bounds[rows])


def _concatenated(parts: list[_Cones]) -> _Cones:
    vertices, *others = zip(*parts, strict=True)
    return _Cones(np.concatenate(vertices), *(np.concatenate(field) for field in others))


class _Search:
    """Scales, moves and bounds of cones, in floating point."""

    def __init__(self, weights: Float64Array, shares: Float64Array, rank: int) -> None:
        self.distributions: Float64Array = weights / weights.sum(axis=1, keepdims=True)
        self.prior: Float64Array = shares / shares.sum()
        self.still = _entropy(self.distributions)
        self.metric = np.sqrt((self.prior[:, None] / self.distributions).sum(axis=0))
        self.rank = rank
        self.own = weights.shape[1] - 1 - rank > 1

    def initial_cones(self, vertices: Int64Array) -> _Cones:
        cones = len(vertices)
        lengths = np.sqrt((vertices.astype(np.float64) ** 2 * self.metric).sum(axis=(2, 3)))
        places, size = self.directions(vertices[:1]).shape[1:3]
        weights = np.full((cones, places), 1.0 / places)
        return _Cones(vertices, 1.0 / lengths, weights, self.no_moves(cones, size), np.full(cones, -np.inf))

    def directions(self, scaled: Float64Array | Int64Array) -> Float64Array:
        """Return the matrices from all moves of a context to its change at each vertex; with individual moves, at
        each pair of vertices.
        """
        if not self.own:
            return scaled.astype(np.float64)
        # At the pair (v, w) the moves of v go along half of w, and those of w along half of v.
        cones, corners, size, tokens = scaled.shape
        first, second = np.triu_indices(corners)
        pairs = np.arange(len(first))
        products = np.zeros((cones, len(first), corners, size, tokens))
        products[:, pairs, first] += 0.5 * scaled[:, second]
        products[:, pairs, second] += 0.5 * scaled[:, first]
        return products.reshape(cones, len(first), corners * size, tokens)

    def each(self, moves: Float64Array) -> Float64Array:
        """Return the moves per vertex, or a common one: `[cones, T, 1 or k d + 1, k]`."""
        return moves.reshape(*moves.shape[:2], -1, self.distributions.shape[1] - 1 - self.rank)

    def with_bounds(self, cones: _Cones, target: float) -> _Cones:
        """Return the cones with individual moves, weights and bounds, starting from the given ones."""
        batches = np.array_split(np.arange(len(cones.bounds)), -(-len(cones.bounds) // _BATCH))
        return _concatenated([self.bounded(cones.part(rows), target) for rows in batches])

    def bounded(self, cones: _Cones, target: float) -> _Cones:
        """Approach the saddle point of moves and weights while the target may still be reached."""
        scaled = self.directions(cones.vertices * cones.scales[:, :, None, None])
        weights = cones.weights.copy()
        bounds, moves = np.full(len(scaled), -np.inf), np.zeros(cones.moves.shape)
        active = np.arange(len(scaled))  # cones that may still reach the target
        current = self.pulled(scaled, cones.moves)
        for time in range(_WEIGHINGS):
            steps = _FEWER if time or cones.moves.any() else _NEWTON
            current = self.best_moves(scaled[active], weights[active], current, steps)
            gains, curvature = self.gains(scaled[active], weights[active], current)
            least_gain = gains.min(axis=1)
            better = least_gain > bounds[active]
            bounds[active[better]] = least_gain[better]
            moves[active[better]] = current[better]
            # No moves have a least gain above the largest weighted mean: if that is below the target, give up.
            reachable = (time == 0) | ((weights[active] * gains).sum(axis=1) >= target)
            open_cones = (bounds[active] < target) & reachable
            active, current = active[open_cones], current[open_cones]
            if not len(active):
                break
            weights[active] = _weighed(weights[active], gains[open_cones], curvature[open_cones])
        return cones._replace(weights=weights, moves=moves, bounds=bounds)

    def pulled(self, scaled: Float64Array, moves: Float64Array) -> Float64Array:
        """Return the moves, shortened where they lead out of the distributions."""
        cones, corners, size, tokens = scaled.shape
        directions = np.swapaxes(scaled, 1, 2).reshape(cones, size, -1)
        changes = (moves @ directions).reshape(*moves.shape[:2], corners, tokens)
        # The largest share of a probability that a move takes away: at 1 the probability is 0.
        largest_loss = (-changes / self.distributions[:, None]).max(axis=(2, 3))
        return moves * np.minimum(1.0, _BACK / np.maximum(largest_loss, 1e-300))[..., None]

    def no_moves(self, cones: int, size: int) -> Float64Array:
        return np.zeros((cones, len(self.distributions), size))

    def gains(
        self, scaled: Float64Array, weights: Float64Array, moves: Float64Array
    ) -> tuple[Float64Array, Float64Array]:
        r"""Return the mean gain of entropy at each vertex, and the second derivatives by the vertex weights of the
        largest weighted mean gain, `[b, i]` and `[b, i, i]`.

        With $s_{ti}$ the slope of the entropy of context t at vertex i by its moves, and $C_t$ the curvature of the
        weighted mean, the derivatives are $\sum_t \rho_t s_{ti} C_t^{-1} s_{tj}$. A gain is minus infinity where a
        moved distribution has a negative entry.

        In the sums below b counts cones, t contexts, i and j vertices, n tokens, and a and c the directions of a cone.
        """
        cones, corners, size, tokens = scaled.shape
        contexts = moves.shape[:2]
        all_vertices = np.swapaxes(scaled, 1, 2).reshape(cones, size, -1)
        moved = (moves @ all_vertices).reshape(*contexts, corners, tokens) + self.distributions[:, None]
        logs = np.log(moved)
        entropies = -(moved * logs).sum(axis=3)
        gains = np.einsum("t,bti->bi", self.prior, entropies - self.still[:, None])
        # dH/dm_a = -sum_n log(q_n) u_an, because the entries of each direction u_a have the sum 0.
        slopes = -np.einsum("btin,bian->btai", logs, scaled)
        # -d2H/dm_a dm_c = sum_n u_an u_cn / q_n, averaged over the vertices.
        products = np.einsum("bi,bian,bicn->bacin", weights, scaled, scaled).reshape(cones, size**2, -1)
        curvatures = (1.0 / moved).reshape(*contexts, -1) @ np.swapaxes(products, 1, 2)
        inverse = np.linalg.inv(_regular(curvatures.reshape(*moves.shape, size)))
        by_weights = np.einsum("t,btai,btac,btcj->bij", self.prior, slopes, inverse, slopes, optimize=True)
        return np.where(np.isfinite(gains), gains, -np.inf), np.nan_to_num(by_weights)

    def best_moves(self, scaled: Float64Array, weights: Float64Array, start: Float64Array, steps: int) -> Float64Array:
        """Return the moves that maximize the weighted mean of the entropies at the vertices."""
        directions = np.swapaxes(scaled, 1, 2).reshape(len(scaled), scaled.shape[2], -1)  # all vertices side by side
        factors = np.repeat(weights, scaled.shape[3], axis=1)[:, None] * directions
        distributions = np.tile(self.distributions, scaled.shape[1])
        return (
            _in_bracket(distributions, directions, factors, start, steps)
            if scaled.shape[2] == 1
            else _damped(distributions, directions, factors, start, steps)
        )

    def halves(self, cones: _Cones) -> tuple[_Cones, Int64Array, Int64Array]:
        """Return both halves of each cone, first halves first, the vertices between them, and the cuts.

        A cut is at the edge that loses the most, by powers of two that make its two ends nearly of one length.
        """
        scales, scaled = cones.scales, cones.vertices * cones.scales[:, :, None, None]
        first, second = np.triu_indices(scaled.shape[1], 1)
        if self.own:
            lost = ((scaled[:, first] - scaled[:, second]) ** 2 * self.metric).sum(axis=(2, 3))
        else:
            moved = self.distributions + cones.moves[:, None] @ scaled
            entropies = _entropy(moved) @ self.prior
            lost = _entropy(0.5 * (moved[:, first] + moved[:, second])) @ self.prior
            lost -= 0.5 * (entropies[:, first] + entropies[:, second])
        worst = lost.argmax(axis=1)
        i, j, rows = first[worst], second[worst], np.arange(len(scales))
        power = np.round(np.log2(scales[rows, i] / scales[rows, j])).astype(np.int64)
        factors = 2 ** np.maximum(np.stack([power, -power], axis=1), 0)
        middle = factors[:, :1, None] * cones.vertices[rows, i] + factors[:, 1:, None] * cones.vertices[rows, j]
        halves = cones.part(np.repeat(rows, 2))
        halves.vertices[2 * rows, i] = halves.vertices[2 * rows + 1, j] = middle
        parts = factors / np.stack([scales[rows, i], scales[rows, j]], axis=1)
        halves.scales[2 * rows, i] = halves.scales[2 * rows + 1, j] = 1.0 / parts.sum(axis=1)
        if self.own:
            old_moves = self.each(halves.moves)
            moves = 0.5 * (old_moves[2 * rows, :, i] + old_moves[2 * rows, :, j])
            old_moves[2 * rows, :, i] = old_moves[2 * rows + 1, :, j] = moves
        return halves, middle, np.column_stack([i, j, factors])

    def least_at(self, matrices: Int64Array) -> float:
        """Return the least divergence on some spaces of directions, with the best moves on each."""
        directions = matrices / np.sqrt((matrices**2 * self.metric).sum(axis=(1, 2)))[:, None, None]
        moves = self.best_moves(
            directions[:, None], np.ones((len(matrices), 1)), self.no_moves(*matrices.shape[:2]), 4 * _NEWTON
        )
        gains = self.gains(directions[:, None], np.ones((len(matrices), 1)), moves)[0][:, 0]
        return float(gains[gains > 0.0].min(initial=np.inf))

    def least_found(self) -> float:
        """Return the least divergence found on a space of directions, by descents from the best of many starts."""
        import scipy.optimize

        tokens = self.distributions.shape[1]
        shape = tokens - 1 - self.rank, tokens

        def of(matrices: Float64Array) -> tuple[Float64Array, Float64Array]:
            """Return the divergences, and their derivatives by the matrices: those of the moves are 0 at the
            best ones.
            """
            centred = matrices - matrices.mean(axis=2, keepdims=True)
            moves = self.best_moves(
                centred[:, None], np.ones((len(centred), 1)), self.no_moves(len(centred), shape[0]), 4 * _NEWTON
            )
            moved = self.distributions + moves @ centred
            slopes = -np.swapaxes(moves * self.prior[:, None], 1, 2) @ np.log(moved)
            return (_entropy(moved) - self.still) @ self.prior, slopes - slopes.mean(axis=2, keepdims=True)

        def one(point: Float64Array) -> tuple[float, Float64Array]:
            value, slope = of(point.reshape(1, *shape))
            return (float(value[0]), slope[0].ravel()) if np.isfinite(value[0]) else (1e9, np.zeros(point.shape))

        rng = np.random.default_rng(0)
        tried = rng.standard_normal((_TRIED, *shape)) / np.sqrt(self.metric)
        tried /= np.linalg.norm(tried, axis=(1, 2), keepdims=True)
        best = tried[np.argsort(of(tried)[0])[:_DESCENTS]]
        descents = (scipy.optimize.minimize(one, start.ravel(), jac=True, method="L-BFGS-B") for start in best)
        return float(min(descent.fun for descent in descents))


def _weighed(weights: Float64Array, gains: Float64Array, curvature: Float64Array) -> Float64Array:
    """Return the weights that minimize the quadratic model of the largest weighted mean, by multiplicative steps."""
    gains = np.maximum(gains, -1e3)
    new = weights = (weights + _FLOOR) / (1.0 + _FLOOR * weights.shape[1])
    rate = 1.0 / (np.abs(curvature).max(axis=(1, 2)) + 0.05 * np.ptp(gains, axis=1) + 1e-300)
    for _ in range(_ROUNDS):
        slopes = gains + (curvature @ (new - weights)[..., None])[..., 0]
        new = new * np.exp(-np.minimum(rate[:, None] * (slopes - slopes.min(axis=1, keepdims=True)), 30.0))
        new /= new.sum(axis=1, keepdims=True)
    return new


def _in_bracket(
    distributions: Float64Array, directions: Float64Array, factors: Float64Array, moves: Float64Array, steps: int
) -> Float64Array:
    """Solve for one direction by Newton's method, kept within a bracket."""
    ends, moves = -distributions / directions, moves[:, :, 0]
    low: Float64Array = np.where(directions > 0, ends, -np.inf).max(axis=2) * _ROOM
    high: Float64Array = np.where(directions < 0, ends, np.inf).min(axis=2) * _ROOM
    slopes, curvatures = np.swapaxes(factors, 1, 2), np.swapaxes(factors * directions, 1, 2)
    for _ in range(steps):
        moves, low, high = _closer(distributions, directions, slopes, curvatures, (moves, low, high))
    return moves[:, :, None]


def _closer(
    distributions: Float64Array,
    directions: Float64Array,
    slopes: Float64Array,
    curvatures: Float64Array,
    bracket: _Bracket,
) -> _Bracket:
    """Return a step of Newton's method, and the ends that are known then."""
    moves, low, high = bracket
    moved = distributions + moves[:, :, None] * directions
    slope = -(np.log(moved) @ slopes)[:, :, 0]
    low, high = np.where(slope > 0, moves, low), np.where(slope > 0, high, moves)
    new: Float64Array = moves + slope / ((1.0 / moved) @ curvatures)[:, :, 0]
    new = np.where(new <= low, moves + _INSIDE * (low - moves), new)
    return np.where(new >= high, moves + _INSIDE * (high - moves), new), low, high


def _damped(
    distributions: Float64Array, directions: Float64Array, factors: Float64Array, moves: Float64Array, steps: int
) -> Float64Array:
    """Solve for several directions by Newton's method, with steps that stay inside."""
    products = np.swapaxes(
        (factors[:, :, None] * directions[:, None]).reshape(len(moves), -1, distributions.shape[1]), 1, 2
    )
    for _ in range(steps):
        moves = moves + _step(distributions, directions, factors, products, moves)
    return moves


def _step(
    distributions: Float64Array,
    directions: Float64Array,
    factors: Float64Array,
    products: Float64Array,
    moves: Float64Array,
) -> Float64Array:
    """Return a Newton step, shortened to stay inside."""
    moved = distributions + moves @ directions
    slopes = -np.log(moved) @ np.swapaxes(factors, 1, 2)
    curvatures = ((1.0 / moved) @ products).reshape(*slopes.shape, slopes.shape[2])
    slopes[~(np.isfinite(curvatures).all(axis=(2, 3)) & np.isfinite(slopes).all(axis=2))] = 0.0
    step = np.linalg.solve(_regular(curvatures), slopes[..., None])[..., 0]
    reach = (-(step @ directions) / np.maximum(moved - (1.0 - _ROOM) * distributions, 1e-300)).max(axis=2)
    return step * np.minimum(1.0, _INSIDE / np.maximum(reach, 1e-300))[..., None]


def _regular(curvatures: Float64Array) -> Float64Array:
    """Return the matrices, shifted slightly if singular; the unit matrix for invalid ones."""
    unit = np.eye(curvatures.shape[-1])
    above = curvatures + unit * (1e-12 * np.trace(curvatures, axis1=-2, axis2=-1) + 1e-300)[..., None, None]
    return np.where(np.isfinite(above).all(axis=(-2, -1), keepdims=True), above, unit)


def _entropy(distributions: Float64Array) -> Float64Array:
    return -(distributions * np.log(distributions)).sum(axis=-1)
