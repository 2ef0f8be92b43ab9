"""The audit of the weighted bound confirms its verdict, and not with one singular value for the sum over the tail."""

import numpy as np
import pytest

from constructions.encoders.truncated_distributions import hadamard_distributions
from verify.theorems.claims import slides_weighted_least_squares as audit
from verify.theorems.encoders.encoder_floor import EncoderFloor
from verify.verdict import Verdict


def test_one_singular_value_is_not_enough():
    weights = hadamard_distributions(8, 0.01)
    cost, bound = audit.weighted_cost(weights, 1, np.ones(7))
    value = audit.tail_value(audit.log_distribution_singular_values(weights, prior=np.ones(7)), 1)
    assert float(cost.lower()) > float((value * value * 0.25).upper())
    assert audit.never_above(cost, bound)


@pytest.mark.parametrize("factor", [0.999, 1.01])
def test_another_constant_than_a_quarter_is_not_confirmed(changed, factor):
    changed(audit, "tail_sum_bound", lambda found: found * factor)
    assert audit._tail_sum_is_attained().verdict is not Verdict.PROVED


def test_a_sum_that_starts_too_late_is_not_confirmed(monkeypatch):
    original = audit.tail_sum_bound
    monkeypatch.setattr(audit, "tail_sum_bound", lambda values, rank: original(values, rank + 1))
    assert audit._tail_sum_holds(1).verdict is not Verdict.PROVED


def test_a_floor_that_is_not_proved_refutes_nothing(spoil):
    spoil(audit.ENCODER_DIVERGENCE, lambda **_: EncoderFloor(0.0, Verdict.UNDECIDED))
    assert audit._singular_value_is_not_enough().verdict is not Verdict.PROVED
    assert audit._elementwise_joint_reading_fails().verdict is not Verdict.PROVED


def test_more_than_the_true_bound_is_not_refuted(changed):
    changed(audit, "printed_bound", lambda found: found * 20.0)
    assert audit._singular_value_is_not_enough().verdict is not Verdict.PROVED
