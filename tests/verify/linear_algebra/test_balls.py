"""Singular values by balls."""

from fractions import Fraction

import numpy as np
import pytest

from verify.linear_algebra import balls
from verify.linear_algebra.given_matrix import given_matrix


def test_the_smallest_singular_value_is_bounded_tightly_from_below():
    bound, _ = balls.smallest_singular_value(given_matrix(np.diag([3.0, 2.0**-60])))
    assert 0.4 * 2.0**-60 <= bound <= 2.0**-60


def test_wide_matrices_have_a_row_rank():
    bound, _ = balls.smallest_singular_value(given_matrix([[3.0, 0.0, 4.0]]))
    assert 2.0 < bound <= 5.0


@pytest.mark.parametrize("matrix", [np.ones((2, 2)), np.zeros((1, 1)), np.outer([1, 2, 3], [4, 5, 6])])
def test_a_singular_matrix_is_never_proved(matrix):
    assert balls.smallest_singular_value(given_matrix(matrix)) is None


def test_an_interval_that_holds_a_singular_matrix_is_never_proved():
    assert balls.smallest_singular_value(given_matrix([[1.0, 1.0], [1.0, 2.0]], 0.5)) is None


def test_fractions_become_balls_that_hold_them():
    entry = balls.matrix_of_balls(given_matrix([[Fraction(1, 3)]]))[0, 0]
    assert 3 * entry - 1 == 0 or (3 * entry - 1).contains(0)
