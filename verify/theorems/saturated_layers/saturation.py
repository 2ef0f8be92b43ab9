"""Judge saturated heads: their distance from one token, the remaining weight, and the effect on the rank.

Pages: docs/claims/saturated_heads.md, docs/claims/steep_heads.md
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from verify.arithmetic.elementary import exp
from verify.arithmetic.enclosure import Enclosure, matmul, sqrt
from verify.arithmetic.sums import total
from verify.linear_algebra.singular_values import enclose_singular_values, enclose_spectral_norm


@dataclass(frozen=True, eq=False)
class Saturation:
    """The heads that are proved to be saturated, for each example.

    Args:
        threshold: The attention weight that some token has to reach.
        saturated: Whether the largest weight is proved to be at least that, `[T, H]`.
        unsaturated: Whether it is proved to be below, `[T, H]`; what is neither is undecided.
    """

    threshold: float
    saturated: BoolArray
    unsaturated: BoolArray


@dataclass(frozen=True, eq=False)
class OneHotDistance:
    r"""The distance of attention from a single token.

    Args:
        winners: The token i of each example, `[T]`.
        distances: Upper bounds of $\lVert \theta_t - 1_i \rVert_1 = 2 (1 - \theta_{t,i})$, `[T]`; at most 2.
    """

    winners: Int64Array
    distances: Float64Array


def certify_saturation(top: Enclosure, *, threshold: float) -> Saturation:
    r"""Decide for each example and head whether its largest attention weight reaches a threshold $1 - \delta$.

    Why it is rigorous: the enclosure holds the exact weight; it is at least the lower end and at most the upper one.

    Args:
        top: Largest attention weights, `[T, H]`, e.g. those of `verify.forward.heads.enclose_layer`.
        threshold: $1 - \delta$, in (0, 1).

    Returns:
        Both answers.

    Raises:
        InputError: A threshold out of range.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Appendix H.

    Example:
        >>> found = certify_saturation(Enclosure([[0.999, 0.5, 0.99]], 1e-3), threshold=0.99)
        >>> found.saturated.tolist(), found.unsaturated.tolist()
        ([[True, False, False]], [[False, True, False]])
    """
    if not 0.0 < threshold < 1.0:
        raise InputError("threshold", f"= {threshold}", "a number between 0 and 1")
    return Saturation(threshold, top.lower() >= threshold, top.upper() < threshold)


def one_hot_bound(steep: Enclosure, base: Enclosure) -> OneHotDistance:
    r"""Bound how far softmax(steep + base) is from one token, by the printed rate.

    $$ \lVert \theta - 1_i \rVert_1 \le 2 (n - 1) \, e^{-(g - G)} $$

    with g the gap between the largest and the second largest steep score, and G the range of the base scores. With
    $\kappa a$ for the steep scores g is $\kappa$ times the gap of a.

    Why it is rigorous: $1 - \theta_i \le \sum_{j \ne i} e^{l_j - l_i}$, every exponent is at most $G - g$, and gap and
    range are bounded by the ends of the enclosures.

    Args:
        steep: `[T, n]`.
        base: `[T, n]`.

    Returns:
        Bounds for the tokens with the largest steep scores; 2, which always holds, where nothing better is proved.

    Raises:
        InputError: Scores of different shapes, or no tokens.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Lemma 4 and equation (19), made explicit.

    Example:
        >>> bound = one_hot_bound(Enclosure([[20.0, 0.0]]), Enclosure([[0.0, 1.0]]))
        >>> bound.winners.tolist(), bool(bound.distances[0] < 2.0 * np.exp(-18.99))
        ([0], True)
    """
    if steep.shape != base.shape or steep.ndim != 2 or steep.shape[1] < 1:
        raise InputError("steep", f"has shape {steep.shape} and base {base.shape}", "[T, n] of both")
    examples, tokens = steep.shape
    winners = steep.midpoint.argmax(axis=1)
    if tokens == 1:
        return OneHotDistance(winners, np.zeros(examples))
    rows, others = np.arange(examples), np.ones(steep.shape, dtype=bool)
    others[rows, winners] = False
    lower, upper = steep.lower(), steep.upper()
    second = np.where(others, upper, -np.inf).max(axis=1)
    gap = Enclosure.exact(lower[rows, winners]) - Enclosure.exact(second)
    spread = Enclosure.exact(base.upper().max(axis=1)) - Enclosure.exact(base.lower().min(axis=1))
    bound = (exp(spread - gap) * (2.0 * (tokens - 1))).upper()
    return OneHotDistance(winners, np.where(bound < 2.0, bound, 2.0))


def one_hot_distance(theta: Enclosure, winners: Int64Array) -> Enclosure:
    r"""Enclose $\lVert \theta_t - 1_i \rVert_1 = 2 (1 - \theta_{t,i})$, `[T]`, as the weights of the other tokens.

    Why it is rigorous: the weights of one example add up to 1, so the distance is twice the sum of the others'; a sum
    of enclosures.

    Args:
        theta: Attention weights of one head, `[T, n]`.
        winners: i, `[T]`.

    Returns:
        The distances.

    Example:
        >>> distance = one_hot_distance(Enclosure([[0.75, 0.25]]), np.array([0]))
        >>> float(distance.midpoint[0])
        0.5
    """
    left = np.ones(theta.shape)
    left[np.arange(len(theta)), winners] = 0.0
    return total(theta * left, axis=1) * 2.0


def largest_norm(contexts: ArrayLike) -> float:
    """Return an upper bound of the largest Euclidean norm of a token, $M$.

    Why it is rigorous: the squares are summed in an enclosure, and the root is taken of its upper end.

    Args:
        contexts: Exact keys, `[C, n, d]`.

    Returns:
        A float that is not below M.

    Example:
        >>> 5.0 <= largest_norm([[[3.0, 4.0], [0.0, 1.0]]]) < 5.0 + 1e-12
        True
    """
    tokens = Enclosure.exact(contexts)
    largest_square = total(tokens * tokens, axis=2).upper().max()
    return float(sqrt(Enclosure.exact(largest_square)).upper())


def separation(rows: Enclosure, combination: Float64Array, frozen: Enclosure) -> float:
    r"""Return a lower bound of $\sigma_{\min}(D - C B)$: how far new rows are from the span of the earlier ones.

    Why it is rigorous: the singular values of every matrix of the set $D - C B$ are enclosed; C is exact, whatever it
    was meant to be.

    Args:
        rows: $D$, `[b, d]`.
        combination: $C$, `[b, T_0]`.
        frozen: $B$, `[T_0, d]`.

    Returns:
        A float that is at most $\sigma_{\min}$, 0 if none is proved to be positive.

    Example:
        >>> round(separation(Enclosure([[3.0, 0.0]]), np.array([[1.0]]), Enclosure([[1.0, 0.0]])), 9)
        2.0
    """
    return smallest(rows - matmul(combination, frozen))


def smallest(matrix: Enclosure) -> float:
    """Return a lower bound of the smallest singular value of every matrix of a set; 0 if its rows may be dependent.

    Args:
        matrix: `[b, d]`.

    Returns:
        A float; positive only if every matrix of the set has rank b.

    Example:
        >>> round(smallest(Enclosure([[3.0, 0.0], [0.0, 4.0]])), 9), smallest(Enclosure([[1.0], [2.0]]))
        (3.0, 0.0)
    """
    if len(matrix) > matrix.shape[1]:
        return 0.0
    bound = float(enclose_singular_values(matrix).lower().min(initial=np.inf))
    return bound if bound > 0.0 else 0.0


def perturbed_separation(
    limit: Enclosure, combination: Float64Array, distances: Float64Array, *, largest_token: float
) -> float:
    r"""Return a lower bound of $\sigma_{\min}(D - C B)$ for a finite $\kappa$ from that of its limit, by Weyl's
    inequality.

    $$ \sigma_{\min}(D - C B_\kappa) \ge \sigma_{\min}(D - C B_\infty) - \lVert C \rVert_2 M
       \Bigl( \sum_t \lVert \theta_t - 1_i \rVert_1^2 \Bigr)^{1/2} $$

    Why it is rigorous: a row of $B_\kappa - B_\infty$ is a combination of tokens with coefficients of total size
    $\lVert \theta_t - 1_i \rVert_1$; norms and singular values are enclosed.

    Args:
        limit: $D - C B_\infty$, `[b, d]`.
        combination: $C$, `[b, T_0]`.
        distances: Upper bounds of $\lVert \theta_t - 1_i \rVert_1$, `[T_0]`.
        largest_token: Upper bound of M.

    Returns:
        A float that is at most $\sigma_{\min}$, 0 if none is proved to be positive.

    Raises:
        InputError: Another number of distances than columns of C, or a negative one or a negative M: no bounds.

    Source: Mahdavi, Liao, Thrampoulidis (2024), equation (19).

    Example:
        >>> limit = Enclosure([[2.0, 0.0]])
        >>> round(perturbed_separation(limit, np.array([[3.0]]), np.array([0.1]), largest_token=1.0), 9)
        1.7
    """
    if np.shape(distances) != np.shape(combination)[1:] or np.any(distances < 0.0) or largest_token < 0.0:
        raise InputError(
            "distances",
            f"has shape {np.shape(distances)} beside combination {np.shape(combination)}, largest_token = "
            f"{largest_token}",
            "one number for each column, and none below 0",
        )
    moved = Enclosure.exact(distances)
    length = sqrt(Enclosure.exact(total(moved * moved).upper())).upper()
    cost = enclose_spectral_norm(combination) * length * largest_token
    bound = float((Enclosure.exact(smallest(limit)) - cost).lower())
    return bound if bound > 0.0 else 0.0
