r"""Lemmas 1 to 5 of Mahdavi et al.: block rank, mean shift, saturating matrix, saturation, Weyl.

Page: docs/claims/saturated_heads.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat

from constructions.arrays import Int64Array
from constructions.claims.claim import Claim
from constructions.errors import HypothesisError, InputError

_DRAWS = 200


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
    r"""Integers v, w such that $v w^\top$ vanishes on the last queries and separates all scores of the others: Lemma 3.

    w is a random integer combination of a basis of the integers orthogonal to the killed queries, v is random. For
    every other example the n numbers $(E^{(t)} v)_i \langle w, e_t \rangle$ are distinct.

    Args:
        contexts: Integer keys, `[T, n, d]`, with distinct tokens.
        queries: Integer queries, `[T, d]`, no earlier one in the span of the last `killed`.
        killed: How many of the last queries are to vanish.
        seed: Of the draws.

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
        raise InputError(f"contexts {contexts.shape}, queries {queries.shape}, killed = {killed}: they do not fit")
    examples, width = queries.shape
    kept, rng = examples - killed, np.random.default_rng(seed)
    basis, nullity = fmpz_mat(killed, width, queries[kept:].ravel().tolist()).nullspace()
    columns = np.array(basis.tolist(), dtype=object).reshape(width, -1)[:, :nullity]
    for _ in range(_DRAWS):
        w = columns @ np.array([int(x) for x in rng.integers(-9, 10, nullity)], dtype=object).reshape(-1)
        w = np.zeros(width, dtype=object) if not nullity else w
        v = np.array([int(x) for x in rng.integers(-99, 100, width)], dtype=object)
        heights = [sum(a * b for a, b in zip(w.tolist(), e, strict=True)) for e in queries[:kept].tolist()]
        values = [(contexts[t].astype(object) @ v).tolist() for t in range(kept)]
        if all(heights) and all(len(set(row)) == len(row) for row in values):
            return SaturatingMatrix(tuple(map(int, v)), tuple(map(int, w)))
    raise HypothesisError(
        "Mahdavi, Liao, Thrampoulidis (2024), Lemma 3",
        "distinct tokens, and no earlier query in the span of the killed ones",
        f"no draw of {_DRAWS} separates the tokens of the {kept} earlier examples",
    )


CLAIM = Claim(
    id="mahdavi.lemmas-1-5",
    title="Five lemmas on ranks and saturation",
    source="Mahdavi, Liao, Thrampoulidis (2024), Lemmas 1 to 5",
    printed=(
        ""
        "1: rank [[A, B], [0, D]] >= rank A + rank D. 2: independent x_i stay independent when (1/n) sum_j x_j is "
        "added to each. 3: some V of rank one has V e_t = 0 on r - 1 queries and scores E V e_t that are distinct on "
        "all others. 4: softmax(kappa E V e) tends to the one-hot vector of the largest score. 5: rank (A + B) >= rank "
        "A if the smallest nonzero singular value of A is above the largest of B."
    ),
    judgement="holds",
    truth=(
        "All hold. 2: the shift has determinant 2. 3 needs only that no other query is in the span of the r - 1, and 4 "
        "only a unique largest score; the distance is then at most 2 (n - 1) exp(-kappa g) for a gap g. 5 needs the "
        "strict inequality: A = I, B = -I."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
)
