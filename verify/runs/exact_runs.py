"""Judge which contexts every run of a model memorizes, in any order of summation, with or without fused multiply-add.

Page: docs/rigour/runs.md
"""

import math
from dataclasses import dataclass

import numpy as np

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.any_task import Listing
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import up
from verify.divergence.kullback_leibler import argmax_margin, divergence_within, quadratic_divergence_bound
from verify.forward.walk import contexts_of
from verify.runs.formats import FLOAT32, FloatFormat
from verify.runs.in_runs import InRuns
from verify.runs.integer_rows import integer_logits, known_logits


@dataclass(frozen=True, eq=False)
class ExactRuns:
    """The proved results for every run in a number format.

    Args:
        memorized: The contexts whose label every run holds, `[T]`.
        margin: By how much the logit of such a label leads in every run, at least, nats; infinite where there is none.
        bits: Bits of the longest of the sums that are exact; the format has at least as many.
        reason: The first thing that no run was proved to compute exactly; empty if all labels are memorized.
    """

    memorized: BoolArray
    margin: float
    bits: float
    reason: str


def exact_runs(
    model: Model,
    contexts: Int64Array,
    labels: Int64Array,
    number_format: FloatFormat = FLOAT32,
) -> ExactRuns:
    r"""Judge the labels of contexts in every run that keeps hypothesis H5, by Theorem R12.

    Args:
        model: The weights, in float64. Nothing is claimed of a model that normalizes, or whose neurons are smooth.
        contexts: Tokens, `[T, S]`.
        labels: `[T]`.
        number_format: The number type of the runs.

    Returns:
        The labels that are memorized, and what stopped the others.

    Raises:
        InputError: Contexts that the model cannot read, or labels of another number or out of range.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> model = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> runs = exact_runs(model, np.array([[0], [1]]), np.array([0, 0]))
        >>> runs.memorized.tolist(), runs.bits, runs.reason
        ([True, False], 0.0, '')
    """
    labels = np.asarray(labels)
    if labels.shape != (len(contexts),):
        raise InputError("labels", f"have the shape {labels.shape}", f"({len(contexts)},), one of each context")
    if labels.size and not 0 <= labels.min() <= labels.max() < model.d_vocab_out:
        raise InputError("labels", f"are in {labels.min()} .. {labels.max()}", f"0 .. {model.d_vocab_out - 1}")
    arithmetic = InRuns(number_format)
    memorized, least = np.zeros(len(labels), dtype=bool), math.inf
    for part in integer_logits(model, contexts, arithmetic):
        for rows, like, logits in part.judged(labels):
            own = np.zeros(len(logits), dtype=np.int64)
            own[like] = labels[rows]
            margin = argmax_margin(logits, np.arange(model.d_vocab_out) == own[:, None])
            memorized[rows] = margin[like] > 0.0
            least = min(least, float(margin[margin > 0.0].min(initial=math.inf)))
    return ExactRuns(memorized, least, arithmetic.bits, "" if memorized.all() else arithmetic.stopped)


def memorized_without_rounding(model: Model, task: Listing, number_format: FloatFormat, tolerance: float) -> BoolArray:
    """Decide which contexts every run that satisfies hypothesis H5 memorizes, labels or distributions, `[T]`.

    Args:
        model: The weights.
        task: The contexts and their targets.
        number_format: The number type of the runs.
        tolerance: The largest divergence of a memorized distribution, nats.
    """
    return judged_without_rounding(model, task, np.arange(task.n_contexts), number_format, tolerance)[0]


def judged_without_rounding(
    model: Model, task: Listing, rows: Int64Array, number_format: FloatFormat, tolerance: float
) -> tuple[BoolArray, BoolArray]:
    """Decide which contexts every run that satisfies hypothesis H5 memorizes, and which none does, both `[rows]`."""
    (memorized, lost), arithmetic = np.zeros((2, len(rows)), dtype=bool), InRuns(number_format)
    for part in known_logits(model, contexts_of(model, task.inputs)[rows], arithmetic):
        for places, like, logits in part.judged(task.kinds[rows]):
            judged = np.zeros(len(logits), dtype=np.int64)
            judged[like] = rows[places]
            memorized[places] = surely_memorized(logits, task, judged, tolerance)[like]
            lost[places] = surely_lost(logits, task, judged)[like]
    return memorized, lost


def surely_memorized(reachable: Enclosure, task: Listing, rows: slice | Int64Array, tolerance: float) -> BoolArray:
    """Tell whether all outputs in an enclosure memorize their context, `[rows]`.

    A context is memorized as `constructions.tasks.criterion.Criterion` says.
    """
    if task.values is not None:
        distance = up(up(np.abs(reachable.midpoint - task.values[rows])) + reachable.radius)
        return distance.max(axis=1) <= tolerance
    memorized = argmax_margin(reachable, task.modes(rows)) > 0.0
    if task.distributions is not None:
        distributions = task.distributions[rows]
        memorized &= (quadratic_divergence_bound(reachable, distributions) <= tolerance) | (
            divergence_within(reachable, distributions) <= tolerance
        )
    return memorized


def surely_lost(reachable: Enclosure, task: Listing, rows: Int64Array) -> BoolArray:
    """Decide whether no outputs in an enclosure are largest at every mode of the target, `[rows]`."""
    modes = task.modes(rows)
    least_mode = np.where(modes, reachable.upper(), np.inf).min(axis=1)
    largest_other = np.where(modes, -np.inf, reachable.lower()).max(axis=1)
    return least_mode <= largest_other  # false where one is no number
