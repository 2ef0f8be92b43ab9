"""Exponentials of square roots of primes: what is checked before the theorem is believed."""

import pytest

from verify.theorems.capacity.prime_roots import independent_exponentials
from verify.verdict import Verdict


@pytest.mark.parametrize("primes", [[2], [2, 3], [5, 2, 10007]])
def test_distinct_primes_are_enough(primes):
    assert independent_exponentials(primes) is Verdict.PROVED


@pytest.mark.parametrize("numbers", [[], [2, 2], [4], [2, 3, 6], [1], [0], [-2]])
def test_other_numbers_prove_nothing(numbers):
    assert independent_exponentials(numbers) is Verdict.UNDECIDED
