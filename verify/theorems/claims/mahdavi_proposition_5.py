r"""Proposition 5 of Mahdavi et al.: tokens that sum to a constant cost every head but one a dimension.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator
from dataclasses import replace

from constructions.saturated_layers.constant_sum_tokens import constant_sum_layer
from constructions.saturated_layers.generic_contexts import IntegerLayer
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.theorems.evidence.largest_rank import largest_rank
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.proposition-5",
    title="Tokens that sum to a constant lose rank",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 5",
    kind="statement",
    quotation=(
        "Proposition 5. Assume that we have a multi-head attention layer with [lost] heads, embedding dimensions "
        "[lost] , and [...] If all context vectors satisfy [lost] for all [lost] and some universal scalar [lost], "
        "then for any set of weights [lost] , we have [lost] Proposition 5 gives an upper bound on the rank of "
        "[lost] when individual elements of each context token sum up to a constant [lost] . Note that all the "
        "context vectors can be in general position and still satisfy this condition."
    ),
    printed=(
        "If the entries of every token sum to one constant c, rank Z is at most [[printed: H (d - 1) + 1]] for all "
        "weights. All tokens can be in general position."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: what is reconstructed is true, and this is reached: for almost all such contexts of "
        "[[tokens: n >= 2]] tokens and almost all weights, with any nonzero queries, rank Z is min(T, "
        "[[printed: H (d - 1) + 1]]) unless c vanishes. If it does tokens span [[span: d - 1]] dimensions only, and "
        "it is min(T, [[zero: H (d - 1)]])."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/context_rank.md",
)

_SIZES = ((2, 2, 4), (2, 3, 3), (3, 4, 6), (5, 4, 2), (4, 8, 8))  # n, d, H


_SIZES_LARGE = ((4, 16, 16), (8, 24, 12))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_ctx, d_model, n_heads in _SIZES + (_SIZES_LARGE if full else ()):
        for total in (5, 0):
            examples = n_heads * (d_model - 1) + 3
            yield _tight(
                constant_sum_layer(examples=examples, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, total=total), total
            )
    for total in (5, 0):
        yield _position(constant_sum_layer(examples=6, n_ctx=2, d_model=3, n_heads=1, total=total), total)


def _tight(layer: IntegerLayer, total: int) -> Evidence:
    examples, n_ctx, d_model = layer.contexts.shape
    n_heads = len(layer.W_Q)
    bound = stated(CLAIM, "printed" if total else "zero", H=n_heads, d=d_model)
    piece = largest_rank(
        "ours",
        f"{examples} contexts of n = {n_ctx} tokens in R^{d_model} whose entries sum to {total}, H = {n_heads}, "
        f"d_h = {layer.W_Q.shape[2]}",
        f"rank Z <= {bound} for all weights, and reached",
        "rank Z <= {ceiling}; rank Z >= {reached} for integer weights",
        layer=layer,
        largest=bound,
        as_said=bool((layer.contexts.sum(axis=2) == total).all()),
    )
    return replace(piece, compared=(*piece.compared, *met(CLAIM, "tokens", n=n_ctx)))


def _position(layer: IntegerLayer, total: int) -> Evidence:
    tokens = layer.contexts.reshape(-1, layer.contexts.shape[2])
    kruskal, d_model = kruskal_rank(tokens), tokens.shape[1]
    constant = bool((tokens.sum(axis=1) == total).all())
    return Evidence(
        "ours",
        f"{len(tokens)} tokens in R^{d_model} whose entries sum to {total}",
        f"general position, Kruskal rank {d_model}" if total else f"Kruskal rank {d_model - 1}, no general position",
        f"Kruskal rank {kruskal.lower} .. {kruskal.upper}",
        Method("exact rank of every subset", Means.EXACT),
        proved(constant and kruskal.lower == kruskal.upper == (d_model if total else d_model - 1)),
        {"tokens": tokens.tolist()},
        compared=() if total else (Comparison(kruskal.upper, "=", stated(CLAIM, "span", d=d_model)),),
    )
