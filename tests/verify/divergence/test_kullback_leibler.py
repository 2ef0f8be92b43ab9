"""Divergences, entropies, distances and margins against balls of 300 bits, at points of the given enclosures."""

import itertools
import tracemalloc
import warnings
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.tasks.task import Counts
from verify.arithmetic.enclosure import Enclosure
from verify.divergence import kullback_leibler as module
from verify.divergence.kullback_leibler import (
    argmax_margin,
    divergence,
    divergence_within,
    empirical_divergence,
    enclose_softmax,
    entropy,
    label_divergence,
    mean_upper_bound,
    quadratic_divergence_bound,
)

BITS = 300


def rational(x):
    return flint.fmpq(*float(x).as_integer_ratio())


def ball(x):
    return flint.arb(x)


def softmax_of_balls(logits):
    top = max(logits)
    powers = [(ball(z) - ball(top)).exp() for z in logits]
    mass = sum(powers[1:], powers[0])
    return [power / mass for power in powers]


def minus_log_softmax(logits, i):
    """log(1 + sum of the others), in which nothing cancels."""
    others = [(ball(z) - ball(logits[i])).exp() for j, z in enumerate(logits) if j != i]
    return sum(others, ball(0)).log1p()


def divergence_of_balls(weights, logits):
    """The divergence of weights / sum(weights) from softmax(logits); the weights are exact floats or integers."""
    mass = sum((ball(w) for w in weights), ball(0))
    result = ball(0)
    for i, w in enumerate(weights):
        if w > 0:
            p = ball(w) / mass
            result += p * (p.log() + minus_log_softmax(logits, i))
    return result


def entropy_of_balls(weights):
    mass = sum((ball(w) for w in weights), ball(0))
    return sum((-(ball(w) / mass) * (ball(w) / mass).log() for w in weights if w > 0), ball(0))


def assert_within(x, midpoint, radius):
    """The ball x lies within midpoint +- radius, up to its own width, which must be far smaller."""
    assert x.is_finite()
    assert x.rad() * 1024 <= max(ball(radius), abs(x) / ball(2) ** 60, key=float)
    distance = abs(x - ball(midpoint))
    assert distance <= radius or distance.overlaps(ball(radius)), f"{x} is outside of {midpoint} +- {radius}"


def assert_contains(enclosure, exact):
    midpoint = np.asarray(enclosure.midpoint).reshape(-1).tolist()
    radius = np.broadcast_to(enclosure.radius, enclosure.shape).reshape(-1).tolist()
    for x, m, r in zip(exact, midpoint, radius, strict=True):
        assert_within(x, m, r)


DISTRIBUTION_KINDS = ("smooth", "with zeros", "point", "tiny", "subnormal", "huge", "graded")


def random_distributions(rng, kind, T, N):
    distributions = rng.random((T, N)) + 1e-3
    if kind == "with zeros":
        distributions *= rng.random((T, N)) < 0.5
        distributions[np.arange(T), rng.integers(0, N, T)] = 1.0
    elif kind == "point":
        distributions = np.eye(N)[rng.integers(0, N, T)]
    elif kind == "tiny":
        distributions[rng.random((T, N)) < 0.5] *= 1e-300
    elif kind == "subnormal":
        distributions *= 2.0**-1060
    elif kind == "huge":
        distributions *= 1e307 / N
    elif kind == "graded":
        distributions *= 10.0 ** rng.uniform(-30, 30, (T, N))
    return distributions


def random_logits(rng, distributions):
    """Logits near the logarithm of the distribution, or anywhere; and a radius in one of the shapes it may have."""
    T, N = distributions.shape
    with np.errstate(divide="ignore"):
        near = np.maximum(np.log(distributions), -750.0) + rng.normal(0, 30, (T, 1))
    scale = 10.0 ** rng.uniform(-12, 3)
    midpoint = scale * rng.standard_normal((T, N)) + (near if rng.random() < 0.7 else 0.0)
    shape = [(), (T, 1), (T, N)][rng.integers(3)]
    radius = rng.choice([0.0, 1e-13, 1e-9, 1e-3, 0.3, 5.0]) * rng.random(shape)
    return Enclosure(midpoint, radius)


def points(rng, logits):
    """Logits that the enclosure holds: the midpoint, and points near the ends."""
    yield logits.midpoint
    for _ in range(2):
        moved = logits.midpoint + logits.radius * rng.choice([-1.0, 1.0], logits.shape) * (1 - 2.0**-40)
        # Such a difference is exact, or far from the end.
        yield np.where(np.abs(moved - logits.midpoint) <= logits.radius * (1 - 2.0**-45), moved, logits.midpoint)


