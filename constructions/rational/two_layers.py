"""Memorize arbitrary logits with two attention-only layers and a null token, in rationals.

Page: docs/claims/gated_heads.md
"""

from typing import Any

import numpy as np
from flint import fmpq

from constructions.errors import HypothesisError
from constructions.model.blocks import Attention
from constructions.model.construction import Construction
from constructions.model.exact_network import rounded
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.rational.interpolating_network import exact, exact_knots
from constructions.tasks.arrays import array_task
from constructions.tasks.random_facts import random_facts
from constructions.tasks.task import Task

_DRAWS = 1000


def behind_null(contexts: Int64Array, d_vocab: int) -> Int64Array:
    """Return the contexts with the null token N before them, `[T, S + 1]`.

    Args:
        contexts: `[T, S]`.
        d_vocab: N.

    Example:
        >>> behind_null(np.array([[0, 1]]), 2).tolist()
        [[2, 0, 1]]
    """
    return np.hstack([np.full((len(contexts), 1), d_vocab, dtype=np.int64), contexts])


def two_layers(contexts: Int64Array, labels: Int64Array, *, d_vocab: int, seed: int = 0) -> Model:
    r"""Return two causal rational layers of attention for which the label of each context has the largest logit.

    The coordinates of the stream are twice the value of the token, a flag of the last position, and S - s, which is 0
    at the last position and, with everything else, at the null token. Layer 1: query the flag, key S - s; so the null
    token weighs as much as the last one and the sum of the weights $2^{S - s}$ is $2^S$, and the last position holds
    $z = \sum_s 2^{S - s} e(t_s) + 2 e(t_S)$, from which the context can be read if no two have the same. Layer 2 has a
    head for each knot $z_i$ of the function through the labels: query $(b (z - z_i), 1)$, key (flag, $-M (S - s)$),
    value $z - z_i$ where the flag is. The last position sees itself with the share $\sigma(b (z - z_i))$, the null
    token, whose value is 0, with the rest, and the others with $2^{-M}$ at most.

    Args:
        contexts: Distinct contexts, `[T, S]`.
        labels: `[T]`.
        d_vocab: N.
        seed: Seed of the codes.

    Returns:
        A rational model that reads [N, t_1, .., t_S].

    Raises:
        HypothesisError: Contexts that are not distinct, or that no code of 48 bits tells apart.

    Source: Huben, Morris (2023), abstract.

    Example:
        >>> model = two_layers(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0]), d_vocab=2)
        >>> [block.n_heads for block in model.blocks]
        [1, 3]
    """
    n_ctx = contexts.shape[1]
    values, codes = _codes(contexts, d_vocab, seed)
    places, jumps, [first] = exact_knots(codes, [[fmpq(label)] for label in labels.tolist()], offset=True)
    # Errors of 1/8 each: of the gates, 2^-b times the sum of the jumps, and of what leaks through the mask.
    total = _above(sum((abs(jump) for [jump] in jumps), fmpq(0)))
    sharp, largest = (8 * total + 1).bit_length(), max(codes) + 2 ** (n_ctx + 1) * (max(values) + 1)
    mask = (8 * n_ctx * largest * (total + 1)).bit_length()
    W_E = exact([[2 * value, 0, 0] for value in values] + [[0, 0, 0]])
    W_pos = exact([[0, 0, 0]] + [[0, int(s == n_ctx - 1), n_ctx - 1 - s] for s in range(n_ctx)])
    code = Attention(
        W_Q=_one_head([[0], [1], [0]]),
        W_K=_one_head([[0], [0], [1]]),
        W_V=_one_head([[1], [0], [0]]),
        W_O=_one_head([[2 ** (n_ctx - 1), 0, 0]]),
        attends="causal",
    )
    gates = Attention(
        W_Q=np.stack([exact([[sharp, 0], [-sharp * z, 1], [0, 0]]) for z in places]),
        W_K=np.stack([exact([[0, 0], [1, 0], [0, -mask]])] * len(places)),
        W_V=np.stack([exact([[1], [-z], [0]]) for z in places]),
        W_O=np.stack([exact([[0, 0, jump]]) for [jump] in jumps]),
        attends="causal",
    )
    numbers = range(d_vocab)  # the logit 2 j y - j^2 of a label j; -1 of the null token
    at_flag = [*(2 * j * first - j * j for j in numbers), fmpq(-1)]
    W_U = exact([[0] * (d_vocab + 1), at_flag, [*(2 * j for j in numbers), 0]])
    return Model(blocks=(code, gates), W_U=W_U, W_E=W_E, W_pos=W_pos)


def random_two_layers(*, d_vocab: int, n_ctx: int, facts: int, seed: int) -> Construction[Task]:
    """Memorize random labels of random contexts after a null token, with two layers of attention.

    Args:
        d_vocab: N.
        n_ctx: S, without the null token.
        facts: T, of the $N^S$ contexts.
        seed: Of contexts, labels and codes.

    Returns:
        The weights, rounded to float64, and the labels as the task; the null token is the token N.

    Raises:
        HypothesisError: No codes are found.

    Source: Huben, Morris (2023), abstract.

    Example:
        >>> random_two_layers(d_vocab=4, n_ctx=3, facts=12, seed=0).model.d_model
        3
    """
    task = random_facts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=seed)
    model = rounded(two_layers(task.contexts, task.labels, d_vocab=d_vocab, seed=seed))
    behind = array_task(
        behind_null(task.contexts, d_vocab), next_tokens=task.labels, vocabulary=d_vocab + 1, target="labels"
    )
    n_heads = sum(block.n_heads for block in model.blocks if isinstance(block, Attention)) - 1
    summary = f"{facts} contexts of {n_ctx} tokens in two layers of attention, 1 and {n_heads} heads, d = 3"
    return Construction(behind, model, summary)


def _codes(contexts: Int64Array, d_vocab: int, seed: int) -> tuple[list[int], list[int]]:
    """Return values of the tokens, and the resulting distinct numbers z of the contexts."""
    rng = np.random.default_rng(seed)
    rows, n_ctx = contexts.tolist(), contexts.shape[1]
    for draw in range(_DRAWS):
        values = [int(x) for x in rng.integers(0, 2 ** (1 + draw * 48 // _DRAWS), d_vocab)]
        codes = [sum(values[t] << n_ctx - 1 - s for s, t in enumerate(row)) + 2 * values[row[-1]] for row in rows]
        if len(set(codes)) == len(codes):
            return values, codes
    raise HypothesisError("Two layers of attention", "distinct contexts", f"{_DRAWS} draws do not tell them apart")


def _above(x: fmpq) -> int:
    return -(-int(x.p) // int(x.q))


def _one_head(rows: list[list[int]]) -> Any:
    return exact(rows)[None]
