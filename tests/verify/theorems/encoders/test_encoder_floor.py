"""The bound for all encoders of a rank: below every encoder that was ever found, and near the best of them."""

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import verify.theorems.encoders.encoder_floor as module
from byheart.testing.strategies import distributions
from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.encoders.encoder_ceiling import encoder_divergence, mean_divergence, truncation_ceiling
from verify.theorems.encoders.encoder_floor import Block, encoder_floor, psi_above, reach_above
from verify.verdict import Verdict

MINIMAL = [[6, 3, 1], [6, 1, 3]]


def priors(rows):
    weight = st.sampled_from([0.0, 1e-12, 0.3, 1.0, 7.0])
    return st.lists(weight, min_size=rows, max_size=rows).filter(any).map(np.array)


@given(st.data())
def test_no_encoder_is_below_the_bound(data):
    tokens, rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    rank = data.draw(st.integers(0, tokens))
    given_distributions, prior = data.draw(distributions(d_vocab=tokens, rows=rows)), data.draw(priors(rows))
    floor = encoder_floor(given_distributions, rank, prior=prior)
    assert floor.lower >= 0.0
    found = best_encoder(given_distributions, rank, prior=prior, starts=3, iterations=200)
    assert floor.lower <= encoder_divergence(found.E, found.W, given_distributions, prior=prior)[1]
    assert floor.lower <= truncation_ceiling(given_distributions, rank, prior=prior)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    E, W = rng.normal(size=(rows, rank)) * 10.0 ** rng.uniform(-2, 2), rng.normal(size=(tokens, rank))
    assert floor.lower <= encoder_divergence(E, W, given_distributions, prior=prior)[1]


@given(st.data())
def test_any_weights_and_steps_give_a_bound(data):
    tokens, rows = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 5))
    rank = data.draw(st.integers(0, tokens - 2))
    given_distributions = data.draw(distributions(d_vocab=tokens, rows=rows))
    positive = st.floats(1e-8, 10.0)
    weights = np.array(data.draw(st.lists(positive, min_size=tokens, max_size=tokens)))
    steps = np.array(data.draw(st.lists(positive, min_size=rows, max_size=rows)))
    # Steps in units that are about right, too short and too long alike.
    steps *= (given_distributions / weights**2).min(axis=1)
    block = Block(np.arange(rows), np.arange(tokens), weights, steps)
    found = best_encoder(given_distributions, rank, starts=3, iterations=200)
    upper = encoder_divergence(found.E, found.W, given_distributions)[1]
    assert encoder_floor(given_distributions, rank, blocks=[block]).lower <= upper


@given(st.integers(2, 6), st.data())
def test_of_rank_zero_it_is_below_the_only_encoder(tokens, data):
    given_distributions = data.draw(distributions(d_vocab=tokens, rows=3))
    _, exact = mean_divergence(Enclosure(np.zeros((3, tokens))), given_distributions)
    assert encoder_floor(given_distributions, 0).lower <= exact


@pytest.mark.parametrize(("sharpness", "least"), [(1e-3, 0.99), (0.1, 0.85), (0.5, 0.4)])
def test_near_uniform_distributions_are_bounded_from_both_sides(sharpness, least):
    given_distributions = np.exp(sharpness * np.random.default_rng(1).normal(size=(6, 4)))
    found = best_encoder(given_distributions, 1)
    upper = encoder_divergence(found.E, found.W, given_distributions)[1]
    assert least * upper < encoder_floor(given_distributions, 1).lower <= upper


def test_the_bound_is_sharp_to_second_order_for_two_tokens():
    distributions_of_coin = np.exp([[1e-4, -1e-4]])
    lower, _ = mean_divergence(Enclosure(np.zeros((1, 2))), distributions_of_coin)
    floor = encoder_floor(distributions_of_coin, 0).lower
    assert 0.9999 * lower < floor <= lower * (1 + 1e-7)


def test_the_smallest_instance_beats_what_constant_weights_give():
    floor = encoder_floor(MINIMAL, 1)
    assert floor.verdict is Verdict.PROVED and 0.02988 < floor.lower < 0.0523248
    # w = min p, theta = 1 in the simple form: 0.0150868.
    shortened = np.array([[0.6, 0.3, 0.1], [0.6, 0.1, 0.3]])
    logarithms = np.log(shortened)
    length = np.linalg.norm(logarithms - logarithms.mean(axis=1, keepdims=True), axis=1)
    simple = Block(np.arange(2), np.arange(3), np.ones(3), 0.5 * np.minimum(1.0, 2.0 / length) * 0.1)
    assert 0.0150868 < encoder_floor(MINIMAL, 1, blocks=[simple]).lower < floor.lower