def random_case(seed):
    rng = np.random.default_rng(seed)
    T, N = (int(n) for n in rng.integers(1, 6, 2))
    kind = str(rng.choice(DISTRIBUTION_KINDS))
    distributions = random_distributions(rng, kind, T, N)
    return rng, distributions, random_logits(rng, distributions)


def check_divergences(seed):
    rng, distributions, logits = random_case(seed)
    T, N = distributions.shape
    enclosed = divergence(logits, distributions)
    labels = rng.integers(0, N, T)
    of_labels = label_divergence(logits, labels)
    counts = [
        {int(i): int(rng.integers(1, 10 ** rng.integers(1, 10))) for i in rng.permutation(N)[: rng.integers(1, N + 1)]}
        for _ in range(T)
    ]
    of_counts = empirical_divergence(logits, Counts.from_rows(counts))
    softmax = enclose_softmax(logits)
    modes = rng.random((T, N)) < 0.5
    modes[np.arange(T), rng.integers(0, N, T)] = True
    margins = argmax_margin(logits, modes)
    bounds = quadratic_divergence_bound(logits, distributions) if (distributions > 0).all() else np.full(T, np.inf)
    with flint.ctx.workprec(BITS):
        for point in points(rng, logits):
            rows = point.tolist()
            exact = [
                divergence_of_balls(distribution, row)
                for distribution, row in zip(distributions.tolist(), rows, strict=True)
            ]
            assert_contains(enclosed, exact)
            for bound, x in zip(bounds.tolist(), exact, strict=True):
                assert bool(x <= bound) or x.overlaps(ball(bound))
            assert_contains(of_labels, [minus_log_softmax(row, label) for row, label in zip(rows, labels, strict=True)])
            assert_contains(
                of_counts,
                [
                    divergence_of_balls([c.get(i, 0) for i in range(N)], row)
                    for c, row in zip(counts, rows, strict=True)
                ],
            )
            assert_contains(softmax, [q for row in rows for q in softmax_of_balls(row)])
            for margin, row, chosen in zip(margins.tolist(), rows, modes, strict=True):
                inside = [rational(z) for z, mode in zip(row, chosen, strict=True) if mode]
                outside = [rational(z) for z, mode in zip(row, chosen, strict=True) if not mode]
                assert margin == np.inf if not outside else rational(margin) <= min(inside) - max(outside)
        assert_contains(
            entropy(distributions), [entropy_of_balls(distribution) for distribution in distributions.tolist()]
        )
        assert_contains(entropy(Counts.from_rows(counts)), [entropy_of_balls([*c.values()]) for c in counts])


@pytest.mark.parametrize("part", range(8))
@given(seed=st.integers(0, 2**32))
def test_enclosures_contain_the_values_at_every_point_of_the_logits(part, seed):
    check_divergences([seed, part])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_enclosures_contain_the_values_at_every_point_in_thousands_of_cases(part):
    for seed in range(1000):
        check_divergences([seed, 100 + part])


@pytest.mark.parametrize("radius", [0.0, 1e-3])
@pytest.mark.parametrize("N", [1, 2, 1000, 3000])
def test_long_rows_are_enclosed_too(N, radius):
    rng = np.random.default_rng(N)
    distributions = rng.random((2, N)) ** 8
    logits = Enclosure(3 * rng.standard_normal((2, N)), radius)
    counts = [
        {int(i): int(rng.integers(1, 1000)) for i in np.flatnonzero(rng.random(N) < 0.7)} or {0: 1} for _ in range(2)
    ]
    with flint.ctx.workprec(BITS):
        for point in (logits.midpoint, logits.midpoint + 0.99 * radius * rng.choice([-1.0, 1.0], (2, N))):
            mass = [sum((ball(z).exp() for z in row), ball(0)).log() for row in point.tolist()]
            for t in range(2):
                total = sum(map(ball, distributions[t].tolist()), ball(0))
                crossed = sum(
                    (ball(w) * (ball(w).log() - ball(z)) for w, z in zip(distributions[t], point[t], strict=True)),
                    ball(0),
                )
                assert_contains(divergence(logits, distributions)[t : t + 1], [crossed / total - total.log() + mass[t]])
                n = ball(sum(counts[t].values()))
                crossed = sum((ball(c) * (ball(c).log() - ball(point[t, i])) for i, c in counts[t].items()), ball(0))
                exact = crossed / n - n.log() + mass[t]
                assert_contains(empirical_divergence(logits, Counts.from_rows(counts))[t : t + 1], [exact])
                of_label = label_divergence(logits, np.zeros(2, int))
                assert_contains(of_label[t : t + 1], [minus_log_softmax(point[t].tolist(), 0)])


