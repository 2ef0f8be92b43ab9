r"""The least divergence of sequence encoders of a rank, from below to any accuracy: a cover of all directions.

The logits of an encoder of rank d are orthogonal to a space of k = N - 1 - d directions besides the constants, the rows
of a matrix. On a simplicial cone of matrices moves of the laws, one for each vertex, bound the divergence; cones are
cut until the bound is good everywhere. The cuts are integers, so the cover is exact, and what was found for each cone
is a certificate that is judged without the search.

Page: docs/claims/sequence_encoder.md
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from constructions.arrays import Float64Array, Int64Array
from constructions.errors import HypothesisError, InputError, require_at_least
from verify.arithmetic.elementary import log
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.sums import total
from verify.encoders.encoder_ceiling import checked_laws

_BATCH = 256  # cones that are cut together: those with the smallest bounds
_ENTRIES = 2**20  # of the moved laws of a batch of leaves
_NEWTON, _FEWER, _INSIDE = 9, 3, 0.9  # steps of Newton, after a first time, and how far towards the edge at most
_BACK = 0.95  # of the common move that the moves of a cone begin with, so that they begin inside
_SHIFTS, _NEAR = 4, 0.92  # how often pairs are reweighted, where common moves bound this share of the target
_PULL, _TOP = 20.0, 2.0  # how fast their weight falls with what they have above the least, and from where on no more
_TRIED, _DESCENTS = 300, 4  # spaces of directions, and descents from the best of them
_ROOM = 1.0 - 2.0**-20  # of the longest moves: the moved laws have to be positive
_LARGEST = 2**52  # of a vertex


@dataclass(frozen=True, eq=False)
class EncoderCover:
    r"""Cones that cover all spaces of k directions, and moves of the laws that bound the divergence on each.

    Args:
        cuts: In preorder, from each initial cone downwards: the edge (i, j) at which a cone is cut, or (-1, -1) for a
            leaf, `[nodes, 2]`.
        scales: Positive factors of the vertices of each leaf, `[leaves, k d + 1]`.
        moves: $\mu_{t,i}$ of each leaf, `[leaves, T, k d + 1, k]`.
    """

    cuts: Int64Array
    scales: Float64Array
    moves: Float64Array


def encoder_cover(
    laws: ArrayLike,
    *,
    d_model: int | None = None,
    prior: ArrayLike | None = None,
    relative: float = 0.05,
    reached: float = math.inf,
    most: int = 20_000,
) -> EncoderCover:
    r"""Search for a cover whose bound is near the least divergence of all encoders of rank d, in floating point.

    The cones with the smallest bounds are cut at the longest edge, measured by $\sum c_j v_{aj}^2$ with
    $c_j = (\sum_t \rho_t / \pi_{t,j})^{1/2}$. The moves of a cone maximize a weighted mean of the bounds at pairs of
    its vertices, whose weights are shifted towards the smallest.

    Args:
        laws: Positive weights, `[T, N]`, $N \ge 3$; the law is the row divided by its sum.
        d_model: The rank d, in 1 .. N - 2; by default N - 2. There are `fewest_cones` to begin with: for 1 < d < N - 2
            too many from N = 7 on.
        prior: As in `verify.encoders.encoder_floor.encoder_floor`.
        relative: How near to the least divergence that is found the bound shall come.
        reached: The divergence of an encoder, where one is known: for peaked laws descents from here may end above.
        most: How many cones to look at.

    Returns:
        The cover; `cover_floor` judges it.

    Raises:
        InputError: Arguments of wrong shapes or ranges.
        HypothesisError: A law without full support.

    Example:
        >>> cover = encoder_cover([[6, 3, 1], [6, 1, 3]], relative=0.001)
        >>> 0.05227 < cover_floor([[6, 3, 1], [6, 1, 3]], cover) < 0.05233
        True
    """
    require_at_least(1, most=most)
    weights, shares = _full(laws, prior)
    rank = _checked_rank(d_model, weights.shape[1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # what is no number bounds nothing
        return _cover(_Search(weights, shares, rank), relative, reached, most)


def _cover(search: "_Search", relative: float, reached: float, most: int) -> EncoderCover:
    """Cut the cones with the smallest bounds until all are near the least divergence that is found."""
    reached = min(reached, search.least_found())
    nodes: list[tuple[int, int, int, int]] = []  # i, j, left, right
    found: list[tuple[Float64Array, Float64Array]] = []  # scales and moves of a node

    def look(cones: Int64Array) -> Float64Array:
        """The bounds of new nodes."""
        parts = [
            search.bounds(cones[start : start + _BATCH], (1.0 - relative) * reached)
            for start in range(0, len(cones), _BATCH)
        ]
        nodes.extend([(-1, -1, -1, -1)] * len(cones))
        for _, scales, moves in parts:
            found.extend(zip(scales, moves, strict=True))
        return np.concatenate([bounds for bounds, _, _ in parts])

    vertices = _initial_cones(search.laws.shape[1], search.rank)
    roots, bounds = len(vertices), look(vertices)
    owners = np.arange(roots)
    while len(nodes) < most and bounds.min() < (1.0 - relative) * reached:
        short = int((bounds < (1.0 - relative) * reached).sum())
        worst = np.argsort(bounds, kind="stable")[: min(_BATCH, short)]
        i, j = search.longest_edges(vertices[worst], np.array([found[owner][0] for owner in owners[worst]]))
        children, rows = np.repeat(vertices[worst], 2, axis=0), np.arange(len(worst))
        middle = vertices[worst][rows, i] + vertices[worst][rows, j]
        children[2 * rows, i] = middle
        children[2 * rows + 1, j] = middle
        if np.abs(middle).max() > _LARGEST:
            break
        for row, (parent, a, b) in enumerate(zip(owners[worst].tolist(), i.tolist(), j.tolist(), strict=True)):
            nodes[parent] = (a, b, len(nodes) + 2 * row, len(nodes) + 2 * row + 1)
        reached = min(reached, search.least_at(middle))
        kept = np.delete(np.arange(len(bounds)), worst)
        owners = np.append(owners[kept], np.arange(len(nodes), len(nodes) + len(children)))
        vertices, bounds = np.concatenate([vertices[kept], children]), np.append(bounds[kept], look(children))
    order = list(_preorder(nodes, roots))
    leaves = [found[node] for node in order if nodes[node][0] < 0]
    cuts = np.array([nodes[node][:2] for node in order])
    return EncoderCover(cuts, np.array([scales for scales, _ in leaves]), np.array([moves for _, moves in leaves]))


def cover_floor(
    laws: ArrayLike, cover: EncoderCover, *, d_model: int | None = None, prior: ArrayLike | None = None
) -> float:
    r"""Bound the mean divergence of every encoder of rank d from below by a cover, in nats.

    Let $M_1, \dots, M_K$ be the vertices of a leaf, times its scales, and
    $q_{t,ij} = \pi_t + \frac12 (\mu_{t,i} M_j + \mu_{t,j} M_i)$ laws. Every encoder whose logits are orthogonal to the
    rows of a matrix of the cone has the divergence $\min_{i \le j} \sum_t \rho_t (H(q_{t,ij}) - H(\pi_t))$ or more.
    The leaves cover all spaces of k directions.

    Why it is rigorous: the cones are cut again from the beginning, in integers; scales and moves are any floats, and
    the moved laws and their entropies are enclosures, which have to be positive.

    Args:
        laws: Positive weights, `[T, N]`; the law is the row divided by its exact sum.
        cover: Cuts, scales and moves, whoever found them.
        d_model: The rank d, in 1 .. N - 2; by default N - 2.
        prior: As in `verify.encoders.encoder_floor.encoder_floor`.

    Returns:
        The bound, rounded down; 0 where a leaf proves nothing.

    Raises:
        InputError: Arguments of wrong shapes or ranges, or cuts that are no cuts of all cones.
        HypothesisError: A law without full support.
    """
    weights, shares = _full(laws, prior)
    leaves = _leaves(_initial_cones(weights.shape[1], _checked_rank(d_model, weights.shape[1])), cover.cuts)
    if cover.scales.shape != leaves.shape[:2] or cover.moves.shape != (len(leaves), len(weights), *leaves.shape[1:3]):
        raise InputError(
            "cover", f"has scales {cover.scales.shape} and moves {cover.moves.shape} for {len(leaves)} leaves"
        )
    given = Enclosure(weights)
    exact = given / total(given, 1).reshape(len(weights), 1)
    share = (Enclosure(shares) / total(shares, 0)).reshape(1, len(weights))
    still = total(exact * log(exact), 1).reshape(1, len(weights))
    lower, size = np.inf, max(1, _ENTRIES // (leaves.shape[2] * weights.size))
    for start in range(0, len(leaves), size):
        part = slice(start, start + size)
        if not (cover.scales[part] > 0).all():
            return 0.0
        scaled = Enclosure(leaves[part].astype(np.float64)) * cover.scales[part, :, np.newaxis, np.newaxis]
        moves = cover.moves[part, ..., np.newaxis]
        for i, j in itertools.combinations_with_replacement(range(leaves.shape[1]), 2):
            steps = scaled[:, j, np.newaxis] * moves[:, :, i] + scaled[:, i, np.newaxis] * moves[:, :, j]
            moved = total(steps, 2) * 0.5 + exact
            if not (moved.lower() > 0).all():
                return 0.0
            gains = total((still - total(moved * log(moved), 2)) * share, 1)
            lower = min(lower, float(gains.lower().min()))
    return lower if 0.0 < lower < np.inf else 0.0


def _full(laws: ArrayLike, prior: ArrayLike | None) -> tuple[Float64Array, Float64Array]:
    weights, shares = checked_laws(laws, prior, 0)
    if weights.shape[1] < 3:
        raise InputError("laws", f"has {weights.shape[1]} tokens", "at least 3")
    weights, shares = weights[shares > 0.0], shares[shares > 0.0]
    if not (weights > 0.0).all():
        raise HypothesisError("Theorem Q of encoders", "laws of full support", f"one has the entry {weights.min()}")
    return weights, shares


def fewest_cones(tokens: int, rank: int) -> int:
    """How many cones a cover has at least, for the rank d of 1 .. N - 2: those that are cut.

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
    r"""Cones of matrices whose rows span every space of k directions of sum 0: `[cones, k d + 1, k, N]`."""
    return _staircases(tokens) if rank == tokens - 2 else _boxes(tokens, rank)


