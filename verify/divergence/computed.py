"""Evaluate logits that a machine has computed: figures in float64, not proofs.

Page: docs/run.md
"""

import math

import numpy as np

from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.tasks.any_task import Listing


def argmax_hits(logits: Float64Array, task: Listing, rows: slice) -> BoolArray:
    r"""Tell where the logit of the label, or of every mode, exceeds every other one and all logits are finite.

    Args:
        logits: Logits, or outputs, of these contexts, `[rows, N]`.
        task: The contexts and their targets.
        rows: The contexts, as a slice of all.

    Returns:
        `[rows]`.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("a,b\nb,a\n", target="labels")
        >>> argmax_hits(np.array([[0.0, 1.0], [2.0, 2.0]]), task, slice(2)).tolist()
        [True, False]
    """
    return (computed_margins(logits, task, rows) > 0.0) & np.isfinite(logits).all(axis=1)


def computed_memorized(logits: Float64Array, task: Listing, rows: slice, tolerance: float) -> BoolArray:
    r"""Tell which contexts the computed outputs memorize (`constructions.tasks.criterion.Criterion`).

    Args:
        logits: Logits, or outputs, of these contexts, `[rows, N]`.
        task: The contexts and their targets.
        rows: The contexts, as a slice of all.
        tolerance: The largest divergence of a memorized distribution, or error of a memorized value.

    Returns:
        `[rows]`.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("a,b\nb,a\n", target="distributions")
        >>> computed_memorized(np.array([[0.0, 1.0], [1.0, 2.0]]), task, slice(2), tolerance=1.0).tolist()
        [True, False]
    """
    near = computed_losses(logits, task, rows) <= tolerance
    if task.target == "values":
        return near
    right = argmax_hits(logits, task, rows)
    return right if task.target == "labels" else right & near


def computed_margins(logits: Float64Array, task: Listing, rows: slice) -> Float64Array:
    r"""Return the margin of the label, or of the least mode of the distribution, over every other logit, in nats.

    Args:
        logits: Logits, or outputs, of these contexts, `[rows, N]`.
        task: The contexts and their targets.
        rows: The contexts, as a slice of all.

    Returns:
        `[rows]`; infinite where every token is a mode, minus infinity where a logit is NaN.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("a,b\nb,a\n", target="labels")
        >>> computed_margins(np.array([[0.0, 1.0], [2.0, 2.5]]), task, slice(2)).tolist()
        [1.0, -0.5]
    """
    modes = task.modes(rows)
    with np.errstate(invalid="ignore"):
        lead = np.where(modes, logits, np.inf).min(axis=1) - np.where(modes, -np.inf, logits).max(axis=1)
    return np.where(np.isnan(lead), -np.inf, lead)


def computed_losses(logits: Float64Array, task: Listing, rows: slice) -> Float64Array:
    r"""Return KL(target || softmax(logits)) per context, in nats; for values the largest distance from one.

    Infinite where an output is not finite.

    Tiny values keep their relative accuracy.

    Args:
        logits: Logits, or outputs, of these contexts, `[rows, N]`.
        task: The contexts and their targets.
        rows: The contexts, as a slice of all.

    Returns:
        `[rows]`.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("a,b\nb,a\n", target="labels")
        >>> computed_losses(np.array([[0.0, 0.0], [np.nan, 0.0]]), task, slice(2)).round(3).tolist()
        [0.693, inf]
    """
    finite = np.isfinite(logits).all(axis=1)
    result = np.full(len(logits), math.inf)
    result[finite] = _losses(logits, task, rows)[finite]
    return result


def _losses(logits: Float64Array, task: Listing, rows: slice) -> Float64Array:
    with np.errstate(all="ignore"):
        if task.values is not None:
            return np.abs(logits - task.values[rows]).max(axis=1)
        if task.distributions is None:
            return _surprise(logits, task.classes[rows])
        distributions = task.distributions[rows]
        distributions = distributions / distributions.sum(axis=1, keepdims=True)
        gap = logits - np.log(distributions)
        gap -= (distributions * gap).sum(axis=1, keepdims=True)
        # KL = log sum_i distribution_i e^{gap_i} for a gap of mean zero; e^g - 1 - g is what is left of it, all of one
        # sign.
        small = np.log1p((distributions * _exponential_remainder(gap)).sum(axis=1))
        top = gap.max(axis=1, keepdims=True)
        large = np.log((distributions * np.exp(gap - top)).sum(axis=1)) + top[:, 0]
        return np.where(np.abs(gap).max(axis=1) < 1.0, small, large)


def _exponential_remainder(x: Float64Array) -> Float64Array:
    """Return e^x - 1 - x."""
    series = x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7)))))
    return np.where(np.abs(x) < 0.01, series, np.expm1(x) - x)


def _surprise(logits: Float64Array, labels: Int64Array) -> Float64Array:
    """Return -log softmax(logits)[label] per context, in nats."""
    places = np.arange(len(labels))
    others = logits - logits[places, labels][:, np.newaxis]
    others[places, labels] = -np.inf
    top = np.maximum(others.max(axis=1), 0.0)
    rest = np.exp(others - top[:, np.newaxis]).sum(axis=1)
    return np.where(top > 0.0, top + np.log(np.exp(-top) + rest), np.log1p(rest))
