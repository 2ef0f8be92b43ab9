"""The bound by orders of the tokens: below every encoder of rank 1, and the best that orders alone give."""

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import distributions
from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import InputError
from verify.theorems.encoders.encoder_ceiling import encoder_divergence
from verify.theorems.encoders.ordering_floor import ordering_floor


def isotonic_cost(distribution):
    """The least KL(distribution || q) over all q that fall, by blocks of means found by brute force over all cuts."""
    size, best = len(distribution), np.inf
    for cuts in range(2 ** (size - 1)):
        ends = [k + 1 for k in range(size - 1) if cuts >> k & 1] + [size]
        q, start = [], 0
        for end in ends:
            q += [sum(distribution[start:end]) / (end - start)] * (end - start)
            start = end
        if all(a >= b - 1e-15 for a, b in pairwise(q)):
            best = min(best, sum(p * np.log(p / r) for p, r in zip(distribution, q, strict=True) if p > 0))
    return best


@given(st.data())
def test_no_encoder_of_rank_one_is_below_the_bound(data):
    tokens, rows = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    given_distributions = data.draw(distributions(d_vocab=tokens, rows=rows))
    prior = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows).filter(any))
    floor = ordering_floor(given_distributions.tolist(), prior=prior)
    found = best_encoder(given_distributions, 1, prior=np.array(prior), starts=4, iterations=200)
    assert 0.0 <= floor <= encoder_divergence(found.E, found.W, given_distributions, prior=prior)[1]


@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_it_is_the_isotonic_cost_of_the_best_order(tokens, rows, seed):
    given_distributions = np.random.default_rng(seed).integers(1, 9, size=(rows, tokens))
    masses = given_distributions / given_distributions.sum(axis=1, keepdims=True)
    best = min(
        sum(
            min(isotonic_cost(distribution[list(order)]), isotonic_cost(distribution[list(order)[::-1]]))
            for distribution in masses
        )
        for order in permutations(range(tokens))
    )
    assert ordering_floor(given_distributions.tolist()) == pytest.approx(best / rows, abs=1e-12)


def test_the_smallest_instance_costs_half_a_merged_pair():
    exact = (0.3 * np.log(1.5) + 0.1 * np.log(0.5)) / 2
    assert exact - 1e-12 < ordering_floor([[6, 3, 1], [6, 1, 3]]) <= exact
    assert ordering_floor([[Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)], [6, 1, 3]]) == pytest.approx(exact)


def test_one_distribution_and_opposite_distributions_have_an_order_of_their_own():
    assert ordering_floor([[5, 1, 3, 2]]) == 0.0
    assert ordering_floor([[5, 3, 2, 1], [1, 2, 3, 5]]) == 0.0


def test_certain_distributions_of_three_tokens_do_not_fit_on_a_line():
    # Theorem: the infimum is sum of rho_(i) log ceil(i / 2), here log(2) / 3; the orders alone see it all.
    assert ordering_floor([[1, 0, 0], [0, 1, 0], [0, 0, 1]]) == pytest.approx(np.log(2) / 3)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1] * 9],), {}, "9 tokens"),
        (([[1, -1]],), {}, "negative"),
        (([[0, 0]],), {}, "row of zeros"),
        (([[1, 1]],), dict(prior=[1, 1]), "prior is"),
        (([[1, 1]],), dict(prior=[0]), "prior is"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        ordering_floor(*arguments, **options)
