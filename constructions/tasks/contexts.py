"""Check contexts of tokens given by a caller.

Page: docs/task.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array


def checked_contexts(
    contexts: Int64Array,
    *,
    d_vocab: int | None = None,
    n_ctx: int | None = None,
    shorter: bool = False,
    empty: bool = False,
    distinct: bool = False,
) -> Int64Array:
    """Return the contexts as 64-bit integers.

    Args:
        contexts: Tokens, `[T, S]`.
        d_vocab: The tokens are below it; by default below 2^63.
        n_ctx: Tokens in each; by default any number, at least one.
        shorter: Contexts of fewer than `n_ctx` tokens are taken too.
        empty: No contexts at all are taken too.
        distinct: Equal rows are refused.

    Returns:
        The same tokens, `[T, S]`, int64.

    Raises:
        InputError: They are anything else.

    Example:
        >>> checked_contexts([[0, 1], [2, 0]], d_vocab=2)
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: contexts holds tokens from 0 to 2, expected 0 .. 1
    """
    rows = contexts if isinstance(contexts, list | tuple) else ()
    if any(map(np.ma.isMaskedArray, (contexts, *rows))):
        raise InputError("contexts", "is a masked array", "integers; fill the masked entries first")
    array = np.asarray(contexts)
    fits = array.ndim == 2 and array.shape[1] > 0 and array.dtype.kind in "iu" and (empty or len(array) > 0)
    if not fits or (n_ctx is not None and not (array.shape[1] == n_ctx or (shorter and array.shape[1] < n_ctx))):
        length = "S >= 1" if n_ctx is None else f"1 <= S <= {n_ctx}" if shorter else f"S = {n_ctx}"
        least = "" if empty else "T >= 1 and "
        raise InputError(
            "contexts", f"is {array.dtype} of shape {array.shape}", f"integers [T, S] with {least}{length}"
        )
    if array.size and (array.min() < 0 or int(array.max()) >= (2**63 if d_vocab is None else d_vocab)):
        expected = "at least 0 and below 2^63" if d_vocab is None else f"0 .. {d_vocab - 1}"
        raise InputError("contexts", f"holds tokens from {array.min()} to {array.max()}", expected)
    if distinct and len(np.unique(array, axis=0)) != len(array):
        raise InputError("contexts", "has equal rows", "pairwise distinct contexts")
    return array.astype(np.int64, copy=False)
