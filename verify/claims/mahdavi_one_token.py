"""Evidence on contexts of one token: rank 1 if they are shared, and the rank of the tokens if not.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.claims.mahdavi_one_token import CLAIM
from constructions.saturated.generic_contexts import IntegerLayer, generic_layer
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method, Role
from verify.claims.formula import Stated, stated
from verify.claims.quantifier import Quantifier
from verify.claims.theorems import MIXED_RANK
from verify.forward.exact_mixed_rank import exact_mixed_rank
from verify.verdict import proved

_SIZES = ((3, 2, 1), (7, 4, 3), (5, 6, 8))  # T, d, H


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify both ranks from both sides.

    Args:
        full: A larger layer.

    Yields:
        Evidence.

    Page: docs/claims/context_rank.md
    """
    for examples, width, heads in _SIZES + (((40, 16, 12),) if full else ()):
        layer = generic_layer(examples=examples, tokens=1, width=width, n_heads=heads, same_query=False)
        shared = IntegerLayer(layer.contexts[:1] + 100, layer.queries, layer.W_Q, layer.W_K)
        yield _ranked(shared, stated(CLAIM, "capacity"), role="claim")
        yield _ranked(layer, stated(CLAIM, "tokens", T=examples, d=width), role="boundary")


def _ranked(layer: IntegerLayer, largest: Stated, *, role: Role) -> Evidence:
    heads, width, head_width = layer.W_Q.shape
    examples = len(layer.queries)
    ceiling = MIXED_RANK.at(contexts=layer.contexts, n_heads=heads, n_examples=examples)
    rank = exact_mixed_rank(layer.contexts, layer.queries, layer.W_Q, layer.W_K)
    shared = len(layer.contexts) == 1
    distinct = len(np.unique(layer.queries, axis=0))
    return Evidence(
        role,
        f"{examples} examples with {distinct} queries on {'one context' if shared else 'contexts'} of one token in "
        f"R^{width}, H = {heads}, d_h = {head_width}",
        f"rank Z = {largest}",
        f"rank Z >= {rank.lower} for integer weights, <= {ceiling.value}",
        Method(f"exact rank of the tokens, and rank over GF({rank.prime})", Means.EXACT, Means.MODULAR),
        proved(shared == (role == "claim") and layer.contexts.shape[1] == 1),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(ceiling, "=", largest), Comparison(rank.lower, "=", largest)),
    )
