import itertools
from typing import Any

import numpy as np
import pytest

from experiments.layers import LayerPoint
from experiments.limits import ceiling, floor
from experiments.points import Point

BASE: dict[str, Any] = {"tokens": 4, "d_model": 3, "d_head": 2, "heads": 2}


@pytest.mark.parametrize("seed", range(4))
def test_without_heads_the_ceiling_is_the_best_table_by_the_last_token(seed: int) -> None:
    point = Point(tokens=3, d_model=3, d_head=1, heads=0, data_seed=seed)
    labels = point.labels().reshape(3, 3)
    tables = itertools.product(range(3), repeat=3)
    best = max(sum(int((labels[:, c] == table[c]).sum()) for c in range(3)) for table in tables)
    assert ceiling(point) == best


def test_limits_are_those_of_the_theorems() -> None:
    parity: dict[str, Any] = {"tokens": 2, "length": 4, "d_model": 2, "d_head": 2, "targets": "parity"}
    assert [ceiling(Point(**parity, heads=heads)) for heads in range(5)] == [4, 6, 7, 8, 8]
    assert ceiling(Point(**parity, heads=1, neurons=3)) is None
    assert ceiling(Point(**BASE)) is None
    positive = floor(Point(**{**BASE, "d_model": 1}, targets="distributions"))
    assert positive is not None and positive > 0
    assert floor(Point(**BASE, targets="distributions")) is None
    assert floor(Point(**BASE)) is None


def test_only_one_shared_key_limits_a_layer() -> None:
    layer: dict[str, Any] = {"examples": 9, "d_model": 4, "d_head": 2, "heads": 2, "classes": 3}
    one = LayerPoint(**layer, n_ctx=1)
    assert ceiling(one) == max(one.labels().tolist().count(i) for i in range(3)) and floor(one) is None
    numbers = LayerPoint(**layer, n_ctx=1, targets="numbers")
    assert ceiling(numbers) is None and floor(numbers) == pytest.approx(np.var(numbers.numbers()))
    for other in (LayerPoint(**layer, n_ctx=2), LayerPoint(**layer, n_ctx=1, context="own")):
        assert ceiling(other) is None and floor(other) is None
