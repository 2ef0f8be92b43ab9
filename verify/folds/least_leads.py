"""Compute the margins of the right tokens of a rule with a state: a lower bound for all inputs, and the closest input
found.

Page: docs/folds.md
"""

import math
from dataclasses import dataclass

import numpy as np

from constructions.folds.fold import Fold
from constructions.model.model import Model
from constructions.progress import Progress, silent
from verify.arithmetic.rounding import down, quiet, up
from verify.folds.fold_answers import MOST_CELLS, Work, means
from verify.folds.rows import FoldRows
from verify.forward.rows.row_balls import logit_balls
from verify.runs.formats import EXP_ULPS, FLOAT64

_SHARES = (0.9, 0.75, 0.5, 0.25, 0.0)
"""Of the least lead that was found: so much is tried to be proved of all inputs, one share after the other."""


@dataclass(frozen=True)
class LeastLead:
    """The margin of one token of the answer, in logits.

    Args:
        lower: At least so much on all inputs, proved; minus infinity where nothing is.
        found: At most so much on the input below, proved.
        prompt: The tokens of that input.
    """

    lower: float
    found: float
    prompt: tuple[int, ...]


def least_leads(
    model: Model, fold: Fold, *, most_cells: int = MOST_CELLS, progress: Progress = silent
) -> list[LeastLead]:
    """Bound the margin of each token of the answer over all others, for a model that answers every input correctly.

    The inputs at which the heads write the least and the most are looked at; on the closest of them the lead is an
    upper bound of the least one. Then 9/10 of it, or less, is proved of all inputs as `judge_fold` proves 0.

    Args:
        model: The model, to which the theorem applies (`require_one_attention`).
        fold: The rule.
        most_cells: How many cells may be looked at for each token and share.
        progress: Called with the stage and the finished share of it.

    Returns:
        Of each token of the answer, in the order in which it is said.

    Example:
        >>> from constructions.folds.fold import addition
        >>> from constructions.memories.heads.adder import adder
        >>> [(each.lower > 0.7, each.found < 1.01) for each in least_leads(adder(1, base=2), addition(1, base=2))]
        [(True, True), (True, True)]
    """
    with np.errstate(all="ignore"):
        rows = FoldRows(model, fold, FLOAT64, EXP_ULPS)
    leads = []
    for place in range(len(fold.answer)):
        progress("least lead", place / len(fold.answer), f"token {place + 1} of {len(fold.answer)}")
        smallest, prompt = _closest(Work(model, fold, rows, most_cells), place)
        lower = -math.inf
        for share in _SHARES:
            work = Work(model, fold, rows, most_cells, wanted=max(0.0, share * smallest))
            work.judge(place)
            if not work.left and work.wrong is None:
                lower = work.wanted
                break
        leads.append(LeastLead(lower, smallest, prompt))
    return leads


@quiet
def _closest(work: Work, place: int) -> tuple[float, tuple[int, ...]]:
    """Return the least margin of one answer token on some inputs, an upper bound of it, and the prompt of that
    input.
    """
    closest: tuple[float, tuple[int, ...]] = math.inf, ()
    for paths, asking in work.paths(place):
        *_, extremes = means(paths, work.first_cells(paths), work.rows.readable(asking, paths.read))
        choices = paths.choices(np.unique(np.concatenate(extremes), axis=0))
        prompts, answers = work.fold.prompts(choices), work.fold.answers(choices)
        contexts = np.concatenate([prompts, answers[:, :place]], axis=1)
        for start, logits, radii in logit_balls(work.model, contexts):
            own = up(logits[:, paths.label] + radii[:, paths.label])
            others = np.delete(down(logits - radii), paths.label, axis=1)
            lead = up(own - others.max(axis=1, initial=-math.inf))
            row = int(lead.argmin())
            if lead[row] < closest[0]:
                closest = float(lead[row]), tuple(prompts[start + row].tolist())
    return closest
