r"""The inputs that a certificate's sample draws, and what they leave of the others, by the standard library alone.

Page: docs/rigour/domains.md
"""

import hashlib
import json
from itertools import count
from math import comb


def drawn_numbers(key: list[str | int], size: int) -> list[int]:
    """The inputs that a hash draws, increasing.

    Args:
        key: The hashes of model and rule, how many are drawn, and the seed.
        size: How many inputs there are.
    """
    wanted = min(int(key[2]), size)
    text = json.dumps(["sample", *key], separators=(",", ":"), ensure_ascii=True)
    secret, bits, chosen = hashlib.sha256(text.encode()).digest(), (size - 1).bit_length(), set[int]()
    for turn in count() if wanted < size else ():
        if len(chosen) == wanted:
            return sorted(chosen)
        block = hashlib.sha256(secret + turn.to_bytes(8, "big")).hexdigest()
        place = int(bin(int(block, 16) | 1 << 256)[3 : 3 + bits] or "0", 2)
        if place < size:
            chosen.add(place)
    return list(range(size))


def leaves_at_most(size: int, drawn: int, missed: int, wrong: int) -> bool:
    r"""Whether more than `wrong` of all inputs would leave at most `missed` of those drawn with probability <= 2^-128.

    $\sum_{i \le k} \binom{W}{i} \binom{M - W}{N - i} 2^{128} \le \binom MN$ for $W$ = `wrong` + 1, in integers.
    """
    if wrong >= size - drawn + missed:
        return True  # the others are right
    next_one = wrong + 1
    least = max(0, drawn - (size - next_one))
    part = comb(next_one, least) * comb(size - next_one, drawn - least)
    ways = 0
    for i in range(least, missed + 1):
        ways += part
        left = size - next_one - drawn + i + 1
        part = part * (next_one - i) * (drawn - i) // ((i + 1) * left)
    return ways << 128 <= comb(size, drawn)
