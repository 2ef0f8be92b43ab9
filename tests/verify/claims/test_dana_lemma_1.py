"""The evidence on Lemma 1: all of it is proved, and neither wrong bounds nor wrong weights pass."""

from dataclasses import replace

import numpy as np
import pytest

import verify.claims.dana_lemma_1 as audit
from constructions.claims import claim
from constructions.models.shapes import dana_network, dana_tensors
from verify.arithmetic.enclosure import Enclosure
from verify.claims.audit import Audit
from verify.encoders.encoder_ceiling import encoder_divergence, mean_divergence
from verify.verdict import Verdict


def test_all_evidence_is_proved():
    pieces = list(audit.evidence(full=False))
    assert Audit(claim("dana.lemma-1"), tuple(pieces), 0.0).confirmed
    assert {piece.verdict for piece in pieces} == {Verdict.PROVED}
    assert {piece.role for piece in pieces} == {"claim", "boundary"} and len(pieces) == 6


@pytest.mark.slow
def test_all_evidence_of_the_full_audit_is_proved():
    assert {piece.verdict for piece in audit.evidence(full=True)} == {Verdict.PROVED}


def test_a_bound_above_the_encoder_is_not_confirmed(spoil):
    floor = audit.ENCODER_DIVERGENCE.judge
    spoil(audit.ENCODER_DIVERGENCE, lambda **given: replace(floor(**given), lower=1.0))
    assert audit._bracketed(((3, 2, 1),), 1.0).verdict is not Verdict.PROVED
    assert audit._built().verdict is not Verdict.PROVED


def test_laws_with_zeros_have_no_bounded_level_set():
    assert audit.logit_radius(np.array([[1.0, 0.0]]), 0.5) == np.inf
    assert audit.logit_radius(np.array([[1.0, 1e-9]]), 0.5) < np.inf


def test_no_encoder_of_the_level_set_has_larger_logits_than_the_radius():
    rng = np.random.default_rng(0)
    laws = rng.random((3, 4)) + 0.1
    for scale in (0.1, 1.0, 10.0, 100.0):
        E, W = scale * rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
        _, level = encoder_divergence(E, W, laws)
        logits = E @ W.T
        assert np.abs(logits - logits.mean(axis=1, keepdims=True)).max() < audit.logit_radius(laws, level)
    assert mean_divergence(Enclosure(np.zeros((3, 4))), laws)[1] < 1.0


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
