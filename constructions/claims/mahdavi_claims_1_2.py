r"""Claims 1 and 2 of Mahdavi et al.: one head fits r examples, or r - 1 while it freezes all others.

Page: docs/claims/saturated_heads.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat

from constructions.arrays import Int64Array
from constructions.claims.claim import Claim
from constructions.claims.mahdavi_lemmas_1_5 import SaturatingMatrix, exact_saturating_matrix
from constructions.errors import HypothesisError
from constructions.models.exact_network import as_rationals
from constructions.saturated.query_blocks import require_blocks


@dataclass(frozen=True, eq=False)
class ExactHead:
    r"""What one head needs to fit a block with any attention weights, in rationals.

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
        """Columns of the query map, the freezing one included."""
        return self.W_Q.ncols() + (self.freezing is not None)


def exact_head(contexts: Int64Array, queries: Int64Array, *, fitted: int, seed: int = 0) -> ExactHead:
    r"""A head for the last `fitted` examples that freezes all earlier ones, in rationals: Claims 1 and 2.

    Args:
        contexts: Integer keys, `[T, n, d]`, those of the block of rank n.
        queries: Integer queries, `[T, d]`.
        fitted: How many examples are fitted.
        seed: Of the freezing directions.

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


CLAIM = Claim(
    id="mahdavi.claims-1-2",
    title="One head fits r examples, or r - 1 and freezes the rest",
    source="Mahdavi, Liao, Thrampoulidis (2024), Claims 1 and 2",
    printed=(
        ""
        "1: under Assumptions 1 and 2, a head of width r gives any attention weights to r examples. 2: a head of width "
        "r gives any attention weights to r - 1 examples, and to all others weights within any epsilon of fixed ones."
    ),
    judgement="holds",
    truth=(
        "Both hold for weights in the open simplex, which softmax never leaves. 1 needs independent queries among the "
        "r fitted only; 2 needs that no other query is in the span of the r - 1 fitted, in place of Kruskal rank n; "
        "only the fitted contexts have to be of rank n, the frozen ones just need distinct tokens."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
)
