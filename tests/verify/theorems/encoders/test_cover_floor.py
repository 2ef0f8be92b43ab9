"""Covers of all directions: no encoder is below them, a changed cover is refused or bounds less, and they are tight."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import HypothesisError, InputError
from verify.theorems.encoders import cover_floor as judge
from verify.theorems.encoders.cover_floor import EncoderCover, cover_floor, encoder_cover, fewest_cones
from verify.theorems.encoders.encoder_ceiling import encoder_divergence
from verify.theorems.encoders.encoder_floor import encoder_floor

TWO = [[6, 3, 1], [6, 1, 3]]
COVER = encoder_cover(TWO, relative=0.01)


def drawn(tokens, contexts, seed, power=1.0):
    return np.random.default_rng(seed).dirichlet(np.ones(tokens), contexts) ** power + 1e-4


def reached(distributions, rank, prior=None):
    found = best_encoder(np.array(distributions), rank, prior=prior, starts=6)
    return encoder_divergence(found.E[:, :rank], found.W[:, :rank], distributions, prior=prior)[1]


def test_the_two_distributions_of_the_chapter_are_closed_from_both_sides():
    cover = encoder_cover(TWO, relative=1e-4)
    assert 0.99989 * 0.0523248 < cover_floor(TWO, cover) <= reached(TWO, 1) < 0.0523249


@pytest.mark.parametrize(("tokens", "contexts", "relative"), [(4, 12, 0.02), (5, 10, 0.2)])
def test_the_bound_is_near_the_best_encoder_that_is_found(tokens, contexts, relative):
    distributions = drawn(tokens, contexts, 0)
    floor, upper = (
        cover_floor(distributions, encoder_cover(distributions, relative=relative)),
        reached(distributions, tokens - 2),
    )
    assert (1 - relative - 0.01) * upper < floor <= upper
    assert encoder_floor(distributions, tokens - 2).lower < floor


@pytest.mark.parametrize(
    ("tokens", "contexts", "seed", "power"), [(3, 2, 0, 4.0), (3, 6, 1, 0.3), (4, 3, 2, 1.0), (5, 8, 3, 2.0)]
)
def test_no_encoder_is_below_the_bound(tokens, contexts, seed, power):
    distributions = drawn(tokens, contexts, seed, power)
    prior = np.random.default_rng(seed).random(contexts)
    cover = encoder_cover(distributions, prior=prior, relative=0.3, most=200)
    found = best_encoder(distributions, tokens - 2, prior=prior, starts=1)
    upper = encoder_divergence(found.E[:, : tokens - 2], found.W[:, : tokens - 2], distributions, prior=prior)[1]
    assert cover_floor(distributions, cover, prior=prior) <= upper


@given(st.integers(3, 8), st.integers(0, 2**32))
def test_every_direction_is_in_a_cone(tokens, seed):
    direction = np.random.default_rng(seed).integers(-5, 6, tokens)
    direction[-1] -= direction.sum()
    cones = judge._initial_cones(tokens, tokens - 2)[:, :, 0]
    assert len(cones) == fewest_cones(tokens, tokens - 2)
    inside = np.linalg.solve(
        np.swapaxes(cones, 1, 2)[:, :-1].astype(float),
        np.broadcast_to(direction[:-1, None], (len(cones), tokens - 1, 1)),
    )
    assert (inside.min(axis=1) > -1e-9).any() or (inside.max(axis=1) < 1e-9).any()


@given(st.sampled_from([(4, 1), (5, 1), (5, 2), (6, 1)]), st.integers(0, 2**32))
def test_every_space_of_directions_is_in_a_cone(sizes, seed):
    """By maximal volume: a basis [I, X] in some columns with entries of X in [-1, 1], and X in one of the simplices."""
    tokens, rank = sizes
    size = tokens - 1 - rank
    space = np.random.default_rng(seed).standard_normal((size, tokens - 1))
    unit = max(itertools.combinations(range(tokens - 1), size), key=lambda c: abs(np.linalg.det(space[:, c])))
    wanted = (np.linalg.inv(space[:, unit]) @ space).ravel()
    cones = judge._initial_cones(tokens, rank)
    assert len(cones) == fewest_cones(tokens, rank) and not cones.sum(axis=3).any()
    flat = cones[..., :-1].reshape(*cones.shape[:2], -1)
    inside = [np.linalg.lstsq(cone.T, wanted, rcond=None)[0] for cone in flat]
    assert any(
        x.min() > -1e-9 and abs(x.sum() - 1) < 1e-9 and np.allclose(x @ cone, wanted)
        for x, cone in zip(inside, flat, strict=True)
    )


@pytest.mark.parametrize(("tokens", "contexts", "seed", "most"), [(4, 8, 3, 60), (5, 10, 0, 900)])
def test_covers_of_other_ranks_are_near_the_best_encoder_too(tokens, contexts, seed, most):
    """With one move for all vertices of a cone the second takes twice as many cones and more."""
    rank, distributions, prior = 1, drawn(tokens, contexts, seed), np.arange(1.0, contexts + 1)
    cover = encoder_cover(distributions, d_model=rank, prior=prior, relative=0.05, most=most)
    floor, upper = cover_floor(distributions, cover, d_model=rank, prior=prior), reached(distributions, rank, prior)
    assert 0.94 * upper < floor <= upper
    assert encoder_floor(distributions, rank, prior=prior).lower < floor
    with pytest.raises(InputError, match=r"cuts|cover"):
        cover_floor(distributions, cover, d_model=tokens - 2, prior=prior)
    with pytest.raises(InputError, match=rf"d_model = {tokens - 1}, expected 1 \.\. N - 2 = {tokens - 2}"):
        encoder_cover(distributions, d_model=tokens - 1)


def forged_cover(distributions, shorter):
    """No cut, and of every vertex nearly the best moves; what they gain at least, each at its own vertex."""
    search = judge._Search(distributions, np.ones(len(distributions)), 1)
    roots = search.initial_cones(judge._initial_cones(4, 1))
    scaled, one = roots.vertices * roots.scales[:, :, None, None], np.ones((len(roots.bounds), 1))
    moves = [shorter * search.best_moves(scaled[:, [i]], one, search.no_moves(len(one), 2), 36) for i in range(3)]
    gained = min(search.gains(scaled[:, [i]], one, moves[i])[0].min() for i in range(3))
    return EncoderCover(np.tile([-1, -1, 0, 0], (len(one), 1)), roots.scales, np.stack(moves, axis=2)), gained


@pytest.mark.parametrize("shorter", [1.0, 0.6])
def test_moves_of_the_vertices_are_judged_at_every_pair_of_them(shorter):
    """They gain more at the vertices than the best encoder loses, but not between them."""
    distributions = drawn(4, 8, 3)
    forged, gained = forged_cover(distributions, shorter)
    assert cover_floor(distributions, forged, d_model=1) < reached(distributions, 1) < gained
    with pytest.raises(InputError, match="moves"):
        cover_floor(distributions, replace(forged, moves=forged.moves[:, :, :2]), d_model=1)


def test_what_is_no_cover_is_refused():
    cover = COVER
    inner = cover.cuts[:, 0] >= 0
    wrong = [
        np.where(inner[:, None], how, cover.cuts) for how in ((0, 0, 1, 1), (0, 2, 1, 1), (0, 1, 0, 1), (0, 1, 1, -1))
    ]
    for cuts in (cover.cuts[:-1], np.vstack([cover.cuts, [[-1, -1, 0, 0]]]), *wrong):
        with pytest.raises(InputError, match="cuts"):
            cover_floor(TWO, replace(cover, cuts=cuts))
    with pytest.raises(InputError, match="type float64, expected integers"):
        cover_floor(TWO, replace(cover, cuts=np.where(inner[:, None], (0, 1, 0.5, 0.5), cover.cuts)))
    with pytest.raises(InputError, match="leaves"):
        cover_floor(TWO, replace(cover, moves=cover.moves[:-1]))
    for deep in ([[0, 1, 1, 1], [1, 0, 1, 1]] * 100, [[0, 1, 2**62, 1]], [[0, 1, 1, 2**62]]):
        with pytest.raises(InputError, match="2\\^52"):
            cover_floor(TWO, replace(cover, cuts=np.array(deep)))


@given(st.integers(0, 2**32))
def test_other_moves_bound_less_or_nothing(seed):
    cover = COVER
    best, rng = cover_floor(TWO, cover), np.random.default_rng(seed)
    moves = cover.moves * (1 + 0.3 * rng.standard_normal(cover.moves.shape))
    assert cover_floor(TWO, replace(cover, moves=moves)) <= 0.0523249
    assert cover_floor(TWO, replace(cover, moves=1e3 * cover.moves)) == 0.0
    assert cover_floor(TWO, replace(cover, scales=-cover.scales)) == 0.0
    other = [[6, 3, 1], [6, 2, 2]]
    assert cover_floor(other, cover) < best


def test_a_leaf_whose_moved_distributions_may_have_a_zero_proves_nothing(monkeypatch):
    """Whatever the leaves before and after it say: each is judged by itself here."""
    monkeypatch.setattr(judge, "_ENTRIES", 1)
    scales, moves = COVER.scales.copy(), COVER.moves.copy()
    assert cover_floor(TWO, COVER) > 0.05
    for move in (0.1, 10.0):  # (0.6, 0.3, 0.1) and (0.6, 0.1, 0.3), moved by integers times this
        scales[1], moves[1] = 1.0, move
        assert cover_floor(TWO, replace(COVER, scales=scales, moves=moves)) == 0.0


def test_a_cover_is_of_use_to_the_floor_of_encoders():
    floor = encoder_floor(TWO, 1, cones=2000)
    assert floor.lower > 0.0518 and floor.cover is not None and floor.blocks == ()
    assert encoder_floor(TWO, 1).cover is None
    assert encoder_floor([[6, 3, 1], [6, 0, 3]], 1, cones=100).cover is None
    assert encoder_floor([[6, 3], [1, 3]], 0, cones=100).cover is None


def test_distributions_that_have_no_cover_are_refused():
    with pytest.raises(HypothesisError, match="full support"):
        encoder_cover([[6, 3, 0], [6, 1, 3]])
    with pytest.raises(InputError, match="2 tokens"):
        encoder_cover([[6, 3], [6, 1]])
    with pytest.raises(InputError, match="most"):
        encoder_cover(TWO, most=0)
    assert cover_floor([[6, 3, 0.5], [6, 3, 0.5]], encoder_cover([[6, 3, 0.5], [6, 3, 0.5]], most=40)) == 0.0


@pytest.mark.parametrize(("tokens", "contexts", "spread", "most"), [(4, 12, 0.3, 290), (5, 10, 1.0, 720)])
def test_distributions_are_closed_to_one_percent_by_few_cones(tokens, contexts, spread, most):
    """Vertices that count alike, cuts at $v_i + v_j$ or at the longest edge take many more."""
    distributions = np.random.default_rng(2).dirichlet(np.full(tokens, spread), contexts) + 1e-4
    upper = reached(distributions, tokens - 2)
    floor = cover_floor(distributions, encoder_cover(distributions, relative=0.009, reached=upper, most=most))
    assert 0.99 * upper <= floor <= upper


def test_moves_of_several_directions_stay_inside_however_many_steps_they_take(monkeypatch):
    """A vertex that hardly counts does not hold them back; rounding once let them leave the distributions."""
    monkeypatch.setattr(judge, "_FEWER", 40)
    search = judge._Search(np.random.default_rng(0).dirichlet(np.ones(5), 10), np.ones(10), 2)
    cones = search.initial_cones(judge._initial_cones(5, 2)[::12])
    for _ in range(3):
        with np.errstate(all="ignore"):
            cones = search.bounded(cones, 0.0749)
        assert np.isfinite(cones.moves).all() and np.isfinite(cones.bounds).all()


def test_an_encoder_that_is_known_lowers_the_target():
    assert len(encoder_cover(TWO, reached=0.03).cuts) < len(COVER.cuts)
    assert cover_floor(TWO, encoder_cover(TWO, reached=0.03, relative=0.01)) > 0.0297
