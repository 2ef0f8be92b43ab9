"""Recite texts: how many tokens determine the next one, and the recited parts.

Page: docs/recitation.md
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.task import Task
from constructions.tasks.text import Unit

_BYTE = re.compile(r"\\x([0-9a-f]{2})")


def least_context(tokens: Int64Array) -> int:
    """Return the least S for which equal windows of S tokens always have the same next token.

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
    """Return two places that follow the same `length` tokens but hold different ones.

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
    """Return where to cut a text so that in each part, with an end mark, windows of one length determine the next
    token.

    In a part no window stands twice, and so it is as long as it can be: behind a window that does, all would go on as
    before for ever, but the last one has the end behind it.

    Args:
        tokens: The text as numbers of tokens, `[L]`.
        n_ctx: Length of the windows, at least 1.

    Returns:
        Where the parts end, increasing, the last at L.

    Example:
        >>> parts_within(np.array([0, 0, 0, 0, 0, 1]), 2)
        [2, 4, 6]
    """
    tokens = np.asarray(tokens)
    if len(tokens) <= n_ctx:
        return [len(tokens)] if len(tokens) else []
    followed = np.append(tokens, tokens.max() + 1)
    ranks = [np.unique(followed, return_inverse=True)[1].reshape(-1).astype(np.int64)]
    while 2 << (len(ranks) - 1) <= n_ctx:
        ranks.append(_ranks(ranks[-1], 1 << (len(ranks) - 1)))
    ends, start, seen = list[int](), 0, dict[int, int]()  # where a window stood last
    for place, window in enumerate(_windows(ranks, followed, n_ctx).tolist()):
        if place >= start and seen.get(window, -1) >= start:
            start = place - 1 + n_ctx
            ends.append(start)
        seen[window] = place
    # The window that holds the end mark stands once, so the last cut is before the end of the text.
    return [*ends, len(tokens)]


def _ranks(half: Int64Array, n_ctx: int) -> Int64Array:
    """Return the ranks of the windows of twice the length."""
    return np.unique(half[:-n_ctx] * (half.max() + 1) + half[n_ctx:], return_inverse=True)[1].reshape(-1)


def _determined(ranks: list[Int64Array], tokens: Int64Array, n_ctx: int) -> bool:
    """Tell whether equal windows of this length have equal next tokens."""
    windows = _windows(ranks, tokens, n_ctx)
    pairs = np.unique(windows * (tokens.max() + 1) + tokens[n_ctx:])
    return len(pairs) == windows.max() + 1


def _windows(ranks: list[Int64Array], tokens: Int64Array, n_ctx: int) -> Int64Array:
    """Return a number per window of this length that has a next token; equal windows get equal numbers."""
    power = min(n_ctx.bit_length(), len(ranks)) - 1
    last_ranks, count = ranks[power], len(tokens) - n_ctx
    windows = (
        last_ranks[:count] * (last_ranks.max() + 1) + last_ranks[n_ctx - (1 << power) : n_ctx - (1 << power) + count]
    )
    return np.unique(windows, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True)
class RecitedText:
    """One text that is recited.

    Args:
        title: Its title; empty where it is one text without, or one that was cut in parts.
        data: Its bytes: UTF-8, or what they are.
        characters: How many there are; none where its tokens are bytes.
    """

    title: str
    data: bytes
    characters: int | None


def recited_texts(task: Task) -> tuple[RecitedText, ...]:
    r"""Return the texts of a task of whole texts, with the parts of one text joined.

    Args:
        task: Its windows are the facts.

    Raises:
        InputError: The task is of no whole texts.

    Example:
        >>> from constructions.tasks.task import windows_task
        >>> from constructions.tasks.windows import Windows
        >>> windows = Windows(np.array([0, 1, 2]), np.array([2]), 1, 2)
        >>> recited_texts(windows_task(windows, vocabulary=("a", "ö", "<|end|>")))
        (RecitedText(title='', data=b'a\xc3\xb6', characters=2),)
    """
    windows = task.windows
    if windows is None:
        raise InputError("task", "is of no whole texts", "windows of texts")
    of_bytes, whole = unit_of(task) == "byte", in_parts(task)
    recited: list[RecitedText] = []
    names = ("",) if whole else titles(task) or ("",)
    pieces = [windows.text[windows.of_text(number)][:-1] for number in range(len(windows.ends))]
    groups = [pieces] if whole else [[piece] for piece in pieces]
    for title, group in zip(names, groups, strict=True):
        tokens = [task.vocabulary[token] for piece in group for token in piece.tolist()]
        recited.append(RecitedText(title, encoded(tokens), None if of_bytes else sum(map(len, tokens))))
    return tuple(recited)


def is_byte(name: str) -> bool:
    r"""Tell whether a token is a single byte.

    Example:
        >>> is_byte("\\xc3"), is_byte("a")
        (True, False)
    """
    return _BYTE.fullmatch(name) is not None


def encoded(names: Iterable[str]) -> bytes:
    r"""Return the bytes that tokens make up.

    Example:
        >>> encoded(("a", "\\xc3", "\\xa4")).decode()
        'aä'
    """
    return b"".join(bytes.fromhex(name[2:]) if is_byte(name) else name.encode() for name in names)


def titles(task: Task) -> tuple[str, ...]:
    """Return the titles of the texts of a task; None for one text without a title."""
    if task.windows is None or not task.windows.titled:
        return ()
    return tuple(task.vocabulary[title][1:-1] for title in task.windows.titles.tolist())


def unit_of(task: Task) -> Unit:
    """Return the unit of the tokens of whole texts, as their names tell."""
    assert task.windows is not None
    names = task.vocabulary[: task.windows.end]
    if any(is_byte(name) for name in names):
        return "byte"
    return "char" if all(len(name) == 1 for name in names) else "word"


def in_parts(task: Task) -> bool:
    """Tell whether the texts of a task are parts of one text, which was cut because it repeats too much."""
    known = titles(task)
    return bool(known) and known == tuple(f"{i + 1}/{len(known)}" for i in range(len(known)))
