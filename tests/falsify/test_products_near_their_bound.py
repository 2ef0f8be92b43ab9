"""Products that come near the bound of their roundings: half of it does not hold them."""

from fractions import Fraction

import numpy as np
import pytest

from verify.arithmetic import enclosure as module
from verify.arithmetic.enclosure import matmul
from verify.arithmetic.rounding import UNIT


def sequential(a: np.ndarray, b: np.ndarray, *_: object) -> np.ndarray:
    """The product of matrices, one term after the other."""
    total = a[:, :1] * b[:1]
    for k in range(1, a.shape[1]):
        total = total + a[:, k : k + 1] * b[k : k + 1]
    return total


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("length", [2, 64, 1000])
def test_a_sum_that_is_rounded_up_with_each_term_is_memorized(
    length: int, tight: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 1 numbers are added that are a little more than half of its unit: each becomes a whole one."""
    monkeypatch.setattr(module, "multiply", sequential)
    each = UNIT * (1.0 + 2.0**-10)
    terms = np.full((1, length), each)
    terms[0, 0] = 1.0
    found = matmul(terms, np.ones((length, 1)), tight=tight)
    off = Fraction(found.midpoint[0, 0]) - 1 - (length - 1) * Fraction(each)
    assert off <= Fraction(found.radius[0, 0])
    assert not tight or off > Fraction(0.4 * found.radius[0, 0])


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("length", [1, 2])
def test_products_and_their_sum_may_all_be_rounded_the_same_way(length: int, tight: bool) -> None:
    """Numbers just above 1, whose products lose nearly half of a unit each: the worst of many thousand."""
    rng = np.random.default_rng(length)
    a, b = (1.0 + rng.integers(1, 2**14, shape) * 2.0**-30 for shape in ((64, length), (length, 64)))
    found, worst = matmul(a, b, tight=tight), 0.0
    for i in range(64):
        for j in range(64):
            products = [Fraction(x) * Fraction(y) for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)]
            off = abs(Fraction(found.midpoint[i, j]) - sum(products))
            assert off <= Fraction(found.radius[i, j])
            worst = max(worst, float(off / sum(products)) / UNIT)
    assert worst > 0.7 * length
