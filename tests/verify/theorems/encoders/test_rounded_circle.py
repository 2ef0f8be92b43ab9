"""Winners on the rounded circle: against all pairs in integers, against tampering, and at the ends of the theorem."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.circle import arc, circle
from constructions.errors import InputError
from constructions.model.precision import SIGNIFICAND, rounded
from verify.theorems.encoders.rounded_circle import (
    always_enough,
    circle_distance,
    first_loser,
    is_rounded_circle,
    losing_pair,
    never_enough,
    winners,
)
from verify.verdict import Verdict


def all_win(vectors: np.ndarray) -> bool:
    """The statement itself, for every pair, in rationals."""
    exact = [[Fraction(x) for x in row] for row in vectors.tolist()]
    return all(
        sum(a * (a - b) for a, b in zip(own, other, strict=True)) > 0
        for g, own in enumerate(exact)
        for j, other in enumerate(exact)
        if g != j
    )


@given(st.integers(1, 60), st.integers(2, 9))
def test_the_decision_is_that_of_all_pairs(count: int, bits: int) -> None:
    fraction, exponent = np.frexp(circle(count))
    vectors = np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)
    assert (winners(vectors).verdict is Verdict.PROVED) == all_win(vectors)


@given(st.integers(1, 7), st.data())
def test_vectors_far_from_the_circle_are_decided_as_well(count: int, data: st.DataObject) -> None:
    numbers = st.integers(-3, 3).map(float)
    vectors = np.array(data.draw(st.lists(st.tuples(numbers, numbers), min_size=count, max_size=count)))
    found = winners(vectors)
    assert (found.verdict is Verdict.PROVED) == all_win(vectors)
    if found.loser is not None:
        g, j = found.loser
        assert g != j
        assert vectors[g] @ (vectors[g] - vectors[j]) <= 0


def test_a_margin_below_the_precision_of_float64_is_decided_in_rationals() -> None:
    third = [-1.0, 0.0]
    # The first label is ahead by 2^-600, which float64 loses beside the products.
    close = np.array([[1.0, 2.0**-300], [1.0, 0.0], third])
    assert winners(close).loser == (1, 0)
    assert first_loser(close[:2], 1) == (1, 0)
    close[1, 0] = 1.0 - 2.0**-53
    assert winners(close).loser == (1, 0)
    tie = np.array([[1.0, 0.0], [1.0, 2.0**-60], third])
    assert winners(tie).loser == (0, 1)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_the_ends_of_the_theorem_are_right(name: str) -> None:
    bits = SIGNIFICAND[name]
    assert winners(rounded(circle(always_enough(bits)), name)).verdict is Verdict.PROVED
    assert winners(rounded(circle(never_enough(bits)), name)).loser == (0, 1)
    assert winners(rounded(circle(never_enough(bits)), name)).verdict is Verdict.REFUTED


@pytest.mark.parametrize(("name", "last", "first", "largest"), [("bfloat16", 74, 75, 84), ("float16", 192, 193, 244)])
def test_the_numbers_of_the_table(name: str, last: int, first: int, largest: int) -> None:
    verdicts = {n: winners(rounded(circle(n), name)).verdict for n in (last, first, largest, largest + 1)}
    assert list(verdicts.values()) == [Verdict.PROVED, Verdict.REFUTED, Verdict.PROVED, Verdict.REFUTED]


def test_float32_and_float64() -> None:
    found = winners(rounded(circle(15681), "float32"))
    assert (found.verdict, found.reach) == (Verdict.PROVED, 2)
    assert losing_pair(15682, rounded(arc(15682, 6000), "float32"), 24) == (5964, 5965)
    assert winners(circle(5000)).verdict is Verdict.PROVED


@given(st.integers(1, 300), st.sampled_from(sorted(SIGNIFICAND)[:3]))
def test_a_circle_that_is_rounded_otherwise_is_noticed(count: int, name: str) -> None:
    bits, vectors = SIGNIFICAND[name], rounded(circle(count), name)
    assert is_rounded_circle(vectors, bits)
    spoilt = vectors.copy()
    spoilt[count // 2, 0] += np.ldexp(1.0, int(np.frexp(spoilt[count // 2, 0])[1]) - bits)
    assert not is_rounded_circle(spoilt, bits)


@pytest.mark.parametrize(("count", "token", "axis"), [(10_000, 1, 1), (10_000, 4_999, 1), (10_001, 2_500, 0)])
def test_zero_is_the_rounding_of_zero_only(count: int, token: int, axis: int) -> None:
    vectors = rounded(arc(count, token + 1), "bfloat16")
    assert is_rounded_circle(vectors, 8, count=count)
    vectors[token, axis] = 0.0
    assert not is_rounded_circle(vectors, 8, count=count)


@given(st.integers(1, 200), st.floats(0.0, 0.5))
def test_the_distance_is_an_upper_bound_and_close(count: int, shift: float) -> None:
    vectors = circle(count) + np.array([shift, 0.0])
    assert shift - 1e-15 <= circle_distance(vectors) <= shift + 1e-14


def test_a_pair_is_no_proof_if_it_is_not_the_rounded_circle() -> None:
    vectors = rounded(arc(1000, 3), "bfloat16")
    assert losing_pair(1000, vectors, 8) == (0, 1)
    assert losing_pair(900, vectors + np.array([0.0, 2.0**-6]), 8) is None
    assert losing_pair(10, rounded(circle(10), "float32"), 24) is None


def test_single_tokens_and_single_steps() -> None:
    assert winners(np.array([[0.0, 0.0]])).verdict is Verdict.PROVED
    assert first_loser(circle(6), 1) is None
    assert first_loser(np.array([[1.0, 0.0], [2.0, 0.0]]), 1) == (0, 1)


def test_what_is_no_set_of_vectors_is_refused() -> None:
    for bad in (np.zeros((0, 2)), np.zeros((3, 3)), np.array([[np.nan, 0.0]])):
        with pytest.raises(InputError, match="vectors has shape"):
            winners(bad)
    with pytest.raises(InputError, match="vectors has the entry 9007199254740993"):
        winners(np.array([[2**53 + 1, 0]]))
    for bits in (1, 61):
        with pytest.raises(InputError, match="bits = "):
            always_enough(bits)
