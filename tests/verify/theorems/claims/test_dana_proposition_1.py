"""The evidence on Proposition 1: all of it is proved, and models that are encoders are no counterexamples."""

from dataclasses import replace
from fractions import Fraction
from itertools import islice

import verify.theorems.claims.dana_proposition_1 as audit
from verify.verdict import Verdict


def test_a_bias_that_misses_the_distributions_is_refuted(monkeypatch):
    given = audit.biased_encoder()
    wrong = replace(given, bias=(Fraction(35, 100), *given.bias[1:]))
    monkeypatch.setattr(audit, "biased_encoder", lambda: wrong)
    assert next(audit.evidence(full=False)).verdict is Verdict.REFUTED


def test_distributions_of_rank_one_are_no_counterexample(monkeypatch):
    given = audit.biased_encoder()
    same = replace(given, distributions=(given.distributions[0],) * 2, stream=(given.stream[0],) * 2)
    monkeypatch.setattr(audit, "biased_encoder", lambda: same)
    assert next(audit.evidence(full=False)).verdict is not Verdict.PROVED


def test_a_cap_that_keeps_the_rank_is_no_counterexample(monkeypatch):
    given = audit.capped_encoder()
    monkeypatch.setattr(audit, "capped_encoder", lambda: replace(given, W=(-1, 0, 1)))
    _, piece = islice(audit.evidence(full=False), 2)
    assert piece.verdict is not Verdict.PROVED


def test_a_bound_above_the_networks_is_not_confirmed(spoil, changed):
    floor = audit.ENCODER_DIVERGENCE.judge
    spoil(audit.ENCODER_DIVERGENCE, lambda **given: replace(floor(**given), lower=2.0))
    changed(audit, "encoder_floor", lambda found: replace(found, lower=2.0))
    assert audit._networks_stay_above(1).verdict is not Verdict.PROVED
    assert audit._a_bias_is_one_dimension(1).verdict is not Verdict.PROVED
