"""Float64 numbers as integers over powers of two."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from verify.arithmetic.integers import Integers, split

floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6)


@given(floats)
def test_floats_are_the_integers_over_their_scale(values):
    exact = Integers.exact(values)
    assert [Fraction(n, 2**exact.scale) for n in exact.values] == [Fraction(x) for x in values]


def test_rows_come_apart_by_their_width():
    assert split([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]
