"""Integer rows and relations: nothing is rounded, and no relation is believed."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq_mat, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.linear_algebra.exact_rows import Relation, decide_independence, integer_rows
from verify.verdict import Verdict

small = st.integers(0, 5).flatmap(
    lambda rows: st.integers(1, 4).flatmap(
        lambda columns: st.lists(st.integers(-2, 2), min_size=rows * columns, max_size=rows * columns).map(
            lambda entries: np.array(entries, dtype=np.float64).reshape(rows, columns)
        )
    )
)


@given(small)
def test_the_verdict_is_that_of_rational_elimination(vectors):
    found = decide_independence(vectors)
    rank = fmpq_mat(fmpz_mat(*vectors.shape, [int(x) for x in vectors.ravel()])).rank() if len(vectors) else 0
    assert found.verdict is (Verdict.PROVED if rank == len(vectors) else Verdict.REFUTED)
    assert (found.relation is None) == (rank == len(vectors))
    if found.relation is not None:
        combined = sum(c * vectors[i] for i, c in zip(found.relation.rows, found.relation.coefficients, strict=True))
        assert not np.any(combined)


@given(st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4))
def test_floats_become_integers_in_exact_proportion(entries):
    rows = [int(x) for x in integer_rows(np.array(entries).reshape(2, 2)).entries()]
    pairs = [(n, Fraction(x)) for n, x in zip(rows, entries, strict=True)]
    units = {n / x for n, x in pairs if x}
    assert len(units) <= 1 and all(unit > 0 for unit in units)
    assert all(n == 0 for n, x in pairs if x == 0)


def test_one_last_bit_makes_the_difference():
    vectors = np.array([[1.0, 3.0], [1.0 / 3.0, 1.0]])
    assert decide_independence(vectors).verdict is Verdict.PROVED
    assert decide_independence(np.array([[1.0, 3.0], [1.0, 3.0]])).verdict is Verdict.REFUTED


def test_relations_that_are_none_do_not_hold():
    vectors = [[1, 0], [2, 0], [0, 1]]
    assert Relation((0, 1), (2, -1)).holds_for(vectors)
    for rows, coefficients in [
        ((0, 1), (2, 1)),
        ((0, 2), (1, 1)),
        ((), ()),
        ((0, 1), (0, 0)),
        ((1, 0), (-1, 2)),
        ((0, 0), (1, -1)),
        ((0, 3), (1, 1)),
        ((-1, 0), (1, 1)),
        ((0, 1), (2,)),
    ]:
        assert not Relation(rows, coefficients).holds_for(vectors)


def test_rows_are_named_by_their_number_in_the_whole():
    assert decide_independence([[5, 5], [1, 0], [0, 1], [3, 0]], (1, 3)).relation == Relation((1, 3), (3, -1))


def test_a_nan_is_refused():
    with pytest.raises(InputError, match="vectors has the entry nan"):
        integer_rows([[float("nan")]])
