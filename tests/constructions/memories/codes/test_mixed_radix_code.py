"""Labels as points of a grid: the nearest wins, by what is said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.memories.codes.mixed_radix_code import mixed_radix_code
from constructions.memories.codes.scalar_label_code import scalar_label_code


@given(st.integers(1, 200), st.integers(1, 5), st.floats(0, 0.5), st.integers(0, 2**32))
def test_a_point_near_that_of_the_label_wins_by_what_is_left(count: int, digits: int, miss: float, seed: int) -> None:
    code = mixed_radix_code(count, digits)
    assert len(np.unique(code.points, axis=0)) == count
    rng = np.random.default_rng(seed)
    label = int(rng.integers(count))
    y = code.points[label] + rng.choice([-miss, miss, 0.0], digits)
    logits = y @ code.columns + code.shifts
    others = np.delete(logits, label)
    assert (logits[label] - others >= 0.5 - miss - 1e-9).all()
    assert logits[label] >= -digits / 8 - 1e-9


def test_one_digit_is_the_code_on_the_line() -> None:
    line, grid = scalar_label_code(7), mixed_radix_code(7, 1)
    assert (grid.columns[0] == line.columns[1]).all() and (grid.shifts == line.columns[0]).all()


def test_the_base_is_the_least_that_suffices() -> None:
    assert np.ptp(mixed_radix_code(100, 2).points, axis=0).tolist() == [9, 9]
    assert np.ptp(mixed_radix_code(101, 2).points, axis=0).tolist() == [9, 10]


def test_the_shifts_are_half_the_squares_of_the_points() -> None:
    code = mixed_radix_code(11, 3)
    assert (code.shifts == -(code.points**2).sum(axis=1) / 2).all()


@pytest.mark.parametrize(("count", "digits"), [(0, 1), (3, 0), (5000, 1)])
def test_what_is_no_code_is_refused(count: int, digits: int) -> None:
    with pytest.raises(InputError, match="count = "):
        mixed_radix_code(count, digits)
