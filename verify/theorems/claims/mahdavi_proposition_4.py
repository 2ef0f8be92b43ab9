r"""Proposition 4 of Mahdavi et al.: one layer of uniform attention makes equal queries independent.

Page: docs/claims/mixing_layer.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.model.exact_network import as_rationals
from constructions.numeric.arrays import Int64Array
from constructions.saturated_layers.mixing_layer import MixingLayer, equal_means, equal_queries, mixing_layer
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.attended_tokens import (
    context_ranks,
    queries_and_ranks,
    queries_are_equal,
    queries_plus_means,
)
from verify.theorems.evidence.theorems import OUTPUT_RANK
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.proposition-4",
    title="One mixing layer makes Assumption 1 true",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 4",
    kind="statement",
    quotation=(
        "Proposition 4. [lost] Assumption 3 assumes that the input data as a whole is sufficiently distinctive "
        "across different examples. [...] Proposition 4 establishes that under the given assumptions (specifically, "
        "Asm. 3 in conjunction with Asm. 2), the application of a trivial Self-Attention layer results in the "
        "fulfillment of Assumption 1 at the output of the Attention layer, all while preserving Assumption 2."
    ),
    printed=(
        ""
        "Under Assumptions 2 and 3 there are weights of one self-attention layer with a skip connection after which "
        "Assumptions 1 and 2 hold. Assumption 3 is a more relaxed one than Assumption 2."
    ),
    reading=(
        "The copy at hand lacks the formulas: what is printed is reconstructed, and not judged. The proof has a "
        "single head with the identity for its value and output maps, so that values as wide as the stream may be "
        "part of the statement."
    ),
    judgement="not-legible",
    truth=(
        "Proved here: what is reconstructed is true if [[wide: H d_v >= d]], which the identity as a sum of the W_V "
        "W_O needs. Queries that are all equal stay in a space of dimension [[space: 1 + H d_v]], whatever the "
        "weights: for [[narrow: H d_v <= n - 2]] no layer makes Assumption 1 true. Assumption 3 does not follow from "
        "Assumption 2, nor from Assumptions 1 and 2."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/mixing_layer.md",
)

_REPAIRS = ((5, 2, 2, 1, 2), (6, 3, 3, 3, 1), (8, 3, 4, 2, 2), (8, 4, 6, 3, 4))  # T, n, d, H, d_v


_REPAIRS_LARGE = ((20, 3, 6, 2, 3), (12, 5, 8, 4, 2))


_NARROW = ((4, 3, 4, 1, 1), (6, 4, 5, 2, 1), (6, 5, 5, 1, 3))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for examples, n_ctx, d_model, n_heads, d_value in _NARROW:
        contexts = equal_queries(examples=examples, n_ctx=n_ctx, d_model=d_model)
        yield _too_narrow(contexts, n_heads=n_heads, d_value=d_value)
    yield _third_is_not_implied(equal_means())
    for examples, n_ctx, d_model, n_heads, d_value in _REPAIRS + (_REPAIRS_LARGE if full else ()):
        contexts = equal_queries(examples=examples, n_ctx=n_ctx, d_model=d_model)
        yield _mixed(contexts, mixing_layer(d_model=d_model, n_heads=n_heads, d_value=d_value))


def _too_narrow(contexts: Int64Array, *, n_heads: int, d_value: int) -> Evidence:
    """Outputs are the query plus vectors of the row space of W_O, of dimension H d_v: the Kruskal rank is no larger."""
    examples, n_ctx, d_model = contexts.shape
    ranks = context_ranks(contexts)
    third = kruskal_rank(queries_plus_means(contexts)).lower
    queries = as_rationals(contexts[:, 0]).rank()
    added = OUTPUT_RANK.at(n_heads=n_heads, d_value=d_value, d_inner=d_model)
    most = queries + added.value
    return Evidence(
        "boundary",
        f"{examples} contexts of n = {n_ctx} tokens in R^{d_model} with equal queries, all of rank n, and Assumption 3 "
        f"with Kruskal rank >= {third}: a layer with H = {n_heads}, d_v = {d_value}",
        f"queries of Kruskal rank >= {n_ctx} after some layer",
        f"rank <= {queries} + H d_v = {most} of all queries together",
        Method("exact ranks", Means.EXACT),
        proved(queries_are_equal(contexts) and ranks == {n_ctx} and third >= n_ctx > most and examples >= n_ctx),
        {"contexts": contexts.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(added, "<", n_ctx - queries),
            Comparison(most, "=", stated(CLAIM, "space", H=n_heads, d_v=d_value)),
            *met(CLAIM, "narrow", H=n_heads, d_v=d_value, n=n_ctx),
            *failed(CLAIM, "wide", H=n_heads, d_v=d_value, d=d_model),
        ),
    )


def _third_is_not_implied(contexts: Int64Array) -> Evidence:
    examples, n_ctx, d_model = contexts.shape
    first, third = kruskal_rank(contexts[:, 0]).lower, kruskal_rank(queries_plus_means(contexts)).upper
    ranks = context_ranks(contexts)
    return Evidence(
        "boundary",
        f"{examples} contexts of n = {n_ctx} tokens in R^{d_model}, of rank {min(ranks)}, with queries of Kruskal rank "
        f"{first}",
        "Assumption 3 is more relaxed than Assumption 2",
        f"the queries plus the means have Kruskal rank <= {third} < n = {n_ctx}",
        Method("exact ranks", Means.EXACT),
        proved(first >= n_ctx and ranks == {n_ctx} and third < n_ctx),
        {"contexts": contexts.tolist()},
    )


def _mixed(contexts: Int64Array, layer: MixingLayer) -> Evidence:
    examples, n_ctx, d_model = contexts.shape
    n_heads, d_value = layer.W_V.shape[0], layer.W_V.shape[2]
    before, third = kruskal_rank(contexts[:, 0]).upper, kruskal_rank(queries_plus_means(contexts)).lower
    queries, ranks = queries_and_ranks(contexts, np.zeros((n_heads, d_model, d_model), np.int64), layer.W_V, layer.W_O)
    after = kruskal_rank(queries).lower
    assumption_holds = third >= n_ctx and context_ranks(contexts) == {n_ctx}
    fits = layer.W_V.shape == (n_heads, d_model, d_value) and layer.W_O.shape == (n_heads, d_value, d_model)
    return Evidence(
        "ours",
        f"{examples} contexts of n = {n_ctx} tokens in R^{d_model} with equal queries (Kruskal rank {before}), one "
        f"layer with H = {n_heads}, d_v = {d_value}, W_Q = W_K = 0",
        f"Assumptions 1 and 2 after the layer: Kruskal rank >= {n_ctx}, contexts of rank {n_ctx}",
        f"queries of Kruskal rank >= {after}, contexts of rank {min(ranks)}",
        Method("exact rationals", Means.EXACT),
        proved(assumption_holds and queries_are_equal(contexts) and fits and after >= n_ctx and ranks == {n_ctx}),
        {"W_V": layer.W_V.tolist(), "W_O": layer.W_O.tolist()},
        compared=(
            Comparison(OUTPUT_RANK.at(n_heads=n_heads, d_value=d_value, d_inner=d_model), "=", d_model),
            *met(CLAIM, "wide", H=n_heads, d_v=d_value, d=d_model),
        ),
    )
