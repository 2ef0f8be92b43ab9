"""The evidence on Proposition 2: all of it is proved, and wrong factors, distributions and bounds are not confirmed."""

from dataclasses import replace

import numpy as np
import pytest

import verify.theorems.claims.dana_proposition_2 as audit
from verify.provers.memorization import certify_memorization
from verify.theorems.claims.dana_proposition_2 import CLAIM
from verify.theorems.encoders.encoder_floor import encoder_floor
from verify.verdict import Verdict


def test_other_factors_are_refuted(monkeypatch):
    factors = audit.exact_factors

    def doubled(tokens):
        D, W_U = factors(tokens)
        return 2 * D, W_U

    monkeypatch.setattr(audit, "exact_factors", doubled)
    assert next(audit.evidence(full=False)).verdict is Verdict.REFUTED


def test_distributions_of_low_rank_have_no_gap(monkeypatch, spoil):
    monkeypatch.setattr(audit, "gap_distributions", lambda tokens, rank: np.ones((rank + 1, tokens)))
    assert audit._gap(3).verdict is Verdict.REFUTED  # they are not the distributions of the statement
    monkeypatch.setattr(
        audit, "gap_distributions", lambda tokens, rank: np.ones((rank + 1, tokens)) + np.eye(rank + 1, tokens)
    )
    assert audit._gap(3).verdict is Verdict.PROVED
    spoil(audit.ENCODER_DIVERGENCE, lambda distributions, d_model: encoder_floor(np.ones_like(distributions), d_model))
    assert audit._gap(3).verdict is not Verdict.PROVED


def test_a_bound_above_the_encoders_is_not_confirmed(changed):
    changed(audit, "encoder_floor", lambda found: replace(found, lower=9.0))
    assert audit._sandwich(1).verdict is not Verdict.PROVED


def test_an_encoder_that_is_off_is_not_exact(changed):
    changed(audit, "best_encoder", lambda found: replace(found, E=found.E * (1 + 1e-6)))
    assert audit._exact_in_floats((3,)).verdict is not Verdict.PROVED
    assert audit._few_contexts().verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    "given_sizes",
    [
        {},
        {"d_vocab": 2, "d_head": 1},
        {"d_vocab": 2, "n_ctx": 4, "d_head": 1},
        {"d_vocab": 6, "seed": 3},
        {"d_vocab": 3, "n_ctx": 3},
    ],
)
def test_distributions_are_proved_to_be_memorized_exactly_but_for_rounding(given_sizes):
    made = CLAIM.construct(**given_sizes)
    assert made.model.d_model == made.task.d_vocab - 1
    certified = certify_memorization(made.model, made.task)
    assert certified.certificate.verdict is Verdict.PROVED
    assert certified.answers.loss_upper.max() < 1e-15


def test_the_judgement_is_recorded():
    assert (CLAIM.id, CLAIM.judgement) == ("dana.proposition-2", "holds")
