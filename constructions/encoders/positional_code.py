r"""One integer for each context: a weighted sum over the positions that tells all contexts of a task apart.

Page: docs/claims/knots.md
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constructions.errors import CapacityError, InputError

Int64Array = NDArray[np.int64]

_MOST_BITS = 52  # of a code: float64 holds it and its neighbours
_WORK = 2**24  # tokens that are summed for one length of the code, about
_MOST_DRAWS = 1000


class PositionalCode(NamedTuple):
    r"""Integers $z(t) = \sum_s A_s e(t_s)$, pairwise distinct on the contexts of a task.

    Args:
        weights: $A_s \ge 1$, `[S]`.
        values: $e(n) \ge 0$ of each token, 0 for those that are never read, `[N]`.
        codes: z of each context, at least 0, `[T]`.

    Page: docs/claims/knots.md
    """

    weights: Int64Array
    values: Int64Array
    codes: Int64Array

    @property
    def bits(self) -> int:
        """Bits of the largest code."""
        return int(self.codes.max()).bit_length()


def positional_code(contexts: Int64Array, tokens: int, *, binary: bool = False, seed: int = 0) -> PositionalCode:
    r"""Search for short codes $z(t) = \sum_s A_s e(t_s)$ that tell contexts apart.

    For 0, 1, 2, ... bits, from those that T different integers need: the numbers to the base of the n tokens that are
    read, $A_s = n^{S - s}$, as soon as these are so short; else $A_s = 2^{S - s}$ and random values, or, for long
    contexts, random weights and the numbers of the tokens as values. Either collides with probability at most
    $T^2 / 2^{b + 1}$ if what is random has b bits.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        tokens: Size of the vocabulary N.
        binary: Whether all weights have to be powers of 2, which makes codes of long contexts longer.
        seed: Seed of the draws; equal arguments give equal codes.

    Returns:
        The weights, the values and the codes.

    Raises:
        InputError: Contexts that are not distinct tokens.
        CapacityError: No code of 52 bits was found.

    Page: docs/claims/knots.md

    Example:
        >>> positional_code(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 2).codes.tolist()
        [0, 1, 2, 3]
    """
    if contexts.ndim != 2 or 0 in contexts.shape or contexts.min() < 0 or contexts.max() >= tokens:
        raise InputError(f"contexts of shape {contexts.shape}, expected tokens [T, S] below {tokens}")
    read, ranks = np.unique(contexts, return_inverse=True)
    ranks = ranks.reshape(contexts.shape)
    count, length = contexts.shape
    if len(np.unique(contexts, axis=0)) < count:
        raise InputError("contexts: some occur more than once, expected pairwise distinct ones")
    rng = np.random.default_rng(seed)
    draws = max(4, min(_MOST_DRAWS, _WORK // (count * length)))
    base = 1 << (len(read) - 1).bit_length() if binary else len(read)
    for bits in range((count - 1).bit_length(), _MOST_BITS + 1):
        if base**length <= 2**bits:
            weights = np.array([base ** (length - 1 - s) for s in range(length)])
            return _code(read, ranks, tokens, weights, np.arange(len(read)))
        if count**2 / 2.0 ** (bits + 1) > math.log(draws) + 3.0:
            continue  # one draw in e^3 as many would succeed if codes were as good as random
        if binary and bits <= length:
            continue
        for _ in range(draws):
            drawn = _drawn(rng, bits, len(read), length)
            if drawn is None:
                break
            found = _code(read, ranks, tokens, *drawn)
            if len(np.unique(found.codes)) == count:
                return found
    raise CapacityError("A positional code", f"at most {_MOST_BITS} bits", f"none tells {count} contexts apart")


def _drawn(rng: np.random.Generator, bits: int, tokens: int, length: int) -> tuple[Int64Array, Int64Array] | None:
    """Weights and values whose sums have so many bits at most."""
    if bits > length:
        return 2 ** np.arange(length - 1, -1, -1), rng.integers(0, 2 ** (bits - length), tokens)
    largest = (2**bits - 1) // (length * max(1, tokens - 1))
    return None if largest < 2 else (rng.integers(1, largest + 1, length), np.arange(tokens))


def _code(read: Int64Array, ranks: Int64Array, tokens: int, weights: Int64Array, values: Int64Array) -> PositionalCode:
    of_token = np.zeros(tokens, dtype=np.int64)
    of_token[read] = values
    codes = np.zeros(len(ranks), dtype=np.int64)
    for s, weight in enumerate(weights):
        codes += weight * values[ranks[:, s]]
    return PositionalCode(weights.astype(np.int64), of_token, codes)
