"""Divergences in balls: never below 0, accurate where they are tiny, exactly 0 with one token."""

import pytest
from flint import arb, ctx

from verify.independent.ball_divergence import LogSoftmax, at_least_zero, entropy, gap


def test_the_lower_end_of_a_divergence_is_at_least_zero():
    assert at_least_zero(arb(0, 1e-30)) == 0
    assert 0.49 < at_least_zero(arb(1, 0.5)) <= 0.5


def test_with_one_token_the_divergence_is_zero_whatever_its_logit_is():
    with ctx.workprec(128):
        row = LogSoftmax.of([arb(3, 1e-9)], arb(0.25))
        assert row.label_divergence(0) == 0 and row.divergence({0: 7}, {}) == 0


def test_the_divergence_of_one_mass_is_known_to_many_digits_however_small_it_is():
    with ctx.workprec(64):
        row = LogSoftmax.of([arb(500), arb(0)])
        found = row.divergence({0: 3}, {})
        assert found > 0 and found.overlaps(arb(-500).exp()) and found.rad() < 1e-15 * found.mid()


def test_a_gap_is_that_of_the_least_mode_above_the_largest_other():
    row = [arb(5), arb(3), arb(4), arb(-1)]
    assert gap(row, {0, 2}) == 1 and gap(row, {1}) == -2
    assert gap(row, {0, 1, 2, 3}) is None


def test_logits_in_wide_balls_have_divergences_in_wide_balls():
    with ctx.workprec(128):
        row = LogSoftmax.of([arb(-(10.0**300), 1e280), arb(0, 1e280)])
        wrong, right = row.label_divergence(0), row.label_divergence(1)
        assert wrong > 9e299 and all(wrong.contains((arb(10.0**300) + shift).mid()) for shift in (-1e280, 1e280))
    assert right.is_finite() and right.contains(arb(0)) and right.contains(arb(1e280))


def test_entropy_is_that_of_the_masses_divided_by_their_sum():
    with ctx.workprec(128):
        assert entropy(map(arb, [3, 0, 3])).overlaps(arb(2).log()) and entropy([arb(5)]).contains(arb(0))


@pytest.mark.parametrize("error", [1e-9, 0.3, 0.9, 1.0, 4.0, 1e280])
@pytest.mark.parametrize("wide", [False, True])
def test_a_divergence_holds_those_of_all_logits_that_are_so_near(error, wide):
    """The logit of the law's one token, or of nearly all of its mass, falls by the error, and the other one rises."""
    top = max(30.0, 100.0 * error)
    for masses in ({0: 1}, {0: 2**300, 1: 1}):
        with ctx.workprec(1200):
            for turn in (-1, 1):
                exact = LogSoftmax.of([arb(-top) - turn * arb(error), arb(turn * error)]).divergence(masses, {})
                row = LogSoftmax.of([arb(-top, error * wide), arb(0, error * wide)], arb(0 if wide else error))
                found = row.divergence(masses, {})
                assert found.contains(exact.mid())
                # Twice the error, which softmax and law of one token each reach.
                assert found.rad() < 2.01 * error + 1e-3
