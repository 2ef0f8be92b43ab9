"""The line on many scales: likely labels outside, and a logit for every label and token."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.one_dimension import multi_scale_line
from constructions.errors import InputError


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_no_position_is_taken_twice_and_the_likeliest_are_outside(masses: list[int]) -> None:
    line = multi_scale_line(masses)
    count = len(masses)
    assert len(set(line.positions)) == count
    places = sorted(range(count), key=lambda token: line.positions[token])
    outside = [min(k + 1, count - k) for k in range(count)]
    values = [value for _, value in sorted((outside[k], -masses[token]) for k, token in enumerate(places))]
    depth = {token: outside[k] for k, token in enumerate(places)}
    for a in range(count):
        for b in range(count):
            assert not (masses[a] > masses[b] and depth[a] > depth[b])
    assert len(values) == count


@given(st.lists(st.integers(0, 5), min_size=2, max_size=8), st.integers(1, 50), st.integers(2, 2**20))
def test_gaps_inside_count_much_and_gaps_outside_little(masses: list[int], sharpness: int, ratio: int) -> None:
    line = multi_scale_line(masses, sharpness=sharpness, ratio=ratio)
    for label in range(len(masses)):
        logits = line.logits(label)
        ahead = [value - logits[label] for value in logits if value > logits[label]]
        behind = [logits[label] - value for value in logits if value < logits[label]]
        assert all(lead < Fraction(sharpness, ratio - 1) for lead in ahead)
        assert all(lag >= sharpness for lag in behind)


def test_one_token_has_one_position() -> None:
    assert multi_scale_line([1]).positions == (0,)


def test_what_is_out_of_range_is_refused() -> None:
    for masses, options in (([], {}), ([-1, 2], {}), ([1], {"sharpness": 0}), ([1], {"ratio": 1})):
        with pytest.raises(InputError, match="expected masses"):
            multi_scale_line(masses, **options)
