"""The sequences have the logits that the page gives them, and stay within the ranges that they promise."""

import math
from fractions import Fraction

import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.approximating_sequences import (
    FIRST,
    SECOND,
    bound_to_diverge,
    certain_token,
    scaled_encoder,
    undecided_token,
    within_range,
)
from constructions.errors import InputError


@given(st.fractions(Fraction(1, 100), Fraction(3, 10)))
def test_logits_are_those_of_the_page(delta: Fraction) -> None:
    small = float(delta)
    [first] = undecided_token().logits(delta)
    [second] = certain_token().logits(delta)
    far = math.exp(1 / small)
    assert [float(x) for x in first] == pytest.approx([small / 2, -small / 2, -far], rel=1e-9)
    assert [float(x) for x in second] == pytest.approx([0, math.log(small), -far], rel=1e-9)


@given(st.integers(2, 100))
def test_the_third_sequence_has_rank_one(n: int) -> None:
    with ctx.workprec(200):
        first, second = bound_to_diverge().logits(Fraction(1, 2**n))
        across = (first[0] - first[2]) * (second[0] - second[1]) - (first[0] - first[1]) * (second[0] - second[2])
    assert across.contains(0)
    assert sum(FIRST) == sum(SECOND) == 1


@given(st.fractions(2, 10**6))
def test_the_bounded_encoder_keeps_its_range_and_the_probability_of_the_third_token(largest: Fraction) -> None:
    weights, embeddings = within_range(largest)
    rows = [[e * w for w in weights] for e in embeddings]
    assert all(max(row) - min(row) <= largest for row in rows)
    powers = [math.exp(x) for x in rows[1]]
    assert powers[2] / sum(powers) == pytest.approx(0.2, rel=1e-9)


def test_a_scaled_encoder_is_a_multiple() -> None:
    weights, embeddings = [[Fraction(1)], [Fraction(2)]], [[Fraction(3)]]
    assert scaled_encoder(weights, embeddings, largest_range=Fraction(3), delta=Fraction(1)) == (
        weights,
        [[Fraction(7, 2)]],
    )


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(-1), Fraction(1, 2)])
def test_a_delta_out_of_range_is_refused(delta: Fraction) -> None:
    with pytest.raises(InputError, match="delta = "):
        undecided_token().logits(delta)


def test_ranges_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="largest = 1"):
        within_range(Fraction(1))
    with pytest.raises(InputError, match="largest_range = 0"):
        scaled_encoder([], [], largest_range=Fraction(0), delta=Fraction(1))
