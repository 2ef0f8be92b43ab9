"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np

from verify.theorems.claims import dana_comparisons as audit
from verify.verdict import Verdict


def test_contexts_that_one_head_tells_apart_are_no_counterexample(monkeypatch):
    assert audit._exclusive_or().verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "exclusive_or_contexts", lambda: np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1]]))
    assert audit._exclusive_or().verdict is not Verdict.PROVED


def test_a_network_with_other_logits_improves_nothing(monkeypatch):
    sizes = {"d_vocab": 3, "n_ctx": 2, "d_model": 3, "d_head": 2}
    assert audit._improvement(**sizes).verdict is Verdict.PROVED
    made = audit.exact_memory(**sizes)
    monkeypatch.setattr(audit, "exact_memory", lambda **_: replace(made, targets=2 * made.targets))
    assert audit._improvement(**sizes).verdict is Verdict.REFUTED
