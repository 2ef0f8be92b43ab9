"""One head that holds any labels of all bigrams: the label is encoded in how much it attends to the first token.

Page: docs/claims/corollary_1.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.models.shapes import dana_network
from constructions.tasks.task import Task


def one_head_memory(task: Task, *, margin: float = 0.5) -> Model:
    r"""Memorize any labels of any bigrams with one head, `d_head` = 1 and d = N + 2.

    Number the labels $l = 1, \dots, N$. Tokens are the unit vectors $e_n$, the two positions two further ones $f_1$,
    $f_2$. For the bigram (n, c) with label l the score of the first position exceeds that of the second by

    $$ \log \frac{l}{N + 1 - l}, $$

    so that attention to the first position is $l / (N + 1)$. The head writes $N + 1$ times it to the coordinate $f_1$,
    where the skip connection leaves 0: the stream holds $l$ there, and 1 at $f_2$. With the column
    $2 \mu \, (i, -i^2/2)$ of `W_U` at these coordinates, the label is ahead of token i by $\mu (l - i)^2$.

    Rank is no limit here: the features $[x_S \mid Y]$ have N + 2 columns that are not zero, for $N^2$ bigrams.

    Args:
        task: Contexts of two tokens, and labels.
        margin: $\mu$, by which the label is ahead of every other token, in nats.

    Returns:
        The network, of d_qk = N.

    Raises:
        InputError: Contexts that are no bigrams, or a margin that is no positive number.

    Source: beyond Dana, Pydi, Chevaleyre (2024), Corollary 1. Page: docs/claims/corollary_1.md

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> from constructions.models.attention import logits
        >>> task = enumerated_task(7, 2)
        >>> network = one_head_memory(task)
        >>> network.n_heads, network.d_head, task.n_contexts
        (1, 1, 49)
        >>> bool((logits(network, task.contexts).argmax(axis=1) == task.labels).all())
        True
    """
    if task.context_length != 2:
        raise InputError(f"task has contexts of {task.context_length} tokens, expected 2")
    if not 0 < margin < np.inf:
        raise InputError(f"margin = {margin}, expected a positive number")
    size = task.vocabulary_size
    width, first, second = size + 2, size, size + 1
    before, last = task.contexts.T
    gaps = np.zeros((size, size))  # score of the first position minus that of the second, [n, c]
    gaps[before, last] = np.log(task.labels + 1) - np.log(size - task.labels)
    W_Q, W_K, W_V, W_O = (np.zeros(shape) for shape in ((width, size), (width, size), (width, 1), (1, width)))
    W_Q[:size] = np.eye(size)
    W_K[:size] = gaps  # of the token n for the query c; the second position, where n = c, gets that of a loop
    W_K[first] = np.diagonal(gaps)  # so does the first, on top of its own
    W_V[first, 0] = 1.0
    W_O[0, first] = size + 1
    number = np.arange(1.0, size + 1)
    W_U = np.zeros((width, size))
    W_U[first], W_U[second] = 2 * margin * number, -margin * number**2
    return dana_network(
        W_E=np.eye(size, width),
        W_pos=np.eye(width)[[first, second]],
        W_Q=W_Q[np.newaxis],
        W_K=W_K[np.newaxis],
        W_V=W_V[np.newaxis],
        W_O=W_O[np.newaxis],
        W_U=W_U,
    )
