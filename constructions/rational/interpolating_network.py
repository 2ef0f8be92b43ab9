"""Interpolate given points with two-layer ReLU networks in rationals.

Page: docs/claims/knots.md
"""

from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from constructions.errors import HypothesisError, InputError
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array

_DRAWS = 1000


def interpolating_network(points: Int64Array, outputs: Any, *, offset: bool) -> Model:
    r"""Return the rational network $f(x) = c + \sum_j w_j (\langle a, x \rangle - b_j)_+$ with given values at given
    points.

    An integer direction a with distinct numbers $z_i = \langle a, x_i \rangle$ is drawn; the neurons set in at the
    sorted $z_1, \dots, z_{n - 1}$, and the first of them, where there is no offset c, at $z_1 - 1$.

    Args:
        points: Distinct integer points, `[n, d]`; point i is the token i of the model.
        outputs: Integers or fractions `p / q` as `fmpq`, `[n, D]`.
        offset: Whether there is a c: then n - 1 neurons are enough (one, if n = 1), else there are n.

    Returns:
        A rational model of one ReLU block, whose logits are the outputs.

    Raises:
        InputError: Points that are not integers `[n, d]`, or outputs of another number of rows.
        HypothesisError: Two points that are equal.

    Source: Zhang, Bengio, Hardt, Recht, Vinyals (2017), Theorem 1.

    Example:
        >>> model = interpolating_network(np.array([[0, 1], [1, 0], [1, 1]]), [[5], [7], [2]], offset=False)
        >>> model.blocks[0].W_in.shape, model.blocks[0].W_out.shape
        ((2, 3), (3, 1))
    """
    array = np.asarray(points)
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape or len(outputs) != len(array):
        raise InputError("points", f"is {array.dtype} of shape {array.shape}, {len(outputs)} outputs", "[n, d]")
    count, d_model = array.shape
    if len(np.unique(array, axis=0)) < count:
        raise HypothesisError("Theorem 1 of Zhang et al.", "distinct points", "two that are equal")
    direction, codes = separating_direction(array, seed=0)
    places, jumps, first = exact_knots(codes, [[fmpq(y) for y in row] for row in outputs], offset=offset)
    W_in, b_in = exact([[a] * len(places) for a in direction]), exact([-b for b in places])
    block = FeedForward(W_in, exact(jumps), b_in, exact(first), activation="relu", skip=False)
    identity = exact(np.eye(len(first), dtype=np.int64).tolist())
    return Model(blocks=(block,), W_U=identity, W_E=exact(array.tolist()), W_pos=exact([[0] * d_model]))


def separating_direction(points: Int64Array, *, seed: int) -> tuple[list[int], list[int]]:
    """Return integers a with distinct products $<a, x_i>$, and these products; drawn from ranges that double.

    Args:
        points: Distinct integers, `[n, d]`.
        seed: Seed of the draws.

    Raises:
        HypothesisError: None was found.

    Example:
        >>> separating_direction(np.array([[3], [5]]), seed=0)
        ([1], [3, 5])
    """
    rng = np.random.default_rng(seed)
    d_model, rows = points.shape[1], points.tolist()
    for draw in range(_DRAWS):
        direction = [1] + [int(a) for a in rng.integers(-(2 ** (draw // 20)), 2 ** (draw // 20) + 1, d_model - 1)]
        codes = [sum(a * x for a, x in zip(direction, row, strict=True)) for row in rows]
        if len(set(codes)) == len(codes):
            return direction, codes
    raise HypothesisError("A separating direction", "distinct points", f"none of {_DRAWS} draws separates them")


def exact_knots(
    codes: list[int], values: list[list[fmpq]], *, offset: bool
) -> tuple[list[fmpq], list[list[fmpq]], list[fmpq]]:
    """Return positions, jumps and offset of ReLU neurons of one number that interpolate given values, by telescoping.

    Args:
        codes: Distinct integers, n of them.
        values: Those wanted there, `[n, D]`.
        offset: Whether the value at the least code is an offset; if not, a neuron more makes it.

    Returns:
        The places, the jumps of slope there, and the offset, 0 without one.

    Example:
        >>> exact_knots([0, 2, 3], [[fmpq(1)], [fmpq(5)], [fmpq(5)]], offset=True)
        ([0, 2], [[2], [-2]], [1])
    """
    order = sorted(range(len(codes)), key=codes.__getitem__)
    codes, values = [codes[i] for i in order], [values[i] for i in order]
    zeros = [fmpq(0)] * len(values[0])
    places, slope = [fmpq(z) for z in codes[:-1]], zeros
    jumps: list[list[fmpq]] = []
    if not offset:
        places, jumps, slope = [fmpq(codes[0] - 1), *places], [values[0]], values[0]
    for i in range(len(codes) - 1):
        gap = codes[i + 1] - codes[i]
        wanted = [(after - before) / gap for before, after in zip(values[i], values[i + 1], strict=True)]
        jumps.append([new - old for new, old in zip(wanted, slope, strict=True)])
        slope = wanted
    if not places:
        places, jumps = [fmpq(codes[0])], [zeros]
    return places, jumps, values[0] if offset else zeros


def exact(rows: Any) -> NDArray[Any]:
    """Return an array of rationals.

    Args:
        rows: A list of integers or `fmpq`, or a list of such lists of one length.

    Example:
        >>> exact([[1, 2]]).shape
        (1, 2)
    """
    array = np.array(rows, dtype=object)
    return np.array([fmpq(entry) for entry in array.flat], dtype=object).reshape(array.shape)
