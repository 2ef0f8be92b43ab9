"""Graphs of polynomials: agreements by trying all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.unembeddings.reed_solomon import reed_solomon


@given(st.sampled_from([2, 3, 4, 5, 7, 8, 9]), st.data())
def test_two_graphs_agree_at_no_more_points_than_the_degree(size, data):
    points = data.draw(st.integers(1, size + 1))
    degree = data.draw(st.integers(0, min(points - 1, 3)))
    count = data.draw(st.integers(1, min(size ** (degree + 1), 400)))
    extra = data.draw(st.integers(0, 2))
    found = reed_solomon(size, points, degree, count=count, d_model=points * size + extra)
    products = found.vectors.astype(np.int64) @ found.vectors.T
    assert np.array_equal(np.diag(products), np.full(count, points))
    assert (products - points * np.eye(count, dtype=np.int64)).max() <= degree
    assert (found.least, found.largest) == (points - degree, points)
    assert found.vectors.shape == (count, points * size + extra)


@pytest.mark.parametrize(("size", "points", "degree"), [(3, 3, 1), (4, 5, 2), (5, 6, 2), (9, 9, 1)])
def test_the_whole_family_attains_both_margins(size, points, degree):
    found = reed_solomon(size, points, degree, count=size ** (degree + 1), d_model=size * points)
    products = found.vectors.astype(np.int64) @ found.vectors.T
    others = products[~np.eye(len(products), dtype=bool)]
    assert (others.min(), others.max()) == (0, degree)
    assert found.coherence * points == degree


def test_lines_on_the_whole_projective_line_meet_once_each():
    found = reed_solomon(5, 6, 1, count=25, d_model=30)
    products = found.vectors @ found.vectors.T
    assert np.array_equal(products, 5 * np.eye(25, dtype=np.int8) + 1)


@pytest.mark.parametrize(
    ("size", "points", "degree", "count", "d_model"),
    [(6, 3, 1, 4, 99), (4, 6, 1, 4, 99), (4, 2, 2, 4, 99), (4, 2, -1, 4, 99), (4, 4, 1, 17, 99), (4, 4, 1, 16, 15)],
)
def test_sizes_that_do_not_fit_are_refused(size, points, degree, count, d_model):
    with pytest.raises(InputError, match="expected"):
        reed_solomon(size, points, degree, count=count, d_model=d_model)
