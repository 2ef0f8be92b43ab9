r"""Definition 1 of Dana et al.: sequence encoders, with the shape of W that makes the product exist.

Page: docs/claims/sequence_encoder.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.numeric.arrays import Int64Array
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.verdict import decided

CLAIM = Claim(
    id="dana.definition-1",
    title="What a sequence encoder is",
    source="Dana, Pydi, Chevaleyre (2024), Definition 1",
    kind="statement",
    quotation=(
        r"Definition 1. Let $\mathcal{L}(N, S, d) = \{f_{W,E}|W \in \mathbb{R}^{d,N}, E : [N]^S \to \mathbb{R}^d\}$ "
        r"with $f_{W,E}(t_{1:S}) = WE(t_{1:S})$ the set of maps that embed token sequence and unembed them into "
        r"logits."
    ),
    printed=(
        "L(N, S, d) is the set of the maps f(t) := W E(t) with W in R^{d,N}, a matrix of [[printed: N]] columns, and E "
        "from [N]^S to R^d."
    ),
    reading=(
        "As it stands: a matrix of N columns cannot be applied to a vector of d entries. That the transpose is meant "
        "is plain."
    ),
    judgement="slip",
    truth=(
        "W is in R^{N,d}, with [[columns: d]] columns, each for an entry of E(t), and rows, each for a logit. The "
        "logits of T contexts are then the matrices of rank at most d: the largest rank is [[rank: min(N, T, d)]], and "
        "every matrix of so small a rank is W E for some W and E."
    ),
    wrong="the shape given for W is that of its transpose",
    page="docs/claims/sequence_encoder.md",
)

_SIZES = ((5, 7, 2), (3, 6, 4), (6, 2, 3), (4, 9, 4), (2, 5, 1))  # N, T, d


_SIZES_FULL = ((30, 40, 8), (12, 50, 20))


def evidence(*, full: bool) -> Iterator[Evidence]:
    generator = np.random.default_rng(31)
    for d_vocab, contexts, d_model in _SIZES + (_SIZES_FULL if full else ()):
        W = generator.integers(-9, 10, (d_vocab, d_model))
        E = generator.integers(-9, 10, (d_model, contexts))
        if d_vocab != d_model:
            yield _no_product(W.T, E)
        yield _ranks(W, E)


def _no_product(printed: Int64Array, E: Int64Array) -> Evidence:
    """A matrix `[d, N]` and the columns E(t), `[d, T]`: there is no product W E(t) unless N = d."""
    (d_model, d_vocab), contexts = printed.shape, E.shape[1]
    try:
        _ = fmpz_mat(printed.tolist()) * fmpz_mat(E.tolist())
        exists = True
    except ValueError:
        exists = False
    return Evidence(
        "constant",
        f"N = {d_vocab}, d = {d_model}, {contexts} contexts: a matrix W of {d_model} rows and {d_vocab} columns has no "
        f"product with vectors of {d_model} entries",
        "logits W E(t)",
        "no product",
        Method("counting rows and columns", Means.EXACT),
        decided(not exists and len(E) == d_model),
        compared=(
            Comparison(d_vocab, "=", stated(CLAIM, "printed", N=d_vocab)),
            Comparison(len(E), "=", stated(CLAIM, "columns", d=d_model)),
        ),
    )


def _ranks(W: Int64Array, E: Int64Array) -> Evidence:
    """The logits of W `[N, d]` and E `[d, T]` have the largest rank, and are a product again if only they are given."""
    (d_vocab, d_model), contexts = W.shape, E.shape[1]
    logits = fmpz_mat(W.tolist()) * fmpz_mat(E.tolist())
    reduced, denominator, rank = logits.rref()
    rows = [row for row in reduced.tolist() if any(row)]
    pivots = [next(j for j, entry in enumerate(row) if entry) for row in rows]
    # The pivot columns times the reduced rows give the matrix: an encoder of its own rank, from the logits alone.
    table = logits.tolist()
    columns = fmpz_mat([[row[j] for j in pivots] for row in table])
    again = columns * fmpz_mat([[int(entry) for entry in row] for row in rows])
    return Evidence(
        "reached",
        f"N = {d_vocab}, d = {d_model}, {contexts} contexts: the integer logits W E of a W of {d_model} columns "
        "have the "
        "largest rank, and are the product of their pivot columns and their reduced rows",
        "rank min(N, T, d), and no more than d",
        f"rank {rank}; the product of {len(pivots)} columns and rows gives the logits again",
        Method("exact integers", Means.EXACT),
        decided(again == logits * denominator and len(pivots) == rank),
        compared=(
            Comparison(rank, "=", stated(CLAIM, "rank", N=d_vocab, T=contexts, d=d_model)),
            Comparison(W.shape[1], "=", stated(CLAIM, "columns", d=d_model)),
        ),
    )
