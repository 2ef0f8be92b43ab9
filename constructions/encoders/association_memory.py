"""Memorizing one label per context: the residual stream that makes the label win by a margin.

Page: docs/claims/association_memory.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array
from constructions.tasks.task import Task
from constructions.unembeddings.unembedding import label_unembedding

_NATS = 34.0  # e^-34 = 1.7e-15: the probability that the other tokens may have together
_SLACK = 1 + 2.0**-20  # so that rounding does not eat into it


def targets(task: Task, d_model: int, *, seed: int = 0) -> tuple[Float64Array, Float64Array]:
    r"""Return the unembedding, and the residual stream $E_t = \lambda u_{g(t)}$ whose logits favour the label $g(t)$.

    Let $m$ be the margin of the unembedding vectors and $\lambda = (\log K + 34) / m$. Every other answer is behind
    by at least $\log K + 34$ nats, so
    $-\log \mathrm{softmax}(E_t W_U)_{g(t)} \le \log(1 + (K-1) e^{-34} / K) < e^{-34}$.

    Args:
        task: A task; its `labels` are memorized.
        d_model: Embedding dimension d.
        seed: Seed of the unembedding vectors, where they are random.

    Returns:
        `W_U` `[d_model, K]`, and `E` `[T, r]` on the first r coordinates of the stream, the only ones that `W_U` reads.

    Raises:
        HypothesisError: d = 1 with three or more distinct labels.
        InputError: The target of the task is not ``labels``.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> from constructions.tasks.task import Counts, make_task
        >>> task = make_task(np.array([[0], [1]]), Counts.from_rows([{0: 1}, {1: 1}]), vocabulary=("a", "b"),
        ...                  target="labels")
        >>> W_U, E = targets(task, 1)
        >>> W_U.tolist(), (E @ W_U).round(1).tolist()
        ([[1.0, -1.0]], [[17.3, -17.3], [-17.3, 17.3]])
    """
    if task.target != "labels":
        raise InputError("target", f"is {task.target!r}", "'labels' for a memory of associations")
    unembedding = label_unembedding(d_model, task.n_answers, task.labels, seed=seed)
    strength = _SLACK * _lead(task.n_answers) / unembedding.margin
    return unembedding.W_U, strength * unembedding.W_U[: unembedding.rank, task.labels].T


def in_general_position(W_U: Float64Array, stream: Float64Array, *, seed: int = 0) -> Float64Array:
    r"""Return targets without linear relations between their rows, which favour the labels as much as before.

    Labels that repeat make $E$ special, and for special $E$ the change of basis that uses the skip connection can be
    singular. Noise that changes no logit difference by more than half of the lead $\log K + 34$, and a factor 2, cost
    nothing but size.

    Args:
        W_U: The unembedding of `targets`, `[d_model, K]`.
        stream: The targets, `[T, r]`.
        seed: Seed of the noise.

    Returns:
        The new targets, `[T, r]`.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1 (the limit at the end of its proof), made exact for labels.

    Example:
        >>> W_U, E = np.eye(2), 40 * np.eye(2)[[0, 0, 1]]
        >>> logits = in_general_position(W_U, E) @ W_U
        >>> logits.argmax(axis=1).tolist(), bool(np.abs(logits[:, 0] - logits[:, 1]).min() > np.log(2) + 34)
        ([0, 0, 1], True)
    """
    noise = np.random.default_rng(seed).standard_normal(stream.shape)
    reach = np.ptp(noise @ W_U[: stream.shape[1]], axis=1).max()
    return 2 * stream + (_lead(W_U.shape[1]) / reach if reach > 0 else 0.0) * noise


def _lead(n_answers: int) -> float:
    return float(np.log(n_answers)) + _NATS
