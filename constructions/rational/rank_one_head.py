"""Map distinct sequences to distinct outputs with a head of rank one.

Page: docs/claims/contextual_mapping.md
"""

from itertools import combinations

import numpy as np

from constructions.errors import InputError
from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.numeric.arrays import Int64Array


def rank_one_head(*, d_vocab: int, n_ctx: int) -> tuple[ExactFrontEnd, Int64Array]:
    r"""Return a rational head of width one on scalar tokens $1, \dots, V$, and all sequences that it must distinguish.

    All weights are 1: position s has the attention $2^{x_S x_s}$ in proportion. Its output depends on the last token
    and on the set of the others, so there is one sequence for each of them.

    Args:
        d_vocab: V.
        n_ctx: n, at most V: no token is repeated.

    Returns:
        The head, and the sequences, `[V C(V - 1, n - 1), n]`.

    Raises:
        InputError: Sizes out of range.

    Source: Kajitsuka, Sato (2024), abstract.

    Example:
        >>> rank_one_head(d_vocab=3, n_ctx=2)[1].tolist()
        [[1, 0], [2, 0], [0, 1], [2, 1], [0, 2], [1, 2]]
    """
    if not 1 <= n_ctx <= d_vocab:
        raise InputError("n_ctx", f"= {n_ctx}, d_vocab = {d_vocab}", "1 <= n <= V")
    sequences = [
        (*earlier, last)
        for last in range(d_vocab)
        for earlier in combinations([token for token in range(d_vocab) if token != last], n_ctx - 1)
    ]
    one = (as_rationals([[1]]),)
    W_E, W_pos = as_rationals([[token + 1] for token in range(d_vocab)]), as_rationals([[0]] * n_ctx)
    return ExactFrontEnd(W_E, W_pos, one, one, one), np.array(sequences, dtype=np.int64)
