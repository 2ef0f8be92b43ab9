"""The one place from which the certified linear algebra is imported."""

import numpy as np

from verify import linear_algebra
from verify.verdict import Verdict


def test_every_name_is_there_and_documented():
    assert all(getattr(linear_algebra, name).__doc__ for name in linear_algebra.__all__)


def test_the_judges_agree_on_a_matrix_and_on_a_singular_one():
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    for judge in (linear_algebra.certify_nonsingular, linear_algebra.certify_full_row_rank):
        assert judge(matrix).verdict is Verdict.PROVED
        assert judge(np.ones((2, 2))).verdict is Verdict.REFUTED
    assert linear_algebra.rank_bracket(matrix).lower == 2 == linear_algebra.rank_bracket(matrix).upper
    assert linear_algebra.rank_bracket(np.ones((2, 2))).upper == 1
