r"""Proposition 2 of Mahdavi et al.: on a context that all examples share, Proposition 1 cannot be improved in n.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from flint import fmpq

from constructions.model.construction import Construction
from constructions.model.exact_network import as_rationals
from constructions.saturated_layers.generic_contexts import IntegerLayer
from constructions.saturated_layers.shared_context import line_queries, one_direction_layer
from constructions.saturated_layers.uniform_memory import shared_context_memory
from constructions.tasks.vectors import VectorTask
from verify.forward.heads import enclose_mixed_inputs
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.theorems.capacity.exact_rank import exact_mixed_inputs
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.largest_rank import largest_rank
from verify.theorems.evidence.theorems import MIXED_RANK
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import Verdict, proved

CLAIM = Claim(
    id="mahdavi.proposition-2",
    title="A shared context allows no more than H (n - 1) + 1",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 2",
    kind="statement",
    quotation=(
        "Proposition 2. Under the conditions of Theorem 1, if all the contexts are shared, i.e., [lost] for all "
        "[lost], then for any [lost], we have [lost]. [...] The proposition shows that the lower bound of "
        "Proposition 1 is tight when the context is shared across data points"
    ),
    printed=(
        "If all examples have the same context, rank Z is at most [[printed: H (n - 1) + 1]] for all weights: for "
        "[[wide: n <= d_h]] the bound of Proposition 1 is tight."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: what is reconstructed is true, for all widths and whatever the queries are, and is reached for "
        "every [[widths: d_h >= 1]]. The [[hull: n - 1]] is the dimension of the affine hull of the tokens, whether "
        "contexts are shared or not. It is tight for the rank, not for the number of labels: [[heads: one]] head on "
        "[[tokens: two]] tokens holds any labels of [[examples: three]] examples with independent queries."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
    hypotheses=conditions("H, n, d_h >= 1", "n <= d", "seed >= 0"),
    parameters={"n_heads": 8, "n_ctx": 8, "d_model": 16, "d_head": 8, "seed": 0},
    build=shared_context_memory,
)

_EXACT = ((1, 3, 4), (2, 2, 1), (2, 3, 5), (4, 4, 3), (5, 8, 4), (8, 10, 8), (16, 20, 6))  # n, d, H


_EXACT_LARGE = ((24, 32, 12), (32, 64, 20))


_FLOATS = (
    {"n_heads": 8, "n_ctx": 8, "d_model": 16, "d_head": 8},
    {"n_heads": 6, "n_ctx": 4, "d_model": 8, "d_head": 1},
    {"n_heads": 1, "n_ctx": 1, "d_model": 1, "d_head": 1},
)


_FLOATS_LARGE = ({"n_heads": 20, "n_ctx": 32, "d_model": 64, "d_head": 32},)


_LARGEST_SCORE = 2


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_ctx, d_model, n_heads in _EXACT + (_EXACT_LARGE if full else ()):
        context = np.random.default_rng([n_ctx, d_model]).integers(-5, 6, (n_ctx, d_model))
        queries = line_queries(n_heads * (n_ctx - 1) + 4, d_model)
        yield _tight(one_direction_layer(context, queries, n_heads=n_heads))
    for parameters in _FLOATS + (_FLOATS_LARGE if full else ()):
        construction = CLAIM.construct(**parameters)
        if isinstance(construction, Construction):
            yield _built(construction)
    yield _more_labels_than_rank()


def _tight(layer: IntegerLayer) -> Evidence:
    """More examples than the bound: the rank is the bound, by exact weights, and no weights have more."""
    n_heads, d_model, d_head = layer.W_Q.shape
    n_ctx, examples = layer.contexts.shape[1], len(layer.queries)
    printed = stated(CLAIM, "printed", H=n_heads, n=n_ctx)
    as_said = as_rationals(layer.queries).rank() == 1 and len(layer.contexts) == 1
    piece = largest_rank(
        "ours",
        f"{examples} parallel queries on one context of n = {n_ctx} tokens in R^{d_model}, H = {n_heads}, d_h = "
        f"{d_head}",
        f"rank Z <= {printed} for all weights, and reached",
        "rank Z <= {ceiling}; rank Z >= {reached} for integer weights",
        layer=layer,
        largest=printed,
        as_said=as_said,
    )
    hull = as_rationals(layer.contexts[0, 1:] - layer.contexts[0, 0]).rank() if n_ctx > 1 else 0
    sizes = (*met(CLAIM, "widths", d_h=d_head), Comparison(hull, "=", stated(CLAIM, "hull", n=n_ctx)))
    return replace(piece, compared=(*piece.compared, *sizes))


def _built(made: Construction[VectorTask]) -> Evidence:
    layer, task = made.model, made.task
    n_heads, examples = layer.n_heads, task.n_examples
    # One more example would have to be dependent: the ceiling counts as if there were any number.
    ceiling = MIXED_RANK.at(contexts=task.contexts, n_heads=n_heads, n_examples=examples + 1)
    printed = stated(CLAIM, "printed", H=n_heads, n=task.n_ctx)
    proof = certify_full_row_rank(enclose_mixed_inputs(layer, task))
    return Evidence(
        "ours",
        f"Float64 weights for {made.summary}",
        f"rank Z <= {printed} for all weights, and reached",
        f"rank Z <= {ceiling.value}; rank Z {'>=' if proof.verdict is Verdict.PROVED else '? '} {examples} for these",
        Method(f"exact rank of the tokens, and {proof.method}", Means.EXACT, Means.ENCLOSURES),
        proved(proof.verdict is Verdict.PROVED),
        {"sha256": layer.sha256()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(ceiling, "=", printed),
            Comparison(examples, "=", printed),
            *(met(CLAIM, "wide", n=task.n_ctx, d_h=layer.d_qk) if task.n_ctx == layer.d_qk else ()),
        ),
    )


def _more_labels_than_rank() -> Evidence:
    """One head on two tokens, three independent queries: any scores of the examples, with rank Z = 2."""
    unit, one = np.eye(3, dtype=np.int64), np.ones((1, 1, 1), dtype=np.int64)
    contexts, queries, W_K = unit[None, :2], unit, unit[None, :, :1] * one  # scores (k, 0) log 2
    wanted = list(product(range(-_LARGEST_SCORE, _LARGEST_SCORE + 1), repeat=len(queries)))
    met = 0
    for scores in wanted:
        outputs = [
            row[0] for row in exact_mixed_inputs(contexts, queries, np.array(scores)[None, :, None], W_K).tolist()
        ]
        met += outputs == [fmpq(2) ** k / (1 + fmpq(2) ** k) for k in scores]
    kruskal = kruskal_rank(queries).lower
    ceiling = MIXED_RANK.at(contexts=contexts, n_heads=1, n_examples=len(queries))
    return Evidence(
        "ours",
        "The bound is one of the rank, not of labels: n = 2, H = 1, three queries that are independent "
        f"(Kruskal rank {kruskal}); three labels 2^k / (1 + 2^k) with k = -{_LARGEST_SCORE} .. {_LARGEST_SCORE} of "
        "one's choice, that the choice of W_Q sees",
        "rank Z <= 2, three labels",
        f"rank Z <= {ceiling.value}; the labels in {met} of {len(wanted)} choices",
        Method("exact rationals", Means.EXACT),
        proved(met == len(wanted) and kruskal == len(queries)),
        {"queries": queries.tolist(), "W_K in units of log 2": W_K.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(ceiling, "=", 2),
            Comparison(ceiling, "<", kruskal),
            Comparison(len(W_K), "=", stated(CLAIM, "heads")),
            Comparison(contexts.shape[1], "=", stated(CLAIM, "tokens")),
            Comparison(len(queries), "=", stated(CLAIM, "examples")),
        ),
    )
