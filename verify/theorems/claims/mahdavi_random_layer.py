r"""Section 4.4 of Mahdavi et al.: whether one random attention layer makes Assumptions 1 and 2 true.

Page: docs/claims/mixing_layer.md
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from constructions.numeric.arrays import Int64Array
from constructions.saturated_layers.mixing_layer import equal_queries
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.attended_tokens import (
    context_ranks,
    queries_and_ranks,
    queries_are_equal,
    queries_plus_means,
)
from verify.theorems.evidence.theorems import OUTPUT_RANK
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import decided, proved

CLAIM = Claim(
    id="mahdavi.random-layer",
    title="One random layer before the memory",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4.4",
    kind="remark",
    quotation=(
        "after a single (even randomly initialized and fixed) Self-Attention layer, we establish that Assumptions 2 "
        "and 1 are satisfied."
    ),
    printed=(
        "After an attention layer with a skip connection, even randomly initialized and fixed, Assumptions 1 "
        "and 2 are satisfied."
    ),
    reading=(
        "The copy at hand lacks the formulas: what is printed is reconstructed, and not judged. The conditions are "
        "those of Proposition 4, which are not legible."
    ),
    judgement="not-legible",
    truth=(
        "Proved here: they are for almost all weights if Assumptions 2 and 3 hold before and [[wide: H d_v >= d]]: "
        "an analytic function that does not vanish for the weights of Proposition 4 vanishes for almost none. "
        "Without Assumption 3 a layer may not help: examples of the same tokens have the same query after it, of "
        "Kruskal rank [[rank: one]]. With [[narrow: H d_v < d]] equal queries are confined to [[space: H d_v + 1]] "
        "dimensions."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/mixing_layer.md",
)

_LAYERS = ((4, 2, 2, 1, 2), (5, 2, 3, 2, 2), (5, 3, 3, 3, 1))  # T, n, d, H, d_v


_LAYERS_FULL = ((7, 3, 4, 2, 2), (8, 2, 4, 4, 1))


@dataclass(frozen=True, eq=False)
class RandomLayer:
    """Integer maps of a self-attention layer with skip connection; scores are in units of log 2.

    Args:
        scores: $W_Q W_K^T$ of each head, `[H, d, d]`.
        W_V: Value maps, `[H, d, d_v]`.
        W_O: Output maps, `[H, d_v, d]`.
    """

    scores: Int64Array
    W_V: Int64Array
    W_O: Int64Array


def evidence(*, full: bool) -> Iterator[Evidence]:
    for examples, n_ctx, d_model, n_heads, d_value in _LAYERS:
        yield _same_examples(
            equal_queries(examples=examples, n_ctx=n_ctx, d_model=d_model),
            random_layer(d_model=d_model, n_heads=n_heads, d_value=d_value),
        )
    for n_ctx, d_model in ((3, 4), (4, 6)):
        yield _too_narrow(equal_queries(examples=n_ctx + 1, n_ctx=n_ctx, d_model=d_model))
    for examples, n_ctx, d_model, n_heads, d_value in _LAYERS + (_LAYERS_FULL if full else ()):
        yield _satisfied(
            equal_queries(examples=examples, n_ctx=n_ctx, d_model=d_model),
            random_layer(d_model=d_model, n_heads=n_heads, d_value=d_value),
        )


def random_layer(*, d_model: int, n_heads: int, d_value: int, seed: int = 0) -> RandomLayer:
    """Draw the maps of a layer: scores of -1, 0 and 1, values and outputs up to 9."""
    generator = np.random.default_rng([seed, d_model, n_heads, d_value])
    return RandomLayer(
        generator.integers(-1, 2, (n_heads, d_model, d_model)),
        generator.integers(-9, 10, (n_heads, d_model, d_value)),
        generator.integers(-9, 10, (n_heads, d_value, d_model)),
    )


def _same_examples(contexts: Int64Array, layer: RandomLayer) -> Evidence:
    """The first example once more at the end: no layer tells equal tokens apart."""
    twice = np.concatenate([contexts, contexts[:1]])
    n_ctx = contexts.shape[1]
    queries, _ = queries_and_ranks(twice, layer.scores, layer.W_V, layer.W_O)
    rows, kruskal = queries.tolist(), kruskal_rank(queries)
    return Evidence(
        "boundary",
        f"{len(twice)} contexts of n = {n_ctx} tokens in R^{contexts.shape[2]}, two of them equal, and a random "
        f"integer layer with H = {len(layer.scores)}: the queries after it",
        f"Assumption 1: Kruskal rank >= {n_ctx}",
        f"two equal queries: Kruskal rank <= {kruskal.upper}",
        Method("exact rationals", Means.EXACT),
        decided(rows[0] == rows[-1] and context_ranks(twice) == {n_ctx}),
        {"contexts": twice.tolist()},
        compared=(Comparison(kruskal.upper, "<", n_ctx), Comparison(kruskal.upper, "=", stated(CLAIM, "rank"))),
    )


def _too_narrow(contexts: Int64Array) -> Evidence:
    """One head of width 1 adds multiples of one vector to equal queries."""
    examples, n_ctx, d_model = contexts.shape
    added = OUTPUT_RANK.at(n_heads=1, d_value=1, d_inner=d_model)
    independent = context_ranks(contexts) == {n_ctx}
    return Evidence(
        "boundary",
        f"{examples} contexts of n = {n_ctx} tokens in R^{d_model} with equal queries, all of rank n: a layer with H = "
        "1, d_v = 1",
        f"Assumption 1: Kruskal rank >= {n_ctx}",
        f"rank <= 1 + {added.value} of the queries together",
        Method("exact ranks", Means.EXACT),
        proved(queries_are_equal(contexts) and independent and examples >= n_ctx),
        {"contexts": contexts.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(added, "<", n_ctx - 1),
            Comparison(1 + added.value, "=", stated(CLAIM, "space", H=1, d_v=1)),
            *met(CLAIM, "narrow", H=1, d_v=1, d=d_model),
        ),
    )


def _satisfied(contexts: Int64Array, layer: RandomLayer) -> Evidence:
    examples, n_ctx, d_model = contexts.shape
    n_heads, _, d_value = layer.W_V.shape
    third = kruskal_rank(queries_plus_means(contexts)).lower
    queries, ranks = queries_and_ranks(contexts, layer.scores, layer.W_V, layer.W_O)
    after = kruskal_rank(queries).lower
    return Evidence(
        "ours",
        f"{examples} contexts of n = {n_ctx} tokens in R^{d_model} with equal queries, Assumptions 2 and 3, and a "
        f"random integer layer with H = {n_heads}, d_v = {d_value}",
        f"Assumptions 1 and 2 after it: Kruskal rank >= {n_ctx}, contexts of rank {n_ctx}",
        f"Kruskal rank >= {after}, contexts of rank {min(ranks)}",
        Method("exact rationals", Means.EXACT),
        proved(third >= n_ctx and context_ranks(contexts) == {n_ctx} and ranks == {n_ctx}),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(after, ">=", n_ctx),
            Comparison(OUTPUT_RANK.at(n_heads=n_heads, d_value=d_value, d_inner=d_model), "=", d_model),
            *met(CLAIM, "wide", H=n_heads, d_v=d_value, d=d_model),
        ),
    )
