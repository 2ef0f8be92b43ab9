"""The contexts that are not memorized: fitted as well as the memorized ones leave room for.

Page: docs/tail.md
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from constructions.attention.grouped_features import GroupedFeatures
from constructions.errors import InputError
from constructions.model.attention import AttentionWeights, features, last
from constructions.numeric.arrays import Float32Array, Float64Array, Int64Array
from constructions.numeric.cholesky import cholesky
from constructions.numeric.minimum_norm import RightInverse
from constructions.tasks.task import Counts, Task

_FEATURE_ENTRIES = 2**28  # float32 numbers of the tail kept at a time: 1 GiB
_CURVED_CONTEXTS = 2**14  # the most frequent contexts, from which the curvature is estimated
_CURVED_FEATURES = 2**12 + 2**11  # with more, factoring the curvature takes longer than it saves
_LOGIT_ENTRIES = 2**22  # logits worked on at a time
_ITERATIONS = 50
_WORK = 2**40  # multiplications that one product may cost over all iterations
_PRECISION = 1e-5  # nats per token: smaller gains end the descent
_PAIRS = 20  # of L-BFGS
_CURVATURE = 0.05  # of log-sum-exp along a direction, roughly; its maximum is 1/2
_DAMPING = 1e-6
_PAIR_ENTRIES = 2**25


@dataclass(frozen=True, eq=False)
class TailFit:
    """An output that serves the remaining contexts better, and the gain.

    Args:
        output: W_O on the coordinates that are read, `[n_heads * d_head, r]`.
        iterations: Steps of the descent.
        cross_entropy: Nats per token of the fitted contexts, before and after.
        contexts: How many contexts of the tail took part, the most frequent ones.
        complete: Whether the descent ended by itself, and nobody interrupted it.
    """

    output: Float64Array
    iterations: int
    cross_entropy: tuple[float, float]
    contexts: int
    complete: bool


def fit_tail(
    weights: AttentionWeights,
    task: Task,
    *,
    W_U: Float64Array,
    output: Float64Array,
    inverse: RightInverse,
    regularization: float = 1.0,
    iterations: int = _ITERATIONS,
    progress: Callable[[int, int, float], None] | None = None,
) -> TailFit:
    r"""Lower the cross-entropy of the tail without touching a memorized context.

    Let $Y$ be the features of the memorized contexts and $W_0$ an output with $Y W_0 = B$. All outputs of that kind
    are $W_0 + Q$ with $Y Q = 0$, and on them

    $$ f(Q) = \sum_{t \in \text{tail}} \sum_j c_{tj} \bigl(-\log \mathrm{softmax}\bigl((x_S + \Phi_t (W_0 + Q)) W_U
       \bigr)_j\bigr) + \tfrac{\ell}{2} \lVert Q \rVert_F^2 $$

    is convex, since log-sum-exp is. L-BFGS starts at 0 and sees only gradients projected by $P = I - Y^+ Y$, so every
    iterate is a combination of vectors of the null space. It works in the coordinates $Z$ with $Q = P L^{-T} Z$, where
    $L L^T$ is an estimate of the curvature, $P \Phi^T C \Phi P$ of the most frequent contexts, scaled, plus
    $\ell I$: that changes how fast the minimum is found, not where it is. The tail is held in float32: rounding there
    changes which output is found, not whether the memorized contexts survive; those are up to the caller's last
    refinement in float64.

    Tokens whose column of `W_U` is zero have logit 0 and are summed together. A long tail is cut to its most frequent
    contexts, as many as fit into 1 GiB of features.

    Args:
        weights: The front end (or network) that makes the features.
        task: The task; its `tail_contexts` and `tail_counts` are fitted.
        W_U: Unembedding, `[d_model, N]`; zero below its first r rows.
        output: $W_0$, `[n_heads * d_head, r]`.
        inverse: The factored features of the memorized contexts.
        regularization: $\ell$, in counts.
        iterations: Steps at most; fewer if the gain per step falls below 1e-5 nats per token, or if the work is large.
        progress: Called after every step with its number, the largest there can be, and the cross-entropy in nats per
            token.

    Returns:
        The output $W_0 + Q$ and the cross-entropies; after an interrupt from the keyboard those of the last step.

    Raises:
        InputError: The task has no tail, or `regularization` is not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1 (epsilon > 0), made constructive.

    Example:
        >>> from constructions.attention.families import random_attention
        >>> from constructions.numeric.minimum_norm import right_inverse
        >>> from constructions.tasks.task import Counts, make_task
        >>> contexts = np.array([[i, j] for i in range(3) for j in range(3)])
        >>> rows = [{(i + j) % 3: 9, 0: 1} if (i + j) % 3 else {0: 9} for i, j in contexts]
        >>> task = make_task(contexts, Counts.from_rows(rows), vocabulary=tuple("abc"), facts=4)
        >>> weights = random_attention(d_vocab=3, n_ctx=2, d_model=3, n_heads=8, d_head=2, seed=0)
        >>> inverse = right_inverse(features(weights, task.contexts))
        >>> start = np.zeros((16, 3))
        >>> fit = fit_tail(weights, task, W_U=np.eye(3), output=start, inverse=inverse)
        >>> fit.contexts, fit.cross_entropy[1] < fit.cross_entropy[0]
        (5, True)
        >>> bool(np.abs(inverse.matrix @ (fit.output - start)).max() < 1e-12)
        True
    """
    import scipy.optimize

    if len(task.tail_contexts) == 0:
        raise InputError("tail", "is 'fit', but every context of the task is memorized")
    if not 0 < regularization < np.inf:
        raise InputError("regularization", f"= {regularization}", "a positive number of counts")
    objective = _Objective(weights, task, W_U, output, inverse, regularization)
    size = output.size
    steps = max(1, min(iterations, _WORK // (objective.features.size * output.shape[1])))
    taken, complete, reached = 0, True, np.zeros(size)

    def report(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        nonlocal taken, reached
        taken, reached = taken + 1, np.array(intermediate_result.x)
        if progress is not None:
            progress(taken, steps, objective.cross_entropy)

    objective(reached)
    before = objective.cross_entropy
    try:
        reached = scipy.optimize.minimize(
            objective,
            reached,
            jac=True,
            method="L-BFGS-B",
            callback=report,
            options={
                "maxiter": steps,
                "maxcor": _pairs(size),
                "ftol": _PRECISION,
                "gtol": 0.0,
            },
        ).x
    except KeyboardInterrupt:
        complete = False
    objective(reached)
    # In single precision it has left the null space of Y by a rounding error.
    added = inverse.project(objective.addition(reached).astype(np.float64))
    return TailFit(output + added, taken, (before, objective.cross_entropy), len(objective.base), complete)


def tail_bytes(n_tail: int, *, n_features: int, coordinates: int) -> int:
    """Estimate the peak memory of `fit_tail` in bytes, for `n_tail` contexts: features, streams, curvature, pairs of
    L-BFGS.

    Example:
        >>> round(tail_bytes(30_000, n_features=4096, coordinates=64) / 2**30, 2)
        1.32
    """
    rows = _rows(n_tail, n_features)
    size = n_features * coordinates
    curved = 4 * n_features * (8 * n_features + min(rows, _CURVED_CONTEXTS)) if n_features <= _CURVED_FEATURES else 0
    return 4 * rows * (n_features + 3 * coordinates) + 8 * size * (2 * _pairs(size) + 8) + curved


def _rows(n_tail: int, n_features: int) -> int:
    return max(1, min(n_tail, _FEATURE_ENTRIES // n_features))


def _pairs(size: int) -> int:
    return max(4, min(_PAIRS, _PAIR_ENTRIES // size))


class _Objective:
    """f / (sum of counts) and its projected gradient; remembers the last cross-entropy."""

    def __init__(
        self,
        weights: AttentionWeights,
        task: Task,
        W_U: Float64Array,
        output: Float64Array,
        inverse: RightInverse,
        regularization: float,
    ) -> None:
        n_heads, _, d_head = weights.W_V.shape
        # What is kept of a context: its attention, or its features where those are fewer.
        grouped = task.n_ctx < d_head
        rows = _rows(len(task.tail_contexts), n_heads * (task.n_ctx if grouped else d_head))
        contexts, counts = task.tail_contexts[:rows], task.tail_counts.rows(0, rows)
        coordinates = output.shape[1]
        self.features = GroupedFeatures(weights, contexts) if grouped else _Features(weights, contexts)
        self.base = self.features.times(output.astype(np.float32))
        self.base += last(weights, contexts)[:, :coordinates]
        self.inverse = inverse
        self.totals = counts.totals().astype(np.float64)
        self.regularization = regularization / self.totals.sum()
        active = np.flatnonzero(W_U.any(axis=0))
        self.unembedding = W_U[:coordinates, active].astype(np.float32)
        self.silent = W_U.shape[1] - len(active)
        self.entries = _Entries(counts, active, W_U.shape[1])
        self.cross_entropy = np.nan
        self.coordinates = self._curved(weights, contexts) if len(output) <= _CURVED_FEATURES else None

    def _curved(self, weights: AttentionWeights, contexts: Int64Array) -> Float32Array:
        """Return P L^-T, the matrix that maps coordinates Z to Q."""
        some = slice(0, _CURVED_CONTEXTS)
        scaled = features(weights, contexts[some], dtype=np.float32)
        scaled *= np.sqrt(_CURVATURE * self.totals[some] / self.totals.sum()).astype(np.float32)[:, None]
        gram = (scaled.T @ scaled).astype(np.float64)
        gram = self.inverse.project(self.inverse.project(gram).T)
        gram = 0.5 * (gram + gram.T)
        gram[np.diag_indices(len(gram))] += max(self.regularization, _DAMPING * float(np.trace(gram)) / len(gram))
        inverse = scipy.linalg.solve_triangular(
            cholesky(gram), np.eye(len(gram)), lower=True, trans=1, overwrite_b=True, check_finite=False
        )
        return self.inverse.project(inverse).astype(np.float32)

    def addition(self, point: Float64Array) -> Float32Array:
        """Return Q for the coordinates Z."""
        change = point.reshape(-1, self.base.shape[1]).astype(np.float32)
        return change if self.coordinates is None else self.coordinates @ change

    def __call__(self, point: Float64Array) -> tuple[float, Float64Array]:
        addition = self.addition(point)
        stream = self.features.times(addition)
        stream += self.base
        rows = max(1, _LOGIT_ENTRIES // max(1, self.unembedding.shape[1]))
        loss = sum(self._replace_by_gradient(stream, start, rows) for start in range(0, len(stream), rows))
        total = self.totals.sum()
        self.cross_entropy = float(loss / total)
        gradient = self.features.transposed_times(stream) / np.float32(total)
        gradient += np.float32(self.regularization) * addition
        if self.coordinates is None:
            gradient = self.inverse.project(gradient.astype(np.float64))
        else:
            gradient = self.coordinates.T @ gradient
        value = self.cross_entropy + 0.5 * self.regularization * float(np.vdot(addition, addition))
        return value, gradient.ravel().astype(np.float64)

    def _replace_by_gradient(self, stream: Float32Array, start: int, rows: int) -> float:
        """Overwrite a block of the residual stream by the gradient there; return the loss of the block, in nats."""
        part = slice(start, min(start + rows, len(stream)))
        logits = stream[part] @ self.unembedding
        totals = self.totals[part]
        row, column, count = self.entries.block(part)
        highest = np.maximum(logits.max(axis=1), 0.0) if self.silent else logits.max(axis=1)
        observed = float(np.dot(count, logits[row, column].astype(np.float64)))
        logits -= highest[:, None]
        powers = np.exp(logits, out=logits)
        sums = powers.sum(axis=1, dtype=np.float64) + self.silent * np.exp(-highest.astype(np.float64))
        powers *= (totals / sums).astype(np.float32)[:, None]
        powers[row, column] -= count.astype(np.float32)
        stream[part] = powers @ self.unembedding.T
        return float(totals @ (highest + np.log(sums))) - observed


class _Features:
    """The dense features, for heads that are not wider than a context is long."""

    def __init__(self, weights: AttentionWeights, contexts: Int64Array) -> None:
        self.matrix: Float32Array = features(weights, contexts, dtype=np.float32)
        self.size = self.matrix.size

    def times(self, output: Float32Array) -> Float32Array:
        return self.matrix @ output

    def transposed_times(self, gradient: Float32Array) -> Float32Array:
        return self.matrix.T @ gradient


class _Entries:
    """The sparse counts, by row and column, of the tokens that have a column of their own."""

    def __init__(self, counts: Counts, active: Int64Array, width: int) -> None:
        column_of = np.full(width, -1)
        column_of[active] = np.arange(len(active))
        row = np.repeat(np.arange(len(counts)), np.diff(counts.indptr))
        column = column_of[counts.indices]
        kept = column >= 0
        self.row, self.column, self.count = row[kept], column[kept], counts.data[kept].astype(np.float64)

    def block(self, part: slice) -> tuple[Int64Array, Int64Array, Float64Array]:
        first, beyond = np.searchsorted(self.row, [part.start, part.stop])
        entries = slice(int(first), int(beyond))
        return self.row[entries] - part.start, self.column[entries], self.count[entries]