@pytest.mark.parametrize("rank", [2, 3, 9])
def test_with_enough_dimensions_there_is_nothing_to_prove(rank):
    floor = encoder_floor(MINIMAL, rank)
    assert (floor.lower, floor.verdict, floor.blocks) == (0.0, Verdict.UNDECIDED, ())


def test_distributions_of_low_rank_are_given_no_bound_that_their_encoder_refutes():
    rng = np.random.default_rng(5)
    given_distributions = np.exp(rng.normal(size=(12, 2)) @ rng.normal(size=(2, 7)))
    assert encoder_floor(given_distributions, 2).lower < 1e-24
    assert encoder_floor(given_distributions, 1).lower > 1e-3


def test_masses_of_1e_30_are_no_trouble():
    given_distributions = np.array([[1.0, 1e-30, 1e-15, 2e-30], [1e-30, 1.0, 1e-20, 1e-25], [1e-10, 1e-30, 1.0, 1e-30]])
    found = best_encoder(given_distributions, 1, starts=8)
    floor = encoder_floor(given_distributions, 1).lower
    assert 0.0 <= floor <= encoder_divergence(found.E, found.W, given_distributions)[1]


def test_contexts_of_no_weight_and_scales_of_distributions_and_prior_do_not_matter():
    one = encoder_floor(MINIMAL, 1).lower
    scaled = encoder_floor(np.array([[6, 3, 1], [60, 10, 30], [1, 0, 1]]) * 2.0**-20, 1, prior=[2.0, 2.0, 0.0]).lower
    assert scaled == pytest.approx(one, rel=1e-3)


def test_a_distribution_with_zeros_is_bounded_on_the_tokens_that_it_has():
    given_distributions = [[6, 3, 1, 0], [6, 1, 3, 0]]
    floor = encoder_floor(given_distributions, 1)
    assert floor.verdict is Verdict.PROVED
    assert all(3 not in block.tokens for block in floor.blocks)


def test_blocks_of_contexts_add_up():
    twice = np.zeros((4, 6)) + 1e-9
    twice[:2, :3], twice[2:, 3:] = MINIMAL, MINIMAL
    floor = encoder_floor(twice, 1)
    assert len(floor.blocks) >= 2
    assert floor.lower == pytest.approx(encoder_floor(MINIMAL, 1).lower, rel=1e-2)


def test_an_enclosure_stands_for_all_distributions_in_it():
    exact = np.array(MINIMAL) / 10.0
    narrow, wide = encoder_floor(Enclosure(exact, 1e-9), 1).lower, encoder_floor(Enclosure(exact, 0.09), 1).lower
    assert 0.0298 < narrow < encoder_floor(exact, 1).lower + 1e-9
    assert wide < 1e-3
    assert encoder_floor(Enclosure(exact, np.inf), 1).lower == 0.0


def test_a_step_that_leaves_the_simplex_is_worth_nothing():
    floor = encoder_floor(MINIMAL, 1)
    [block] = floor.blocks
    for factor in (3.0, 1e6):
        longer = replace(block, steps=block.steps * factor)
        assert encoder_floor(MINIMAL, 1, blocks=[longer]).lower == 0.0
    assert encoder_floor(MINIMAL, 1, blocks=[replace(block, steps=block.steps * 0.5)]).lower < floor.lower


def test_psi_is_bounded_from_above_and_closely():
    thetas = np.array([0.0, 1e-12, 1e-3, 0.1, 0.5, 0.9, 0.99, 1.0])
    bounds = psi_above(thetas)
    with ctx.workprec(200):
        for theta, bound in zip(thetas.tolist(), bounds.tolist(), strict=True):
            x = arb(theta)
            exact = arb("0.5") if theta == 0 else arb(1) if theta == 1 else ((1 - x) * (1 - x).log() + x) / (x * x)
            assert exact <= arb(bound)
            assert arb(bound) <= exact * arb("1.02")
    assert psi_above(np.array([-1e-9, 1.0 + 1e-9, np.nan, np.inf])).tolist() == [np.inf] * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(contexts=np.array([0, 0])), "overlap"),
        (dict(contexts=np.array([0, 2])), "overlap, or leave"),
        (dict(tokens=np.array([0, 1, -1])), "overlap, or leave"),
        (dict(weights=np.array([1.0, 0.0, 1.0])), "weights"),
        (dict(weights=np.array([1.0, 1.0])), "weights"),
        (dict(steps=np.array([1.0, np.nan])), "steps"),
        (dict(steps=np.array([-1.0, 1.0])), "steps"),
    ],
)
def test_blocks_that_are_none_are_refused(change, message):
    block = Block(np.arange(2), np.arange(3), np.ones(3), np.full(2, 0.01))
    with pytest.raises(InputError, match=message):
        encoder_floor(MINIMAL, 1, blocks=[replace(block, **change)])


