"""Bound the rank of the features of given contexts, for these weights and for all weights of their sizes.

Page: docs/claims/full_rank_attention.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from verify.forward.heads import beside_last, enclose_features
from verify.ranks.linear_relations import rank_upper_bound_for_all_weights
from verify.ranks.rank_of_weights import rank_in_float64


@dataclass(frozen=True)
class AttentionRank:
    r"""Proved bounds of the rank of the features of T contexts, $Y$, or $[x_S \mid Y]$.

    Args:
        rows: T.
        columns: $H d_h$, and d more with the skip connection.
        with_skip: Whether $x_S$ is among the columns.
        lower: The rank of these weights is at least this.
        upper: No weights of these sizes have a larger one.
        reason: The reason of the upper bound, in words.
    """

    rows: int
    columns: int
    with_skip: bool
    lower: int
    upper: int
    reason: str

    @property
    def exact(self) -> bool:
        """Whether these weights are proved to have the largest rank of all weights."""
        return self.lower == self.upper


def attention_rank(
    model: Model, contexts: Int64Array, *, with_skip: bool, limiting: Sequence[int] | Int64Array | None = None
) -> AttentionRank:
    r"""Bound the rank of the features of contexts, in real arithmetic, from both sides.

    From below for the float64 weights as they are: the features are enclosed, and the set that holds them is proved to
    have full row rank, or squeezed to a neighbourhood of the identity for as many singular vectors as possible. From
    above for all weights: ranks of integer matrices that are written down from the contexts (Theorem G3).

    Args:
        model: One attention layer that reads tokens.
        contexts: Pairwise distinct contexts, `[T, S]`.
        with_skip: Whether $x_S$ belongs to the features.
        limiting: Row numbers of a set U; with $|T \setminus U|$ and the bound for U. By default all contexts. Any set
            gives a bound that is true; all contexts are tried next to it.

    Returns:
        The bounds.

    Raises:
        InputError: Contexts that are not distinct rows of tokens, or a model of another shape.
        BlasError: The BLAS of this machine fails its probes.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, from both sides.

    Example:
        >>> from constructions.attention.full_rank import full_rank_attention
        >>> import numpy as np
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> heads = full_rank_attention(xor, d_model=4, d_head=4, n_heads=1)
        >>> found = attention_rank(heads.model, xor, with_skip=False)
        >>> found.lower, found.upper, heads.promised()
        (3, 3, 4)
    """
    features = enclose_features(model, contexts)
    matrix = beside_last(model, contexts, features) if with_skip else features
    rows, columns = matrix.shape
    block = model.attention
    sizes = {"d_model": block.d_model, "d_head": block.d_head, "n_heads": block.n_heads, "with_skip": with_skip}
    ceilings = [rank_upper_bound_for_all_weights(contexts, **sizes)]
    if limiting is not None and 0 < len(limiting) < rows:
        ceilings.append(rank_upper_bound_for_all_weights(contexts, subset=list(limiting), **sizes))
    ceiling = min(ceilings, key=lambda found: found.rank)
    upper = min(ceiling.rank, rows, columns)
    lower = min(rank_in_float64(matrix)[0], upper)
    reason = f"bound {ceiling.name} of Theorem G3" if upper < min(rows, columns) else "the shape"
    return AttentionRank(rows, columns, with_skip, lower, upper, reason)
