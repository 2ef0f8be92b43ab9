r"""The least divergence of sequence encoders of rank N - 2, from below to any accuracy: a cover of all directions.

The logits of such an encoder are orthogonal to one direction besides the constants. On a simplicial cone of directions
one choice of moves of the laws bounds the divergence; cones are cut until the bound is good everywhere. The cuts are
integers, so the cover is exact, and what was found for each cone is a certificate that is judged without the search.

Page: docs/claims/sequence_encoder.md
"""

import itertools
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
_SHIFTS, _NEAR = 3, 0.6  # how often vertices are reweighted, where the bound is above this share of the target
_TRIED, _DESCENTS, _STEPS = 1000, 3, 60  # directions, descents from the best of them, and their steps for each token
_ROOM = 1.0 - 2.0**-20  # of the longest moves: the moved laws have to be positive
_LARGEST = 2**52  # of a vertex


@dataclass(frozen=True, eq=False)
class EncoderCover:
    r"""Cones that cover all directions, and moves of the laws that bound the divergence on each.

    Args:
        cuts: In preorder, from each initial cone downwards: the edge (i, j) at which a cone is cut, or (-1, -1) for a
            leaf, `[nodes, 2]`.
        scales: Positive factors of the vertices of each leaf, `[leaves, N - 1]`.
        moves: $\mu_t$ of each leaf, `[leaves, T]`.
    """

    cuts: Int64Array
    scales: Float64Array
    moves: Float64Array


