"""The truncated logarithms of distributions, and the distributions that they are tried on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import distributions
from constructions.encoders.truncated_distributions import (
    hadamard_distributions,
    nearly_planar_distributions,
    random_distributions,
    rank_one_distributions,
    sharp_distributions,
    token_pair_distributions,
    truncated_distributions,
)
from constructions.errors import HypothesisError, InputError


def centred_logarithms(weights):
    logarithms = np.log(weights)
    return logarithms - logarithms.mean(axis=1, keepdims=True)


@given(st.data())
def test_no_other_logits_of_the_rank_are_nearer(data):
    tokens, rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    weights = data.draw(distributions(d_vocab=tokens, rows=rows))
    rank = data.draw(st.integers(0, min(tokens, rows)))
    found = truncated_distributions(weights, rank)
    target = centred_logarithms(weights)
    loss = np.linalg.norm(found.E @ found.W.T - target) ** 2
    tail = (np.linalg.svd(target, compute_uv=False)[rank:] ** 2).sum()
    assert loss == pytest.approx(tail, rel=1e-6, abs=1e-20)
    assert found.W.T @ found.W == pytest.approx(np.eye(rank), abs=1e-12)


def test_the_prior_weighs_the_contexts():
    weights = random_distributions(6, 5, spread=1.0, rank=2, noise=0.5, seed=0)
    prior = np.array([100.0, 1.0, 1.0, 1e-3, 2.0, 0.0])
    target = centred_logarithms(weights)

    def loss(found):
        return (prior[:, None] * (found.E @ found.W.T - target) ** 2).sum()

    tail = (np.linalg.svd(np.sqrt(prior)[:, None] * target, compute_uv=False)[2:] ** 2).sum()
    assert loss(truncated_distributions(weights, 2, prior=prior)) == pytest.approx(tail)
    assert loss(truncated_distributions(weights, 2)) > 1.01 * tail


def test_the_logarithms_themselves_are_truncated_on_request():
    weights = random_distributions(6, 5, spread=1.0, rank=2, noise=0.5, seed=0)
    logarithms = np.log(weights / weights.sum(axis=1, keepdims=True))
    found = truncated_distributions(weights, 2, without_means=False)
    tail = (np.linalg.svd(logarithms, compute_uv=False)[2:] ** 2).sum()
    assert ((found.E @ found.W.T - logarithms) ** 2).sum() == pytest.approx(tail)


@pytest.mark.parametrize("tokens", [2, 4, 8, 16])
def test_the_logarithms_of_hadamard_distributions_are_orthogonal_and_have_mean_zero(tokens):
    weights = hadamard_distributions(tokens, 0.25)
    assert weights.shape == (tokens - 1, tokens)
    logarithms = np.log(weights)
    assert logarithms.sum(axis=1) == pytest.approx(0.0, abs=1e-12)
    assert logarithms @ logarithms.T == pytest.approx(tokens * 0.0625 * np.eye(tokens - 1), abs=1e-12)
    assert len(np.unique(weights)) == 2


def test_the_distributions_of_token_pairs_are_symmetric_under_the_exchange_within_pairs():
    weights = token_pair_distributions(3, size=0.01, depth=30.0)
    swapped = np.arange(6) ^ 1
    assert np.array_equal(weights[swapped][:, swapped], weights)
    assert len(np.unique(weights)) == 3


def test_the_powers_of_two_have_rank_one_without_their_means():
    values = np.linalg.svd(centred_logarithms(rank_one_distributions(5, 6)), compute_uv=False)
    assert values[0] > 1.0 > 1e-12 > values[1]


def test_a_second_distribution_can_have_copies():
    assert sharp_distributions(0.1, copies=4).shape == (5, 3)
    assert (sharp_distributions(0.1, copies=4)[1:] == sharp_distributions(0.1)[1]).all()


def test_nearly_planar_distributions_are_distributions_of_full_support_with_their_modes_on_the_diagonal():
    weights = nearly_planar_distributions(32, noise=0.01, seed=1)
    assert weights.min() > 0.0 and weights.sum(axis=1) == pytest.approx(1.0)
    assert (weights.argmax(axis=1) == np.arange(32)).all()


def test_arguments_out_of_range_are_refused():
    ones = np.ones((2, 3))
    for rank in (-1, 3):
        with pytest.raises(InputError, match="rank"):
            truncated_distributions(ones, rank)
    with pytest.raises(HypothesisError, match="full support"):
        truncated_distributions(np.array([[1.0, 0.0]]), 1)
    for prior in (np.ones(3), np.array([-1.0, 1.0]), np.array([np.nan, 1.0]), np.array([np.inf, 1.0])):
        with pytest.raises(InputError, match="prior"):
            truncated_distributions(ones, 1, prior=prior)
    for bad in (np.ones(3), np.ones((0, 2)), np.array([[np.inf, 1.0]]), np.array([[np.nan, 1.0]])):
        with pytest.raises(InputError, match="distributions has shape"):
            truncated_distributions(bad, 0)
    with pytest.raises(InputError, match="power of two"):
        hadamard_distributions(6, 0.1)
    with pytest.raises(InputError, match="pairs"):
        token_pair_distributions(1, size=0.1, depth=1.0)
    with pytest.raises(InputError, match="at least 3"):
        rank_one_distributions(2, 3)
