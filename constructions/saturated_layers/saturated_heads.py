"""Build heads that each fit a few examples and are saturated on all earlier ones: the memory of Mahdavi et al.

Page: docs/claims/saturated_heads.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.linalg

from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.model.vector_attention import mixed_inputs
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.numeric.cholesky import cholesky
from constructions.numeric.products import multiply
from constructions.saturated_layers.query_blocks import query_blocks, require_blocks, require_examples

Targets = Literal["printed", "near-one-hot"]

_DRAWS = 200  # of a direction; the best one is kept
_DIRICHLET = 1.0
_REFINEMENTS = 4
_CONVERGED = 1e-6
_LEAST_WEIGHT = 1e-3  # of a printed target: the logits stay within 7


@dataclass(frozen=True, eq=False)
class SaturatedHeads:
    r"""Query and key maps, and the examples of each head.

    Args:
        W_Q: Query maps, `[H, d, d_h]`.
        W_K: Key maps, `[H, d, d_h]`.
        blocks: The examples that each head fits.
        strengths: $\kappa$ of each head, `[H]`; 0 for a head that freezes nothing.
        separations: $\sigma_{\min}$ of what a head adds beyond the earlier heads, for $\kappa \to \infty$, `[H]`;
            infinite for a head without examples. Floating-point estimates.
    """

    W_Q: Float64Array
    W_K: Float64Array
    blocks: tuple[range, ...]
    strengths: Float64Array
    separations: Float64Array


@dataclass(frozen=True, eq=False)
class Freezing:
    r"""A rank-one matrix that vanishes on a block of queries and saturates every earlier example.

    Args:
        key_direction: $v$, `[d]`.
        query_direction: $w$, `[d]`: orthogonal to the queries of the block, not to the earlier ones.
        winners: The token that takes all attention of each earlier example for $\kappa \to \infty$, `[T_0]`.
        gaps: How far its score $(E v)_i \langle w, e \rangle$ is above the second, `[T_0]`.
    """

    key_direction: Float64Array
    query_direction: Float64Array
    winners: Int64Array
    gaps: Float64Array


@dataclass(frozen=True, eq=False)
class Fit:
    """A head before freezing: maps that give the attention of the chosen rows on its block.

    Args:
        W_Q: `[d, columns]`.
        W_K: `[d, columns]`.
        rows: The mixed inputs of the block, less those of the earlier examples combined, `[b, d]`.
    """

    W_Q: Float64Array
    W_K: Float64Array
    rows: Float64Array


FitBlock = Callable[[range, Float64Array], Fit]
"""Fits a block, given the combinations $c_t$ of frozen rows that its rows have to stand out from, `[b, d]`."""


def saturated_heads(
    contexts: Float64Array,
    queries: Float64Array,
    *,
    n_heads: int,
    d_head: int,
    targets: Targets = "near-one-hot",
    rho: float = 0.1,
    margin: float = 0.5,
    largest_strength: float = math.inf,
    seed: int = 0,
) -> SaturatedHeads:
    r"""Return heads for which $Z$ has linearly independent rows, for $T \le H (r - 1) + 1$ examples with $r = \min(n,
    d_h)$.

    Head 1 gives r examples attention weights of one's choice (Claim 1), every other head $r - 1$ new ones, while a
    matrix $\kappa\, v w^\top$ freezes the earlier examples near one token each (Claim 2). Targets are ``printed``,
    random in the simplex, or ``near-one-hot``, $(1 - \rho) 1_i + \rho / n$ with the token whose row is farthest from
    what is there. $\kappa$ is large enough for the separation to stay above $1 -$ `margin` of its limit, by Weyl's
    inequality; a smaller `largest_strength` gives up that guarantee, not the construction.

    It is floating point, and trusted by nobody: certificates are about the weights that come out.

    Args:
        contexts: Keys, `[T, n, d]` or `[1, n, d]`, each of rank n.
        queries: `[T, d]`.
        n_heads: H.
        d_head: $d_h$.
        targets: How attention weights are chosen.
        rho: Weight that a near-one-hot target spreads over all tokens, in (0, 1).
        margin: Share of the separation that freezing may cost, in (0, 1).
        largest_strength: Cap of $\kappa$.
        seed: Of targets and directions.

    Returns:
        The maps of all heads, `[H, d, d_h]`.

    Raises:
        InputError: An argument out of range.
        CapacityError: T > H (r - 1) + 1.
        HypothesisError: Contexts of rank below n, or queries that violate the block condition.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Proposition 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> E, e = rng.uniform(size=(1, 3, 5)), rng.uniform(size=(9, 5))
        >>> heads = saturated_heads(E, e, n_heads=4, d_head=3)
        >>> Z = mixed_inputs(E, e, heads.W_Q, heads.W_K).reshape(9, -1)
        >>> int(np.linalg.matrix_rank(Z)), heads.blocks[1]
        (9, range(3, 5))
    """
    if targets not in get_args(Targets):
        raise InputError("targets", f"is {targets!r}", "'printed' or 'near-one-hot'")
    if not 0 < rho < 1:
        raise InputError("rho", f"= {rho}", "a number between 0 and 1")
    require_at_least(1, n_heads=n_heads, d_head=d_head)
    require_at_least(0, seed=seed)
    contexts, queries = np.asarray(contexts), np.asarray(queries)
    require_examples(contexts, queries)
    rng = np.random.default_rng([seed, 1])

    def fit(block: range, combined: Float64Array) -> Fit:
        keys = contexts[[0] * len(block) if len(contexts) == 1 else list(block)]
        weights = _printed_targets(rng, keys) if targets == "printed" else near_one_hot_targets(keys, combined, rho=rho)
        logits = np.log(weights)
        logits -= logits.mean(axis=1, keepdims=True)
        # Rows of a block that fit exactly: E W_K is the table of logits, and the queries select its columns.
        inverses = np.linalg.pinv(contexts if len(contexts) == 1 else keys)
        columns = np.asarray((inverses @ logits[:, :, None])[:, :, 0].T, dtype=np.float64)
        return Fit(_pseudo_inverse(queries[list(block)]), columns, np.einsum("bi,bid->bd", weights, keys) - combined)

    blocks = query_blocks(len(queries), n_heads, min(contexts.shape[1], d_head))
    return grow_heads(
        contexts,
        queries,
        blocks,
        d_head=d_head,
        fit=fit,
        margin=margin,
        largest_strength=largest_strength,
        rng=rng,
    )


def grow_heads(
    contexts: Float64Array,
    queries: Float64Array,
    blocks: tuple[range, ...],
    *,
    d_head: int,
    fit: FitBlock,
    margin: float,
    largest_strength: float,
    rng: np.random.Generator,
    key_direction: Float64Array | None = None,
) -> SaturatedHeads:
    r"""Build one head after another: fit a block that differs from the earlier heads, and freeze the earlier examples.

    With the mixed inputs $A$ of the earlier examples and $R'$ of the block, in the earlier heads, and
    $C = R' A^+$, the new rows have rank $T_0 + b$ as soon as $D - C B$ has rank b, where $B$, $D$ are the new head's
    rows (Lemma Z4). For $\kappa \to \infty$ the rows of B become tokens F, whatever the fit is.

    Args:
        contexts: Keys, `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        blocks: The examples of each head.
        d_head: Columns of the maps; what a head does not need is 0.
        fit: Fits one block.
        margin: See `saturated_heads`.
        largest_strength: See `saturated_heads`.
        rng: Generator of the directions.
        key_direction: The only key direction of every fit, `[d]`, if the freezing matrix is to share it; by default
            that has a column of its own.

    Returns:
        The heads.

    Raises:
        InputError: An argument out of range.
        HypothesisError: Contexts of rank below n, or queries that violate the block condition.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Appendix B.
    """
    if not 0 < margin < 1 or not largest_strength >= 0:
        raise InputError("margin", f"= {margin}, largest_strength = {largest_strength}", "0 < margin < 1 and >= 0")
    claim = "Mahdavi, Liao, Thrampoulidis (2024), Proposition 1"
    require_examples(contexts, queries)
    _require_rank(claim, contexts)
    require_blocks(claim, queries, blocks)
    examples, dimension = queries.shape
    W_Q, W_K = np.zeros((2, len(blocks), dimension, d_head))
    strengths, separations = np.zeros(len(blocks)), np.full(len(blocks), math.inf)
    mixed, gram = np.zeros((examples, len(blocks), dimension)), np.zeros((examples, examples))
    for head, block in enumerate(blocks):
        start = block.start
        if not len(block):
            break
        if not start:
            fitted = fit(block, np.zeros((len(block), dimension)))
            maps, separations[head] = (fitted.W_Q, fitted.W_K), _smallest(fitted.rows)
        else:
            earlier = mixed[:, :head].reshape(examples, -1)
            C = combinations(earlier[:start], earlier[start : block.stop], gram=gram[:start, :start])
            frozen = freeze(contexts, queries, block, rng=rng, key_direction=key_direction)
            keys = contexts[[0] * start if len(contexts) == 1 else slice(start)]
            fitted = fit(block, C @ keys[np.arange(start), frozen.winners])
            separations[head] = _smallest(fitted.rows)
            spreads = np.ptp(_scores(keys, queries[:start], fitted.W_Q, fitted.W_K), axis=1)
            strengths[head] = min(
                largest_strength,
                sufficient_strength(
                    frozen.gaps,
                    spreads,
                    n_ctx=contexts.shape[1],
                    largest_token=float(np.linalg.norm(contexts, axis=2).max()),
                    combination=float(np.linalg.norm(C, 2)),
                    separation=float(separations[head]),
                    margin=margin,
                ),
            )
            maps = _with_freezing(fitted, frozen, float(strengths[head]), merge=key_direction is not None)
        columns = maps[0].shape[1]
        W_Q[head, :, :columns], W_K[head, :, :columns] = maps
        mixed[:, head] = mixed_inputs(contexts, queries, W_Q[head : head + 1], W_K[head : head + 1])[:, 0]
        gram += multiply(mixed[:, head], mixed[:, head].T)
    return SaturatedHeads(W_Q, W_K, blocks, strengths, separations)


def freeze(
    contexts: Float64Array,
    queries: Float64Array,
    block: range,
    *,
    rng: np.random.Generator,
    key_direction: Float64Array | None = None,
) -> Freezing:
    r"""Return directions $v$, $w$ such that $v w^\top$ vanishes on a block of queries and saturates all earlier
    examples.

    $w$ is drawn from the vectors orthogonal to the block, and the draw kept for which the smallest
    $|\langle w, e_t \rangle|$ is largest. For a shared context $E v = (1, 0, \dots, 0, -1)$; else v is drawn too.

    Args:
        contexts: Keys, `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        block: The examples to leave alone; those before are frozen.
        rng: Generator of the draws.
        key_direction: $v$, if it is given.

    Returns:
        The directions, and what they do to the earlier examples.

    Raises:
        HypothesisError: No draw tells the two largest scores of every earlier example apart.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Lemma 3.

    Example:
        >>> E, e = np.eye(3)[None], np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        >>> found = freeze(E, e, range(1, 2), rng=np.random.default_rng(0))
        >>> bool(abs(found.query_direction @ e[1]) < 1e-15), bool(found.gaps[0] > 0)
        (True, True)
    """
    earlier, n_ctx = queries[: block.start], contexts.shape[1]
    null = scipy.linalg.null_space(queries[list(block)])
    draws = null @ rng.standard_normal((null.shape[1], _DRAWS))
    draws /= np.linalg.norm(draws, axis=0)
    query_direction = draws[:, int(np.abs(earlier @ draws).min(axis=0).argmax())]
    heights = earlier @ query_direction
    keys = contexts if len(contexts) == 1 else contexts[: block.start]
    if key_direction is None and len(contexts) == 1:
        ends = np.r_[1.0, np.zeros(max(n_ctx - 2, 0)), -1.0][-n_ctx:]
        key_direction = np.asarray(np.linalg.lstsq(contexts[0], ends, rcond=None)[0], dtype=np.float64)
    candidates = rng.standard_normal((keys.shape[2], _DRAWS)) if key_direction is None else key_direction[:, None]
    best = None
    for v in candidates.T:
        values = (keys @ v) * heights[:, None]
        gaps = np.full(len(values), math.inf)
        if n_ctx > 1:
            top = np.partition(values, n_ctx - 2, axis=1)[:, -2:]
            gaps = top[:, 1] - top[:, 0]
        if best is None or gaps.min() > best.gaps.min():
            best = Freezing(v, query_direction, values.argmax(axis=1), gaps)
    if best is None or not best.gaps.min() > 0:
        raise HypothesisError("Lemma 3", "tokens with different scores", f"no draw separates those before {block}")
    return best


def sufficient_strength(
    gaps: Float64Array,
    spreads: Float64Array,
    *,
    n_ctx: int,
    largest_token: float,
    combination: float,
    separation: float,
    margin: float,
) -> float:
    r"""Return a $\kappa$ for which freezing costs at most a share of the separation, by Weyl's inequality.

    $$ \kappa = \max\Bigl(0,\; \max_t \frac{1}{g_t} \Bigl( G_t
       + \log \frac{2 M (n - 1) \sqrt{T_0}\, \lVert C \rVert_2}{\mu s} \Bigr) \Bigr) $$

    Since $\lVert \theta_t - 1_i \rVert_1 = 2 (1 - \theta_{t,i}) \le 2 (n - 1) e^{-(\kappa g_t - G_t)}$, the frozen rows
    move by at most $M$ times that each, and $D - C B$ by at most $\lVert C \rVert_2 \sqrt{T_0}$ times the largest.

    Args:
        gaps: $g_t > 0$, `[T_0]`.
        spreads: $G_t$, the range of the scores without the freezing matrix, `[T_0]`.
        n_ctx: n.
        largest_token: M, the largest norm of a token.
        combination: $\lVert C \rVert_2$.
        separation: $s > 0$, the smallest singular value in the limit.
        margin: $\mu$.

    Returns:
        $\kappa$; 0 if there is one token or nothing is combined.

    Raises:
        HypothesisError: A gap or the separation is not positive.

    Source: Mahdavi, Liao, Thrampoulidis (2024), equation (19), made explicit.

    Example:
        >>> sufficient_strength(np.array([2.0]), np.array([1.0]), n_ctx=2, largest_token=1.0, combination=1.0,
        ...                     separation=4.0 / np.e, margin=0.5)
        1.0
    """
    if not (separation > 0 and gaps.min(initial=math.inf) > 0):
        raise HypothesisError(
            "The bound of kappa",
            "a positive separation and positive gaps",
            f"separation = {separation}, smallest gap = {gaps.min(initial=math.inf)}",
        )
    allowed = margin * separation
    cost = 2.0 * largest_token * (n_ctx - 1) * math.sqrt(len(gaps)) * combination
    if not cost > 0:
        return 0.0
    return max(0.0, float(((spreads + math.log(cost / allowed)) / gaps).max()))


def combinations(earlier: Float64Array, rows: Float64Array, *, gram: Float64Array | None = None) -> Float64Array:
    r"""Return $C = R' A^+$, which combines the parts of new rows in the span of the earlier rows.

    By a Cholesky factor of $A A^\top$ and refinement with A itself, which forgets the square of the condition number as
    long as it converges; where it does not, by an orthogonal factorization.

    Args:
        earlier: $A$, `[T_0, P]`, of rank $T_0$.
        rows: $R'$, `[b, P]`.
        gram: $A A^\top$, if it is known.

    Returns:
        `[b, T_0]`.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, chapter 21.

    Example:
        >>> combinations(np.array([[2.0, 0.0]]), np.array([[1.0, 7.0]])).round(12).tolist()
        [[0.5]]
    """
    coefficients = np.zeros((len(rows), len(earlier)))
    try:
        factor = cholesky(multiply(earlier, earlier.T) if gram is None else gram.copy())
    except np.linalg.LinAlgError:
        return _by_orthogonal_factors(earlier, rows)
    for _ in range(_REFINEMENTS):
        correction = scipy.linalg.cho_solve((factor.T, False), earlier @ (rows - coefficients @ earlier).T).T
        coefficients += correction
        if np.linalg.norm(correction) <= _CONVERGED * np.linalg.norm(coefficients):
            return coefficients
    return _by_orthogonal_factors(earlier, rows)


def near_one_hot_targets(keys: Float64Array, combined: Float64Array, *, rho: float) -> Float64Array:
    r"""Return attention weights $(1 - \rho) 1_i + \rho / n$, with the token that makes each row differ most.

    Args:
        keys: $E^{(t)}$ of the block, `[b, n, d]`.
        combined: $c_t$, `[b, d]`.
        rho: Weight spread over all tokens.

    Returns:
        `[b, n]`: the row $\theta_t E^{(t)} - c_t$ has the largest distance from the span of those before.

    Example:
        >>> near_one_hot_targets(np.eye(2)[None], np.array([[1.0, 0.0]]), rho=0.5).tolist()
        [[0.25, 0.75]]
    """
    n_ctx = keys.shape[1]
    choices = (1.0 - rho) * np.eye(n_ctx) + rho / n_ctx
    return choices[farthest(choices @ keys - combined[:, None])]


def farthest(candidates: Float64Array) -> Int64Array:
    """Return, for each row, the choice farthest from the span of the earlier choices.

    Args:
        candidates: `[b, choices, d]`.

    Returns:
        `[b]`.

    Example:
        >>> farthest(np.array([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 2.0]]])).tolist()
        [1, 0]
    """
    basis, chosen = np.zeros((0, candidates.shape[2])), []
    for options in candidates:
        left = options - (options @ basis.T) @ basis
        left -= (left @ basis.T) @ basis  # twice is enough (Kahan)
        distances = np.linalg.norm(left, axis=1)
        chosen.append(int(distances.argmax()))
        if distances.max() > 0:
            basis = np.vstack([basis, left[chosen[-1]] / distances.max()])
    return np.array(chosen)


def _by_orthogonal_factors(earlier: Float64Array, rows: Float64Array) -> Float64Array:
    Q, R = np.linalg.qr(earlier.T)
    return scipy.linalg.solve_triangular(R, Q.T @ rows.T).T


def _printed_targets(rng: np.random.Generator, keys: Float64Array) -> Float64Array:
    """Draw targets in the open simplex; almost surely their rows are independent."""
    weights = rng.dirichlet(np.full(keys.shape[1], _DIRICHLET), size=len(keys)) + _LEAST_WEIGHT
    return weights / weights.sum(axis=1, keepdims=True)


def _with_freezing(made: Fit, frozen: Freezing, strength: float, *, merge: bool) -> tuple[Float64Array, Float64Array]:
    w, v = frozen.query_direction, frozen.key_direction
    if merge:
        return made.W_Q + strength * w[:, None], made.W_K
    root = math.sqrt(strength)
    return np.column_stack([made.W_Q, root * w]), np.column_stack([made.W_K, root * v])


def _scores(keys: Float64Array, queries: Float64Array, W_Q: Float64Array, W_K: Float64Array) -> Float64Array:
    return ((keys @ W_K) @ (queries @ W_Q)[:, :, None])[:, :, 0]


def _pseudo_inverse(matrix: Float64Array) -> Float64Array:
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)


def _smallest(rows: Float64Array) -> float:
    """Return the smallest singular value, 0 for more rows than columns."""
    return float(np.linalg.svd(rows, compute_uv=False).min()) if len(rows) <= rows.shape[1] else 0.0


def _require_rank(claim: str, contexts: Float64Array) -> None:
    ranks = np.linalg.matrix_rank(contexts)
    if ranks.min() < contexts.shape[1]:
        t = int(ranks.argmin())
        raise HypothesisError(
            claim, "contexts of rank n", f"context {t} has rank {ranks[t]} of {contexts.shape[1]} in floating point"
        )
