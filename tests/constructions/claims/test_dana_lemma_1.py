"""Memories of the best encoder, down to the smallest sizes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.claims.dana_lemma_1 import CLAIM, laws_with_a_mode
from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import HypothesisError
from constructions.models.attention import logits
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


@pytest.mark.parametrize(
    "given_sizes",
    [
        {},
        {"seed": 1},
        {"tokens": 6, "width": 3},
        {"tokens": 2, "width": 1, "head_width": 1},
        {"tokens": 1, "length": 1, "width": 1, "head_width": 1},
        {"tokens": 3, "length": 1, "width": 3, "head_width": 1},
    ],
)
def test_the_weights_have_the_logits_of_the_best_encoder(given_sizes):
    made = CLAIM.construct(**given_sizes)
    sizes = {**CLAIM.parameters, **given_sizes}
    assert made.model.d_model == sizes["width"] and made.task.n_contexts == sizes["tokens"] ** sizes["length"]
    assert made.task.laws is not None
    found = best_encoder(made.task.laws, sizes["width"], prior=made.task.prior, seed=sizes["seed"])
    reached, wanted = logits(made.model, made.task.contexts), found.E @ found.W.T
    gap = reached - wanted
    assert np.ptp(gap, axis=1).max() < 1e-9


def test_the_default_is_proved_in_every_claim():
    made = CLAIM.construct()
    assert certify_memorization(made.model, made.task, made.criterion).certificate.verdict is Verdict.PROVED


@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 100))
def test_the_laws_have_full_support_and_a_mode(tokens, rows, seed):
    laws = laws_with_a_mode(rows, tokens, seed=seed)
    assert laws.shape == (rows, tokens) and laws.min() > 0 and np.allclose(laws.sum(axis=1), 1.0)
    assert (laws.max(axis=1) > 0.6).all()


@pytest.mark.parametrize("refused", [{"tokens": 0}, {"width": 0}, {"head_width": 3}, {"seed": -1}, {"length": 1}])
def test_sizes_beyond_the_hypotheses_are_refused(refused):
    with pytest.raises(HypothesisError, match="needs"):
        CLAIM.construct(**refused)


def test_the_judgement_is_recorded():
    assert (CLAIM.id, CLAIM.judgement, CLAIM.page) == ("dana.lemma-1", "holds", "docs/claims/sequence_encoder.md")