def encoder_cover(
    laws: ArrayLike, *, prior: ArrayLike | None = None, relative: float = 0.05, most: int = 20_000
) -> EncoderCover:
    r"""Search for a cover whose bound is near the least divergence of all encoders of rank N - 2, in floating point.

    The cones with the smallest bounds are cut at the longest edge, measured by $\sum_j c_j v_j^2$ with
    $c_j = (\sum_t \rho_t / \pi_{t,j})^{1/2}$. The moves of a cone maximize a weighted mean of the bounds at its
    vertices, whose weights are shifted towards the smallest.

    Args:
        laws: Positive weights, `[T, N]`, $N \ge 3$; the law is the row divided by its sum.
        prior: As in `verify.encoders.encoder_floor.encoder_floor`.
        relative: How near to the least divergence that a descent finds the bound shall come.
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
    with np.errstate(divide="ignore", invalid="ignore"):  # what is no number bounds nothing
        return _cover(_Search(*_full(laws, prior)), relative, most)


def _cover(search: "_Search", relative: float, most: int) -> EncoderCover:
    """Cut the cones with the smallest bounds until all are near the least divergence that is found."""
    target = (1.0 - relative) * search.least_found()
    roots = _initial_cones(search.laws.shape[1])
    vertices, (bounds, scales, moves) = roots, search.bounds(roots, target)
    owners, nodes = np.arange(len(roots)), [(-1, -1, -1, -1)] * len(roots)  # of a node: i, j, left, right
    while len(nodes) < most and bounds.min() < target:
        worst = np.argsort(bounds, kind="stable")[: min(_BATCH, int((bounds < target).sum()))]
        i, j = search.longest_edges(vertices[worst], scales[worst])
        children, rows = np.repeat(vertices[worst], 2, axis=0), np.arange(len(worst))
        middle = vertices[worst][rows, i] + vertices[worst][rows, j]
        children[2 * rows, i] = middle
        children[2 * rows + 1, j] = middle
        if np.abs(middle).max() > _LARGEST:
            break
        for row, (parent, a, b) in enumerate(zip(owners[worst].tolist(), i.tolist(), j.tolist(), strict=True)):
            nodes[parent] = (a, b, len(nodes) + 2 * row, len(nodes) + 2 * row + 1)
        new = np.arange(len(nodes), len(nodes) + len(children))
        nodes += [(-1, -1, -1, -1)] * len(children)
        new_bounds, new_scales, new_moves = search.bounds(children, target)
        kept = np.delete(np.arange(len(bounds)), worst)
        vertices, owners = np.concatenate([vertices[kept], children]), np.append(owners[kept], new)
        bounds, scales = np.append(bounds[kept], new_bounds), np.concatenate([scales[kept], new_scales])
        moves = np.concatenate([moves[kept], new_moves])
    order = list(_preorder(nodes, len(roots)))
    place = {int(owner): row for row, owner in enumerate(owners)}
    leaves = [place[node] for node in order if nodes[node][0] < 0]
    return EncoderCover(np.array([nodes[node][:2] for node in order]), scales[leaves], moves[leaves])


def cover_floor(laws: ArrayLike, cover: EncoderCover, *, prior: ArrayLike | None = None) -> float:
    r"""Bound the mean divergence of every encoder of rank N - 2 from below by a cover, in nats.

    Let $\nu_1, \dots, \nu_{N-1}$ be the vertices of a leaf, times its scales, and $\pi_t + \mu_t \nu_i$ laws. Every
    encoder whose logits are orthogonal to a direction of the cone has the divergence
    $\min_i \sum_t \rho_t (H(\pi_t + \mu_t \nu_i) - H(\pi_t))$ or more. The leaves cover all directions.

    Why it is rigorous: the cones are cut again from the beginning, in integers; scales and moves are any floats, and
    the moved laws and their entropies are enclosures, which have to be positive.

    Args:
        laws: Positive weights, `[T, N]`; the law is the row divided by its exact sum.
        cover: Cuts, scales and moves, whoever found them.
        prior: As in `verify.encoders.encoder_floor.encoder_floor`.

    Returns:
        The bound, rounded down; 0 where a leaf proves nothing.

    Raises:
        InputError: Arguments of wrong shapes or ranges, or cuts that are no cuts of all cones.
        HypothesisError: A law without full support.
    """
    weights, shares = _full(laws, prior)
    leaves = _leaves(weights.shape[1], cover.cuts)
    if cover.scales.shape != leaves.shape[:2] or cover.moves.shape != (len(leaves), len(weights)):
        raise InputError(
            "cover", f"has scales {cover.scales.shape} and moves {cover.moves.shape} for {len(leaves)} leaves"
        )
    given = Enclosure(weights)
    exact = given / total(given, 1).reshape(len(weights), 1)
    share = (Enclosure(shares) / total(shares, 0)).reshape(1, 1, len(weights))
    still = total(exact * log(exact), 1).reshape(1, 1, len(weights))
    lower, size = np.inf, max(1, _ENTRIES // (leaves.shape[1] * weights.size))
    for start in range(0, len(leaves), size):
        part = slice(start, start + size)
        scaled = Enclosure(leaves[part].astype(np.float64)) * cover.scales[part, :, np.newaxis]
        steps = Enclosure(cover.moves[part, np.newaxis, :, np.newaxis]) * scaled.reshape(*scaled.shape[:2], 1, -1)
        moved = steps + exact
        if not (cover.scales[part] > 0).all() or not (moved.lower() > 0).all():
            return 0.0
        gains = total((still - total(moved * log(moved), 3)) * share, 2)
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


def _initial_cones(tokens: int) -> Int64Array:
    r"""Cones that cover every $\nu$ of sum 0 or its negative, with vertices $e_i - e_j$: `[cones, N - 1, N]`.

    For every partition $I \sqcup J$ of the tokens, up to exchange, the staircases of $I \times J$.
    """
    found = []
    for chosen in range(1, 2 ** (tokens - 1)):  # the last token is in J
        parts = [[j for j in range(tokens) if (chosen >> j & 1) == one] for one in (1, 0)]
        for rights in itertools.combinations(range(tokens - 2), len(parts[0]) - 1):
            place, cone = [0, 0], np.zeros((tokens - 1, tokens), dtype=np.int64)
            for step in range(tokens - 1):
                cone[step, parts[0][place[0]]], cone[step, parts[1][place[1]]] = 1, -1
                place[0 if step in rights else 1] += 1
            found.append(cone)
    return np.array(found)


def _leaves(tokens: int, cuts: Int64Array) -> Int64Array:
    """The cones of the leaves, in preorder: every cone is halved at its cut, exactly."""
    left = list(_initial_cones(tokens)[::-1])
    found = []
    for i, j in np.asarray(cuts).tolist():
        if not left:
            raise InputError("cuts", "has more nodes than its cuts make")
        cone = left.pop()
        if (i, j) == (-1, -1):
            found.append(cone)
            continue
        if not (0 <= i < tokens - 1 and 0 <= j < tokens - 1 and i != j):
            raise InputError("cuts", f"has the edge ({i}, {j})", f"two of {tokens - 1} vertices")
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

    def __init__(self, weights: Float64Array, shares: Float64Array) -> None:
        self.laws = weights / weights.sum(axis=1, keepdims=True)
        self.prior = shares / shares.sum()
        self.still = _entropy(self.laws)
        self.metric = np.sqrt((self.prior[:, None] / self.laws).sum(axis=0))

    def bounds(self, vertices: Int64Array, target: float) -> tuple[Float64Array, Float64Array, Float64Array]:
        """A bound for each cone, its scales and its moves; those a little short of the target are improved."""
        scales = 1.0 / np.sqrt((vertices**2 * self.metric).sum(axis=2))
        scaled = vertices * scales[:, :, None]
        weights = np.ones(scales.shape)
        moves = self.best_moves(scaled, weights, np.zeros((len(vertices), len(self.laws))), _NEWTON)
        gains = self.gains(scaled, moves)
        best = gains.min(axis=1)
        for _ in range(_SHIFTS):
            short = np.flatnonzero((best < target) & (best > _NEAR * target))
            if not len(short):
                break
            excess = (gains[short] - gains[short].min(axis=1, keepdims=True)) / target
            weights[short] *= np.exp(-4.0 * np.minimum(excess, 2.0))
            found = self.best_moves(scaled[short], weights[short], moves[short], _FEWER)
            gains[short] = self.gains(scaled[short], found)
            better = gains[short].min(axis=1) > best[short]
            moves[short[better]] = found[better]
            best[short[better]] = gains[short[better]].min(axis=1)
        return best, scales, moves

    def gains(self, scaled: Float64Array, moves: Float64Array) -> Float64Array:
        """The mean gain of entropy at each vertex of each cone; minus infinity where a moved law is none."""
        moved = self.laws + moves[:, None, :, None] * scaled[:, :, None, :]
        gains = (_entropy(moved) - self.still) @ self.prior
        return np.where(np.isfinite(gains), gains, -np.inf)

    def best_moves(self, scaled: Float64Array, weights: Float64Array, start: Float64Array, steps: int) -> Float64Array:
        """The moves that maximize the weighted mean of the entropies at the vertices: Newton in a bracket."""
        directions = scaled.reshape(len(scaled), 1, -1)  # all vertices side by side
        laws = np.tile(self.laws, scaled.shape[1])
        ends = -laws / directions
        low = np.where(directions > 0, ends, -np.inf).max(axis=2) * _ROOM
        high = np.where(directions < 0, ends, np.inf).min(axis=2) * _ROOM
        slopes = (weights[:, :, None] * scaled).reshape(len(scaled), -1, 1)
        curvatures = (weights[:, :, None] * scaled**2).reshape(len(scaled), -1, 1)
        moves = start
        for _ in range(steps):
            moved = laws + moves[:, :, None] * directions
            slope = -(np.log(moved) @ slopes)[:, :, 0]
            low, high = np.where(slope > 0, moves, low), np.where(slope > 0, high, moves)
            new = moves + slope / ((1.0 / moved) @ curvatures)[:, :, 0]
            new = np.where(new <= low, moves + _INSIDE * (low - moves), new)
            moves = np.where(new >= high, moves + _INSIDE * (high - moves), new)
        return moves

    def longest_edges(self, vertices: Int64Array, scales: Float64Array) -> tuple[Int64Array, Int64Array]:
        scaled = vertices * scales[:, :, None]
        squares = ((scaled[:, :, None] - scaled[:, None]) ** 2 * self.metric).sum(axis=3)
        return np.divmod(squares.reshape(len(vertices), -1).argmax(axis=1), vertices.shape[1])

    def least_found(self) -> float:
        """The least divergence on a direction that is found: among many, and by descents from the best of them."""
        tokens = self.laws.shape[1]
        rng, unit = np.random.default_rng(0), np.ones((1, 1))

        def of(directions: Float64Array) -> Float64Array:
            centred = directions - directions.mean(axis=1, keepdims=True)
            centred /= np.sqrt((centred**2 * self.metric).sum(axis=1, keepdims=True)) + 1e-300
            moves = np.zeros((len(centred), len(self.laws)))
            moves = self.best_moves(centred[:, None], unit, moves, 2 * _NEWTON)
            moved = self.laws + moves[:, :, None] * centred[:, None]
            return (self.prior * (_entropy(moved) - self.still)).sum(axis=1)

        tried = rng.standard_normal((_TRIED, tokens)) / np.sqrt(self.metric)
        best = tried[np.argsort(of(tried))[:_DESCENTS]]
        options = {"maxfev": _STEPS * tokens, "fatol": 1e-10}
        descents = (
            scipy.optimize.minimize(lambda x: of(x[None])[0], x, method="Nelder-Mead", options=options) for x in best
        )
        return float(min(found.fun for found in descents))


def _entropy(laws: Float64Array) -> Float64Array:
    return -(laws * np.log(laws)).sum(axis=-1)
