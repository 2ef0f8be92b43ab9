"""Judge in integers, from the contexts, which labellings no network with a given number of heads memorizes.

Page: docs/claims/heads_of_any_width.md
"""

import operator
from collections.abc import Sequence

import numpy as np

from constructions.errors import require_at_least
from constructions.numeric.arrays import Int64Array
from verify.arithmetic.exact_inputs import is_masked
from verify.ranks.linear_relations import indicator_products
from verify.verdict import Verdict


def forbids_heads(contexts: Int64Array, labels: Int64Array, multipliers: Int64Array, *, n_heads: int = 1) -> Verdict:
    r"""Judge whether multipliers prove that no weights of H heads, of any widths, memorize all of these labels.

    *Memorize*: on each context the logit of the label is larger than every other, or equal to it where ties are broken
    by a fixed order of the tokens. Let $M_H(t)$ be the products of at most $H$ indicators of the pairs $(s, t_s)$,
    $s < S$, with the constant. The multipliers $\lambda_{t,j} \ge 0$ prove it if they are not all 0, are 0 at
    $j = g(t)$, and

    $$ \sum_t \Bigl( [g(t) = i] \sum_j \lambda_{t,j} - \lambda_{t,i} \Bigr) M_H(t) = 0 $$

    for every token i, with t over the contexts that share a last token, one last token after the other.

    Rigorous because for contexts with one last token the denominators $D^h_t > 0$ of the attention are sums of
    functions of the pairs $(s, t_s)$, whatever the weights, and so are $D^h_t$ times what a head writes. So
    $\prod_h D^h_t$ times any logit is a linear function of $M_H(t)$, and
    $\sum_{t,j} \lambda_{t,j} \prod_h D^h_t (z_{g(t)}(t) - z_j(t)) = 0$, a sum of positive terms if all labels win.
    Integers are Python's, of any size.

    Args:
        contexts: Tokens, `[T, S]`.
        labels: The labels $g$, `[T]`.
        multipliers: $\lambda$, `[T, L]`, with L larger than every label.
        n_heads: $H$, at least 0.

    Returns:
        PROVED, or UNDECIDED if these multipliers prove nothing. Never REFUTED.

    Raises:
        InputError: A negative number of heads.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> labels, multipliers = np.array([0, 0, 1, 1]), np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
        >>> forbids_heads(xor, labels, multipliers)
        <Verdict.PROVED: 'PROVED'>
        >>> forbids_heads(xor, labels, multipliers, n_heads=2)
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """
    require_at_least(0, n_heads=n_heads)
    read = _read(contexts, labels, multipliers)
    if read is None:
        return Verdict.UNDECIDED
    sums: dict[tuple[int, int, tuple[tuple[int, int], ...]], int] = {}  # by last token, token i, and product
    some = False
    for context, label, row in zip(*read, strict=True):
        if row[label] != 0 or min(row) < 0:
            return Verdict.UNDECIDED
        if not any(row):
            continue
        some = True
        coefficients = {i: -multiplier for i, multiplier in enumerate(row) if multiplier}
        coefficients[label] = sum(row)
        for product in indicator_products(context, n_heads):
            for i, coefficient in coefficients.items():
                key = (context[-1], i, product)
                sums[key] = sums.get(key, 0) + coefficient
    return Verdict.PROVED if some and all(value == 0 for value in sums.values()) else Verdict.UNDECIDED


def _read(
    contexts: Int64Array, labels: Int64Array, multipliers: Int64Array
) -> tuple[Sequence[list[int]], Sequence[int], Sequence[list[int]]] | None:
    """Return the three arrays as Python integers, or `None` if they are not integers or do not fit together."""
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
