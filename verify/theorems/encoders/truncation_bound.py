r"""Bound the cost of replacing the logarithms of distributions by nearby logits: divergence against squared distance.

The logits $F_t$ are off by $z_t = F_t - \log \pi_t$, a constant in each row being free. Enclosed here are the
divergence with a small relative error, its bounds by range, norm, variance and ends of $z$, and the singular values
that say how near logits of rank d can come. What no logits of rank d can do is in
`verify/theorems/encoders/encoder_floor.py`.

Page: docs/claims/least_squares.md
"""

import math
from dataclasses import dataclass

import numpy as np

from constructions.errors import HypothesisError, InputError
from constructions.numeric.arrays import Float64Array
from verify.arithmetic.elementary import exp, log, log1p
from verify.arithmetic.enclosure import Enclosure, largest, sqrt
from verify.arithmetic.exact_inputs import as_float64
from verify.arithmetic.rounding import up
from verify.arithmetic.sums import total
from verify.divergence.kullback_leibler import divergence
from verify.linear_algebra.singular_values import enclose_singular_values

_TERMS = 18  # of the series of phi, for |x| <= 1


def sharp_divergence(logits: Enclosure, distributions: Float64Array) -> Enclosure:
    r"""Enclose the divergence of each distribution from the predicted one in nats, with a small relative error for near
    logits.

    With $\bar z = z - \sum_i \pi_i z_i$ and $\varphi(x) = (e^x - 1 - x) / x^2$,

    $$ d_{KL}(\pi \,\|\, \mathrm{softmax}\, F) = \log \Bigl( 1 + \sum_i \pi_i \bar z_i^2 \varphi(\bar z_i) \Bigr), $$

    a sum without cancellation. Where $z$ is large, `verify.divergence.kullback_leibler.divergence` is as good, and both
    are intersected.

    Args:
        logits: Logits, `[T, N]`.
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its exact sum.

    Returns:
        Enclosure `[T]`.

    Raises:
        HypothesisError: A distribution with a zero.
        InputError: Other shapes.

    Example:
        >>> value = sharp_divergence(Enclosure([[1e-6, -1e-6]]), np.array([[1.0, 1.0]]))
        >>> bool(abs(value.midpoint[0] / 5e-13 - 1.0) < 1e-9), bool(value.radius[0] < 1e-8 * value.midpoint[0])
        (True, True)
    """
    weights = _checked(distributions)
    error = _centred_error(logits, weights)
    near = log1p(_mean(error * error * phi(error), weights))
    far = divergence(logits, weights)
    return Enclosure.between(
        np.maximum(np.maximum(near.lower(), far.lower()), 0.0), np.minimum(near.upper(), far.upper())
    )


@dataclass(frozen=True, eq=False)
class MomentBounds:
    r"""Bounds of the divergence by moments of the error $\bar z$ of the logits, in nats, enclosed; each `[T]`.

    Args:
        lower: $\log(1 + V \varphi(-m))$, at most the divergence; $V = \sum_i \pi_i \bar z_i^2$, $-m = \min \bar z$.
        two_point: $\log \frac{M^2 e^{-V/M} + V e^M}{M^2 + V}$, at least the divergence; $M = \max \bar z$. Without
            information where $M$ may be 0.
        upper: $\log(1 + V \varphi(M))$, at least the one before.
        by_range: $(M + m)^2 / 8$, at least the divergence.
        by_norm: $\lVert z - \mathrm{mean}\, z \rVert^2 / 4$, at least the one before.
    """

    lower: Enclosure
    two_point: Enclosure
    upper: Enclosure
    by_range: Enclosure
    by_norm: Enclosure


def moment_bounds(logits: Enclosure, distributions: Float64Array) -> MomentBounds:
    r"""Enclose the bounds of the divergence by moments of $z = F - \log \pi$.

    Args:
        logits: Logits, `[T, N]`.
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its exact sum.

    Returns:
        The bounds.

    Raises:
        HypothesisError: A distribution with a zero.
        InputError: Other shapes.

    Source: Hoeffding (1963), inequality (4.16); Bennett (1962) for the two-point bound.

    Example:
        >>> bounds = moment_bounds(Enclosure([[0.25, -0.25]]), np.array([[1.0, 1.0]]))
        >>> float(bounds.by_norm.midpoint[0]), bool(bounds.lower.upper()[0] < bounds.two_point.lower()[0])
        (0.03125, True)
    """
    weights = _checked(distributions)
    error = _centred_error(logits, weights)
    variance = _mean(error * error, weights)
    top, bottom = largest(error, 1), -largest(-error, 1)
    square = top * top
    mixed = (variance * phi(-(variance / top)) + square * phi(top)) / (square + variance)
    width = top - bottom
    about_mean = centred(error)
    return MomentBounds(
        lower=log1p(variance * phi(bottom)),
        two_point=log1p(variance * mixed),
        upper=log1p(variance * phi(top)),
        by_range=width * width * 0.125,
        by_norm=total(about_mean * about_mean, 1) * 0.25,
    )


