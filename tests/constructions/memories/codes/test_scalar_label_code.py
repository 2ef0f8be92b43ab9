"""The number names the label of the nearest point, with a lead that is known exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.memories.codes.scalar_label_code import MOST, scalar_label_code


def leads(count: int, label: int, number: float) -> np.ndarray:
    """The leads over all other labels; exact in float64 for a multiple of 2^-10 below 2^12."""
    found = np.array([1.0, number]) @ scalar_label_code(count).columns
    return np.delete(found[label] - found, label)


def numbers(count: int) -> st.SearchStrategy[float]:
    return st.integers(-1024 * (count + 2), 1024 * (count + 2)).map(lambda k: k / 2048)


@given(st.data(), st.integers(2, 300))
def test_the_least_lead_is_a_half_less_the_miss(data: st.DataObject, count: int) -> None:
    label = data.draw(st.integers(0, count - 1))
    code = scalar_label_code(count)
    number = float(code.points[label]) + data.draw(st.integers(-1024, 1024)) / 2048
    miss = abs(float(code.miss(np.array([label]), np.array([number]))[0]))
    assert miss <= 0.5
    least = leads(count, label, number).min()
    if miss:
        assert least == 0.5 - miss
    else:
        assert least >= 0.5


@given(st.data(), st.integers(2, 300))
def test_the_label_is_ahead_exactly_where_it_misses_by_less_than_a_half(data: st.DataObject, count: int) -> None:
    label, number = data.draw(st.integers(0, count - 1)), data.draw(numbers(count))
    miss = scalar_label_code(count).miss(np.array([label]), np.array([number]))[0]
    assert (leads(count, label, number).min() > 0) == (abs(miss) < 0.5)


@given(st.integers(2, 300), st.floats(0, 1e6))
def test_beyond_the_outermost_points_nothing_is_missed(count: int, beyond: float) -> None:
    code = scalar_label_code(count)
    number = np.array([code.points[0] - beyond, code.points[-1] + beyond])
    assert (code.miss(np.array([0, count - 1]), number) == 0).all()
    if beyond:
        assert (code.miss(np.array([count - 1, 0]), number) != 0).all()


def test_one_label_is_never_missed() -> None:
    assert scalar_label_code(1).miss(np.array([0, 0]), np.array([7.0, -7.0])).tolist() == [0, 0]


def test_the_columns_of_the_most_labels_are_exact_in_float32() -> None:
    columns = scalar_label_code(MOST).columns
    assert (columns.astype(np.float32) == columns).all()
    assert columns[0, 0] == -((MOST - 1) ** 2) / 8


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_a_count_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(InputError, match=f"count = {count}"):
        scalar_label_code(count)
