"""Distances of a Gram matrix that come near their bound: half of it does not hold them."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from tests.falsify.test_products_near_their_bound import sequential
from verify.linear_algebra import gram as module
from verify.linear_algebra.gram import Gram, distance, gram
from verify.linear_algebra.norms import frobenius, frobenius_below


def rounded_up(length: int) -> np.ndarray:
    """A row whose squares are 1 and a little more than half of its unit: each is rounded up to a whole one."""
    row = np.full((1, length), np.sqrt(2.0**-53 * (1.0 + 2.0**-10)))
    row[0, 0] = 1.0
    return row


def exact_square(row: np.ndarray) -> Fraction:
    return sum((Fraction(x) ** 2 for x in row[0].tolist()), Fraction(0))


@pytest.mark.parametrize("length", [2, 64, 256])
def test_each_term_of_a_gram_matrix_may_be_rounded_up(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "product", sequential)
    row = rounded_up(length)
    found = gram(row)
    off = Fraction(found.lower[0, 0]) - exact_square(row)
    assert 0.4 * float(found.error) < float(off) <= float(found.error.lower())


@pytest.mark.parametrize("length", [2, 64, 256])
def test_each_term_of_the_square_of_a_factor_may_be_rounded_up(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix is what was computed of the factor, so that nothing seems to be left of it."""
    monkeypatch.setattr(module, "product", sequential)
    factor = np.zeros((length, length))
    factor[0] = rounded_up(length)[0]
    computed = Gram(sequential(factor, factor.T), arb(0), length)
    off = Fraction(computed.lower[0, 0]) - exact_square(factor[:1])
    bound = distance(computed, 0.0, factor)
    assert 0.2 * float(bound) < float(off) <= float(bound.lower())


@pytest.mark.parametrize("length", [1, 2])
def test_squares_and_their_sum_may_all_be_rounded_the_same_way(length: int) -> None:
    """Numbers just above 1, whose squares lose or win nearly half of a unit each: the worst of some thousand."""
    rows = 1.0 + np.random.default_rng(length).integers(1, 2**14, (4000, length)) * 2.0**-30
    least, most = 0.0, 0.0
    for row in rows:
        exact = sum((Fraction(x) ** 2 for x in row.tolist()), Fraction(0))
        off = float(Fraction(float(row @ row)) / exact - 1) / 2.0**-53
        least, most = min(least, off), max(most, off)
        with ctx.workprec(300):
            root = (arb(exact.numerator) / arb(exact.denominator)).sqrt()
            assert frobenius_below(row[None]) <= root <= frobenius(row[None])
    assert least < -0.7 and most > 0.7
