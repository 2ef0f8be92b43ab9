"""Evidence on contexts of one token: rank 1 if they are shared, and the rank of the tokens if not.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.claims.mahdavi_one_token import CLAIM
from constructions.saturated.generic_contexts import IntegerLayer, generic_layer
from verify.claims.evidence import Evidence, Role
from verify.claims.formula import Stated, stated
from verify.claims.largest_rank import largest_rank

_SIZES = ((3, 2, 1), (7, 4, 3), (5, 6, 8))  # T, d, H


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify both ranks from both sides.

    Args:
        full: A larger layer.

    Yields:
        Evidence.
    """
    for examples, width, heads in _SIZES + (((40, 16, 12),) if full else ()):
        layer = generic_layer(examples=examples, tokens=1, width=width, n_heads=heads, same_query=False)
        shared = IntegerLayer(layer.contexts[:1] + 100, layer.queries, layer.W_Q, layer.W_K)
        yield _ranked(shared, stated(CLAIM, "capacity"), role="claim")
        yield _ranked(layer, stated(CLAIM, "tokens", T=examples, d=width), role="boundary")


def _ranked(layer: IntegerLayer, largest: Stated, *, role: Role) -> Evidence:
    heads, width, head_width = layer.W_Q.shape
    examples = len(layer.queries)
    shared = len(layer.contexts) == 1
    distinct = len(np.unique(layer.queries, axis=0))
    return largest_rank(
        role,
        f"{examples} examples with {distinct} queries on {'one context' if shared else 'contexts'} of one token in "
        f"R^{width}, H = {heads}, d_h = {head_width}",
        f"rank Z = {largest}",
        "rank Z >= {reached} for integer weights, <= {ceiling}",
        layer=layer,
        largest=largest,
        as_said=shared == (role == "claim") and layer.contexts.shape[1] == 1,
    )
