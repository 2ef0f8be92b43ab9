"""Vectors along the axes: all leads, by multiplying out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError
from constructions.unembeddings.axes import basis, cross_polytope, simplex

MOST = {basis: lambda d: d, simplex: lambda d: d + 1, cross_polytope: lambda d: 2 * d}


@given(st.sampled_from([basis, simplex, cross_polytope]), st.integers(1, 7), st.data())
def test_the_margins_are_those_promised(family, d_model, data):
    count = data.draw(st.integers(2, max(2, MOST[family](d_model))))
    if count > MOST[family](d_model):
        count = 1
    if count == 1 and family is simplex:
        return
    found = family(count, d_model)
    products = found.encoders @ found.vectors.T
    leads = (np.diag(products)[:, None] - products)[~np.eye(count, dtype=bool)]
    assert found.vectors.shape == (count, d_model)
    assert ((found.least <= leads) & (leads <= found.largest)).all()


@pytest.mark.parametrize(("family", "kappa"), [(basis, 1), (simplex, 1), (cross_polytope, 2)])
def test_the_largest_of_each_family_and_no_more(family, kappa):
    assert family(MOST[family](5), 5).kappa == kappa
    with pytest.raises(CapacityError, match="d = 5"):
        family(MOST[family](5) + 1, 5)
