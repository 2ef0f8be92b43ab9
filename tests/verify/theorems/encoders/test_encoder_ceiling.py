"""Divergences of encoders and networks from both sides, and the bound by truncation."""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import distributions
from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import InputError
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import array_task
from verify.arithmetic.enclosure import Enclosure
from verify.forward.logits import enclose_logits
from verify.theorems.encoders.encoder_ceiling import (
    checked_distributions,
    encoder_divergence,
    mean_divergence,
    network_divergence,
    truncation_ceiling,
)


def in_balls(logits, given_distributions, prior):
    with ctx.workprec(200):
        total, mass = arb(0), sum((arb(float(weight)) for weight in prior), arb(0))
        for row, distribution, weight in zip(
            logits.tolist(), given_distributions.tolist(), prior.tolist(), strict=True
        ):
            sum_of_distribution = sum((arb(entry) for entry in distribution), arb(0))
            lse = sum((arb(z).exp() for z in row), arb(0)).log()
            for z, entry in zip(row, distribution, strict=True):
                if entry > 0:
                    share = arb(entry) / sum_of_distribution
                    total += arb(weight) / mass * share * (share.log() - arb(z) + lse)
        return total


@given(st.data())
def test_the_mean_divergence_is_enclosed(data):
    tokens, rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    given_distributions = data.draw(distributions(d_vocab=tokens, rows=rows)).copy()
    if tokens > 1 and data.draw(st.booleans()):
        given_distributions[0, 0] = 0.0
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    logits, prior = rng.normal(size=(rows, tokens)) * 3.0, rng.random(rows) * (rng.random(rows) < 0.7)
    prior[-1] += 0.1
    lower, upper = mean_divergence(Enclosure(logits), given_distributions, prior=prior)
    exact = in_balls(logits, given_distributions, prior)
    slack = arb("1e-50")  # the ball may straddle a lower bound of 0
    assert arb(lower) <= exact + slack and exact <= arb(upper) + slack
    assert upper - lower < 1e-12


def test_exact_logits_have_a_divergence_that_is_quadratically_small():
    given_distributions = np.array([[0.7, 0.2, 0.1], [1e-30, 0.5, 0.5]])
    assert mean_divergence(Enclosure(np.log(given_distributions) + 3.0), given_distributions)[1] < 1e-26


def test_nothing_known_of_a_context_that_counts_is_nothing_known():
    logits = Enclosure(np.zeros((2, 2)), np.array([[0.0], [np.inf]]))
    assert mean_divergence(logits, [[1, 1], [1, 1]])[1] == np.inf
    assert mean_divergence(logits, [[1, 1], [1, 1]], prior=[1.0, 0.0])[1] < 1e-30


def test_an_encoder_without_dimensions_is_uniform():
    lower, upper = encoder_divergence(np.zeros((1, 0)), np.zeros((4, 0)), [[1, 0, 0, 0]])
    assert lower <= np.log(4.0) <= upper < np.log(4.0) + 1e-14


def test_a_network_has_the_divergence_of_its_logits_in_one_piece_or_in_chunks():
    rng = np.random.default_rng(0)
    given_distributions = rng.random((4, 3)) + 0.1
    task = array_task(
        np.array([[0], [1], [2], [0]][:3]), distributions=(given_distributions / given_distributions.sum(axis=1,
        keepdims=True))[:3], weights=np.array([5, 1, 2]),
    )  # fmt: skip
    network = dana_network(
        W_E=rng.normal(size=(3, 2)), W_pos=np.zeros((1, 2)), W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)),
        W_V=np.ones((1, 2, 1)), W_O=np.ones((1, 1, 2)), W_U=rng.normal(size=(2, 3)),
    )  # fmt: skip
    logits, seen = enclose_logits(network, task.contexts), []
    given_logits = network_divergence(network, task, logits=logits)
    streamed = network_divergence(network, task, progress=lambda *figures: seen.append(figures[1]))
    assert given_logits == pytest.approx(streamed, rel=1e-12) and seen[-1] == 1.0
    assert task.distributions is not None
    assert given_logits == mean_divergence(logits, task.distributions, prior=task.prior)


def test_labels_have_no_distributions_to_diverge_from():
    task = array_task(np.array([[0]]), next_tokens=np.array([0]), target="labels")
    one = np.ones((1, 1, 1))
    network = dana_network(W_E=one[0], W_pos=one[0], W_Q=one, W_K=one, W_V=one, W_O=one, W_U=one[0])
    with pytest.raises(InputError, match="target is 'labels'"):
        network_divergence(network, task)


@given(st.data())
def test_truncation_bounds_what_is_found_from_above(data):
    tokens, rows = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 5))
    rank = data.draw(st.integers(0, tokens - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    given_distributions = np.exp(rng.normal(size=(rows, tokens)) * 10.0 ** rng.uniform(-3, 0))
    found = best_encoder(given_distributions, rank, starts=4)
    lower, _ = encoder_divergence(found.E, found.W, given_distributions)
    assert lower <= truncation_ceiling(given_distributions, rank) * (1 + 1e-6) + 1e-20


def test_the_constant_of_the_truncation_is_a_quarter():
    coin = np.exp([[1e-3, -1e-3]])
    _, exact = mean_divergence(Enclosure(np.zeros((1, 2))), coin)
    assert exact <= truncation_ceiling(coin, 0) < exact * (1 + 1e-6)


def test_truncation_needs_full_support_where_the_prior_is_positive():
    assert truncation_ceiling([[1, 0, 1], [1, 2, 3]], 1) == np.inf
    assert truncation_ceiling([[1, 0, 1], [1, 2, 3]], 1, prior=[0.0, 1.0]) == 0.0
    assert truncation_ceiling([[1, 2, 3]], 5) == 0.0


@pytest.mark.parametrize("d_model", [-1, -5])
def test_a_negative_rank_is_refused(d_model):
    with pytest.raises(InputError, match=f"d_model = {d_model}"):
        checked_distributions([[1, 1]], None, d_model)


def test_factors_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="E and W have shapes"):
        encoder_divergence(np.zeros((1, 2)), np.zeros((3, 1)), [[1, 1, 1]])
