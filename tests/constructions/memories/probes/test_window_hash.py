"""The hash of a window is the sum of the codes with the weights of their positions."""

import numpy as np
import pytest

from constructions.memories.probes.window_hash import mixing, strides


@pytest.mark.parametrize("n_ctx", [1, 2, 3, 5, 8, 13, 100, 177, 512])
def test_strides_reach_every_position(n_ctx):
    assert 1 + sum(strides(n_ctx)) == n_ctx
    assert len(strides(n_ctx)) == (n_ctx - 1).bit_length()


@pytest.mark.parametrize(("n_ctx", "columns", "free"), [(1, 2, 0), (6, 2, 0), (11, 4, 0), (11, 4, 3), (200, 4, 0)])
def test_reading_back_round_by_round_gives_the_weighted_sum(n_ctx, columns, free):
    found = mixing(n_ctx, columns, free)
    codes = np.random.default_rng(0).integers(0, 100, (n_ctx, columns))
    rows = codes
    for stride, map_ in zip(found.strides, found.maps, strict=True):
        back = np.maximum(np.arange(n_ctx) - stride, 0)
        rows = rows + rows[back] @ map_
    assert (rows[-1] == sum(codes[-1 - i] @ weight for i, weight in enumerate(found.weights))).all()
    assert (np.abs(np.linalg.det(found.weights)) > 0.5).all()
