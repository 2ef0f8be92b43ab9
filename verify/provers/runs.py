"""State the answers of every run of a model, and prove them again.

Page: docs/rigour/certificate.md
"""

import numpy as np

from constructions.counted import counted
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import (
    RUNS,
    Statement,
    StatementCheck,
    mask_text,
    memorized_mask,
)
from verify.provers.evaluation import Evaluation, OnContexts
from verify.runs.formats import EXP_ULPS, FORMATS
from verify.runs.hypotheses import ALL, OF_BOUNDS, OF_EXACT_SUMS
from verify.runs.memorized_runs import HeldInRuns, memorized_in_every_run
from verify.verdict import Verdict

ID = RUNS

MOST_INPUTS = 2**20
"""Inputs of a domain of which it is proved, and proved again, what every run answers."""

_METHODS = {
    OF_EXACT_SUMS: "sums that no run rounds",
    OF_BOUNDS: "bounds of what runs round",
    ALL: "sums that no run rounds, and bounds of what runs round",
}


def state_runs(dtype: str, found: HeldInRuns, *, exp_ulps: float = EXP_ULPS) -> Statement | None:
    """Return the statement of the contexts that every run in a type memorizes; None if there are none.

    Args:
        dtype: A key of `verify.runs.formats.FORMATS`.
        found: The results that were proved.
        exp_ulps: The accuracy of the exponential that the proofs assumed.

    Example:
        >>> found = HeldInRuns(np.array([True, False]), np.array([False, True]), "H1 H2 H5")
        >>> state_runs("float32", found).memorized
        '8'
    """
    if not found.memorized.any():
        return None
    values: dict[str, Number] = {"contexts": len(found.memorized), "memorized": int(found.memorized.sum())}
    if found.hypotheses != OF_EXACT_SUMS:
        values["exp_ulps"] = exp_ulps
    named = {"format": dtype, "hypotheses": found.hypotheses}
    return Statement(RUNS, _METHODS[found.hypotheses], values, mask_text(found.memorized.tolist()), named)


def prove_runs(
    model: Model, task: AnyTask, dtype: str, *, tolerance: float, progress: Progress = silent
) -> Statement | None:
    """Prove within seconds which contexts every run in a type memorizes, and state it; None if nothing is proved.

    Args:
        model: The weights.
        task: The contexts and their targets.
        dtype: A key of `verify.runs.formats.FORMATS`.
        tolerance: The largest divergence of a memorized distribution, nats: that of the certificate.
        progress: Called with the stage and the finished share of it.
    """
    return state_runs(
        dtype, memorized_in_every_run(model, task, FORMATS[dtype], tolerance=tolerance, progress=progress)
    )


def check(statement: Statement, evaluation: Evaluation) -> StatementCheck:
    """Prove the statement again, using only proofs that rest on the hypotheses it names."""
    own = evaluation.check_runs(statement)
    if own is not None or not isinstance(evaluation, OnContexts):
        return own or StatementCheck(statement.label, Verdict.UNDECIDED, "not attempted", {})
    if not evaluation.model.reads_tokens:
        return StatementCheck(
            statement.label, Verdict.REFUTED, "the model reads vectors, of which no runs are judged", {}
        )
    proved = proved_again(statement, evaluation, evaluation.task, named_contexts(statement))
    return judged(statement, proved.memorized, proved.lost)


def proved_again(statement: Statement, evaluation: Evaluation, task: AnyTask, wanted: BoolArray) -> HeldInRuns:
    """Return what every run holds of the wanted contexts, by the proofs that the statement allows."""
    model, given = (
        evaluation.model,
        {
            "tolerance": evaluation.certificate.criterion.tolerance,
            "hypotheses": statement.named["hypotheses"],
            "exp_ulps": float(statement.values.get("exp_ulps", EXP_ULPS)),
            "progress": evaluation.progress,
        },
    )
    number_format = FORMATS[statement.named["format"]]
    found = memorized_in_every_run(model, task, number_format, wanted=wanted, **given)
    left = wanted & ~found.memorized & ~found.lost
    if left.any() and not found.lost.any():  # what takes long is tried only where it is needed
        more = memorized_in_every_run(model, task, number_format, wanted=left, quick=False, **given)
        found = HeldInRuns(found.memorized | more.memorized, found.lost | more.lost, found.hypotheses)
    return found


def judged(statement: Statement, memorized: BoolArray, lost: BoolArray) -> StatementCheck:
    """Return the verdict on the statement, from the contexts that every run is proved to hold, and those that none
    holds.
    """
    named = named_contexts(statement)
    values: dict[str, Number] = {"contexts": len(memorized), "memorized": int((memorized & named).sum())}

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(statement.label, verdict, reason, values)

    if (false := np.flatnonzero(named & lost)).size:
        return checked(
            Verdict.REFUTED, f"it names {counted(len(false), 'context')} that no run holds, first context {false[0]}"
        )
    if (missing := np.flatnonzero(named & ~memorized)).size:
        rest = statement.named["hypotheses"]
        return checked(
            Verdict.UNDECIDED,
            f"context {missing[0]}, which it names, was not proved to be memorized by what rests on {rest}",
        )
    return checked(Verdict.PROVED, f"{values['memorized']} of {counted(len(memorized), 'context')}, {statement.method}")


def named_contexts(statement: Statement) -> BoolArray:
    """Which contexts a statement says are memorized, `[T]`."""
    contexts = int(statement.values["contexts"])
    if not statement.memorized:
        return np.ones(contexts, dtype=bool)
    named = np.zeros(contexts, dtype=bool)
    named[sorted(memorized_mask(statement.memorized, contexts))] = True
    return named
