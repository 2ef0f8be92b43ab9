"""Prove where the largest output of every run in a floating-point format is, for any order of summation.

Page: docs/rigour/runs.md (Lemma R15)
"""

import math
from dataclasses import dataclass

import numpy as np

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.progress import Progress, silent
from verify.arithmetic import blas
from verify.forward.map_norms import Norms
from verify.forward.rows.row_ellipsoids import InRowEllipsoids
from verify.forward.walk import contexts_of, passed, read_out, stream_of
from verify.runs.format_rows import InFormat
from verify.runs.formats import EXP_ULPS, FLOAT64, FloatFormat
from verify.runs.rounding import has_bound

_ENTRIES = 2**23  # of the generators that are worked on together
_MOST_ENTRIES = 2**27  # of all of them, for what takes some seconds


@dataclass(frozen=True)
class ProvedArgmax:
    """The proved results for all runs in one format.

    Args:
        place: Index of the largest output of every run, `[T]`; -1 where some run may have it elsewhere.
        lead: By how much it is above every other one in every run, at least, `[T]`; -1 where nothing is proved.
    """

    place: Int64Array
    lead: Float64Array


def every_run(
    model: Model,
    contexts: Int64Array,
    *,
    number_format: FloatFormat,
    exp_ulps: float = EXP_ULPS,
    progress: Progress = silent,
) -> ProvedArgmax:
    """Prove that every run in a format has its largest output at one place, for any order of summation.

    A run evaluates the formulas of `verify.torch.module.Replica` in the format, under H1 to H4 of the page.
    The walk of `verify/forward/walk.py` follows an ellipsoid about each row, to first order, with all that is beyond.

    Args:
        model: The exact weights, in float64.
        contexts: Tokens, `[T, S]` with `S <= n_ctx`.
        number_format: `FLOAT32` or `FLOAT64`, or any format with $u$ from $2^{-53}$ to $2^{-11}$.
        exp_ulps: Accuracy of the exponential that is assumed.
        progress: Called with the stage and the finished share of it.

    Returns:
        The places and leads; nothing is claimed where an intermediate result may overflow the format.

    Raises:
        InputError: Contexts that the model cannot read, an accuracy that is not positive, or too fine a format.
        BlasError: The arithmetic of this machine does not keep what the bound rests on.

    Example:
        >>> from verify.runs.formats import FLOAT32
        >>> echo = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((1, 3)))
        >>> every_run(echo, np.array([[0], [2]]), number_format=FLOAT32).place.tolist()
        [0, 2]
    """
    blas.probe()
    contexts = contexts_of(model, np.asarray(contexts))
    place, lead = np.full(len(contexts), -1), np.full(len(contexts), -1.0)
    if not has_bound(number_format, exp_ulps):
        return ProvedArgmax(place, lead)
    norms, numbers = Norms(model), InFormat(number_format, exp_ulps)
    entries = generator_entries(model, contexts.shape[1])
    for directed in (False, True):  # what is left open without directions is asked again with them
        left = np.flatnonzero(place < 0)
        # Contexts that begin alike share their rows.
        left = left[np.lexsort(contexts[left].T[::-1])]
        step = max(1, _ENTRIES // (2 * entries if directed else entries))
        for start in range(0, len(left), step):
            progress("every run, closer" if directed else "every run", start / len(left), "")
            some, arithmetic = left[start : start + step], InRowEllipsoids(norms, numbers, directed=directed)
            place[some], lead[some] = _largest(model, contexts[some], arithmetic)
    return ProvedArgmax(place, lead)


def _largest(model: Model, contexts: Int64Array, arithmetic: InRowEllipsoids) -> tuple[Int64Array, Float64Array]:
    """Return the place of the largest output in every run, and its least margin, `[T]`; -1 where open."""
    with np.errstate(all="ignore"):
        stream = passed(arithmetic, model, stream_of(arithmetic, model, contexts))
        (value, _, apart), cells = read_out(arithmetic, model, stream)
        top = value.argmax(axis=1)[:, None]
        ahead = (np.take_along_axis(value, top, 1) - value) * (1.0 - 2.0**-40) - apart
        np.put_along_axis(ahead, top, math.inf, 1)
        least = np.where(np.isfinite(apart).all(axis=1), ahead.min(axis=1), -1.0)
    proved = (least > 0.0) & arithmetic.fits
    return np.where(proved, top[:, 0], -1)[cells], np.where(proved, least, -1.0)[cells]


def argmax_of_every_run(model: Model, contexts: Int64Array) -> tuple[Int64Array, Float64Array]:
    r"""Prove where the largest output in real arithmetic is, `[T]`, and its lead, `[T]`, by `every_run` in float64.

    Why it is rigorous: every weight is a number of float64, and real arithmetic keeps H1 to H3 of the page with all
    $\delta$, $\eta$ and $\varepsilon$ equal to 0, so it is one of the runs.
    """
    proved = every_run(model, contexts, number_format=FLOAT64)
    return proved.place, proved.lead


def answered_in_every_run(
    model: Model,
    contexts: Int64Array,
    labels: Int64Array,
    *,
    number_format: FloatFormat,
    exp_ulps: float = EXP_ULPS,
) -> BoolArray:
    """Return which contexts `every_run` proves right within seconds, `[T]`."""
    if len(contexts) * generator_entries(model, contexts.shape[1]) > _MOST_ENTRIES:
        return np.zeros(len(contexts), dtype=bool)
    return every_run(model, contexts, number_format=number_format, exp_ulps=exp_ulps).place == labels


def generator_entries(model: Model, length: int) -> int:
    """Return the entries of the largest generators of one context of this length; time and memory are proportional."""
    widths = [model.d_model]
    for block in model.blocks:
        if isinstance(block, FeedForward):
            widths.append(block.d_mlp)
        elif isinstance(block, Attention):
            widths.append((length + 1) * max(block.n_heads * block.d_head, block.n_heads * block.d_qk))
    return length * model.d_model * max(widths)
