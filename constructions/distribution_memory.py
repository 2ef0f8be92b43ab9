"""Memorizing next-token laws: the residual stream that makes the logits the logarithms of the laws."""

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.task import Task
from constructions.unembedding import law_unembedding

Float64Array = NDArray[np.float64]


def targets(task: Task, d_model: int) -> tuple[Float64Array, Float64Array]:
    r"""The unembedding, and the residual stream $E$ with $E_t W_U = \log \pi_t + c_t$ for every memorized context.

    For $d \ge N$ the logits are the centred logarithms (of all shifts the one of smallest norm), for $d = N - 1$ the
    ratios $\log(\pi_{t,j} / \pi_{t,N})$. The shift cancels in the softmax, so the divergence is 0 up to rounding.

    Args:
        task: A task with the target ``laws``.
        d_model: Embedding dimension d.

    Returns:
        `W_U` `[d_model, N]`, and `E` `[T, r]` on the first r = min(d, N) coordinates of the stream; the others are not
        read by `W_U` and may hold anything.

    Raises:
        CapacityError: d < N - 1.
        InputError: The target of the task is not ``laws``.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 2. Page: docs/claims/distribution_memory.md

    Example:
        >>> from constructions.task import Counts, make_task
        >>> task = make_task(np.array([[0]]), Counts.from_rows([{0: 3}]), vocabulary=("a", "b"))
        >>> W_U, E = targets(task, 1)
        >>> W_U.tolist(), bool(np.isclose(E[0, 0], np.log(task.laws[0, 0] / task.laws[0, 1])))
        ([[1.0, 0.0]], True)
    """
    if task.laws is None:
        raise InputError(f"target is {task.target!r}, expected 'laws' for a memory of distributions")
    W_U = law_unembedding(d_model, task.vocabulary_size)
    logarithms = np.log(task.laws)
    if d_model >= task.vocabulary_size:
        return W_U, logarithms - logarithms.mean(axis=1, keepdims=True)
    return W_U, logarithms[:, :-1] - logarithms[:, -1:]
