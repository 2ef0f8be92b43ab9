"""Norms of maps behind normalizations: above the true ones, and hardly so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.blocks import Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from verify.forward.map_norms import FLOOR, Norms, raised, row_norms


def norms() -> Norms:
    return Norms(Model((), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.eye(2)))


@pytest.mark.parametrize("kind", ["layer", "rms", None])
def test_norms_are_those_of_what_the_errors_meet(kind: str | None) -> None:
    rng = np.random.default_rng(1)
    maps, w = 1.0 + rng.normal(size=(3, 6, 4)), rng.normal(1.0, 0.5, 6)
    norm = None if kind is None else Normalization(kind, w=w)  # type: ignore[arg-type]
    projection = np.eye(6) - (np.ones((6, 6)) / 6 if kind == "layer" else 0.0)
    gained = maps if kind is None else w[:, None] * maps
    found = norms().of(maps, norm)
    columns = norms().of_columns(maps[0], norm)
    for h in range(3):
        for value, matrix in ((found.moved, projection @ gained[h]), (found.plain, maps[h])):
            assert 0.0 <= value[h] / np.linalg.norm(matrix, 2) - 1.0 + 1e-12 < 1e-8
        assert np.linalg.norm(gained[h], 2) <= found.slipped[h] * (1.0 + 1e-12)
        assert found.slipped[h] < 2.0 * np.linalg.norm(gained[h], 2)
        assert 0.0 <= found.frobenius[h] / np.linalg.norm(maps[h]) - 1.0 + 1e-15 < 1e-12
    assert np.allclose(columns.moved, np.linalg.norm(projection @ gained[0], axis=0), rtol=1e-12)
    assert np.allclose(columns.slipped, np.linalg.norm(gained[0], axis=0), rtol=1e-12)
    assert np.allclose(columns.plain, np.linalg.norm(maps[0], axis=0), rtol=1e-12)


def test_norms_are_computed_once_for_each_map_and_normalization() -> None:
    known, maps = norms(), np.ones((2, 3, 4))
    first, second = (Normalization("layer", w=np.full(3, gain)) for gain in (1.0, 2.0))
    assert known.of(maps) is known.of(maps)
    assert known.of(maps, first) is not known.of(maps, second)
    assert known.of(maps.reshape(1, 6, 4)).plain.shape == (1,)
    assert known.side_by_side(maps).shape == (3, 8)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1, max_size=20))
def test_norms_of_rows_are_above_the_largest_entry_and_the_exact_norm(row: list[float]) -> None:
    with np.errstate(all="ignore"):
        found = row_norms(np.array([row]))[0]
    assert found >= FLOOR and found >= max(map(abs, row))
    exact = sum(x**2 for x in map(np.longdouble, row)) ** np.longdouble(0.5)
    assert np.longdouble(found) >= exact or not np.isfinite(exact)


def test_what_is_raised_lies_above() -> None:
    assert raised(np.array([1.0]))[0] > 1.0 and raised(np.array([0.0]))[0] == FLOOR


def test_a_rational_model_is_refused() -> None:
    from flint import fmpq

    one, maps = (np.full(shape, fmpq(1), dtype=object) for shape in ((1, 1), (1, 1, 1)))
    with pytest.raises(InputError, match="rational"):
        Norms(dana_network(one, one, maps, maps, maps, maps, one))
