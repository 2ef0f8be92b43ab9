"""Store part of a memory in the skip connection, exactly: a change of basis in rationals, without a limit.

Page: docs/claims/skip_connection.md
"""

from dataclasses import dataclass
from typing import NamedTuple

from flint import fmpq, fmpq_mat

from constructions.errors import HypothesisError, InputError
from constructions.model.exact_attention import exact_features, exact_last
from constructions.model.exact_network import ExactFrontEnd, exact_network, stacked
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array


@dataclass(frozen=True)
class BasisCondition:
    r"""The ranks that decide whether a change of basis makes the logits $E W_U$, and the decision.

    With $k$ the rank of $E W_U$, $X$ the last embeddings and $Y$ the features of the contexts: it exists if and only if

    $$ \mathrm{rank}\,[X \mid E \mid Y] = \mathrm{rank}\,[X \mid Y] \le \mathrm{rank}\,[E \mid Y] + d - k , $$

    where E stands for any $T \times k$ matrix with the column space of $E W_U$. If $[X \mid Y]$ has rank T this is
    $\mathrm{rank}\,[E \mid Y] \ge T - (d - k)$, and for $k = d$ it is $\mathrm{rank}\,[E \mid Y] = T$.

    Args:
        contexts: $T$.
        d_model: $d$.
        targets: $k$, so that d - k coordinates of the stream are free.
        with_skip: $\mathrm{rank}\,[X \mid Y]$.
        with_targets: $\mathrm{rank}\,[E \mid Y]$.
        with_both: $\mathrm{rank}\,[X \mid E \mid Y]$.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Theorem 1 (proof).

    Example:
        >>> BasisCondition(contexts=6, d_model=2, targets=2, with_skip=6, with_targets=5, with_both=6).holds
        False
    """

    contexts: int
    d_model: int
    targets: int
    with_skip: int
    with_targets: int
    with_both: int

    @property
    def reachable(self) -> bool:
        """Whether the targets are linear combinations of the last embeddings and the features."""
        return self.with_both == self.with_skip

    @property
    def holds(self) -> bool:
        """Whether an invertible change of basis reaches the targets."""
        return self.reachable and self.with_skip <= self.with_targets + self.d_model - self.targets


@dataclass(frozen=True, eq=False)
class ExactSkipConnection:
    r"""A rational network whose skip connection carries part of the memory, and the change of basis behind it.

    Its residual stream at the last position is $x_S + Y W_O = X' M + Y' B = [E \mid F]$, with X' and Y' those of the
    front end that was given.

    Args:
        model: The rational network in its new basis: `W_E` and `W_pos` times M; $M^{-1}$ times `W_Q`, `W_K` and `W_V`;
            `W_O` is B.
        change: M, invertible, `[d, d]`.
        determinant: Of M.
        stream: $[E \mid F]$, `[T, d]`: k columns that span those of $E W_U$, and d - k free ones.
        condition: The ranks that made it possible.
    """

    model: Model
    change: fmpq_mat
    determinant: fmpq
    stream: fmpq_mat
    condition: BasisCondition


