r"""The open question of Appendix I of Mahdavi et al.: what general position of all tokens makes possible.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from constructions.saturated_layers.generic_contexts import IntegerLayer, generic_layer
from constructions.saturated_layers.layer_readout import layer_with_read_out
from constructions.saturated_layers.random_heads import random_heads
from constructions.saturated_layers.uniform_examples import labelled
from verify.theorems.capacity.exact_rank import exact_mixed_rank
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.memorized_labels import memorized_labels
from verify.theorems.evidence.theorems import MIXED_RANK
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.appendix-i",
    title="The rank on generic contexts",
    source="Mahdavi, Liao, Thrampoulidis (2024), Appendix I",
    kind="remark",
    quotation=(
        "However, whether stronger assumptions can maintain dependence on [lost] instead of [lost] (i.e., give "
        "memorization lower bound [lost] instead of [lost]) is still an open question for future work. [...] We "
        "conjecture that a bound with [lost] complexity would hold, which could be interesting for future works."
    ),
    printed=(
        "Open: whether stronger assumptions than Assumptions 1 and 2, such as general position of all tokens, give a "
        "rank of Z that grows like H d instead of H n. Conjectured from experiments."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: they do, for almost all contexts of [[tokens: n >= 2]] tokens and almost all weights, rank Z is "
        "min(T, [[largest: H d]]), for every [[width: d >= 1]], every [[head: d_h >= 1]] and any nonzero queries: all "
        "of them may be equal, and be a token of the context. With [[single: n = 1]] the rank is d at most."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)

_SIZES = ((2, 1, 6), (2, 2, 5), (2, 3, 4), (3, 3, 7), (4, 5, 6), (5, 8, 8))  # n, d, H


_SIZES_LARGE = ((8, 16, 16), (3, 24, 12))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_ctx, d_model, n_heads in _SIZES + (_SIZES_LARGE if full else ()):
        for same_query in (True, False):
            layer = generic_layer(
                examples=n_heads * d_model + 2, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, same_query=same_query
            )
            yield _full(layer, same_query=same_query)
    wide = generic_layer(examples=20, n_ctx=3, d_model=4, n_heads=5, d_head=3)
    yield _full(wide)
    yield _full(_inside(wide), inside=True)
    yield _full(generic_layer(examples=9, n_ctx=1, d_model=4, n_heads=3))
    yield _memorized(n_heads=8, n_ctx=4, d_model=8)
    if full:
        yield _memorized(n_heads=16, n_ctx=8, d_model=16)


def _inside(layer: IntegerLayer) -> IntegerLayer:
    contexts = layer.contexts.copy()
    contexts[:, 0] = layer.queries
    return replace(layer, contexts=contexts)


def _full(layer: IntegerLayer, *, same_query: bool = True, inside: bool = False) -> Evidence:
    examples, n_ctx, d_model = layer.contexts.shape
    n_heads = len(layer.W_Q)
    bound = min(examples, n_heads * d_model if n_ctx > 1 else d_model)
    all_of_it = n_ctx > 1 and examples >= bound == n_heads * d_model
    ceiling = MIXED_RANK.at(contexts=layer.contexts, n_heads=n_heads, n_examples=examples)
    rank = exact_mixed_rank(layer.contexts, layer.queries, layer.W_Q, layer.W_K)
    as_said = not same_query or bool((layer.queries == layer.queries[0]).all())
    as_said &= not inside or bool((layer.contexts[:, 0] == layer.queries).all())
    which = "equal queries" if same_query else "random queries"
    if inside:
        which += " that are the first token of every context"
    return Evidence(
        "ours",
        f"{examples} contexts of n = {n_ctx} tokens in R^{d_model}, {which}, H = {n_heads}, d_h = {layer.W_Q.shape[2]}",
        f"rank Z = {'min(T, H d)' if n_ctx > 1 else 'min(T, d)'} = {bound}",
        f"rank Z >= {rank.lower} for these, <= {ceiling.value}",
        Method(f"rank over GF({rank.prime})", Means.MODULAR),
        proved(as_said),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(ceiling, "=", bound),
            Comparison(rank.lower, "=", bound),
            *met(
                CLAIM, "tokens" if n_ctx > 1 else "single", "width", "head", n=n_ctx, d=d_model, d_h=layer.W_Q.shape[2]
            ),
            *((Comparison(rank.lower, "=", stated(CLAIM, "largest", H=n_heads, d=d_model)),) if all_of_it else ()),
        ),
    )


def _memorized(*, n_heads: int, n_ctx: int, d_model: int) -> Evidence:
    """As many labels as H d in float64, with one query for all: Assumption 1 plays no part."""
    rng = np.random.default_rng(13)
    examples = n_heads * d_model
    contexts, queries = rng.uniform(size=(examples, n_ctx, d_model)), np.full((examples, d_model), 0.5)
    task = labelled(contexts, queries)
    maps = random_heads(contexts, queries, n_heads=n_heads, d_head=d_model, deviation=5.0)
    layer = layer_with_read_out(task, *maps, d_value=1, d_inner=1)
    certified = memorized_labels(layer, task)
    return Evidence(
        "ours",
        f"Float64 weights for {examples} uniform contexts of n = {n_ctx} tokens in R^{d_model} with the same query, "
        f"H = {n_heads}",
        f"{examples} = H d labels memorized; printed, under Assumptions 1 and 2: {n_heads * (n_ctx - 1) + 1}",
        f"{certified.certified}; rank Z = {examples}" if certified.memorized else "not all labels certified",
        Method(certified.method, Means.ENCLOSURES),
        proved(certified.memorized),
        {"sha256": layer.sha256()},
    )
