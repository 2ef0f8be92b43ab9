r"""The conditions under which contexts distributed over heads have independent features, judged with integer ranks.

Page: docs/claims/closed_forms.md
"""

from collections.abc import Iterable, Sequence

from flint import fmpz_mat

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts


def partition_holds(
    contexts: Int64Array,
    *,
    skip: Sequence[int],
    windows: Iterable[tuple[Sequence[int], Sequence[int]]],
    d_model: int,
    d_head: int,
) -> bool:
    r"""Check the conditions of Theorem S3.

    The sets are disjoint; the last tokens within each are different; $|U_0| \le d$ and $|U_h| \le \min(d_h, d)$; and
    in every window the vectors $e_{t_s} - e_{t_S} + f_s - f_S$ at the given positions are linearly independent over
    the rationals. Then almost all weights give the contexts of the sets linearly independent features.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        skip: The row numbers $U_0$.
        windows: For each head, the row numbers $U_h$ and a position $s$ for each of them, from 0 and before the last.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h$.

    Returns:
        Whether all conditions hold.

    Raises:
        InputError: Contexts that are not distinct rows of tokens, or sizes that fit no model.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> import numpy as np
        >>> bigrams = np.array([[0, 1], [1, 1], [0, 0]])
        >>> partition_holds(bigrams, skip=[0], windows=[([1], [0])], d_model=1, d_head=1)
        True
        >>> partition_holds(bigrams, skip=[2], windows=[([0, 1], [0, 0])], d_model=2, d_head=2)
        False
    """
    rows = list(map(tuple, checked_contexts(contexts, distinct=True).tolist()))
    if d_model < 1 or d_head < 1:
        raise InputError("d_model", f"= {d_model}, d_head = {d_head}", "at least 1")
    windows = list(windows)
    sets = [list(skip), *(list(members) for members, _ in windows)]
    used = [row for members in sets for row in members]
    if len(set(used)) != len(used) or not all(0 <= row < len(rows) for row in used):
        return False
    if any(len({rows[row][-1] for row in members}) != len(members) for members in sets):
        return False
    if len(sets[0]) > d_model or any(len(members) > min(d_head, d_model) for members in sets[1:]):
        return False
    return all(_independent([rows[row] for row in members], list(positions)) for members, positions in windows)


def _independent(contexts: list[tuple[int, ...]], positions: list[int]) -> bool:
    if len(positions) != len(contexts):
        return False
    if not contexts:
        return True
    n_ctx = len(contexts[0])
    if not all(0 <= s < n_ctx - 1 for s in positions):
        return False
    number = {token: i for i, token in enumerate(sorted({token for context in contexts for token in context}))}
    vectors = []
    for context, s in zip(contexts, positions, strict=True):
        vector = [0] * (len(number) + n_ctx)
        vector[number[context[s]]] += 1
        vector[number[context[-1]]] -= 1
        vector[len(number) + s] += 1
        vector[-1] -= 1
        vectors.append(vector)
    return fmpz_mat(vectors).rank() == len(vectors)
