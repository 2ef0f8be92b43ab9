r"""Theorem 1 of Zhang et al.: a ReLU network of two layers through n points of R^d, with 2 n + d weights.

Page: docs/claims/knots.md
"""

from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from constructions.arrays import Int64Array
from constructions.claims.claim import Claim, Hypothesis
from constructions.errors import HypothesisError, InputError
from constructions.memories.knots import knots_memory
from constructions.models.blocks import FeedForward
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task

_DRAWS = 1000


def build(*, tokens: int, length: int, facts: int, seed: int) -> Construction[Task]:
    r"""Hold random labels of random contexts by attention that numbers them and ReLU neurons through the labels.

    Args:
        tokens: N.
        length: S.
        facts: T, of the $N^S$ contexts.
        seed: Of contexts, labels and codes.

    Returns:
        The weights, rounded to float64, and the labels as the task.

    Raises:
        InputError: More facts than contexts.
        CapacityError: Codes that are too long.

    Source: Zhang, Bengio, Hardt, Recht, Vinyals (2017), Theorem 1.

    Example:
        >>> build(tokens=4, length=3, facts=32, seed=0).task.n_contexts
        32
    """
    return knots_memory(random_facts(tokens=tokens, length=length, facts=facts, seed=seed), seed=seed)


def random_facts(*, tokens: int, length: int, facts: int, seed: int) -> Task:
    """Random labels of different random contexts.

    Args:
        tokens: N.
        length: S.
        facts: T, at most the $N^S$ contexts there are, and these at most 2^20.
        seed: Of contexts and labels.

    Returns:
        The task.

    Raises:
        InputError: Other sizes.

    Example:
        >>> random_facts(tokens=3, length=2, facts=9, seed=0).n_contexts
        9
    """
    contexts = random_contexts(tokens=tokens, length=length, facts=facts, seed=seed)
    labels = np.random.default_rng([seed, 1]).integers(0, tokens, facts)
    return array_task(contexts, next_tokens=labels, vocabulary=tokens, target="labels")


