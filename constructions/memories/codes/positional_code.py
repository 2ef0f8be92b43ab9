"""Number the contexts of a task: a weighted sum over the positions that is distinct for every context.

Page: docs/claims/knots.md
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from constructions.errors import CapacityError, InputError
from constructions.numeric.arrays import BoolArray, Int64Array

_MOST_BITS = 52  # of a code: float64 holds it and its neighbours
_WORK = 2**24  # codes that are looked at for one length, about
_TOGETHER = 2**16  # codes that are looked at at the same time
_MOST_DRAWS = 1000
_TRIES, _FEW = 8, 2**17  # choices of values for one length of the code: so many, or fewer for many contexts
_TABLE_BITS = 26  # of codes that are marked as taken, a byte each


class PositionalCode(NamedTuple):
    r"""Integers $z(t) = \sum_s A_s e(t_s)$, pairwise distinct on the contexts of a task.

    Args:
        weights: $A_s \ge 1$, `[S]`.
        values: $e(n) \ge 0$ of each token, 0 for those that are never read, `[N]`.
        codes: z of each context, at least 0, `[T]`.
    """

    weights: Int64Array
    values: Int64Array
    codes: Int64Array

    @property
    def bits(self) -> int:
        """Bits of the largest code."""
        return int(self.codes.max()).bit_length()


def positional_code(contexts: Int64Array, d_vocab: int, *, binary: bool = False, seed: int = 0) -> PositionalCode:
    r"""Search for short codes $z(t) = \sum_s A_s e(t_s)$ that tell contexts apart.

    For 0, 1, 2, ... bits, from those that T different integers need: the numbers to the base of the n tokens that are
    read, $A_s = n^{S - s}$, as soon as these are so short; else $A_s = 2^{S - s}$, for long contexts small random
    weights, and the value of one token after the other, the frequent ones first, such that the contexts whose values
    are then all known have codes that are free; else random values, or, for long contexts, random weights and the
    numbers of the tokens as values.
    With the powers of two, $T (T - 1) / 2 + 1$ values to choose from are always enough: each pair of contexts excludes
    at most one value of the token by which the later of the two is known.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_vocab: Size of the vocabulary N.
        binary: Whether all weights have to be powers of 2, which makes codes of long contexts longer.
        seed: Seed of the draws; equal arguments give equal codes.

    Returns:
        The weights, the values and the codes.

    Raises:
        InputError: Contexts that are not distinct tokens.
        CapacityError: No code of 52 bits was found.

    Example:
        >>> positional_code(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 2).codes.tolist()
        [0, 1, 2, 3]
    """
    if contexts.ndim != 2 or 0 in contexts.shape or contexts.min() < 0 or contexts.max() >= d_vocab:
        raise InputError("contexts", f"of shape {contexts.shape}", f"tokens [T, S] below {d_vocab}")
    read, ranks = np.unique(contexts, return_inverse=True)
    ranks = ranks.reshape(contexts.shape)
    count, n_ctx = contexts.shape
    if len(np.unique(contexts, axis=0)) < count:
        raise InputError("contexts: some", "occur more than once", "pairwise distinct ones")
    rng = np.random.default_rng(seed)
    draws = max(4, min(_MOST_DRAWS, _WORK // (count * n_ctx)))
    steps = _Steps.of(ranks, len(read))
    base = 1 << (len(read) - 1).bit_length() if binary else len(read)
    for bits in range((count - 1).bit_length(), _MOST_BITS + 1):
        if base**n_ctx <= 2**bits:
            weights = np.array([base ** (n_ctx - 1 - s) for s in range(n_ctx)])
            return _code(read, ranks, d_vocab, weights, np.arange(len(read)))
        if binary and bits <= n_ctx:
            continue
        for weights, values in _candidates(rng, bits, steps, n_ctx, count, draws):
            code = _code(read, ranks, d_vocab, weights, values)
            if len(np.unique(code.codes)) == count:
                return code
    raise CapacityError("A positional code", f"at most {_MOST_BITS} bits", f"none tells {count} contexts apart")


class _Steps(NamedTuple):
    """Tokens in the order of assignment, and the contexts that each of them completes.

    Args:
        order: Ranks of tokens, `[n]`.
        contexts: The contexts that are then known, an array `[rows, S]` of ranks for each token.
    """

    order: Int64Array
    contexts: list[Int64Array]

    @property
    def collisions(self) -> float:
        """Number of pairs of a code and an earlier one, for the token that has the most."""
        sizes = np.array([len(contexts) for contexts in self.contexts], dtype=np.float64)
        return float((sizes * (np.cumsum(sizes) - sizes / 2.0)).max())

    @classmethod
    def of(cls, ranks: Int64Array, d_vocab: int) -> "_Steps":
        order = np.argsort(-np.bincount(ranks.ravel(), minlength=d_vocab), kind="stable")
        place = np.empty(d_vocab, dtype=np.int64)
        place[order] = np.arange(d_vocab)
        last = place[ranks].max(axis=1)
        by_step = np.argsort(last, kind="stable")
        ends = np.searchsorted(last[by_step], np.arange(d_vocab + 1))
        return cls(order, [ranks[by_step[ends[i] : ends[i + 1]]] for i in range(d_vocab)])


def _candidates(
    rng: np.random.Generator, bits: int, steps: _Steps, n_ctx: int, count: int, draws: int
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Return weights and values whose sums have a limited number of bits; most of them separate the contexts."""
    for _ in range(max(1, min(_TRIES, _FEW // count))):
        # Scores are then multiples of ln 2, which keeps the attention rational.
        weights = 2 ** np.arange(n_ctx)[::-1] if n_ctx <= bits else rng.integers(1, 2 * n_ctx + 1, n_ctx)
        values = _values(rng, bits, steps, weights, count)
        if values is not None:
            yield weights, values
    if count**2 / 2.0 ** (bits + 1) <= math.log(draws) + 3.0:
        # Otherwise one draw in e^3 as many would succeed if codes were as good as random.
        for _ in range(draws):
            drawn = _drawn(rng, bits, len(steps.order), n_ctx)
            if drawn is not None:
                yield drawn


def _drawn(rng: np.random.Generator, bits: int, d_vocab: int, n_ctx: int) -> tuple[Int64Array, Int64Array] | None:
    """Draw weights and values whose sums have a limited number of bits."""
    if bits > n_ctx:
        # Values below 2^(bits - S), weighed by 1, 2, .., 2^(S - 1), have sums below 2^bits.
        weights = 2 ** np.arange(n_ctx - 1, -1, -1)
        return weights, rng.integers(0, 2 ** (bits - n_ctx), d_vocab)
    # The values 0 .. N - 1 with weights up to `largest` have sums of at most S (N - 1) largest < 2^bits.
    largest = (2**bits - 1) // (n_ctx * max(1, d_vocab - 1))
    if largest < 2:
        return None
    return rng.integers(1, largest + 1, n_ctx), np.arange(d_vocab)


def _values(rng: np.random.Generator, bits: int, steps: _Steps, weights: Int64Array, count: int) -> Int64Array | None:
    """Return a value per token such that all codes are distinct and short enough; None if the search fails."""
    largest = (2**bits - 1) // int(weights.sum())
    if largest < 1 or steps.collisions / 2.0**bits > math.log(largest + 1.0) + 3.0:
        return None
    left = max(_WORK // _TRIES, 32 * count)
    taken, values = _Taken(bits), np.zeros(len(steps.order), dtype=np.int64)
    for token, contexts in zip(steps.order.tolist(), steps.contexts, strict=True):
        at = contexts == token
        known, factor = (values[contexts] * weights * ~at).sum(axis=1), at @ weights
        choices = rng.permutation(largest + 1) if largest < _TOGETHER else rng.integers(0, largest + 1, _TOGETHER)
        most, start, rows, chosen = max(1, _TOGETHER // max(1, len(contexts))), 0, 1, None
        while start < len(choices):
            if left <= 0:
                return None
            part = choices[start : start + rows]
            start, rows = start + rows, min(2 * rows, most)
            left -= part.size * len(contexts)
            codes = known + factor * part[:, None]
            free = np.flatnonzero(~taken.any_of(codes))
            ordered = np.sort(codes[free], axis=1)
            apart = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
            if apart.any():
                chosen = free[apart.argmax()]
                values[token] = part[chosen]
                taken.take(codes[chosen])
                break
        if chosen is None:
            return None
    return values


class _Taken:
    """The codes in use: one byte per possible code or, if there are too many, a sorted list."""

    def __init__(self, bits: int) -> None:
        self.table = np.zeros(2**bits, dtype=bool) if bits <= _TABLE_BITS else None
        self.codes = np.zeros(0, dtype=np.int64)

    def any_of(self, codes: Int64Array) -> BoolArray:
        """Tell for each row whether one of its codes is in use."""
        if self.table is not None:
            taken = self.table[codes]
        else:
            listed = np.append(self.codes, np.iinfo(np.int64).max)
            taken = listed[np.searchsorted(self.codes, codes)] == codes
        return np.logical_or.reduce(taken, axis=1)

    def take(self, codes: Int64Array) -> None:
        """Mark them."""
        if self.table is not None:
            self.table[codes] = True
        else:
            self.codes = np.sort(np.concatenate([self.codes, codes]))


def _code(read: Int64Array, ranks: Int64Array, d_vocab: int, weights: Int64Array, values: Int64Array) -> PositionalCode:
    of_token = np.zeros(d_vocab, dtype=np.int64)
    of_token[read] = values
    codes = np.zeros(len(ranks), dtype=np.int64)
    for s, weight in enumerate(weights):
        codes += weight * values[ranks[:, s]]
    return PositionalCode(weights.astype(np.int64), of_token, codes)
