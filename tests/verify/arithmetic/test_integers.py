"""Float64 numbers as integers over powers of two."""

from fractions import Fraction

from flint import ctx, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from verify.arithmetic import integers
from verify.arithmetic.integers import Integers

floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6)


@given(floats)
def test_floats_are_the_integers_over_their_scale(values):
    exact = Integers.exact(values)
    assert [integers.dyadic(n, exact.scale) for n in exact.values] == [Fraction(x) for x in values]
    assert exact.largest() == max((abs(n) for n in exact.values), default=0)


@given(st.integers(-(2**80), 2**80), st.integers(-90, 90))
def test_a_shift_rounds_down(n, shift):
    exact = n * integers.power_of_two(shift)
    assert 0 <= exact - integers.shifted(n, shift) < 1
    assert integers.rescaled([n], shift) == [integers.shifted(n, shift)]


def test_matrices_come_apart_as_they_were_put_together():
    rows = [[1, -2, 3], [4, 5, -6]]
    matrix = integers.matrix_of(rows)
    assert matrix == fmpz_mat(rows) and integers.split_matrix(matrix, 3) == rows
    assert integers.split([1, 2, 3, 4], 2) == [[1, 2], [3, 4]] and integers.row_of([1, 2, 3, 4], 1, 2) == [3, 4]
    assert integers.largest_column_sum([1, -2, 3, 4, 5, -6], 3) == 9


def test_truncation_is_towards_zero():
    assert integers.truncated([1.75, -1.75], [0, 1]) == [1, -3]


@given(st.lists(st.lists(st.integers(-(2**70), 2**70), min_size=3, max_size=3), min_size=1, max_size=4))
def test_a_product_is_that_of_one_core_and_leaves_the_number_of_threads(rows):
    before = ctx.threads
    left = fmpz_mat(rows)
    assert integers.product(left, left.transpose()) == left * left.transpose()
    assert ctx.threads == before