def phi(x: Enclosure) -> Enclosure:
    r"""Enclose $\varphi(x) = (e^x - 1 - x) / x^2 = \int_0^1 (1 - s) e^{s x} ds$, with $\varphi(0) = 1/2$; no unit.

    It is increasing, so the ends of a set give the ends of its image.

    Args:
        x: Any shape.

    Returns:
        Enclosure of the shape of `x`.

    Example:
        >>> phi(Enclosure([0.0, 1.0])).midpoint.round(12).tolist()  # 1/2, e - 2
        [0.5, 0.718281828459]
    """
    return Enclosure.between(_phi_at(x.lower()).lower(), _phi_at(x.upper()).upper())


def _phi_at(x: Float64Array) -> Enclosure:
    """Return the series where |x| <= 1, the quotient elsewhere: its numerator is at least 0.36 |x| there."""
    with np.errstate(all="ignore"):
        small = np.abs(x) <= 1.0
    point = np.where(small, x, 0.0)
    series = Enclosure(np.zeros_like(point))
    for k in reversed(range(_TERMS)):
        # Factorials up to 22! are floats.
        series = series * point + Enclosure(1.0) / float(math.factorial(k + 2))
    # The sum of 1 / (k + 2)! over the terms that are left out is less than twice the first of them.
    remainder = 2.0 / math.factorial(_TERMS + 2)
    point = Enclosure(np.where(small, 2.0, x))
    quotient = (exp(point) - 1.0 - point) / (point * point)
    return Enclosure(
        np.where(small, series.midpoint, quotient.midpoint),
        np.where(small, up(series.radius + remainder), quotient.radius),
    )


def log_distributions(distributions: Float64Array) -> Enclosure:
    r"""Enclose the logarithms $\log \pi_t(i)$ of distributions, in nats: the matrix L.

    Args:
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its exact sum.

    Returns:
        Enclosure `[T, N]`.

    Raises:
        HypothesisError: A distribution with a zero.
        InputError: No matrix of finite weights that are at least 0.

    Example:
        >>> bool((log_distributions(np.array([[1.0, 1.0]])).midpoint == -np.log(2.0)).all())
        True
    """
    weights = _checked(distributions)
    return log(weights) - log(total(weights, 1)).reshape(len(weights), 1)


def centred(x: Enclosure) -> Enclosure:
    r"""Enclose the rows of a matrix minus their means, $x P_1$ with $P_1 = I - \mathbf 1 \mathbf 1^\top / N$.

    Args:
        x: `[T, N]`.

    Returns:
        Enclosure `[T, N]`.

    Example:
        >>> centred(Enclosure([[1.0, 3.0]])).midpoint.tolist()
        [[-1.0, 1.0]]
    """
    return x - (total(x, 1) / float(x.shape[1])).reshape(len(x), 1)


def log_distribution_singular_values(
    distributions: Float64Array, *, prior: Float64Array | None = None, without_means: bool = True
) -> Enclosure:
    r"""Enclose the singular values of $L P_1$, largest first, in nats; of $L$, or weighted by the prior, on request.

    Args:
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its exact sum.
        prior: Weights of the contexts, at least 0, `[T]`, which stand for $\rho_t$ after division by their exact sum:
            then the values are those of $\mathrm{diag}(\sqrt\rho)\, L P_1$.
        without_means: Whether the mean of each row is subtracted; False for $L$ itself.

    Returns:
        Enclosure `[min(T, N)]`.

    Raises:
        HypothesisError: A distribution with a zero.
        InputError: Other shapes or ranges.

    Example:
        >>> values = log_distribution_singular_values(np.array([[4.0, 1.0], [1.0, 4.0]]))
        >>> bool(abs(values.midpoint[0] - np.log(4.0)) < 1e-12), bool(values.upper()[1] < 1e-12)
        (True, True)
    """
    matrix = log_distributions(distributions)
    if without_means:
        matrix = centred(matrix)
    if prior is not None:
        matrix = matrix * sqrt(probabilities(prior, len(matrix))).reshape(len(matrix), 1)
    return enclose_singular_values(matrix)


