"""Memorize labels of contexts in general position: heads with one query direction and one value, and one linear system.

Page: docs/claims/rank_one_heads.md
"""

import math

import numpy as np

from constructions.counted import counted
from constructions.errors import require_at_least
from constructions.memories.heads.label_system import (
    embeddings,
    first_that_holds,
    inverted,
    points,
    readout,
    require_labels_after_two,
)
from constructions.model.attention import features, last
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import Precision, rounded_model
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.task import Task

_CLAIM = "The memory of heads of rank one"
_MORE = (1.0, 1.05, 1.1, 1.25)  # heads that are tried, in multiples of those that the rank asks for
_DRAWS = 3
_WIDTH = 4


def rank_one_heads_memory(
    task: Task, *, d_model: int = _WIDTH, n_heads: int | None = None, dtype: Precision = "float64", seed: int = 0
) -> Construction[Task]:
    r"""Memorize any labels of contexts whose features have full rank, with `d_qk` = `d_head` = 1 and one linear system.

    Let F be the matrix with a row for each context: the last input $x_S$, then what each of the H heads would read with
    $W_V = 1$, the mean $A^h$ of the inputs. It has (H + 1) d columns. If its rank is T, then $F z = i$ for the points i
    of the labels on a line has a solution $z = (f, w_1, \dots, w_H)$. The head h gets the value map $w_h$, all write
    along one vector o with $f \cdot o = 1$, and $y = f \cdot (x_S + \sum_h (w_h \cdot A^h) o)$ is the label's point.

    Embeddings and attention are random, with the constant coordinate that the label code needs: 0 for tokens, 1 at the
    last position.

    Args:
        task: Contexts of two tokens or more, and labels.
        d_model: d, at least 2.
        n_heads: H; by default as few as reach a margin of 0.1 in float64 arithmetic, from $\lceil T / d \rceil - 1$ on.
        dtype: The precision that every weight is rounded to; what is drawn is rounded before the system is solved.
        seed: Seed of the draws; on one machine equal arguments give equal bits.

    Returns:
        The network.

    Raises:
        InputError: A width below 2, or a precision that is none.
        HypothesisError: A task of distributions, or contexts of one token.
        CapacityError: Features of full rank were not found, or are too nearly dependent.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> rank_one_heads_memory(enumerated_task(10, 2), d_model=3).summary
        '100 contexts by 33 heads of rank one, d = 3, 462 parameters'
    """
    require_at_least(2, d_model=d_model)
    require_labels_after_two(task, _CLAIM)
    fewest = _fewest_heads(task, d_model)
    tried = sorted({math.ceil(more * fewest) for more in _MORE}) if n_heads is None else [n_heads]
    drawn = (
        (
            _network(task, _front_end(task, d_model, heads, dtype, (seed, draw)), dtype),
            f"{counted(heads, 'head')} of rank one, d = {d_model}",
        )
        for heads in tried
        for draw in range(_DRAWS)
    )
    return first_that_holds(task, _CLAIM, "features", drawn)


def fewest_parameters_of_rank_one(task: Task) -> int:
    r"""Return a lower bound of the memory's parameters in its default width: the rank requires $(H + 1) d \ge T$.

    Args:
        task: The contexts and the targets to memorize.

    Returns:
        $d (S + N + K) + 4 d H$ with $d = 4$ and the least H.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> fewest_parameters_of_rank_one(enumerated_task(10, 2))
        472
    """
    inputs_and_answers = task.n_ctx + task.d_vocab + task.n_answers
    return _WIDTH * inputs_and_answers + 4 * _WIDTH * _fewest_heads(task, _WIDTH)


def _fewest_heads(task: Task, d_model: int) -> int:
    return max(1, -(-task.n_contexts // d_model) - 1)


def _front_end(task: Task, d_model: int, n_heads: int, dtype: Precision, seed: tuple[int, int]) -> Model:
    """Draw embeddings and attention; its heads read every coordinate and write nothing."""
    rng = np.random.default_rng(seed)
    W_E, W_pos = embeddings(task, d_model, rng)
    network = dana_network(
        W_E=W_E,
        W_pos=W_pos,
        W_Q=rng.standard_normal((n_heads, d_model, 1)),
        W_K=rng.standard_normal((n_heads, d_model, 1)),
        W_V=np.broadcast_to(np.eye(d_model), (n_heads, d_model, d_model)).copy(),
        W_O=np.zeros((n_heads, d_model, d_model)),
        W_U=np.zeros((d_model, task.n_answers)),
    )
    return rounded_model(network, dtype)


def _network(task: Task, front_end: Model, dtype: Precision) -> Model | None:
    """Return the network whose number y is the point of each label; None if the features do not have full rank."""
    d_model, n_heads = front_end.d_model, front_end.n_heads
    inputs = last(front_end, task.contexts)
    inverse = inverted(np.concatenate([inputs, features(front_end, task.contexts)], axis=1))
    if inverse is None:
        return None
    numbers = inverse.solve(points(task)[:, None])[:, 0]
    output, W_U = readout(task, numbers[:d_model], float(np.abs(inputs[:, 1:]).max()))
    values = numbers[d_model:].reshape(n_heads, d_model, 1)
    W_O = np.broadcast_to(output, (n_heads, 1, d_model)).copy()
    return rounded_model(dana_network(**dana_tensors(front_end) | {"W_V": values, "W_O": W_O, "W_U": W_U}), dtype)
