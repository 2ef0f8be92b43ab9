"""Tests of verify/runs/terms.py: units of columns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verify.runs.terms import low, units


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=5), st.integers(-30, 3))
def test_a_unit_is_the_largest_power_of_two_that_divides_a_column(numbers, exponent):
    column = np.ldexp(np.array(numbers, float), exponent)[:, None]
    [unit] = units(column)
    assert unit == low(column).min()
    if column.any():
        shares = column / unit
        assert (shares == np.round(shares)).all() and (shares % 2.0 == 1.0).any()
    else:
        assert unit == np.inf