def exact_change_of_basis(
    front_end: ExactFrontEnd, contexts: Int64Array, targets: fmpq_mat, W_U: fmpq_mat
) -> ExactSkipConnection:
    r"""Reach the logits $E W_U$ on every context exactly, with the help of the skip connection.

    Solve $X' M + Y' B = [E \mid F]$ with an invertible M, where F is free. The network in the basis $x = x' M$, that is

    $$ W_E = W_E' M, \quad W_{pos} = W_{pos}' M, \quad W_Q = M^{-1} W_Q', \quad W_K = M^{-1} W_K', \quad
       W_V = M^{-1} W_V', \quad W_O = B, $$

    has the same attention and the same features Y', and its last embeddings are X' M. So its stream is
    $[E \mid F]$, and the unembedding reads E. There is no limit $\lambda \to \infty$ and nothing is approximated.

    Everything comes out of one reduced row echelon form, that of $[Y' \mid X' \mid E]$: the rows without a pivot in the
    first block are $X'$ and E modulo the range of $Y'$. M solves those; the directions of the kernel of X' modulo the
    range go where E modulo the range is not injective; what is left of M is filled up with unit vectors.

    Args:
        front_end: Embeddings and heads $(e', pos', W', V')$; scores are integer multiples of ln 2.
        contexts: Tokens, pairwise distinct rows, `[T, S]`.
        targets: E, `[T, r]`.
        W_U: What reads it, `[r, N]`. If only distributions matter, pass it with the mean of each row subtracted
            (`without_shifts`): that may leave one more coordinate free.

    Returns:
        The network and the change of basis.

    Raises:
        InputError: Targets or an unembedding that do not fit the contexts, or contexts that are not tokens.
        HypothesisError: There is no such M; names the condition that fails, and the ranks.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1 (proof), repaired.

    Example:
        >>> import numpy as np
        >>> from constructions.model.exact_network import as_rationals
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> front_end = ExactFrontEnd(line, line, (one,), (one,), (one,))
        >>> found = exact_change_of_basis(front_end, np.array([[0, 1], [1, 1]]), as_rationals([[3], [5]]), one)
        >>> found.change, found.model.W_O.tolist(), found.model.W_E.tolist()
        ([341/14], [[[-170/7]]], [[0], [341/14]])
    """
    problem = _Problem.of(front_end, contexts, targets, W_U)
    condition = problem.condition
    if not condition.reachable:
        raise HypothesisError(
            "The change of basis x = x' M",
            "targets in the span of the columns of [X, Y]",
            f"rank [X, E, Y] = {condition.with_both} and rank [X, Y] = {condition.with_skip}",
        )
    if not condition.holds:
        raise HypothesisError(
            "The change of basis x = x' M",
            "rank [E, Y] >= rank [X, Y] - (d - k) with k = rank E",
            f"rank [E, Y] = {condition.with_targets}, rank [X, Y] = {condition.with_skip}, d = {condition.d_model}, "
            f"k = {condition.targets}",
        )
    change, output = problem.solution()
    inverse = change.inv()
    d_head = front_end.d_head
    rows = output.tolist()
    network = exact_network(
        ExactFrontEnd(
            front_end.W_E * change,
            front_end.W_pos * change,
            tuple(inverse * query for query in front_end.W_Q),
            tuple(inverse * key for key in front_end.W_K),
            tuple(inverse * value for value in front_end.W_V),
        ),
        tuple(
            stacked(rows[head * d_head : (head + 1) * d_head], front_end.d_model) for head in range(front_end.n_heads)
        ),
        problem.unembedding,
    )
    stream = problem.last * change + problem.features * output
    return ExactSkipConnection(network, change, change.det(), stream, condition)


def basis_condition(front_end: ExactFrontEnd, contexts: Int64Array, targets: fmpq_mat, W_U: fmpq_mat) -> BasisCondition:
    """Decide by ranks whether an invertible change of basis reaches the logits $E W_U$.

    Args:
        front_end: Embeddings and heads; scores are integer multiples of ln 2.
        contexts: Tokens, pairwise distinct rows, `[T, S]`.
        targets: E, `[T, r]`.
        W_U: What reads it, `[r, N]`.

    Returns:
        The ranks and the decision.

    Raises:
        InputError: Targets or an unembedding that do not fit the contexts, or contexts that are not tokens.
        HypothesisError: A score that is not an integer multiple of ln 2.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Theorem 1 (proof).

    Example:
        >>> import numpy as np
        >>> from constructions.model.exact_network import as_rationals
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> front_end = ExactFrontEnd(line, line, (one,), (one,), (one,))
        >>> basis_condition(front_end, np.array([[0, 1], [1, 1]]), as_rationals([[32 * 5], [9 * 17]]), one).holds
        False
    """
    return _Problem.of(front_end, contexts, targets, W_U).condition


def without_shifts(W_U: fmpq_mat) -> fmpq_mat:
    r"""Return the unembedding $W_U (I - \mathbf{1}\mathbf{1}^\top / N)$, which gives the same distributions: each row
    gets mean
    0.

    A softmax does not see a constant that is added to all logits of a row. Without these shifts the logits may have a
    rank that is smaller by one, which leaves one more coordinate of the stream free.

    Args:
        W_U: `[r, N]`.

    Returns:
        `[r, N]`.

    Example:
        >>> without_shifts(fmpq_mat(1, 2, [1, 0]))
        [1/2, -1/2]
    """
    return stacked(
        [[entry - sum(row, fmpq(0)) / len(row) for entry in row] for row in W_U.tolist()],
        W_U.ncols(),
    )


