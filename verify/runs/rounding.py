"""Bound in advance how far a forward pass in a floating-point format is from the exact outputs.

Page: docs/rigour/runs.md
"""

import math
from collections.abc import Iterator

import numpy as np

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.vectors import Vectors
from verify.arithmetic import blas
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import logit_balls
from verify.forward.walk import checked_inputs
from verify.runs.format_rows import InFormat
from verify.runs.formats import EXP_ULPS, FLOAT64, FloatFormat

_COARSEST = 2.0**-11
_SLACK = 1.0 + 2.0**-40


def rounding_bound(
    model: Model, inputs: Int64Array | Vectors, *, number_format: FloatFormat, exp_ulps: float = EXP_ULPS
) -> Float64Array:
    r"""Upper bound, per context, of |outputs computed in a format - exact outputs|, over all outputs.

    The exact outputs are those of the float64 weights, and of the vectors that the task brings, in real arithmetic. The
    computed ones come from all of these rounded to the format, through the operations of
    `verify.torch.module.Replica` in the format.

    The walk of `verify/forward/walk.py` in the unit of the format tells how far what is computed is from what float64
    computes, in float64 how far the exact rows are: the sum of both radii, for each output (Lemma R10).

    Rigorous under four hypotheses, each named on the page: elementary operations of the format have the relative error
    $u$ and may flush subnormal numbers; matrix products are sums of products, in any order with what is added to them;
    the exponential and the error function are as accurate as `exp_ulps` and `ERF_ULPS` say; softmax and normalizations
    are computed in one of the usual ways. Where an intermediate result could overflow the format, or the
    analysis does not apply, the bound is infinite: nothing is claimed.

    Args:
        model: The exact weights.
        inputs: Tokens, `[T, S]` with `S <= n_ctx`, or the task that brings vectors; its labels play no part.
        number_format: `FLOAT32` or `FLOAT64`, or any format with $u \ge 2^{-53}$.
        exp_ulps: Accuracy of the exponential that is assumed.

    Returns:
        Upper bounds, `[T]`; infinite where nothing is claimed.

    Raises:
        InputError: Inputs that the model cannot read, an accuracy that is not positive, or too fine a format.
        BlasError: The arithmetic of this machine does not keep what the bound rests on.

    Source: Higham (2002), Accuracy and Stability of Numerical Algorithms, 3.1 and 3.5.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> from verify.runs.formats import FLOAT32
        >>> one = np.ones
        >>> network = dana_network(W_E=one((3, 2)), W_pos=one((4, 2)), W_Q=one((5, 2, 1)), W_K=one((5, 2, 1)),
        ...                   W_V=one((5, 2, 2)), W_O=one((5, 2, 2)), W_U=one((2, 3)))
        >>> bound = rounding_bound(network, np.array([[0, 1, 2, 0]]), number_format=FLOAT32)
        >>> bool(0 < bound[0] < 1e-2)
        True
    """
    blas.probe()
    inputs = checked_inputs(model, inputs)
    known = has_bound(number_format, exp_ulps)
    count = len(inputs)
    bound = np.full(count, math.inf)
    if not known:
        return bound
    norms = Norms(model)
    computed = run_chunks(model, inputs, number_format=number_format, exp_ulps=exp_ulps)
    exact = logit_balls(model, inputs, norms=norms)
    for (start, value, radius), (_, again, around) in zip(computed, exact, strict=True):
        # Both evaluations are the same; if they were not, their distance would count.
        with np.errstate(all="ignore"):
            distance = (np.abs(value - again) + radius + around).max(axis=1) * _SLACK
        bound[start : start + len(distance)] = np.where(np.isfinite(distance), distance, math.inf)
    return bound


def run_chunks(
    model: Model, inputs: Int64Array | Vectors, *, number_format: FloatFormat, exp_ulps: float = EXP_ULPS
) -> Iterator[tuple[int, Float64Array, Float64Array]]:
    r"""Yield float64 outputs, a few contexts at a time, and how far the outputs of a run in a format are from them.

    Args:
        model: The exact weights.
        inputs: As for `rounding_bound`.
        number_format: As for `rounding_bound`, of $u \le 2^{-11}$.
        exp_ulps: As for `rounding_bound`.

    Returns:
        Iterator of the index of the first context of a chunk, its outputs `[rows, d_vocab_out]`, and the radii of
        Lemma R10, of that shape; infinite where nothing is claimed.
    """
    return logit_balls(model, inputs, numbers=InFormat(number_format, exp_ulps), norms=Norms(model))


def has_bound(number_format: FloatFormat, exp_ulps: float) -> bool:
    """Tell whether runs in this format have a bound; an unsupported format or accuracy raises `InputError`."""
    unit = number_format.unit_roundoff
    if not (exp_ulps > 0 and math.isfinite(exp_ulps)):
        raise InputError("exp_ulps", f"= {exp_ulps}", "a positive number of units in the last place")
    if not unit >= FLOAT64.unit_roundoff:
        raise InputError(
            f"number_format: {number_format.name}", "is finer than float64, in which the bound is evaluated"
        )
    return unit <= _COARSEST and 2.0 * unit * exp_ulps <= 0.25
