"""Evidence on appendix J: Remark 1 promises the same for all Kruskal ranks above d_h, and small layers keep it.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.claims.mahdavi_appendix_j import CLAIM
from constructions.saturated.saturated_heads import saturated_heads
from constructions.saturated.shared_context import confined_queries
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.claims.unread_heads import mixed_inputs_are_independent, of_size_one
from verify.saturated.kruskal_rank import kruskal_rank
from verify.verdict import Verdict, proved

_HEADS, _HEAD_WIDTH, _TOKENS = 16, 64, 512  # of BERT, as the source uses it
_SMALL = ((6, 8, 4, 2, 3), (6, 8, 6, 2, 5), (8, 9, 3, 3, 4))  # n, d, H, d_h, k


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify that the promise is the same for the measured ranks, and layers with d_h < k < n that keep it.

    Args:
        full: A larger layer.

    Yields:
        Evidence.
    """
    yield _promises()
    for tokens, width, heads, head_width, kruskal in _SMALL + (((10, 12, 6, 4, 7),) if full else ()):
        yield _kept(tokens=tokens, width=width, heads=heads, head_width=head_width, kruskal=kruskal)


def _promises() -> Evidence:
    trained, untrained = stated(CLAIM, "trained"), stated(CLAIM, "random")
    ranks = [trained.whole(), untrained.whole(), _TOKENS]
    promises = [stated(CLAIM, "remark", H=_HEADS, d_h=_HEAD_WIDTH, k=k) for k in ranks]
    return Evidence(
        "claim",
        f"H = {_HEADS}, d_h = {_HEAD_WIDTH}, n = {_TOKENS}, as in BERT, and k = {', '.join(map(str, ranks))}",
        "an acceptable bound by Remark 1",
        f"rank Z >= {', '.join(str(one.value) for one in promises)}",
        Method("the formula of Remark 1", Means.EXACT),
        proved(ranks[0] < ranks[1] < ranks[2]),
        compared=(
            *(Comparison(one, "=", stated(CLAIM, "promise")) for one in promises),
            Comparison(trained, ">=", _HEAD_WIDTH),
            Comparison(untrained, "<", _TOKENS),
        ),
    )


def _kept(*, tokens: int, width: int, heads: int, head_width: int, kruskal: int) -> Evidence:
    """Queries of Kruskal rank k with d_h < k < n, and saturated heads of width d_h."""
    promised = stated(CLAIM, "remark", H=heads, d_h=head_width, k=kruskal)
    examples = promised.whole()
    queries = of_size_one(confined_queries(examples, width, kruskal))
    contexts = np.random.default_rng([tokens, width]).uniform(size=(1, tokens, width))
    found = saturated_heads(contexts, queries, n_heads=heads, d_head=head_width)
    proof = mixed_inputs_are_independent(found, contexts, queries)
    measured = kruskal_rank(queries)
    return Evidence(
        "claim",
        f"{examples} queries of Kruskal rank {measured.lower} in R^{width}, one context of n = {tokens} tokens, "
        f"saturated heads with H = {heads}, d_h = {head_width}",
        f"rank Z >= {promised}, as for k = n",
        f"rank Z = {examples}" if proof.verdict is Verdict.PROVED else "nothing",
        Method(proof.method, Means.ENCLOSURES),
        proved(proof.verdict is Verdict.PROVED and found.W_Q.shape == (heads, width, head_width)),
        compared=(
            Comparison(measured.lower, "=", kruskal),
            Comparison(promised, "=", stated(CLAIM, "remark", H=heads, d_h=head_width, k=tokens)),
        ),
    )
