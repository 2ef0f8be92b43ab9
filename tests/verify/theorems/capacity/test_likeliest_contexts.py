"""The number of the likeliest contexts, against all subsets of a few."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.theorems.capacity.likeliest_contexts import likeliest_contexts

WEIGHTS = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)
EPSILONS = st.fractions(0, 1, max_denominator=30)


@given(WEIGHTS, EPSILONS, st.booleans())
def test_no_smaller_set_of_contexts_carries_as_much(weights, epsilon, strictly):
    def enough(chosen):
        share = Fraction(sum(chosen), sum(weights))
        return share > 1 - epsilon if strictly else share >= 1 - epsilon

    sizes = [n for n in range(len(weights) + 1) if any(map(enough, combinations(weights, n)))]
    assert likeliest_contexts(weights, epsilon, strictly=strictly) == (sizes[0] if sizes else None)


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_weights_that_are_no_probabilities_are_refused(weights):
    with pytest.raises(InputError, match="weights"):
        likeliest_contexts(weights, 0)


@pytest.mark.parametrize("epsilon", [-1, 2])
def test_an_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        likeliest_contexts([1], epsilon)
