r"""The assumptions of Mahdavi et al. on data: what is decidable, what the proof needs, and data that tell them apart.

Page: docs/claims/assumptions.md
"""

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from constructions.attention.capacity.promised_ranks import fewest_heads
from constructions.numeric.arrays import Float64Array
from constructions.saturated_layers.dependent_examples import (
    absorbing_mean,
    coinciding_means,
    dominant_direction,
    hidden_relation,
)
from constructions.saturated_layers.single_direction_heads import single_direction_heads
from verify.linear_algebra.exact_rows import decide_independence
from verify.linear_algebra.numerical_rank import numerical_ranks
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, failed, met, stated
from verify.theorems.evidence.theorems import BLOCKS
from verify.theorems.evidence.unread_heads import mixed_inputs_are_independent
from verify.theorems.saturated_layers.block_certificate import consecutive_blocks, find_blocks
from verify.theorems.saturated_layers.context_rank import certify_context_ranks
from verify.theorems.saturated_layers.general_position import certify_shifted
from verify.theorems.saturated_layers.kruskal_rank import certify_subsets
from verify.theorems.saturated_layers.sampled_subsets import sample_subsets
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="mahdavi.assumptions",
    title="The assumptions on queries and contexts, and how they are tested",
    source="Mahdavi, Liao, Thrampoulidis (2024), Assumptions 1 to 3 and Section 5.1",
    kind="remark",
    quotation=(
        "Assumption 1. The set of all query vectors has Kruskal Rank at least [lost] . Assumption 2. For each "
        "example [lost], the context matrix has rank [...] Notably, the commonly made assumption of General Position "
        "fails in all cases [...] this is a more relaxed assumption compared to Assumption 2."
    ),
    printed=(
        ""
        "Assumption 1 (any n queries independent) and Assumption 2 (each context of rank n) are satisfied by real data "
        "after one attention layer, as nearly all of [[sampled: 5000]] random subsets of n queries have rank n; "
        "General Position fails; Assumption 3 ([[third: k >= n]] for the Kruskal rank k of query plus mean token) is "
        "the more relaxed one, and gives Assumption 1 after a layer."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "All are decided exactly on given floats where [[few: T <= d]], where few subsets exist, or where a relation "
        "is found; random subsets only bound the share of dependent ones. The proof needs less than Assumption 1, the "
        "block condition, which is decided in polynomial time. Assumptions 1 and 2 imply Assumption 3 for almost all "
        "contexts, not for all; for a shared context if and only if minus its mean is in the affine hull of no n "
        "queries. Ranks below d in float32 do not show that General Position fails."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/assumptions.md",
)

_EXACT = "exact arithmetic: independence modulo a prime, relations in integers"


_SHARE = 2.0**-20


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _one_and_two_without_three(
        np.array([[[1.0, 0, 0], [-3, 0, 1]], [[0, 1, 0], [0, -3, 1]]]), np.eye(2, 3), "the smallest instance"
    )
    for sizes in ((6, 3, 4), (10, 4, 6), *(((20, 5, 8),) if full else ())):
        examples, n_ctx, d_model = sizes
        contexts, queries = coinciding_means(examples=examples, n_ctx=n_ctx, d_model=d_model)
        yield _one_and_two_without_three(contexts, queries, "random integers with coinciding sums")
    yield _sampling_misses(examples=100 if full else 60, size=4, d_model=8)
    for d_model in (16, 24, *((48,) if full else ())):
        yield _full_rank_below_a_tolerance(d_model)
    yield _almost_all_contexts(trials=40 if full else 10)
    yield _affine_hulls(trials=40 if full else 10)
    for examples, n_ctx, d_model in ((22, 4, 6), *(((57, 8, 16), (113, 8, 16)) if full else ())):
        yield _blocks_are_enough(examples, n_ctx, d_model)
    yield _an_order_is_found(lines=12 if full else 6)


