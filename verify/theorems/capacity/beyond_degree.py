r"""Labels that need more heads than their threshold degree: three cyclic orders, and the rank of a matrix of signs.

Page: docs/claims/threshold_degree.md
"""

from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from verify.verdict import Verdict

_CYCLE = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


def forbids_one_head_by_orders(contexts: Int64Array, labels: Int64Array) -> Verdict:
    r"""Judge whether three cyclic orders of the tokens prove that no head of any width memorizes all labels.

    Two contexts with the labels 1 and 0 that differ at one position s only, in the tokens a and b, say
    $\varphi_s(a) > \varphi_s(b)$ for the sum of functions of positions that one head makes of its logits. The orders
    $0 > 1 > 2$, $1 > 2 > 0$ and $2 > 0 > 1$ (or all of them reversed) at three positions before the last contradict
    each other: Theorem TD2. It is about vectors $x = W_E + W_{pos}$.

    Args:
        contexts: Tokens 0, 1, 2 with one last token, `[T, S]`.
        labels: 0 or 1, `[T]`.

    Returns:
        PROVED or UNDECIDED.

    Example:
        >>> forbids_one_head_by_orders(np.array([[0, 0], [1, 0]]), np.array([1, 0]))
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """
    labelled = list(zip(np.asarray(contexts).tolist(), np.asarray(labels).tolist(), strict=True))
    if len({context[-1] for context, _ in labelled}) != 1 or {label for _, label in labelled} - {0, 1}:
        return Verdict.UNDECIDED
    larger: set[tuple[int, int, int]] = set()  # the position, the token, and one that is below it there
    for one, first in labelled:
        for other, second in labelled:
            apart = [s for s, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            if first > second and len(apart) == 1:
                larger.add((apart[0], one[apart[0]], other[apart[0]]))
    places = {s for s, _, _ in larger}
    for orders in (_CYCLE, tuple(order[::-1] for order in _CYCLE)):
        for chosen in permutations(sorted(places), 3):
            if all((s, a, b) in larger and (s, b, c) in larger for s, (a, b, c) in zip(chosen, orders, strict=True)):
                return Verdict.PROVED
    return Verdict.UNDECIDED


def majority_heads(size: int) -> int:
    r"""Return how many heads of any widths the majority of m exclusive ors needs, by the rank of a matrix with its
    signs.

    Forster: the rank is at least $2^m$ divided by the norm of the matrix of signs, $2 \binom{m-1}{(m-1)/2}$. For labels
    that H heads hold it is $2 (2^H - 1)$ at most.

    Args:
        size: m, odd and positive.

    Returns:
        The least H that is left.

    Raises:
        InputError: An even number, or none.

    Example:
        >>> [majority_heads(size) for size in (1, 3, 23, 25)]
        [1, 1, 2, 3]
    """
    if size < 1 or size % 2 == 0:
        raise InputError("size", f"= {size}", "an odd number, at least 1")
    rank = Fraction(2**size, 2 * comb(size - 1, (size - 1) // 2))
    n_heads = 1
    while 2 * (2**n_heads - 1) < rank:
        n_heads += 1
    return n_heads
