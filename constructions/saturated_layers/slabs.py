"""Build ReLU networks for any labels of any points: an affine function on each slab between parallel hyperplanes.

Page: docs/claims/relu_barrier.md
"""

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.errors import HypothesisError, InputError
from constructions.model.blocks import FeedForward
from constructions.numeric.arrays import Int64Array

_CLAIM = "A network of slabs"
_LARGEST = 2**31  # of a coordinate or label
_DRAWS = 200


def slab_network(points: Int64Array, labels: Int64Array, *, seed: int = 0) -> FeedForward:
    r"""Return one layer of ReLU neurons that outputs any given labels at distinct points, exactly.

    Take a direction u in which no two points are level, sort the points by it, and cut the list into groups, each as
    long as its points are affinely independent; $L_g$ is an affine function through the labels of the group g. The
    first group takes one neuron, $(L_1 + M)_ + - M$ with M so large that it is on at all points. A later one takes two:
    with $L_g - L_{g - 1} = \langle v, x \rangle - \beta$ and b between the groups,

    $$ \frac1h \Bigl( \bigl( \langle u + h v, x \rangle - b - h \beta \bigr)_ + -
       \bigl( \langle u, x \rangle - b \bigr)_ + \Bigr) $$

    is 0 at the points before b and $L_g - L_{g - 1}$ at those behind, if
    $h |\langle v, x \rangle - \beta| < |\langle u, x \rangle - b|$ at every point. A last group of a single point takes
    one neuron, a multiple of the second.

    So g groups take at most 2 g - 1 neurons, and points in general position, any d + 1 of them affinely independent,
    have $\lceil T / (d + 1) \rceil$ groups.

    Args:
        points: Distinct integers, `[T, d]`.
        labels: Integers, `[T]`.
        seed: Seed of the direction.

    Returns:
        The neurons, of rational tensors, without a skip connection.

    Raises:
        InputError: Arrays that are not integers below 2^31, or do not fit.
        HypothesisError: Points that are not distinct.

    Source: the lower half of Mahdavi, Liao, Thrampoulidis (2024), Proposition 3; half the neurons of Bubeck, Eldan,
    Lee, Mikulincer (2020), reconstructed.

    Example:
        >>> square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> slab_network(square, np.array([0, 1, 1, 0])).d_mlp
        2
    """
    rows, values = _integers("points", points, 2), _integers("labels", labels, 1)
    if len(values) != len(rows):
        raise InputError("labels", f"are {len(values)} of {len(rows)} points", "one each")
    if len(np.unique(rows, axis=0)) < len(rows):
        raise HypothesisError(_CLAIM, "distinct points", "some occur more than once")
    direction = _direction(rows, seed)
    heights = [sum(a * b for a, b in zip(direction, row, strict=True)) for row in rows.tolist()]
    order = sorted(range(len(rows)), key=heights.__getitem__)
    groups = _groups([rows[t].tolist() for t in order])
    lifted = [[fmpq(x) for x in [*rows[t].tolist(), 1]] for t in order]
    wanted, levels = [int(values[t]) for t in order], [heights[t] for t in order]
    before, inputs, outputs, offset = [fmpq(0)] * (rows.shape[1] + 1), [], [], fmpq(0)
    for start, stop in groups:
        if stop - start == 1 and start:
            # The last group alone can be of one point: two points are always affinely independent.
            edge = [fmpq(x) for x in direction] + [fmpq(-levels[start - 1])]
            inputs.append(edge)
            outputs.append((wanted[start] - _at(before, lifted[start])) / _at(edge, lifted[start]))
            continue
        through = _affine(lifted[start:stop], wanted[start:stop])
        change = [a - b for a, b in zip(through, before, strict=True)]
        sizes = [abs(_at(change, row)) for row in lifted]
        if start == 0:
            offset = max(sizes) + 1
            inputs.append([*change[:-1], change[-1] + offset])
            outputs.append(fmpq(1))
        else:
            edge = [fmpq(x) for x in direction] + [fmpq(-levels[start - 1] - levels[start], 2)]
            step = min(abs(_at(edge, row)) for row in lifted) / (2 * max(*sizes, fmpq(1)))
            inputs += [[a + step * b for a, b in zip(edge, change, strict=True)], edge]
            outputs += [1 / step, -1 / step]
        before = through
    W_in, W_out = np.array(inputs), np.array([outputs])
    return FeedForward(W_in=W_in[:, :-1].T, b_in=W_in[:, -1], W_out=W_out.T, b_out=np.array([-offset]), skip=False)


def _integers(name: str, values: Int64Array, dimensions: int) -> Int64Array:
    array = np.asarray(values)
    if np.ma.isMaskedArray(values) or array.dtype.kind not in "iu" or array.ndim != dimensions or 0 in array.shape:
        expected = f"integers of {dimensions} dimensions"
        raise InputError(name, f"is {array.dtype} of shape {array.shape}", expected)
    if array.min() <= -_LARGEST or array.max() >= _LARGEST:
        raise InputError(name, f"has entries from {array.min()} to {array.max()}", "sizes below 2^31")
    return array.astype(np.int64)


def _direction(points: Int64Array, seed: int) -> list[int]:
    """Return integers u that have a different product with every point."""
    rng = np.random.default_rng(seed)
    count, d_model = points.shape
    rows = points.tolist()
    for draw in range(_DRAWS):
        direction = rng.integers(1, 2 + count**2 * 2**draw if draw < 30 else 2**62, d_model).tolist()
        if len({sum(a * b for a, b in zip(direction, row, strict=True)) for row in rows}) == count:
            return direction
    raise AssertionError("distinct points are level in every direction that was drawn")


def _groups(points: list[list[int]]) -> list[tuple[int, int]]:
    """Return begin and end of each group, which extends as long as its points are affinely independent."""
    groups, start = [], 0
    for stop in range(1, len(points) + 1):
        longer = points[start : stop + 1]
        if stop == len(points) or fmpq_mat([[*point, 1] for point in longer]).rank() < len(longer):
            groups.append((start, stop))
            start = stop
    return groups


def _affine(lifted: list[list[fmpq]], labels: list[int]) -> list[fmpq]:
    """Return the coefficients of an affine function with these values at affinely independent points; free ones are
    0.
    """
    columns = len(lifted[0])
    system = fmpq_mat([[*row, fmpq(label)] for row, label in zip(lifted, labels, strict=True)])
    reduced, rank = system.rref()
    solution = [fmpq(0)] * columns
    for i in range(rank):
        pivot = next(j for j in range(columns) if reduced[i, j] != 0)
        solution[pivot] = reduced[i, columns]
    return solution


def _at(function: list[fmpq], row: list[fmpq]) -> fmpq:
    return sum((a * b for a, b in zip(function, row, strict=True)), fmpq(0))
