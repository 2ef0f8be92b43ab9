"""Floats as integers over a power of two."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.arithmetic.fixed_point import fixed_point, integer_matrix

entries = st.lists(st.floats(-16, 16), min_size=1, max_size=6)


@given(entries, st.integers(1, 4))
def test_the_integers_are_as_near_as_they_say(row, limbs):
    x = np.array([row])
    integers, bits, exact = fixed_point(x, limbs)
    errors = [
        abs(Fraction(value) - Fraction(int(n), 2**bits)) for value, n in zip(row, integers.entries(), strict=True)
    ]
    assert max(errors) <= Fraction(1, 2 ** (bits + 1))
    assert exact == (max(errors) == 0)


@pytest.mark.parametrize("value", [16.1, np.nan, -np.inf])
def test_what_might_not_fit_is_refused(value):
    with pytest.raises(ValueError, match="at most"):
        fixed_point(np.array([[value]]), 2)


def test_integers_keep_their_places():
    assert integer_matrix(np.array([[1.0, -2.0], [3.0, 2.0**60]])).tolist() == [[1, -2], [3, 2**60]]
