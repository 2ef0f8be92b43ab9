"""Prove that every run of a model in a number format memorizes a context, under the allowed hypotheses.

Page: docs/rigour/runs.md
"""

from dataclasses import dataclass

import numpy as np

from constructions.errors import require_one_of
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray
from constructions.plug_ins import plug_in
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from verify.runs.exact_runs import judged_without_rounding
from verify.runs.formats import EXP_ULPS, JUDGED, FloatFormat
from verify.runs.hypotheses import ALL, HYPOTHESES, OF_BOUNDS, OF_EXACT_SUMS


@dataclass(frozen=True, eq=False)
class HeldInRuns:
    """The contexts that every run is proved to memorize, or to get wrong.

    Args:
        memorized: The contexts that every run holds, `[T]`; of prompts the facts.
        lost: Those that no run holds, `[T]`.
        hypotheses: The hypotheses of the proofs, one of `HYPOTHESES`.
    """

    memorized: BoolArray
    lost: BoolArray
    hypotheses: str


def memorized_in_every_run(
    model: Model,
    task: AnyTask,
    number_format: FloatFormat,
    *,
    tolerance: float,
    hypotheses: str = ALL,
    exp_ulps: float = EXP_ULPS,
    wanted: BoolArray | None = None,
    quick: bool = True,
    progress: Progress = silent,
) -> HeldInRuns:
    r"""Prove which contexts every run memorizes: by sums without rounding, by rounding bounds, or to first order.

    Each proof is tried on what those before it left open: Theorem R12, which rests on H5; then Lemma R10, and for
    labels Lemma R15, which rest on H3 and H4.

    Args:
        model: The weights.
        task: The contexts and their targets; a fact of several tokens is memorized if each of its contexts is.
        number_format: The number type of the runs.
        tolerance: The largest divergence of a memorized distribution, nats.
        hypotheses: The hypotheses that proofs may use, one of `HYPOTHESES`.
        exp_ulps: Accuracy of the exponential that H3 assumes.
        wanted: The contexts that are asked about, `[T]`; by default all.
        quick: Leave out Lemma R15 where it takes more than some seconds.
        progress: Called with the stage and the finished share of it.

    Returns:
        What was proved. Its hypotheses are those of the proofs that proved something; those that were given where
        nothing was.

    Raises:
        InputError: Other hypotheses, or contexts that the model cannot read.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> from verify.runs.formats import FLOAT32
        >>> swap = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> found = memorized_in_every_run(swap, table_task("a,b\nb,a\n", target="labels"), FLOAT32, tolerance=0.0)
        >>> found.memorized.tolist(), found.hypotheses
        ([True, True], 'H1 H2 H5')
    """
    require_one_of(HYPOTHESES, hypotheses=hypotheses)
    open_contexts = np.ones(task.n_contexts, dtype=bool) if wanted is None else wanted
    listing = task.listing
    if listing is None:
        memorized, lost, used = open_contexts.copy(), np.zeros(task.n_contexts, dtype=bool), set[str]()
        # A fact is memorized if each of its contexts is memorized, and lost if one of them is lost.
        for part in task.parts:
            wanted_contexts = np.zeros(part.task.n_contexts, dtype=bool)
            wanted_contexts[part.places[open_contexts[part.facts]]] = True
            of_part = memorized_in_every_run(
                model, part.task, number_format, tolerance=tolerance, hypotheses=hypotheses, exp_ulps=exp_ulps,
                wanted=wanted_contexts, quick=quick, progress=progress,
            )  # fmt: skip
            memorized[part.facts] &= of_part.memorized[part.places]
            lost[part.facts] |= of_part.lost[part.places]
            used |= set(of_part.hypotheses.split()) if of_part.memorized.any() else set()
        return HeldInRuns(memorized, lost & open_contexts, _named(used, hypotheses))
    memorized, lost = np.zeros((2, task.n_contexts), dtype=bool)
    used = set[str]()
    if hypotheses != OF_BOUNDS:
        progress("every run", None, f"sums that no {number_format.name} run rounds")
        rows = np.flatnonzero(open_contexts)
        memorized[rows], lost[rows] = judged_without_rounding(model, listing, rows, number_format, tolerance)
        used |= set(OF_EXACT_SUMS.split()) if memorized.any() else set()
    if hypotheses != OF_EXACT_SUMS and number_format.name in JUDGED:
        bounds = plug_in("verify.runs.bounded_runs")
        for proof in () if bounds is None else bounds.proofs_of(task.target):
            left = np.flatnonzero(open_contexts & ~memorized & ~lost)
            if not len(left):
                continue
            progress("every run", None, f"bounds of roundings, {len(left)} of {task.n_contexts} contexts")
            memorized[left], lost[left] = proof(model, listing, left, number_format, exp_ulps, tolerance, quick)
            used |= set(OF_BOUNDS.split()) if memorized[left].any() else set()
    return HeldInRuns(memorized, lost, _named(used, hypotheses))


def _named(used: set[str], allowed: str) -> str:
    """Return the hypotheses as one text."""
    return " ".join(sorted(used)) or allowed
