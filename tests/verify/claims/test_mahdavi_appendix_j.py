"""The audit certifies what it says, and nothing that is not so."""

import numpy as np
import pytest

from constructions.claims.mahdavi_appendix_j import CLAIM
from verify.claims import mahdavi_appendix_j as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict

SIZES = {"tokens": 6, "width": 8, "heads": 4, "head_width": 2}


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


def test_wider_heads_lose_by_a_smaller_kruskal_rank(monkeypatch):
    assert audit._promises().verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "_HEAD_WIDTH", 300)
    assert audit._promises().verdict is Verdict.REFUTED


def test_silent_heads_keep_no_promise(monkeypatch):
    assert audit._kept(**SIZES, kruskal=3).verdict is Verdict.PROVED
    honest = audit.saturated_heads

    def silent(*given, **named):
        found = honest(*given, **named)
        return type(found)(**{**vars(found), "W_K": np.zeros_like(found.W_K)})

    monkeypatch.setattr(audit, "saturated_heads", silent)
    assert audit._kept(**SIZES, kruskal=3).verdict is not Verdict.PROVED


@pytest.mark.slow
def test_a_larger_layer_is_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))