def test_the_same_block_twice_is_refused():
    block = Block(np.arange(2), np.arange(3), np.ones(3), np.full(2, 0.01))
    with pytest.raises(InputError, match="overlap"):
        encoder_floor(MINIMAL, 1, blocks=[block, block])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1, -1]], 0), {}, "negative"),
        (([1, 1], 0), {}, "distributions has shape"),
        ((MINIMAL, -1), {}, "d_model = -1"),
        ((MINIMAL, 1), dict(prior=[1.0]), "prior has shape"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        encoder_floor(*arguments, **options)


def test_a_reach_that_is_too_short_would_be_noticed(monkeypatch):
    # Half of psi, or half of the reach, proves bounds above encoders that exist: the attack sees it.
    given_distributions = np.exp(1.5 * np.random.default_rng(2).normal(size=(1, 2)))
    exact = mean_divergence(Enclosure(np.zeros((1, 2))), given_distributions)[1]
    assert encoder_floor(given_distributions, 0).lower <= exact
    monkeypatch.setattr(module, "psi_above", lambda theta: 0.25 * psi_above(theta))
    monkeypatch.setattr(module, "_psi", lambda theta: 0.25 * psi_above(np.minimum(theta, 1.0)))
    assert encoder_floor(given_distributions, 0).lower > exact


@given(st.integers(2, 6), st.integers(0, 2**32), st.data())
def test_no_subspace_lets_a_residual_reach_further(tokens, seed, data):
    rng = np.random.default_rng(seed)
    weights = 10.0 ** rng.uniform(-3, 1, tokens)
    u = rng.normal(size=tokens) * 10.0 ** rng.uniform(-3, 1, tokens)
    u -= weights * (weights @ u) / (weights @ weights)
    bounds = reach_above(Enclosure(u[None]), Enclosure(weights) * weights)[0]
    most = np.full(tokens, -np.inf)
    for _ in range(20):
        rank = data.draw(st.integers(0, tokens - 1))
        basis = np.linalg.qr(np.column_stack([weights, rng.normal(size=(tokens, rank))]))[0]
        image = u - basis @ (basis.T @ u)
        most = np.maximum(most, image)
    assert (most <= bounds + 1e-12).all()
    # Removing the one direction that turns u towards a token attains the bound.
    j = int(rng.integers(tokens))
    towards = -weights * weights[j] / (weights @ weights)
    towards[j] += 1.0
    length, size = np.linalg.norm(u), np.linalg.norm(towards)
    turned = u / length + towards / size
    if np.linalg.norm(turned) > 1e-6:
        turned /= np.linalg.norm(turned)
        assert abs((turned * (turned @ u))[j] - bounds[j]) < 1e-9 * max(1.0, length)


def test_a_block_counts_by_the_mass_of_its_tokens():
    rare = np.array([[6, 3, 1, 90], [6, 1, 3, 90]])
    [block] = encoder_floor(MINIMAL, 1).blocks
    part = encoder_floor(rare, 1, blocks=[block]).lower
    assert part == pytest.approx(0.1 * encoder_floor(MINIMAL, 1).lower, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_long_attack_finds_no_encoder_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        tokens, rows = int(rng.integers(2, 8)), int(rng.integers(1, 12))
        rank = int(rng.integers(0, tokens))
        given_distributions = 10.0 ** -(rng.uniform(0, 1, (rows, tokens)) * 10.0 ** rng.uniform(-3, 1.5))
        prior = rng.random(rows)
        found = best_encoder(given_distributions, rank, prior=prior, starts=8)
        upper = encoder_divergence(found.E, found.W, given_distributions, prior=prior)[1]
        assert encoder_floor(given_distributions, rank, prior=prior).lower <= upper
