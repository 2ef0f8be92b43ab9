r"""Remark 1 of Mahdavi et al.: what is left when the queries have a Kruskal rank below n.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from flint import fmpq_mat

from constructions.numeric.arrays import Int64Array
from constructions.saturated_layers.generic_contexts import integer_heads
from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.saturated_layers.shared_context import confined_queries, line_queries, one_direction_layer
from verify.theorems.capacity.exact_rank import exact_mixed_inputs, exact_mixed_rank
from verify.theorems.capacity.two_token_rank import two_token_rank
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.largest_rank import largest_rank
from verify.theorems.evidence.theorems import TWO_TOKENS
from verify.theorems.evidence.unread_heads import mixed_inputs_are_independent, of_size_one
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import Verdict, proved

CLAIM = Claim(
    id="mahdavi.remark-1",
    title="Queries of a Kruskal rank below n",
    source="Mahdavi, Liao, Thrampoulidis (2024), Remark 1",
    kind="statement",
    quotation="the result of Remark 1 still yields an acceptable lower bound.",
    printed=(
        "If the queries have Kruskal rank k only, [[low: k < n]], there are weights with rank Z of at least "
        "min(T, [[printed: H (min(k, d_h) - 1) + 1]])."
    ),
    reading=(
        "The copy at hand lacks the formulas: what is printed is reconstructed, and not judged. Remark 1 is "
        "mentioned in appendix J, and is not in the copy."
    ),
    judgement="not-legible",
    truth=(
        "Proved here: what is reconstructed is true. On a shared context it is far from sharp: if some direction "
        "tells all queries apart, with one sign, rank Z is min(T, [[shared: H (n - 1) + 1]]) for almost all weights, "
        "for [[parallel: k = 1]] too and every [[widths: d_h >= 1]]. For [[pair: n = 2]] the largest rank is "
        "[[largest: min(H + 1, g)]], g the rank of a constant column beside the signs of the queries e at the "
        "classes of e and -e: a query and its negative are harmless, more such are not."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)

QUERY_SETS: dict[str, list[list[int]]] = {
    "three independent": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "parallel": [[1, 0, 0], [2, 0, 0], [3, 0, 0], [5, 0, 0]],
    "one pair e, -e": [[1, 0, 0], [-1, 0, 0], [0, 1, 0]],
    "two pairs e, -e": [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]],
    "one query 0": [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
    "a pair e, -e and the query 0": [[1, 0, 0], [-1, 0, 0], [0, 0, 0], [0, 1, 0]],
    "one repeated": [[1, 0, 0], [1, 0, 0], [0, 1, 0]],
    "parallel with both signs": [[1, 0, 0], [2, 0, 0], [-3, 0, 0], [5, 0, 0], [0, 1, 0]],
    "two pairs on one line": [[1, 0, 0], [-1, 0, 0], [2, 0, 0], [-2, 0, 0], [1, 1, 0]],
}


_HEADS = (1, 2, 3, 4, 5, 6)


_CONFINED = ((6, 8, 4, 2), (6, 8, 4, 3), (4, 6, 3, 1))  # n, d, H, k


_SIGNED = ((3, 3, 2), (3, 4, 5), (4, 4, 3))  # n, d, H


_CONFINED_LARGE = ((8, 12, 10, 4), (6, 8, 12, 3))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_ctx, d_model, n_heads, kruskal in _CONFINED + (_CONFINED_LARGE if full else ()):
        for shared in (True, False):
            yield _as_printed(n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, kruskal=kruskal, shared=shared)
        yield _beyond(n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, kruskal=kruskal)
    for n_ctx, d_model, n_heads in _SIGNED:
        yield _both_signs(n_ctx=n_ctx, d_model=d_model, n_heads=n_heads)
    for name, queries in QUERY_SETS.items():
        yield _two_tokens(name, np.array(queries))
    yield _proportional()


def _queries(examples: int, d_model: int, kruskal: int) -> Int64Array:
    return line_queries(examples, d_model) if kruskal == 1 else confined_queries(examples, d_model, kruskal)


def _as_printed(*, n_ctx: int, d_model: int, n_heads: int, kruskal: int, shared: bool) -> Evidence:
    """The saturated heads of Proposition 1 with min(k, d_h) in place of r."""
    promised = n_heads * (kruskal - 1) + 1
    exact = _queries(promised, d_model, kruskal) if promised > kruskal else np.eye(promised, d_model, dtype=np.int64)
    queries = of_size_one(exact)
    contexts = np.random.default_rng([n_ctx, d_model]).uniform(size=(1 if shared else promised, n_ctx, d_model))
    heads = saturated_heads(contexts, queries, n_heads=n_heads, d_head=kruskal)
    proof = mixed_inputs_are_independent(heads, contexts, queries)
    measured = kruskal_rank(queries)
    as_said = heads.W_Q.shape == heads.W_K.shape == (n_heads, d_model, kruskal) and kruskal < n_ctx
    return Evidence(
        "ours",
        f"{promised} queries of Kruskal rank {measured.lower} in R^{d_model}, "
        f"{'one context' if shared else 'contexts'} of n = {n_ctx} tokens, saturated heads with "
        f"H = {n_heads}, d_h = {kruskal}",
        f"rank Z >= H (k - 1) + 1 = {promised}",
        f"rank Z = {promised}" if proof.verdict is Verdict.PROVED else "nothing",
        Method(proof.method, Means.ENCLOSURES),
        proved(proof.verdict is Verdict.PROVED and as_said and measured.lower == min(kruskal, promised)),
        compared=(
            Comparison(promised, "=", stated(CLAIM, "printed", H=n_heads, k=kruskal, d_h=kruskal)),
            *met(CLAIM, "low", k=measured.lower, n=n_ctx),
        ),
    )


def _beyond(*, n_ctx: int, d_model: int, n_heads: int, kruskal: int) -> Evidence:
    context = np.random.default_rng([n_ctx, d_model, 1]).integers(-5, 6, (n_ctx, d_model))
    examples = n_heads * (n_ctx - 1) + 3
    queries = _queries(examples, d_model, kruskal)
    layer = one_direction_layer(context, queries, n_heads=n_heads)
    measured = kruskal_rank(layer.queries)
    piece = largest_rank(
        "ours",
        f"{examples} queries of Kruskal rank {measured.lower} on one context of n = {n_ctx} tokens in R^{d_model}, "
        f"H = {len(layer.W_Q)}, d_h = {layer.W_Q.shape[2]}",
        f"rank Z = H (n - 1) + 1 = {n_heads * (n_ctx - 1) + 1}; printed: >= {n_heads * (min(kruskal, 1) - 1) + 1} for "
        f"d_h = 1, >= {n_heads * (kruskal - 1) + 1} for d_h >= k",
        "rank Z >= {reached} for integer weights, <= {ceiling}",
        layer=layer,
        largest=stated(CLAIM, "shared", H=n_heads, n=n_ctx),
        as_said=measured.lower == measured.upper == kruskal,
    )
    conditions = ("widths", "parallel") if kruskal == 1 else ("widths",)
    sizes = {"k": measured.lower, "d_h": layer.W_Q.shape[2]}
    return replace(piece, compared=(*piece.compared, *met(CLAIM, *conditions, **sizes)))


def _both_signs(*, n_ctx: int, d_model: int, n_heads: int) -> Evidence:
    """Queries on a line through 0, on both sides of it and at 0: no direction is positive on all of them."""
    examples = n_heads * (n_ctx - 1) + 1
    context = np.eye(n_ctx, d_model, dtype=np.int64)[None]
    queries = (np.arange(examples) - examples // 2)[:, None] * np.ones(d_model, dtype=np.int64)
    W_Q, W_K = integer_heads(n_heads=n_heads, d_model=d_model)
    rank = exact_mixed_rank(context, queries, W_Q, W_K)
    distinct = len(np.unique(queries, axis=0)) == examples and W_Q.shape == (n_heads, d_model, 1)
    return Evidence(
        "ours",
        f"{examples} distinct queries on a line through 0, with both signs and 0, on one context of n = {n_ctx} >= 3 "
        f"tokens in R^{d_model}, H = {n_heads}, d_h = 1",
        f"rank Z >= min(T, H + 1) = {min(examples, n_heads + 1)}",
        f"rank Z >= {rank.lower} for integer weights",
        Method(f"rank over GF({rank.prime})", Means.MODULAR),
        proved(distinct and n_ctx >= 3 and rank.lower >= min(examples, n_heads + 1)),
    )


def _two_tokens(name: str, queries: Int64Array) -> Evidence:
    """On two tokens, for every number of heads: no weights have more than the formula, and some have as much."""
    context = np.eye(2, 3, dtype=np.int64)
    rank = two_token_rank(context, queries)
    reached = []
    holding = True
    for n_heads in _HEADS:
        W_Q, W_K = integer_heads(n_heads=n_heads, d_model=3, d_head=3, seed=n_heads)
        reached.append(exact_mixed_rank(context[None], queries, W_Q, W_K).lower)
        small = W_K % 7 - 3  # the relations hold for all weights, so for these, whose numbers are short
        mixed = exact_mixed_inputs(context[None], queries, W_Q, small)
        for relation in rank.relations:
            holding &= not any((fmpq_mat(1, len(relation), list(relation)) * mixed).entries())
    ceilings = [TWO_TOKENS.at(context=context, queries=queries, n_heads=n_heads) for n_heads in _HEADS]
    most = [ceiling.value for ceiling in ceilings]
    return Evidence(
        "ours",
        f"{len(queries)} queries on two tokens, {name}, H = {_HEADS[0]} .. {_HEADS[-1]}",
        f"largest rank of Z = min(H + 1, rank G) = {', '.join(map(str, most))}",
        f"<= {', '.join(map(str, most))}, >= {', '.join(map(str, reached))} for integer weights; "
        f"{len(rank.relations)} relations",
        Method("exact relations, and ranks over a prime field", Means.EXACT, Means.MODULAR),
        proved(holding and rank.limit + len(rank.relations) == len(queries)),
        {"queries": queries.tolist(), "relations": [list(relation) for relation in rank.relations]},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            *(Comparison(low, "=", high) for low, high in zip(reached, ceilings, strict=True)),
            *(
                Comparison(high, "=", stated(CLAIM, "largest", H=n_heads, g=rank.limit))
                for high, n_heads in zip(ceilings, _HEADS, strict=True)
            ),
            *met(CLAIM, "pair", n=len(context)),
        ),
    )


def _proportional() -> Evidence:
    r"""Context E / c with the query c e: the same scores for all weights, and mixed inputs that are proportional."""
    first, second, factor = np.array([[2, 4, 0], [6, 2, 2]]), np.array([[1, 2, 0], [3, 1, 1]]), 2
    queries = np.array([[1, 1, 0], [2, 2, 0]])
    scaled = bool((first == factor * second).all() and (queries[1] == factor * queries[0]).all())
    W_Q, W_K = integer_heads(n_heads=3, d_model=3, d_head=2)
    rank = exact_mixed_inputs(np.array([first, second]), queries, W_Q, W_K % 7 - 3).rank()
    return Evidence(
        "ours",
        "Kruskal rank 1 on contexts that differ can leave rank 1: two parallel queries, contexts scaled the other way",
        "rank Z >= 1",
        f"rank Z <= 1, as z_2 = z_1 / {factor}; with H = 3 integer heads it is {rank}",
        Method("exact integers", Means.EXACT),
        proved(scaled and rank == 1 and kruskal_rank(queries).upper == 1),
        {"contexts": [first.tolist(), second.tolist()], "queries": queries.tolist()},
    )
