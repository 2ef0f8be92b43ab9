"""Three ranks of one matrix."""

import numpy as np
import pytest

from constructions.errors import InputError
from verify.linear_algebra.numerical_rank import numerical_ranks


def test_full_rank_is_lost_step_by_step_to_the_tolerances():
    matrix = np.diag([1.0, 2.0**-30, 2.0**-60]) + np.tri(3, k=-1)
    ranks = numerical_ranks(matrix)
    assert (ranks.exact_lower, ranks.exact_upper) == (3, 3)
    matrix = np.diag([1.0, 2.0**-30, 2.0**-60])
    ranks = numerical_ranks(matrix)
    assert (ranks.exact_lower, ranks.float64, ranks.float32) == (3, 2, 1)
    assert ranks.spread == 2.0**-60


def test_a_rank_that_is_really_smaller_is_proved_from_both_sides():
    ranks = numerical_ranks(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    assert (ranks.exact_lower, ranks.exact_upper, ranks.float64, ranks.float32) == (1, 1, 1, 1)


def test_zeros_and_numbers_beyond_float32_are_no_trouble():
    assert numerical_ranks(np.zeros((2, 2))).spread == 0.0
    assert numerical_ranks(np.array([[1e300]])).float32 == 0


@pytest.mark.parametrize("matrix", [np.zeros((0, 2)), np.ones(3), np.array([[np.inf]])])
def test_what_is_no_matrix_is_refused(matrix):
    with pytest.raises(InputError):
        numerical_ranks(matrix)


def test_integers_that_float64_would_round_are_refused():
    # Rounded, the rows would be equal, and the rank 1 would pass for proved.
    with pytest.raises(InputError, match="matrix has the entry 9007199254740993"):
        numerical_ranks([[2**53 + 1, 0.5], [2**53, 0.5]])