def test_a_second_opinion_of_mpmath_agrees():
    rng = np.random.default_rng(5)
    distributions, logits = rng.random((3, 7)), Enclosure(rng.standard_normal((3, 7)))
    enclosed = divergence(logits, distributions)
    with mpmath.workprec(200):
        for t in range(3):
            p = [mpmath.mpf(x) / mpmath.fsum(distributions[t]) for x in distributions[t]]
            powers = [mpmath.exp(mpmath.mpf(z)) for z in logits.midpoint[t]]
            q = [power / mpmath.fsum(powers) for power in powers]
            exact = mpmath.fsum(a * mpmath.log(a / b) for a, b in zip(p, q, strict=True))
            assert abs(exact - float(enclosed.midpoint[t])) <= float(enclosed.radius[t])
            assert float(enclosed.radius[t]) < 1e-14


# ---------------------------------------------------------------------------------------------------------------------
# The quadratic bound.


def test_the_quadratic_bound_is_quadratic_in_the_radius_and_blind_to_shifts():
    rng = np.random.default_rng(0)
    distributions = rng.random((20, 64)) + 0.01
    logits = np.log(distributions)
    assert quadratic_divergence_bound(Enclosure(logits), distributions).max() < 1e-27
    assert quadratic_divergence_bound(Enclosure(logits, 1e-9), distributions).max() < 6e-19
    assert quadratic_divergence_bound(Enclosure(logits, 1e-8), distributions).max() < 6e-17
    assert quadratic_divergence_bound(Enclosure(logits + 1e3, 1e-9), distributions * 1e-200).max() < 6e-19


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.1])
def test_the_quadratic_bound_is_nearly_attained_by_a_fair_coin(width):
    bound = quadratic_divergence_bound(Enclosure([[0.0, width]]), np.array([[0.5, 0.5]]))[0]
    with flint.ctx.workprec(BITS):
        exact = float(divergence_of_balls([0.5, 0.5], [0.0, width]))
    assert exact <= bound <= exact * (1 + 0.05 * width**2 + 1e-8)


def test_the_quadratic_bound_grows_with_the_radius_of_each_logit():
    distributions = np.array([[0.5, 0.5]])
    for midpoint, radius in (([0.0, 1.0], [0.0, 0.5]), ([0.0, 1.0], [0.5, 0.0]), ([1.0, 0.0], [0.25, 0.25])):
        bound = quadratic_divergence_bound(Enclosure([midpoint], [radius]), distributions)[0]
        assert 1.5**2 / 8 <= bound < 1.5**2 / 8 * (1 + 1e-9)


def test_the_quadratic_bound_counts_the_error_of_the_logarithm():
    # The logarithm is off by a few units in its last place, and there is nothing else.
    rng = np.random.default_rng(1)
    distributions = 10.0 ** rng.uniform(-300, 0, (200, 2))
    with flint.ctx.workprec(BITS):
        for distribution, bound in zip(
            distributions, quadratic_divergence_bound(Enclosure(np.log(distributions)), distributions), strict=True
        ):
            gap = [ball(float(np.log(p))) - ball(p).log() for p in distribution.tolist()]
            assert abs(gap[0] - gap[1]) ** 2 / 8 <= bound


def test_the_quadratic_bound_counts_the_rounding_of_the_gaps():
    # Beside logits near 2^20 the logarithms of the distribution lose what then separates the two distributions.
    rng = np.random.default_rng(2)
    distributions = 0.5 + rng.uniform(0.0, 0.01, (200, 2))
    logits = 2.0**20 + np.log(distributions)
    with flint.ctx.workprec(BITS):
        exact = [
            divergence_of_balls(distribution, row)
            for distribution, row in zip(distributions.tolist(), logits.tolist(), strict=True)
        ]
    assert all(
        x <= bound for x, bound in zip(exact, quadratic_divergence_bound(Enclosure(logits), distributions), strict=True)
    )


def test_the_quadratic_bound_is_positive_where_its_square_underflows():
    assert quadratic_divergence_bound(Enclosure([[0.0, 1e-170]]), np.ones((1, 2)))[0] > 0.0


def test_the_quadratic_bound_needs_distributions_of_full_support():
    distributions = np.full((3, 4), 0.25)
    distributions[1, 2] = 0.0
    with pytest.raises(HypothesisError, match="full support, but the distribution of row 1 is 0 at token 2"):
        quadratic_divergence_bound(Enclosure(np.zeros((3, 4))), distributions)


