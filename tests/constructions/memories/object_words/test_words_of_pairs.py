"""Codes of groups, and which half of a table is in which rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.object_words.digits import Digits
from constructions.memories.object_words.words import Columns
from constructions.memories.object_words.words_of_pairs import BothWords, Grid, LastWords

DIGITS = Digits(50, 6, 3)


@pytest.mark.parametrize("groups, line", [(1, False), (2, False), (5, True), (9, True), (17, False), (50, False)])
def test_folds_take_every_group_to_0_and_keep_what_is_behind_it(groups: int, line: bool) -> None:
    grid = Grid.of(groups, line=line)
    assert len({*zip(grid.x.tolist(), grid.y.tolist(), strict=True)}) == groups
    for x, turned in zip(grid.x, grid.turned, strict=True):
        value = 1.0 + x + turned / 8.0
        for fold in grid.folds(2):
            assert fold.b_in is not None  # pyright: ignore[reportAttributeAccessIssue]
            value -= 2.0 * max(0.0, value + float(fold.b_in[0]))  # pyright: ignore[reportAttributeAccessIssue]
        assert value == 1.0 + 1.0 / 8.0


def test_both_columns_have_half_of_the_facts() -> None:
    columns = Columns(np.arange(8), 8 + np.arange(6), np.arange(50))
    words = BothWords(columns, DIGITS)
    assert words.slots == 4 and words.groups == 2 and words.width == 2 + 3 + 1
    table = np.arange(48).reshape(8, 6)
    W_E = words.embedding(table, 14)
    # A subject has the objects of the relations of its own half.
    alone = np.where(np.arange(6) < 3, table[0], -1)[None]
    assert (W_E[0, :2] == words.packed(alone[:, :3])[0]).all()


def test_words_of_pairs_that_are_too_many_for_a_format_do_not_fit() -> None:
    columns = Columns(np.arange(50), np.arange(50), np.arange(50))
    assert LastWords(columns, DIGITS).fit(24) and not LastWords(columns, DIGITS).fit(11)
    assert not LastWords(columns, DIGITS._replace(places=4)).fit(24)
    assert LastWords(columns, DIGITS._replace(places=4)).fit(53)
    assert not LastWords(columns, DIGITS, on_a_line=True).fit(24)


@given(groups=st.integers(1, 300), line=st.booleans())
def test_no_group_lies_beyond_the_edge_of_its_grid(groups: int, line: bool) -> None:
    grid = Grid.of(groups, line=line)
    points = {*zip(np.abs(grid.x - grid.middle).tolist(), np.abs(grid.y).tolist(), strict=True)}
    edge = [(x, y) for x, y in grid.edge.tolist()]
    assert {*edge} <= points
    assert all(any(x <= far and y <= high for far, high in edge) for x, y in points)


def test_whether_very_many_groups_fit_is_said_without_all_pairs_of_them() -> None:
    columns = Columns(np.arange(200_000), np.arange(10), np.arange(50))
    assert not LastWords(columns, DIGITS).fit(24) and LastWords(columns, DIGITS).fit(53)


def test_one_first_token_is_memorized_by_one_word() -> None:
    columns = Columns(np.arange(1), np.arange(3), np.arange(3))
    words = LastWords(columns, Digits(3, 3, 2))
    assert words.groups == 1 and words.fit(24) and not LastWords(columns, Digits(3, 3, 3)).fit(24)