def probabilities(prior: Float64Array, rows: int) -> Enclosure:
    r"""Enclose the probabilities of contexts, given as weights: each divided by their exact sum.

    Args:
        prior: At least 0, not all 0, `[T]`.
        rows: T.

    Returns:
        Enclosure `[T]`; exact zeros stay exact.

    Raises:
        InputError: Other shapes or ranges.

    Example:
        >>> probabilities(np.array([1.0, 3.0]), 2).midpoint.tolist()
        [0.25, 0.75]
    """
    weights = as_float64(prior, "prior")
    if weights.shape != (rows,) or not (np.isfinite(weights).all() and weights.min() >= 0.0 and weights.any()):
        raise InputError("prior", f"has shape {weights.shape}", f"{rows} finite weights of at least 0, not all 0")
    shares = weights / total(weights)
    return Enclosure(shares.midpoint, np.where(weights == 0.0, 0.0, shares.radius))


def mean_over(prior: Float64Array, values: Enclosure) -> Enclosure:
    r"""Enclose $\sum_t \rho_t x_t$, a scalar in the unit of $x$.

    Args:
        prior: Weights as in `probabilities`, `[T]`.
        values: `[T]`.

    Example:
        >>> float(mean_over(np.array([1.0, 3.0]), Enclosure([4.0, 8.0])).midpoint)
        7.0
    """
    return total(probabilities(prior, len(values)) * values, 0)


def least_squares_bound(singular_values: Enclosure, rank: int) -> Enclosure:
    r"""Enclose $\sigma_{d+1}^2 / 4$, an upper bound of the cost of truncating $L P_1$ to rank d, in nats, for every
    prior.

    Args:
        singular_values: Those of $L P_1$, `[min(T, N)]`.
        rank: d, at least 0.

    Returns:
        A scalar.

    Raises:
        InputError: A rank below 0.

    Example:
        >>> float(least_squares_bound(Enclosure([3.0, 2.0]), 1).midpoint)
        1.0
    """
    value = tail_value(singular_values, rank)
    return value * value * 0.25


def tail_sum_bound(singular_values: Enclosure, rank: int) -> Enclosure:
    r"""Enclose $\frac14 \sum_{i > d} \sigma_i^2$, a bound of the cost of truncating $\mathrm{diag}(\sqrt\rho) L P_1$,
    in nats.

    Args:
        singular_values: Those of $\mathrm{diag}(\sqrt\rho)\, L P_1$, `[min(T, N)]`.
        rank: d, at least 0.

    Returns:
        A scalar.

    Raises:
        InputError: A rank below 0.

    Example:
        >>> float(tail_sum_bound(Enclosure([3.0, 2.0, 2.0]), 1).midpoint)
        2.0
    """
    tail = singular_values[_checked_rank(rank) :]
    return total(tail * tail, 0) * 0.25 if tail.size else Enclosure(0.0)


def tail_value(singular_values: Enclosure, rank: int) -> Enclosure:
    r"""Return the enclosure of $\sigma_{d+1}$, 0 where there are no more than d values.

    Args:
        singular_values: Largest first, `[n]`.
        rank: d, at least 0.

    Returns:
        A scalar, of nonnegative numbers.

    Raises:
        InputError: A rank below 0.

    Example:
        >>> float(tail_value(Enclosure([3.0, 2.0]), 2).midpoint)
        0.0
    """
    if _checked_rank(rank) >= singular_values.size:
        return Enclosure(0.0)
    value = singular_values[rank]
    return Enclosure.between(np.maximum(value.lower(), 0.0), value.upper())


def _checked_rank(rank: int) -> int:
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 0:
        raise InputError("rank", f"= {rank}", "an integer of at least 0")
    return int(rank)


def _centred_error(logits: Enclosure, weights: Float64Array) -> Enclosure:
    r"""Return the errors $z - \sum_i \pi_i z_i$ of the logits, `[T, N]`."""
    if logits.shape != weights.shape:
        raise InputError("logits", f"has shape {logits.shape}", f"{weights.shape}, that of distributions")
    error = logits - log(weights)
    with np.errstate(all="ignore"):
        # Any number may be subtracted from a row; near the mean, it saves digits where one mass is nearly all.
        offset = (error.midpoint * weights).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
    error = error - np.where(np.isfinite(offset), offset, 0.0)
    return error - _mean(error, weights).reshape(len(weights), 1)


def _mean(x: Enclosure, weights: Float64Array) -> Enclosure:
    """Return the means of the rows under the distributions, `[T]`."""
    return total(x * weights, 1) / total(weights, 1)


def _checked(distributions: Float64Array) -> Float64Array:
    weights = as_float64(distributions, "distributions")
    if weights.ndim != 2 or 0 in weights.shape or not (np.isfinite(weights).all() and weights.min() >= 0.0):
        raise InputError("distributions", f"has shape {weights.shape}", "[T, N] with finite entries >= 0, at least one")
    if not weights.min() > 0.0:
        row, token = (int(i) for i in np.argwhere(weights == 0.0)[0])
        value = f"the distribution of row {row} is 0 at token {token}"
        raise HypothesisError("the logarithm of a distribution", "distributions of full support", value)
    return weights