# ---------------------------------------------------------------------------------------------------------------------
# Labels and margins.


@pytest.mark.parametrize("gap", [1.0, 40.0, 300.0, 650.0])
def test_the_divergence_of_a_label_is_sharp_beside_its_value_however_small(gap):
    enclosed = label_divergence(Enclosure([[gap + 7.0, 7.0, 7.0]], 1e-13), np.array([0]))
    assert enclosed.radius[0] < 1e-12 * enclosed.midpoint[0]
    with flint.ctx.workprec(BITS):
        assert_within(minus_log_softmax([gap + 7.0, 7.0, 7.0], 0), enclosed.midpoint[0], enclosed.radius[0])


def test_the_divergence_of_a_label_that_is_not_predicted_is_about_the_gap():
    enclosed = label_divergence(Enclosure([[0.0, 2000.0, -5.0]], 0.5), np.array([0]))
    assert 1998.9 < enclosed.lower()[0] <= 1999.0
    assert 2001.0 <= enclosed.upper()[0] < 2001.1


def test_the_divergence_of_a_label_counts_the_rounding_of_its_exponent():
    rng = np.random.default_rng(3)
    top, gap = rng.uniform(0.7, 1.4, 50), 1024.0 * rng.uniform(1.0, 1.02, 50)
    logits = np.stack([top, top, top - gap], axis=1)
    with flint.ctx.workprec(BITS):
        exact = [minus_log_softmax(row, 2) for row in logits.tolist()]
    assert_contains(label_divergence(Enclosure(logits), np.full(50, 2)), exact)


def test_the_divergence_of_a_label_holds_what_every_exponent_below_the_range_leaves_open():
    # What stands for each of these exponentials is 2^-1022 and more, and each is nearly 0.
    logits = np.array([[0.0] + [-800.0] * 200])
    with flint.ctx.workprec(BITS):
        exact = minus_log_softmax(logits[0].tolist(), 0)
    assert_contains(label_divergence(Enclosure(logits), np.array([0])), [exact])


def test_the_divergence_of_a_label_carries_the_error_of_its_own_logit():
    enclosed = label_divergence(Enclosure([[30.0, 0.0]], [[0.1, 0.0]]), np.array([0]))
    assert enclosed.upper()[0] >= np.log1p(np.exp(-29.9))
    assert enclosed.lower()[0] <= np.log1p(np.exp(-30.1))


def test_the_ends_of_a_margin_are_rounded_outwards():
    # 1 - 0.4 * 2^-53 rounds to 1, and 1 - 2^-53 + 0.1 * 2^-53 rounds to 1 - 2^-53.
    for radius, margin in (([0.4, 0.0], 0.6), ([0.0, 0.1], 0.9)):
        logits = Enclosure(np.array([[1.0, 1.0 - 2.0**-53]]), np.array([radius]) * 2.0**-53)
        assert argmax_margin(logits, np.array([[True, False]]))[0] <= margin * 2.0**-53


def test_ties_of_the_largest_logit_are_divided():
    enclosed = label_divergence(Enclosure([[3.0, 3.0, -900.0]]), np.array([1]))
    assert abs(enclosed.midpoint[0] - np.log(2)) <= enclosed.radius[0] < 1e-14


def test_a_margin_is_the_worst_gap_between_ends():
    logits = Enclosure([[5.0, 4.0, 1.0, 3.0]], [[1.0, 0.25, 0.5, 0.125]])
    modes = np.array([[True, True, False, False]])
    margin = argmax_margin(logits, modes)[0]
    assert 0.625 - 1e-12 < margin <= 0.625
    assert argmax_margin(logits, ~modes)[0] <= -5.0
    assert argmax_margin(logits, modes | True)[0] == np.inf
    assert argmax_margin(Enclosure([[1.0, 1.0]]), np.array([[True, False]]))[0] <= 0.0


def test_a_margin_is_positive_only_when_the_exact_logits_are_apart():
    # One rounding of the difference, and the ends of the radius, decide.
    for gap in (2.0**-60, 2.0**-53, 2.0**-52):
        logits = Enclosure([[1.0 + 2.0**-52, 1.0]], 2.0**-53 + gap)
        assert not argmax_margin(logits, np.array([[True, False]]))[0] > 0
    assert argmax_margin(Enclosure([[1.0 + 2.0**-50, 1.0]], 2.0**-55), np.array([[True, False]]))[0] > 0


# ---------------------------------------------------------------------------------------------------------------------
# How small the radii are, and how much memory it takes.


