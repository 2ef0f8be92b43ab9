"""Minors modulo primes."""

import pytest
from flint import fmpz, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from verify.linear_algebra.prime_field import PRIMES, Minor, largest_minor, submatrix

tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(st.integers(-9, 9), min_size=width, max_size=width), min_size=1, max_size=5)
)


def test_the_primes_are_primes():
    assert all(fmpz(p).is_prime() for p in PRIMES)


@given(tables)
def test_the_largest_minor_proves_the_rank_and_no_more(table):
    matrix = fmpz_mat(table)
    minor = largest_minor(matrix, PRIMES[0])
    assert minor.proves_rank_of(matrix) and len(minor.rows) == matrix.rank()


@pytest.mark.parametrize(
    "minor",
    [
        Minor(4, (0,), (0,)),
        Minor(7, (0,), (0,)),
        Minor(2**64, (0,), (0,)),
        Minor(PRIMES[0], (0, 0), (0, 1)),
        Minor(PRIMES[0], (1, 0), (0, 1)),
        Minor(PRIMES[0], (0, 2), (0, 1)),
        Minor(PRIMES[0], (-1,), (0,)),
        Minor(PRIMES[0], (0, 1), (0,)),
        Minor(PRIMES[0], (0, 1), (0, 2)),
        Minor(PRIMES[0], (0.5,), (0,)),  # type: ignore[arg-type]
    ],
)
def test_a_forged_minor_proves_nothing(minor):
    assert not minor.proves_rank_of(fmpz_mat([[7, 1, 14], [2, 3, 4]]))


def test_a_submatrix_takes_rows_and_columns_in_order():
    assert submatrix(fmpz_mat([[1, 2, 3], [4, 5, 6]]), (1,), (0, 2)).tolist() == [[4, 6]]
