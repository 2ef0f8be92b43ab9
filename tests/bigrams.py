"""Tables of bigrams of several kinds, and which heads of a network attend to the first of two tokens."""

import numpy as np

from constructions.model.attention import attention
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task

KINDS = ("random", "ends", "constant", "skewed", "sum", "two", "incomplete", "loops")


def bigram_task(tokens: int, kind: str, seed: int, *, changed: int | None = None) -> Task:
    """Bigrams with labels of a kind; `changed` is one that gets another label."""
    rng = np.random.default_rng(seed)
    contexts = all_contexts(tokens, 2)
    if kind == "incomplete":
        contexts = contexts[np.sort(rng.permutation(tokens**2)[: 1 + tokens**2 // 2])]
    labels = rng.integers(0, tokens, len(contexts))
    if kind == "ends":  # the largest gaps of both signs, side by side
        labels = (tokens - 1) * (np.arange(len(contexts)) % 2)
    elif kind == "constant":
        labels = np.full(len(contexts), tokens // 2)
    elif kind == "skewed":
        labels = np.minimum(rng.exponential(0.2 * tokens, len(contexts)).astype(np.int64), tokens - 1)
    elif kind == "sum":
        labels = contexts.sum(axis=1) % tokens
    elif kind == "two":
        labels = (tokens - 1) * rng.integers(0, 2, len(contexts))
    elif kind == "loops":
        labels = np.where(contexts[:, 0] == contexts[:, 1], 0, tokens - 1)
    if changed is not None:
        labels = np.where(np.arange(len(labels)) == changed, (labels + 1) % tokens, labels)
    return array_task(contexts, next_tokens=labels, vocabulary=tokens, target="labels")


def heads_that_are_open(model: Model, task: Task) -> Int64Array:
    """How many heads give the first token more than a hundredth of a label's attention, for each bigram."""
    shares = np.stack([attention(model, task.contexts, head)[:, 0] for head in range(model.n_heads)])
    return (shares > 0.01 / (len(np.unique(task.labels)) + 1)).sum(axis=0)
