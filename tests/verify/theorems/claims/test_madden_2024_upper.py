"""The count of distributions is certified, and does not call labels that a network has out of reach."""

import numpy as np

from verify.theorems.claims import madden_2024_upper as audit
from verify.theorems.claims.madden_2024_lower import CLAIM as LOWER
from verify.verdict import Verdict


def test_more_contexts_than_the_count_are_not_confirmed():
    model = LOWER.construct(d_vocab=4, n_ctx=3, facts=8).model
    assert audit._count(model, 8).verdict is Verdict.PROVED
    assert audit._count(model, 1000).verdict is Verdict.REFUTED


def test_log_odds_of_a_network_are_not_called_out_of_reach(monkeypatch):
    class Ramp:
        def integers(self, low, high, count):
            return np.maximum(np.arange(count) - 2, 0)

    monkeypatch.setattr(audit.np.random, "default_rng", lambda _: Ramp())
    assert audit._out_of_reach(width=1, neurons=1).verdict is Verdict.REFUTED
