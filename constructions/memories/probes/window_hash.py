"""Hash contexts to integers: sums of token codes, gathered by heads in doubling strides.

Page: docs/claims/probes.md
"""

from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from constructions.numeric.arrays import Int64Array

_DRAWS = 40
_FEW = 128  # positions whose weights may be products of signed permutations, of which there are 384


class Mixing(NamedTuple):
    r"""The rounds after which the last position holds a sum over all positions.

    Args:
        strides: How far back each round reads, `[rounds]`; windows double, or nearly so.
        maps: What each round multiplies what it reads with, `[rounds, D, D]`.
        weights: The sum is $\sum_i e(t_{S - 1 - i}) M_i$ with $M_i$ = `weights[i]`, `[S, D, D]`.
    """

    strides: tuple[int, ...]
    maps: Int64Array
    weights: Int64Array


def strides(n_ctx: int) -> tuple[int, ...]:
    """Return how far back each round reads, so that the last position covers all and few positions are read twice.

    Example:
        >>> strides(11), strides(8), strides(1)
        ((1, 1, 3, 5), (1, 2, 4), ())
    """
    return () if n_ctx == 1 else (*strides(-(-n_ctx // 2)), n_ctx // 2)


@cache
def mixing(n_ctx: int, columns: int, free: int = 0) -> Mixing:
    """Return integer matrices for each round that lose no token and no repetition, as far as a draw can tell.

    For two columns they are unimodular with entries of -1, 0, 1, and so are they with 1 added: a context of one token
    repeated keeps what tells it from others. For four they are signed permutations, so that sums grow no faster than
    their number of terms, and 1 added to one is regular; of more than 128 positions the first two rounds take sums of
    two of these. Maps that are free have entries from -2 to 2: sums grow faster, and contexts of few tokens, whose sums
    are told apart by the weights and not by the codes, collide less. Of some draws that one is taken which has the
    fewest weights that are singular, and then the fewest that two positions share.

    Args:
        n_ctx: S.
        columns: D, 2 or 4.
        free: Rounds, the first ones, whose maps are free.

    Example:
        >>> mixing(4, 2).weights.shape, mixing(4, 2).strides
        ((4, 2, 2), (1, 2))
    """
    rng = np.random.default_rng((n_ctx, columns, free))
    choices = _unimodular() if columns == 2 else _signed_permutations(columns)
    drawn = [_drawn(rng, choices, n_ctx, free) for _ in range(_DRAWS)]
    return min(drawn, key=_faults)


def _drawn(rng: np.random.Generator, choices: Int64Array, n_ctx: int, free: int) -> Mixing:
    steps, columns = strides(n_ctx), choices.shape[1]
    maps = choices[rng.choice(len(choices), len(steps), replace=len(steps) > len(choices))]
    if n_ctx > _FEW and columns > 2 and not free:
        maps[:2] += choices[rng.choice(len(choices), 2)]
    maps[:free] = rng.integers(-2, 3, (len(steps), columns, columns))[:free]
    weights = np.eye(columns, dtype=np.int64)[None]
    for stride, map_ in zip(steps, maps, strict=True):
        grown = np.zeros((len(weights) + stride, *map_.shape), dtype=np.int64)
        grown[: len(weights)] += weights
        grown[stride:] += weights @ map_
        weights = grown
    return Mixing(steps, maps, weights)


def _faults(drawn: Mixing) -> tuple[int, int]:
    every = np.concatenate([drawn.weights, drawn.weights.sum(axis=0)[None]])
    singular = int((np.abs(np.linalg.det(every)) < 0.5).sum())
    return singular, len(drawn.weights) - len(np.unique(drawn.weights.reshape(len(drawn.weights), -1), axis=0))


def _unimodular() -> Int64Array:
    every = np.array(list(product((-1, 0, 1), repeat=4))).reshape(-1, 2, 2)
    one = np.eye(2, dtype=np.int64)
    is_unimodular = (np.abs(np.abs(np.linalg.det(every)) - 1) < 0.5) & (
        np.abs(np.abs(np.linalg.det(every + one)) - 1) < 0.5
    )
    return every[is_unimodular]


def _signed_permutations(size: int) -> Int64Array:
    one, signs = np.eye(size, dtype=np.int64), product((-1, 1), repeat=size)
    every = np.array([one[list(order)] * sign for sign in signs for order in permutations(range(size))])
    return every[np.abs(np.linalg.det(every + one)) > 0.5]
