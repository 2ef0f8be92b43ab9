"""Finite fields: the axioms, by trying all elements."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.unembeddings.finite_field import LARGEST, finite_field, prime_power

SMALL = [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 32]


@pytest.mark.parametrize("size", SMALL)
def test_the_axioms_of_a_field_hold(size):
    field = finite_field(size)
    a, b, c = np.meshgrid(*[np.arange(size)] * 3, indexing="ij")
    assert np.array_equal(field.add(field.add(a, b), c), field.add(a, field.add(b, c)))
    assert np.array_equal(field.multiply(field.multiply(a, b), c), field.multiply(a, field.multiply(b, c)))
    assert np.array_equal(field.multiply(a, field.add(b, c)), field.add(field.multiply(a, b), field.multiply(a, c)))
    assert np.array_equal(field.add(a, b), field.add(b, a)) and np.array_equal(
        field.multiply(a, b), field.multiply(b, a)
    )
    assert np.array_equal(field.add(a, 0 * a), a) and np.array_equal(field.multiply(a, 0 * a + 1), a)
    x = np.arange(size)
    everything = set(range(size))
    assert all(set(field.add(x, np.array(y)).tolist()) == everything for y in x)
    assert all(set(field.multiply(x, np.array(y)).tolist()) == everything for y in x[1:])


@pytest.mark.parametrize("size", SMALL)
def test_powers_are_repeated_products(size):
    field = finite_field(size)
    x = np.arange(size)
    cube = field.multiply(x, field.multiply(x, x))
    assert np.array_equal(field.power(x, 3), cube) and np.array_equal(field.power(x, 1), x)


@pytest.mark.parametrize("size", SMALL)
def test_the_trace_is_additive_onto_the_prime_field_and_unchanged_by_conjugation(size):
    field = finite_field(size)
    x = np.arange(size)
    a, b = np.meshgrid(x, x)
    assert np.array_equal(field.traces[field.add(a, b)], (field.traces[a] + field.traces[b]) % field.characteristic)
    assert np.array_equal(field.traces[field.power(x, field.characteristic)], field.traces)
    assert np.bincount(field.traces).tolist() == [size // field.characteristic] * field.characteristic


@pytest.mark.parametrize("degree", [10, 12])
def test_large_binary_fields_have_as_many_powers_as_nonzero_elements(degree):
    field = finite_field(2**degree)
    assert sorted(field.powers.tolist()) == list(range(1, 2**degree))
    assert np.array_equal(field.add(np.array([5]), np.array([3])), [6])


def test_prime_powers_are_told_from_other_numbers():
    powers = {p**e: (p, e) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47) for e in range(1, 6)}
    assert all(prime_power(n) == powers.get(n) for n in range(50))
    assert prime_power(43**2) == (43, 2) and prime_power(43 * 47) is None


@pytest.mark.parametrize("size", [-3, 0, 1, 6, 12, 2 * LARGEST])
def test_sizes_without_a_field_are_refused(size):
    with pytest.raises(InputError, match=f"size is {size}, expected a prime power"):
        finite_field(size)
