"""Divergences of near logits and their bounds, against balls of high precision."""

from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import distributions
from constructions.encoders.truncated_distributions import (
    hadamard_distributions,
    random_distributions,
    token_pair_distributions,
    truncated_distributions,
)
from constructions.errors import HypothesisError, InputError
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.linear_algebra.singular_values import enclose_spectral_norm
from verify.theorems.encoders import truncation_bound
from verify.theorems.encoders.encoder_floor import encoder_floor
from verify.theorems.encoders.truncation_bound import (
    centred,
    least_squares_bound,
    log_distribution_singular_values,
    log_distributions,
    mean_over,
    moment_bounds,
    phi,
    probabilities,
    sharp_divergence,
    tail_sum_bound,
    tail_value,
)

BITS = 400


def exact_divergences(logits, weights):
    """KL of each distribution from the softmax of exact float logits, as balls of high precision."""
    found = []
    for z, w in zip(logits.tolist(), weights.tolist(), strict=True):
        mass = sum(map(arb, w), arb(0))
        powers = sum((arb(x).exp() for x in z), arb(0)).log()
        crossed = sum((arb(p) * (arb(p).log() - arb(x)) for p, x in zip(w, z, strict=True)), arb(0))
        found.append(crossed / mass - mass.log() + powers)
    return found


def exact_moment_bounds(z, w):
    """The five bounds of one distribution, as balls of high precision."""
    mass = sum(map(arb, w), arb(0))
    raw = [arb(x) - arb(p).log() for x, p in zip(z, w, strict=True)]
    mean = sum((arb(p) * x for p, x in zip(w, raw, strict=True)), arb(0)) / mass
    error = [x - mean for x in raw]
    variance = sum((arb(p) * x * x for p, x in zip(w, error, strict=True)), arb(0)) / mass
    top = max(error, key=lambda x: float(x.mid()))
    bottom = min(error, key=lambda x: float(x.mid()))

    def exact_phi(x):
        return (x.exp() - 1 - x) / (x * x)

    plain = sum(raw, arb(0)) / len(raw)
    return {
        "lower": (1 + variance * exact_phi(bottom)).log(),
        "two_point": ((top * top * (-variance / top).exp() + variance * top.exp()) / (top * top + variance)).log(),
        "upper": (1 + variance * exact_phi(top)).log(),
        "by_range": (top - bottom) * (top - bottom) / 8,
        "by_norm": sum(((x - plain) * (x - plain) for x in raw), arb(0)) / 4,
    }


def holds(enclosure, t, value):
    return arb(float(enclosure.lower()[t])) <= value <= arb(float(enclosure.upper()[t]))