def _staircases(tokens: int) -> Int64Array:
    r"""For k = 1, cones that cover every $\nu$ of sum 0 or its negative, with vertices $e_i - e_j$.

    For every partition $I \sqcup J$ of the tokens, up to exchange, the staircases of $I \times J$.
    """
    found = []
    for chosen in range(1, 2 ** (tokens - 1)):  # the last token is in J
        parts = [[j for j in range(tokens) if (chosen >> j & 1) == one] for one in (1, 0)]
        for rights in itertools.combinations(range(tokens - 2), len(parts[0]) - 1):
            place, cone = [0, 0], np.zeros((tokens - 1, 1, tokens), dtype=np.int64)
            for step in range(tokens - 1):
                cone[step, 0, parts[0][place[0]]], cone[step, 0, parts[1][place[1]]] = 1, -1
                place[0 if step in rights else 1] += 1
            found.append(cone)
    return np.array(found)


def _boxes(tokens: int, rank: int) -> Int64Array:
    r"""Matrices $[I, X]$ in k of the first N - 1 columns and the others, $|X_{ab}| \le 1$, less their sum in the last.

    Of the k columns with the largest determinant all others are such combinations. The box of the X is the union of
    the simplices that go from one corner to the opposite one along its edges, in any order of the entries.
    """
    size = tokens - 1 - rank
    paths = np.array(list(itertools.permutations(range(size * rank))))
    corners = 2 * (paths[:, np.newaxis].argsort(axis=2) < np.arange(size * rank + 1)[:, np.newaxis]) - 1
    found = []
    for unit in itertools.combinations(range(tokens - 1), size):
        cones = np.zeros((*corners.shape[:2], size, tokens), dtype=np.int64)
        cones[..., list(unit)] = np.eye(size, dtype=np.int64)
        others = [j for j in range(tokens - 1) if j not in unit]
        cones[..., others] = corners.reshape(*corners.shape[:2], size, rank)
        cones[..., -1] = -cones.sum(axis=3)
        found.append(cones)
    return np.concatenate(found)