def _one_and_two_without_three(contexts: Float64Array, queries: Float64Array, what: str) -> Evidence:
    n_ctx = contexts.shape[1]
    first = certify_subsets(queries, min(n_ctx, len(queries)))
    second = certify_context_ranks(contexts)
    third = certify_shifted(contexts, queries, min(n_ctx, len(queries)))
    small = contexts.size <= 60
    return Evidence(
        "boundary",
        f"{what}, T = {len(queries)}, n = {n_ctx}, d = {queries.shape[1]}: any {first.size} queries are independent, "
        f"every context has rank {n_ctx}, and {third.size} of query + mean token are dependent",
        "Assumption 3 is the more relaxed one",
        f"1 {first.verdict.value}, 2 {second.verdict.value}, 3 {third.verdict.value}",
        Method(_EXACT, Means.EXACT, Means.MODULAR),
        proved(
            first.verdict is Verdict.PROVED and second.verdict is Verdict.PROVED and third.verdict is Verdict.REFUTED
        ),
        {
            "relation": [] if third.relation is None else list(third.relation.rows),
            **({"contexts": contexts.tolist(), "queries": queries.tolist()} if small else {}),
        },
        compared=(
            # A dependent subset of so many is more than the Kruskal rank.
            *failed(CLAIM, "third", k=len(third.relation.rows) - 1 if third.relation else n_ctx, n=n_ctx),
            *(met(CLAIM, "few", T=len(queries), d=queries.shape[1]) if small and len(queries) == 2 else ()),
        ),
    )


def _sampling_misses(*, examples: int, size: int, d_model: int) -> Evidence:
    queries, _ = hidden_relation(examples=examples, size=size, d_model=d_model)
    sample = sample_subsets(queries, size, samples=5000)
    certificate = certify_subsets(queries, size)
    rows = () if certificate.relation is None else certificate.relation.rows
    return Evidence(
        "boundary",
        f"{examples} queries of dimension {d_model}: {sample.samples - sample.dependent} of {sample.samples} random "
        f"subsets of {size} have rank {size}, and a subset of {len(rows)} is dependent, of {math.comb(examples, size)}",
        f"Kruskal rank >= {size}",
        f"Kruskal rank < {size}: rows {', '.join(map(str, rows))}",
        Method(f"{_EXACT}; random subsets judged exactly", Means.EXACT, Means.MODULAR),
        proved(certificate.verdict is Verdict.REFUTED and sample.dependent == 0),
        {"share_upper": sample.share_upper, "confidence": sample.confidence},
        compared=(Comparison(sample.samples, "=", stated(CLAIM, "sampled")),),
    )


def _full_rank_below_a_tolerance(d_model: int) -> Evidence:
    vectors = dominant_direction(examples=d_model + 2, d_model=d_model, share=_SHARE)
    certificate = certify_subsets(vectors, d_model)
    ranks = numerical_ranks(vectors)
    return Evidence(
        "boundary",
        f"{d_model + 2} vectors of dimension {d_model} within {_SHARE * 8} of one direction: any {d_model} are "
        "independent, "
        f"so they are in General Position; NumPy's tolerance sees rank {ranks.float64} in float64 and {ranks.float32} "
        "in float32",
        f"rank < {d_model} in float32: General Position fails",
        f"every {d_model} independent",
        Method(_EXACT, Means.EXACT, Means.MODULAR),
        proved(certificate.verdict is Verdict.PROVED and ranks.float32 < d_model == ranks.exact_lower),
        {"spread": ranks.spread},
    )


def _almost_all_contexts(*, trials: int) -> Evidence:
    good = 0
    rng = np.random.default_rng(15)
    for _ in range(trials):
        queries = hidden_relation(examples=9, size=4, d_model=6, seed=int(rng.integers(2**31)))[0][:-1]
        contexts = rng.integers(-99, 100, (len(queries), 4, 6)).astype(np.float64)
        good += (
            certify_subsets(queries, 4).verdict is Verdict.PROVED
            and certify_context_ranks(contexts).verdict is Verdict.PROVED
            and certify_shifted(contexts, queries, 4).verdict is Verdict.PROVED
        )
    return Evidence(
        "ours",
        f"{trials} random integer examples with T = 8, n = 4, d = 6 that satisfy Assumptions 1 and 2 satisfy 3",
        "1 and 2 imply 3 for almost all contexts",
        f"{good} of {trials}",
        Method(_EXACT, Means.EXACT, Means.MODULAR),
        decided(good == trials),
    )


