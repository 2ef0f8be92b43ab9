"""Take the windows of whole texts with their next tokens: from a title, or the end of the previous text, to the end.

Page: docs/recitation.md
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.numeric.frozen_arrays import frozen_copy

END = "<|end|>"
"""The token behind a text; in front of a text without a title it stands as often as is needed."""

LONGEST = 1182
"""Tokens of a window at most that heads find by position: 12 S^2 <= 2^24, so that their scores are exact."""


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of S tokens before each token of some texts, stored in one array.

    The window before a token holds the S tokens in front of it. Where a text has a title, the first of them is the
    title, whatever stands there; what is missing at its beginning is filled up with its title, or with the end.

    Args:
        text: All tokens, each text with the end after it, `[L]`.
        titles: The token of the title of each text; the end if there is one text and it has none.
        n_ctx: S.
        end: The number of the end.

    Raises:
        InputError: Texts that do not end, other numbers of titles, or a length below 1.

    Example:
        >>> windows = Windows(np.array([0, 1, 0, 2, 3]), np.array([3]), 2, 3)
        >>> windows.contexts.tolist()
        [[3, 3], [3, 0], [0, 1], [1, 0], [0, 2]]
    """

    text: Int64Array
    titles: Int64Array
    n_ctx: int
    end: int

    def __post_init__(self) -> None:
        for name in ("text", "titles"):
            array = np.asarray(getattr(self, name))
            if array.ndim != 1 or array.dtype != np.int64 or not len(array):
                raise InputError(name, f"is {array.dtype} of shape {array.shape}", "64-bit integers, at least one")
            object.__setattr__(self, name, frozen_copy(array))
        if self.text[-1] != self.end or len(self.ends) != len(self.titles):
            raise InputError("titles", f"are {len(self.titles)}, of {len(self.ends)} texts that end", "one of each")
        if len(set(self.titles.tolist())) < len(self.titles) or np.isin(self.titles, self.text[:-1]).any():
            raise InputError("titles", "occur twice, or in a text", "tokens of their own")
        if self.n_ctx < 1 + self.titled:
            raise InputError("n_ctx", f"= {self.n_ctx}", f"at least {1 + self.titled}")

    @cached_property
    def ends(self) -> Int64Array:
        """End of each text, `[D]`."""
        return np.flatnonzero(self.text == self.end)

    @property
    def titled(self) -> bool:
        """Whether the texts have titles."""
        return len(self.titles) > 1 or self.titles[0] != self.end

    def of_text(self, number: int) -> slice:
        """Return the slice of a text in `text`, including its end mark."""
        return slice(int(self.ends[number - 1]) + 1 if number else 0, int(self.ends[number]) + 1)

    @cached_property
    def _all(self) -> Int64Array:
        """Windows before every token, `[L, S]`; those of a text without a title share its memory."""
        if not self.titled:
            return _sliding(self.text, self.n_ctx, self.end)
        windows = np.empty((len(self.text), self.n_ctx), dtype=np.int64)
        for number, title in enumerate(self.titles.tolist()):
            place = self.of_text(number)
            windows[place, 0], windows[place, 1:] = title, _sliding(self.text[place], self.n_ctx - 1, title)
        return windows

    @cached_property
    def _distinct(self) -> tuple[Int64Array, Int64Array]:
        """First place of each distinct window, in text order, and the index of the window at each place."""
        weights = np.random.default_rng(0).integers(-(2**62), 2**62, self.n_ctx) | 1
        _, first, place = np.unique(self._all @ weights, return_index=True, return_inverse=True)
        again = np.flatnonzero(first[place] != np.arange(len(place)))
        if not np.array_equal(self._all[again], self._all[first[place[again]]]):  # two windows of one hash
            _, first, place = np.unique(self._all, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return first[order], np.argsort(order)[place.reshape(-1)]

    @cached_property
    def contexts(self) -> Int64Array:
        """Distinct windows in text order, `[T, S]`."""
        first, windows = self._distinct[0], self._all
        windows = windows if len(first) == len(windows) else windows[first]
        windows.flags.writeable = False
        return windows

    @property
    def place(self) -> Int64Array:
        """Index of the context before each token, `[L]`."""
        return self._distinct[1]

    def following(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return the next tokens of each context and their counts, as compressed rows: boundaries, tokens, counts."""
        width = int(self.text.max()) + 1
        codes, counts = np.unique(self.place * width + self.text, return_counts=True)
        rows = np.searchsorted(codes // width, np.arange(len(self.contexts) + 1))
        return rows, codes % width, counts


def _sliding(text: Int64Array, n_ctx: int, before: int) -> Int64Array:
    """Return the windows before each token of a text, padded by a token in front, `[n, n_ctx]`."""
    padded = np.concatenate([np.full(n_ctx, before), text[:-1]])
    padded.flags.writeable = False
    return np.lib.stride_tricks.sliding_window_view(padded, n_ctx)
