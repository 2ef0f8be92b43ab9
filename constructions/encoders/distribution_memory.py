"""Memorizing next-token distributions: the residual stream whose logits are the logarithms of the distributions, or as
near as can be.

Page: docs/claims/distribution_memory.md
"""

import numpy as np

from constructions.encoders.sequence_encoder import Progress, best_encoder
from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from constructions.tasks.task import Task
from constructions.unembeddings.unembedding import distribution_unembedding


def targets(
    task: Task, d_model: int, *, seed: int = 0, progress: Progress | None = None
) -> tuple[Float64Array, Float64Array]:
    r"""Return the unembedding, and the residual stream E with which it gives the logits of every memorized context.

    For $d \ge K$ the logits are the centred logarithms (of all shifts the one of smallest norm), for $d = K - 1$ the
    ratios $\log(\pi_{t,j} / \pi_{t,K})$. The shift cancels in the softmax, so the divergence is 0 up to rounding. For
    $d < K - 1$ the logits are those of the best encoder of rank d that was found, weighted by the prior of the task.

    Args:
        task: A task with the target ``distributions``.
        d_model: Embedding dimension d, at least 1.
        seed: Seed of the search for an encoder.
        progress: Called during that search, see `constructions.encoders.sequence_encoder.best_encoder`.

    Returns:
        `W_U` `[d_model, K]`, and `E` `[T, r]` on the first r = min(d, K) coordinates of the stream; the others are not
        read by `W_U` and may hold anything.

    Raises:
        InputError: The target of the task is not ``distributions``.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 1 and Proposition 2.

    Example:
        >>> from constructions.tasks.task import Counts, make_task
        >>> task = make_task(np.array([[0]]), Counts.from_rows([{0: 3}]), vocabulary=("a", "b"))
        >>> W_U, E = targets(task, 1)
        >>> W_U.tolist(), bool(np.isclose(E[0, 0], np.log(task.distributions[0, 0] / task.distributions[0, 1])))
        ([[1.0, 0.0]], True)
    """
    if task.distributions is None:
        raise InputError("target", f"is {task.target!r}", "'distributions' for a memory of distributions")
    if d_model < task.n_answers - 1:
        encoder = best_encoder(task.distributions, d_model, prior=task.prior, seed=seed, progress=progress)
        return np.ascontiguousarray(encoder.W.T), encoder.E
    W_U = distribution_unembedding(d_model, task.n_answers)
    logarithms = np.log(task.distributions)
    if d_model >= task.n_answers:
        return W_U, logarithms - logarithms.mean(axis=1, keepdims=True)
    return W_U, logarithms[:, :-1] - logarithms[:, -1:]
