"""Gram matrices, and how far a factor is from one."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from verify.linear_algebra.gram import distance, factor, gram


def exact_gram(b):
    rows = [[Fraction(float(x)) for x in row] for row in b]
    return [[sum(x * y for x, y in zip(r, s, strict=True)) for s in rows] for r in rows]


@pytest.mark.parametrize("seed", range(8))
def test_the_error_of_a_gram_matrix_is_bounded(seed):
    rng = np.random.default_rng(seed)
    b = rng.standard_normal((6, 40)) * 10.0 ** rng.integers(-8, 8, (6, 1))
    computed = gram(b)
    exact = exact_gram(b)
    squares = sum(
        (Fraction(float(computed.lower[i, j])) - exact[i][j]) ** 2 * (2 - (i == j))
        for i in range(6)
        for j in range(i + 1)
    )
    assert arb(squares.numerator) / arb(squares.denominator) <= (computed.error**2).upper()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shift", [0.0, 0.25, 300.0])
def test_the_distance_bounds_the_exact_one(sign, shift):
    rng = np.random.default_rng(3)
    b = rng.standard_normal((7, 9))
    root = np.tril(rng.standard_normal((7, 7)))
    bound = distance(gram(b), shift, root, sign=sign)
    exact = np.array([[float(x) for x in row] for row in exact_gram(b)])
    true = np.linalg.norm(sign * (exact - shift * np.eye(7)) - root @ root.T, 2)
    assert bound > 0.999 * true
    assert bound < 20 * true + 1e-9


def test_a_good_factor_is_near_and_an_overflowing_one_is_no_number():
    b = np.random.default_rng(5).standard_normal((7, 30))
    k = gram(b)
    root = factor(k, 0.5)
    assert distance(k, 0.5, root) < 1e-9
    assert not distance(k, 0.5, 1e300 * root) < 1e9


def test_there_is_no_factor_below_zero():
    assert factor(gram(np.ones((3, 3))), 1.0) is None


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_a_factor_by_halves_is_the_factor_and_reads_nothing_above_the_diagonal(size, sign, monkeypatch):
    b = np.random.default_rng(size).integers(-4, 5, (size, 2 * size)) + 9.0 * np.eye(size, 2 * size)
    shift = 0.1 if sign == 1 else 1e4
    here = factor(gram(b), shift, sign=sign)
    monkeypatch.setattr("constructions.numeric.cholesky._BLOCK", 2)
    monkeypatch.setattr("constructions.numeric.cholesky.LARGEST_SYMMETRIC", 0)
    monkeypatch.setattr("verify.linear_algebra.gram._BLOCK", 3)
    with monkeypatch.context() as patched:
        patched.setattr(np, "empty", lambda shape: np.full(shape, np.nan))
        k = gram(b)
    there = factor(k, shift, sign=sign)
    assert factor(k, 1e4) is None
    assert k.block == 3
    assert np.array_equal(there, np.tril(there))
    assert np.allclose(here, there, rtol=1e-9, atol=1e-9)
    # Blocks that were never written are not read, and as many of them as are left count as they should.
    bound = distance(k, shift, there, sign=sign)
    exact = sign * (b @ b.T - shift * np.eye(size)) - there @ there.T
    assert np.linalg.norm(exact, 2) <= float(bound.upper()) < 1e-6
