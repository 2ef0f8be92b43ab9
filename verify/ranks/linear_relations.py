"""Bound the rank of attention features from above for all weights, using only the contexts.

Pages: docs/claims/closed_forms.md, docs/claims/capacity.md, docs/claims/heads_of_any_width.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from flint import fmpz_mat

from constructions.errors import InputError, require_at_least
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts


@dataclass(frozen=True)
class RankCeiling:
    r"""A proof that no weights reach a larger rank.

    Args:
        rank: The bound: contexts outside the subset, plus what the subset allows.
        name: What limits the subset: ``"U1"`` (differences), ``"U1'"`` (inputs), ``"U2"`` (linear relations of
            indicators), ``"columns"`` or ``"contexts"``.
        differences: $\ell$, the rank of $e_{t_s} - e_{t_S} + f_s - f_S$ over the subset.
        inputs: $q$, the rank of $e_{t_s} + f_s$ over the subset.
        relations: Linear relations between the indicators of the subset, class by class:
            $\sum_c |U_c| - \rho_c$.
    """

    rank: int
    name: str
    differences: int
    inputs: int
    relations: int


def rank_upper_bound_for_all_weights(
    contexts: Int64Array,
    *,
    subset: Sequence[int] | None = None,
    d_model: int,
    d_head: int,
    n_heads: int,
    with_skip: bool,
) -> RankCeiling:
    r"""Bound the rank of $[x_S \mid Y]$, or of Y alone, for every choice of all weights.

    For the contexts $U$ of the subset, with $j$ different last tokens, the rank on $U$ is at most

    - $|U|$, and the number of columns;
    - U1: $\min(d, j) + H \min(d, d_h, \ell)$;
    - U1', for Y alone: $(H - 1) \min(d, d_h, \ell) + \min(d, q)$;
    - U2: $j + H \sum_c (\rho_c - 1)$ over the last tokens $c$, $\rho_c$ the rank of the indicator vectors of the pairs
      $(s, t_s)$ in the contexts that end with $c$.

    The other contexts add one each at most. All ranks are FLINT's ranks of integer matrices that are written down from
    the contexts; embeddings enter only as linear images of the formal vectors $e_n$, $f_s$, attention weights only by
    being positive multiples, the same for all contexts with one last token, of what the pair $(s, t_s)$ allows.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        subset: Row numbers of $U$; all contexts by default.
        d_model: Width of the residual stream, $d$.
        d_head: Width of a head, $d_h$.
        n_heads: Number of heads, $H$.
        with_skip: Whether $x_S$ belongs to the features.

    Returns:
        The smallest of the bounds.

    Raises:
        InputError: Contexts that are not distinct rows of tokens, a subset that is none, or sizes that fit no model.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> found = rank_upper_bound_for_all_weights(xor, d_model=4, d_head=4, n_heads=1, with_skip=True)
        >>> found.rank, found.name, found.relations
        (3, 'U2', 1)
    """
    rows = list(map(tuple, checked_contexts(contexts, distinct=True).tolist()))
    if d_model < 1 or d_head < 1 or n_heads < 0:
        raise InputError(
            "d_model", f"= {d_model}, d_head = {d_head}, n_heads = {n_heads}", "at least 1, at least 1, at least 0"
        )
    chosen = range(len(rows)) if subset is None else [int(row) for row in subset]
    if len(set(chosen)) != len(chosen) or not all(0 <= row < len(rows) for row in chosen):
        raise InputError("subset", f"= {list(chosen)}", f"different row numbers below {len(rows)}")
    inside = [rows[row] for row in chosen]
    classes: dict[int, list[tuple[int, ...]]] = {}
    for context in inside:
        classes.setdefault(context[-1], []).append(context)
    indicator_ranks = [_rank(indicator_vectors(members)) for members in classes.values()]
    differences = _rank(_formal_differences(inside))
    inputs = _rank(_formal_inputs(inside))

    per_head = min(d_model, d_head, differences)
    last_tokens = len(classes)
    bounds = {
        "contexts": len(inside),
        "columns": n_heads * d_head + (d_model if with_skip else 0),
        "U1": min(d_model, last_tokens) + n_heads * per_head,
        "U2": last_tokens + n_heads * sum(rank - 1 for rank in indicator_ranks),
    }
    if not with_skip and n_heads > 0:
        bounds["U1'"] = (n_heads - 1) * per_head + min(d_model, inputs)
    name = min(bounds, key=lambda key: bounds[key])
    return RankCeiling(
        rank=len(rows) - len(inside) + bounds[name],
        name=name,
        differences=differences,
        inputs=inputs,
        relations=len(inside) - sum(indicator_ranks),
    )


def indicator_relation(contexts: Int64Array, *, n_heads: int = 1) -> list[int] | None:
    r"""Return integers $k_t$, not all 0, with $\sum_t k_t M_H(t) = 0$ for contexts with one last token.

    $M_H(t)$ are the products of at most $H$ indicators of the pairs $(s, t_s)$, $s < S$. Let $w_t > 0$ be the product
    of the denominators of the attention of $H$ heads. Then $\sum_t k_t w_t = 0$ and $\sum_t k_t w_t z_t = 0$ for their
    logits, whatever the weights; for one head the same holds for what it mixes.

    Args:
        contexts: Pairwise distinct contexts with the same last token, `[T, S]`.
        n_heads: $H$, at least 0.

    Returns:
        The integers, without a common divisor, or `None` if the vectors are linearly independent.

    Raises:
        InputError: Contexts that are not distinct rows of tokens, or have different last tokens; a negative number of
            heads.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> indicator_relation(xor), indicator_relation(xor, n_heads=2)
        ([1, 1, -1, -1], None)
    """
    rows = list(map(tuple, checked_contexts(contexts, distinct=True).tolist()))
    require_at_least(0, n_heads=n_heads)
    if len({context[-1] for context in rows}) != 1:
        raise InputError("contexts", "has different last tokens", "one: their attention shares no variables")
    kernel, dimension = fmpz_mat(indicator_vectors(rows, n_heads=n_heads)).transpose().nullspace()
    if dimension == 0:
        return None
    relation = [int(kernel[i, 0]) for i in range(len(rows))]
    divisor = int(np.gcd.reduce(np.array(relation, dtype=object)))
    sign = 1 if next(k for k in relation if k) > 0 else -1
    return [sign * k // divisor for k in relation]


def indicator_vectors(rows: Sequence[Sequence[int]], *, n_heads: int = 1) -> list[list[int]]:
    r"""Return the vectors $M_H(t)$ of contexts: their products of at most $H$ indicators of pairs, 0 or 1.

    Products that occur in no context are omitted.

    Args:
        rows: Tokens, `[T, S]`.
        n_heads: $H$.

    Returns:
        `[T, products that occur]`.

    Example:
        >>> indicator_vectors([[0, 5], [1, 5]])
        [[1, 1, 0], [1, 0, 1]]
    """
    products = [set(indicator_products(context, n_heads)) for context in rows]
    occurring = sorted(set().union(*products))
    return [[int(product in present) for product in occurring] for present in products]


def indicator_products(context: Sequence[int], n_heads: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the products of at most $H$ indicators of pairs that equal 1 at a context: its pairs $(s, t_s)$, $s < S$.

    Example:
        >>> list(indicator_products([3, 1, 0], 1))
        [(), ((0, 3),), ((1, 1),)]
    """
    pairs = list(enumerate(context[:-1]))
    for factors in range(min(n_heads, len(pairs)) + 1):
        yield from combinations(pairs, factors)


def _formal_inputs(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the different vectors e_{t_s} + f_s."""
    number = {token: i for i, token in enumerate(sorted({token for context in rows for token in context}))}
    vectors = []
    for s, token in sorted({pair for context in rows for pair in enumerate(context)}):
        vector = [0] * (len(number) + len(rows[0]))
        vector[number[token]] += 1
        vector[len(number) + s] += 1
        vectors.append(vector)
    return vectors


def _formal_differences(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the different vectors e_{t_s} - e_{t_S} + f_s - f_S, s < S."""
    number = {token: i for i, token in enumerate(sorted({token for context in rows for token in context}))}
    vectors = []
    for s, token, last in sorted({(s, token, context[-1]) for context in rows for s, token in enumerate(context[:-1])}):
        vector = [0] * (len(number) + len(rows[0]))
        vector[number[token]] += 1
        vector[number[last]] -= 1
        vector[len(number) + s] += 1
        vector[-1] -= 1
        vectors.append(vector)
    return vectors


def _rank(vectors: list[list[int]]) -> int:
    return fmpz_mat(vectors).rank() if vectors else 0
