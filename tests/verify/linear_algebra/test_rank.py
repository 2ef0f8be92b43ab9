"""Ranks are bracketed, and every witness proves what it is said to prove."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra import prime_field
from verify.linear_algebra.given_matrix import given_matrix
from verify.linear_algebra.prime_field import PRIMES, Minor, largest_minor, submatrix
from verify.linear_algebra.rank import Compression, Dependency, RankBracket, kernel_or_minor, rank_bracket

SMALL = numbers.arrays(np.int64, numbers.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(-2, 2))


def rank_of(x: Any) -> int:
    table = np.asarray(x, dtype=object)
    entries = [fmpq(v.numerator, v.denominator) for v in map(Fraction, table.ravel().tolist())]
    return fmpq_mat(*table.shape, entries).rank()


def assert_proved(x: Any, bracket: RankBracket) -> None:
    """The witnesses prove the bounds of an exactly given matrix."""
    integers = given_matrix(x).integers
    smaller = min(integers.nrows(), integers.ncols())
    if bracket.lower:
        assert isinstance(bracket.lower_witness, Minor)
        assert len(bracket.lower_witness.rows) == bracket.lower
        assert bracket.lower_witness.proves_rank_of(integers)
    if bracket.upper < smaller:
        assert bracket.upper_witness is not None
        assert len(bracket.upper_witness.pivots) == bracket.upper
        assert bracket.upper_witness.proves_rank_of(integers)


@given(SMALL)
def test_the_rank_of_a_small_integer_matrix_is_found_and_proved(x: np.ndarray) -> None:
    bracket = rank_bracket(x)
    assert bracket.lower == bracket.upper == rank_of(x)
    assert_proved(x, bracket)


@given(numbers.arrays(np.float64, (3, 4), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_the_rank_of_any_floats_is_found_and_proved(x: np.ndarray) -> None:
    bracket = rank_bracket(x)
    assert bracket.lower == bracket.upper == rank_of(x)
    assert_proved(x, bracket)


def test_a_minor_that_does_not_prove_its_rank_is_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
    lies = [Minor(PRIMES[0], (0, 1, 2), (0, 1, 2)), Minor(PRIMES[0], (0, 1), (0, 1)), Minor(PRIMES[0] * 3, (0,), (0,))]
    for lie in lies:
        monkeypatch.setattr("verify.linear_algebra.rank.largest_minor", lambda *_, lie=lie: lie)
        bracket = rank_bracket(x)
        assert (bracket.lower, bracket.upper, bracket.lower_witness) == (0, 3, None)
    honest = largest_minor(given_matrix(x).integers, PRIMES[1])
    minors = iter([*lies, honest])
    monkeypatch.setattr("verify.linear_algebra.rank.largest_minor", lambda *_: next(minors))
    bracket = rank_bracket(x)
    assert (bracket.lower, bracket.upper, bracket.lower_witness) == (2, 2, honest)


@pytest.mark.parametrize("shape", [(40, 40), (30, 50), (50, 30)])
@pytest.mark.parametrize("rank", [0, 1, 17, 29])
def test_deficient_ranks_are_proved_from_above(shape: tuple[int, int], rank: int) -> None:
    rng = np.random.default_rng([*shape, rank])
    x = rng.integers(-9, 10, (shape[0], rank)) @ rng.integers(-9, 10, (rank, shape[1]))
    bracket = rank_bracket(x)
    assert bracket.lower == bracket.upper == rank
    assert_proved(x, bracket)
    assert bracket.upper_witness is not None
    assert bracket.upper_witness.axis == ("columns" if shape[0] >= shape[1] else "rows")


def test_fractions_and_huge_integers_have_ranks() -> None:
    third = Fraction(1, 3)
    assert rank_bracket([[third, 1], [1, 3]]).upper == 1
    assert rank_bracket([[10**300, 1], [1, 10**-300 if False else Fraction(1, 10**300)]]).upper == 1
    assert rank_bracket([[2**200, 1], [1, 2**-200]]).upper == 1
    assert rank_bracket([[2**200, 1], [1, 1]]).lower == 2


def test_an_unlucky_prime_is_followed_by_the_next() -> None:
    product = 1
    for count, prime in enumerate(PRIMES, start=1):
        product *= prime
        x = [[product, 0, 0], [0, 1, 0], [0, 0, 1]]
        bracket = rank_bracket(x)
        if count < len(PRIMES):
            assert bracket.lower == bracket.upper == 3
        else:  # every prime is unlucky: the bracket stays open, and is still true
            assert (bracket.lower, bracket.upper) == (2, 3)
            assert_proved(x, bracket)
        decided = kernel_or_minor(fmpz_mat(x))
        assert decided == (Minor(PRIMES[count], (0, 1, 2), (0, 1, 2)) if count < len(PRIMES) else None)


def test_a_matrix_without_entries_has_rank_zero() -> None:
    assert (rank_bracket(np.zeros((0, 3))).lower, rank_bracket(np.zeros((3, 0))).upper) == (0, 0)
    assert rank_bracket(np.zeros((2, 3))).upper == 0


@given(SMALL)
def test_kernel_vectors_are_primitive_and_in_the_kernel(x: np.ndarray) -> None:
    matrix = fmpz_mat(*x.shape, x.ravel().tolist())
    kernel = kernel_or_minor(matrix)
    assert isinstance(kernel, Minor) == (rank_of(x) == x.shape[1])
    if isinstance(kernel, Minor):
        assert kernel.columns == tuple(range(x.shape[1])) and kernel.proves_rank_of(matrix)
    else:
        assert kernel is not None
        assert any(kernel) and not (x.astype(object) @ np.array(kernel, dtype=object)).any()
        assert np.gcd.reduce(np.array(kernel, dtype=object)) == 1


def test_minors_and_submatrices_pick_the_right_entries() -> None:
    x = fmpz_mat(3, 4, list(range(12)))
    assert submatrix(x, (0, 2), (1, 3)).tolist() == [[1, 3], [9, 11]]
    assert submatrix(x, (0, 1, 2), (0, 1, 2, 3)) == x
    minor = largest_minor(fmpz_mat(3, 3, [0, 0, 0, 0, 2, 4, 0, 3, 7]), PRIMES[0])
    assert (minor.rows, minor.columns) == ((1, 2), (1, 2))


def test_the_primes_are_primes_that_fit_a_machine_word() -> None:
    from flint import fmpz

    assert all(fmpz(p).is_prime() and p < 2**63 for p in prime_field.PRIMES)


def test_the_rank_of_a_set_is_bounded_from_below() -> None:
    rng = np.random.default_rng(0)
    for rank in (0, 1, 5, 9):
        exact = rng.integers(-9, 10, (12, rank)) @ rng.integers(-9, 10, (rank, 10))
        bracket = rank_bracket(Enclosure(exact.astype(np.float64), 1e-6))
        assert bracket.lower == rank and bracket.upper == 10
        if rank:
            assert isinstance(bracket.lower_witness, Compression)
            assert bracket.lower_witness.left.shape == (rank, 12)
            assert bracket.lower_witness.proves_rank_of(Enclosure(exact.astype(np.float64), 1e-6))


def test_a_wider_set_has_less_certain_rank() -> None:
    x = np.diag([1.0, 1e-3, 1e-6, 1e-9]) @ np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    x = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0] @ x
    ranks = [rank_bracket(Enclosure(x, radius)).lower for radius in (1e-12, 1e-8, 1e-5, 1e-2, 10.0)]
    assert ranks == [4, 3, 2, 1, 0]


def test_scaling_of_rows_and_columns_does_not_lower_the_rank_of_a_set() -> None:
    rng = np.random.default_rng(3)
    rows, columns = 2.0 ** rng.integers(-200, 200, (6, 1)), 2.0 ** rng.integers(-200, 200, 8)
    x = rng.standard_normal((6, 8)) * rows * columns
    assert rank_bracket(Enclosure(x, np.abs(x) * 1e-9)).lower == 6


def test_a_compression_is_judged_on_every_member() -> None:
    """The midpoint has rank 2, but [[1, 1], [1, 1]] is in the set."""
    identity = Compression(np.eye(2), np.eye(2))
    assert identity.proves_rank_of(Enclosure([[2.0, 1.0], [1.0, 2.0]], 0.9)) is False
    assert identity.proves_rank_of(Enclosure(np.eye(2), 0.45))
    assert not identity.proves_rank_of(Enclosure(np.eye(2), 0.5))


def test_dependencies_are_of_rows_too() -> None:
    x = fmpz_mat(3, 2, [1, 2, 2, 4, 3, 6])
    assert Dependency("rows", (0,), 1, ((2, 3),)).proves_rank_of(x)
    assert Dependency("columns", (0,), 1, ((2,),)).proves_rank_of(x)
    assert Dependency("columns", (1,), 2, ((1,),)).proves_rank_of(x)
    assert not Dependency("rows", (0,), 1, ((2,),)).proves_rank_of(x)
