"""How many tokens of a text must be seen for the next one to be determined, so that the text can be said by heart."""

import numpy as np

from constructions.arrays import Int64Array
from constructions.errors import InputError


def least_context(tokens: Int64Array) -> int:
    r"""The least S for which equal windows of S tokens of a text are always followed by the same token.

    It is one more than the length of the longest repeat that goes on in two ways. Being determined is monotone in S:
    two equal windows of S + 1 tokens end in two of S. So a bisection finds the least S; whether windows are equal is
    decided exactly, by their ranks among the windows of the largest power of two below S.

    Args:
        tokens: The text as numbers of tokens, `[L]`, at least two.

    Returns:
        S, from 1 to L - 1.

    Raises:
        InputError: Fewer than two tokens.

    Example:
        >>> least_context(np.array([0, 1, 0, 1, 2]))
        3
    """
    tokens = np.asarray(tokens)
    if len(tokens) < 2:
        raise InputError("tokens", f"has {len(tokens)} entries", "at least two")
    ranks = [np.unique(tokens, return_inverse=True)[1].reshape(-1).astype(np.int64)]
    low, high = 0, len(tokens) - 1  # windows of `high` tokens are determined, those of `low` are not
    while not _determined(ranks, tokens, 1 << (len(ranks) - 1)):
        low = 1 << (len(ranks) - 1)
        if 2 * low >= len(tokens):
            break
        ranks.append(_ranks(ranks[-1], low))
    else:
        high = min(high, 1 << (len(ranks) - 1))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _determined(ranks, tokens, middle) else (middle, high)
    return high


def forking_places(tokens: Int64Array, n_ctx: int) -> tuple[int, int]:
    """Two places with the same so many tokens before them and different ones at them.

    Args:
        tokens: The text as numbers of tokens, `[L]`.
        n_ctx: From 1 to less than `least_context`: then there are such places.

    Returns:
        The places, increasing.

    Example:
        >>> forking_places(np.array([0, 1, 0, 1, 2]), 2)
        (2, 4)
    """
    ranks = [np.unique(tokens, return_inverse=True)[1].reshape(-1).astype(np.int64)]
    while 2 << (len(ranks) - 1) <= n_ctx:
        ranks.append(_ranks(ranks[-1], 1 << (len(ranks) - 1)))
    windows, following = _windows(ranks, tokens, n_ctx), tokens[n_ctx:]
    order = np.lexsort((following, windows))
    before, after = order[:-1], order[1:]
    forks = np.flatnonzero((windows[before] == windows[after]) & (following[before] != following[after]))
    pairs = np.sort(np.stack([before[forks], after[forks]]), axis=0)
    first, second = pairs[:, np.lexsort(pairs)[0]] + n_ctx
    return int(first), int(second)


def parts_within(tokens: Int64Array, n_ctx: int) -> list[int]:
    """Where to cut a text so that in each part, with an end behind it, windows of one length tell what follows.

    Each part is as long as a bisection finds. Any end that it finds will do: each is tried.

    Args:
        tokens: The text as numbers of tokens, `[L]`.
        n_ctx: Of the windows, at least 1.

    Returns:
        Where the parts end, increasing, the last at L.

    Example:
        >>> parts_within(np.array([0, 0, 0, 0, 0, 1]), 2)
        [2, 4, 6]
    """
    ends, end = list[int](), int(tokens.max(initial=0)) + 1

    def within(stop: int) -> bool:
        return least_context(np.append(tokens[start:stop], end)) <= n_ctx

    while (start := ends[-1] if ends else 0) < len(tokens):
        if within(len(tokens)):
            low = len(tokens)
        else:
            low, high = start + 1, min(start + 2, len(tokens))
            while high < len(tokens) and within(high):
                low, high = high, min(start + 2 * (high - start), len(tokens))
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if within(middle) else (low, middle)
        ends.append(low)
    return ends


def _ranks(half: Int64Array, n_ctx: int) -> Int64Array:
    """Ranks of the windows of twice the length."""
    return np.unique(half[:-n_ctx] * (half.max() + 1) + half[n_ctx:], return_inverse=True)[1].reshape(-1)


def _determined(ranks: list[Int64Array], tokens: Int64Array, n_ctx: int) -> bool:
    """Whether equal windows of this length are followed by equal tokens."""
    windows = _windows(ranks, tokens, n_ctx)
    pairs = np.unique(windows * (tokens.max() + 1) + tokens[n_ctx:])
    return len(pairs) == windows.max() + 1


def _windows(ranks: list[Int64Array], tokens: Int64Array, n_ctx: int) -> Int64Array:
    """A number for each window of this length with a token behind it, equal for equal windows."""
    power = min(n_ctx.bit_length(), len(ranks)) - 1
    own, count = ranks[power], len(tokens) - n_ctx
    windows = own[:count] * (own.max() + 1) + own[n_ctx - (1 << power) : n_ctx - (1 << power) + count]
    return np.unique(windows, return_inverse=True)[1].reshape(-1)
