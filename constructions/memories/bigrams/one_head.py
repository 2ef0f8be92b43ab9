"""Memorize any labels of all bigrams with one head, which encodes the label in its attention to the first token.

Page: docs/claims/corollary_1.md
"""

import numpy as np

from constructions.errors import HypothesisError, InputError
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.task import Task

_CLAIM = "The memory of one head"


def one_head_memory(task: Task, *, margin: float = 0.5) -> Model:
    r"""Memorize any labels of any bigrams with one head, `d_head` = 1 and d = d_qk = N (2 for N = 1).

    The label $l = 0, \dots, K - 1$ has the point $i = l - (K - 1) / 2$. The token n < N - 1 is the unit vector of the
    coordinate n + 1, the last token is 0; so is the first position, and the second is the unit vector of coordinate 0.
    With keys that are the inputs, the score of the first position exceeds that of the second by
    $\gamma_{n,c} = \ln \frac{a}{1 - a}$ for

    $$ a = \frac12 + \frac{i - [c = 0] / 4}{K + 1} , $$

    which is the attention to the first position. The value is minus the coordinate 0, so that the head reads $a - 1$;
    it writes $4 (K + 1)$ times it to coordinate 1, where the skip connection has $[c = 0]$. A quarter of that
    coordinate and $(K + 1) / 2$ times coordinate 0, which is 1, add up to i. With the logit $2 \mu (j i - j^2 / 2)$ for
    the label of the point j, the label is ahead of it by $\mu (i - j)^2$.

    Rank is no limit here: the features $[x_S \mid Y]$ have N + 1 columns, for $N^2$ bigrams.

    Args:
        task: Contexts of two tokens, and labels.
        margin: $\mu$, by which the label is ahead of every other token, in nats.

    Returns:
        The network.

    Raises:
        HypothesisError: Contexts that are not bigrams, or a task of distributions.
        InputError: A margin that is not a positive number.

    Source: beyond Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> from constructions.model.attention import logits
        >>> task = enumerated_task(7, 2)
        >>> network = one_head_memory(task)
        >>> network.n_heads, network.d_head, task.n_contexts
        (1, 1, 49)
        >>> bool((logits(network, task.contexts).argmax(axis=1) == task.labels).all())
        True
    """
    if task.n_ctx != 2:
        raise HypothesisError(_CLAIM, "contexts of two tokens", f"they have {task.n_ctx}")
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")
    if not 0 < margin < np.inf:
        raise InputError("margin", f"= {margin}", "a positive number")
    size = task.d_vocab
    labels, width = task.n_answers, max(size, 2)
    shares = np.full((size, size), 0.5)  # attention to the first position, by last and first token
    before, last = task.contexts.T
    points = np.arange(labels) - (labels - 1) / 2.0
    shares[last, before] = 0.5 + (points[task.labels] - (last == 0) * min(size - 1, 1) / 4.0) / (labels + 1)
    gaps = np.log(shares) - np.log1p(-shares)
    queries = np.zeros((size, width))  # of the last token c at the second position
    queries[:, 0] = -np.diagonal(gaps)
    queries[:, 1:size] = gaps[:, :-1] - gaps[:, -1:]
    W_E, W_pos, W_Q = np.zeros((size, width)), np.zeros((2, width)), np.zeros((width, width))
    W_E[:-1, 1:size] = np.eye(size - 1)
    W_pos[1, 0] = 1.0
    W_Q[0] = queries[-1]
    W_Q[1:size] = queries[:-1] - queries[-1]
    W_V, W_O = np.zeros((width, 1)), np.zeros((1, width))
    W_V[0, 0], W_O[0, 1] = -1.0, 4.0 * (labels + 1)
    W_U = np.zeros((width, labels))
    W_U[0] = margin * ((labels + 1) * points - points * points)
    W_U[1] = margin * points / 2.0
    return dana_network(
        W_E=W_E,
        W_pos=W_pos,
        W_Q=W_Q[np.newaxis],
        W_K=np.eye(width)[np.newaxis],
        W_V=W_V[np.newaxis],
        W_O=W_O[np.newaxis],
        W_U=W_U,
    )


def one_head_parameters(task: Task) -> int:
    """Count the parameters of the one-head memory, $2 d^2 + (N + K + 4) d$ with d = N (2 for N = 1); 0 for tasks it
    refuses.

    Args:
        task: The contexts and the targets to memorize.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> one_head_parameters(enumerated_task(32, 2))
        4224
    """
    if task.n_ctx != 2 or task.target != "labels":
        return 0
    width = max(task.d_vocab, 2)
    return 2 * width**2 + (task.d_vocab + task.n_answers + 4) * width