def _leaves(roots: Int64Array, cuts: Int64Array) -> Int64Array:
    """The cones of the leaves, in preorder: every cone is halved at its cut, exactly."""
    left, vertices = list(roots[::-1]), roots.shape[1]
    found = []
    for i, j in np.asarray(cuts).tolist():
        if not left:
            raise InputError("cuts", "has more nodes than its cuts make")
        cone = left.pop()
        if (i, j) == (-1, -1):
            found.append(cone)
            continue
        if not (0 <= i < vertices and 0 <= j < vertices and i != j):
            raise InputError("cuts", f"has the edge ({i}, {j})", f"two of {vertices} vertices")
        middle = cone[i] + cone[j]
        if np.abs(middle).max() > _LARGEST:
            raise InputError("cuts", "makes vertices beyond 2^52")
        halves = cone.copy(), cone.copy()
        halves[0][i] = halves[1][j] = middle
        left += halves[::-1]
    if left:
        raise InputError("cuts", f"leaves {len(left)} cones without a leaf")
    return np.array(found)


def _preorder(nodes: list[tuple[int, int, int, int]], roots: int) -> Iterator[int]:
    waiting = list(range(roots))[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if nodes[node][0] >= 0:
            waiting += [nodes[node][3], nodes[node][2]]


class _Search:
    """Scales, moves and bounds of cones, in floating point."""

    def __init__(self, weights: Float64Array, shares: Float64Array, rank: int) -> None:
        self.laws: Float64Array = weights / weights.sum(axis=1, keepdims=True)
        self.prior: Float64Array = shares / shares.sum()
        self.still = _entropy(self.laws)
        self.metric = np.sqrt((self.prior[:, None] / self.laws).sum(axis=0))
        self.rank = rank

    def bounds(self, vertices: Int64Array, target: float) -> tuple[Float64Array, Float64Array, Float64Array]:
        """A bound for each cone, its scales and its moves: common ones of the vertices; if nearly enough, their own."""
        cones, corners, size, _ = vertices.shape
        scales = 1.0 / np.sqrt((vertices**2 * self.metric).sum(axis=(2, 3)))
        scaled = vertices * scales[:, :, None, None]
        common = self.best_moves(scaled, np.ones(scales.shape), self.no_moves(cones, size), _NEWTON)
        best = self.gains(np.swapaxes(scaled, 1, 2).reshape(cones, size, -1), common).min(axis=1)
        moves = np.tile(np.nan_to_num(common), corners)
        near = np.flatnonzero((best < target) & (best > _NEAR * target))
        directions = _pairs(scaled[near])
        weights = np.tile(np.where(np.equal(*np.triu_indices(corners)), 1.0, 2.0), (len(near), 1))
        found, steps = _BACK * moves[near], _NEWTON
        for _ in range(_SHIFTS):
            found = self.moves_of_pairs(directions, weights, found, steps)
            gains = self.gains(directions, found)
            least = gains.min(axis=1)
            better = least > best[near]
            best[near[better]], moves[near[better]] = least[better], found[better]
            left, steps = best[near] < target, _FEWER
            if not left.any():
                break
            near, directions, found = near[left], directions[left], found[left]
            excess = (gains - least[:, None])[left] / target
            weights = weights[left] * np.exp(-_PULL * np.minimum(excess, _TOP))
        return best, scales, moves.reshape(cones, len(self.laws), corners, size)

    def no_moves(self, cones: int, size: int) -> Float64Array:
        return np.zeros((cones, len(self.laws), size))

    def gains(self, directions: Float64Array, moves: Float64Array) -> Float64Array:
        """The mean gain of entropy at each pair of vertices; minus infinity where a moved law is none."""
        tokens = self.laws.shape[1]
        moved = (moves @ directions).reshape(*moves.shape[:2], directions.shape[2] // tokens, tokens) + self.laws[
            :, None
        ]
        gains = self.prior @ (_entropy(moved) - self.still[:, None])
        return np.where(np.isfinite(gains), gains, -np.inf)

    def moves_of_pairs(
        self, directions: Float64Array, weights: Float64Array, start: Float64Array, steps: int
    ) -> Float64Array:
        """The moves that maximize the weighted mean of the entropies at the pairs of vertices."""
        factors = np.repeat(weights, self.laws.shape[1], axis=1)[:, None] * directions
        return _damped(np.tile(self.laws, weights.shape[1]), directions, factors, start, steps)

    def best_moves(self, scaled: Float64Array, weights: Float64Array, start: Float64Array, steps: int) -> Float64Array:
        """The moves that maximize the weighted mean of the entropies at the vertices."""
        directions = np.swapaxes(scaled, 1, 2).reshape(len(scaled), scaled.shape[2], -1)  # all vertices side by side
        factors = np.repeat(weights, scaled.shape[3], axis=1)[:, None] * directions
        laws = np.tile(self.laws, scaled.shape[1])
        return (
            _in_bracket(laws, directions, factors, start, steps)
            if scaled.shape[2] == 1
            else _damped(laws, directions, factors, start, steps)
        )

    def longest_edges(self, vertices: Int64Array, scales: Float64Array) -> tuple[Int64Array, Int64Array]:
        scaled = vertices * scales[:, :, None, None]
        squares = ((scaled[:, :, None] - scaled[:, None]) ** 2 * self.metric).sum(axis=(3, 4))
        return np.divmod(squares.reshape(len(vertices), -1).argmax(axis=1), vertices.shape[1])

    def least_at(self, matrices: Int64Array) -> float:
        """The least divergence on some spaces of directions, each with its best moves."""
        directions = matrices / np.sqrt((matrices**2 * self.metric).sum(axis=(1, 2)))[:, None, None]
        moves = self.best_moves(
            directions[:, None], np.ones((len(matrices), 1)), self.no_moves(*matrices.shape[:2]), 4 * _NEWTON
        )
        gains = self.gains(directions, moves)[:, 0]
        return float(gains[gains > 0.0].min(initial=np.inf))

    def least_found(self) -> float:
        """The least divergence on a space of directions that is found: descents from the best of many."""
        tokens = self.laws.shape[1]
        shape = tokens - 1 - self.rank, tokens

        def of(matrices: Float64Array) -> tuple[Float64Array, Float64Array]:
            """The divergences, and their derivatives by the matrices: those of the moves are 0 at the best ones."""
            centred = matrices - matrices.mean(axis=2, keepdims=True)
            moves = self.best_moves(
                centred[:, None], np.ones((len(centred), 1)), self.no_moves(len(centred), shape[0]), 4 * _NEWTON
            )
            moved = self.laws + moves @ centred
            slopes = -np.swapaxes(moves * self.prior[:, None], 1, 2) @ np.log(moved)
            return (_entropy(moved) - self.still) @ self.prior, slopes - slopes.mean(axis=2, keepdims=True)

        def one(point: Float64Array) -> tuple[float, Float64Array]:
            value, slope = of(point.reshape(1, *shape))
            return (float(value[0]), slope[0].ravel()) if np.isfinite(value[0]) else (1e9, np.zeros(point.shape))

        rng = np.random.default_rng(0)
        tried = rng.standard_normal((_TRIED, *shape)) / np.sqrt(self.metric)
        tried /= np.linalg.norm(tried, axis=(1, 2), keepdims=True)
        best = tried[np.argsort(of(tried)[0])[:_DESCENTS]]
        found = (scipy.optimize.minimize(one, start.ravel(), jac=True, method="L-BFGS-B") for start in best)
        return float(min(descent.fun for descent in found))


def _pairs(scaled: Float64Array) -> Float64Array:
    r"""What moves at the vertices do at their pairs: $\frac12 (\mu_i M_j + \mu_j M_i)$, all pairs side by side."""
    cones, corners, size, tokens = scaled.shape
    first, second = np.triu_indices(corners)
    found, pairs = np.zeros((corners, len(first), cones, size, tokens)), np.arange(len(first))
    found[first, pairs] += 0.5 * np.swapaxes(scaled, 0, 1)[second]
    found[second, pairs] += 0.5 * np.swapaxes(scaled, 0, 1)[first]
    return found.transpose(2, 0, 3, 1, 4).reshape(cones, corners * size, len(first) * tokens)


def _in_bracket(
    laws: Float64Array, directions: Float64Array, factors: Float64Array, moves: Float64Array, steps: int
) -> Float64Array:
    """One direction: Newton's method, kept between the ends and what is known of the slope."""
    ends, moves = -laws / directions, moves[:, :, 0]
    low: Float64Array = np.where(directions > 0, ends, -np.inf).max(axis=2) * _ROOM
    high: Float64Array = np.where(directions < 0, ends, np.inf).min(axis=2) * _ROOM
    slopes, curvatures = np.swapaxes(factors, 1, 2), np.swapaxes(factors * directions, 1, 2)
    for _ in range(steps):
        moved = laws + moves[:, :, None] * directions
        slope = -(np.log(moved) @ slopes)[:, :, 0]
        low, high = np.where(slope > 0, moves, low), np.where(slope > 0, high, moves)
        new: Float64Array = moves + slope / ((1.0 / moved) @ curvatures)[:, :, 0]
        new = np.where(new <= low, moves + _INSIDE * (low - moves), new)
        moves = np.where(new >= high, moves + _INSIDE * (high - moves), new)
    return moves[:, :, None]


def _damped(
    laws: Float64Array, directions: Float64Array, factors: Float64Array, moves: Float64Array, steps: int
) -> Float64Array:
    """Several directions: Newton's method, with steps that stay inside."""
    size = directions.shape[1]
    products = (factors[:, :, None] * directions[:, None]).reshape(len(directions), size**2, directions.shape[2])
    for _ in range(steps):
        moved = laws + moves @ directions
        slopes = -np.log(moved) @ np.swapaxes(factors, 1, 2)
        curvatures = ((1.0 / moved) @ np.swapaxes(products, 1, 2)).reshape(*slopes.shape, size)
        curvatures += np.eye(size) * (1e-12 * np.trace(curvatures, axis1=2, axis2=3) + 1e-300)[..., None, None]
        usable = np.isfinite(curvatures).all(axis=(2, 3)) & np.isfinite(slopes).all(axis=2)
        curvatures[~usable], slopes[~usable] = np.eye(size), 0.0
        step = np.linalg.solve(curvatures, slopes[..., None])[..., 0]
        reach = (-(step @ directions) / (moved - (1.0 - _ROOM) * laws)).max(axis=2)
        moves = moves + step * np.minimum(1.0, _INSIDE / np.maximum(reach, 1e-300))[..., None]
    return moves


def _entropy(laws: Float64Array) -> Float64Array:
    return -(laws * np.log(laws)).sum(axis=-1)
