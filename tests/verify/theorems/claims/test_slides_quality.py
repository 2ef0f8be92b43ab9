"""The audit certifies what it says, and nothing that is not so."""

import numpy as np

from verify.theorems.claims import slides_quality as audit
from verify.verdict import Verdict


def test_too_few_heads_and_enough_dimensions_prove_nothing(monkeypatch):
    assert audit._parity(4).verdict is Verdict.PROVED
    honest = audit.parity_labels
    monkeypatch.setattr(audit, "parity_labels", lambda bits, n_heads: honest(bits, n_heads - 1))
    assert audit._parity(4).verdict is not Verdict.PROVED
    assert audit._quality(5, 2).verdict is Verdict.PROVED
    assert audit._quality(5, 4).verdict is not Verdict.PROVED


def test_streams_of_other_labels_hold_nothing(monkeypatch):
    assert audit._any_number(5, 20).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "stream", lambda labels, power: np.ones((len(labels), 2)))
    assert audit._any_number(5, 20).verdict is not Verdict.PROVED