def test_radii_of_divergences_are_near_the_radii_of_the_logits():
    rng = np.random.default_rng(0)
    distributions = rng.random((50, 1000))
    logits = np.log(distributions) + 0.05 * rng.standard_normal(distributions.shape) + 11.0
    assert divergence(Enclosure(logits), distributions).radius.max() < 1e-13
    assert divergence(Enclosure(logits, 1e-12), distributions).radius.max() < 2.2e-12
    counts = Counts.from_rows([{int(i): int(c) for i, c in enumerate(row)} for row in rng.integers(1, 50, (50, 1000))])
    assert empirical_divergence(Enclosure(logits), counts).radius.max() < 1e-12
    assert entropy(distributions).radius.max() < 1e-13
    assert divergence(Enclosure(np.array([[800.0, 0.0]])), np.array([[1.0, 1e-300]])).radius.max() < 1e-12


def test_logits_far_below_the_largest_do_not_widen_the_radius():
    midpoint = np.array([[0.0, 1.0, -1e9]])
    error = np.array([[1e-14, 1e-14, 1e-3]])
    assert divergence(Enclosure(midpoint, error), np.array([[1.0, 1.0, 0.0]])).radius[0] < 1e-13
    assert label_divergence(Enclosure(midpoint, error), np.array([1])).radius[0] < 1e-13
    assert empirical_divergence(Enclosure(midpoint, error), Counts.from_rows([{0: 3}])).radius[0] < 1e-13


def test_a_wide_array_is_worked_through_in_little_memory():
    rng = np.random.default_rng(0)
    distributions = rng.random((64, 50_000))
    logits = Enclosure(np.log(distributions), 1e-12)
    modes = distributions == distributions.max(axis=1, keepdims=True)
    counts = Counts.from_rows([{7: 3}] * 64)
    tracemalloc.start()
    assert divergence(logits, distributions).radius.max() < 1e-11
    assert quadratic_divergence_bound(logits, distributions).max() < 1e-22
    assert argmax_margin(logits, modes).min() > 0
    assert label_divergence(logits, np.zeros(64, int)).radius.max() < 1e-11
    assert empirical_divergence(logits, counts).radius.max() < 1e-11
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < distributions.nbytes


# ---------------------------------------------------------------------------------------------------------------------
# Means.


def test_the_mean_of_upper_bounds_is_rounded_up():
    rng = np.random.default_rng(0)
    for _ in range(50):
        bounds = 10.0 ** rng.uniform(-20, 0, int(rng.integers(1, 40)))
        mean = mean_upper_bound(bounds)
        exact = sum(map(rational, bounds), flint.fmpq(0)) / len(bounds)
        assert exact <= rational(mean) <= exact * (1 + rational(1e-14))
    assert mean_upper_bound(np.array([1.0, np.inf])) == np.inf
    assert mean_upper_bound(np.array([1.0, np.nan])) == np.inf


# ---------------------------------------------------------------------------------------------------------------------
# Nothing known, and bad input.


