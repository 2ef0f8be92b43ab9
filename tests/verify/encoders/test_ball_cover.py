"""The second reader of covers: it agrees with the first, and refuses what does not cover or is no law."""

import numpy as np
import pytest

from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import InputError
from verify.encoders import cover_floor as judge
from verify.encoders.ball_cover import cover_floor_in_balls
from verify.encoders.cover_floor import cover_floor, encoder_cover

TWO = [[6.0, 3.0, 1.0], [6.0, 1.0, 3.0]]


def read(laws, prior, rank, cover, **changed):
    parts = {"cuts": cover.cuts.tolist(), "scales": cover.scales.tolist(), "moves": cover.moves.tolist(), **changed}
    return cover_floor_in_balls(np.asarray(laws).tolist(), list(prior), rank, **parts)


@pytest.mark.parametrize(("tokens", "rank"), [(3, 1), (4, 2), (4, 1), (5, 1)])
def test_both_readers_agree(tokens, rank):
    rng = np.random.default_rng(tokens)
    laws, prior = rng.dirichlet(np.ones(tokens), 3) + 0.01, rng.random(3)
    cover = encoder_cover(laws, d_model=rank, prior=prior, relative=0.3)
    second = read(laws, prior.tolist(), rank, cover)
    assert second.rad() < 1e-12
    assert 0.0 <= float(second.mid()) - cover_floor(laws, cover, d_model=rank, prior=prior) < 1e-12


def test_what_covers_less_or_leads_to_no_law_is_refused():
    cover = encoder_cover(TWO, relative=0.05)
    cuts, one = cover.cuts.tolist(), [1, 1]
    for wrong in (cuts[:-1], [*cuts, [-1, -1]], [[0, 0], *cuts[1:]], [[0, 2], *cuts[1:]]):
        with pytest.raises(InputError, match="cuts"):
            read(TWO, one, 1, cover, cuts=wrong)
    with pytest.raises(InputError, match="scales"):
        read(TWO, one, 1, cover, scales=cover.scales.tolist()[:-1])
    one_negative = cover.scales.copy()
    one_negative[0, 0] = -1e-3
    for moves, scales in ((100.0 * cover.moves, cover.scales), (cover.moves, one_negative)):
        with pytest.raises(InputError, match=r"no law|factor"):
            read(TWO, one, 1, cover, moves=moves.tolist(), scales=scales.tolist())
    with pytest.raises(InputError, match="laws"):
        read([[6.0, 4.0, 0.0], [6.0, 1.0, 3.0]], one, 1, cover)
    with pytest.raises(InputError, match="d_model"):
        read(TWO, one, 2, cover)


def test_the_best_moves_at_the_vertices_alone_bound_nothing_between_them():
    """Of cones that are not cut: the divergence at every vertex is above the least one, and so would be the bound."""
    laws = np.array([[5.0, 4.0, 2.0], [4.0, 5.0, 3.0], [9.0, 7.0, 4.0]])
    search, cones = judge._Search(laws, np.ones(3), 1), judge._initial_cones(3, 1)
    vertices = cones.reshape(6, 1, 1, 3)
    with np.errstate(divide="ignore"):
        moves = search.best_moves(vertices, np.ones((6, 1)), search.no_moves(6, 1), 40)
    at_vertices = (judge._entropy(search.laws + moves @ vertices[:, 0]) - search.still) @ search.prior
    found = best_encoder(laws, 1)
    assert at_vertices.min() > 1.5 * found.divergence
    moves = moves.reshape(3, 2, 3, 1).transpose(0, 2, 1, 3)
    cover = judge.EncoderCover(np.full((3, 2), -1), np.ones((3, 2)), moves)
    assert cover_floor(laws, cover) <= found.divergence
    assert read(laws, [1, 1, 1], 1, cover) <= found.divergence
