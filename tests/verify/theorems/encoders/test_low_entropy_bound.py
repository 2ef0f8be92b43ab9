"""The judge of Theorem 2: its enclosures hold what balls of 400 bits say, and no repaired bound is ever exceeded."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from byheart.testing.strategies import distributions as distribution_arrays
from constructions.encoders.low_entropy_encoder import missing_mass, printed_strength, strength
from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.encoders.low_entropy_bound import (
    beyond,
    bound_by_entropy,
    bound_by_missing,
    cross_entropy,
    enclose_leads,
    enclose_printed_strength,
    kappa_of_leads,
    largest_deviation,
    lead_of_entropy,
    least_cross_entropy,
    lookup_distributions,
    mean_bound_by_entropy,
    mean_bound_by_missing,
    paper_factor,
    printed_constant,
    printed_cross_entropy,
    reaches_limit,
    slides_factor,
    within,
)

BITS = 400


def exact(x: float) -> fmpq:
    numerator, denominator = float(x).as_integer_ratio()
    return fmpq(numerator, denominator)


def holds(x: Enclosure, value: arb, *, digits: float) -> bool:
    """Whether an enclosure holds a ball, and is narrow relatively."""
    low, high = arb(exact(float(x.lower()))), arb(exact(float(x.upper())))
    narrow = float(x.radius) <= digits * abs(float(x.midpoint)) + 1e-300
    return bool(low <= value) and bool(value <= high) and narrow


def surprise(p: fmpq) -> arb:
    return -arb(p) * arb(p).log() if p > 0 else arb(0)


@st.composite
def problems(draw: st.DrawFn, *, rows: int = 3) -> tuple:
    """Distributions, tokens, leads that are positive, and a prior."""
    d_vocab = draw(st.integers(2, 6))
    distributions = draw(distribution_arrays(d_vocab=d_vocab, rows=rows))
    tokens = np.array([draw(st.integers(0, d_vocab - 1)) for _ in range(rows)])
    lead = st.one_of(st.sampled_from([1.0, 2.0]), st.floats(0.01, 20.0))
    leads = np.array([[draw(lead) for _ in range(d_vocab)] for _ in range(rows)])
    leads[np.arange(rows), tokens] = 0.0
    prior = np.array([draw(st.integers(1, 9)) for _ in range(rows)], dtype=np.float64)
    return distributions, tokens, leads, prior


@given(problem=problems(), size=st.floats(0.0, 60.0))
def test_enclosures_hold_the_exact_values_with_small_relative_radii(problem: tuple, size: float) -> None:
    distributions, tokens, leads, prior = problem
    found = lookup_distributions(distributions, tokens, prior)
    cost = cross_entropy(found, Enclosure(leads), np.full(len(distributions), size))
    bound, simple = bound_by_missing(found, Enclosure(1.5)), bound_by_entropy(found, Enclosure(1.5))
    with ctx.workprec(BITS):
        for t, (distribution, token) in enumerate(zip(distributions, tokens, strict=True)):
            mass = sum((exact(x) for x in distribution), fmpq(0))
            p = [exact(x) / mass for x in distribution]
            others = [j for j in range(len(p)) if j != token]
            missing = sum((p[j] for j in others), fmpq(0))
            entropy = sum((surprise(x) for x in p), arb(0))
            powers = sum((arb(-exact(size) * exact(leads[t, j])).exp() for j in others), arb(0))
            crossed = (1 + powers).log() + exact(size) * sum((p[j] * exact(leads[t, j]) for j in others), fmpq(0))
            assert holds(found.missing[t], arb(missing), digits=1e-13)
            assert holds(found.entropy[t], entropy, digits=1e-13)
            assert holds(cost[t], crossed, digits=1e-12)
            s, n = missing * fmpq(3, 2), len(p)
            value = arb(n).log()
            if s < fmpq(n - 1, n):
                value = surprise(s) + surprise(1 - s) + arb(s) * arb(n - 1).log()
            assert holds(bound[t], value, digits=1e-12)
            phi = (arb(n - 1) / (entropy.expm1())).log()
            assert holds(simple[t], entropy + arb(s) * phi, digits=1e-11)
        shares = [exact(x) for x in prior]
        mean = sum((w * surprise(fmpq(1, 3)) for w in shares), arb(0)) / sum(shares, fmpq(0))
        third = Enclosure(np.full(len(prior), 1.0)) / 3.0
        assert holds(found.mean(third) * float(np.log(3.0)), mean, digits=1e-12)


@given(problem=problems())
def test_no_repaired_bound_is_exceeded(problem: tuple) -> None:
    distributions, tokens, leads, prior = problem
    found, given_leads = lookup_distributions(distributions, tokens, prior), Enclosure(leads)
    others = np.where(found.others, leads, np.inf)
    least, most = others.min(axis=1), leads.max(axis=1)
    d_vocab, missing = distributions.shape[1], missing_mass(distributions, tokens)
    kappa, common = kappa_of_leads(found, given_leads), kappa_of_leads(found, given_leads, common=True)
    assert (common.upper() >= kappa.lower()).all()
    cost = cross_entropy(found, given_leads, strength(missing, least=least, kappa=most / least, d_vocab=d_vocab))
    sharp, simple = bound_by_missing(found, kappa), bound_by_entropy(found, kappa)
    assert within(cost, sharp).all() and within(sharp, simple).all() and within(found.entropy, cost).all()
    one = strength(
        min(1.0, np.average(missing, weights=prior)),
        least=least.min(),
        kappa=most.max() / least.min(),
        d_vocab=d_vocab,
    )
    mean = found.mean(cross_entropy(found, given_leads, np.full(len(distributions), float(one))))
    middle, right = mean_bound_by_missing(found, common[0]), mean_bound_by_entropy(found, common[0])
    assert within(mean, middle) and within(middle, right) and within(found.mean(sharp), middle)


@given(problem=problems())
def test_the_paper_s_encoder_is_within_its_bound_without_the_total_variation(problem: tuple) -> None:
    distributions, tokens, leads, prior = problem
    found, given_leads = lookup_distributions(distributions, tokens, prior), Enclosure(leads)
    solved = enclose_printed_strength(found, given_leads, printed_strength(leads, found.entropy.midpoint))
    assert np.isfinite(solved.radius).all()
    cost = printed_cross_entropy(found, given_leads, solved)
    assert within(cost, bound_by_entropy(found, kappa_of_leads(found, given_leads))).all()
    # Two ways to the same number.
    other = cross_entropy(found, given_leads, solved)
    assert (other.lower() <= cost.upper()).all() and (cost.lower() <= other.upper()).all()


@given(problem=problems(rows=1), d_model=st.integers(1, 200))
def test_for_a_constant_above_a_half_the_printed_bounds_are_negative(problem: tuple, d_model: int) -> None:
    distributions, tokens, _, prior = problem
    found = lookup_distributions(distributions, tokens, prior)
    assume(found.entropy.upper()[0] < 0.999 * np.log(distributions.shape[1]))  # not uniform
    constant = printed_constant(distributions.shape[1], d_model)
    for factor in (paper_factor, slides_factor):
        bound = mean_bound_by_entropy(found, factor(constant))
        if constant.lower() > 0.5:
            assert beyond(found.mean(found.entropy), bound)  # a divergence of 0 is above it
        elif constant.upper() < 0.5:
            assert bound.lower() > found.entropy.lower()[0]


def test_a_solution_of_equation_6_is_not_claimed_without_positive_leads_or_near_a_wrong_guess() -> None:
    distributions = lookup_distributions([[0.5, 0.25, 0.25]] * 6, np.zeros(6, dtype=np.int64))
    leads = np.array([[0.0, 1.0, 1.0]] * 3 + [[0.0, 1.0, 0.0], [0.0, 1.0, -1.0], [0.0, 3.0, -0.1]])
    right = float(np.log(2.0 / (np.exp(1.5 * np.log(2.0)) - 1.0)))
    # With the leads 3 and -0.1 the equation has two solutions; this is the first.
    first = brentq(lambda x: 1 + np.exp(-3 * x) + np.exp(0.1 * x) - np.exp(1.5 * np.log(2.0)), 0.0, 0.5, xtol=1e-15)
    guess = np.array([right, 1.01 * right, 0.99 * right, right, right, first])
    found = enclose_printed_strength(distributions, Enclosure(leads), guess)
    assert np.isfinite(found.radius).tolist() == [True, False, False, False, False, False]
    assert found.radius[0] < 1e-9
    unknown = enclose_printed_strength(distributions, Enclosure(leads, 2.0), guess)
    assert np.isinf(unknown.radius).all()
    assert np.isinf(enclose_printed_strength(distributions, Enclosure(leads), np.full(6, np.nan)).radius).all()


def test_a_certain_distribution_costs_nothing_in_the_limit() -> None:
    distributions = lookup_distributions([[0.0, 7.0, 0.0]], np.array([1]))
    assert distributions.missing.upper()[0] == 0.0 == distributions.entropy.upper()[0]
    leads = Enclosure([[1.0, 0.0, 2.0]])
    kappa = kappa_of_leads(distributions, leads)
    cost = cross_entropy(distributions, leads, strength(0.0, least=1.0, kappa=2.0, d_vocab=3) * np.ones(1))
    assert cost.lower()[0] > 0.0
    assert (
        within(cost, bound_by_missing(distributions, kappa)).all()
        and within(cost, bound_by_entropy(distributions, kappa)).all()
    )


def test_a_distribution_that_is_certain_of_another_token_has_no_finite_bound_by_entropy() -> None:
    distributions = lookup_distributions([[0.0, 1.0]], np.array([0]))
    assert np.isinf(bound_by_entropy(distributions, Enclosure(1.0)).radius).all()
    assert abs(bound_by_missing(distributions, Enclosure(1.0)).midpoint[0] - np.log(2.0)) < 1e-15


def test_leads_of_integers_are_exact_and_of_floats_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.theorems.encoders.low_entropy_bound._BLOCK", 7 * 4096)
    generator = np.random.default_rng(0)
    vectors, tokens = generator.integers(-9, 10, (5000, 7)).astype(np.int8), np.array([3, 4999])
    found = enclose_leads(vectors, vectors[tokens], tokens)
    wide = vectors.astype(np.int64)
    wanted = (wide[tokens] * wide[tokens]).sum(axis=1, keepdims=True) - wide[tokens] @ wide.T
    assert found.is_exact() and (found.midpoint == wanted).all()
    rough = vectors[:50] / 3.0
    found = enclose_leads(rough, rough[[3]], np.array([3]))
    row = [Fraction(float(x)) for x in rough[3]]
    for j, other in enumerate(rough):
        lead = sum((a * (a - Fraction(float(b))) for a, b in zip(row, other, strict=True)), Fraction(0))
        assert Fraction(float(found.lower()[0, j])) <= lead <= Fraction(float(found.upper()[0, j]))
    assert found.radius[0, 3] == 0.0 and 0 < found.radius.max() < 1e-12
    with pytest.raises(InputError, match="encoders"):
        enclose_leads(vectors, vectors[:1], tokens)


def test_large_integers_are_not_multiplied_as_if_they_were_exact() -> None:
    vectors = np.array([[2**30 + 1], [2**30 - 1]])
    found = enclose_leads(vectors, vectors[[0]], np.array([0]))
    assert not found.is_exact()
    assert found.lower()[0, 1] <= 2 * (2**30 + 1) <= found.upper()[0, 1]


def test_the_deviation_from_orthonormal_vectors() -> None:
    signs = np.array([[1, 1, 1, 1], [1, 1, 1, -1]])
    assert float(largest_deviation(signs, scale=4.0).upper()) == pytest.approx(0.5, abs=1e-12)
    assert float(largest_deviation(2 * np.eye(3)).lower()) == pytest.approx(3.0, abs=1e-12)
    assert largest_deviation(signs, scale=4.0).lower() <= 0.5 <= largest_deviation(signs, scale=4.0).upper()
    for vectors, scale in ((np.ones(3), 1.0), (signs, 0.0), (signs, float("nan"))):
        with pytest.raises(InputError):
            largest_deviation(vectors, scale=scale)


@given(entropy=st.floats(1e-290, 12.0), d_vocab=st.integers(2, 10**6))
def test_the_lead_of_an_entropy_is_enclosed(entropy: float, d_vocab: int) -> None:
    found = lead_of_entropy(Enclosure(entropy), d_vocab)
    with ctx.workprec(BITS):
        value = (arb(d_vocab - 1) / arb(exact(entropy)).expm1()).log()
        assert arb(exact(float(found.lower()))) <= value <= arb(exact(float(found.upper())))
    assert found.radius < 1e-12


@given(share=st.floats(0.0, 3.0), radius=st.sampled_from([0.0, 1e-12, 0.3]), d_vocab=st.integers(2, 50))
def test_the_least_cross_entropy_is_enclosed_on_intervals(share: float, radius: float, d_vocab: int) -> None:
    found = least_cross_entropy(Enclosure(share, radius), d_vocab)
    limit = fmpq(d_vocab - 1, d_vocab)
    with ctx.workprec(BITS):
        for s in (max(fmpq(0), exact(share) - exact(radius)), exact(share), exact(share) + exact(radius)):
            s = min(s, limit)
            value = surprise(s) + surprise(1 - s) + arb(s) * arb(d_vocab - 1).log()
            low, high = float(found.lower()), float(found.upper())
            assert not np.isfinite(low) or not arb(exact(low)) > value
            assert not np.isfinite(high) or not arb(exact(high)) < value
    if radius == 0.0:
        assert found.radius <= 1e-13


def test_kappa_is_unknown_where_a_lead_may_not_be_positive() -> None:
    distributions = lookup_distributions(np.ones((3, 2)), np.array([0, 0, 0]))
    leads = Enclosure([[0.0, 1.0], [0.0, -1.0], [0.0, 1.0]], np.array([[0.0], [0.0], [1.0]]))
    assert np.isfinite(kappa_of_leads(distributions, leads).radius).tolist() == [True, False, False]
    assert np.isinf(kappa_of_leads(distributions, leads, common=True).radius).all()
    assert not within(distributions.entropy, bound_by_missing(distributions, kappa_of_leads(distributions, leads)))[
        1:
    ].any()


def test_the_slack_is_small_and_one_sided() -> None:
    one = Enclosure(1.0)
    assert within(Enclosure(1.0 + 2.0**-33), one) and not within(Enclosure(1.0 + 2.0**-31), one)
    assert not within(Enclosure(1.0, np.inf), one) and not within(one, Enclosure(1.0, np.inf))
    assert not beyond(one, one) and beyond(Enclosure(1.0 + 2.0**-40), one)
    assert not beyond(Enclosure(1.0, np.inf), one) and not beyond(Enclosure(2.0), Enclosure(1.0, np.inf))


def test_the_numbers_of_the_page() -> None:
    assert abs(printed_constant(2, 1).midpoint - 5.9292) < 1e-4
    distributions = lookup_distributions([[9.0, 1.0]], np.array([0]))
    bound = mean_bound_by_entropy(distributions, paper_factor(printed_constant(2, 1))) - distributions.entropy[0]
    assert -0.1133 < bound.lower() <= bound.upper() < -0.1132
    assert printed_constant(50_257, 1385).lower() > 0.5 > printed_constant(50_257, 1386).upper()
    # The least N for which some d < N - 1 has C < 1/2.
    assert printed_constant(868, 866).lower() > 0.5 > printed_constant(869, 867).upper()
    assert all(printed_constant(n, n - 2).lower() > 0.5 for n in range(3, 869))


@given(count=st.integers(2, 9), d_model=st.integers(1, 5), data=st.data())
def test_no_vectors_and_encoders_undercut_the_limit(count: int, d_model: int, data: st.DataObject) -> None:
    entry = st.integers(-4, 4)
    rows = st.lists(st.lists(entry, min_size=d_model, max_size=d_model), min_size=count, max_size=count)
    vectors, noise = (np.array(data.draw(rows)) for _ in range(2))
    encoders = 4 * vectors + noise
    products = encoders @ vectors.T
    leads = np.diag(products)[:, np.newaxis] - products
    # Tokens without positive leads are dropped; the others keep theirs.
    usable = np.flatnonzero((leads + np.eye(count, dtype=np.int64)).min(axis=1) > 0)
    assume(len(usable) >= 2)
    kept = leads[np.ix_(usable, usable)][~np.eye(len(usable), dtype=bool)].reshape(len(usable), -1)
    kappa = max(Fraction(int(row.max()), int(row.min())) for row in kept)
    assert reaches_limit(kappa, len(usable), d_model) or d_model > len(usable) - 1


def test_the_limit_is_sharp_for_the_simplex_and_refuses_what_is_below() -> None:
    assert reaches_limit(Fraction(1), 5, 4) and not reaches_limit(Fraction(1), 6, 4)
    assert reaches_limit(Fraction(3), 4, 1) == (Fraction(1, 4) >= Fraction(2, 6))


@pytest.mark.parametrize(
    ("distributions", "tokens", "prior"),
    [
        ([[1.0]], [0], None),
        ([[1.0, -1.0]], [0], None),
        ([[np.nan, 1.0]], [0], None),
        ([[0.0, 0.0]], [0], None),
        ([[1.0, 1.0]], [2], None),
        ([[1.0, 1.0]], [-1], None),
        ([[1.0, 1.0]], [0.0], None),
        ([[1.0, 1.0]], [0], [0.0]),
        ([[1.0, 1.0]], [0], [1.0, 1.0]),
    ],
)
def test_distributions_that_are_none_are_refused(distributions: list, tokens: list, prior: list | None) -> None:
    with pytest.raises(InputError):
        lookup_distributions(distributions, np.array(tokens), prior)


def test_leads_of_another_shape_are_refused() -> None:
    distributions = lookup_distributions([[1.0, 1.0]], np.array([0]))
    for judge in (kappa_of_leads, lambda distributions, leads: cross_entropy(distributions, leads, np.ones(1))):
        with pytest.raises(InputError, match="leads has shape"):
            judge(distributions, Enclosure(np.ones((1, 3))))


def test_masked_arrays_and_tokens_out_of_range_are_refused() -> None:
    eye, token = np.eye(3), np.array([0])
    hidden = np.ma.masked_array(token, mask=[True])
    distributions = lookup_distributions(np.ones((1, 3)), token)
    for bad in (hidden, np.array([-1]), np.array([3]), np.array([0.0])):
        with pytest.raises(InputError, match="tokens"):
            enclose_leads(eye, eye[[0]], bad)
    with pytest.raises(InputError, match="tokens"):
        lookup_distributions(np.ones((1, 3)), hidden)
    for vectors, encoders in ((np.ma.masked_array(eye, mask=eye > 0), eye[[0]]), (eye, np.ma.masked_array(eye[[0]]))):
        with pytest.raises(InputError, match="masked"):
            enclose_leads(vectors, encoders, token)
    leads = Enclosure([[0.0, 1.0, 1.0]])
    for strengths in (np.ma.masked_array([1.0], mask=[True]), np.array([2**60 + 1]), np.ones(1, dtype=np.longdouble)):
        with pytest.raises(InputError, match="strengths"):
            cross_entropy(distributions, leads, strengths)


@pytest.mark.parametrize(
    "arguments", [(Fraction(0), 5, 2), (Fraction(-1), 5, 2), (Fraction(2), 1, 1), (Fraction(2), 3, -1)]
)
def test_the_limit_is_not_asked_of_what_cannot_be(arguments: tuple) -> None:
    with pytest.raises(InputError, match="kappa"):
        reaches_limit(*arguments)
