r"""Section 4.2 of Mahdavi et al.: a shared context of one token.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from constructions.saturated_layers.generic_contexts import IntegerLayer, generic_layer
from verify.theorems.claim import Claim
from verify.theorems.evidence import Evidence, Role, Stated, met, stated
from verify.theorems.evidence.largest_rank import largest_rank

CLAIM = Claim(
    id="mahdavi.one-token",
    title="A context of one token",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4.2",
    kind="remark",
    quotation=(
        "each context contains a single token and is shared across all examples. [...] Consequently, the vector "
        "[lost] copies the first (and only) context token, which is shared across all examples. Hence, no matter how "
        "large [lost] or [lost] are, the output of MHA for all examples is identical, and the memory capacity of the "
        "attention is exactly [lost] (i.e., a single example)."
    ),
    printed=(
        "If all examples share a context of [[single: n = 1]] token, attention gives the same for all of them: the "
        "capacity is exactly [[capacity: 1]], however large H and d are."
    ),
    reading='The number that is lost is in words behind it: "(i.e., a single example)".',
    judgement="holds",
    truth=(
        "It holds. If such contexts are not shared, the heads copy the tokens, and the rank of Z is that "
        "of the tokens: [[tokens: min(T, d)]] for almost all of them, however many heads there are."
    ),
    page="docs/claims/context_rank.md",
)

_SIZES = ((3, 2, 1), (7, 4, 3), (5, 6, 8))  # T, d, H


def evidence(*, full: bool) -> Iterator[Evidence]:
    for examples, d_model, n_heads in _SIZES + (((40, 16, 12),) if full else ()):
        layer = generic_layer(examples=examples, n_ctx=1, d_model=d_model, n_heads=n_heads, same_query=False)
        shared = IntegerLayer(layer.contexts[:1] + 100, layer.queries, layer.W_Q, layer.W_K)
        yield _ranked(shared, stated(CLAIM, "capacity"), role="claim")
        yield _ranked(layer, stated(CLAIM, "tokens", T=examples, d=d_model), role="boundary")


def _ranked(layer: IntegerLayer, largest: Stated, *, role: Role) -> Evidence:
    n_heads, d_model, d_head = layer.W_Q.shape
    examples = len(layer.queries)
    shared = len(layer.contexts) == 1
    distinct = len(np.unique(layer.queries, axis=0))
    piece = largest_rank(
        role,
        f"{examples} examples with {distinct} queries on {'one context' if shared else 'contexts'} of one token in "
        f"R^{d_model}, H = {n_heads}, d_h = {d_head}",
        f"rank Z = {largest}",
        "rank Z >= {reached} for integer weights, <= {ceiling}",
        layer=layer,
        largest=largest,
        as_said=shared == (role == "claim") and layer.contexts.shape[1] == 1,
    )
    return replace(piece, compared=(*piece.compared, *met(CLAIM, "single", n=layer.contexts.shape[1])))
