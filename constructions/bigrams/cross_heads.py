r"""Heads that share their queries and keys between two tiles each: one fact per parameter, in the limit of many tokens.

Page: docs/claims/bigram_heads.md
"""

import math
from collections.abc import Iterator

import numpy as np

from constructions.arrays import Float64Array
from constructions.bigrams.token_blocks import TokenBlocks
from constructions.counted import counted
from constructions.errors import InputError
from constructions.models.construction import Construction
from constructions.models.precision import Precision, rounded_model
from constructions.tasks.task import Task

_CLAIM = "The memory of cross heads"


def cross_heads_memory(
    task: Task, *, size: int | None = None, group: int | None = None, dtype: Precision = "float64"
) -> Construction[Task]:
    r"""Hold any labels of any bigrams in $(1 + O(N^{-1/3})) N^2$ parameters, in closed form.

    Tokens are in an even number B of blocks of m places, the places in groups of k. A cross head belongs to a block j
    of the last token, two opposite blocks i, i + B/2 of the first, and a group C. Its queries are k gaps for each place
    outside of C, its keys k others. Where the last token is in C and the first is not, the query is one-hot, and the
    score is an entry of the key: a gap of the tile (j, i). Where the first is in C and the last is not, the key is
    one-hot, and the score is an entry of the query: a gap of the tile (j, i + B/2). Gates close the head elsewhere.
    What is left are bigrams of two places of one group: $B^2$ heads hold them, as in `block_heads_memory`.

    Args:
        task: Contexts of two tokens, and labels.
        size: m; by default m and k of fewest parameters.
        group: k, a divisor of m below m.
        dtype: The precision that every weight is rounded to.

    Returns:
        The network of $B^2 (\frac{m}{2 k} + 1)$ heads, `d_qk` = k + 2, `d_head` = 1 and d = m + 3, with the margin
        1/2 - 1/40 at least in exact arithmetic on weights that are not rounded.

    Raises:
        HypothesisError: Contexts that are no bigrams, or a task of laws.
        InputError: Sizes that do not divide, a precision that is none, or more than 2^12 labels.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> cross_heads_memory(enumerated_task(64, 2)).summary
        '4096 bigrams by 12 heads for blocks of 32 tokens in groups of 8, 13790 parameters'
    """
    if (size is None) != (group is None):
        raise InputError("size", f"= {size!r} and group = {group!r}", "both or none")
    if size is None or group is None:
        size, group = _best_sizes(task)
    if not 1 <= group < size or size % group:
        raise InputError("group", f"= {group}", f"a divisor of size = {size} below it")
    blocks = TokenBlocks.of(task, size, claim=_CLAIM, even=True)
    n_heads = blocks.count**2 * (size // group + 2) // 2
    maps = [*_cross(blocks, group, n_heads), *_diagonal(blocks, group, n_heads)]
    model = rounded_model(blocks.model(*(np.array(part) for part in zip(*maps, strict=True))), dtype)
    summary = (
        f"{counted(task.n_contexts, 'bigram')} by {counted(n_heads, 'head')} for blocks of "
        f"{counted(size, 'token')} in groups of {group}, {model.parameters} parameters"
    )
    return Construction(task, model, summary)


def _cross(blocks: TokenBlocks, group: int, n_heads: int) -> Iterator[tuple[Float64Array, Float64Array]]:
    """W_Q and W_K of the heads of two tiles."""
    m, count, last, k = blocks.size, blocks.count, blocks.size + 2, group
    g, closed, apart = blocks.largest, blocks.closed(n_heads), blocks.apart
    scale = 2.0 ** round(math.log2(math.sqrt(math.sqrt(k) * g)))
    most = max(scale**2, k * g**2 / scale**2)  # of scores where neither factor is one-hot, or both are
    one_block = (closed + g) / apart
    one_arm = (closed + most) / 2.0
    one_last = (closed + most + 2.0 * one_block) / apart
    for j in range(count):
        for i in range(count // 2):
            cosine = float(blocks.circle[j] @ blocks.circle[i])
            for start in range(0, m, k):
                chosen = slice(start, start + k)
                queries = blocks.gaps[j, :, i + count // 2, chosen] / scale
                keys = blocks.gaps[j, chosen, i].T / scale
                queries[chosen] = keys[chosen] = scale * np.eye(k)
                inside = -np.ones(m)
                inside[chosen] = 1.0
                W_Q, W_K = np.zeros((m + 3, k + 2)), np.zeros((m + 3, k + 2))
                W_Q[:m, :k], W_K[:m, :k] = queries, keys
                W_Q[:m, k], W_K[:m, k], W_K[m:last, k] = inside, -one_arm * inside, one_block * blocks.circle[i]
                own = (queries * keys).sum(axis=1) + inside * one_block * cosine - one_arm
                W_Q[:m, k + 1] = own - one_block - one_arm
                W_Q[m:last, k + 1], W_Q[last, k + 1] = one_last * blocks.circle[j], -one_last
                W_K[:m, k + 1], W_K[last, k + 1] = 1.0, -1.0  # 1 at the first position, 0 at the second
                yield W_Q, W_K


def _diagonal(blocks: TokenBlocks, group: int, n_heads: int) -> Iterator[tuple[Float64Array, Float64Array]]:
    """W_Q and W_K of the heads for two places of one group."""
    m, count, last, k = blocks.size, blocks.count, blocks.size + 2, group
    margin = blocks.closed(n_heads) + blocks.largest
    one_block = margin / blocks.apart
    places = np.arange(m)
    groups = places // k - (m // k - 1) / 2.0
    for j in range(count):
        for i in range(count):
            rows = np.stack([blocks.gaps[j, place, i, place // k * k :][:k] for place in range(m)])
            W_Q, W_K = np.zeros((m + 3, k + 2)), np.zeros((m + 3, k + 2))
            own = rows[places, places % k] - rows.mean(axis=1)
            W_Q[:m, :k] = rows + own[:, None]
            W_Q[m:last, :k] = one_block * (blocks.circle[i] + blocks.circle[j])[:, None]
            W_Q[last, :k], W_Q[last, k] = -2.0 * one_block, 1.0
            W_Q[:m, k + 1] = groups
            W_K[places, places % k] = 1.0
            W_K[last, :k] = -1.0 / k
            W_K[:m, k], W_K[m:last, k] = -margin * groups**2, one_block * blocks.circle[i]
            W_K[:m, k + 1] = 2.0 * margin * groups
            yield W_Q, W_K


def _best_sizes(task: Task) -> tuple[int, int]:
    """The sizes of blocks and groups of fewest parameters."""
    d_vocab, vectors = task.d_vocab, task.d_vocab + task.n_answers

    def parameters(sizes: tuple[int, int]) -> int:
        m, k = sizes
        count = -(-d_vocab // m)
        count += count % 2
        return (m + 3) * (2 + vectors + count**2 * (m // k + 2) * (k + 3))

    choices = [(m, k) for m in range(2, max(3, d_vocab + 1)) for k in range(1, m) if m % k == 0]
    return min(choices, key=parameters)
