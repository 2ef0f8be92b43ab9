"""The second reader of covers: it agrees with the first, and refuses what does not cover or is not a distribution."""

import numpy as np
import pytest

from constructions.errors import InputError
from tests.verify.theorems.encoders.test_cover_floor import drawn, forged_cover, reached
from verify.theorems.encoders.ball_cover import cover_floor_in_balls
from verify.theorems.encoders.cover_floor import cover_floor, encoder_cover

TWO = [[6.0, 3.0, 1.0], [6.0, 1.0, 3.0]]


def read(distributions, prior, rank, cover, **changed):
    parts = {"cuts": cover.cuts.tolist(), "scales": cover.scales.tolist(), "moves": cover.moves.tolist(), **changed}
    return cover_floor_in_balls(np.asarray(distributions).tolist(), list(prior), rank, **parts)


@pytest.mark.parametrize(("tokens", "rank"), [(3, 1), (4, 2), (4, 1), (5, 1)])
def test_both_readers_agree(tokens, rank):
    rng = np.random.default_rng(tokens)
    distributions, prior = rng.dirichlet(np.ones(tokens), 3) + 0.01, rng.random(3)
    cover = encoder_cover(distributions, d_model=rank, prior=prior, relative=0.3)
    second = read(distributions, prior.tolist(), rank, cover)
    assert second.rad() < 1e-12
    assert 0.0 <= float(second.mid()) - cover_floor(distributions, cover, d_model=rank, prior=prior) < 1e-12


def test_what_covers_less_or_leads_to_no_distribution_is_refused():
    cover = encoder_cover(TWO, relative=0.05)
    cuts, one = cover.cuts.tolist(), [1, 1]
    for wrong in (
        cuts[:-1],
        [*cuts, [-1, -1, 0, 0]],
        *(
            [how if cut[0] >= 0 else cut for cut in cuts]
            for how in ([0, 0, 1, 1], [0, 2, 1, 1], [0, 1, 0, 1], [0, 1, 1, -1])
        ),
    ):
        with pytest.raises(InputError, match="cuts"):
            read(TWO, one, 1, cover, cuts=wrong)
    with pytest.raises(InputError, match="scales"):
        read(TWO, one, 1, cover, scales=cover.scales.tolist()[:-1])
    one_negative = cover.scales.copy()
    one_negative[0, 0] = -1e-3
    for moves, scales in ((100.0 * cover.moves, cover.scales), (cover.moves, one_negative)):
        with pytest.raises(InputError, match=r"not a distribution|factor"):
            read(TWO, one, 1, cover, moves=moves.tolist(), scales=scales.tolist())
    for each in ([], cover.moves[0, 0].tolist() * 3):
        with pytest.raises(InputError, match="moves"):
            read(TWO, one, 1, cover, moves=[[each] * 2] * len(cover.moves))
    with pytest.raises(InputError, match="distributions"):
        read([[6.0, 4.0, 0.0], [6.0, 1.0, 3.0]], one, 1, cover)
    with pytest.raises(InputError, match="d_model"):
        read(TWO, one, 2, cover)


@pytest.mark.parametrize("shorter", [1.0, 0.6])
def test_moves_of_the_vertices_are_judged_at_every_pair_of_them(shorter):
    distributions = drawn(4, 8, 3)
    forged, gained = forged_cover(distributions, shorter)
    try:
        assert read(distributions, [1] * 8, 1, forged) < reached(distributions, 1) < gained
    except InputError as error:
        assert error.argument == "moves"


def test_both_readers_cut_where_the_factors_say():
    distributions = np.random.default_rng(2).dirichlet(np.full(4, 0.3), 3) + 1e-4
    cover = encoder_cover(distributions, relative=0.05, most=150)
    assert cover.cuts[:, 2].max() > 1 and cover.cuts[:, 3].max() > 1
    second = read(distributions, [1, 1, 1], 2, cover)
    assert 0.0 < cover_floor(distributions, cover) <= second < cover_floor(distributions, cover) + 1e-12