def random_contexts(*, tokens: int, length: int, facts: int, seed: int) -> Int64Array:
    """Different random contexts, `[T, S]`.

    Args:
        tokens: N.
        length: S.
        facts: T, at most the $N^S$ contexts there are, and these at most 2^20.
        seed: Of the draw.

    Raises:
        InputError: Other sizes.

    Example:
        >>> random_contexts(tokens=2, length=2, facts=4, seed=0).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    count = tokens**length
    if not 1 <= facts <= count <= 2**20:
        raise InputError(f"facts = {facts}, of {count} contexts, expected 1 <= T <= N^S <= 2^20")
    chosen = np.random.default_rng([seed, facts]).choice(count, facts, replace=False)
    return all_contexts(tokens, length)[np.sort(chosen)]


def interpolating_network(points: Int64Array, outputs: Any, *, offset: bool, seed: int = 0) -> Model:
    r"""The rational network $f(x) = c + \sum_j w_j (\langle a, x \rangle - b_j)_+$ with given values at given points.

    An integer direction a with distinct numbers $z_i = \langle a, x_i \rangle$ is drawn; the neurons set in at the
    sorted $z_1, \dots, z_{n - 1}$, and the first of them, where there is no offset c, at $z_1 - 1$.

    Args:
        points: Distinct integer points, `[n, d]`; point i is the token i of the model.
        outputs: Integers or fractions `p / q` as `fmpq`, `[n, D]`.
        offset: Whether there is a c: then n - 1 neurons are enough (one, if n = 1), else there are n.
        seed: Of the direction.

    Returns:
        A rational model of one ReLU block, whose logits are the outputs.

    Raises:
        InputError: Points that are no integers `[n, d]`, or outputs of another number of rows.
        HypothesisError: Two points that are equal.

    Source: Zhang, Bengio, Hardt, Recht, Vinyals (2017), Theorem 1.

    Example:
        >>> model = interpolating_network(np.array([[0, 1], [1, 0], [1, 1]]), [[5], [7], [2]], offset=False)
        >>> model.blocks[0].W_in.shape, model.blocks[0].W_out.shape
        ((2, 3), (3, 1))
    """
    array = np.asarray(points)
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape or len(outputs) != len(array):
        raise InputError(f"points is {array.dtype} of shape {array.shape}, {len(outputs)} outputs, expected [n, d]")
    count, width = array.shape
    if len(np.unique(array, axis=0)) < count:
        raise HypothesisError("Theorem 1 of Zhang et al.", "distinct points", "two that are equal")
    direction, codes = separating_direction(array, seed=seed)
    places, jumps, first = exact_knots(codes, [[fmpq(y) for y in row] for row in outputs], offset=offset)
    W_in, b_in = exact([[a] * len(places) for a in direction]), exact([-b for b in places])
    block = FeedForward(W_in, exact(jumps), b_in, exact(first), activation="relu", skip=False)
    identity = exact(np.eye(len(first), dtype=np.int64).tolist())
    return Model(blocks=(block,), W_U=identity, W_E=exact(array.tolist()), W_pos=exact([[0] * width]))


def separating_direction(points: Int64Array, *, seed: int) -> tuple[list[int], list[int]]:
    """Integers a with distinct numbers $<a, x_i>$, and these; drawn from ranges that double.

    Args:
        points: Distinct integers, `[n, d]`.
        seed: Of the draws.

    Raises:
        HypothesisError: None was found.

    Example:
        >>> separating_direction(np.array([[3], [5]]), seed=0)
        ([1], [3, 5])
    """
    rng = np.random.default_rng(seed)
    width, rows = points.shape[1], points.tolist()
    for draw in range(_DRAWS):
        direction = [1] + [int(a) for a in rng.integers(-(2 ** (draw // 20)), 2 ** (draw // 20) + 1, width - 1)]
        codes = [sum(a * x for a, x in zip(direction, row, strict=True)) for row in rows]
        if len(set(codes)) == len(codes):
            return direction, codes
    raise HypothesisError("A separating direction", "distinct points", f"none of {_DRAWS} draws separates them")


def exact_knots(
    codes: list[int], values: list[list[fmpq]], *, offset: bool
) -> tuple[list[fmpq], list[list[fmpq]], list[fmpq]]:
    """Places, jumps and offset of ReLU neurons of one number through given values, by telescoping.

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
    """An array of rationals.

    Args:
        rows: A list of integers or `fmpq`, or a list of such lists of one length.

    Example:
        >>> exact([[1, 2]]).shape
        (1, 2)
    """
    array = np.array(rows, dtype=object)
    return np.array([fmpq(entry) for entry in array.flat], dtype=object).reshape(array.shape)


OF_RANDOM_CONTEXTS = (
    Hypothesis("N >= 2, S >= 1", lambda tokens, length, **_: tokens >= 2 and length >= 1),
    Hypothesis("1 <= T <= N^S <= 2^20", lambda tokens, length, facts, **_: 1 <= facts <= tokens**length <= 2**20),
    Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
)
"""What `random_contexts` needs."""

CLAIM = Claim(
    id="zhang-2017.theorem",
    title="A ReLU network of 2 n + d weights through n points",
    source="Zhang, Bengio, Hardt, Recht, Vinyals (2017), Theorem 1",
    printed=(
        "There is a network of two layers with ReLU and [[printed: 2 n + d]] weights that represents any function on n "
        "distinct points of R^d."
    ),
    judgement="holds",
    truth=(
        "It holds, for vectors as values too, and with [[fewer: 2 n + d - 1]] weights: n - 1 jumps, n - 1 places, one "
        "offset and a direction. For T distinct contexts of S tokens out of N one head that looks at positions alone "
        "takes the place of the direction: [[contexts: N + S + 2 m + 1]] numbers that depend on the task, m <= T - 1."
    ),
    reconstructed="the proof; the statement as others quote it",
    page="docs/claims/knots.md",
    hypotheses=OF_RANDOM_CONTEXTS,
    parameters={"tokens": 16, "length": 3, "facts": 96, "seed": 0},
    build=build,
)
