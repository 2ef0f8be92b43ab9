"""Bound the divergence from below for all weights of a shape: the limit of any training.

Heads tie the logits of contexts together, whatever their weights: those of some contexts have a convex combination in
common with those of others, or three of them lie on a line. Duality turns such a tie into a lower bound of the
divergence, which is a few entropies of rational distributions, evaluated in balls. What is searched for in floating
point are multipliers only; any multipliers give a bound.

Page: docs/claims/theorem_1.md
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpz_mat

from constructions.errors import InputError, require_at_least
from constructions.model.exact_network import as_rationals
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.contexts import checked_contexts
from verify.linear_algebra.norms import float_above
from verify.ranks.linear_relations import indicator_relation, indicator_vectors
from verify.verdict import Verdict

Distribution = list[fmpq]

_BITS = 128
_NEWTON_STEPS, _NEWTON_END = 60, 1e-9
_INSIDE = 1.0 - 2.0**-20  # of the longest step that keeps the moved distributions nonnegative: roundings must not leave


@dataclass(frozen=True)
class DivergenceFloor:
    r"""A proved lower bound of a divergence, for all weights of a shape.

    Args:
        lower: The bound of $\sum_t \rho_t \mathrm{KL}(\pi_t \| \mathrm{softmax}(z_t))$, nats; 0 where nothing was
            proved.
        verdict: PROVED if the bound is positive, else UNDECIDED.
        relation: The coefficients of the relation between the contexts, or empty.
        certificates: How many dual certificates the bound is the least of.
    """

    lower: float
    verdict: Verdict
    relation: tuple[int, ...]
    certificates: int


def relation_divergence_floor(
    contexts: Int64Array,
    distributions: Any,
    *,
    n_heads: int = 1,
    prior: Sequence[Any] | None = None,
    relation: Sequence[int] | None = None,
) -> DivergenceFloor:
    r"""Bound the divergence of every network with H heads from below, of any widths, by a relation between contexts.

    Let $\sum_t k_t M_H(t) = 0$ for contexts with one last token, $M_H(t)$ the products of at most $H$ indicators of the
    pairs $(s, t_s)$. The logits $z_t$ of any network with H heads satisfy $\sum_t k_t w_t z_t = 0$ with positive $w_t$,
    the products of the denominators of the heads, and $\sum_t k_t w_t = 0$. So for every direction
    v some i with $k_i > 0$ and some j with $k_j < 0$ have $\langle v, z_i \rangle \le \langle v, z_j \rangle$. Then,
    for every $\mu \ge 0$ for which $q_i = \pi_i - \mu v / \rho_i$ and $q_j = \pi_j + \mu v / \rho_j$ are distributions,

    $$ \sum_t \rho_t \, \mathrm{KL}(\pi_t \| \mathrm{softmax}(z_t))
       \ge \rho_i (\mathrm{Ent}(q_i) - \mathrm{Ent}(\pi_i)) + \rho_j (\mathrm{Ent}(q_j) - \mathrm{Ent}(\pi_j)) . $$

    The bound is the least over the pairs. The direction is the mean of the distributions with positive k minus that of
    the others. For two tokens the bound is the infimum over all logits that positive $w_t$ allow.

    Why it is rigorous: the relation is checked in integers, the q are rational and checked to be distributions, and the
    entropies are balls; $\mu$ comes from a search in floating point, and needs no proof.

    Args:
        contexts: Tokens of pairwise distinct contexts, `[T, S]`.
        distributions: `[T, N]`, integers, fractions or floats at least 0; the distribution is the row divided by its
            exact sum.
        n_heads: $H$, at least 0.
        prior: Positive weight of each context, likewise; 1 / T each by default. Not normalized: for contexts that are a
            part of a task, give their probabilities there.
        relation: Integers k, one for each context; by default those of
            `verify.ranks.linear_relations.indicator_relation`.

    Returns:
        The bound, UNDECIDED if there is no relation, or none that separates these distributions.

    Raises:
        InputError: Arguments of wrong shapes or ranges, or integers k that are no such relation of these contexts.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Theorem 1 with epsilon = 0.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> floor = relation_divergence_floor(xor, [[99, 1], [99, 1], [1, 99], [1, 99]])
        >>> floor.verdict.value, floor.lower > 0.3185728231
        ('PROVED', True)
    """
    contexts = checked_contexts(contexts, distinct=True)
    problem = _Given(distributions, prior, len(contexts))
    require_at_least(0, n_heads=n_heads)
    relation = _relation(contexts, n_heads) if relation is None else _checked_relation(contexts, relation, n_heads)
    if relation is None:
        return DivergenceFloor(0.0, Verdict.UNDECIDED, (), 0)
    above = [t for t, k in enumerate(relation) if k > 0]
    below = [t for t, k in enumerate(relation) if k < 0]
    direction = [
        sum((problem.distributions[t][n] for t in above), fmpq(0)) / len(above)
        - sum((problem.distributions[t][n] for t in below), fmpq(0)) / len(below)
        for n in range(problem.d_vocab)
    ]
    with ctx.workprec(_BITS):
        bounds = [problem.pair_floor(i, j, direction) for i, j in product(above, below)]
    return _floor(bounds, relation)


def collinear_divergence_floor(
    contexts: Int64Array, distributions: Any, *, prior: Sequence[Any] | None = None, pieces: int = 96
) -> DivergenceFloor:
    r"""Bound the divergence of every network with one head of width 1 from below, on three contexts of one last token.

    The logits $z_t = (x_S + (A_t W_V) W_O) W_U$ of such contexts lie on a line, since $A_t W_V$ is a number. One of the
    three, b, is between the other two: $z_b = (1 - \theta) z_a + \theta z_c$ with $0 \le \theta \le 1$. With the
    coefficients $k = (1 - \theta, -1, \theta)$ of a, b, c, for every $\nu \in \mathbb{R}^N$ for which the
    $q_t = \pi_t - k_t \nu / \rho_t$ are distributions,

    $$ \sum_t \rho_t \, \mathrm{KL}(\pi_t \| \mathrm{softmax}(z_t))
       \ge \sum_t \rho_t \, (\mathrm{Ent}(q_t) - \mathrm{Ent}(\pi_t)) . $$

    The right side is concave in $\theta$. So on an interval of $\theta$ one $\nu$ and the two ends give a bound. For
    each choice of b, [0, 1] is cut where the bound is least.

    Why it is rigorous: the ends, $\nu$ and the q are rational, the q are checked to be distributions, the entropies are
        balls.

    Args:
        contexts: Tokens of three distinct contexts, `[3, S]`, with one last token.
        distributions: `[3, N]`, integers, fractions or floats at least 0; the distribution is the row divided by its
            exact sum.
        prior: Positive weight of each context, as in `relation_divergence_floor`; 1/3 each by default.
        pieces: How many intervals to cut the three choices into, at least 3.

    Returns:
        The bound, UNDECIDED if it is not positive, as for distributions whose logits are collinear.

    Raises:
        InputError: Arguments of wrong shapes or ranges, or contexts whose last tokens differ.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Theorem 1 with epsilon = 0.

    Example:
        >>> floor = collinear_divergence_floor(
        ...     np.array([[0, 0], [1, 0], [2, 0]]), [[18, 1, 1], [1, 18, 1], [1, 1, 18]])
        >>> floor.verdict.value, floor.lower > 0.1611
        ('PROVED', True)
    """
    contexts = checked_contexts(contexts, distinct=True)
    if len(contexts) != 3 or (contexts[:, -1] != contexts[0, -1]).any():
        raise InputError("contexts", f"is {contexts.tolist()}", "three contexts with one last token")
    require_at_least(3, pieces=pieces)
    problem = _Given(distributions, prior, 3)
    cells = [problem.cell(middle, fmpq(0), fmpq(1)) for middle in range(3)]
    heapq.heapify(cells)
    while len(cells) < pieces:
        cell = heapq.heappop(cells)
        half = (cell.start + cell.stop) / 2
        heapq.heappush(cells, problem.cell(cell.middle, cell.start, half))
        heapq.heappush(cells, problem.cell(cell.middle, half, cell.stop))
    with ctx.workprec(_BITS):
        bounds = [problem.cell_floor(cell) for cell in cells]
    return _floor(bounds, ())


@dataclass(frozen=True)
class _Cell:
    """An interval of theta for one choice of the middle point, with multipliers and the bound in floats."""

    bound: float
    middle: int
    start: fmpq
    stop: fmpq
    multipliers: tuple[float, ...]

    def __lt__(self, other: "_Cell") -> bool:
        return self.bound < other.bound

    def coefficients(self, theta: fmpq) -> list[fmpq]:
        """Return the k of the three contexts: -1 in the middle, 1 - theta and theta at the ends."""
        result = [1 - theta, theta]
        result.insert(self.middle, fmpq(-1))
        return result


class _Given:
    """Distributions and prior as rationals that sum to 1 and are positive, and as floats for the search."""

    def __init__(self, distributions: Any, prior: Sequence[Any] | None, n_contexts: int) -> None:
        table = as_rationals(distributions).tolist()
        if len(table) != n_contexts:
            raise InputError("distributions", f"has {len(table)} rows", f"{n_contexts}, one for each context")
        sums = [sum(row, fmpq(0)) for row in table]
        if any(not entry >= 0 for row in table for entry in row) or any(not total > 0 for total in sums):
            raise InputError("distributions", "has a negative entry or a row of zeros", "rows that can be normalized")
        weights = [fmpq(1, n_contexts)] * n_contexts if prior is None else as_rationals([list(prior)]).entries()
        if len(weights) != n_contexts or any(not weight > 0 for weight in weights):
            raise InputError("prior", f"is {prior}", f"{n_contexts} positive weights")
        self.distributions: list[Distribution] = [
            [entry / total for entry in row] for row, total in zip(table, sums, strict=True)
        ]
        self.prior: list[fmpq] = weights
        self.d_vocab = len(table[0])
        self._distributions = np.array(
            [[_as_float(entry) for entry in distribution] for distribution in self.distributions]
        )
        self._prior = np.array([_as_float(weight) for weight in weights])

    def dual_value(self, multipliers: Iterable[tuple[int, Distribution]]) -> arb:
        r"""Return $\sum_t \rho_t (\mathrm{Ent}(q_t) - \mathrm{Ent}(\pi_t))$, $q_t = \pi_t - \xi_t / \rho_t$; NaN if a
        $q_t$ is not a distribution.

        It bounds $\sum_t \rho_t \mathrm{KL}(\pi_t \| \mathrm{softmax}(z_t))$ from below whenever
        $\sum_t \langle \xi_t, z_t \rangle \le 0$ (Lemma O4).
        """
        total = arb(0)
        for t, multiplier in multipliers:
            distribution, weight = self.distributions[t], self.prior[t]
            moved = [entry - change / weight for entry, change in zip(distribution, multiplier, strict=True)]
            if sum(moved, fmpq(0)) != 1 or min(moved) < 0:
                return arb("nan")
            total += weight * (_entropy(moved) - _entropy(distribution))
        return total

    def pair_floor(self, i: int, j: int, direction: Distribution) -> arb:
        """Return the bound for logits whose component along the direction is at most as large at i as at j."""
        import scipy.optimize

        v = np.array([_as_float(entry) for entry in direction])
        p, q, of_p, of_q = self._distributions[i], self._distributions[j], self._prior[i], self._prior[j]
        room = np.where(v > 0, p * of_p, q * of_q)[v != 0] / np.abs(v)[v != 0]
        most = float(room.min(initial=math.inf)) * _INSIDE
        if not 0 < most < math.inf:
            return arb(0)

        def loss(step: float) -> float:
            return -of_p * _float_entropy(p - step * v / of_p) - of_q * _float_entropy(q + step * v / of_q)

        minimizer: Any = scipy.optimize.fminbound(loss, 0.0, most, xtol=1e-9 * most)
        if not 0 <= minimizer <= most:
            return arb(0)
        step = _from_float(float(minimizer))
        return self.dual_value([(i, [step * x for x in direction]), (j, [-step * x for x in direction])])

    def cell(self, middle: int, start: fmpq, stop: fmpq) -> _Cell:
        """Return multipliers for an interval of theta: the best at its centre, scaled until both ends have
        distributions.
        """
        cell = _Cell(0.0, middle, start, stop, (0.0,) * self.d_vocab)
        centre = np.array([_as_float(k) for k in cell.coefficients((start + stop) / 2)])
        nu = self._best_multipliers(centre, middle)
        shifts = [
            np.outer([_as_float(k) for k in cell.coefficients(theta)] / self._prior, nu) for theta in (start, stop)
        ]
        moving = np.concatenate(shifts)
        distributions = np.concatenate([self._distributions, self._distributions])
        step = min(
            1.0, float((distributions / np.where(moving > 0, moving, np.nan))[moving > 0].min(initial=2.0)) * _INSIDE
        )
        bound = min(
            sum(
                weight * (_float_entropy(distribution - step * change) - _float_entropy(distribution))
                for weight, distribution, change in zip(self._prior, self._distributions, shift, strict=True)
            )
            for shift in shifts
        )
        return _Cell(float(bound), middle, start, stop, tuple((step * nu).tolist()))

    def cell_floor(self, cell: _Cell) -> arb:
        """Return the bound on an interval of theta: the smaller value at its ends, because it is concave between
        them.
        """
        nu = [_from_float(x) for x in cell.multipliers[:-1]]
        nu.append(-sum(nu, fmpq(0)))
        ends = [
            self.dual_value((t, [k * x for x in nu]) for t, k in enumerate(cell.coefficients(theta)))
            for theta in (cell.start, cell.stop)
        ]
        return ends[0].min(ends[1])

    def _best_multipliers(self, coefficients: Float64Array, middle: int) -> Float64Array:
        """Return the dual optimum for one theta from the primal one: the best logits of the two ends, by Newton's
        method.
        """
        ends = [t for t in range(3) if t != middle]
        shares = coefficients[ends]
        z, gap = np.zeros_like(self._distributions), np.zeros_like(self._distributions)
        for _ in range(_NEWTON_STEPS):
            powers = np.exp(z - z.max(axis=1, keepdims=True))
            predicted = powers / powers.sum(axis=1, keepdims=True)
            gap = self._prior[:, None] * (predicted - self._distributions)
            gradient = gap[ends] + shares[:, None] * gap[middle]
            curvature = predicted[:, :, None] * (np.eye(self.d_vocab) - predicted[:, None, :])
            curvature *= self._prior[:, None, None]
            hessian = np.kron(np.outer(shares, shares), curvature[middle])
            for place, end in enumerate(ends):
                block = slice(place * self.d_vocab, (place + 1) * self.d_vocab)
                hessian[block, block] += curvature[end] + 1.0  # shifts cost nothing, and are kept out of the step
            step = np.linalg.lstsq(hessian, gradient.ravel(), rcond=1e-14)[0].reshape(2, -1)
            longest = float(np.abs(step).max())
            z[ends] -= step / (1.0 + longest)
            z[middle] = shares @ z[ends]
            if not longest > _NEWTON_END:
                break
        return gap[middle]


def _floor(bounds: list[arb], relation: tuple[int, ...]) -> DivergenceFloor:
    """Return the least of the bounds, rounded down; None unless all are proved to be positive."""
    lower = min((-float_above(-bound) for bound in bounds), default=0.0) if all(b > 0 for b in bounds) else 0.0
    if lower > 0:
        return DivergenceFloor(lower, Verdict.PROVED, relation, len(bounds))
    return DivergenceFloor(0.0, Verdict.UNDECIDED, relation, len(bounds))


def _entropy(distribution: Distribution) -> arb:
    """Return Shannon's entropy of a rational distribution, in nats."""
    balls = [arb(entry) for entry in distribution if entry != 0]
    return -sum((ball * ball.log() for ball in balls), arb(0))


