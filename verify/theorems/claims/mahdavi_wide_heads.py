r"""Section 4 of Mahdavi et al.: whether query and key dimensions above n add to the capacity.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from constructions.saturated_layers.generic_contexts import IntegerLayer, generic_layer
from constructions.saturated_layers.shared_context import line_queries, one_direction_layer
from verify.theorems.claim import Claim
from verify.theorems.evidence import Evidence, Stated, met, stated
from verify.theorems.evidence.largest_rank import largest_rank

CLAIM = Claim(
    id="mahdavi.wide-heads",
    title="No gain from wide queries and keys",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4, after Theorem 1",
    kind="remark",
    quotation=(
        "Additionally, Theorem 1 suggests there is no gain in memorization capacity provided [lost] . This agrees "
        "with using"
    ),
    printed="There is no gain in memorization capacity from [[wide: d_h >= n]].",
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: in the rank of Z there is no gain from [[more: d_h >= 2]] either. What Assumptions 1 and 2 "
        "guarantee is rank Z of at least [[capacity: H (n - 1) + 1]] for every [[any: d_h >= 1]] "
        "(`mahdavi.proposition-1`), and no more for any d_h, by a shared context. On generic contexts rank Z is "
        "[[generic: min(T, H d)]] for [[thin: d_h = 1]] and for every other d_h."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)

_SHARED = ((2, 3, 4), (3, 4, 5), (5, 6, 3))  # n, d, H


_GENERIC = ((2, 3, 4), (4, 3, 5))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_ctx, d_model, n_heads in _SHARED + (((8, 8, 8),) if full else ()):
        context = np.random.default_rng([n_ctx, d_model]).integers(-5, 6, (n_ctx, d_model))
        queries = line_queries(n_heads * (n_ctx - 1) + 4, d_model)
        layer = one_direction_layer(context, queries, n_heads=n_heads)
        largest = stated(CLAIM, "capacity", H=n_heads, n=n_ctx)
        yield _reached(layer, largest, thin=True)
        yield _reached(_widened(layer, n_ctx + 1), largest, thin=False)
    for n_ctx, d_model, n_heads in _GENERIC + (((8, 12, 6),) if full else ()):
        examples = n_heads * d_model + 2
        for d_head in (1, n_ctx + 1):
            layer = generic_layer(examples=examples, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
            largest = stated(CLAIM, "generic", T=examples, H=n_heads, d=d_model)
            yield _reached(layer, largest, thin=d_head == 1)


def _widened(layer: IntegerLayer, d_head: int) -> IntegerLayer:
    """Return queries and keys padded with zeros to more dimensions."""
    missing = ((0, 0), (0, 0), (0, d_head - layer.W_Q.shape[2]))
    return replace(layer, W_Q=np.pad(layer.W_Q, missing), W_K=np.pad(layer.W_K, missing))


def _reached(layer: IntegerLayer, largest: Stated, *, thin: bool) -> Evidence:
    n_heads, d_model, d_head = layer.W_Q.shape
    n_ctx, examples = layer.contexts.shape[1], len(layer.queries)
    wide = d_head == 1 if thin else d_head > n_ctx
    conditions = ("any", "thin") if thin else ("wide", "more")
    piece = largest_rank(
        "ours",
        f"{examples} queries on {len(layer.contexts)} contexts of n = {n_ctx} tokens in R^{d_model}, H = {n_heads}, "
        f"d_h = {d_head}",
        f"rank Z = {largest}, as with other d_h",
        "rank Z >= {reached} for integer weights, <= {ceiling} with no bound of d_h",
        layer=layer,
        largest=largest,
        as_said=wide,
    )
    return replace(piece, compared=(*piece.compared, *met(CLAIM, *conditions, d_h=d_head, n=n_ctx)))
