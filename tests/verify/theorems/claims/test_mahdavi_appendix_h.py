"""The audit of Appendix H counts saturated heads, and is not confirmed by heads of another kind."""

import numpy as np
import pytest

from constructions.model.construction import Construction
from constructions.model.shapes import mahdavi_layer, mahdavi_tensors
from verify.theorems.claims import mahdavi_appendix_h as audit
from verify.theorems.claims.mahdavi_appendix_h import CLAIM
from verify.verdict import Verdict


def verdicts(**options):
    return {piece.verdict for piece in audit.evidence(**options)}


@pytest.mark.slow
def test_the_observation_is_certified_on_larger_layers():
    assert verdicts(full=True) == {Verdict.PROVED}


@pytest.mark.parametrize("factor", [0.0, 1e6])
def test_heads_that_look_everywhere_or_at_one_token_always_confirm_nothing(monkeypatch, factor):
    honest = audit.uniform_memory

    def spoilt(**parameters):
        built = honest(**parameters)
        tensors = mahdavi_tensors(built.model)
        layer = mahdavi_layer(**{**tensors, "W_Q": np.asarray(tensors["W_Q"]) * factor})
        return Construction(task=built.task, model=layer, summary=built.summary)

    monkeypatch.setattr(audit, "_SIZES", ((4, 8, 16),))
    monkeypatch.setattr(audit, "uniform_memory", spoilt)
    assert verdicts(full=False) == {Verdict.UNDECIDED}


def test_what_is_true_says_that_it_is_about_built_weights_and_not_about_trained_ones():
    assert CLAIM.judgement == "measured" and CLAIM.build is None
    assert "built here" in CLAIM.truth and "nothing here proves or repeats" in CLAIM.truth
