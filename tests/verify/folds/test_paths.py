"""Tests of verify/folds/paths.py: longest paths and counts, against every input by itself."""

import itertools

import numpy as np
import pytest

from constructions.folds.fold import OWN, Fold, Stage, addition, maximum
from verify.folds.paths import Moves, Paths

# No token leads to the state 1 behind the first stage.
GAP = Fold(
    OWN,
    2,
    {},
    (
        Stage((0,), np.array([[0], [1], [2]]), np.array([[0, 2, 2]])),
        Stage((1,), np.array([[0], [1]]), np.zeros((3, 2), dtype=np.int64), np.array([[0, 1], [2, 2], [1, 0]])),
    ),
    (1,),
)
FOLDS = [GAP, addition(2, base=3), addition(2, base=2, first_digit_of_sum="most"), maximum(3, below=4, equals=[0])]


def paths_of(fold, place):
    """All paths of a token of the answer, with the contexts of their inputs, found one by one."""
    moves = [Moves.of(stage) for stage in fold.stages]
    choices = np.array(list(itertools.product(*(range(len(stage.choices)) for stage in fold.stages))))
    answers = fold.answers(choices)
    contexts = np.concatenate([fold.prompts(choices), answers[:, :place]], axis=1)
    pairs = sorted({(position, token) for row in contexts.tolist() for position, token in enumerate(row)})
    number = {pair: row for row, pair in enumerate(pairs)}
    for last, label in np.unique(np.stack([contexts[:, -1], answers[:, place]], axis=1), axis=0).tolist():
        here = (contexts[:, -1] == last) & (answers[:, place] == label)
        rows = [[number[pair] for pair in enumerate(row)] for row in contexts[here].tolist()]
        yield Paths(fold, moves, number, place, last, label), choices[here], np.array(rows), len(pairs)


@pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: fold.origin)
def test_a_longest_path_is_the_largest_sum_of_an_input(fold) -> None:
    rng = np.random.default_rng(0)
    for place in range(len(fold.answer)):
        for paths, choices, rows, count in paths_of(fold, place):
            lengths = rng.integers(-50, 50, size=(3, count)).astype(float)
            sums, moves = paths.longest(lengths, np.repeat(paths.whole(), 3, axis=0))
            every = lengths[:, rows].sum(axis=2)
            assert (sums == every.max(axis=1)).all()
            assert (paths.summed(lengths, moves) == sums).all()
            assert paths.count(paths.whole()[0]) == len(choices)
            assert {tuple(row) for row in paths.choices(moves).tolist()} <= {tuple(row) for row in choices.tolist()}
            assert set(np.unique(rows).tolist()) == set(paths.read.tolist())


@pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: fold.origin)
def test_parts_of_a_cell_hold_each_of_its_inputs_once(fold) -> None:
    for paths, choices, _, _ in paths_of(fold, 0):
        cells = paths.whole()
        for stage in range(len(fold.stages)):
            cells = paths.split(cells, stage)
        assert len(cells) == len(choices)
        assert sorted(map(tuple, paths.choices(cells).tolist())) == sorted(map(tuple, choices.tolist()))


def test_no_input_is_no_path() -> None:
    fold = maximum(2, below=3)
    number = {(position, token): 3 * position + token for position in range(2) for token in range(3)}
    assert Paths(fold, [Moves.of(stage) for stage in fold.stages], number, 0, 2, 1).empty
