"""State and prove the answers of every run of an edited model.

Page: docs/claims/editing.md
"""

import numpy as np

from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.progress import Progress, silent
from verify.edits.certificate import FLAT, EditRuns
from verify.edits.contexts import by_length
from verify.edits.judge import KeptContexts
from verify.runs.every_run import every_run
from verify.runs.formats import EXP_ULPS, FORMATS
from verify.runs.hypotheses import OF_BOUNDS


def answered_in_every_run(
    model: Model,
    edited: tuple[Int64Array, Int64Array],
    others: Int64Array,
    kept: KeptContexts,
    *,
    dtype: str,
    exp_ulps: float = EXP_ULPS,
    progress: Progress = silent,
) -> tuple[BoolArray, BoolArray]:
    """Prove which edited contexts get the requested answer in every run, and which kept ones the original answer.

    The bound (Lemma R15) is about the formulas of `verify.torch.module.Replica`, in any order of summation; what a
    host computes by other formulas is measured alone.

    Args:
        model: The edited model.
        edited: The edited contexts, `[edits, S]`, and what they shall be answered by, `[edits]`.
        others: The kept contexts, `[K, S]`.
        kept: What was proved of these in real arithmetic.
        dtype: A key of `verify.runs.formats.FORMATS`.
        exp_ulps: The accuracy of the exponential that is assumed.
        progress: Called with the stage and the finished share of it.

    Returns:
        For each edited context and for each kept one, whether that is proved, `[edits]` and `[K]`.
    """
    contexts, answers = edited
    asked, same = np.where(answers == FLAT, -2, answers), np.where(kept.same, kept.answer, -2)

    def given(rows: Int64Array) -> Int64Array:
        answers = np.full(len(rows), -1)
        for places, part in by_length(rows):
            proved = every_run(model, part, number_format=FORMATS[dtype], exp_ulps=exp_ulps, progress=progress)
            answers[places] = proved.place
        return answers

    return given(contexts) == asked, given(others) == same


def state_edit_runs(new: BoolArray, old: BoolArray, *, dtype: str, exp_ulps: float = EXP_ULPS) -> EditRuns | None:
    """Return the statement of the proved answers of every run; None if there are none.

    Example:
        >>> state_edit_runs(np.array([True]), np.array([True, False]), dtype="float32").kept
        1
    """
    if not (new.any() or old.any()):
        return None
    return EditRuns(dtype, OF_BOUNDS, exp_ulps, int(new.sum()), int(old.sum()))
