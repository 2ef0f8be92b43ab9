"""Balancing by powers of two loses nothing that its radius does not say."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.balancing import balanced


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32), st.booleans(), st.integers(0, 1070))
def test_every_scaled_entry_is_within_its_radius_of_the_exact_one(rows, columns, seed, both, spread):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns)) * 2.0 ** rng.integers(-spread, min(spread, 900) + 1, (rows, columns))
    result = balanced(Enclosure(x), columns=both)
    radius = np.broadcast_to(result.scaled.radius, x.shape)
    for (i, j), entry in np.ndenumerate(x):
        shift = int(result.row_exponents[i]) + int(result.column_exponents[j])
        exact = Fraction(float(entry)) * (Fraction(2) ** shift)
        assert abs(Fraction(float(result.scaled.midpoint[i, j])) - exact) <= Fraction(float(radius[i, j]))


def test_graded_rows_come_to_one_size():
    x = np.diag([1e-200, 1.0, 1e200])
    scaled = balanced(Enclosure(x)).scaled.midpoint
    assert (scaled.diagonal() >= 0.5).all() and (scaled.diagonal() < 1.0).all()


def test_a_radius_is_scaled_with_its_row():
    x = Enclosure(np.array([[2.0**40], [1.0]]), np.array([[2.0**20], [0.0]]))
    result = balanced(x, columns=False)
    assert result.scaled.radius[0, 0] >= 2.0 ** (20 + int(result.row_exponents[0]))