@pytest.mark.parametrize("radius", [np.inf, np.nan, 1.7e308])
def test_nothing_is_claimed_where_nothing_is_known_of_a_logit(radius):
    logits = Enclosure(np.zeros((2, 3)), np.array([[0.0, 0.0, 0.0], [0.0, radius, 0.0]]))
    distributions, counts = np.ones((2, 3)), Counts.from_rows([{1: 2}] * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for enclosed in (
            divergence(logits, distributions),
            label_divergence(logits, np.array([1, 1])),
            empirical_divergence(logits, counts),
        ):
            assert np.isfinite(enclosed.radius[0])
            assert enclosed.radius[1] > 1e300
        assert quadratic_divergence_bound(logits, distributions)[1] == np.inf
        assert argmax_margin(logits, np.array([[True, False, False]] * 2))[1] < -1e300
        assert argmax_margin(logits, np.array([[False, True, False]] * 2))[1] < -1e300


def test_midpoints_that_overflow_give_no_claim():
    logits = Enclosure(np.array([[1.7e308, -1.7e308]]), 1e300)
    assert not divergence(logits, np.ones((1, 2))).radius[0] < np.inf
    assert argmax_margin(logits, np.array([[False, True]]))[0] == -np.inf
    assert quadratic_divergence_bound(logits, np.ones((1, 2)))[0] == np.inf


def test_infinite_and_missing_midpoints_give_no_claim():
    for value in (np.nan, np.inf, -np.inf):
        logits = Enclosure(np.array([[0.0, value]]))
        assert divergence(logits, np.ones((1, 2))).radius[0] == np.inf
        assert not argmax_margin(logits, np.array([[True, False]]))[0] > -np.inf
        assert quadratic_divergence_bound(logits, np.ones((1, 2)))[0] == np.inf


@pytest.mark.parametrize(
    ("distributions", "message"),
    [
        (np.ones((2, 3)), r"distributions has shape \(2, 3\), expected \(2, 2\)"),
        (np.array([[1.0, 1.0], [1.0, -0.5]]), "entry -0.5 at row 1, token 1"),
        (np.array([[1.0, np.nan], [1.0, 1.0]]), "entry nan at row 0, token 1"),
        (np.array([[1.0, np.inf], [1.0, 1.0]]), "entry inf at row 0, token 1"),
        (np.array([[1.0, 1.0], [0.0, 0.0]]), "row 1 is 0 throughout"),
    ],
    ids=["shape", "negative", "nan", "infinite", "zero"],
)
def test_distributions_that_are_none_are_refused(distributions, message):
    for of in (divergence, quadratic_divergence_bound):
        with pytest.raises(InputError, match=message):
            of(Enclosure(np.zeros((2, 2))), distributions)
    if distributions.shape == (2, 2):
        with pytest.raises(InputError, match=message):
            entropy(distributions)


def test_distributions_whose_float_sum_overflows_are_not_refused_and_claim_nothing():
    assert divergence(Enclosure(np.zeros((1, 2))), np.full((1, 2), 1.7e308)).radius[0] == np.inf


def test_arguments_of_other_shapes_are_refused():
    logits = Enclosure(np.zeros((2, 3)))
    with pytest.raises(InputError, match="labels is int64 of shape"):
        label_divergence(logits, np.zeros(3, int))
    with pytest.raises(InputError, match="labels is float64"):
        label_divergence(logits, np.zeros(2))
    with pytest.raises(InputError, match=r"labels are 0 .. 3, expected 0 .. 2"):
        label_divergence(logits, np.array([0, 3]))
    with pytest.raises(InputError, match=r"labels are -1 .. 0"):
        label_divergence(logits, np.array([0, -1]))
    with pytest.raises(InputError, match="modes is bool of shape"):
        argmax_margin(logits, np.ones((2, 2), bool))
    with pytest.raises(InputError, match="modes is int64"):
        argmax_margin(logits, np.ones((2, 3), int))
    with pytest.raises(InputError, match="row 1 has no mode"):
        argmax_margin(logits, np.array([[True, False, False], [False, False, False]]))
    with pytest.raises(InputError, match="counts has 1 rows, but logits has 2"):
        empirical_divergence(logits, Counts.from_rows([{0: 1}]))
    with pytest.raises(InputError, match="counts has the token 3"):
        empirical_divergence(logits, Counts.from_rows([{0: 1}, {3: 1}]))
    with pytest.raises(InputError, match="logits has shape"):
        label_divergence(Enclosure(np.zeros(3)), np.zeros(3, int))
    with pytest.raises(InputError, match="logits has shape"):
        divergence(Enclosure(np.zeros((2, 0))), np.zeros((2, 0)))
    with pytest.raises(InputError, match="distributions has shape"):
        entropy(np.ones(3))
    with pytest.raises(InputError, match="bounds has shape"):
        mean_upper_bound(np.zeros(0))


@pytest.mark.parametrize(
    ("distributions", "message"),
    [
        (
            np.array([[1, 2**53 + 1]]),
            "distributions has the entry 9007199254740993, expected numbers that float64 holds exactly",
        ),
        (
            [[0.5, 2**53 + 1]],
            "distributions has the entry 9007199254740993, expected numbers that float64 holds exactly",
        ),
        (np.array([[1, 2]], dtype=np.longdouble), "distributions has dtype"),
        (
            np.array([[Fraction(1, 3), 1]], dtype=object),
            "distributions has the entry 1/3, expected numbers that float64 holds exactly",
        ),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]), "distributions is a masked array"),
    ],
)
def test_distributions_that_float64_does_not_hold_are_refused_and_never_rounded(distributions, message):
    logits = Enclosure(np.zeros((1, 2)))
    for judge in (divergence, quadratic_divergence_bound, lambda _, weights: entropy(weights)):
        with pytest.raises(InputError, match=message):
            judge(logits, distributions)
    with pytest.raises(InputError, match=message.replace("distributions", "bounds")):
        mean_upper_bound(distributions[0])