def _float_entropy(distribution: Float64Array) -> float:
    positive = distribution[distribution > 0]
    return float(-(positive * np.log(positive)).sum())


def _relation(contexts: Int64Array, n_heads: int) -> tuple[int, ...] | None:
    if (contexts[:, -1] != contexts[0, -1]).any():
        return None
    relation = indicator_relation(contexts, n_heads=n_heads)
    return None if relation is None else tuple(relation)


def _checked_relation(contexts: Int64Array, relation: Sequence[int], n_heads: int) -> tuple[int, ...]:
    """Return the coefficients if they are a relation between contexts with one last token; otherwise raise."""
    if len(relation) != len(contexts) or not all(isinstance(k, int) for k in relation) or not any(relation):
        raise InputError("relation", f"is {list(relation)}", f"{len(contexts)} integers, not all 0")
    taking_part = [context for k, context in zip(relation, contexts.tolist(), strict=True) if k]
    if len({context[-1] for context in taking_part}) != 1:
        raise InputError("relation", f"is {list(relation)}, but the last tokens of these contexts differ")
    indicators = fmpz_mat(indicator_vectors(contexts.tolist(), n_heads=n_heads))
    if any(fmpz_mat(1, len(contexts), list(relation)) * indicators):
        raise InputError(
            "relation", f"is {list(relation)}, but the products of {n_heads} indicators do not add up to 0"
        )
    return tuple(relation)


def _as_float(value: fmpq) -> float:
    return int(value.p) / int(value.q)


def _from_float(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())
