r"""Appendix A.1 of Dana et al.: the determinant at the end of the proof of Lemma 2.

Page: docs/claims/lemma_2_steps.md
"""

from collections.abc import Iterator
from math import gcd

import numpy as np
from flint import fmpz_mat

from verify.theorems.capacity.counting_matrix import counted_sequences, counting_matrix
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import COUNTING_MATRIX
from verify.verdict import decided

CLAIM = Claim(
    id="dana.lemma-2-determinant",
    title="The determinant in the proof of Lemma 2",
    source="Dana, Pydi, Chevaleyre (2024), appendix A.1",
    kind="statement",
    quotation=(
        r"where N_i^n is the number of permutation of a sequence containing $n^k - \mathbb{1}_{i=k \cap i_{\max}(t) "
        r"\neq k}$ times the indice k and starting with indice i. [...] The matrix $\mathcal{N}X(t)$ has non-zero "
        r"determinant by property of Lemma 3, so the system's only solution is for $v_t = 0$."
    ),
    printed=(
        "Each of the d rows of N counts, by their first index, the sequences that hold each index but m as often as a "
        "power says, with a base of its own for each row. The square matrix N X(t) has a nonzero determinant by the "
        "property of Lemma 3, so v_t N X(t) vanishes only if v_t does."
    ),
    reading=(
        "Of the definition of N in the sentence before, for every S and d, as Lemma 2 has them. For S > d and "
        "algebraically independent embeddings the determinant does not vanish."
    ),
    judgement="false",
    truth=(
        "The column of m is the sum of the others, up to factors of the rows. So for [[two: S >= 2]] the rank of N is "
        "[[rank: min(d, S - 1)]], and the determinant vanishes for all embeddings if [[short: S <= d]]. It does not "
        "for [[long: S > d]] and algebraically independent embeddings. With the signs of equation (11), which the "
        "definition of N leaves out, what follows for [[short: S <= d]] is only that v_t is orthogonal to the x(t, i) "
        "- x(t, m)."
    ),
    wrong=(
        "for S = d = 2, and whenever S <= d, the determinant is 0 for all embeddings; true for S > d and "
        "algebraically independent embeddings"
    ),
    page="docs/claims/lemma_2_steps.md",
)

_VANISHING = ((2, 2), (2, 3), (3, 3), (3, 5), (4, 4))  # S, d


_NONZERO = ((2, 1), (3, 2), (4, 3), (6, 3))


_NONZERO_FULL = ((5, 4), (7, 5))


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _counts(3 if full else 2)
    for n_ctx, d_model in _VANISHING:
        yield _vanishes(n_ctx, d_model)
    for n_ctx, d_model in _NONZERO + (_NONZERO_FULL if full else ()):
        yield _nonzero(n_ctx, d_model)


def _counts(most: int) -> Evidence:
    """The rows of the matrix are those of the source, up to a factor of each row."""
    equal = []
    for n in range(2, most + 2):
        for n_ctx in (2, 3):
            for largest in range(1, n_ctx + 1):
                counted = [counted_sequences(n, n_ctx=n_ctx, largest=largest, first=i + 1) for i in range(n_ctx)]
                matrix = counting_matrix(n_ctx=n_ctx, d_model=n - 1, largest=largest).tolist()
                row = [int(entry) for entry in matrix[n - 2]]
                equal.append([x // gcd(*counted) for x in counted] == [x // gcd(*row) for x in row])
    return Evidence(
        "claim",
        f"{len(equal)} rows for n = 2, ..., {most + 1} and S = 2, 3: as many sequences begin with each index as the "
        "row says, up to a factor",
        "the numbers N_{n,i} of the source",
        f"proportional in {sum(equal)} of {len(equal)} rows",
        Method("multinomial coefficients", Means.EXACT),
        decided(all(equal) and len(equal) >= 10),
    )


def _vanishes(n_ctx: int, d_model: int) -> Evidence:
    ranks = [COUNTING_MATRIX.at(n_ctx=n_ctx, d_model=d_model, largest=m) for m in range(1, n_ctx + 1)]
    matrix = counting_matrix(n_ctx=n_ctx, d_model=d_model, largest=1)
    embedded = np.random.default_rng([n_ctx, d_model]).integers(-99, 100, (n_ctx, d_model))
    determinant = int((matrix * fmpz_mat(embedded.tolist())).det())
    return Evidence(
        "counterexample",
        f"S = {n_ctx}, d = {d_model}: the determinant of the square matrix N X(t) is 0",
        "a nonzero determinant",
        f"rank N X(t) <= {max(rank.value for rank in ranks)} < d = {d_model}; for integers drawn at random "
        f"{determinant}",
        Method("exact rank of the integers of N", Means.EXACT),
        decided(determinant == 0),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(
            one
            for rank in ranks
            for one in (
                Comparison(rank, "<", d_model),
                Comparison(rank.value, "=", stated(CLAIM, "rank", d=d_model, S=n_ctx)),
                *met(CLAIM, "two", "short", d=d_model, S=n_ctx),
            )
        ),
    )


def _nonzero(n_ctx: int, d_model: int) -> Evidence:
    """One choice of embeddings with a nonzero determinant: it is a nonzero polynomial with integer coefficients."""
    embedded = fmpz_mat(np.random.default_rng([n_ctx, d_model]).integers(-99, 100, (n_ctx, d_model)).tolist())
    matrices = [counting_matrix(n_ctx=n_ctx, d_model=d_model, largest=m) for m in range(1, n_ctx + 1)]
    determinants = [int((matrix * embedded).det()) for matrix in matrices]
    return Evidence(
        "repair",
        f"S = {n_ctx}, d = {d_model}, each index m: the determinant is a polynomial in the embeddings with integer "
        "coefficients that is not 0 for integers drawn at random, so not for algebraically independent embeddings",
        "a nonzero determinant for S > d",
        f"nonzero for {sum(value != 0 for value in determinants)} of {len(determinants)} indices m",
        Method("exact integers", Means.EXACT),
        decided(all(value != 0 for value in determinants)),
        {"X": [[int(entry) for entry in row] for row in embedded.tolist()]},
        compared=(
            *(Comparison(int(matrix.rank()), "=", stated(CLAIM, "rank", d=d_model, S=n_ctx)) for matrix in matrices),
            *met(CLAIM, "two", "long", d=d_model, S=n_ctx),
        ),
    )