@st.composite
def cases(draw):
    tokens, rows = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    weights = draw(distributions(d_vocab=tokens, rows=rows))
    scale = draw(st.sampled_from((0.0, 1e-9, 1e-4, 0.1, 3.0, 40.0)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return np.log(weights) + scale * rng.standard_normal(weights.shape) + 7.0, weights


@given(cases())
def test_the_divergence_is_enclosed(case):
    logits, weights = case
    found = sharp_divergence(Enclosure(logits), weights)
    with ctx.workprec(BITS):
        assert all(holds(found, t, value) for t, value in enumerate(exact_divergences(logits, weights)))


@pytest.mark.parametrize("size", [1e-1, 1e-3, 1e-6, 1e-9])
def test_the_divergence_of_near_logits_has_a_small_relative_radius(size):
    weights = random_distributions(5, 8, spread=2.0, rank=3, noise=1.0, seed=0)
    logits = np.log(weights) + size * np.random.default_rng(1).standard_normal(weights.shape)
    found = sharp_divergence(Enclosure(logits), weights)
    assert (found.radius < 1e-4 * found.midpoint).all()
    assert found.midpoint == pytest.approx(size**2 / 2, rel=10.0)


@given(cases())
def test_the_bounds_by_moments_enclose_what_they_say_and_are_never_violated(case):
    logits, weights = case
    found = moment_bounds(Enclosure(logits), weights)
    with ctx.workprec(BITS):
        divergences = exact_divergences(logits, weights)
        for t, value in enumerate(divergences):
            exact = exact_moment_bounds(logits[t].tolist(), weights[t].tolist())
            for name, bound in exact.items():
                enclosure = getattr(found, name)
                if bound.is_finite() and np.isfinite(np.broadcast_to(enclosure.radius, enclosure.shape)[t]):
                    assert holds(enclosure, t, bound), name
            assert arb(float(found.lower.lower()[t])) <= value
            for name in ("two_point", "upper", "by_range", "by_norm"):
                assert value <= arb(float(getattr(found, name).upper()[t])), name


@given(st.lists(st.floats(-700.0, 700.0), min_size=1, max_size=8), st.sampled_from((0.0, 1e-9, 0.5, 3.0)))
def test_phi_is_enclosed(points, radius):
    found = phi(Enclosure(np.array(points), radius))
    with ctx.workprec(4000):
        for t, x in enumerate(points):
            for at in (arb(x) - radius, arb(x), arb(x) + radius):
                value = (at.exp() - 1 - at) / (at * at) if at != 0 else arb(0.5)
                if value.is_finite():
                    assert holds(found, t, value)


def test_a_shorter_series_is_still_enclosed(monkeypatch):
    monkeypatch.setattr(truncation_bound, "_TERMS", 3)
    points = [-1.0, -0.3, 0.0, 0.7, 1.0]
    found = phi(Enclosure(points))
    with ctx.workprec(BITS):
        for t, x in enumerate(points):
            assert holds(found, t, (arb(x).exp() - 1 - x) / (arb(x) * x) if x else arb(0.5))


def test_a_distribution_of_nearly_one_mass_costs_no_digits():
    weights = np.array([[1e-27, 1e-20, 1.0]])
    found = sharp_divergence(Enclosure([[-62.0, -46.0, 0.3]]), weights)
    assert found.radius[0] < 5e-11 * found.midpoint[0]


def test_the_divergence_of_logits_that_are_far_off_is_known():
    found = sharp_divergence(Enclosure([[0.0, 3000.0]]), np.array([[1.0, 1.0]]))
    assert found.lower()[0] <= 1500.0 - np.log(2.0) <= found.upper()[0] < 1500.0


def test_phi_is_sharp_where_its_two_forms_meet():
    found = phi(Enclosure(np.array([-1.0000001, -1.0, -0.5, 0.0, 1e-12, 1.0, 1.0000001, 30.0])))
    assert (found.radius <= 1e-14 * np.abs(found.midpoint)).all()


@given(st.data())
def test_the_sharp_bounds_are_never_violated_by_truncations(data):
    tokens, rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    weights = data.draw(distributions(d_vocab=tokens, rows=rows))
    rank = data.draw(st.integers(0, min(tokens, rows)))
    prior = np.array([data.draw(st.sampled_from((0.0, 1e-6, 0.3, 1.0))) for _ in range(rows)])
    prior[0] += 1e-3
    found = truncated_distributions(weights, rank)
    logits = matmul(found.E, found.W.T)
    residual = centred(logits) - centred(log_distributions(weights))
    cost = sharp_divergence(logits, weights)
    distance = float(enclose_spectral_norm(residual).upper())
    assert (cost.lower() <= 0.25 * distance**2 * (1 + 1e-12)).all()
    values = log_distribution_singular_values(weights)
    allowed = 1e-10 * (1.0 + float(values.upper().max()))
    assert distance <= float(tail_value(values, rank).upper()) + allowed
    found = truncated_distributions(weights, rank, prior=prior)
    cost = mean_over(prior, sharp_divergence(matmul(found.E, found.W.T), weights))
    bound = tail_sum_bound(log_distribution_singular_values(weights, prior=prior), rank)
    assert float(cost.lower()) <= (np.sqrt(float(bound.upper())) + allowed) ** 2


@given(cases(), st.integers(0, 3))
def test_no_truncation_is_below_the_floor_for_all_encoders(case, rank):
    _, weights = case
    rank = min(rank, *weights.shape)
    found = truncated_distributions(weights, rank)
    cost = mean_over(np.ones(len(weights)), sharp_divergence(matmul(found.E, found.W.T), weights))
    assert encoder_floor(weights, rank).lower <= float(cost.upper())


def closed_form_floor(tokens, size, rank, theta):
    """The floor for the Hadamard distributions by hand: all rows of L P1 are orthogonal and of one norm."""
    a, b = (float(x) for x in np.sort(np.unique(hadamard_distributions(tokens, size))))
    with ctx.workprec(BITS):
        p = arb(a) / (tokens * (arb(a) + arb(b)) / 2)
        square = tokens * (arb(b).log() - arb(a).log()) ** 2 / 4
        t = arb(theta)
        psi = ((1 - t) * (1 - t).log() + t) / (t * t)
        tau = min((arb(1), 2 * psi * t / square.sqrt()), key=lambda x: float(x.mid()))
        return arb(tokens - 1 - rank) / (tokens - 1) * (2 * tau - tau * tau) * p * square / (4 * psi)


@pytest.mark.parametrize(("tokens", "size", "theta"), [(4, 0.01, 0.03), (8, 0.01, 0.03), (8, 1e-4, 0.03)])
def test_the_floor_of_the_counterexamples_is_no_less_than_by_hand(tokens, size, theta):
    by_hand = closed_form_floor(tokens, size, 1, theta)
    assert by_hand <= arb(encoder_floor(hadamard_distributions(tokens, size), 1).lower)


def test_the_singular_values_of_hadamard_distributions_are_known_by_hand():
    values = log_distribution_singular_values(hadamard_distributions(8, 0.25))
    assert (values.lower() <= 0.25 * np.sqrt(8)).all() and (values.upper() >= 0.25 * np.sqrt(8)).all()
    weighted = log_distribution_singular_values(hadamard_distributions(8, 0.25), prior=np.full(7, 3.0))
    assert weighted.midpoint == pytest.approx(0.25 * np.sqrt(8 / 7))
    raw = log_distribution_singular_values(token_pair_distributions(6, size=0.01, depth=30.0), without_means=False)
    assert raw.midpoint[5:7] == pytest.approx([60.0, 0.02], rel=1e-3)


def test_beyond_the_last_singular_value_the_bounds_are_zero():
    values = Enclosure([3.0, 2.0])
    for rank in (2, 3):
        assert float(least_squares_bound(values, rank).upper()) < 1e-300
        assert float(tail_sum_bound(values, rank).upper()) < 1e-300
    assert float(least_squares_bound(values, 0).midpoint) == 2.25
    assert float(tail_sum_bound(values, 0).midpoint) == 3.25


def test_what_is_not_known_gives_no_information():
    weights = np.array([[1.0, 1.0]])
    unknown = Enclosure(np.zeros((1, 2)), np.inf)
    assert sharp_divergence(unknown, weights).radius[0] == np.inf
    assert not bool(moment_bounds(unknown, weights).by_norm.upper()[0] < np.inf)
    assert tail_value(Enclosure([1.0], [np.inf]), 0).upper() == np.inf


def test_probabilities_of_weight_zero_are_exact():
    found = probabilities(np.array([0.0, 1.0, 2.0]), 3)
    assert (found.midpoint[0], found.radius[0]) == (0.0, 0.0)
    assert found.lower()[1] <= 1 / 3 <= found.upper()[1]


def test_arguments_out_of_range_are_refused():
    with pytest.raises(HypothesisError, match="row 1 is 0 at token 0"):
        log_distributions(np.array([[1.0, 1.0], [0.0, 1.0]]))
    for bad in (np.ones(3), np.ones((0, 2)), np.array([[-1.0, 1.0]]), np.array([[np.nan, 1.0]])):
        with pytest.raises(InputError, match="distributions"):
            log_distributions(bad)
    with pytest.raises(InputError, match="logits has shape"):
        sharp_divergence(Enclosure(np.zeros((1, 3))), np.ones((1, 2)))
    for prior in (np.ones(3), np.zeros(2), np.array([-1.0, 2.0]), np.array([np.inf, 1.0])):
        with pytest.raises(InputError, match="prior"):
            probabilities(prior, 2)
    values = Enclosure([3.0, 2.0])
    ranks: list[Any] = [-1, 1.0, True]
    for rank in ranks:
        for bound in (least_squares_bound, tail_sum_bound, tail_value):
            with pytest.raises(InputError, match="rank"):
                bound(values, rank)
