r"""Labellings that no network with one head memorizes, judged in integers from the contexts alone.

Page: docs/claims/corollary_1.md
"""

import operator
from collections.abc import Sequence

import numpy as np

from constructions.arrays import Int64Array
from verify.arithmetic.given_numbers import is_masked
from verify.verdict import Verdict


def forbids_one_head(contexts: Int64Array, labels: Int64Array, multipliers: Int64Array) -> Verdict:
    r"""Judge whether multipliers prove that no weights of one head, of any widths, memorize all of these labels.

    *Memorize*: on each context the logit of the label is larger than every other, or equal to it where ties are broken
    by a fixed order of the tokens. Let $1_t$ be the indicator of the pairs $(s, t_s)$. The multipliers
    $\lambda_{t,j} \ge 0$ prove it if they are not all 0, are 0 at $j = g(t)$, and

    $$ \sum_t \Bigl( [g(t) = i] \sum_j \lambda_{t,j} - \lambda_{t,i} \Bigr) 1_t = 0 $$

    for every token i, with t over the contexts that share a last token, one last token after the other.

    Rigorous because the denominator $D_t$ of the attention of one head, and $D_t$ times any logit $z_i(t)$, are linear
    functions of $1_t$ for contexts with one last token, whatever the weights, and $D_t > 0$. So
    $\sum_{t,j} \lambda_{t,j} D_t (z_{g(t)}(t) - z_j(t)) = 0$, a sum of positive terms if all labels win. Integers are
    Python's, of any size.

    Args:
        contexts: Tokens, `[T, S]`.
        labels: The labels $g$, `[T]`.
        multipliers: $\lambda$, `[T, L]`, with L larger than every label.

    Returns:
        PROVED, or UNDECIDED if these multipliers prove nothing. Never REFUTED.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> labels, multipliers = np.array([0, 0, 1, 1]), np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
        >>> forbids_one_head(xor, labels, multipliers)
        <Verdict.PROVED: 'PROVED'>
        >>> forbids_one_head(xor, np.array([0, 1, 1, 1]), multipliers)
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """
    read = _read(contexts, labels, multipliers)
    if read is None:
        return Verdict.UNDECIDED
    sums: dict[tuple[int, int, int, int], int] = {}  # by last token, token i, position and token there
    some = False
    for context, label, row in zip(*read, strict=True):
        if row[label] != 0 or min(row) < 0:
            return Verdict.UNDECIDED
        some = some or any(row)
        for i, multiplier in enumerate(row):
            coefficient = sum(row) if i == label else -multiplier
            for s, n in enumerate(context):
                key = (context[-1], i, s, n)
                sums[key] = sums.get(key, 0) + coefficient
    return Verdict.PROVED if some and all(value == 0 for value in sums.values()) else Verdict.UNDECIDED


def _read(
    contexts: Int64Array, labels: Int64Array, multipliers: Int64Array
) -> tuple[Sequence[list[int]], Sequence[int], Sequence[list[int]]] | None:
    """The three arrays as Python integers, or `None` if they are not integers or do not fit together."""
    if is_masked([contexts, labels, multipliers]):
        return None
    arrays = [np.asarray(array) for array in (contexts, labels, multipliers)]
    if [array.ndim for array in arrays] != [2, 1, 2] or len({len(array) for array in arrays}) != 1:
        return None
    try:
        tokens, wanted, weights = (
            [[operator.index(entry) for entry in row] for row in array.tolist()]
            for array in (arrays[0], arrays[1][:, np.newaxis], arrays[2])
        )
    except TypeError:
        return None
    chosen = [row[0] for row in wanted]
    if not tokens or not tokens[0] or not all(0 <= label < arrays[2].shape[1] for label in chosen):
        return None
    return tokens, chosen, weights
