"""Proofs that every run holds a context by bounds of what runs round, where sums without rounding prove nothing.

Page: docs/rigour/runs.md
"""

from collections.abc import Callable

import numpy as np

from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.any_task import Listing
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import up
from verify.forward.logits import logit_chunks
from verify.forward.walk import contexts_of
from verify.runs.every_run import answered_in_every_run, every_run
from verify.runs.exact_runs import surely_lost, surely_memorized
from verify.runs.formats import FloatFormat
from verify.runs.rounding import rounding_bound

Proof = Callable[
    [Model, Listing, Int64Array, FloatFormat, float, float, bool], tuple[BoolArray, BoolArray]
]  # of a model, contexts and which of them, a format, ulps of the exponential, a tolerance, whether it is to be quick


def proofs_of(target: str) -> tuple[Proof, ...]:
    """Return the proofs that are tried in turn, each on what those before it left open.

    Example:
        >>> len(proofs_of("labels")), len(proofs_of("distributions"))
        (2, 1)
    """
    return (within_bounds, to_first_order) if target == "labels" else (within_bounds,)


def within_bounds(
    model: Model,
    task: Listing,
    rows: Int64Array,
    number_format: FloatFormat,
    exp_ulps: float,
    tolerance: float,
    quick: bool,
) -> tuple[BoolArray, BoolArray]:
    """Return which contexts are memorized, and which lost, by all logits within the bound of Lemma R10."""
    del quick
    contexts = contexts_of(model, task.inputs)[rows]
    bound = rounding_bound(model, contexts, number_format=number_format, exp_ulps=exp_ulps)
    memorized, lost = np.zeros((2, len(rows)), dtype=bool)
    for start, logits in logit_chunks(model, contexts):
        part = slice(start, start + len(logits))
        reachable = Enclosure(logits.midpoint, up(logits.radius + bound[part, np.newaxis]))
        memorized[part] = surely_memorized(reachable, task, rows[part], tolerance)
        lost[part] = surely_lost(reachable, task, rows[part])
    return memorized, lost


def to_first_order(
    model: Model,
    task: Listing,
    rows: Int64Array,
    number_format: FloatFormat,
    exp_ulps: float,
    tolerance: float,
    quick: bool,
) -> tuple[BoolArray, BoolArray]:
    """Return which labels are at the largest output of every run, and which of none, by Lemma R15."""
    del tolerance
    contexts, labels = contexts_of(model, task.inputs)[rows], task.classes[rows]
    if quick:
        found = answered_in_every_run(model, contexts, labels, number_format=number_format, exp_ulps=exp_ulps)
        return found, np.zeros_like(found)
    place = every_run(model, contexts, number_format=number_format, exp_ulps=exp_ulps).place
    return place == labels, (place >= 0) & (place != labels)