def test_integer_distributions_that_float64_holds_are_those_of_their_floats():
    logits, distributions = Enclosure(np.zeros((1, 2))), np.array([[2**53, 1]])
    for judge in (divergence, lambda _, weights: entropy(weights)):
        assert judge(logits, distributions).midpoint == judge(logits, distributions.astype(np.float64)).midpoint


def test_no_rows_give_empty_results():
    logits = Enclosure(np.zeros((0, 3)))
    assert divergence(logits, np.zeros((0, 3))).shape == (0,)
    assert empirical_divergence(logits, Counts.empty()).shape == (0,)
    assert entropy(Counts.empty()).shape == (0,)
    assert quadratic_divergence_bound(logits, np.zeros((0, 3))).shape == (0,)


# ---------------------------------------------------------------------------------------------------------------------
# Each part of a radius, where it is the only one that matters.


def test_the_spread_of_the_log_of_a_sum_is_attained_at_wide_and_at_narrow_radii():
    exponents = np.array([[0.0, -0.5, -3.0]])
    for radius in (1e-6, 0.2, 3.0):
        for direction in (np.array([1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])):
            error = radius * direction[None]
            powers = module._Powers.of(exponents, error)
            spread = powers.spread(powers.mass)[0]
            moved = np.log(np.exp(exponents + error).sum()) - np.log(np.exp(exponents).sum())
            assert moved <= spread * (1 + 1e-9) + 1e-15
            assert spread <= radius * (1 + 1e-9) + 1e-15


def test_the_spread_of_the_log_of_a_sum_sees_what_a_wide_error_makes_of_a_small_term():
    exponents, error = np.array([[0.0, -20.0]]), np.array([[0.0, 10.0]])
    powers = module._Powers.of(exponents, error)
    assert powers.spread(powers.mass)[0] >= np.log1p(np.exp(-10.0)) - np.log1p(np.exp(-20.0))


def test_sums_of_rows_of_terms_are_within_their_radii():
    # However many partial sums there are, each begins with a number beside which 1 is lost.
    terms = np.ones(5000)
    terms[:64] = terms[4000:4064] = 2.0**53
    sums = module._row_sums(Enclosure(terms, 0.0 * terms), np.array([0, 4000]))
    for midpoint, radius, ones in zip(sums.midpoint, sums.radius, (3936, 936), strict=True):
        assert 2 < abs(rational(midpoint) - 64 * 2**53 - ones) <= rational(radius)
    assert sums.radius.max() < 1e-11 * sums.midpoint.max()


def coarse(operation, rng, share):
    """An operation with a midpoint that is off, within a radius that says so."""

    def moved(*arguments):
        result = operation(*arguments)
        error = share * np.maximum(np.abs(result.midpoint), 1e-300)
        wrong = result.midpoint + error * rng.choice([-0.99, 0.99], result.shape)
        return Enclosure(wrong, result.radius + error * (1 + 1e-9))

    return moved


@pytest.mark.parametrize("name", ["exp_floats", "log_floats", "tree_sum", "log", "log1p", "total", "enclose_softmax"])
def test_the_radii_of_what_is_used_count_and_not_the_midpoints(monkeypatch, name):
    rng = np.random.default_rng(0)
    operation, share = getattr(module, name), 0.01
    if name.endswith("floats"):
        monkeypatch.setattr(module, name, lambda x: operation(x) * (1.0 + rng.choice([-share, share], x.shape)))
        monkeypatch.setattr(module, name.removesuffix("floats").upper() + "ERROR", share / (1.0 - share))
    elif name == "tree_sum":

        def off(x):
            return share * np.abs(x).sum(axis=1) * rng.choice([-1.0, 1.0], len(x))

        monkeypatch.setattr(module, name, lambda x, axis: (operation(x, axis)[0] + off(x), 1))
        monkeypatch.setattr(module, "gamma", lambda roundings: share / (1.0 - share))
    else:
        monkeypatch.setattr(module, name, coarse(operation, rng, share))
    for _ in range(40):
        N = int(rng.integers(1, 5))
        distributions, point = rng.random((1, N)) + 0.01, 2 * rng.standard_normal((1, N))
        counts = {i: int(rng.integers(1, 50)) for i in range(N)}
        logits, distribution, row = Enclosure(point), distributions[0].tolist(), point[0].tolist()
        with flint.ctx.workprec(BITS):
            exact = divergence_of_balls(distribution, row)
            assert_contains(divergence(logits, distributions), [exact])
            assert exact <= quadratic_divergence_bound(logits, distributions)[0] + 1e-300
            assert_contains(label_divergence(logits, np.array([0])), [minus_log_softmax(row, 0)])
            of_counts = empirical_divergence(logits, Counts.from_rows([counts]))
            assert_contains(of_counts, [divergence_of_balls([*counts.values()], row)])
            assert_contains(entropy(distributions), [entropy_of_balls(distribution)])


