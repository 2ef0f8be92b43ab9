"""Find labels that no ReLU network of a given size outputs, by enumerating its activation patterns in integers.

Page: docs/claims/relu_barrier.md
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np
from flint import fmpz_mat

from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.numeric.arrays import Int64Array
from verify.arithmetic.exact_inputs import is_masked

_MOST_COMBINATIONS = 2**20


@dataclass(frozen=True)
class ReluBarrier:
    r"""Whether a two-layer ReLU network can have given outputs at given points.

    Args:
        patterns: Number of sets of points on which one neuron can be active.
        combinations: Number of multisets of m patterns: subspaces that were looked at.
        largest_dimension: The largest dimension of one of them.
        outside: Whether the labels are in none: no weights put them out.
    """

    patterns: int
    combinations: int
    largest_dimension: int
    outside: bool


def affine_dichotomies(points: Int64Array) -> frozenset[frozenset[int]]:
    r"""Return all sets of points on which some affine function $\langle w, x \rangle + b$ is positive.

    The points have to be in general position: any d + 1 of them are affinely independent. Then the sets are found at
    the hyperplanes through d points: the points of one side, with any of the d. Why these are all: the pairs (w, b)
    that are of a given sign at every point, zeros allowed, form a pointed cone; on an extreme ray of it the function
    vanishes at d points, and by general position at no others. Conversely, the values at the d points can be changed
    a little to any signs.

    Args:
        points: Integers, `[T, d]`, T > d.

    Returns:
        The sets.

    Raises:
        InputError: No integers `[T, d]` with T > d >= 1.
        HypothesisError: Some d + 1 points are affinely dependent.

    Source: Cover (1965) for their number.

    Example:
        >>> sorted(sorted(chosen) for chosen in affine_dichotomies(np.array([[0], [1], [5]])))
        [[], [0], [0, 1], [0, 1, 2], [1, 2], [2]]
    """
    array = _integers("points", points, 2)
    count, width = array.shape
    if count <= width:
        raise InputError("points", f"has shape {array.shape}", "more points than coordinates")
    rows = [[*point, 1] for point in array.tolist()]
    dichotomies = set()
    for through in combinations(range(count), width):
        others = [t for t in range(count) if t not in through]
        signs = {t: fmpz_mat([rows[s] for s in (*through, t)]).det() for t in others}
        if not all(signs.values()):
            raise HypothesisError("Affine dichotomies", "points in general position", f"{through} with another point")
        sides = [frozenset(t for t in others if (signs[t] > 0) is positive) for positive in (True, False)]
        for chosen in product((False, True), repeat=width):
            touched = frozenset(t for t, active in zip(through, chosen, strict=True) if active)
            dichotomies.update(side | touched for side in sides)
    return frozenset(dichotomies)


def relu_barrier(points: Int64Array, labels: Int64Array, *, neurons: int) -> ReluBarrier:
    r"""Decide whether $\sum_{j=1}^m v_j \max(0, \langle w_j, x \rangle + b_j) + c$ can be the labels at the points.

    If neuron j is active on the set $S_j$, its outputs are in the space $V_j$ of the affine functions on $S_j$, 0
    elsewhere, and those of the network in $V_1 + \dots + V_m + \mathbb{R} 1$. Each of these finitely many subspaces is
    compared with the labels by two exact ranks. (That labels are inside one does not say that a network puts them
    out: the signs in a pattern need not be met.)

    Args:
        points: Integers in general position, `[T, d]`, T > d.
        labels: Integers, `[T]`.
        neurons: m, at least 0.

    Returns:
        The number of patterns and of subspaces, and whether the labels are outside of all.

    Raises:
        InputError: Arrays that are not integers or do not fit, or a negative number of neurons.
        HypothesisError: Points that are not in general position.
        ResourceError: More than 2^20 subspaces.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Proposition 3, as reconstructed.

    Example:
        >>> line = np.arange(1, 6)[:, None]
        >>> relu_barrier(line, np.array([0, 5, 1, 7, 2]), neurons=1)
        ReluBarrier(patterns=10, combinations=10, largest_dimension=3, outside=True)
        >>> relu_barrier(line, np.array([4, 4, 4, 5, 6]), neurons=1).outside
        False
    """
    array, values = _integers("points", points, 2), _integers("labels", labels, 1)
    if len(values) != len(array) or neurons < 0:
        raise InputError(f"{len(values)} labels of {len(array)} points, neurons", f"= {neurons}: they do not fit")
    patterns = sorted(affine_dichotomies(array), key=sorted)
    count = comb(len(patterns) + neurons - 1, neurons) if neurons else 1
    if count > _MOST_COMBINATIONS:
        raise ResourceError(f"{len(patterns)} patterns give {count} combinations of {neurons}, more than 2^20")
    blocks = [_affine_on(array, pattern) for pattern in patterns]
    ranks = list(_ranks(blocks, values.tolist(), neurons))
    return ReluBarrier(
        patterns=len(patterns),
        combinations=len(ranks),
        largest_dimension=max(dimension for dimension, _ in ranks),
        outside=all(inside > dimension for dimension, inside in ranks),
    )


def _ranks(blocks: list[list[list[int]]], labels: list[int], neurons: int) -> Iterator[tuple[int, int]]:
    """Yield the dimension of each subspace, and that of its sum with the labels."""
    for chosen in combinations_with_replacement(blocks, neurons):
        rows = [row for block in chosen for row in block] + [[1] * len(labels)]
        yield fmpz_mat(rows).rank(), fmpz_mat([*rows, labels]).rank()


def _affine_on(points: Int64Array, active: frozenset[int]) -> list[list[int]]:
    """Return the coordinate functions and 1, restricted to the active points and 0 elsewhere, as rows."""
    rows = [*points.T.tolist(), [1] * len(points)]
    return [[value if t in active else 0 for t, value in enumerate(row)] for row in rows]


def _integers(name: str, values: Int64Array, dimensions: int) -> Int64Array:
    array = np.asarray(values)
    if is_masked(values) or array.dtype.kind not in "iu" or array.ndim != dimensions or 0 in array.shape:
        raise InputError(name, f"is {array.dtype} of shape {array.shape}", f"integers of {dimensions} dimensions")
    return array
