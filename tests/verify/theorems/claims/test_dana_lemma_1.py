"""The evidence on Lemma 1: all of it is proved, and neither wrong bounds nor wrong weights pass."""

from dataclasses import replace

import numpy as np
import pytest

import verify.theorems.claims.dana_lemma_1 as audit
from constructions.encoders.sequence_encoder import best_encoder
from constructions.model.attention import logits
from constructions.model.shapes import dana_network, dana_tensors
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claims.dana_lemma_1 import CLAIM
from verify.theorems.encoders.encoder_ceiling import encoder_divergence, mean_divergence
from verify.verdict import Verdict


def test_a_bound_above_the_encoder_is_not_confirmed(spoil):
    floor = audit.ENCODER_DIVERGENCE.judge
    spoil(audit.ENCODER_DIVERGENCE, lambda **given: replace(floor(**given), lower=1.0))
    assert audit._bracketed(((3, 2, 1),), 1.0).verdict is not Verdict.PROVED
    assert audit._built().verdict is not Verdict.PROVED


def test_distributions_with_zeros_have_no_bounded_level_set():
    assert audit.logit_radius(np.array([[1.0, 0.0]]), 0.5) == np.inf
    assert audit.logit_radius(np.array([[1.0, 1e-9]]), 0.5) < np.inf


def test_no_encoder_of_the_level_set_has_larger_logits_than_the_radius():
    rng = np.random.default_rng(0)
    distributions = rng.random((3, 4)) + 0.1
    for scale in (0.1, 1.0, 10.0, 100.0):
        E, W = scale * rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
        _, level = encoder_divergence(E, W, distributions)
        logits = E @ W.T
        assert np.abs(logits - logits.mean(axis=1, keepdims=True)).max() < audit.logit_radius(distributions, level)
    assert mean_divergence(Enclosure(np.zeros((3, 4))), distributions)[1] < 1.0


def test_spoiled_weights_are_not_confirmed(monkeypatch):
    made = audit.CLAIM.construct()
    tensors = dana_tensors(made.model)
    loud = dana_network(**{**tensors, "W_O": np.full_like(tensors["W_O"], np.finfo(float).max)})

    class Spoiled:
        @staticmethod
        def construct():
            return replace(made, model=loud)

    monkeypatch.setattr(audit, "CLAIM", Spoiled)
    assert audit._built().verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    "given_sizes",
    [
        {},
        {"seed": 1},
        {"d_vocab": 6, "d_model": 3},
        {"d_vocab": 2, "d_model": 1, "d_head": 1},
        {"d_vocab": 1, "n_ctx": 1, "d_model": 1, "d_head": 1},
        {"d_vocab": 3, "n_ctx": 1, "d_model": 3, "d_head": 1},
    ],
)
def test_the_weights_have_the_logits_of_the_best_encoder(given_sizes):
    made = CLAIM.construct(**given_sizes)
    sizes = {**CLAIM.parameters, **given_sizes}
    assert made.model.d_model == sizes["d_model"] and made.task.n_contexts == sizes["d_vocab"] ** sizes["n_ctx"]
    assert made.task.distributions is not None
    found = best_encoder(made.task.distributions, sizes["d_model"], prior=made.task.prior, seed=sizes["seed"])
    reached, wanted = logits(made.model, made.task.contexts), found.E @ found.W.T
    gap = reached - wanted
    assert np.ptp(gap, axis=1).max() < 1e-9


def test_the_judgement_is_recorded():
    assert (CLAIM.id, CLAIM.judgement, CLAIM.page) == ("dana.lemma-1", "holds", "docs/claims/sequence_encoder.md")
