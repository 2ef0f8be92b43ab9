"""Memorizing with the help of the skip connection: the exact change of basis, for fewer heads than contexts need.

Page: docs/claims/full_rank_attention.md
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.linalg

from constructions.errors import HypothesisError
from constructions.model.attention import features, last
from constructions.model.front_end import FrontEnd
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.numeric.minimum_norm import RightInverse, right_inverse

_NOISE = 2.0**-47  # times the condition number: relative error that the entries of M and B may have
_NOTHING = 2.0**-20  # random vectors of variance 1 whose projection is smaller than this have none


@dataclass(frozen=True, eq=False)
class SkipConnection:
    """Attention parameters and an output whose skip connection carries part of the memory.

    Args:
        front_end: The front end in its new basis.
        output: W_O, `[n_heads * d_head, d_model]`.
        W_U: The unembedding in the new basis, `[d_model, N]`.
        condition: Condition number of $[X_S, Y]$.
        residual: Largest deviation of the stream from its targets, in the coordinates of the targets.
        solver: How $[X_S, Y]$ was factored.
        attempt: Which of the drawn front ends was taken, from 0.
    """

    front_end: FrontEnd
    output: Float64Array
    W_U: Float64Array
    condition: float
    residual: float
    solver: str
    attempt: int


def memorize_with_skip_connection(
    draw: Callable[[int], FrontEnd],
    contexts: Int64Array,
    *,
    targets: Float64Array,
    W_U: Float64Array,
    attempts: int,
) -> SkipConnection | None:
    r"""Reach $E W_U$ on every context although the heads have too few columns without the skip connection: $T \le d + H
    d_h$.

    Solve $[X_S, Y] \binom{M}{B} = E$ by minimum norm. If the rows of B are combinations of the rows of M, the logits
    $E W_U = X_S (M W_U) + Y W_O (M W_U)$ with $W_O M = B$ are those of a network whose unembedding is $M W_U$. For an
    invertible M this is the network with $x = x' M$, that is $W_E = W_E' M$, $W_{Q} = M^{-1} W_{Q}'$ and so on: the
    residual stream may be written in any basis. The basis chosen here makes it exact to rounding however ill
    conditioned M is: with $M = U \Sigma V^T$ the front end is rotated by U, so that W_U has the graded rows of
    $\Sigma V^T$, W_O the graded columns of $B V \Sigma^{-1}$, and relative rounding errors of either stay relative to
    B. After the rotated front end has been rounded, M and B are solved for again, on its own features.

    Args:
        draw: Draws the front end number 0, 1, ...
        contexts: Tokens, `[T, S]`.
        targets: The stream E that `W_U` expects, `[T, r]`.
        W_U: Unembedding, `[d_model, N]`; only its first r rows are used.
        attempts: How many front ends to try; the one with the smallest $\lVert B \rVert$ is taken.

    Returns:
        The network's parts, or `None` if in no attempt $[X_S, Y]$ has rank T, or if
        $\mathrm{rank} [E, Y] < T - (d - \mathrm{rank} E)$: no M and B do it then.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1 (proof), repaired: Theorem 1'.

    Example:
        >>> from constructions.attention.families import random_attention
        >>> contexts = np.array([[i, j] for i in range(3) for j in range(3)])
        >>> E = np.random.default_rng(0).standard_normal((9, 3))
        >>> found = memorize_with_skip_connection(
        ...     lambda seed: random_attention(d_vocab=3, n_ctx=2, d_model=3, n_heads=2, d_head=3, seed=seed),
        ...     contexts, targets=E, W_U=np.eye(3), attempts=4)
        >>> found.output.shape, found.residual < 1e-10  # nine contexts with six features
        ((6, 3), True)
    """
    rank = int(np.linalg.matrix_rank(targets))
    row_space = _svd(targets, full=False)[2][:rank].T
    best, chosen, smallest = None, 0, np.inf
    for attempt in range(attempts):
        tried = _tried(draw(attempt), contexts, targets, row_space)
        if tried is not None and tried.size < smallest:
            best, chosen, smallest = tried, attempt, tried.size
    if best is None:
        return None
    basis = best.basis
    rotated = replace(
        best.front_end,
        W_E=best.front_end.W_E @ basis,
        W_pos=best.front_end.W_pos @ basis,
        W_Q=basis.T @ best.front_end.W_Q,
        W_K=basis.T @ best.front_end.W_K,
        W_V=basis.T @ best.front_end.W_V,
    )
    solved = _solve(rotated, contexts, targets)
    if solved is None:
        return None
    addition = _Pair(basis.T @ best.addition.of_skip, best.addition.of_heads)
    (of_skip, output), residual = _output(solved, targets, row_space, addition)
    inverse, unembedding = solved.inverse, of_skip @ W_U[: targets.shape[1]]
    return SkipConnection(rotated, output, unembedding, inverse.condition, residual, inverse.method, chosen)


class _Pair(NamedTuple):
    """The matrices M and B, which multiply X_S and Y."""

    of_skip: Float64Array
    of_heads: Float64Array


@dataclass(frozen=True, eq=False)
class _Solution:
    """The pair of minimum norm with X_S M + Y B = E, and the factors that change and refine it."""

    skip: Float64Array
    heads: Float64Array
    pair: _Pair
    inverse: RightInverse

    @property
    def noise(self) -> float:
        """Singular values of M below this are indistinguishable from zero."""
        size = np.hypot(np.linalg.norm(self.pair.of_skip, 2), np.linalg.norm(self.pair.of_heads, 2))
        return _NOISE * self.inverse.condition * float(size)

    def split(self, joined: Float64Array) -> _Pair:
        return _Pair(joined[: self.skip.shape[1]], joined[self.skip.shape[1] :])


@dataclass(frozen=True, eq=False)
class _Tried:
    """Attention on which the target can be reached: the basis that makes M graded, and the size of B."""

    front_end: FrontEnd
    addition: _Pair
    basis: Float64Array
    size: float


def _tried(front_end: FrontEnd, contexts: Int64Array, targets: Float64Array, row_space: Float64Array) -> _Tried | None:
    solved = _solve(front_end, contexts, targets)
    if solved is None:
        return None
    addition = _completion(solved, row_space)
    of_skip, of_heads = solved.pair.of_skip + addition.of_skip, solved.pair.of_heads + addition.of_heads
    basis, values, _ = _svd(of_skip, full=True)
    if np.count_nonzero(values > solved.noise) < row_space.shape[1]:
        return None
    return _Tried(front_end, addition, basis, float(np.abs(of_heads).max()))


def _solve(front_end: FrontEnd, contexts: Int64Array, targets: Float64Array) -> _Solution | None:
    everything = np.hstack([last(front_end, contexts), features(front_end, contexts)])
    if everything.shape[1] < len(contexts):
        return None
    try:
        inverse = right_inverse(everything)
    except HypothesisError:
        return None
    d_model = front_end.W_E.shape[1]
    solution = inverse.solve(targets)
    pair = _Pair(solution[:d_model], solution[d_model:])
    return _Solution(everything[:, :d_model], everything[:, d_model:], pair, inverse)


def _completion(solved: _Solution, row_space: Float64Array) -> _Pair:
    """Return increments of M and B after which the rows of M span the row space of E, with X_S M + Y B unchanged.

    Random pairs with X_S m + Y b = 0 are put where M misses a direction. They fill it if any pairs do.
    """
    _, values, right = _svd(solved.pair.of_skip @ row_space, full=True)
    missing = row_space @ right[np.count_nonzero(values > solved.noise) :].T
    columns = solved.inverse.matrix.shape[1]
    random = np.random.default_rng(0).standard_normal((columns, missing.shape[1]))
    unseen = solved.inverse.project(random)
    sizes = np.linalg.norm(unseen[: len(solved.pair.of_skip)], axis=0)
    # A size at rounding level means that there are no such pairs.
    scales = np.where(sizes > _NOTHING, 1 / np.maximum(sizes, _NOTHING), 0.0)
    return solved.split((unseen * scales) @ missing.T)


def _output(solved: _Solution, targets: Float64Array, row_space: Float64Array, addition: _Pair) -> tuple[_Pair, float]:
    """Return M and W_O with (X_S + Y W_O) M = E up to rounding, and the largest remaining deviation."""
    rank = row_space.shape[1]
    of_skip, of_heads = solved.pair.of_skip + addition.of_skip, solved.pair.of_heads + addition.of_heads
    output = np.zeros((len(of_heads), len(of_skip)))
    output[:, :rank] = _divided(of_heads @ row_space, of_skip[:rank] @ row_space)
    deviation = targets - (solved.skip + solved.heads @ output) @ of_skip
    return _Pair(of_skip, output), float(np.abs(deviation).max())


def _divided(left: Float64Array, graded: Float64Array) -> Float64Array:
    """Return left graded^-1 to an accuracy that does not suffer from the different sizes of the rows of `graded`."""
    sizes = np.linalg.norm(graded, axis=1)
    return np.linalg.solve((graded / sizes[:, None]).T, left.T).T / sizes


def _svd(matrix: Float64Array, *, full: bool) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the singular value decomposition, by another driver if LAPACK's divide and conquer does not converge.

    It does fail: on embeddings with many equal rows, with the AVX-512 kernels of OpenBLAS 0.3.31.
    """
    try:
        return scipy.linalg.svd(matrix, full_matrices=full, check_finite=False)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(matrix, full_matrices=full, check_finite=False, lapack_driver="gesvd")