class _Problem(NamedTuple):
    """X, Y and E of full column rank, and the reduced row echelon form of [Y | X | E]."""

    last: fmpq_mat
    features: fmpq_mat
    stream: fmpq_mat
    unembedding: fmpq_mat
    reduced: list[list[fmpq]]
    pivots: list[int]

    @classmethod
    def of(cls, front_end: ExactFrontEnd, contexts: Int64Array, targets: fmpq_mat, W_U: fmpq_mat) -> "_Problem":
        last, features = exact_last(front_end, contexts), exact_features(front_end, contexts)
        if targets.nrows() != last.nrows() or targets.ncols() != W_U.nrows() or not W_U.ncols():
            raise InputError(
                "targets",
                f"is {targets.nrows()} x {targets.ncols()} and W_U {W_U.nrows()} x {W_U.ncols()}",
                f"[{last.nrows()}, r] and [r, N] with N >= 1",
            )
        stream, unembedding = _independent(targets, W_U)
        d_model = front_end.d_model
        if stream.ncols() > d_model:
            raise HypothesisError(
                "The change of basis x = x' M", "logits E W_U of rank k <= d", f"k = {stream.ncols()}, d = {d_model}"
            )
        padded = stacked(
            [*unembedding.tolist(), *([fmpq(0)] * W_U.ncols() for _ in range(d_model - unembedding.nrows()))],
            W_U.ncols(),
        )
        reduced, pivots = _echelon(_beside(features, last, stream))
        return cls(last, features, stream, padded, reduced, pivots)

    @property
    def condition(self) -> BasisCondition:
        n_features, d_model = self.features.ncols(), self.last.ncols()
        of_features = sum(pivot < n_features for pivot in self.pivots)
        return BasisCondition(
            contexts=self.last.nrows(),
            d_model=d_model,
            targets=self.stream.ncols(),
            with_skip=sum(pivot < n_features + d_model for pivot in self.pivots),
            with_targets=of_features + self._targets_beyond_features().rank(),
            with_both=len(self.pivots),
        )

    def _targets_beyond_features(self) -> fmpq_mat:
        """Return E modulo the range of Y, in coordinates."""
        first = self.features.ncols() + self.last.ncols()
        of_features = sum(pivot < self.features.ncols() for pivot in self.pivots)
        return stacked([row[first:] for row in self.reduced[of_features:]], self.stream.ncols())

    def solution(self) -> tuple[fmpq_mat, fmpq_mat]:
        """Return an invertible M and a B with X M + Y B = [E | F]; the condition holds."""
        n_features, d_model = self.features.ncols(), self.last.ncols()
        skips = slice(n_features, n_features + d_model)
        wanted = slice(n_features + d_model, None)
        own = [[fmpq(0)] * self.stream.ncols() for _ in range(d_model)]
        pivot_rows = {pivot - n_features: row for row, pivot in zip(self.reduced, self.pivots, strict=False)}
        solved = {pivot: row for pivot, row in pivot_rows.items() if pivot >= 0}
        for pivot, row in solved.items():
            own[pivot] = list(row[wanted])
        # M must not kill what E modulo Y kills: those columns get directions that X modulo Y kills, one each.
        _, kept = _echelon(self._targets_beyond_features())
        lost = [column for column in range(self.stream.ncols()) if column not in kept]
        free = [column for column in range(d_model) if column not in solved]
        for column, direction in zip(lost, free, strict=False):
            own[direction][column] += 1
            for pivot, row in solved.items():
                own[pivot][column] -= row[skips][direction]
        _, used = _echelon(stacked(own, self.stream.ncols()).transpose())
        spare = [row for row in range(d_model) if row not in used]
        change = stacked([[*row, *(fmpq(int(i == unit)) for unit in spare)] for i, row in enumerate(own)], d_model)
        output = [[fmpq(0)] * d_model for _ in range(n_features)]
        for pivot, row in zip(self.pivots, self.reduced, strict=False):
            if pivot < n_features:
                carried = (stacked([row[skips]], d_model) * stacked(own, self.stream.ncols())).entries()
                output[pivot][: self.stream.ncols()] = [e - c for e, c in zip(row[wanted], carried, strict=True)]
        return change, stacked(output, d_model)


def _independent(targets: fmpq_mat, W_U: fmpq_mat) -> tuple[fmpq_mat, fmpq_mat]:
    """Return E and W_U with the same product and as many columns and rows as its rank; unchanged if they already
    have.
    """
    logits = targets * W_U
    reduced, pivots = _echelon(logits)
    if len(pivots) == targets.ncols():
        return targets, W_U
    columns = [[row[pivot] for pivot in pivots] for row in logits.tolist()]
    return stacked(columns, len(pivots)), stacked(reduced[: len(pivots)], logits.ncols())


def _echelon(matrix: fmpq_mat) -> tuple[list[list[fmpq]], list[int]]:
    """Return the reduced row echelon form, and the columns of its pivots."""
    reduced, rank = matrix.rref()
    rows = reduced.tolist()
    return rows, [next(j for j, entry in enumerate(row) if entry != 0) for row in rows[:rank]]


def _beside(*blocks: fmpq_mat) -> fmpq_mat:
    rows = zip(*(block.tolist() for block in blocks), strict=True)
    return stacked([[entry for block in row for entry in block] for row in rows], sum(b.ncols() for b in blocks))
