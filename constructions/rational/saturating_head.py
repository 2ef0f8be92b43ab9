"""Build integer heads whose scores order the tokens as their saturation requires.

Page: docs/claims/saturated_heads.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat, fmpz_mat

from constructions.errors import HypothesisError, InputError
from constructions.model.exact_network import as_rationals
from constructions.numeric.arrays import Int64Array
from constructions.saturated_layers.query_blocks import require_blocks


@dataclass(frozen=True)
class SaturatingMatrix:
    r"""Integers v, w: the matrix $V = v w^\top$ of Lemma 3.

    Args:
        key_direction: v, d entries.
        query_direction: w, d entries.
    """

    key_direction: tuple[int, ...]
    query_direction: tuple[int, ...]


def exact_saturating_matrix(
    contexts: Int64Array, queries: Int64Array, *, killed: int, seed: int = 0
) -> SaturatingMatrix:
    r"""Return integers v, w such that $v w^\top$ vanishes on the last queries and separates all scores of the others:
    Lemma 3.

    w is a random integer combination of a basis of the integers orthogonal to the killed queries, v is random. For
    every other example the n numbers $(E^{(t)} v)_i \langle w, e_t \rangle$ are distinct.

    Args:
        contexts: Integer keys, `[T, n, d]`, with distinct tokens.
        queries: Integer queries, `[T, d]`, no earlier one in the span of the last `killed`.
        killed: How many of the last queries are to vanish.
        seed: Seed of the draws.

    Returns:
        The two vectors.

    Raises:
        InputError: Shapes that do not fit, or `killed` out of range.
        HypothesisError: No draw separates the tokens: the hypotheses do not hold.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Lemma 3.

    Example:
        >>> E = np.array([[[1, 0, 0], [0, 1, 0]]] * 2)
        >>> found = exact_saturating_matrix(E, np.array([[1, 0, 0], [0, 1, 0]]), killed=1)
        >>> found.query_direction[0] != 0, found.query_direction[1]
        (True, 0)
    """
    if queries.ndim != 2 or contexts.ndim != 3 or len(contexts) != len(queries) or not 0 <= killed <= len(queries):
        raise InputError(f"contexts {contexts.shape}, queries {queries.shape}, killed", f"= {killed}: they do not fit")
    examples, d_model = queries.shape
    kept, rng = examples - killed, np.random.default_rng(seed)
    basis, nullity = fmpz_mat(killed, d_model, queries[kept:].ravel().tolist()).nullspace()
    columns = np.array(basis.tolist(), dtype=object).reshape(d_model, -1)[:, :nullity]
    for _ in range(_DRAWS):
        w = columns @ np.array([int(x) for x in rng.integers(-9, 10, nullity)], dtype=object).reshape(-1)
        w = np.zeros(d_model, dtype=object) if not nullity else w
        v = np.array([int(x) for x in rng.integers(-99, 100, d_model)], dtype=object)
        heights = [sum(a * b for a, b in zip(w.tolist(), e, strict=True)) for e in queries[:kept].tolist()]
        values = [(contexts[t].astype(object) @ v).tolist() for t in range(kept)]
        if all(heights) and all(len(set(row)) == len(row) for row in values):
            return SaturatingMatrix(tuple(map(int, v)), tuple(map(int, w)))
    raise HypothesisError(
        "Mahdavi, Liao, Thrampoulidis (2024), Lemma 3",
        "distinct tokens, and no earlier query in the span of the killed ones",
        f"no draw of {_DRAWS} separates the tokens of the {kept} earlier examples",
    )


@dataclass(frozen=True, eq=False)
class ExactHead:
    r"""The rational parts of one head that fits any attention weights on a block.

    With $L_j = \log \theta_j$ as its logits, column j of $W_K$ is $(E^{(j)})^+ L_j$, and $W_Q$ is $Q_B^+$; the freezing
    matrix is one more column, v and $\kappa w$.

    Args:
        inverses: $(E^{(j)})^+$ of the examples of the block, each `[d, n]`: right inverses.
        W_Q: $Q_B^+$, `[d, b]`: a right inverse of the block of queries.
        freezing: v and w; `None` if there is nothing to freeze.
    """

    inverses: tuple[fmpq_mat, ...]
    W_Q: fmpq_mat
    freezing: SaturatingMatrix | None

    @property
    def width(self) -> int:
        """Columns of the query map, including the freezing column."""
        return self.W_Q.ncols() + (self.freezing is not None)


def exact_head(contexts: Int64Array, queries: Int64Array, *, fitted: int, seed: int = 0) -> ExactHead:
    r"""Return a head for the last `fitted` examples that freezes all earlier ones, in rationals: Claims 1 and 2.

    Args:
        contexts: Integer keys, `[T, n, d]`, those of the block of rank n.
        queries: Integer queries, `[T, d]`.
        fitted: How many examples are fitted.
        seed: Seed of the freezing directions.

    Returns:
        The head.

    Raises:
        HypothesisError: Dependent queries in the block, an earlier one in their span, or contexts of rank below n.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Claims 1 and 2.

    Example:
        >>> E = np.array([[[1, 0, 0], [0, 1, 0]]] * 2)
        >>> head = exact_head(E, np.array([[1, 0, 0], [0, 2, 0]]), fitted=1)
        >>> head.width, head.W_Q.entries()
        (2, [0, 1/2, 0])
    """
    claim, start = "Mahdavi, Liao, Thrampoulidis (2024), Claim 2", len(queries) - fitted
    require_blocks(claim, queries.astype(np.float64), [range(start, len(queries))])
    return ExactHead(
        inverses=tuple(_right_inverse(claim, "contexts of rank n", contexts[t]) for t in range(start, len(queries))),
        W_Q=_right_inverse(claim, "independent queries", queries[start:]),
        freezing=exact_saturating_matrix(contexts, queries, killed=fitted, seed=seed) if start else None,
    )


def _right_inverse(claim: str, hypothesis: str, matrix: Int64Array) -> fmpq_mat:
    rows = as_rationals(matrix)
    gram = rows * rows.transpose()
    if gram.det() == 0:
        raise HypothesisError(claim, hypothesis, f"a matrix of shape {matrix.shape} has rank {rows.rank()}")
    return rows.transpose() * gram.inv()


_DRAWS = 200
