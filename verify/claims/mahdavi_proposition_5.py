"""Proposition 5: the bound for tokens of a hyperplane, and integer weights that reach it.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

from constructions.claims.mahdavi_proposition_5 import CLAIM
from constructions.saturated.constant_sum_tokens import constant_sum_layer
from constructions.saturated.generic_contexts import IntegerLayer
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.claims.largest_rank import largest_rank
from verify.saturated.kruskal_rank import kruskal_rank
from verify.verdict import proved

_SIZES = ((2, 2, 4), (2, 3, 3), (3, 4, 6), (5, 4, 2), (4, 8, 8))  # n, d, H
_SIZES_LARGE = ((4, 16, 16), (8, 24, 12))


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify both sides of the bound, for c = 0 and for others, and general position of the tokens.

    Args:
        full: Whether to certify larger layers.

    Yields:
        The evidence.
    """
    for tokens, width, heads in _SIZES + (_SIZES_LARGE if full else ()):
        for total in (5, 0):
            examples = heads * (width - 1) + 3
            yield _tight(
                constant_sum_layer(examples=examples, tokens=tokens, width=width, n_heads=heads, total=total), total
            )
    for total in (5, 0):
        yield _position(constant_sum_layer(examples=6, tokens=2, width=3, n_heads=1, total=total), total)


def _tight(layer: IntegerLayer, total: int) -> Evidence:
    examples, tokens, width = layer.contexts.shape
    heads = len(layer.W_Q)
    bound = stated(CLAIM, "printed" if total else "zero", H=heads, d=width)
    return largest_rank(
        "claim",
        f"{examples} contexts of n = {tokens} tokens in R^{width} whose entries sum to {total}, H = {heads}, "
        f"d_h = {layer.W_Q.shape[2]}",
        f"rank Z <= {bound} for all weights, and reached",
        "rank Z <= {ceiling}; rank Z >= {reached} for integer weights",
        layer=layer,
        largest=bound,
        as_said=bool((layer.contexts.sum(axis=2) == total).all()),
    )


def _position(layer: IntegerLayer, total: int) -> Evidence:
    tokens = layer.contexts.reshape(-1, layer.contexts.shape[2])
    found, width = kruskal_rank(tokens), tokens.shape[1]
    constant = bool((tokens.sum(axis=1) == total).all())
    return Evidence(
        "claim",
        f"{len(tokens)} tokens in R^{width} whose entries sum to {total}",
        f"general position, Kruskal rank {width}" if total else f"Kruskal rank {width - 1}, no general position",
        f"Kruskal rank {found.lower} .. {found.upper}",
        Method("exact rank of every subset", Means.EXACT),
        proved(constant and found.lower == found.upper == (width if total else width - 1)),
        {"tokens": tokens.tolist()},
    )
