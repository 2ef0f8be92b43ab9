"""Tests of verify/folds/boxes.py: halves of boxes cover them."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verify.folds.boxes import halves

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(middle=numbers, half=st.floats(0.0, 1e3), share=st.floats(-1.0, 1.0))
def test_each_point_of_a_box_lies_in_a_half(middle: float, half: float, share: float) -> None:
    box = np.array([[[middle, 0.5]]]), np.array([[[half, 0.0]]])
    owner, middles, sizes = halves(np.array([7]), *box, np.ones((1, 2)))
    assert owner.tolist() == [7, 7]
    point = Fraction(middle) + Fraction(share) * Fraction(half)
    memorized = [
        abs(point - Fraction(float(m))) <= Fraction(float(h))
        for m, h in zip(middles[:, 0, 0], sizes[:, 0, 0], strict=True)
    ]
    assert any(memorized)
    assert (sizes[:, 0, 0] <= 0.5 * half + 1e-14 * (abs(middle) + half) + 1e-300).all()
