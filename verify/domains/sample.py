"""Draw inputs from a domain after the weights are fixed, and conclude on all others, up to a rare draw; this is not a
proof.

Page: docs/rigour/domains.md
"""

import hashlib

import numpy as np
from flint import fmpz

from constructions.errors import InputError
from constructions.formats.files import canonical_json

ALPHA_BITS = 128
"""Who draws unluckily with a probability of at most 2 to the minus this is told a share that is too small."""

LARGEST_SAMPLE = 2**20
_LONGEST_SEED = 256  # bytes


def drawn(model: str, rule: str, size: int, count: int, seed: str) -> list[int]:
    """Return `count` distinct increasing input numbers of a domain, drawn by a hash of the weights.

    With $s$ the SHA-256 of the canonical JSON of ``["sample", model, rule, count, seed]`` the hash of $s$ and of each
    of the counters 0, 1, ... (8 bytes, big-endian) gives its leading bits, as many as `size` - 1 has; numbers from
    `size` on, and those that were drawn already, are passed over, so that no set of numbers is favoured.

    Args:
        model: Hash of the model: whoever changes a weight draws others.
        rule: Hash of the rule.
        size: Inputs of the domain, M.
        count: How many are drawn, N; all where there are no more.
        seed: A text; whoever reads the certificate may choose another one.

    Raises:
        InputError: A count below 1 or above $2^{20}$, or a seed that is too long; names it.

    Example:
        >>> len(drawn("a" * 64, "b" * 64, 10**12, 5, "")), drawn("a" * 64, "b" * 64, 3, 5, "")
        (5, [0, 1, 2])
    """
    if type(count) is not int or not 1 <= count <= LARGEST_SAMPLE:
        raise InputError("sample", f"= {count!r}", "an integer from 1 to 2**20")
    if not isinstance(seed, str) or len(seed.encode(errors="replace")) > _LONGEST_SEED or not seed.isprintable():
        raise InputError("seed", f"is {str(seed)[:40]!r}", f"a printable text of at most {_LONGEST_SEED} bytes")
    if count >= size:
        return list(range(size))
    start = hashlib.sha256(canonical_json(["sample", model, rule, count, seed]).encode("ascii")).digest()
    numbers, counter, beyond = set[int](), 0, 256 - (size - 1).bit_length()
    while len(numbers) < count:
        number = int.from_bytes(hashlib.sha256(start + counter.to_bytes(8, "big")).digest(), "big") >> beyond
        counter += 1
        if number < size:
            numbers.add(number)
    return sorted(numbers)


def most_wrong(size: int, count: int, missed: int) -> int:
    r"""Return the largest number of wrong inputs of a domain, unless the draw had a probability of at most $2^{-128}$.

    Of $M$ inputs $W$ are wrong, and $N$ are drawn without repetition. At most $k$ of these are wrong with probability

    $$ \sum_{i \le k} \binom Ni \frac{W^{\underline i} (M - W)^{\underline{N - i}}}{M^{\underline N}}, $$

    which falls with $W$. The answer is so large that this is at most $2^{-128}$ for the next $W$, and so for all that
    are larger; the comparison is one of integers (`rejected`), floats only say where to look.

    Args:
        size: M.
        count: N, at most M.
        missed: k: those drawn that are not proved to be right.

    Example:
        >>> most_wrong(10**6, 10_000, 0), most_wrong(100, 100, 7)
        (8788, 7)
    """
    low, high = missed, size - count + missed  # no more can be wrong than were not drawn, or were missed
    top = high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _tail(size, count, missed, middle + 1) <= -ALPHA_BITS else (middle + 1, high)
    while low < top and not rejected(size, count, missed, low + 1):
        low = min(top, low + max(1, low >> 30))
    return low


def rejected(size: int, count: int, missed: int, wrong: int) -> bool:
    """Tell whether `wrong` inputs would leave at most `missed` of them in the draw only with probability at most
    2^-128.
    """
    right = size - wrong
    first = max(0, count - right)
    if first > missed:
        return True
    term = fmpz(1)
    for i in range(first):
        term = term * (count - i) // (i + 1)
    term *= _falling(wrong, first) * _falling(right, count - first)
    total = term
    for i in range(first, missed):
        term = term * ((count - i) * (wrong - i)) // ((i + 1) * (right - count + i + 1))
        total += term
    return bool(total << ALPHA_BITS <= _falling(size, count))


def _falling(top: int, count: int, start: int = 0) -> fmpz:
    """Return the product top (top - 1) ... of `count` factors."""
    if count - start < 16:
        product = fmpz(1)
        for i in range(start, count):
            product *= top - i
        return product
    middle = (start + count) // 2
    return _falling(top, middle, start) * _falling(top, count, middle)


def _tail(size: int, count: int, missed: int, wrong: int) -> float:
    """Estimate the binary logarithm of the probability."""
    right = size - wrong
    first = max(0, count - right)
    if first > missed:
        return -np.inf
    with np.errstate(all="ignore"):
        i = np.arange(first, missed, dtype=np.float64)
        ratios = (count - i) * (wrong - i) / ((i + 1.0) * (right - count + i + 1.0))
        logs = np.concatenate([[0.0], np.cumsum(np.log2(ratios))])
        ahead = np.arange(first, dtype=np.float64)
        begun = np.log2((count - ahead) / (ahead + 1.0)).sum()
        places = np.concatenate([wrong - ahead, right - np.arange(count - first, dtype=np.float64)])
        begun += np.log2(places / (size - np.arange(count, dtype=np.float64))).sum()
        most = logs.max()
        return float(begun + most + np.log2(np.exp2(logs - most).sum()))
