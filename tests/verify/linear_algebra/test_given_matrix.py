"""A user's matrix is taken for what it is: nothing is cast in silence."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpz
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from constructions.errors import InputError
from tests.exact_values import exactly
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats
from verify.linear_algebra.given_matrix import GivenMatrix, given_matrix


def fraction_of(v: Any) -> Fraction:
    if isinstance(v, fmpq):
        return Fraction(int(v.p), int(v.q))
    return Fraction(float(v)) if isinstance(v, float | np.floating) else Fraction(int(v))


def assert_holds(found: GivenMatrix, exact: np.ndarray) -> None:
    radius = np.broadcast_to(found.enclosure.radius, found.shape)
    for middle, r, truth in zip(found.enclosure.midpoint.flat, radius.flat, exact.flat, strict=True):
        assert np.isinf(r) or abs(Fraction(float(middle)) - truth) <= Fraction(float(r))


@given(numbers.arrays(np.float64, (2, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_floats_are_what_they_are(x: Floats) -> None:
    found = given_matrix(x)
    assert found.exact and found.entries is None and not found.enclosure.radius.any()
    assert np.array_equal(found.enclosure.midpoint, x)
    assert np.array(found.fractions, dtype=object).tolist() == exactly(x).tolist()


@given(numbers.arrays(np.float64, (2, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_integer_rows_are_positive_multiples_of_the_rows(x: Floats) -> None:
    integers = given_matrix(x).integers.tolist()
    for row, exact in zip(integers, exactly(x), strict=True):
        factors = {Fraction(int(n)) / v for n, v in zip(row, exact, strict=True) if v}
        assert len(factors) <= 1 and all(factor > 0 for factor in factors)
        assert all(n == 0 for n, v in zip(row, exact, strict=True) if not v)


@given(st.lists(st.lists(st.fractions(), min_size=3, max_size=3), min_size=1, max_size=3))
def test_fractions_get_a_radius_and_keep_their_values(rows: list[list[Fraction]]) -> None:
    found = given_matrix(np.array(rows, dtype=object))
    assert found.exact
    assert_holds(found, exactly(rows))
    assert found.fractions == rows
    for row, exact in zip(found.integers.tolist(), rows, strict=True):
        assert len({Fraction(int(n)) / v for n, v in zip(row, exact, strict=True) if v}) <= 1


@given(st.lists(st.integers(-(2**200), 2**200), min_size=2, max_size=2), st.floats(0.0, 1e300))
def test_integers_of_any_size_lie_in_their_enclosure(row: list[int], radius: float) -> None:
    found = given_matrix([row], radius)
    for sign in (-1, 1):
        assert_holds(found, exactly([row]) + sign * Fraction(radius))
    assert found.exact == (radius == 0.0)
    assert found.integers.nrows() == 1


def test_a_given_radius_is_added_to_that_of_the_rounding() -> None:
    for radius in (5.0, 0.1, 2.0**-60):
        found = given_matrix([[2**53 + 1]], radius)
        for sign in (-1, 1):
            assert_holds(found, exactly([[2**53 + 1]]) + sign * Fraction(radius))


def test_the_radius_of_a_rounded_integer_is_not_larger_than_needed() -> None:
    assert given_matrix([[2**53 + 1]]).enclosure.radius.item() <= 1.0 + 2.0**-50
    assert given_matrix([[2**53]]).enclosure.radius.item() == 0.0


@pytest.mark.parametrize("kind", ["i1", "u1", "i8", "u8", "f2", "f4", ">f8", ">i8", "?"])
def test_every_real_dtype_is_read(kind: str) -> None:
    x = np.array([[1, 0], [1, 1]]).astype(kind)
    found = given_matrix(x)
    assert found.enclosure.midpoint.dtype == np.float64 and found.enclosure.midpoint.tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(
    "x",
    [
        np.array([[2**63 - 1, -(2**63)]], dtype=np.int64),
        np.array([[2**64 - 1, 2**53 + 1]], dtype=np.uint64),
        np.array([[-(2**53) - 1, 0]], dtype=np.int64),
        [[2**63, -1]],
        [[2**60 + 1, 0.5]],
        [[2**53 + 1, 10**400]],
        [[fmpz(3) ** 50, fmpq(1, 3)]],
        [[np.int64(2**60 + 1), np.float32(0.5)]],
        [[*np.array([2**60 + 1]), 0.5]],
    ],
    ids=range(9),
)
def test_large_and_mixed_integers_stay_exact(x: Any) -> None:
    found = given_matrix(x)
    entries = x.ravel().tolist() if isinstance(x, np.ndarray) else x[0]
    truth = [fraction_of(v) for v in entries]
    assert found.exact and found.fractions == [truth]
    assert_holds(found, np.array([truth], dtype=object))


def test_lists_of_arrays_of_different_types_stay_exact() -> None:
    found = given_matrix([np.array([2**60 + 1, 1]), np.array([0.5, 0.25])])
    assert found.fractions == [[2**60 + 1, 1], [Fraction(1, 2), Fraction(1, 4)]]


def test_what_float64_cannot_reach_has_an_infinite_radius() -> None:
    found = given_matrix([[10**400, 1]])
    assert found.exact
    assert np.isinf(found.enclosure.radius[0, 0]) and found.enclosure.radius[0, 1] == 0.0


def test_an_enclosure_is_taken_as_it_is() -> None:
    x = Enclosure([[1.0, 2.0]], 0.5)
    assert given_matrix(x).enclosure is x and not given_matrix(x).exact
    assert given_matrix(Enclosure([[1.0]])).exact
    assert np.isinf(given_matrix(Enclosure([[np.nan]])).enclosure.radius).all()


def test_the_transpose_is_the_transpose() -> None:
    found = given_matrix(np.array([[Fraction(1, 3), 2, 2**70]], dtype=object), 0.5).transposed()
    assert found.shape == (3, 1) and not found.exact
    assert found.fractions == [[Fraction(1, 3)], [2], [2**70]]
    assert found.enclosure.midpoint[1, 0] == 2.0 and found.enclosure.radius.shape == (3, 1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.ones(3), r"matrix has the shape \(3,\), expected two dimensions"),
        ([[1.0, np.nan]], r"matrix has the entry nan at \[0, 1\]"),
        ([[1.0], [np.inf]], r"matrix has the entry inf at \[1, 0\]"),
        ([[1.0], [2.0, 3.0]], "matrix is not a rectangular array"),
        (np.ones((1, 1), dtype=complex), "matrix has dtype complex128"),
        ([["1"]], "matrix has dtype <U1"),
        (np.array([[1, "x"]], dtype=object), r"matrix\[0, 1\] is 'x'"),
        (np.array([[1, float("inf")]], dtype=object), r"matrix\[0, 1\] is inf"),
        (np.ma.masked_array([[1.0]], mask=[[True]]), "matrix is a masked array"),
        ([np.ma.masked_array([1.0], mask=[True])], "matrix is a masked array"),
    ],
)
def test_the_messages_name_the_fault(values: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        given_matrix(values)


@pytest.mark.parametrize("radius", [10**400, Fraction(10**400), np.array([[10**400]], dtype=object)])
def test_an_exact_radius_beyond_float64_is_refused_and_never_forgotten(radius: object) -> None:
    with pytest.raises(InputError, match="beyond the range of float64"):
        given_matrix([[1.0]], radius)  # type: ignore[arg-type]


@pytest.mark.parametrize("radius", [-(10**400), Fraction(-1, 10**400)])
def test_an_exact_negative_radius_is_refused_however_small_or_large(radius: object) -> None:
    with pytest.raises(InputError, match=">= 0"):
        given_matrix([[1.0]], [[radius]])  # type: ignore[arg-type]


def test_an_exact_radius_is_rounded_up() -> None:
    third = given_matrix([[1.0]], [[Fraction(1, 3)]]).enclosure.radius
    assert Fraction(float(third[0, 0])) > Fraction(1, 3)


def test_the_rounding_of_an_entry_joins_a_large_radius_upwards():
    given = given_matrix([[Fraction(1, 3)]], 1.0)
    midpoint, radius = Fraction(given.enclosure.midpoint[0, 0]), Fraction(given.enclosure.radius[0, 0])
    assert abs(Fraction(1, 3) - midpoint) + 1 <= radius