@pytest.mark.parametrize("radius", [1e-5, 0.1, 1.0])
def test_a_shift_of_the_true_logits_within_the_radius_is_covered_in_the_worst_direction(radius):
    # Raising what the distribution holds and lowering the rest changes the divergence by nearly twice the radius.
    distributions, midpoint = np.array([[1.0, 0.0]]), np.array([[-6.0, 0.0]])
    enclosed = divergence(Enclosure(midpoint, radius), distributions)
    of_counts = empirical_divergence(Enclosure(midpoint, radius), Counts.from_rows([{0: 4}]))
    of_label = label_divergence(Enclosure(midpoint, radius), np.array([0]))
    with flint.ctx.workprec(BITS):
        for sign in (-1.0, 1.0):
            moved = minus_log_softmax([-6.0 + sign * radius * 0.999, -sign * radius * 0.999], 0)
            for part in (enclosed, of_counts, of_label):
                assert_within(moved, part.midpoint[0], part.radius[0])
                assert part.radius[0] < 2.1 * radius


@given(st.integers(2, 6), st.floats(0.0, 0.6), st.floats(1e-9, 3.0), st.integers(0, 2**32 - 1))
def test_no_logits_within_a_distance_diverge_by_more_than_the_bound(size, distance, radius, seed):
    rng = np.random.default_rng(seed)
    distribution = rng.dirichlet(np.full(size, 0.5))[None] + 1e-12
    logits = np.log(distribution) + distance * rng.standard_normal(size)
    bound = divergence_within(Enclosure(logits, radius), distribution)[0]
    corners = radius * np.array(list(itertools.product((-1.0, 1.0), repeat=size)))
    worst = divergence(Enclosure(logits + corners), np.repeat(distribution, len(corners), axis=0)).upper().max()
    assert worst <= bound * (1 + 1e-9) + 1e-12
    direct = divergence(Enclosure(logits, radius), distribution).upper()[0]
    assert bound <= direct + 1e-12


@pytest.mark.parametrize(("far", "radius"), [(0.0, np.inf), (1e308, 0.0), (1.7e308, 1e-3), (1e308, np.inf)])
def test_nothing_is_known_within_an_infinite_distance_or_from_an_infinite_divergence(far, radius):
    assert np.isposinf(divergence_within(Enclosure([[far, -far]], radius), np.array([[0.5, 0.5]]))).all()


@pytest.mark.parametrize("radius", [1e-6, 0.3, 5.0])
def test_a_distribution_far_from_the_prediction_loses_twice_the_radius(radius):
    """The one logit of the distribution falls and the other one, which has nearly all of the mass, rises."""
    distribution, midpoint = np.array([[1.0, 0.0]]), [-40.0, 0.0]
    [bound] = divergence_within(Enclosure([midpoint], radius), distribution)
    with flint.ctx.workprec(BITS):
        moved = [ball(midpoint[0]) - ball(radius), ball(midpoint[1]) + ball(radius)]
        exact = (1 + (moved[1] - moved[0]).exp()).log()
        assert exact <= bound < 40.0 + 2.001 * radius


@pytest.mark.parametrize("wide", [0, 1, 2])
def test_one_logit_that_is_known_badly_counts_as_if_all_were(wide):
    distribution, midpoint, radius = np.array([[0.25, 0.25, 0.5]]), np.log([[0.25, 0.25, 0.5]]), np.full((1, 3), 1e-9)
    radius[0, wide] = 0.5
    [bound] = divergence_within(Enclosure(midpoint, radius), distribution)
    for turn in (-1.0, 1.0):
        moved = midpoint.copy()
        moved[0, wide] += turn * 0.5
        assert divergence(Enclosure(moved), distribution).lower()[0] <= bound


@pytest.mark.parametrize(("distance", "radius"), [(1e-2, 1e-2), (1e-3, 1e-5), (0.0, 1e-3), (0.05, 0.1)])
def test_a_fair_coin_nearly_reaches_the_bound_of_logits_nearby(distance, radius):
    """Logits at plus and minus t diverge by log cosh t, about half of the square of t."""
    [bound] = divergence_within(Enclosure([[distance, -distance]], radius), np.array([[0.5, 0.5]]))
    with flint.ctx.workprec(BITS):
        exact = (ball(distance) + ball(radius)).cosh().log()
        assert exact <= bound < 1.01 * exact
