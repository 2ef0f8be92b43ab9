from typing import Any

import numpy as np
import pytest

from constructions.saturated_layers.sinusoidal_positions import sinusoidal_positions
from experiments.figure import count_share
from experiments.layers import LayerPoint

SIZE: dict[str, Any] = {"examples": 9, "n_ctx": 3, "d_model": 4, "d_head": 2, "heads": 2}


def test_every_setting_changes_the_key() -> None:
    point = LayerPoint(**SIZE)
    others: dict[str, Any] = {
        "examples": 8, "n_ctx": 2, "d_model": 6, "d_head": 1, "heads": 3, "context": "own", "targets": "numbers",
        "classes": 3, "data_seed": 1, "seed": 1, "steps": 1, "rate": 0.02, "last_rate": 0.01,
    }  # fmt: skip
    assert others.keys() == vars(point).keys()
    keys = {LayerPoint(**{**SIZE, name: value}).key for name, value in others.items()}
    assert len({point.key, *keys}) == 1 + len(others)


def test_examples_follow_from_the_seed_of_the_data_alone() -> None:
    one, other = LayerPoint(**SIZE, seed=1), LayerPoint(**SIZE, seed=2)
    assert one.task().sha256() == other.task().sha256() != LayerPoint(**SIZE, data_seed=1).task().sha256()


@pytest.mark.parametrize(("context", "many"), [("shared", 1), ("own", 9)])
def test_vectors_have_their_positions_behind_them(context, many: int) -> None:
    """The query stands at position 0, the keys from 1 on."""
    keys, queries = LayerPoint(**SIZE, context=context).vectors()
    places = sinusoidal_positions(4, 4).astype(np.float32)
    assert keys.shape == (many, 3, 8) and (keys[..., 4:] == places[1:]).all()
    assert queries.shape == (9, 8) and (queries[:, 4:] == places[0]).all()
    assert len(np.unique(keys[..., :4])) == many * 12


def test_the_rank_is_that_of_the_theorems() -> None:
    """H (n - 1) + 1 with one context, H d with own ones, and no more than there are examples."""
    assert [LayerPoint(**SIZE, context=context).rank() for context in ("shared", "own")] == [5, 8]
    assert [LayerPoint(**{**SIZE, "n_ctx": 1}, context=context).rank() for context in ("shared", "own")] == [1, 1]
    assert LayerPoint(**{**SIZE, "examples": 4}).rank() == 4
    assert count_share(LayerPoint(**SIZE)) == pytest.approx(0.1 + 0.9 * 5 / 9)
