r"""Contexts distributed over the heads: a combinatorial proof that their features can be linearly independent.

Page: docs/claims/closed_forms.md
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import nmod_mat

from constructions.attention.capacity.generic_rank import PRIME, check_sizes
from constructions.errors import HypothesisError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts


@dataclass(frozen=True)
class Window:
    """The contexts assigned to one head, with a difference $x_s - x_S$ for each; these are linearly independent.

    Args:
        rows: Row numbers of contexts with pairwise different last tokens.
        positions: A position $s$, from 0 and before the last, for each.
    """

    rows: tuple[int, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Partition:
    r"""Contexts distributed over the skip connection and the heads: they are independent for almost all weights.

    The sets are disjoint and the last tokens within each are different; $|U_0| \le d$, $|U_h| \le d_h$; and the formal
    differences $e_{t_s} - e_{t_S} + f_s - f_S$ at the positions of each window are linearly independent. What checks
    this is `verify.theorems.capacity.independent_windows.partition_holds`.

    Args:
        skip: The contexts $U_0$ of the skip connection: row numbers.
        windows: The contexts $U_1, \dots, U_H$ of the heads; of as many heads as there are contexts, if there are more.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Lemma 2.
    """

    skip: tuple[int, ...]
    windows: tuple[Window, ...]

    @property
    def size(self) -> int:
        """Number of contexts that were assigned: a lower bound of the generic rank."""
        return len(self.skip) + sum(len(window.rows) for window in self.windows)


def distribute(last_tokens: Sequence[int], capacities: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    r"""Put as many contexts as possible into sets of limited sizes, each with pairwise different last tokens.

    Every last token in turn goes to the sets with the most room left. The result is a maximum flow through the network
    source, last tokens (capacity $m_c$), sets (capacity 1 from each last token), sink (capacity of the set); so it
    holds $\min_j \sum_i \min(k_i, j) + \sum_{i > j} m_i$ contexts, for capacities $k_i$ and multiplicities
    $m_1 \ge m_2 \ge \dots$ of the last tokens.

    Args:
        last_tokens: The last token of every context.
        capacities: The largest size of each set.

    Returns:
        The row numbers in each set.

    Example:
        >>> distribute([5, 5, 5, 7], [2, 1])
        ((0, 3), (1,))
    """
    members: dict[int, list[int]] = {}
    for row, token in enumerate(last_tokens):
        members.setdefault(token, []).append(row)
    sets: list[list[int]] = [[] for _ in capacities]
    room = list(capacities)
    for rows in members.values():
        most_room = sorted((i for i in range(len(room)) if room[i] > 0), key=lambda i: (-room[i], i))
        for i, row in zip(most_room, rows, strict=False):
            sets[i].append(row)
            room[i] -= 1
    return tuple(map(tuple, sets))


def partition(contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, seed: int = 0) -> Partition:
    r"""Assign as many contexts as possible to the skip connection and the heads.

    The contexts that `distribute` places come first, as far as Rado's condition allows. Then every other context is
    tried once: it enters a set, or replaces a context that looks for another place itself, along a shortest
    chain. For $S - 1 \ge d_h$ Rado's condition always holds, and the number is the largest possible unless the random
    combinations are unlucky; for shorter contexts it need not be. What is returned satisfies the conditions of
    Theorem S3, whatever was drawn.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`, $S \ge 2$.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, $H$.
        seed: Seed of the random combinations that stand for Rado's condition during the search.

    Returns:
        The partition, of all contexts or of a part of them.

    Raises:
        HypothesisError: Contexts of one token.
        InputError: Sizes that fit no model, or contexts that are not distinct rows of tokens.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> bigrams = np.array([[n, c] for n in range(3) for c in range(3)])
        >>> found = partition(bigrams, d_model=3, d_head=2, n_heads=3)
        >>> found.size, [len(window.rows) for window in found.windows]
        (9, [2, 2, 2])
    """
    contexts = checked_contexts(contexts, distinct=True)
    check_sizes(d_model=d_model, d_head=d_head, n_heads=n_heads)
    if contexts.shape[1] < 2:
        raise HypothesisError("Theorem S3", "contexts of S >= 2 tokens", "S = 1")
    capacities = [min(d_model, len(np.unique(contexts[:, -1])))]
    capacities += min(n_heads, len(contexts)) * [d_head]  # more heads hold nothing
    distributed = distribute(contexts[:, -1].tolist(), capacities)
    search = _Search(contexts, capacities, seed)
    for i, rows in enumerate(distributed):
        for row in rows:
            if search.fits(row, i):
                search.sets[i].append(row)
    placed = {row for rows in search.sets for row in rows}
    most = sum(map(len, distributed))  # a maximum flow
    for row in range(len(contexts)):
        if len(placed) < most and row not in placed and search.place(row):
            placed.add(row)
    windows = [search.window(sorted(rows)) for rows in search.sets[1:]]
    return Partition(skip=tuple(sorted(search.sets[0])), windows=tuple(windows))


class _Search:
    """Sets of contexts, set 0 that of the skip connection, and exchanges between them."""

    def __init__(self, contexts: Int64Array, capacities: Sequence[int], seed: int) -> None:
        self.sets: list[list[int]] = [[] for _ in capacities]
        self._capacities = capacities
        used, tokens = np.unique(contexts, return_inverse=True)
        self._tokens = [list(map(int, context)) for context in tokens.reshape(contexts.shape)]
        self._n_tokens = len(used)
        # Independence of one random combination of the differences of each context implies Rado's condition.
        rng = np.random.default_rng(seed)
        coefficients = rng.integers(1, PRIME, (len(contexts), contexts.shape[1] - 1)).tolist()
        self._combinations = [
            _combination(context, tuple(enumerate(factors)), self._n_tokens)
            for context, factors in zip(self._tokens, coefficients, strict=True)
        ]

    def fits(self, row: int, i: int, without: int | None = None) -> bool:
        others = [other for other in self.sets[i] if other != without]
        if len(others) >= self._capacities[i] or any(
            self._tokens[other][-1] == self._tokens[row][-1] for other in others
        ):
            return False
        if i == 0:
            return True
        return _rank([self._combinations[other] for other in [*others, row]]) == len(others) + 1

    def window(self, rows: Sequence[int]) -> Window:
        """Return the contexts of a set, each with a position; the differences at these positions are linearly
        independent.

        A determinant is linear in every row. It does not vanish at the random combinations of the differences, so one
        combination after the other can be replaced by one of its terms without making it vanish.
        """
        matrix = [self._combinations[row] for row in rows]
        positions = []
        for i, row in enumerate(rows):
            for s in range(len(self._tokens[row]) - 1):
                attempt = list(matrix)
                attempt[i] = _combination(self._tokens[row], ((s, 1),), self._n_tokens)
                if _rank(attempt) == len(rows):
                    matrix = attempt
                    positions.append(s)
                    break
        return Window(tuple(rows), tuple(positions))

    def place(self, row: int) -> bool:
        """Place one more context by a chain of exchanges, or leave the sets as they are."""
        start = [list(members) for members in self.sets]
        came_from: dict[int, tuple[int, int]] = {}  # context without a place: who took it, in which set
        queue, seen = deque([row]), {row}
        while queue:
            homeless = queue.popleft()
            self.sets = [list(members) for members in start]
            if not self._replay(row, homeless, came_from):
                continue
            for i in range(len(self.sets)):
                if self.fits(homeless, i):
                    self.sets[i].append(homeless)
                    return True
            for i, members in enumerate(self.sets):
                for other in members:
                    if other not in seen and self.fits(homeless, i, without=other):
                        seen.add(other)
                        came_from[other] = (homeless, i)
                        queue.append(other)
        self.sets = start
        return False

    def _replay(self, row: int, homeless: int, came_from: dict[int, tuple[int, int]]) -> bool:
        """Carry out the exchanges of a chain in order; return whether all are still allowed."""
        chain = []
        while homeless != row:
            taker, i = came_from[homeless]
            chain.append((taker, homeless, i))
            homeless = taker
        for taker, leaver, i in reversed(chain):
            if leaver not in self.sets[i] or not self.fits(taker, i, without=leaver):
                return False
            self.sets[i].remove(leaver)
            self.sets[i].append(taker)
        return True


def _combination(context: Sequence[int], terms: Sequence[tuple[int, int]], d_vocab: int) -> list[int]:
    """Return the combination of the formal differences e_{t_s} - e_{t_S} + f_s - f_S, with (s, coefficient) given: [N +
    S].
    """
    row = [0] * (d_vocab + len(context))
    for s, coefficient in terms:
        row[context[s]] += coefficient
        row[context[-1]] -= coefficient
        row[d_vocab + s] += coefficient
        row[-1] -= coefficient
    return row


def _rank(rows: list[list[int]]) -> int:
    """Return the rank modulo `PRIME`, which is at most the rank."""
    return nmod_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row], PRIME).rank()
