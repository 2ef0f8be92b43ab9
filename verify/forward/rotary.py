r"""Cosines and sines of the exact angles of rotary positions, in balls and as double-double numbers.

Page: docs/rigour/forward.md, Lemma T9
"""

import math
from collections.abc import Sequence

import numpy as np
from flint import arb, ctx

from constructions.model.blocks import Attention
from verify.arithmetic.double_double import DoubleDouble
from verify.arithmetic.rounding import Floats

_BITS = 192  # of a cosine and more: an angle of n bits before the point takes n more
_NEAR, _NEARER = arb(2) ** -53, arb(2) ** -103


def turned_entries(block: Attention) -> tuple[slice, slice]:
    """Which entries of queries and keys the pairs are made of: the first of each, and the second."""
    assert block.frequencies is not None
    count = len(block.frequencies)
    if block.turned == "halves":
        return slice(0, count), slice(count, 2 * count)
    return slice(0, 2 * count, 2), slice(1, 2 * count, 2)


def angles(block: Attention, position: int) -> list[tuple[arb, arb]]:
    """Cosine and sine of each pair at a position, in the precision of the context."""
    assert block.frequencies is not None
    turns = [arb(position) * arb(float(f)) for f in block.frequencies]
    return [(t.cos(), t.sin()) for t in turns]


def tables(block: Attention, positions: Sequence[int]) -> tuple[DoubleDouble, DoubleDouble]:
    r"""Cosines and sines `[positions, m]` as double-double, within $2^{-103}$; the high words within $2^{-53}$."""
    assert block.frequencies is not None
    shape = (len(positions), len(block.frequencies))
    largest = float(block.frequencies.max()) * max(positions, default=0)
    found: list[tuple[Floats, Floats]] = [(np.empty(shape), np.empty(shape)) for _ in range(2)]
    with ctx.workprec(_BITS + max(0, math.frexp(largest)[1])):
        for row, position in enumerate(positions):
            for i, both in enumerate(angles(block, position)):
                for (high, low), x in zip(found, both, strict=True):
                    high[row, i] = float(x.mid())
                    low[row, i] = float((x - high[row, i]).mid())
                    # The conversions are not trusted.
                    if not (abs(x - high[row, i]) < _NEAR and abs(x - high[row, i] - low[row, i]) < _NEARER):
                        raise ArithmeticError(f"the cosine or sine {x} is not known to {_NEARER}")
    return DoubleDouble(*found[0]), DoubleDouble(*found[1])
