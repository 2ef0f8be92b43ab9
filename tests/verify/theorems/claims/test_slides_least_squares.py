"""The audit of the least-squares bound confirms its verdict, and not with other constants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import distributions
from constructions.encoders.truncated_distributions import truncated_distributions
from verify.arithmetic.enclosure import Enclosure
from verify.provers.memorization import certify_memorization
from verify.theorems.claims import slides_least_squares as audit
from verify.theorems.claims.slides_least_squares import CLAIM
from verify.theorems.encoders.encoder_floor import EncoderFloor
from verify.theorems.encoders.truncation_bound import least_squares_bound, log_distribution_singular_values
from verify.verdict import Verdict


def test_a_smaller_constant_than_a_quarter_is_not_confirmed(changed):
    changed(audit, "least_squares_bound", lambda found: found * 0.999)
    assert audit._almost_attained().verdict is not Verdict.PROVED
    changed(audit, "least_squares_bound", lambda found: found * 0.4)
    assert next(audit._hold_on([audit.judged(*x) for x in audit.random_instances(1)])).verdict is not Verdict.PROVED


def test_a_larger_constant_is_not_attained(changed):
    changed(audit, "least_squares_bound", lambda found: found * 1.01)
    assert audit._almost_attained().verdict is not Verdict.PROVED


def test_the_printed_bound_is_not_confirmed_for_the_joint_probabilities():
    instance = audit.judged(audit.hadamard_distributions(4, 0.01), 1)
    assert instance.printed_bound_holds() and instance.sharp_bound_holds()
    joint = instance.printed(audit.norm(instance.distributions, None, "joint"))
    assert not audit.never_above(instance.divergence, joint)


def test_a_floor_that_is_not_proved_refutes_nothing(spoil):
    spoil(audit.ENCODER_DIVERGENCE, lambda **_: EncoderFloor(0.0, Verdict.UNDECIDED))
    assert audit._joint_reading_fails().verdict is not Verdict.PROVED


def test_distributions_that_are_not_symmetric_refute_nothing(monkeypatch):
    original = audit.token_pair_distributions

    def changed(*args, **options):
        weights = original(*args, **options)
        weights[0, 5] *= 1.0000001
        return weights

    monkeypatch.setattr(audit, "token_pair_distributions", changed)
    assert audit._prior_reading_fails().verdict is not Verdict.PROVED


def test_a_truncation_that_is_not_unique_refutes_nothing(monkeypatch):
    original = audit.token_pair_distributions
    monkeypatch.setattr(audit, "token_pair_distributions", lambda pairs, **_: original(pairs, size=0.01, depth=0.0))
    assert audit._prior_reading_fails().verdict is not Verdict.PROVED


def test_a_pair_part_that_is_larger_than_what_is_kept_refutes_nothing(changed):
    changed(audit, "enclose_singular_values", lambda found: found * 0.0 + 0.02)
    assert audit._prior_reading_fails().verdict is not Verdict.PROVED


def test_a_builder_that_returns_more_columns_gains_nothing(monkeypatch):
    distributions = audit.random_distributions(6, 5, spread=1.0, rank=2, noise=0.3, seed=0)
    honest = audit.judged(distributions, 2)
    original = audit.truncated_distributions
    monkeypatch.setattr(
        audit, "truncated_distributions", lambda distributions, rank, **options: original(distributions, 5, **options)
    )
    found = audit.judged(distributions, 2)
    assert (abs(found.divergence.midpoint - honest.divergence.midpoint) < 1e-12).all()


def test_the_size_of_the_counterexample_is_that_of_its_distributions(monkeypatch):
    original = audit.hadamard_distributions
    monkeypatch.setattr(audit, "hadamard_distributions", lambda tokens, size: original(2 * tokens, size))
    assert audit._joint_reading_fails().statement.startswith("T = 7, N = 8, ")


def test_bounds_by_moments_with_a_wrong_variance_are_not_confirmed(changed):
    changed(
        audit,
        "moment_bounds",
        lambda found: audit.MomentBounds(
            found.lower, found.two_point * 0.5, found.upper, found.by_range, found.by_norm
        ),
    )
    instances = [audit.judged(*x) for x in audit.random_instances(1)]
    assert [piece.verdict for piece in audit._hold_on(instances)][-1] is Verdict.UNDECIDED


@given(st.data())
def test_the_printed_bound_with_conditional_probabilities_is_never_violated(data):
    tokens, rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    weights = data.draw(distributions(d_vocab=tokens, rows=rows))
    rank = data.draw(st.integers(0, min(tokens, rows)))
    instance = audit.judged(weights, rank)
    # The factors are rounded: what that adds to the residual is far below 1e-10 of the largest logit.
    value = audit.tail_value(instance.singular_values, rank) + 1e-10 * (
        1.0 + float(instance.singular_values.upper()[0])
    )
    largest = audit.norm(weights, None, "conditional")
    assert (instance.divergence.lower() <= audit.printed_bound(tokens, largest, value).upper()).all()
    room = 1.0 - np.sqrt(2.0) * float(value.upper()) / 3.0
    if room > 1e-9:
        mass_bound = 0.5 * float(largest.upper()) * float(value.upper()) ** 2 / room * (1 + 1e-9)
        assert (instance.divergence.lower() <= mass_bound).all()


def test_numbers_in_statements_are_rounded_outwards():
    third = Enclosure(1.0) / 3.0
    assert (audit.at_least(third), audit.at_most(third)) == ("0.33333", "0.33334")
    assert (audit.at_least(2.0), audit.at_most(2.0)) == ("2", "2")


def test_the_least_probability_is_enclosed_closely():
    weights = np.array([[1.0, 1e-30]])
    found = audit.least(weights, None, "conditional")
    assert 0.99e-30 < found.lower() <= 1e-30 <= found.upper() < 1.01e-30
    assert audit.least(weights, np.array([3.0]), "prior").lower() <= 1.0


def test_the_truncation_is_that_of_the_builder():
    weights = audit.hadamard_distributions(4, 0.1)
    found = truncated_distributions(weights, 2)
    assert audit.truncation(weights, 2).midpoint == pytest.approx(found.E @ found.W.T)


@pytest.mark.parametrize("factor", [2.0, 1.0 + 2.0**-50])  # the second costs less than any bound shows
def test_distributions_that_are_not_of_rank_one_exactly_do_not_show_the_lost_rank(monkeypatch, factor):
    assert audit._means_cost_a_rank().verdict is Verdict.PROVED
    original = audit.rank_one_distributions

    def changed(tokens, contexts):
        distributions = original(tokens, contexts)
        distributions[0, 0] *= factor
        return distributions

    monkeypatch.setattr(audit, "rank_one_distributions", changed)
    assert audit._means_cost_a_rank().verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    "parameters",
    [{}, {"d_vocab": 3}, {"d_vocab": 3, "d_model": 3}, {"d_vocab": 32}, {"d_vocab": 12, "d_model": 5, "seed": 7}],
)
def test_the_distributions_are_memorized_as_well_as_promised(parameters):
    made = CLAIM.construct(**parameters)
    width = parameters.get("d_model", 2)
    assert (made.model.n_heads, made.model.d_head) == (1, width)
    found = certify_memorization(made.model, made.task)
    assert found.certificate.verdict is Verdict.PROVED
    assert made.task.distributions is not None
    bound = least_squares_bound(log_distribution_singular_values(made.task.distributions), width)
    assert found.answers.loss_upper.max() <= float(bound.upper()) + 1e-20
