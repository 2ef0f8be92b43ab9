"""Products of balls by digits, against exact integers."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.verify.forward.rows.test_row_balls import random_model
from tests.verify.forward.test_in_balls import holds
from verify.arithmetic.ball_products import Digits, worth_digits
from verify.forward import in_balls
from verify.forward.in_balls import logits_in_balls


def exactly(number):
    """The middle of a ball as a fraction."""
    mantissa, exponent = number.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def balls(rng, rows, inner, bits, spread):
    entries = []
    for _ in range(rows * inner):
        middle = arb(int(rng.integers(-(2**40), 2**40))) * arb(2) ** int(rng.integers(-spread, spread + 1)) / 3
        entries.append(middle + arb(0, float(rng.random())) * arb(2) ** -int(rng.integers(1, bits + 1)))
    return entries


@given(
    st.integers(0, 2**32), st.sampled_from([2, 24, 53, 64, 200, 700, 2500]),
    st.sampled_from([(1, 1, 1), (2, 5, 3), (3, 40, 2), (1, 3, 4100), (2, 1025, 2)]), st.sampled_from([0, 8, 60]),
)  # fmt: skip
def test_a_product_by_digits_holds_the_product_of_every_choice(seed, bits, sizes, spread):
    rng = np.random.default_rng(seed)
    rows, inner, columns = sizes
    matrix = rng.standard_normal((inner, columns)) * 2.0 ** rng.integers(-spread, spread + 1, (inner, columns))
    matrix[rng.random(matrix.shape) < 0.2] = 0.0
    with ctx.workprec(bits):
        entries = balls(rng, rows, inner, bits, spread)
        digits = Digits.of(arb_mat(rows, inner, entries))
        assert digits is not None
        found = digits.times(matrix).tolist()
    middles = [exactly(x) for x in entries]
    radii = [exactly(x.rad()) for x in entries]
    for column in {0, columns - 1, columns // 2}:
        exact = [Fraction(float(a)) for a in matrix[:, column]]
        for row in range(rows):
            some = slice(row * inner, (row + 1) * inner)
            for sign in (-1, 0, 1):  # the ends and the middle of what the entry may be
                chosen = [
                    m + sign * (1 if a >= 0 else -1) * r
                    for m, r, a in zip(middles[some], radii[some], exact, strict=True)
                ]
                assert holds(found[row][column], sum((x * a for x, a in zip(chosen, exact, strict=True)), Fraction(0)))


def test_a_product_by_digits_is_hardly_wider_than_one_of_arb():
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((300, 7))
    with ctx.workprec(300):
        entries = arb_mat(2, 300, balls(rng, 2, 300, 290, 2))
        digits = Digits.of(entries)
        assert digits is not None
        pairs = zip(
            digits.times(matrix).entries(), (entries * arb_mat(300, 7, matrix.ravel().tolist())).entries(), strict=True
        )
        assert max(float(one.rad() / two.rad()) for one, two in pairs) < 1.001


@pytest.mark.parametrize("extreme", [2.0**-1074, 2.0**-1030, 2.0**1000, 2.0**1023])
def test_matrices_at_the_ends_of_float64_are_multiplied_exactly(extreme):
    matrix = np.array([[extreme, 1.0], [3.0 * extreme if extreme < 1 else -extreme, 2.0**-1074]])
    with ctx.workprec(3000):
        digits = Digits.of(arb_mat([[arb(5), arb(-7)]]))
        assert digits is not None
        for ball, column in zip(digits.times(matrix).entries(), matrix.T, strict=True):
            assert holds(ball, 5 * Fraction(float(column[0])) - 7 * Fraction(float(column[1])))
            assert ball.rad() < arb(2) ** -700


def test_what_is_exact_stays_exact_and_unbounded_balls_are_left_to_arb():
    with ctx.workprec(80):
        digits = Digits.of(arb_mat([[arb(1), arb(2)]]))
        assert digits is not None
        assert all(x == 0 for x in digits.times(np.zeros((2, 3))).entries())
        assert digits.times(np.array([[3.0, 0.1], [0.5, 0.0]])).entries() == [arb(4), arb(0.1)]
        unsure = Digits.of(arb_mat([[arb(1, 0.5), arb(2) / 3]]))
        assert unsure is not None
        assert [x == 0 for x in unsure.times(np.array([[0.0, 1.0], [0.0, 0.0]])).entries()] == [True, False]
        for huge in (arb("inf"), arb("nan"), arb(2) ** 901, arb(0, "inf")):
            assert Digits.of(arb_mat([[arb(1), huge]])) is None


def test_walks_with_and_without_digits_agree(monkeypatch):
    model, contexts = random_model(np.random.default_rng(8), blocks=3)
    by_arb = logits_in_balls(model, contexts, 160).entries()
    monkeypatch.setattr(in_balls, "worth_digits", lambda *_: True)
    by_digits = logits_in_balls(model, contexts, 160).entries()
    assert worth_digits(40, 50, 60) and not worth_digits(2, 3, 4)
    for one, two in zip(by_arb, by_digits, strict=True):
        assert one.overlaps(two) and float(two.rad()) < 2.0**20 * float(one.rad()) < 2.0**-60


def test_what_is_less_than_a_unit_counts():
    with ctx.workprec(64):
        digits = Digits.of(arb_mat([[arb(2) ** 60, arb(2) ** -60]]))
        assert digits is not None
        found = digits.times(np.array([[1.0, 0.0], [1.0, 3.0]])).tolist()[0]
        assert holds(found[0], Fraction(2) ** 60 + Fraction(1, 2**60)) and holds(found[1], Fraction(3, 2**60))
        assert found[1].rad() < arb(2) ** -20


def test_radii_far_above_and_far_below_a_unit_count():
    for exponent in (-3000, -1200, 0, 300):
        with ctx.workprec(2500):
            digits = Digits.of(arb_mat([[arb(3), arb(5, arb(2) ** exponent)]]))
            assert digits is not None
            [found] = digits.times(np.array([[1.0], [-7.0]])).entries()
        for sign in (-1, 0, 1):
            assert holds(found, 3 - 7 * (5 + sign * Fraction(2) ** exponent))
