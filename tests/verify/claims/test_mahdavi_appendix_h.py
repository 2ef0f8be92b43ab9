"""The audit of Appendix H counts saturated heads, and is not confirmed by heads of another kind."""

import numpy as np
import pytest

from constructions.models.construction import Construction
from constructions.models.shapes import mahdavi_layer, mahdavi_tensors
from verify.claims import mahdavi_appendix_h as audit
from verify.verdict import Verdict


def verdicts(**options):
    return {piece.verdict for piece in audit.evidence(**options)}


def test_the_observation_is_certified():
    pieces = list(audit.evidence(full=False))
    assert {piece.verdict for piece in pieces} == {Verdict.PROVED} and {piece.role for piece in pieces} == {
        "measurement"
    }
    assert any("20 heads on 621 examples" in piece.statement for piece in pieces)


@pytest.mark.slow
def test_the_observation_is_certified_on_larger_layers():
    assert verdicts(full=True) == {Verdict.PROVED}


@pytest.mark.parametrize("factor", [0.0, 1e6])
def test_heads_that_look_everywhere_or_at_one_token_always_confirm_nothing(monkeypatch, factor):
    honest = audit.build

    def spoilt(**parameters):
        built = honest(**parameters)
        tensors = mahdavi_tensors(built.model)
        layer = mahdavi_layer(**{**tensors, "W_Q": np.asarray(tensors["W_Q"]) * factor})
        return Construction(task=built.task, model=layer, summary=built.summary)

    monkeypatch.setattr(audit, "_SIZES", ((4, 8, 16),))
    monkeypatch.setattr(audit, "build", spoilt)
    assert verdicts(full=False) == {Verdict.UNDECIDED}
