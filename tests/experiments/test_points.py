from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.tasks.arrays import all_contexts
from experiments.points import Point

BASE: dict[str, Any] = {"tokens": 4, "d_model": 3, "d_head": 2, "heads": 2}


def test_every_setting_changes_the_key() -> None:
    point = Point(**BASE)
    others: dict[str, Any] = {
        "tokens": 5, "d_model": 4, "d_head": 1, "heads": 3, "length": 3, "maps": "shared", "neurons": 1, "layers": 2,
        "targets": "distributions", "data_seed": 1, "seed": 1, "protocol": "fixed sample", "steps": 1, "rate": 0.02,
        "last_rate": 0.01,
    }  # fmt: skip
    assert others.keys() == vars(point).keys()
    keys = {Point(**{**BASE, name: value}).key for name, value in others.items()}
    assert len({point.key, *keys}) == 1 + len(others)
    assert point.key == Point(**BASE).key


def _numerical_rank(point: Point) -> int:
    """Of the last token beside what the heads say, for weights drawn at random, positions included."""
    rng, d = np.random.default_rng(0), point.d_model
    embedded = rng.normal(size=(point.tokens, d)) + rng.normal(size=(2, 1, d))  # one token is one row at both places
    first, last = (embedded[s, all_contexts(point.tokens, 2)[:, s]] for s in range(2))
    both, parts = np.stack([first, last], axis=1), [last]
    for _ in range(point.heads):
        scores = np.einsum("td,de,tse->ts", last, rng.normal(size=(d, d)), both)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        seen = np.einsum("ts,tsd->td", weights / weights.sum(axis=1, keepdims=True), both)
        parts.append(seen @ rng.normal(size=(d, point.d_head)))
    return int(np.linalg.matrix_rank(np.concatenate(parts, axis=1), rtol=1e-12))


@pytest.mark.parametrize(
    ("tokens", "d_model", "d_head", "heads"),
    [
        *((6, 2, 5, 3), (6, 2, 2, 3), (6, 4, 2, 3), (5, 3, 3, 9), (4, 6, 2, 2)),
        *((3, 6, 5, 1), (2, 1, 1, 1), (2, 1, 5, 3), (1, 3, 2, 2), (5, 1, 2, 0)),
    ],
)
def test_the_count_is_the_rank_of_random_weights(tokens: int, d_model: int, d_head: int, heads: int) -> None:
    point = Point(tokens=tokens, d_model=d_model, d_head=d_head, heads=heads)
    assert point.rank() == _numerical_rank(point)


def test_a_head_wider_than_its_input_reads_no_more_than_that() -> None:
    """Figure 4 by the text: twenty heads of five dimensions on two."""
    assert Point(tokens=10, d_model=2, d_head=5, heads=20).rank() == 42


def test_distributions_sum_to_one_exactly() -> None:
    for row in Point(**BASE, targets="distributions").distributions().tolist():
        assert sum(map(Fraction, row)) == 1


def test_targets_follow_from_the_seed_of_the_data_alone() -> None:
    one, other = Point(**BASE, seed=1), Point(**BASE, seed=2)
    assert one.task().sha256() == other.task().sha256() != Point(**BASE, data_seed=1).task().sha256()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"targets": "parity"}, "tokens = 4"),
        ({"maps": "shared", "layers": 2}, "maps = 'shared'"),
        ({"maps": "shared", "neurons": 2}, "maps = 'shared' with 1 layers of 2 heads and 2 neurons"),
        ({"layers": 2, "length": 3}, "layers = 2"),
    ],
)
def test_settings_without_a_meaning_are_refused(changed: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        Point(**{**BASE, **changed})


def test_the_parity_is_of_the_bits_before_the_last_token() -> None:
    point = Point(tokens=2, length=3, d_model=1, d_head=1, heads=1, targets="parity")
    task = point.task()
    assert task.contexts[:, -1].tolist() == [0] * 4
    assert np.array_equal(point.labels(), [0, 1, 1, 0])
