"""Enclose differences between a predicted and a true distribution: divergence, entropy, total variation, margins.

The predicted distribution is the softmax of logits that are known as midpoints with radii. The true distribution of a
row is given as float64 weights, and is then exactly those weights divided by their exact sum, or as counts. A wide
array is worked through in blocks of rows that stay in the cache, so nothing of its size is allocated.

Page: docs/rigour/divergence.md proves every bound used here; the lemmas are named in the comments.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from constructions.errors import HypothesisError, InputError
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.tasks.task import Counts
from verify.arithmetic.elementary import EXP_ERROR, EXP_LOWEST, LOG_ERROR, exp_floats, log, log1p, log_floats
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_inputs import as_float64
from verify.arithmetic.rounding import TINY, UNIT, down, gamma, quiet, up
from verify.arithmetic.softmax import enclose_softmax
from verify.arithmetic.sums import total, tree_sum, upper_sum

_Columns: TypeAlias = tuple[Float64Array, ...]  # numbers of each row of a block

__all__ = [
    "argmax_margin",
    "divergence",
    "divergence_within",
    "empirical_divergence",
    "enclose_softmax",
    "entropy",
    "label_divergence",
    "mean_upper_bound",
    "quadratic_divergence_bound",
]

_SLACK = 1.0 + 2.0**-40  # outweighs 4096 roundings of non-negative numbers (Lemma F1)
_CACHED_ENTRIES = 2**17  # entries of an array that is worked on while it stays in the cache


def quadratic_divergence_bound(logits: Enclosure, distributions: Float64Array) -> Float64Array:
    r"""Return an upper bound of the divergence of each distribution from the predicted one, in nats, quadratic in the
    logit errors.

    $$ d_{KL}(\pi \,\|\, \mathrm{softmax}(z)) \le \tfrac18 \bigl(\max_i w_i - \min_i w_i\bigr)^2,
       \qquad w_i = z_i - \log \pi_i. $$

    The bound does not change when a number is added to all logits, nor when the distribution is scaled, so a
    distribution need not sum to 1. For logits within $r$ of $\log \pi$ it is at most $r^2 / 2$, where a direct
    evaluation would leave an error of the order of $r$. Rigorous by Hoeffding's lemma (Lemma D3).

    Args:
        logits: Logits, `[T, N]`.
        distributions: Positive weights, `[T, N]`; the distribution is the row divided by its exact sum.

    Returns:
        Upper bounds, `[T]`; infinite where nothing is known.

    Raises:
        HypothesisError: A distribution with a zero; names the row.
        InputError: Other shapes, or weights that are negative or not finite.

    Source: Hoeffding (1963), Probability inequalities for sums of bounded random variables, inequality (4.16).

    Example:
        >>> bound = quadratic_divergence_bound(Enclosure(np.log([[0.25, 0.75]]) + 5.0, 1e-9), np.array([[1.0, 3.0]]))
        >>> bool(bound[0] < 1e-17)
        True
    """
    _check_distributions(logits, distributions)
    bounds = np.empty(len(logits))
    with np.errstate(all="ignore"):
        for rows in _row_blocks(*logits.shape):
            weights = _checked_weights(distributions, rows)
            if not weights.min() > 0.0:
                row, token = (int(i) for i in np.argwhere(weights == 0.0)[0])
                value = f"the distribution of row {rows.start + row} is 0 at token {token}"
                raise HypothesisError("the quadratic divergence bound", "distributions of full support", value)
            midpoint, radius = _parts(logits, rows)
            logarithm = log(weights)
            gap = midpoint - logarithm.midpoint
            # 4 u covers the rounding of the difference, and of the sum with the radius below.
            error = np.abs(gap)
            error *= 4.0 * UNIT
            error += logarithm.radius
            error += radius
            error *= _SLACK
            width = up((gap + error).max(axis=1) - (gap - error).min(axis=1))
            bounds[rows] = width * width * (0.125 * _SLACK) + TINY
    return bounds


def label_divergence(logits: Enclosure, labels: Int64Array) -> Enclosure:
    r"""Enclose the divergence of the point mass at each label from the predicted distribution, in nats.

    $$ -\log \mathrm{softmax}(z)_y = \log\Bigl(1 + \sum_{i \ne y} e^{z_i - z_y}\Bigr). $$

    Where the label has the largest logit it is the sum that is enclosed, and then its log1p, so that the radius is
    small beside the value however small the value is (Lemma D4).

    Args:
        logits: Logits, `[T, N]`.
        labels: The label of each row, `[T]`.

    Returns:
        Enclosure `[T]`.

    Raises:
        InputError: Other shapes, or labels out of range.

    Example:
        >>> loss = label_divergence(Enclosure([[0.0, -50.0]], 1e-12), np.array([0]))
        >>> bool(loss.radius[0] < 1e-11 * loss.midpoint[0])
        True
    """
    _check_logits(logits)
    labels = np.asarray(labels)
    if labels.shape != (len(logits),) or labels.dtype.kind not in "iu":
        raise InputError("labels", f"is {labels.dtype} of shape {labels.shape}", f"{len(logits)} integers")
    if labels.size and (labels.min() < 0 or labels.max() >= logits.shape[1]):
        raise InputError("labels", f"are {labels.min()} .. {labels.max()}", f"0 .. {logits.shape[1] - 1}")

    def of(rows: slice) -> _Columns:
        powers = _Powers.of(*_parts(logits, rows))
        at = np.arange(len(powers.exponents)), labels[rows]
        exponent = powers.exponents[at]
        others = powers.without(at)
        spread = others.spread(powers.mass, powers.error(at))
        # Where the exponent of the label is 0, its power is exactly 1.
        value = log(powers.mass) - exponent
        sharp = log1p(others.mass)
        top = exponent == 0.0
        radius = np.where(top, sharp.radius, value.radius)
        return np.where(top, sharp.midpoint, value.midpoint), (radius + spread) * _SLACK

    return Enclosure(*_by_rows(logits, of, 2))


def argmax_margin(logits: Enclosure, modes: BoolArray) -> Float64Array:
    r"""Return a lower bound of how far the logits of the modes lie above all others, in nats.

    $$ \min_{i \in M} z_i - \max_{j \notin M} z_j. $$

    A positive bound proves that every mode has a larger logit than every other token (Lemma D7).

    Args:
        logits: Logits, `[T, N]`.
        modes: Whether each token is a mode, `[T, N]`; at least one in each row.

    Returns:
        Lower bounds, `[T]`: infinite where all tokens are modes, minus infinity where nothing is known.

    Raises:
        InputError: Other shapes, or a row without a mode.

    Example:
        >>> margin = argmax_margin(Enclosure([[3.0, 1.0, 2.0]], 0.25), np.array([[True, False, False]]))
        >>> bool(0.49 < margin[0] <= 0.5)
        True
    """
    _check_logits(logits)
    modes = np.asarray(modes)
    if modes.shape != logits.shape or modes.dtype != np.bool_:
        raise InputError("modes", f"is {modes.dtype} of shape {modes.shape}", f"booleans of shape {logits.shape}")
    margins = np.empty(len(logits))
    with np.errstate(all="ignore"):
        for rows in _row_blocks(*logits.shape):
            chosen = modes[rows]
            if not chosen.any(axis=1).all():
                raise InputError(f"modes: row {rows.start + int(chosen.any(axis=1).argmin())}", "has no mode")
            midpoint, radius = _parts(logits, rows)
            # Rounding is monotone: one step outward after the minimum bounds every entry.
            least = down(np.where(chosen, midpoint - radius, np.inf).min(axis=1))
            largest = up(np.where(chosen, -np.inf, midpoint + radius).max(axis=1))
            margins[rows] = np.where(chosen.all(axis=1), np.inf, down(least - largest))
    return margins


def divergence(logits: Enclosure, distributions: Float64Array) -> Enclosure:
    r"""Enclose the divergence of each distribution from the predicted one, in nats.

    $$ d_{KL}(\pi \,\|\, \mathrm{softmax}(z)) = \sum_i \pi_i (\log \pi_i - z_i) + \log \sum_i e^{z_i},
       \qquad 0 \log 0 = 0. $$

    The radius is at most about twice the largest radius of a logit, plus $10^{-14}$ or so for the evaluation
    (Lemma D5). Where the logits are close to $\log \pi$, `quadratic_divergence_bound` is far sharper.

    Args:
        logits: Logits, `[T, N]`.
        distributions: Weights that are at least 0, `[T, N]`; the distribution is the row divided by its exact sum.

    Returns:
        Enclosure `[T]`.

    Raises:
        InputError: Other shapes, weights that are negative or not finite, or a row of zeros.

    Example:
        >>> enclosure = divergence(Enclosure([[0.0, 0.0]]), np.array([[1.0, 0.0]]))
        >>> bool(enclosure.lower()[0] < np.log(2.0) < enclosure.upper()[0]), bool(enclosure.radius[0] < 1e-14)
        (True, True)
    """
    _check_distributions(logits, distributions)

    def of(rows: slice) -> _Columns:
        weights = _checked_weights(distributions, rows)
        powers = _Powers.of(*_parts(logits, rows))
        terms = log_floats(weights)  # some finite number for 0, which its weight removes
        # What is unknown of the logarithms, which are all at most 0 where the weights are at most 1; of the exponents.
        sizes = terms if weights.max() <= 1.0 else np.abs(terms)
        error = np.abs(_weighted(weights, sizes)) * LOG_ERROR + powers.mean_error(weights)
        terms -= powers.exponents
        terms *= weights
        crossed, depth = tree_sum(terms, 1)
        # Two roundings of each term, and those of the sum.
        error += _mass(np.abs(terms, out=terms)).upper() * (gamma(depth) + 2.0 * UNIT)
        return powers.columns(Enclosure(crossed, error * _SLACK + TINY), _mass(weights))

    return _divergence(_by_rows(logits, of, 7))


def divergence_within(logits: Enclosure, distributions: Float64Array) -> Float64Array:
    r"""Return an upper bound of the divergence of each distribution from that of any logits in an enclosure, in nats.

    $$ d_{KL}(\pi \,\|\, \mathrm{softmax}(z + e)) \le
       k + \min\bigl(\epsilon \sqrt{2 k} + \tfrac12 \epsilon^2, 2 \epsilon\bigr),
       \quad k = d_{KL}(\pi \,\|\, \mathrm{softmax}(z)), \quad |e_i| \le \epsilon. $$

    Where k is small that is far sharper than the upper end of `divergence`. Rigorous by the inequalities of Hoeffding
    and of Pinsker (Lemma D9).

    Args:
        logits: Logits, `[T, N]`.
        distributions: Weights that are at least 0, `[T, N]`; the distribution is the row divided by its exact sum.

    Returns:
        Upper bounds, `[T]`; infinite where nothing is known.

    Raises:
        InputError: Other shapes, weights that are negative or not finite, or a row of zeros.

    Example:
        >>> bound = divergence_within(Enclosure([[0.0, 0.01]], 1e-3), np.array([[0.5, 0.5]]))
        >>> bool(1.5e-5 < bound[0] < 1.9e-5)  # the upper end of `divergence` is .002
        True
    """
    least = np.maximum(divergence(Enclosure(logits.midpoint), distributions).upper(), 0.0)
    off = np.broadcast_to(logits.radius, logits.midpoint.shape).max(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        more = np.minimum(off * np.sqrt(2.0 * least) + 0.5 * off * off, 2.0 * off)
        bounds = up(least + (more * _SLACK + TINY))
    return np.where(np.isfinite(off + least), bounds, np.inf)


def empirical_divergence(logits: Enclosure, counts: Counts) -> Enclosure:
    r"""Enclose the divergence of each empirical distribution from the predicted one, in nats.

    $$ d_{KL}(c / n \,\|\, \mathrm{softmax}(z)) = \frac1n \sum_{c_i > 0} c_i (\log c_i - z_i) - \log n
       + \log \sum_i e^{z_i}, \qquad n = \sum_i c_i. $$

    The counts are exact integers and stay sparse. Rigorous by Lemma D6.

    Args:
        logits: Logits, `[T, N]`.
        counts: T rows of counts of tokens below N.

    Returns:
        Enclosure `[T]`.

    Raises:
        InputError: Another number of rows, or a token that has no logit.

    Example:
        >>> enclosure = empirical_divergence(Enclosure([[0.0, 0.0]]), Counts.from_rows([{1: 5}]))
        >>> bool(enclosure.lower()[0] < np.log(2.0) < enclosure.upper()[0])
        True
    """
    _check_logits(logits)
    if len(counts) != len(logits):
        raise InputError("counts", f"has {len(counts)} rows, but logits has {len(logits)}")
    if counts.indices.size and counts.indices.max() >= logits.shape[1]:
        raise InputError("counts", f"has the token {counts.indices.max()}", f"0 .. {logits.shape[1] - 1}")

    def of(rows: slice) -> _Columns:
        powers = _Powers.of(*_parts(logits, rows))
        entries = slice(int(counts.indptr[rows.start]), int(counts.indptr[rows.stop]))
        lengths = np.diff(counts.indptr[rows.start : rows.stop + 1])
        starts = counts.indptr[rows] - counts.indptr[rows.start]
        at = np.repeat(np.arange(len(lengths)), lengths), counts.indices[entries]
        weights = counts.data[entries].astype(np.float64)
        logarithm = log(weights)
        gap = logarithm.midpoint - powers.exponents[at]
        error = np.abs(gap) * (2.0 * UNIT) + logarithm.radius + powers.error(at)
        crossed = _row_sums(Enclosure(weights * gap, weights * error * _SLACK), starts)
        mass = np.add.reduceat(counts.data[entries], starts).astype(np.float64)
        return powers.columns(crossed, Enclosure(mass))

    return _divergence(_by_rows(logits, of, 7))


def mean_upper_bound(bounds: Float64Array) -> float:
    """Return an upper bound of the mean of numbers with known upper bounds, in their unit.

    Args:
        bounds: Upper bounds, `[T]`, at least one.

    Returns:
        The mean, rounded up; infinite where one of them is.

    Raises:
        InputError: No bounds.

    Example:
        >>> bool(0.1 <= mean_upper_bound(np.full(10, 0.1)) < 0.1 + 1e-15)
        True
    """
    bounds = as_float64(bounds, "bounds")
    if bounds.ndim != 1 or len(bounds) == 0:
        raise InputError("bounds", f"has shape {bounds.shape}", "[T] with T at least 1")
    with np.errstate(all="ignore"):
        return float(up(upper_sum(bounds) / len(bounds)))


def entropy(distributions: Float64Array | Counts) -> Enclosure:
    r"""Enclose the entropy of each distribution, in nats (Lemma D8).

    $$ H = \log n - \frac1n \sum_i c_i \log c_i, \qquad n = \sum_i c_i, \qquad 0 \log 0 = 0. $$

    Args:
        distributions: Weights that are at least 0, `[T, N]`, or T rows of counts; the distribution is the row divided
            by its exact sum.

    Returns:
        Enclosure `[T]`.

    Raises:
        InputError: Weights of another shape, negative or not finite, or a row of zeros.

    Example:
        >>> value = entropy(Counts.from_rows([{0: 7, 5: 7}]))
        >>> bool(value.lower()[0] < np.log(2.0) < value.upper()[0]), bool(value.radius[0] < 1e-14)
        (True, True)
    """
    with np.errstate(all="ignore"):
        if isinstance(distributions, Counts):
            weights, mass = distributions.data.astype(np.float64), distributions.totals().astype(np.float64)
            return log(mass) - _row_sums(log(weights) * weights, distributions.indptr[:-1]) / mass
        distributions = as_float64(distributions, "distributions")
        if distributions.ndim != 2 or distributions.shape[1] == 0:
            raise InputError("distributions", f"has shape {distributions.shape}", "[T, N] with N at least 1")
        midpoint, radius = np.empty(len(distributions)), np.empty(len(distributions))
        for rows in _row_blocks(*distributions.shape):
            weights = _checked_weights(distributions, rows)
            mass = total(weights, 1)
            part = log(mass) - total(log(np.where(weights > 0.0, weights, 1.0)) * weights, 1) / mass
            midpoint[rows], radius[rows] = part.midpoint, part.radius
        return Enclosure(midpoint, radius)


@dataclass(frozen=True)
class _Powers:
    """The exponentials that make up the softmax of some rows, after subtracting a float64 number per row, which changes
    no divergence (Lemma D1).

    Args:
        exponents: Exponents d, at most 0, `[rows, N]`.
        lowest: The least exponent of each row, `[rows]`.
        radius: Radii of the logits, `[rows, N]`; with u |d| they bound how far d is from the exact exponent.
        power: The exponentials of `exponents` as they are, within EXP_ERROR of them or 2^-1020, `[rows, N]`.
        mass: Enclosure of the sums of these exponentials, `[rows]`.
    """

    exponents: Float64Array
    lowest: Float64Array
    radius: Float64Array
    power: Float64Array
    mass: Enclosure

    @classmethod
    def of(cls, midpoint: Float64Array, radius: Float64Array) -> "_Powers":
        exponents = midpoint - midpoint.max(axis=1, keepdims=True)
        lowest, power = exponents.min(axis=1), exp_floats(exponents)
        return cls(exponents, lowest, radius, power, cls._sums(power, lowest))

    @staticmethod
    def _sums(power: Float64Array, lowest: Float64Array) -> Enclosure:
        """Return the sums of the exact exponentials."""
        mass = _mass(power)
        cut = np.where(lowest < EXP_LOWEST, power.shape[1] * 2.0**-1020, 0.0)
        return _widened(mass, mass.midpoint * EXP_ERROR + cut)

    def without(self, at: tuple[Int64Array, Int64Array]) -> "_Powers":
        """Return the powers without one entry of each row."""
        power = self.power.copy()
        power[at] = 0.0
        return _Powers(self.exponents, self.lowest, self.radius, power, self._sums(power, self.lowest))

    def error(self, at: tuple[Int64Array, Int64Array]) -> Float64Array:
        """Return how far these exponents are from the exact ones."""
        return np.abs(self.exponents[at]) * UNIT + self.radius[at]

    def columns(self, crossed: Enclosure, mass: Enclosure) -> _Columns:
        """Return the input of `_divergence` for these rows."""
        parts = [part for x in (crossed, mass, self.mass) for part in (x.midpoint, np.broadcast_to(x.radius, x.shape))]
        return *parts, self.spread(self.mass)

    def mean_error(self, weights: Float64Array) -> Float64Array:
        """Return upper bounds of the weighted sums of the errors of the exponents."""
        return _weighted(weights, self.exponents) * -UNIT + _weighted(weights, self.radius)

    def spread(self, mass: Enclosure, more: Float64Array | float = 0.0) -> Float64Array:
        """Bound how far errors of the exponents, plus `more` in each, move the logarithm of the sum (Lemma D2)."""
        widest = (self.lowest * -UNIT + self.radius.max(axis=1) + more) * _SLACK
        mean = (self.mean_error(self.power) + self.mass.upper() * more) / mass.lower()
        return np.where(widest <= 0.25, np.minimum(widest, (1.0 + 4.0 * widest) * mean), widest) * _SLACK + TINY


def _divergence(columns: Float64Array) -> Enclosure:
    """Enclose the divergence by Lemma D5, from the `_Powers.columns` of all rows."""
    crossed, mass, power = (Enclosure(columns[i], columns[i + 1]) for i in (0, 2, 4))
    return _widened(crossed / mass - log(mass) + log(power), columns[6])


def _weighted(weights: Float64Array, error: Float64Array) -> Float64Array:
    """Return weighted sums of numbers of one sign, increased in size by their roundings."""
    return np.einsum("ij,ij->i", weights, error) * (1.0 + 2.0 * gamma(weights.shape[1] + 16)) * _SLACK


def _mass(x: Float64Array) -> Enclosure:
    """Return the sums of the rows of numbers >= 0; as `total`, without a look at their signs."""
    sums, depth = tree_sum(x, 1)
    return Enclosure(sums, sums * gamma(depth) * _SLACK + TINY)


@quiet
def _widened(x: Enclosure, error: Float64Array) -> Enclosure:
    return Enclosure(x.midpoint, (x.radius + error) * _SLACK)


def _row_sums(terms: Enclosure, starts: Int64Array) -> Enclosure:
    """Return the sums of the terms from each start to the next, for any order of addition (Lemma D6)."""
    if len(starts) == 0:
        return Enclosure(np.zeros(0))
    longest = int(np.diff(starts, append=len(terms)).max())
    size = np.abs(terms.midpoint) * gamma(longest) + terms.radius
    radius = np.add.reduceat(size, starts) * (1.0 + 2.0 * gamma(longest + 16)) + TINY
    return Enclosure(np.add.reduceat(terms.midpoint, starts), radius)


def _by_rows(logits: Enclosure, of: Callable[[slice], _Columns], columns: int) -> Float64Array:
    """Join the numbers of each row, `[columns, T]`, which are computed block by block."""
    result = np.empty((columns, len(logits)))
    with np.errstate(all="ignore"):
        for rows in _row_blocks(*logits.shape):
            result[:, rows] = of(rows)
    return result


def _parts(logits: Enclosure, rows: slice) -> tuple[Float64Array, Float64Array]:
    return logits.midpoint[rows], np.broadcast_to(logits.radius, logits.shape)[rows]


def _check_logits(logits: Enclosure) -> None:
    if logits.ndim != 2 or logits.shape[1] == 0:
        raise InputError("logits", f"has shape {logits.shape}", "[T, N] with N at least 1")


def _check_distributions(logits: Enclosure, distributions: Float64Array) -> None:
    _check_logits(logits)
    if np.shape(distributions) != logits.shape:
        raise InputError("distributions", f"has shape {np.shape(distributions)}", f"{logits.shape}, that of logits")


def _checked_weights(distributions: Float64Array, rows: slice) -> Float64Array:
    """Return a block of the distributions: each distribution is these weights, divided by their exact sum."""
    weights = as_float64(distributions[rows], "distributions")
    least = weights.min()
    if not (least >= 0.0 and weights.max() < np.inf):
        bad = ~(np.isfinite(weights) & (weights >= 0.0))
        if bad.any():
            row, token = (int(i) for i in np.argwhere(bad)[0])
            entry = f"{weights[row, token]} at row {rows.start + row}, token {token}"
            raise InputError("distributions", f"has the entry {entry}", "finite numbers >= 0")
    if least == 0.0 and not weights.any(axis=1).all():
        raise InputError(f"distributions: row {rows.start + int(weights.any(axis=1).argmin())}", "is 0 throughout")
    return weights


def _row_blocks(rows: int, width: int) -> Iterator[slice]:
    """Return slices with few enough rows that an array of this width stays in the cache."""
    step = max(1, _CACHED_ENTRIES // max(width, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
