"""Approximation, ranges and divergences in balls: against floating point, and every bound against random encoders."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.approximating_sequences import FIRST, SECOND, scaled_encoder, within_range
from constructions.errors import InputError
from verify.theorems.encoders.logit_range import (
    admissible_range_floor,
    ball,
    best_trade_off,
    divergence_floor_at_range,
    judge_approximation,
    log_ratios,
    logit_range,
    mean_divergence,
    scaling_constants,
)
from verify.verdict import Verdict

HALVES = (Fraction(1, 2), Fraction(1, 2))
numbers = st.fractions(-20, 20, max_denominator=64)


@given(
    st.lists(st.tuples(numbers, st.integers(0, 9)), min_size=1, max_size=6).filter(lambda rows: any(p for _, p in rows))
)
def test_log_ratios_are_those_of_floating_point(rows: list[tuple[Fraction, int]]) -> None:
    logits, distribution = [f for f, _ in rows], [Fraction(p) for _, p in rows]
    f, p = np.array(logits, dtype=float), np.array(distribution, dtype=float)
    q = f - f.max() - math.log(np.exp(f - f.max()).sum())
    expected = [math.log(p[j] / p.sum()) - q[j] for j in range(len(rows)) if p[j] > 0]
    assert [float(x) for x in log_ratios(logits, distribution)] == pytest.approx(expected, abs=1e-9)
    weighted = sum(p[j] / p.sum() * r for j, r in zip([j for j in range(len(rows)) if p[j] > 0], expected, strict=True))
    assert float(mean_divergence([logits], [distribution], [3])) == pytest.approx(weighted, abs=1e-9)


@given(st.lists(numbers, min_size=1, max_size=6))
def test_the_range_is_exact(row: list[Fraction]) -> None:
    assert logit_range([row]).overlaps(ball(max(row) - min(row)))


@given(st.lists(numbers, min_size=2, max_size=5).filter(lambda row: max(row) > min(row)), st.integers(0, 60))
def test_a_scaled_encoder_approximates_at_a_linear_rate(row: list[Fraction], n: int) -> None:
    g, wide = scaling_constants([row])
    if not g > 0:
        return
    exact = max(row) - min(row)
    delta = min(Fraction(1), Fraction(float(8 * g / wide) * 0.999)) / 2**n
    weights, embeddings = scaled_encoder([[f] for f in row], [[Fraction(1)]], largest_range=exact, delta=delta)
    other = [e * w for [w] in weights for [e] in embeddings]
    with ctx.workprec(512):
        balls = [[ball(f - max(r)).exp() for f in r] for r in (row, other)]
        shift = (sum(balls[1], arb(0)) / sum(balls[0], arb(0))).log() + ball(max(other) - max(row))
        for f, h in zip(row, other, strict=True):
            ratio = abs(ball(f - h) + shift)
            assert ratio <= ball(delta)
            assert ratio >= ball(delta) * g / (4 * wide)


@given(numbers, numbers, numbers, numbers, numbers, st.integers(1, 200))
def test_no_encoder_is_below_the_floor_of_its_range(
    w2: Fraction, w3: Fraction, e1: Fraction, e2: Fraction, scale: Fraction, weight: int
) -> None:
    logits = [[Fraction(0), e * w2, e * w3 * abs(scale)] for e in (e1, e2)]
    largest = Fraction(max(max(row) - min(row) for row in logits))
    if largest > 0:
        prior = [weight, 100]
        floor = divergence_floor_at_range(FIRST, SECOND, prior, largest)
        assert floor <= mean_divergence(logits, [FIRST, SECOND], prior)


@given(st.integers(3, 10**6))
def test_the_floor_is_close_to_an_encoder(largest: int) -> None:
    weights, embeddings = within_range(Fraction(largest))
    reached = mean_divergence([[e * w for w in weights] for e in embeddings], [FIRST, SECOND], HALVES)
    floor = divergence_floor_at_range(FIRST, SECOND, HALVES, Fraction(largest))
    assert 0 < floor <= reached
    if largest > 1000:
        assert floor > 0.98 * reached


@given(st.integers(2, 100), st.fractions(Fraction(1, 10), 1000))
def test_no_range_is_below_the_best_trade_off(n: int, largest: Fraction) -> None:
    price = Fraction(1, n**3)
    floor = best_trade_off(FIRST, SECOND, HALVES, price, steps=8)
    with ctx.workprec(512):
        assert floor <= divergence_floor_at_range(FIRST, SECOND, HALVES, largest) + ball(price * largest) or largest < 2
        if largest >= 2:
            weights, embeddings = within_range(largest)
            reached = mean_divergence([[e * w for w in weights] for e in embeddings], [FIRST, SECOND], HALVES)
            assert floor <= reached + ball(price * largest)


def test_the_range_floor_is_the_formula_and_nothing_where_delta_is_large() -> None:
    assert float(admissible_range_floor(FIRST, SECOND, Fraction(1, 10))) == pytest.approx(
        (math.log(3) - 0.2) * (math.log(2) - 0.2) / 0.2
    )
    assert admissible_range_floor(FIRST, SECOND, Fraction(1, 2)) == 0


def test_both_halves_of_the_definition_are_judged() -> None:
    distribution, given_ = [HALVES], [[Fraction(0), Fraction(1, 10)]]
    judged = {
        (delta, c): judge_approximation(given_, distribution, delta=delta, constant=c, exponent=1)
        for delta in (Fraction(1, 25), Fraction(1, 10))
        for c in (Fraction(1, 4), Fraction(3, 4))
    }
    assert list(judged.values()) == [Verdict.REFUTED, Verdict.REFUTED, Verdict.PROVED, Verdict.REFUTED]


def test_a_ball_that_knows_too_little_decides_nothing() -> None:
    vague = [[arb(0), arb(0.05, 1)]]
    found = judge_approximation(vague, [HALVES], delta=Fraction(1, 10), constant=Fraction(1, 4), exponent=1)
    assert found is Verdict.UNDECIDED
    nothing = judge_approximation(
        [[arb(0), arb("nan")]], [HALVES], delta=Fraction(1, 10), constant=Fraction(1, 4), exponent=1
    )
    assert nothing is Verdict.UNDECIDED


def test_what_is_out_of_range_is_refused() -> None:
    distribution = [HALVES]
    with pytest.raises(InputError, match="delta = 0"):
        judge_approximation([[0, 1]], distribution, delta=Fraction(0), constant=Fraction(1), exponent=1)
    with pytest.raises(InputError, match="2 rows of logits for 1 distributions"):
        judge_approximation([[0, 1], [0, 1]], distribution, delta=Fraction(1), constant=Fraction(1), exponent=1)
    with pytest.raises(InputError, match="first is"):
        admissible_range_floor(SECOND, SECOND, Fraction(1, 10))
    with pytest.raises(InputError, match="second is"):
        admissible_range_floor(FIRST, FIRST, Fraction(1, 10))
    with pytest.raises(InputError, match="largest = 0"):
        divergence_floor_at_range(FIRST, SECOND, HALVES, Fraction(0))
    with pytest.raises(InputError, match="price = 0"):
        best_trade_off(FIRST, SECOND, HALVES, Fraction(0))
    with pytest.raises(InputError, match="no rows"):
        scaling_constants([])
    with pytest.raises(InputError, match="weights are"):
        mean_divergence([[0]], [[Fraction(0)]], [1])
    with pytest.raises(InputError, match="a row has 1 logits"):
        log_ratios([0], HALVES)
