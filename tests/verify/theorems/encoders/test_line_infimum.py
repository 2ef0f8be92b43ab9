"""One dimension: no weights are below the infimum, and those on many scales come close to it."""

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.one_dimension import multi_scale_line
from constructions.errors import InputError
from verify.theorems.encoders.line_infimum import arrangement_floor, line_divergence, line_infimum

masses = st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any)


@given(masses, st.data())
def test_no_weights_are_below_the_bound_of_their_order_nor_below_the_infimum(
    given_: list[int], data: st.DataObject
) -> None:
    count = len(given_)
    positions = sorted(data.draw(st.lists(st.integers(-50, 50), min_size=count, max_size=count)))
    slopes = data.draw(st.lists(st.fractions(-3, 3, max_denominator=50), min_size=count, max_size=count))
    reached, slack = line_divergence(positions, slopes, given_), arb(1e-12)
    assert reached >= arrangement_floor(given_) - slack
    assert arrangement_floor(given_) >= line_infimum(given_) - slack


@given(masses)
def test_weights_on_many_scales_come_close(given_: list[int]) -> None:
    line = multi_scale_line(given_)
    assert line_divergence(line.positions, line.slopes, given_) <= line_infimum(given_) + arb(1e-12)


@given(masses)
def test_the_infimum_is_positive_exactly_with_three_labels(given_: list[int]) -> None:
    assert bool(line_infimum(given_) > 0) == (sum(mass > 0 for mass in given_) >= 3)


def test_masses_down_to_a_tiny_share_count() -> None:
    assert 0 < line_infimum([10**30, 10**30, 1]) < arb(1e-29)


def test_what_is_out_of_range_is_refused() -> None:
    for bad in ([], [0, 0], [-1, 2]):
        with pytest.raises(InputError, match="masses are"):
            line_infimum(bad)
    with pytest.raises(InputError, match="masses are 1, 2, 2"):
        line_divergence([1], [Fraction(1), Fraction(2)], [1, 1])
