"""The audit certifies what it says, and nothing that is not so."""

import numpy as np

from verify.theorems.claims import slides_zero_divergence as audit
from verify.verdict import Verdict


def test_equal_distributions_and_what_are_no_distributions_prove_nothing():
    logarithms = audit._logarithms(5)
    assert audit._rank(logarithms).verdict is Verdict.PROVED
    assert audit._rank(logarithms[[0, 0, 1, 2, 3]]).verdict is Verdict.REFUTED
    assert audit._rank(logarithms - 1).verdict is not Verdict.PROVED


def test_logits_that_are_off_by_one_have_another_distribution():
    logarithms = audit._logarithms(3)
    assert audit._encoded(logarithms).verdict is Verdict.PROVED
    shifted = logarithms.copy()
    shifted[0, 0] += 1
    assert audit._encoded(shifted).verdict is not Verdict.PROVED


def test_the_uniform_distribution_costs_nothing_in_fewer_dimensions():
    logarithms = np.repeat(audit._logarithms(3)[:1], 3, axis=0)
    assert audit._not_with_less(audit._logarithms(3)).verdict is Verdict.PROVED
    assert audit._centred_rank(logarithms) == 1
