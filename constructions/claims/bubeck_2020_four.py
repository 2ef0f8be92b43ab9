r"""Bubeck et al.: four ReLU neurons for d points in general position, by the hyperplane through them.

Page: docs/claims/four_neurons.md
"""

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from constructions.claims.claim import Claim
from constructions.claims.zhang_2017_theorem import exact
from constructions.errors import HypothesisError, InputError
from constructions.models.blocks import FeedForward
from constructions.models.model import Model

Int64Array = NDArray[np.int64]


def four_neurons_a_group(points: Int64Array, labels: Int64Array) -> Model:
    r"""A rational network with four ReLU neurons for every d points that has the labels as its values.

    Of each group of d points take the hyperplane $\langle u, x \rangle = b$ through them, by general position through
    no others, and an affine function $l$ with the labels there. For
    $D_b = \bigl( (\langle u, x \rangle - b + h l(x))_+ - (\langle u, x \rangle - b)_+ \bigr) / h$ the difference
    $D_{b - \tau} - D_{b + \tau}$ is $l$ on the group and 0 at all other points, if $\tau$ is below their least distance
    $|\langle u, x \rangle - b|$ and h so small that $h |l|$ is below $\tau$ and the rest.

    Args:
        points: Integers, `[n, d]`; point i is the token i of the model.
        labels: Integers, `[n]`.

    Returns:
        A rational model of one ReLU block.

    Raises:
        InputError: Arrays that are no integers or do not fit.
        HypothesisError: A group whose points are affinely dependent, or whose hyperplane holds another point.

    Source: Bubeck, Eldan, Lee, Mikulincer (2020), after Baum (1988). Page: docs/claims/four_neurons.md

    Example:
        >>> model = four_neurons_a_group(np.array([[0, 0], [1, 0], [0, 1], [2, 3]]), np.array([3, 1, 4, 1]))
        >>> model.blocks[0].d_mlp
        8
    """
    array, values = np.asarray(points), np.asarray(labels)
    fits = array.ndim == 2 and 0 not in array.shape and values.shape == (len(array),)
    if not fits or {array.dtype.kind, values.dtype.kind} - {*"iu"}:
        raise InputError(f"points has shape {array.shape}, labels {values.shape}, expected integers [n, d] and [n]")
    rows, (count, width) = array.tolist(), array.shape
    inputs: list[list[fmpq]] = []
    shifts: list[fmpq] = []
    outputs: list[list[fmpq]] = []
    for start in range(0, count, width):
        group = list(range(start, min(start + width, count)))
        u, b = _hyperplane(rows, group)
        slope, level = _affine(rows, group, [int(values[i]) for i in group])
        for sign, neuron, shift in _strip(rows, group, u, b, slope, level):
            inputs.append(neuron)
            shifts.append(shift)
            outputs.append([sign])
    block = FeedForward(np.ascontiguousarray(exact(inputs).T), exact(outputs), exact(shifts), skip=False)
    zero = exact([[0] * width])
    return Model(blocks=(block,), W_U=exact([[1]]), W_E=exact(rows), W_pos=zero)


def _strip(
    rows: list[list[int]], group: list[int], u: list[fmpq], b: fmpq, slope: list[fmpq], level: fmpq
) -> list[tuple[fmpq, list[fmpq], fmpq]]:
    """Output weight, input weights and shift of the four neurons of a group."""
    away = [abs(_dot(u, row) - b) for i, row in enumerate(rows) if i not in group]
    if not all(away):
        raise HypothesisError("Four neurons for d points", "points in general position", f"{group} with another point")
    tau = min(away, default=fmpq(2)) / 2
    largest = max(abs(_dot(slope, row) + level) for row in rows)
    # Outside of the group |u x - b| - tau >= tau, and in it the distance from b - tau and b + tau is tau.
    h = tau / (2 * (largest + 1))
    tilted = [a + h * v for a, v in zip(u, slope, strict=True)]
    found = []
    for sign, place in ((1, b - tau), (-1, b + tau)):
        found += [(sign / h, tilted, h * level - place), (-sign / h, u, -place)]
    return found


def _hyperplane(rows: list[list[int]], group: list[int]) -> tuple[list[fmpq], fmpq]:
    """u and b with <u, x> = b on the group; where there are many, one that holds no other point."""
    width = len(rows[0])
    system = fmpz_mat([[*rows[i], -1] for i in group])
    if system.rank() < len(group):
        raise HypothesisError("Four neurons for d points", "affinely independent points", f"the points {group}")
    kernel, dimension = system.nullspace()
    solutions = [[int(kernel[i, j]) for i in range(width + 1)] for j in range(dimension)]
    for base in range(1, 64):
        weights = [base**power for power in range(dimension)]
        *u, b = (sum(w * row[i] for w, row in zip(weights, solutions, strict=True)) for i in range(width + 1))
        others = [sum(a * x for a, x in zip(u, row, strict=True)) - b for i, row in enumerate(rows) if i not in group]
        if any(u) and (all(others) or dimension == 1):
            return [fmpq(a) for a in u], fmpq(b)
    raise HypothesisError("Four neurons for d points", "points in general position", f"the points {group}")


def _affine(rows: list[list[int]], group: list[int], labels: list[int]) -> tuple[list[fmpq], fmpq]:
    """The affine function of the smallest coefficients with the labels on the group."""
    width = len(rows[0])
    A = fmpq_mat(len(group), width + 1, [fmpq(x) for i in group for x in (*rows[i], 1)])
    y = fmpq_mat(len(group), 1, [fmpq(label) for label in labels])
    found = A.transpose() * (A * A.transpose()).solve(y)
    *slope, level = found.entries()
    return slope, level


def _dot(a: list[fmpq], x: list[int]) -> fmpq:
    return sum((p * q for p, q in zip(a, x, strict=True)), fmpq(0))


CLAIM = Claim(
    id="bubeck-2020.four",
    title="Four ReLU neurons for d points",
    source="Bubeck, Eldan, Lee, Mikulincer (2020), abstract",
    printed=(
        "Baum (1988): ceil(n / d) threshold neurons memorize binary labels of n points in general position in R^d. "
        "ReLU networks fit real labels with four times as many, [[printed: 4 ceil(n / d)]]."
    ),
    judgement="holds",
    truth=(
        "It holds exactly, with a strip about a hyperplane for every d points. No network fits all labels of n points "
        "with m (d + 1) + 1 < n, so [[least: (n - 1) / (d + 1)]] neurons are necessary, about 4 + 4 / d times fewer. "
        "Sums of two embeddings are not in general position: the four points of XOR lie in one plane. The "
        "approximate networks of the source, and the size of their weights, are not judged."
    ),
    reconstructed="the construction: the paper was at hand in its abstract only",
    page="docs/claims/four_neurons.md",
)
