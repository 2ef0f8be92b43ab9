"""Float64 numbers as integers over powers of two.

An integer n at scale k stands for n / 2^k.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Integers:
    """Exact integers over a common power of two."""

    values: list[int]
    scale: int

    @classmethod
    def exact(cls, floats: Sequence[float]) -> "Integers":
        ratios = [x.as_integer_ratio() for x in floats]
        scale = max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
        return cls([n << (scale - d.bit_length() + 1) for n, d in ratios], scale)


def split(values: Sequence[int], width: int) -> list[Sequence[int]]:
    return [values[i : i + width] for i in range(0, len(values), width)]
