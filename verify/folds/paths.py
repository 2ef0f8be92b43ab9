"""Represent the inputs of a rule with a state as paths through its states, and find the longest ones.

Page: docs/folds.md (Theorem FD1)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from constructions.folds.fold import Fold, Stage
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.arithmetic.rounding import Floats


@dataclass(frozen=True)
class Moves:
    """Moves from a state before a stage to a state after it, sorted by the latter.

    Args:
        state: The state before, `[T]`.
        after: The state after, `[T]`.
        choice: The choice that the stage reads, `[T]`.
        emits: The token that it emits, `[T]`; -1 where it emits none.
        states: How many states there are after it.
    """

    state: Int64Array
    after: Int64Array
    choice: Int64Array
    emits: Int64Array
    states: int

    @classmethod
    def of(cls, stage: Stage) -> "Moves":
        """Return all moves of a stage."""
        state, choice = np.divmod(np.arange(stage.steps.size), stage.steps.shape[1])
        after = stage.steps.reshape(-1)
        emits = np.full(stage.steps.size, -1) if stage.emits is None else stage.emits.reshape(-1)
        return cls(state, after, choice, emits, stage.next_states).gather(np.argsort(after, kind="stable"))

    def gather(self, chosen: Int64Array | BoolArray) -> "Moves":
        """Return some of the moves, in their order."""
        return Moves(self.state[chosen], self.after[chosen], self.choice[chosen], self.emits[chosen], self.states)

    def gathered(self, merge: np.ufunc, each: np.ndarray, nothing: float | bool) -> np.ndarray:
        """Reduce `[N, T]` over the moves to each later state, `[N, states]`; `nothing` where there is no move."""
        states = np.full((len(each), self.states), nothing)
        if each.shape[1]:
            starts = np.flatnonzero(np.diff(self.after, prepend=-1))
            states[:, self.after[starts]] = merge.reduceat(each, starts, axis=1)
        return states


class Paths:
    """The inputs with one last token and one label, as paths through the states of the fold.

    Only moves are kept that lie on some path of such an input.

    Args:
        fold: The rule.
        moves: All moves of each of its stages.
        number: Index of the row of each pair of a position and a token.
        place: Index of the token of the answer that is asked for.
        last: The token at the last position.
        label: The right token.
    """

    def __init__(
        self,
        fold: Fold,
        moves: list[Moves],
        number: Mapping[tuple[int, int], int],
        place: int,
        last: int,
        label: int,
    ) -> None:
        self.place, self.label = place, label
        self.always = np.array([number[pair] for pair in sorted(fold.fixed.items())], dtype=np.int64)
        emitted = [_said(fold, stage) for stage in range(len(fold.stages))]
        asked_at = fold.length + place - 1
        some = []
        for stage, stage_moves, spoken in zip(fold.stages, moves, emitted, strict=True):
            allowed = np.ones(len(stage_moves.state), dtype=bool)
            for position, token in _tokens(fold, stage, stage_moves, spoken, place):
                if position == asked_at:
                    allowed &= token == last
            if spoken == place:
                allowed &= stage_moves.emits == label
            some.append(stage_moves.gather(allowed))
        self.moves = _joined_up(some)
        self.reads = []
        for stage, stage_moves, spoken in zip(fold.stages, self.moves, emitted, strict=True):
            rows = [_rows(number, *brought) for brought in _tokens(fold, stage, stage_moves, spoken, place)]
            self.reads.append(np.array(rows, dtype=np.int64).reshape(len(rows), len(stage_moves.state)).T)
        self.read = np.unique(np.concatenate([self.always, *(reads.reshape(-1) for reads in self.reads)]))

    @property
    def empty(self) -> bool:
        """Whether no input has this last token and this label."""
        return any(not len(moves.state) for moves in self.moves)

    @property
    def length(self) -> int:
        """Number of rows that an input contributes."""
        return len(self.always) + sum(reads.shape[1] for reads in self.reads)

    def whole(self) -> Int64Array:
        """Return the single cell of all inputs, with no choices fixed, `[1, stages]`."""
        return np.full((1, len(self.moves)), -1)

    def longest(self, lengths: Floats, cells: Int64Array) -> tuple[Floats, Int64Array]:
        """Return the largest sum of the row lengths over the inputs of each cell, and the inputs that attain it.

        Each is at least the exact sum along every path less what `length` roundings change of it: a sum rounded is
        monotone in what is added, so that the largest one rounded is at least each of them rounded.

        Args:
            lengths: Of all rows, `[N, R]`.
            cells: Index of the move chosen at each stage, -1 where any may be, `[N, stages]`.

        Returns:
            The sums `[N]`, minus infinity where a cell is empty, and the moves of a largest one, `[N, stages]`.
        """
        longest, steps = self._forward(lengths, cells)
        state = longest.argmax(axis=1)
        path = np.empty(cells.shape, dtype=np.int64)
        for index in range(len(self.moves) - 1, -1, -1):
            moves = self.moves[index]
            leads = moves.after == state[:, None]
            path[:, index] = np.where(leads, steps[index], -np.inf).argmax(axis=1)
            state = moves.state[path[:, index]]
        return longest.max(axis=1), path

    def longest_sums(self, lengths: Floats, cells: Int64Array) -> Floats:
        """Return only the sums of `longest`, `[N]`."""
        return self._forward(lengths, cells)[0].max(axis=1)

    def _forward(self, lengths: Floats, cells: Int64Array) -> tuple[Floats, list[Floats]]:
        """Return the largest sums into each final state, `[N, states]`, and over each move, `[N, T]` per stage."""
        here = lengths[:, self.always].sum(axis=1)[:, None]
        steps = []
        for index, moves in enumerate(self.moves):
            sums = here[:, moves.state] + lengths[:, self.reads[index]].sum(axis=2)
            sums[~self._possible(cells, index)] = -np.inf
            here = moves.gathered(np.maximum, sums, -np.inf)
            steps.append(sums)
        return here, steps

    def summed(self, weights: Floats, paths: Int64Array) -> Floats:
        """Return the sums of the weights `[N, R]` over the rows of each path, `[N]`."""
        total, count = weights[:, self.always].sum(axis=1), np.arange(len(paths))[:, None]
        for index, reads in enumerate(self.reads):
            total = total + weights[count, reads[paths[:, index]]].sum(axis=1)
        return total

    def _possible(self, cells: Int64Array, index: int) -> BoolArray:
        """Tell which moves of a stage the cells allow, `[N, T]`."""
        chosen = cells[:, index, None]
        return (chosen < 0) | (chosen == np.arange(len(self.moves[index].state)))

    def split(self, cells: Int64Array, index: int) -> Int64Array:
        """Cut each cell by the move of one stage; return the nonempty parts, those of one side together."""
        count = len(self.moves[index].state)
        parts = np.repeat(cells, count, axis=0)
        parts[:, index] = np.tile(np.arange(count), len(cells))
        return parts[self._filled(parts)]

    def _filled(self, cells: Int64Array) -> BoolArray:
        """Tell which cells contain an input, `[N]`."""
        reached = np.ones((len(cells), 1), dtype=bool)
        for index, moves in enumerate(self.moves):
            reached = moves.gathered(np.logical_or, reached[:, moves.state] & self._possible(cells, index), False)
        return np.asarray(reached.any(axis=1))

    def count(self, cell: Int64Array) -> int:
        """Return the exact number of inputs in a cell."""
        counts = [1]
        for index, moves in enumerate(self.moves):
            after = [0] * moves.states
            for move in np.flatnonzero(self._possible(cell[None], index)[0]).tolist():
                after[int(moves.after[move])] += counts[int(moves.state[move])]
            counts = after
        return sum(counts)

    def choices(self, paths: Int64Array) -> Int64Array:
        """Return the choices of the inputs of paths at each stage, `[N, stages]`."""
        return np.stack([moves.choice[paths[:, i]] for i, moves in enumerate(self.moves)], axis=1)


def _said(fold: Fold, stage: int) -> int:
    """Return the index of the answer token that a stage emits; one past the end if it emits none."""
    return fold.answer.index(stage) if stage in fold.answer else len(fold.answer)


def _tokens(fold: Fold, stage: Stage, moves: Moves, said: int, place: int) -> list[tuple[int, Int64Array]]:
    """Return the tokens that the moves of a stage add to a context with `place` answer tokens, by position."""
    tokens = [(position, stage.choices[moves.choice, i]) for i, position in enumerate(stage.positions)]
    return [*tokens, (fold.length + said, moves.emits)] if said < place else tokens


def _rows(number: Mapping[tuple[int, int], int], position: int, tokens: Int64Array) -> Int64Array:
    """Return the rows of these tokens at one position."""
    known, which = np.unique(tokens, return_inverse=True)
    return np.array([number[position, token] for token in known.tolist()], dtype=np.int64)[which]


def _joined_up(stages: list[Moves]) -> list[Moves]:
    """Return the moves that lie on a path through all stages."""
    reached, forward = np.ones(1, dtype=bool), []
    for moves in stages:
        forward.append(moves.gather(reached[moves.state]))
        reached = np.zeros(moves.states, dtype=bool)
        reached[forward[-1].after] = True
    wanted, kept = np.ones(stages[-1].states, dtype=bool), []
    for index in range(len(forward) - 1, -1, -1):
        kept.append(forward[index].gather(wanted[forward[index].after]))
        wanted = np.zeros(stages[index - 1].states if index else 1, dtype=bool)
        wanted[kept[-1].state] = True
    return kept[::-1]
