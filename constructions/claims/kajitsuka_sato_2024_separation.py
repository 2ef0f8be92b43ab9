r"""Kajitsuka and Sato (2024): one head of rank one tells sequences apart, by a separation that is printed.

Page: docs/claims/contextual_mapping.md
"""

from itertools import combinations

import numpy as np

from constructions.arrays import Int64Array
from constructions.claims.claim import Claim
from constructions.errors import InputError
from constructions.models.exact_network import ExactFrontEnd, as_rationals


def rank_one_head(*, tokens: int, length: int) -> tuple[ExactFrontEnd, Int64Array]:
    r"""A rational head of width one on scalar tokens $1, \dots, V$, and all sequences that it has to tell apart.

    All weights are 1: position s has the attention $2^{x_S x_s}$ in proportion. Its output depends on the last token
    and on the set of the others, so there is one sequence for each of them.

    Args:
        tokens: V.
        length: n, at most V: no token is repeated.

    Returns:
        The head, and the sequences, `[V C(V - 1, n - 1), n]`.

    Raises:
        InputError: Sizes out of range.

    Source: Kajitsuka, Sato (2024), abstract.

    Example:
        >>> rank_one_head(tokens=3, length=2)[1].tolist()
        [[1, 0], [2, 0], [0, 1], [2, 1], [0, 2], [1, 2]]
    """
    if not 1 <= length <= tokens:
        raise InputError(f"length = {length}, tokens = {tokens}, expected 1 <= n <= V")
    found = [
        (*others, last)
        for last in range(tokens)
        for others in combinations([token for token in range(tokens) if token != last], length - 1)
    ]
    one = (as_rationals([[1]]),)
    W_E, W_pos = as_rationals([[token + 1] for token in range(tokens)]), as_rationals([[0]] * length)
    return ExactFrontEnd(W_E, W_pos, one, one, one), np.array(found, dtype=np.int64)


CLAIM = Claim(
    id="kajitsuka-sato-2024.separation",
    title="One head of rank one tells sequences apart",
    source="Kajitsuka, Sato (2024), contextual mapping",
    printed=(
        "For sequences of n tokens without repetition, out of V vectors in R^d with norms from r to R and distances of "
        "e at least, one softmax head with weights of rank one is a contextual mapping with the separation [[printed: "
        "2 (log n)^2 e^2 r exp(-(V + 1)^4 (2 log n + 3) pi d R^2 / (4 e r)) / (R^2 (V + 1)^4 (2 log n + 3) pi d)]]."
    ),
    judgement="open",
    truth=(
        "Not proved here. Of the sizes that are looked at all sequences have distinct outputs, by far more than the "
        "separation: that is below 10^(-x), x = [[digits: 3 * 10^9]], for V = 50, n = 8, d = 2, R = 1, e = r = 1/10, "
        "and tells nothing about numbers that are stored. A head that looks at positions alone has integers as "
        "outputs: [[integers: 1]] is the least distance of two, for any distinct contexts, repeated tokens or not."
    ),
    reconstructed="the formula of the separation, from memory: the paper was at hand in its abstract only",
    page="docs/claims/contextual_mapping.md",
)