def _affine_hulls(*, trials: int) -> Evidence:
    """Both directions of the criterion for shared contexts, on planted and on random ones."""
    good = 0
    for seed in range(trials):
        contexts, queries = absorbing_mean(examples=6, n_ctx=3, d_model=5, seed=seed)
        moved = contexts.copy()
        moved[0, 0] += np.random.default_rng([seed, 16]).integers(-9, 10, 5)
        for keys, expected in ((contexts, Verdict.REFUTED), (moved, None)):
            first = certify_subsets(queries, 3).verdict
            third = certify_shifted(keys, queries, 3).verdict
            inside = _mean_in_a_hull(keys[0], queries)
            agree = (third is Verdict.REFUTED) if inside else (third is Verdict.PROVED)
            good += first is Verdict.PROVED and agree and expected in (None, third)
    return Evidence(
        "ours",
        f"{2 * trials} shared contexts with T = 6, n = 3, d = 5, half of them planted: Assumption 3 holds if and only "
        "if minus the mean token is in the affine hull of no 3 queries",
        "the criterion for shared contexts",
        f"{good} of {2 * trials}",
        Method(_EXACT, Means.EXACT, Means.MODULAR),
        decided(good == 2 * trials),
    )


def _mean_in_a_hull(context: Float64Array, queries: Float64Array) -> bool:
    """Decide exactly whether minus the mean of the context is an affine combination of some n queries.

    With a coordinate 1 appended to the queries and -m, that is linear dependence.
    """
    n_ctx = len(context)
    point = np.append(-context.sum(axis=0), n_ctx)
    lifted = np.column_stack([queries, np.ones(len(queries))])
    return any(
        decide_independence(np.vstack([lifted[list(chosen)], point])).verdict is Verdict.REFUTED
        for chosen in combinations(range(len(queries)), n_ctx)
    )


def _blocks_are_enough(examples: int, n_ctx: int, d_model: int) -> Evidence:
    """A hidden relation that no block meets: Assumption 1 is refuted, and the heads are built all the same."""
    queries, rows = hidden_relation(examples=examples, size=n_ctx, d_model=d_model, seed=1)
    n_heads = fewest_heads(examples, n_ctx) or 0
    rng = np.random.default_rng(17)
    contexts = rng.uniform(size=(examples, n_ctx, d_model))
    first = decide_independence(queries, rows)
    blocks = BLOCKS.at("verdict", queries=queries, blocks=consecutive_blocks(examples, n_ctx))
    # A power of two changes no relation, and keeps the scores small.
    ranked = _rank_certified(contexts, queries / 128.0, n_heads)
    return Evidence(
        "ours",
        f"T = {examples} queries, n = {n_ctx}, d = {d_model}, of Kruskal rank below {n_ctx} with the block condition: "
        f"{n_heads} heads with d_h = 1 give {examples} independent mixed inputs",
        f"T = {examples} examples on {n_heads} heads without Assumption 1",
        f"block condition {blocks.value.value}, rank Z = {examples if ranked else 'unknown'}",
        Method(f"{_EXACT}; enclosures of the attention", Means.EXACT, Means.MODULAR, Means.ENCLOSURES),
        proved(first.verdict is Verdict.REFUTED and ranked),
        compared=(Comparison(blocks, "=", Verdict.PROVED),),
    )


def _rank_certified(contexts: Float64Array, queries: Float64Array, n_heads: int) -> bool:
    heads = single_direction_heads(contexts, queries, n_heads=n_heads)
    return mixed_inputs_are_independent(heads, contexts, queries).verdict is Verdict.PROVED


def _an_order_is_found(*, lines: int) -> Evidence:
    """Three queries in a plane, several times: the given order fails, a found one is certified."""
    rng = np.random.default_rng(18)
    pairs = rng.integers(-9, 10, (lines, 2, 6)).astype(np.float64)
    queries = np.concatenate([pairs.reshape(-1, 6), pairs.sum(axis=1)])
    n_ctx, examples = 4, 3 * lines
    # The third vector of each plane first, so that a later block holds the other two.
    queries = queries[::-1].copy()
    n_heads = (fewest_heads(examples, n_ctx) or 0) + 1
    kruskal = certify_subsets(queries, 3)
    certificate = find_blocks(queries, n_heads=n_heads, size=n_ctx)
    reordered = [t for block in certificate.blocks for t in block] != list(range(examples))
    return Evidence(
        "ours",
        f"{lines} planes with three of {examples} queries in each, n = {n_ctx}: Kruskal rank below 3, the given order "
        f"violates the block condition, and another order on {n_heads} heads satisfies it",
        "a block condition in some order",
        f"{certificate.verdict.value}: {certificate.method}",
        Method(_EXACT, Means.EXACT, Means.MODULAR),
        proved(kruskal.verdict is Verdict.REFUTED and certificate.verdict is Verdict.PROVED and reordered),
        {"order": [list(block) for block in certificate.blocks]},
    )
