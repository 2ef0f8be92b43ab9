"""The best encoder of a rank: exact where it can be, no worse than its starts elsewhere, and honest about itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import distributions
from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import InputError

MINIMAL = np.array([[0.6, 0.3, 0.1], [0.6, 0.1, 0.3]])


def divergence(encoder, distributions, prior=None):
    weights = np.ones(len(distributions)) if prior is None else np.asarray(prior, dtype=float)
    masses = distributions / distributions.sum(axis=1, keepdims=True)
    logits = encoder.E @ encoder.W.T
    logits = logits - logits.max(axis=1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    terms = np.where(masses > 0, masses * (np.log(np.where(masses > 0, masses, 1.0)) - logits), 0.0)
    return float((weights / weights.sum()) @ terms.sum(axis=1))


@given(st.data())
def test_the_divergence_is_that_of_the_factors_and_no_worse_than_uniform_logits(data):
    tokens, rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    rank = data.draw(st.integers(0, tokens))
    given_distributions = data.draw(distributions(d_vocab=tokens, rows=rows))
    prior = np.array(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)), dtype=float)
    prior[0] += 1.0
    found = best_encoder(given_distributions, rank, prior=prior, starts=2, iterations=60)
    assert found.W.shape == (tokens, rank) and found.E.shape == (rows, rank)
    assert found.divergence == pytest.approx(divergence(found, given_distributions, prior), abs=1e-9)
    silent = prior / prior.sum() @ (np.log(tokens) + (given_distributions * np.log(given_distributions)).sum(axis=1))
    assert found.divergence <= silent + 1e-9
    assert not found.E[prior == 0].any()


@given(st.integers(2, 6), st.integers(1, 6), st.data())
def test_it_is_exact_where_the_rank_allows_it(tokens, rows, data):
    given_distributions = data.draw(distributions(d_vocab=tokens, rows=rows))
    found = best_encoder(given_distributions, min(tokens - 1, rows))
    assert found.starts == 0 and found.divergence < 1e-12


def test_distributions_of_low_rank_are_exact_in_few_dimensions():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 9)) + rng.normal(size=(30, 1))
    found = best_encoder(np.exp(logits), 2)
    assert found.starts == 0 and found.divergence < 1e-15  # what the sums round
    assert best_encoder(np.exp(logits), 1, starts=2, iterations=50).divergence > 1e-3


def test_the_smallest_instance_has_its_known_optimum():
    found = best_encoder(MINIMAL, 1)
    assert found.divergence == pytest.approx(0.3 * np.log(1.5) + 0.1 * np.log(0.5), abs=1e-9)
    assert found.starts == 24
    assert np.allclose(found.W.T @ found.W, 1.0) and abs(found.W.sum()) < 1e-12


def test_for_peaked_distributions_more_starts_find_better_encoders():
    peaked = np.exp(3.0 * np.random.default_rng(0).normal(size=(20, 10)))
    one, many = best_encoder(peaked, 3, starts=1), best_encoder(peaked, 3)
    assert many.divergence < 0.95 * one.divergence


def test_zeros_are_approached_and_never_reached():
    certain = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = best_encoder(certain, 2)
    assert 0 <= found.divergence < 1e-12 and np.isfinite(found.E).all()
    assert best_encoder(certain, 1, starts=4).divergence > 0.2


def test_the_prior_says_whose_divergence_counts():
    three = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    found = best_encoder(three, 1, prior=np.array([1.0, 1.0, 1e-9]))
    per_context = [divergence(found, three, row) for row in np.eye(3)]
    assert max(per_context[:2]) < 0.2 < per_context[2]


def test_equal_seeds_give_equal_bits():
    given_distributions = np.exp(np.random.default_rng(1).normal(size=(6, 5)))
    first, again, other = (best_encoder(given_distributions, 2, starts=3, seed=seed) for seed in (4, 4, 5))
    assert first.W.tobytes() == again.W.tobytes() and first.E.tobytes() == again.E.tobytes()
    assert first.E.tobytes() != other.E.tobytes()


def test_an_interrupt_ends_the_search():
    def interrupted(done, starts, best):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        best_encoder(MINIMAL, 1, starts=5, progress=interrupted)


def test_what_is_found_gets_better_from_start_to_start():
    seen = []
    peaked = np.exp(2.0 * np.random.default_rng(3).normal(size=(12, 8)))
    found = best_encoder(peaked, 2, starts=8, progress=lambda *figures: seen.append(figures[2]))
    assert found.divergence == seen[-1] == pytest.approx(divergence(found, peaked), abs=1e-9)
    assert seen == sorted(seen, reverse=True)


def test_progress_counts_all_starts_and_the_finals():
    seen = []
    best_encoder(MINIMAL, 1, starts=5, progress=lambda *figures: seen.append(figures[:2]))
    assert seen == [(done, 8) for done in range(1, 9)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), 1), "distributions has shape"),
        ((np.array([[1.0, -1.0]]), 1), "negative"),
        ((np.array([[0.0, 0.0]]), 1), "row of zeros"),
        ((np.array([[np.nan, 1.0]]), 1), "non-finite"),
        ((MINIMAL, -1), "d_model = -1"),
    ],
)
def test_bad_distributions_and_ranks_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        best_encoder(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(prior=np.ones(3)), "prior has shape"),
        (dict(prior=np.zeros(2)), "prior"),
        (dict(starts=0), "starts = 0"),
        (dict(iterations=0), "iterations = 0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        best_encoder(MINIMAL, 1, **options)


@pytest.mark.slow
def test_a_thousand_contexts_over_sixty_four_tokens_are_within_reach():
    given_distributions = np.exp(np.random.default_rng(0).normal(size=(1024, 64)))
    found = best_encoder(given_distributions, 16, starts=2, iterations=200)
    assert found.divergence < 0.3
