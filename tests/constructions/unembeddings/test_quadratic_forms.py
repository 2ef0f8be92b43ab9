"""Rows of signs and axis vectors: the margins promised are those of the integers, always."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.unembeddings.delsarte_goethals import delsarte_goethals_forms
from constructions.unembeddings.quadratic_forms import margins, scales, vectors_of_forms


def leads(vectors):
    products = vectors.astype(np.int64) @ vectors.T.astype(np.int64)
    all_leads = np.diag(products)[:, None] - products
    return all_leads[~np.eye(len(vectors), dtype=bool)]


@given(st.integers(0, 12), st.integers(1, 6), st.integers(0, 3))
def test_sub_selections_keep_the_promised_margins(axes, forms, extra):
    d_model = 16 + extra
    of_forms = 16 * forms - min(axes, 3)
    found = vectors_of_forms(
        "test",
        islice(delsarte_goethals_forms(4, 0), 6),
        dimension=16,
        product=4,
        count=of_forms + axes,
        d_model=d_model,
        of_forms=of_forms,
    )
    exact = leads(found.vectors)
    assert found.vectors.shape == (of_forms + axes, d_model)
    assert found.least <= exact.min() and exact.max() <= found.largest
    if forms > 1:
        assert (found.least, found.largest) == (exact.min(), exact.max()) == (12, 20)
    assert len(np.unique(found.vectors, axis=0)) == of_forms + axes


@pytest.mark.parametrize(("dimension", "product"), [(8, 4), (32, 8), (128, 16), (512, 32)])
def test_axis_vectors_cost_nothing_where_the_norms_are_irrational(dimension, product):
    s, c = scales(dimension, product, crossed=True)
    least, largest = margins(dimension, product, s, c, crossed=True)
    assert s * s * dimension != c * c and max(s, c) < 128
    assert Fraction(largest, least) == Fraction(dimension + product, dimension - product)


def test_with_rational_norms_all_norms_are_equal():
    assert [scales(4**k, 2**k, crossed=True) for k in range(1, 7)] == [(1, 2**k) for k in range(1, 7)]
    assert scales(64, 8, crossed=False) == (1, 1)


def test_axis_vectors_longer_than_int8_holds_are_refused():
    with pytest.raises(InputError, match="dimension is 65536"):
        scales(65536, 256, crossed=True)


@pytest.mark.parametrize(("count", "d_model"), [(4 + 6, 5), (3, 5), (4, 3)])
def test_more_axis_vectors_than_axes_are_refused(count, d_model):
    with pytest.raises(InputError, match="axis vectors"):
        vectors_of_forms("test", iter([]), dimension=4, product=2, count=count, d_model=d_model, of_forms=4)
