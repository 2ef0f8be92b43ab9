r"""A head for each pair of blocks of tokens: any labels of any bigrams in closed form.

Page: docs/claims/bigram_heads.md
"""

import numpy as np

from constructions.bigrams.token_blocks import TokenBlocks
from constructions.counted import counted
from constructions.models.construction import Construction
from constructions.models.precision import Precision, rounded_model
from constructions.tasks.task import Task

_CLAIM = "The memory of block heads"


def block_heads_memory(task: Task, *, size: int | None = None, dtype: Precision = "float64") -> Construction[Task]:
    r"""Hold any labels of any bigrams with $B^2$ heads, `d_head` = 1, `d_qk` = m + 1 and d = m + 3.

    Tokens are in B blocks of m. The head (j, i) is open where the last token is in block j and the first in
    block i, and gives the first token the attention that names the label; elsewhere next to nothing.

    Args:
        task: Contexts of two tokens, and labels.
        size: m; by default the one of fewest parameters.
        dtype: The precision that every weight is rounded to.

    Returns:
        The network, with the margin 1/2 - 1/40 at least in exact arithmetic on weights that are not rounded.

    Raises:
        HypothesisError: Contexts that are no bigrams, or a task of laws.
        InputError: A size below 1, a precision that is none, or more than 2^12 labels.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> block_heads_memory(enumerated_task(50, 2)).summary
        '2500 bigrams by 9 heads for blocks of 17 tokens, 8880 parameters'
    """
    blocks = TokenBlocks.of(task, size if size is not None else _best_size(task), claim=_CLAIM)
    m, count, last = blocks.size, blocks.count, blocks.size + 2
    n_heads = count**2
    closed = blocks.closed(n_heads)
    gate = (closed + blocks.largest) / blocks.apart if count > 1 else 0.0
    W_Q, W_K = np.zeros((n_heads, m + 3, m + 1)), np.zeros((n_heads, m + 3, m + 1))
    for head, (j, i) in enumerate(np.ndindex(count, count)):
        rows = blocks.gaps[j, :, i]
        own = np.diagonal(rows) - rows.mean(axis=1)  # what the second token would add to the gap
        W_Q[head, :m, :m] = rows + own[:, None]
        W_Q[head, m:last, :m] = gate * (blocks.circle[i] + blocks.circle[j])[:, None]
        W_Q[head, last, :m], W_Q[head, last, m] = -2.0 * gate, 1.0
        W_K[head, :m, :m] = np.eye(m)
        W_K[head, last, :m] = -1.0 / m
        W_K[head, m:last, m] = gate * blocks.circle[i]
    model = rounded_model(blocks.model(W_Q, W_K), dtype)
    summary = f"{counted(task.n_contexts, 'bigram')} by {counted(n_heads, 'head')} for blocks of {counted(m, 'token')}"
    return Construction(task, model, f"{summary}, {model.parameters} parameters")


def _best_size(task: Task) -> int:
    """The size of fewest parameters."""
    d_vocab, vectors = task.d_vocab, task.d_vocab + task.n_answers
    return min(range(1, d_vocab + 1), key=lambda m: (m + 3) * (2 + vectors + 2 * (-(-d_vocab // m)) ** 2 * (m + 2)))
